"""Parameters on both sides: a distribution of Optuna, and a parameter of mivabo with a name of its own."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Protocol

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from ._errors import SpaceError
from ._labels import Labels
from ._space import Space, Statement
from ._trial import Value


class Axis(Protocol):
    """A parameter: what Optuna's storages keep of it is a float, whatever its kind."""

    @property
    def name(self) -> str:
        """Its name in Optuna."""

    @property
    def inner(self) -> str:
        """Its name in mivabo."""

    @property
    def distribution(self) -> BaseDistribution:
        """What Optuna knows of it."""

    def declare(self, space: Space, when: Statement | None = None) -> None:
        """Add it to a space."""

    def encode(self, value: float) -> Value:
        """What mivabo has for a value of Optuna's storages."""

    def decode(self, value: Value) -> float:
        """And back."""

    def read(self, value: Any, distribution: BaseDistribution) -> float | None:
        """What storages would keep for a value of an objective; None if it is out of range."""

    def take(self, value: Any) -> float:
        """What storages would keep for a value that the user fixed."""

    def hand_out(self, value: float, distribution: BaseDistribution) -> Any:
        """What an objective that suggests from this distribution gets."""

    def agrees(self, distribution: BaseDistribution) -> bool:
        """Whether an objective that suggests from this distribution means this parameter."""

    def pin(self, space: Space, value: float) -> None:
        """Leave it one value in a space."""


class _Plain:
    """A parameter that is kept as its distribution keeps it."""

    name: str
    inner: str
    distribution: BaseDistribution

    def read(self, value: Any, distribution: BaseDistribution) -> float | None:
        try:
            internal = float(self.distribution.to_internal_repr(value))
        except ValueError:
            return None
        return internal if self.distribution._contains(internal) else None

    def take(self, value: Any) -> float:
        return float(self.distribution.to_internal_repr(value))

    def hand_out(self, value: float, distribution: BaseDistribution) -> Any:
        return distribution.to_external_repr(value)

    def agrees(self, distribution: BaseDistribution) -> bool:
        return distribution == self.distribution


class Number(_Plain):
    """A real or a whole number, as it is."""

    def __init__(self, name: str, distribution: FloatDistribution | IntDistribution) -> None:
        self.name = self.inner = name
        self.distribution: FloatDistribution | IntDistribution = distribution

    def declare(self, space: Space, when: Statement | None = None) -> None:
        known = self.distribution
        if isinstance(known, FloatDistribution):
            space.float(self.name, known.low, known.high, log=known.log, when=when)
        else:
            space.int(self.name, known.low, known.high, step=known.step, log=known.log, when=when)

    def encode(self, value: float) -> Value:
        return int(value) if isinstance(self.distribution, IntDistribution) else value

    def decode(self, value: Value) -> float:
        return float(value)

    def pin(self, space: Space, value: float) -> None:
        _narrow(space, self.inner, self.encode(value))


class Grid(_Plain):
    """A real with steps: their number is the parameter, and the value a definition, exact in decimals."""

    def __init__(self, name: str, distribution: FloatDistribution, step: float) -> None:
        self.name = name
        self.inner = f"steps of {name}"
        self.distribution: FloatDistribution = distribution
        self.step = step

    def declare(self, space: Space, when: Statement | None = None) -> None:
        known = self.distribution
        steps = space.int(self.inner, 0, int(self.encode(known.high)), when=when)
        space.define(self.name, known.low + self.step * steps, when=when)

    def encode(self, value: float) -> Value:
        return round((value - self.distribution.low) / self.step)

    def decode(self, value: Value) -> float:
        exact = Decimal(repr(self.distribution.low)) + Decimal(repr(self.step)) * int(value)
        return min(float(exact), self.distribution.high)

    def pin(self, space: Space, value: float) -> None:
        _narrow(space, self.inner, self.encode(value))
        # What an enqueued trial says may lie between two steps.
        space._definitions[self.name]["expr"] = repr(value)


class Choice(_Plain):
    """One of several objects."""

    def __init__(self, name: str, distribution: CategoricalDistribution) -> None:
        self.name = self.inner = name
        self.distribution: CategoricalDistribution = distribution
        self.labels = Labels(distribution.choices)

    def declare(self, space: Space, when: Statement | None = None) -> None:
        space.choice(self.name, self.labels.values, when=when)

    def encode(self, value: float) -> Value:
        return self.labels.values[int(value)]

    def decode(self, value: Value) -> float:
        return float(self.labels.place(value))

    def pin(self, space: Space, value: float) -> None:
        space.add(space[self.name] == self.encode(value), name=f"{self.name} is fixed")


class Option(Choice):
    """A choice of a space that the user made: an objective may list the same values in any order."""

    def read(self, value: Any, distribution: BaseDistribution) -> float | None:
        try:
            return self.decode(_labels(distribution).values[int(distribution.to_internal_repr(value))])
        except (KeyError, TypeError, ValueError):
            return None

    def take(self, value: Any) -> float:
        try:
            return self.decode(Labels([value]).values[0])
        except KeyError:
            raise ValueError(f"parameter `{self.name}`: {value!r:.60} is not one of {self.labels.values}") from None

    def hand_out(self, value: float, distribution: BaseDistribution) -> Any:
        place = _labels(distribution).place(self.encode(value))
        return distribution.to_external_repr(place)

    def agrees(self, distribution: BaseDistribution) -> bool:
        if not isinstance(distribution, CategoricalDistribution):
            return False
        theirs = Labels(distribution.choices)
        try:
            places = {self.labels.place(value) for value in theirs.values}
        except KeyError:
            return False
        return len(places) == len(self.labels.values)


def axis_of(name: str, distribution: BaseDistribution) -> Axis:
    """Take a parameter from Optuna."""
    if isinstance(distribution, CategoricalDistribution):
        return Choice(name, distribution)
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        return Grid(name, distribution, distribution.step)
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return Number(name, distribution)
    raise TypeError(f"parameter `{name}`: expected a distribution of Optuna, not {distribution!r:.60}")


def axes_of(search_space: Mapping[str, BaseDistribution]) -> list[Axis]:
    """Take all parameters from Optuna."""
    return [axis_of(name, distribution) for name, distribution in search_space.items()]


def axes_in(space: Space) -> list[Axis]:
    """Take the parameters that an objective sees from a space of mivabo."""
    return [_axis_in(name, space._parameters[name]) for name in space.names]


def is_known(name: str, distribution: BaseDistribution) -> bool:
    """Whether mivabo has such parameters: not beyond 2^40, for example."""
    try:
        axis_of(name, distribution).declare(Space())
    except (SpaceError, TypeError):
        return False
    return True


def _axis_in(name: str, said: dict[str, Any]) -> Axis:
    if said["type"] == "bool":
        return Option(name, CategoricalDistribution([False, True]))
    if "values" in said:
        return Option(name, CategoricalDistribution(said["values"]))
    low, high, is_log = said["low"], said["high"], bool(said.get("log"))
    if said["type"] == "float":
        return Number(name, FloatDistribution(low, high, log=is_log))
    step = said.get("step", 1)
    if is_log and step != 1:
        raise SpaceError(f"parameter `{name}`: Optuna has no integers with both a logarithmic scale and step {step}")
    return Number(name, IntDistribution(low, high - (high - low) % step, log=is_log, step=step))


def _labels(distribution: BaseDistribution) -> Labels:
    if not isinstance(distribution, CategoricalDistribution):
        raise TypeError(f"{distribution} does not list choices")
    return Labels(distribution.choices)


def _narrow(space: Space, name: str, value: Value) -> None:
    said = space._parameters[name]
    said["low"] = said["high"] = value
    space._built = None
