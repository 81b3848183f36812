"""What a study gives back: trials, recommendations, importance, violations. Plain data that pickles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ._table import Row, table

Value = bool | int | float | str
"""The value of a parameter."""

Params = dict[str, Value]
"""Names and values of the active parameters of a point."""

Home = tuple[str, str]
"""Whose trial it is: the name of a study, and where it is."""

State = Literal["waiting", "running", "complete", "stopped", "failed"]
"""What became of a trial."""


@dataclass(frozen=True)
class Trial:
    """A point, and what became of it.

    >>> import mivabo
    >>> space = mivabo.Space()
    >>> x = space.int("x", 1, 3)
    >>> study = mivabo.Study(space)
    >>> trial = study.ask()
    >>> trial.id, trial.state, sorted(trial.params)
    (0, 'running', ['x'])
    """

    id: int
    """Its number: 0, 1, 2, … in the order in which trials were made."""
    params: Params
    """The values of its active parameters."""
    state: State = "running"
    """What became of it."""
    value: float | None = None
    """The number of the study's goal, if it has one."""
    measured: dict[str, float] = field(default_factory=dict)
    """All numbers that its evaluation gave, by name, including the goal's."""
    reason: str | None = None
    """Why it failed, if it did."""
    evaluated: Params | None = None
    """The values that were evaluated, where the study was revised since and ``params`` has others, or none."""
    left_out: str | None = None
    """Why it has no place in the study as it was revised: nothing is learned from it, and it has no ``params``."""
    feasible: bool = True
    """Whether it satisfies every constraint; a result from elsewhere may not, nor one from before a revision."""
    keeps_limits: bool | None = None
    """Whether it keeps every limit; None before it has ended, and in a study without limits."""
    origin: str = ""
    """Who proposed it: ``design``, ``improvement``, ``queue``, …"""
    result: dict[str, Any] | None = None
    """What else its evaluation gave, if that was told: see ``Study.tell``."""
    attempts: int = 1
    """How many workers took it and did not give it back."""
    worker: str | None = None
    """Who took it last, or told it. What ``ask`` returns has neither this nor times: the store keeps them."""
    created: float | None = None
    """When it was made, in seconds since 1970, as are all times."""
    started: float | None = None
    """When a worker last took it."""
    finished: float | None = None
    """When it was told."""
    history: list[dict[str, Any]] = field(default_factory=list)
    """What was told of it before each correction, the oldest first: state, value, measured, reason, corrected, why."""
    _home: Home | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def seconds(self) -> float | None:
        """How long its evaluation took."""
        if self.started is None or self.finished is None:
            return None
        return self.finished - self.started

    def _repr_html_(self) -> str:
        rows: list[Row] = [("trial", str(self.id)), ("state", self.state)]
        rows += [(name, repr(number)) for name, number in self.measured.items()]
        rows += [] if self.reason is None else [("reason", self.reason)]
        return table((), [*rows, *_cells(self.params)])


@dataclass(frozen=True)
class Violation:
    """A constraint that does not hold at a point."""

    constraint: str
    """Its name."""
    statement: str
    """The statement in it that fails."""
    left: Value | None
    """Left side of that statement, where it is a comparison."""
    right: Value | None
    """Right side of that statement."""
    amount: float
    """By how much the sides of a numeric comparison fail; 1 for any other statement."""

    def __str__(self) -> str:
        """The violation as a sentence."""
        text = f"constraint `{self.constraint}` is violated: {self.statement} does not hold"
        if self.left is not None and self.right is not None:
            text += f" (left side {self.left!r}, right side {self.right!r})"
        return text


@dataclass(frozen=True)
class Recommendation:
    """The feasible point of the best posterior mean."""

    params: Params
    """The values of its active parameters."""
    mean: float
    """The value that is expected there."""

    def _repr_html_(self) -> str:
        return table((), [("mean", repr(self.mean)), *_cells(self.params)])


@dataclass(frozen=True)
class Estimate:
    """What a study's model believes of the value at a point: see ``Study.predict``."""

    mean: float
    """The value that is expected, without noise."""
    deviation: float
    """How uncertain it is."""


@dataclass(frozen=True)
class Importance:
    """Which parameters matter, by a model of the told trials."""

    effects: dict[str, float]
    """For each parameter the share of the variance that it takes part in."""
    interactions: dict[tuple[str, str], float]
    """For pairs of parameters the share that they take part in together, the greatest first."""
    n_trials: int
    """How many trials the model learned from."""

    def _repr_html_(self) -> str:
        ranked = sorted(self.effects.items(), key=lambda effect: -effect[1])
        effects = table(("parameter", "total effect"), [(name, _percent(share)) for name, share in ranked])
        pairs: list[Row] = [(f"{one}, {other}", _percent(share)) for (one, other), share in self.interactions.items()]
        interactions = table(("parameters", "interaction"), pairs) if pairs else ""
        return f"{effects}{interactions}<p>by {self.n_trials} trials</p>"


def _cells(params: Params) -> list[Row]:
    return [(name, repr(value)) for name, value in params.items()]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
