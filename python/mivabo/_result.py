"""What an evaluation gives beside its value, as JSON. Nothing is refused: a value is not lost by what comes with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

DEPTH = 20
"""What is nested more deeply becomes a text."""


def parted(returned: Any) -> tuple[Any, str | None]:
    """The value that an objective returned, and all else as JSON."""
    if not isinstance(returned, Mapping) or "value" not in returned:
        return returned, None
    return returned["value"], as_json({key: inner for key, inner in returned.items() if key != "value"})


def as_json(result: Mapping[Any, Any]) -> str:
    """What JSON does not know becomes a text; numbers that are none, or that no float can hold, become null."""
    return json.dumps(_plain(result, DEPTH))


def _plain(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < 2**1000 else None
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    try:
        if depth == 0:
            return _plain(str(value), depth)
        if isinstance(value, Mapping):
            return {_plain(str(key), depth): _plain(inner, depth - 1) for key, inner in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [_plain(inner, depth - 1) for inner in value]
        if hasattr(value, "tolist"):  # a scalar or an array of numpy, a tensor of torch
            return _plain(value.tolist(), depth - 1)
        return _plain(str(value), depth)
    except Exception:  # by somebody's own `__str__`, such as that
        return f"of type {type(value).__name__}"
