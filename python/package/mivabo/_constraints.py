"""Constraints as other packages are given them: one statement, several, or a dict of names and statements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ._native import Expr
from ._space import Statement, _in_order

Constraints = Mapping[str, Statement] | Iterable[Statement] | Statement
"""Statements over parameter names, with names of their own or without."""


def named(constraints: Constraints) -> list[tuple[str | None, Statement]]:
    """Give each statement its name, or none.

    >>> named({"budget": "a + b <= 10"})
    [('budget', 'a + b <= 10')]
    >>> named("a <= b")
    [(None, 'a <= b')]
    """
    if isinstance(constraints, str | Expr):
        return [(None, constraints)]
    if isinstance(constraints, Mapping):
        return list(constraints.items())
    return [(None, statement) for statement in _in_order("constraints", "statements", constraints)]
