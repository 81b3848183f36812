"""The parameters of a study file, as the peers need them.

Enters: the text of a study file. Leaves: its parameters in order, each with its values and the values of its parent for
which it is there. What mivabo reads is the text itself.
"""

import math
import re
import tomllib
from dataclasses import dataclass
from typing import Any

Params = dict[str, Any]


@dataclass(frozen=True)
class Condition:
    """A parameter is there where `parent` is there and has one of `values`."""

    parent: str
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: str  # float, int, ordinal, choice or bool
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    levels: tuple[Any, ...] = ()  # of all kinds but float
    condition: Condition | None = None

    @property
    def is_label(self) -> bool:
        return self.kind in ("choice", "bool")


def parameters(text: str) -> list[Parameter]:
    """The parameters of a study file. A condition may name one discrete parameter that stands above it."""
    found: dict[str, Parameter] = {}
    for name, entry in tomllib.loads(text)["parameters"].items():
        found[name] = Parameter(
            name,
            entry["type"],
            entry.get("low", 0),
            entry.get("high", 1),
            entry.get("log", False),
            _levels(entry),
            _condition(entry.get("when"), found),
        )
    return list(found.values())


def is_active(parameter: Parameter, params: Params) -> bool:
    """Whether the parameter is there, given those above it."""
    condition = parameter.condition
    return condition is None or (condition.parent in params and params[condition.parent] in condition.values)


def active(space: list[Parameter], params: Params) -> Params:
    """`params` without those that are not there."""
    kept: Params = {}
    for parameter in space:
        if is_active(parameter, kept):
            kept[parameter.name] = params[parameter.name]
    return kept


def unit(p: Parameter, value: float) -> float:
    """Where a number stands in its range on its own scale, from 0 to 1."""
    low, high, at = (math.log(v) if p.log else v for v in (p.low, p.high, value))
    return (at - low) / (high - low)


def _levels(entry: dict) -> tuple[Any, ...]:
    match entry["type"]:
        case "int":
            return tuple(range(entry["low"], entry["high"] + 1, entry.get("step", 1)))
        case "ordinal" | "choice":
            return tuple(entry["values"])
        case "bool":
            return (False, True)
    return ()


def _condition(when: str | None, above: dict[str, Parameter]) -> Condition | None:
    if when is None:
        return None
    (parent,) = {name for name in re.findall(r"[a-z_]\w*", re.sub(r"'[^']*'", "", when)) if name in above}
    # The conditions here read the same in Python; they come from the tasks, never from outside.
    holds = [level for level in above[parent].levels if eval(when, {}, {parent: level})]
    return Condition(parent, tuple(holds))
