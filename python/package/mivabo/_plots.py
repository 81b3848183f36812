"""The figures of a study. matplotlib is imported when one is drawn, and not before."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._study import Study


class Plots:
    """The figures of a study, each one a ``matplotlib.figure.Figure`` that shows itself in a notebook.

    ``figure.savefig("convergence.png")`` writes one to a file.
    """

    def __init__(self, study: Study) -> None:
        self._study = study

    def convergence(self) -> Figure:
        """Draw all values by trial, the best so far, and the trials that failed."""
        return _figures().convergence(self._study)  # type: ignore[no-any-return]

    def parameters(self) -> Figure:
        """Draw the values against each parameter."""
        return _figures().parameters(self._study)  # type: ignore[no-any-return]

    def slices(self) -> Figure:
        """Draw what the model believes along each parameter through the best point.

        The line is the mean of :meth:`Study.predict`, the band one deviation on either side. What violates a
        constraint is grey. Parameters that are active there and not at the best point take their first value, floats
        the middle of their range.
        """
        return _figures().slices(self._study)  # type: ignore[no-any-return]

    def importance(self) -> Figure:
        """Draw which parameters matter, and which pairs of them: see :meth:`Study.importance`."""
        return _figures().importance(self._study)  # type: ignore[no-any-return]

    def parallel(self) -> Figure:
        """Draw all parameters at once, a line for each trial; the better a trial, the darker its line."""
        return _figures().parallel(self._study)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        """Which figures there are."""
        figures = ", ".join(name for name in vars(Plots) if not name.startswith("_"))
        return f"<figures of {self._study!r}: {figures}>"


def _figures() -> ModuleType:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        text = "figures need the package `matplotlib`, which is not installed: pip install matplotlib"
        raise ImportError(text, name="matplotlib") from error
    from . import _figures as figures

    return figures
