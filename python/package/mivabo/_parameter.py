"""Parameters of a space, as they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._trial import Value

Kind = Literal["float", "int", "choice", "ordinal", "bool", "auxiliary"]
"""What a parameter is: an ``ordinal`` is an ordered choice, and what is ``auxiliary`` is for constraints alone."""


@dataclass(frozen=True, repr=False)
class Parameter:
    """A parameter of a space.

    >>> import mivabo
    >>> space = mivabo.Space()
    >>> optimizer = space.choice("optimizer", ["sgd", "adam"])
    >>> momentum = space.float("momentum", 0.0, 0.99, when=optimizer == "sgd")
    >>> space.parameters["optimizer"]
    Parameter('optimizer', choice of ['sgd', 'adam'])
    >>> space.parameters["momentum"].high
    0.99
    """

    name: str
    """Its name."""
    kind: Kind
    """What it is."""
    low: int | float | None = None
    """The least number; None for choices and truth values."""
    high: int | float | None = None
    """The bound above."""
    step: int | None = None
    """What lies between two integers; None for all else."""
    log: bool = False
    """Whether the model looks at its logarithm."""
    values: tuple[Value, ...] | None = None
    """What may be chosen; None for all else."""
    encoding: str | None = None
    """How it becomes bits, if that was said."""
    default: Value | None = None
    """What is taken where nothing else is said."""
    when: str | None = None
    """Where it is active; None if it always is."""

    @classmethod
    def _of(cls, name: str, said: Mapping[str, Any]) -> Parameter:
        values = said.get("values")
        return cls(
            name=name,
            kind=said["type"],
            low=said.get("low"),
            high=said.get("high"),
            step=said.get("step", 1) if said["type"] == "int" else None,
            log=bool(said.get("log")),
            values=None if values is None else tuple(values),
            encoding=said.get("encoding"),
            default=said.get("default"),
            when=said.get("when"),
        )

    @property
    def domain(self) -> str:
        """What values it has, in words."""
        if self.values is not None:
            return f"{self.kind} of {list(self.values)!r}"
        if self.low is None:
            return self.kind
        step = "" if self.step in (None, 1) else f", step {self.step}"
        return f"{self.kind} from {self.low!r} to {self.high!r}{step}{', log' if self.log else ''}"

    def __repr__(self) -> str:
        """Its name and its values, and what else was said of it."""
        others = {"encoding": self.encoding, "default": self.default, "when": self.when}
        said = [f", {key}={value!r}" for key, value in others.items() if value is not None]
        return f"Parameter({self.name!r}, {self.domain}{''.join(said)})"
