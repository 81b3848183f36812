"""Names for the choices of other packages, which may be any Python objects: one mivabo value for each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _native
from ._errors import PointError, SpaceError
from ._trial import Value

_GREATEST = 2**40
"""Larger integers are not values of mivabo."""


class Labels:
    """One value for each choice: the choice itself if mivabo knows such values and none before is equal, else a text.

    >>> labels = Labels([None, 1, 1.0, (50, 50), "relu"])
    >>> labels.values
    ['None', 1, '1.0', '(50, 50)', 'relu']
    >>> labels.place("(50, 50)")
    3
    """

    def __init__(self, choices: Iterable[Any]) -> None:
        self.values: list[Value] = []
        self._places: dict[tuple[str, Value], int] = {}
        for place, choice in enumerate(choices):
            value = self._new(choice)
            self.values.append(value)
            self._places[_key(value)] = place

    def place(self, value: Value) -> int:
        """Which choice this value stands for."""
        return self._places[_key(value)]

    def _new(self, choice: Any) -> Value:
        value = _plain(choice)
        if value is not None and _key(value) not in self._places:
            return value
        text = name = str(choice).encode("utf-8", "backslashreplace").decode()
        n = 1
        while _key(text) in self._places:
            n += 1
            text = f"{name} ({n})"
        return text


def _plain(choice: Any) -> Value | None:
    try:
        value: Value = _native.plain("a choice", choice)
    except (TypeError, PointError, SpaceError):
        return None
    is_too_large = isinstance(value, int) and abs(value) > _GREATEST
    return None if is_too_large else value


def _key(value: Value) -> tuple[str, Value]:
    """Values are equal where these are: 1 is 1.0, and True is not 1."""
    kind = "truth" if isinstance(value, bool) else "text" if isinstance(value, str) else "number"
    return kind, value
