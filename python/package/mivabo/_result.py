"""What an evaluation gives beside the number of the goal, as JSON. It is never refused: that would cost the number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

DEPTH = 20
"""What is nested more deeply becomes a text."""

SHOWN = 5
"""How many keys a message shows."""


def parted(what: str, returned: Any, goal: str) -> tuple[Any, str | None]:
    """The number of the goal in what an evaluation gave, and all else as JSON; ``what`` names it in messages."""
    if not isinstance(returned, Mapping):
        return returned, None
    if goal not in returned:
        keys = ", ".join(f"`{_text(key)}`" for key in list(returned)[:SHOWN]) or "nothing"
        raise TypeError(f"{what}: expected a number, or a mapping with `{goal}`, not one with {keys}")
    value = returned[goal]
    try:
        return value, as_json({key: inner for key, inner in returned.items() if key != goal})
    except Exception:  # by somebody's own mapping
        return value, None


def as_json(result: Mapping[Any, Any]) -> str:
    """What JSON does not know becomes a text; NaN, infinities and integers that no float can hold become null."""
    return json.dumps({_text(key): _plain(inner, ()) for key, inner in result.items()})


def _text(value: object) -> str:
    try:
        return str(value).encode("utf-8", "replace").decode()
    except Exception:  # by somebody's own `__str__`
        return f"of type {type(value).__name__}"


def _plain(value: Any, around: tuple[int, ...]) -> Any:
    """``around`` are the ids of what holds it."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**1000 else None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, str) or id(value) in around or len(around) == DEPTH:
        return _text(value)
    try:
        around = (*around, id(value))
        if isinstance(value, Mapping):
            return {_text(key): _plain(inner, around) for key, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_plain(inner, around) for inner in value]
        if hasattr(value, "tolist"):  # a scalar or an array of numpy, a tensor of torch
            return _plain(value.tolist(), around)
    except Exception:  # by somebody's own mapping
        pass
    return _text(value)
