"""The space in which a sampler of Optuna asks: made from distributions and conditions, or by the user."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution, _get_single_value

from ._axes import Axis, Number, axes_in, axes_of
from ._branches import Conditions, OneOf, SearchSpace, Within
from ._errors import PointError
from ._native import Expr
from ._space import Space, Statement
from ._trial import Params

Point = dict[str, float]
"""Names and values of the active parameters, as Optuna's storages keep them."""

REST = "what is left out"
"""A real that stands for parameters that are sampled independently: without it, what they vary would look the same."""

_DRAWS = 100
"""Random points among which one has all the parameters that are fixed, if any has."""


class Layout:
    """Parameters of Optuna, when they are active, and the space of mivabo that has them."""

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution],
        conditions: Mapping[str, Conditions],
        constraints: list[tuple[str | None, Statement]],
        *,
        is_partial: bool = False,
    ) -> None:
        self.search_space: SearchSpace = dict(search_space)
        self.conditions = {name: needed for name, needed in conditions.items() if needed}
        self.axes = axes_of(search_space)
        self._constraints = constraints
        # Points of discrete parameters are tried once, and each would be given up after one draw of the others.
        if is_partial and not any(self._is_always_real(name) for name in search_space):
            self.axes.append(Number(REST, FloatDistribution(0, 1)))

    @classmethod
    def of_space(cls, space: Space) -> Layout:
        """Take a space as the user made it, conditions and all."""
        axes = axes_in(space)
        layout = cls({}, {}, [])
        layout.axes = axes
        layout.search_space = {axis.name: axis.distribution for axis in axes}
        layout.space = copy.copy(space)
        return layout

    @cached_property
    def space(self) -> Space:
        """The space of mivabo."""
        space = Space()
        for axis in self.axes:
            axis.declare(space, self._when(axis.name))
        for name, statement in self._constraints:
            space.add(statement, name=name)
        return space

    def axis(self, name: str) -> Axis | None:
        """The parameter of this name."""
        return next((axis for axis in self.axes if axis.name == name), None)

    def is_like(self, other: Layout) -> bool:
        """Whether the same parameters are active at the same time."""
        names, others = ([axis.name for axis in layout.axes] for layout in (self, other))
        is_same = names == others and self.search_space == other.search_space
        return is_same and self.conditions == other.conditions

    def params(self, point: Mapping[str, float]) -> Params | None:
        """Values of all active parameters in mivabo; None if some are unknown."""
        given = {axis.inner: axis.encode(point[axis.name]) for axis in self.axes if axis.name in point}
        try:
            params, left_out = self.space._native().complete(given)
        except PointError:
            return None
        return None if left_out else params

    def point(self, params: Params) -> Point:
        """Values of the active parameters in Optuna's storages."""
        return {axis.name: axis.decode(params[axis.inner]) for axis in self.axes if axis.inner in params}

    def given(self, values: Mapping[str, Any]) -> Params | None:
        """Values of an objective in mivabo; None if they leave something open or are out of range."""
        point = {}
        for axis in self.axes:
            known = axis.distribution
            if axis.name in values:
                internal = axis.read(values[axis.name], known)
            else:
                internal = axis.read(_get_single_value(known), known) if known.single() else None
            if internal is not None:
                point[axis.name] = internal
        return self.params(point)

    def draw(self, seed: int) -> Point:
        """Draw a random feasible point."""
        return self.point(self.space.sample(1, seed)[0])

    def complete(self, fixed: Mapping[str, Any], seed: int) -> Point:
        """Draw a random feasible point with these values, active wherever they can be."""
        space = copy.copy(self.space)
        values = {}
        for axis in self.axes:
            if axis.name in fixed:
                values[axis.name] = axis.take(fixed[axis.name])
                axis.pin(space, values[axis.name])
        is_always = all("when" not in space._parameters[axis.inner] for axis in self.axes if axis.name in fixed)
        points = [self.point(params) for params in space.sample(1 if is_always else _DRAWS, seed)]
        point = max(points, key=lambda point: len(point.keys() & values.keys()))
        return {name: values.get(name, value) for name, value in point.items()}

    def _is_always_real(self, name: str) -> bool:
        return isinstance(self.search_space[name], FloatDistribution) and name not in self.conditions

    def _when(self, name: str) -> Statement | None:
        statements = [self._statement(condition) for condition in self.conditions.get(name, ())]
        if not statements:
            return None
        first, *others = statements
        for other in others:
            first = first & other
        return first

    def _statement(self, condition: OneOf | Within) -> Expr:
        axis = self.axis(condition.parent)
        assert axis is not None, "a layout has the parents of all its parameters"
        parent = Expr(f"`{axis.inner}`")
        if isinstance(condition, OneOf):
            return parent.is_in([axis.encode(value) for value in sorted(condition.values)])
        assert isinstance(axis.distribution, IntDistribution), "bounds are bounds of integers"
        low, high = condition.low, condition.high
        is_low = parent >= (axis.distribution.low if low is None else low)
        return is_low if high is None else is_low & (parent <= high)
