"""mivabo as a sampler of Optuna: Optuna's trials enter, feasible parameters leave.

>>> import optuna
>>> from mivabo.optuna import MivaboSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> sampler = MivaboSampler(
...     seed=1,
...     search_space={
...         "kernel": optuna.distributions.IntDistribution(1, 7, step=2),
...         "stride": optuna.distributions.IntDistribution(1, 3),
...     },
...     constraints={"receptive field": "kernel * stride <= 12"},
... )
>>> def objective(trial):
...     kernel = trial.suggest_int("kernel", 1, 7, step=2)
...     stride = trial.suggest_int("stride", 1, 3)
...     assert kernel * stride <= 12
...     return abs(kernel * stride - 10)
>>> study = optuna.create_study(sampler=sampler)
>>> study.optimize(objective, n_trials=9)
>>> study.best_value
0.0
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import intersection_search_space
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ._constraints import Constraints, named
from ._errors import ExhaustedError, SpaceError
from ._labels import Labels
from ._space import Space, Statement
from ._study import Study as _Study
from ._trial import Value

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

__all__ = ["MivaboSampler"]

_SearchSpace = dict[str, BaseDistribution]

_Point = dict[str, float]
"""Names and values, as Optuna's storages keep them."""

_ASKED = "mivabo:asked"
"""The attribute of a trial that keeps what was suggested: an objective may not look at all of it."""

_FOREVER = 1e9
"""Seconds for which a trial runs: whether its worker lives is Optuna's to know."""


class MivaboSampler(BaseSampler):
    """A sampler for one objective, whose suggestions satisfy constraints that are known.

    Parameters of ``search_space``, or without one those that all completed trials have in common, are sampled
    together by mivabo. Any others, such as conditional ones, are left to ``independent_sampler``.

    * Without ``search_space`` the first trial is drawn independently, since nobody knows its parameters yet.
      Constraints hold from the first trial on: they need ``search_space``, and may name its parameters alone.
    * The choices ``None`` and objects of other kinds are texts in constraints: ``activation == 'None'``.
    * Pruned trials count with their last intermediate value, but never as better than the best complete trial
      before them; without a value they count as failed. The model learns where failed trials are likely, and
      they are not tried again.
    * Running trials of all workers are taken into account. What an enqueued trial leaves open is drawn at
      random from what is feasible with the rest of it.
    * When all points of a finite space were tried, points are drawn at random once more.

    :param seed: equal seeds and equal trials give equal suggestions; by default a random one.
    :param search_space: the parameters that are known before, as ``{name: distribution}``.
    :param constraints: statements in mivabo's language, as texts or expressions; a dict gives them names.
    :param strategy: one of ``mivabo.STRATEGIES``, with settings if need be: ``"improvement:draws=no"``.
    :param n_startup: trials before the model is asked; by default 6, and by the space for Thompson sampling.
    :param independent_sampler: for all other parameters; by default Optuna's ``RandomSampler``.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        constraints: Constraints = (),
        strategy: str | None = None,
        n_startup: int | None = None,
        independent_sampler: BaseSampler | None = None,
    ) -> None:
        self._seed = secrets.randbits(63) if seed is None else seed
        self._strategy = strategy
        self._n_startup = n_startup
        self._constraints = named(constraints)
        self._search_space = None if search_space is None else dict(search_space)
        random = RandomSampler(None if seed is None else seed % 2**32)
        self._independent_sampler = independent_sampler or random
        self._forget()
        if self._search_space is not None:
            # What is wrong with it is said here, before anything is evaluated.
            self._study(_space(_axes(self._search_space), self._constraints), "minimize")
        elif self._constraints:
            raise ValueError("constraints need search_space, so that the first trial satisfies them too")

    def reseed_rng(self) -> None:
        """Take another seed, for a copy of this sampler: threads that share it do not collide anyway."""
        self._seed = secrets.randbits(63)
        self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> _SearchSpace:
        """Tell which parameters are sampled together."""
        self._raise_error_if_multi_objective(study)
        if self._search_space is not None:
            return dict(self._search_space)
        common = intersection_search_space(study.get_trials(deepcopy=False), include_pruned=True)
        return {
            name: distribution
            for name, distribution in common.items()
            if not distribution.single() and _is_known(name, distribution)
        }

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: _SearchSpace) -> dict[str, Any]:
        """Suggest values of these parameters, which satisfy every constraint."""
        self._raise_error_if_multi_objective(study)
        if self._constraints and search_space.keys() != (self._search_space or {}).keys():
            raise ValueError("constraints cannot be kept when another sampler fixes parameters; enqueue trials instead")
        given = trial.system_attrs.get("fixed_params", {})
        fixed = {name: given[name] for name in search_space if name in given}
        if len(fixed) == len(search_space):
            return {}
        with self._lock:
            if fixed:
                point = self._completed(fixed, search_space, trial.number)
            else:
                point = self._following(study, trial, search_space).ask(trial.number)
        study._storage.set_trial_system_attr(trial._trial_id, _ASKED, point)
        return {name: search_space[name].to_external_repr(point[name]) for name in search_space}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Suggest the value of a parameter that is not sampled together with others."""
        self._raise_error_if_multi_objective(study)
        if self._constraints and param_name in (self._search_space or {}):
            known = (self._search_space or {})[param_name]
            raise ValueError(
                f"parameter `{param_name}` is suggested from {param_distribution}, "
                f"but search_space says {known}: constraints could not be kept"
            )
        return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Pass on to the sampler of independent parameters."""
        self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Pass on to the sampler of independent parameters."""
        self._independent_sampler.after_trial(study, trial, state, values)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the model: a copy makes its own."""
        inside = ("_lock", "_follower")
        return {name: value for name, value in self.__dict__.items() if name not in inside}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin without a model."""
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._follower: _Follower | None = None

    def _following(self, study: Study, trial: FrozenTrial, search_space: _SearchSpace) -> _Follower:
        """Bring the model up to all trials but this one, or make a new one where the old one does not fit."""
        trials = [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]
        follower = self._follower
        if follower is None or not follower.is_of(study, search_space) or not follower.follow(trials):
            axes = _axes(search_space)
            is_low = study.direction != StudyDirection.MAXIMIZE
            inner = self._study(_space(axes, self._constraints), "minimize" if is_low else "maximize")
            follower = _Follower(study._storage, study._study_id, axes, inner)
            follower.follow(trials)
            self._follower = follower
        return follower

    def _study(self, space: Space, direction: Any) -> _Study:
        return _Study(
            space,
            direction=direction,
            strategy=self._strategy,
            seed=self._seed,
            n_initial=self._n_startup,
        )

    def _completed(self, fixed: dict[str, Any], search_space: _SearchSpace, number: int) -> _Point:
        """Draw a random feasible point with these values."""
        pinned = {
            name: _pinned(distribution, fixed[name]) if name in fixed else distribution
            for name, distribution in search_space.items()
        }
        axes = _axes(pinned)
        space = _space(axes, self._constraints)
        for axis in axes:
            if isinstance(axis, _Choice) and axis.name in fixed:
                chosen = axis.distribution.to_internal_repr(fixed[axis.name])
                space.add(space[axis.name] == axis.encode(chosen), name=f"{axis.name} is fixed")
        return _drawn(space, axes, (self._seed + number) % 2**64)


class _Follower:
    """A mivabo study that knows what an Optuna study knows about some parameters."""

    def __init__(self, storage: BaseStorage, study_id: int, axes: list[_Axis], study: _Study) -> None:
        self.home = (storage, study_id, os.getpid())
        self.axes = axes
        self.study = study
        self.running: dict[int, tuple[int, _Point]] = {}
        """Trials that run: for Optuna's number, ours and the point."""
        self.settled: set[int] = set()
        """Trials that ended, whether they fit or not."""
        self.best: float | None = None

    def is_of(self, study: Study, search_space: _SearchSpace) -> bool:
        """Whether it follows this study in this search space."""
        storage, *others = self.home
        is_same = storage is study._storage and others == [study._study_id, os.getpid()]
        return is_same and search_space == {axis.name: axis.distribution for axis in self.axes}

    def follow(self, trials: list[FrozenTrial]) -> bool:
        """Take in what is new; False if a trial went another way than was suggested: then nothing fits."""
        for trial in trials:
            if trial.number in self.settled or trial.state == TrialState.WAITING:
                continue
            point = self._point(trial)
            if not self._agrees(trial, point):
                return False
            if trial.state.is_finished():
                self.settled.add(trial.number)
            if point is not None and trial.state.is_finished():
                self._end(trial, point)
            elif point is not None and trial.number not in self.running:
                self._begin(trial.number, point)
        return True

    def ask(self, number: int) -> _Point:
        """Suggest a point for this trial of Optuna."""
        if number in self.running:
            return dict(self.running[number][1])
        try:
            trial = self.study.ask(lease=_FOREVER)
        except ExhaustedError:
            return _drawn(self.study.space, self.axes, (self.study.seed + number) % 2**64)
        point = _decoded(self.axes, trial.params)
        self.running[number] = (trial.id, point)
        return dict(point)

    def _point(self, trial: FrozenTrial) -> _Point | None:
        """Read the values of a trial; None if some are unknown or outside of their ranges."""
        asked = trial.system_attrs.get(_ASKED, {})
        point = {}
        for axis in self.axes:
            try:
                if axis.name in trial.params:
                    value = axis.distribution.to_internal_repr(trial.params[axis.name])
                else:
                    value = asked[axis.name]
            except (KeyError, ValueError):
                return None
            if not axis.distribution._contains(value):
                return None
            point[axis.name] = float(value)
        return point

    def _agrees(self, trial: FrozenTrial, point: _Point | None) -> bool:
        """Whether a trial that we know of stayed where it was suggested."""
        if trial.number not in self.running:
            return True
        # One that was just suggested may not have been written down yet.
        is_new = point is None and not trial.state.is_finished()
        return is_new or point == self.running[trial.number][1]

    def _begin(self, number: int, point: _Point) -> None:
        params = _encoded(self.axes, point)
        if not self.study.space.check(params):
            self.study.enqueue(params)
            self.running[number] = (self.study.ask(lease=_FOREVER).id, point)

    def _end(self, trial: FrozenTrial, point: _Point) -> None:
        value = self._value(trial)
        if trial.number in self.running:
            number, _ = self.running.pop(trial.number)
            self.study.tell(number, value, failed=value is None)
        else:
            self.study.add(_encoded(self.axes, point), value, failed=value is None)

    def _value(self, trial: FrozenTrial) -> float | None:
        is_low = self.study.direction == "minimize"
        if trial.state == TrialState.COMPLETE and trial.value is not None:
            known = trial.value if self.best is None else self.best
            self.best = min(known, trial.value) if is_low else max(known, trial.value)
            return trial.value
        if trial.state == TrialState.PRUNED and trial.intermediate_values:
            last = trial.intermediate_values[max(trial.intermediate_values)]
            known = last if self.best is None else self.best
            return max(known, last) if is_low else min(known, last)
        return None


class _Axis(Protocol):
    """A parameter on both sides: what Optuna's storages keep, and a value of mivabo under some name."""

    @property
    def name(self) -> str: ...

    @property
    def inner(self) -> str: ...

    @property
    def distribution(self) -> BaseDistribution: ...

    def declare(self, space: Space) -> None: ...

    def encode(self, value: float) -> Value: ...

    def decode(self, value: Value) -> float: ...


class _Number:
    """A real or a whole number, as it is."""

    def __init__(self, name: str, distribution: FloatDistribution | IntDistribution) -> None:
        self.name = self.inner = name
        self.distribution = distribution

    def declare(self, space: Space) -> None:
        known = self.distribution
        if isinstance(known, FloatDistribution):
            space.float(self.name, known.low, known.high, log=known.log)
        else:
            space.int(self.name, known.low, known.high, step=known.step, log=known.log)

    def encode(self, value: float) -> Value:
        return int(value) if isinstance(self.distribution, IntDistribution) else value

    def decode(self, value: Value) -> float:
        return float(value)


class _Grid:
    """A real with steps: their number is the parameter, and the value a definition, exact in decimals."""

    def __init__(self, name: str, distribution: FloatDistribution, step: float) -> None:
        self.name = name
        self.inner = f"steps of {name}"
        self.distribution = distribution
        self.step = step

    def declare(self, space: Space) -> None:
        known = self.distribution
        steps = space.int(self.inner, 0, int(self.encode(known.high)))
        space.define(self.name, known.low + self.step * steps)

    def encode(self, value: float) -> Value:
        return round((value - self.distribution.low) / self.step)

    def decode(self, value: Value) -> float:
        exact = Decimal(repr(self.distribution.low)) + Decimal(repr(self.step)) * int(value)
        return min(float(exact), self.distribution.high)


class _Choice:
    """One of several objects."""

    def __init__(self, name: str, distribution: CategoricalDistribution) -> None:
        self.name = self.inner = name
        self.distribution = distribution
        self.labels = Labels(distribution.choices)

    def declare(self, space: Space) -> None:
        space.choice(self.name, self.labels.values)

    def encode(self, value: float) -> Value:
        return self.labels.values[int(value)]

    def decode(self, value: Value) -> float:
        return float(self.labels.place(value))


def _axis(name: str, distribution: BaseDistribution) -> _Axis:
    if isinstance(distribution, CategoricalDistribution):
        return _Choice(name, distribution)
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        return _Grid(name, distribution, distribution.step)
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return _Number(name, distribution)
    raise TypeError(f"parameter `{name}`: expected a distribution of Optuna, not {distribution!r:.60}")


def _axes(search_space: Mapping[str, BaseDistribution]) -> list[_Axis]:
    return [_axis(name, distribution) for name, distribution in search_space.items()]


def _is_known(name: str, distribution: BaseDistribution) -> bool:
    """Whether mivabo has such parameters: not beyond 2^40, for example."""
    try:
        _axis(name, distribution).declare(Space())
    except (SpaceError, TypeError):
        return False
    return True


def _space(axes: list[_Axis], constraints: list[tuple[str | None, Statement]]) -> Space:
    space = Space()
    for axis in axes:
        axis.declare(space)
    for name, statement in constraints:
        space.add(statement, name=name)
    return space


def _encoded(axes: list[_Axis], point: _Point) -> dict[str, Value]:
    return {axis.inner: axis.encode(point[axis.name]) for axis in axes}


def _decoded(axes: list[_Axis], params: Mapping[str, Value]) -> _Point:
    return {axis.name: axis.decode(params[axis.inner]) for axis in axes}


def _drawn(space: Space, axes: list[_Axis], seed: int) -> _Point:
    return _decoded(axes, space.sample(1, seed)[0])


def _pinned(distribution: BaseDistribution, value: Any) -> BaseDistribution:
    """Leave a number one value; which choice is fixed, a constraint says."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution
    kind = IntDistribution if isinstance(distribution, IntDistribution) else FloatDistribution
    return kind(value, value)
