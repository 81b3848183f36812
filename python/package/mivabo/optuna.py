"""mivabo as a sampler for Optuna.

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

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna import logging
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from ._branches import Branches, SearchSpace, infer
from ._constraints import Constraints, named
from ._errors import InfeasibleError
from ._follower import ASKED, Follower
from ._layout import Layout, Point
from ._space import Space
from ._study import Study as _Study

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study

__all__ = ["MivaboSampler"]

# Below Optuna's own, so that its verbosity holds here too.
_logger = logging.get_logger("optuna.mivabo")

_ATTEMPTS = 20
"""How often another point is asked for because another worker has got the same one."""

_PAUSE = 0.02
"""The longest pause before the first of them, in seconds: workers in step would collide again."""


class MivaboSampler(BaseSampler):
    """A sampler for one objective, whose suggestions satisfy constraints that are known.

    mivabo samples all parameters together, including those that only some trials have. When these appear it learns
    from finished trials, unless ``space`` says so.

    * Without ``space`` and ``search_space`` the first trial is drawn independently, since its parameters are not known
      yet. So are parameters that no trial had so far, such as those of a branch that was never taken.
    * Parameters go to ``independent_sampler``, with a warning, if their range differs between trials or if no values
      of choices and integers tell when they appear.
    * Constraints hold from the first trial on, so they need ``space`` or ``search_space``. Parameters that only some
      trials have can be in constraints of a ``space`` alone.
    * The choice ``None`` and objects of other types are strings in constraints: ``activation == 'None'``.
    * Pruned trials count with their last intermediate value, but never as better than the best complete trial
      before them; without a value they count as failed. The model learns where failed trials are likely, and
      their points are not tried again.
    * Running trials of all workers are taken into account, and no two of them get the same point. What an enqueued
      trial leaves open is drawn at random from what is feasible with the rest of it; one that cannot be feasible
      is refused.
    * Bounds on what is measured, by ``trial.set_constraint`` or a ``constraints_func``, are not modelled: a warning
      says so.
    * Once every point of a finite space has been tried, points are drawn at random.

    :param seed: the same seed and the same trials give the same suggestions; by default a random one.
    :param space: a ``mivabo.Space`` with all parameters, conditions and constraints; the objective suggests the same
        names with the same ranges or choices, each where it is active.
    :param search_space: the parameters that every trial has, if known in advance, as ``{name: distribution}``.
    :param constraints: on parameters of ``search_space``, as strings in mivabo's language or expressions; a dict gives
        them names.
    :param strategy: one of ``mivabo.STRATEGIES``, with settings if need be: ``"improvement:draws=no"``.
    :param n_startup: trials before the model is asked; by default 6, and by the space for Thompson sampling.
    :param independent_sampler: for all other parameters; by default Optuna's ``TPESampler``.
    :param warn_independent_sampling: whether to warn, once for each parameter, when that sampler is used although
        earlier trials had the parameter.
    """

    _follower: Follower | None

    def __init__(
        self,
        *,
        seed: int | None = None,
        space: Space | None = None,
        search_space: Mapping[str, BaseDistribution] | None = None,
        constraints: Constraints = (),
        strategy: str | None = None,
        n_startup: int | None = None,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
    ) -> None:
        self._seed = secrets.randbits(63) if seed is None else seed
        self._strategy = strategy
        self._n_startup = n_startup
        # Wrong settings are wrong in any space, and which one it will be may not be known yet.
        self._study(_any_space(), "minimize")
        self._constraints = named(constraints)
        self._search_space = None if search_space is None else dict(search_space)
        self._given = None if space is None else _given(space)
        self._independent_sampler = independent_sampler or TPESampler(seed=None if seed is None else seed % 2**32)
        self._warn_independent_sampling = warn_independent_sampling
        self._forget()
        # What is wrong with it is said here, before anything is evaluated.
        if self._given is not None:
            if self._search_space is not None or self._constraints:
                raise ValueError("space has parameters and constraints: leave out search_space and constraints")
            self._study(self._given.space, "minimize")
        elif self._search_space is not None:
            self._study(Layout(self._search_space, {}, self._constraints).space, "minimize")
        elif self._constraints:
            raise ValueError("constraints need search_space or space, so that the first trial satisfies them too")

    def reseed_rng(self) -> None:
        """Take another seed, for a copy of this sampler: threads that share it do not collide anyway."""
        self._seed = secrets.randbits(63)
        self._independent_sampler.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> SearchSpace:
        """Tell which parameters are sampled together; not all of them need be active in a trial."""
        self._raise_error_if_multi_objective(study)
        if self._given is not None:
            return dict(self._given.search_space)
        found = self._branches(study).search_space
        known = self._search_space or {}
        return {**known, **{name: found[name] for name in sorted(found.keys() - known.keys())}}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> dict[str, Any]:
        """Suggest values of those of these parameters that are active, which satisfy every constraint."""
        self._raise_error_if_multi_objective(study)
        self._refuse_if_fixed(search_space)
        given = trial.system_attrs.get("fixed_params", {})
        fixed = {name: given[name] for name in search_space if name in given}
        if len(fixed) == len(search_space):
            return {}
        with self._lock:
            try:
                if fixed:
                    point = self._completed(study, trial, search_space, fixed)
                else:
                    point = self._asked(study, trial, search_space)
            except BaseException:
                # After Ctrl-C it may know half of a trial: the next one is asked of a new one.
                self._follower = None
                raise
        if self._given is not None:
            # They are handed out one by one, where the objective says what it suggests from.
            return {}
        return {name: search_space[name].to_external_repr(point[name]) for name in search_space if name in point}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Suggest the value of a parameter that is not sampled together with others."""
        self._raise_error_if_multi_objective(study)
        if self._given is not None and param_name in self._given.search_space:
            return _handed_out(self._given, trial, param_name, param_distribution)
        known = self._search_space or {}
        if self._constraints and param_name in known:
            raise ValueError(
                f"parameter `{param_name}` is suggested from {param_distribution}, "
                f"but search_space says {known[param_name]}: constraints could not be kept"
            )
        if self._warn_independent_sampling:
            self._warn(study, trial, param_name)
        return self._independent_sampler.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Refuse an enqueued trial that violates a constraint; pass on to the sampler of independent parameters."""
        self._refuse_if_infeasible(study, trial)
        self._independent_sampler.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Pass on to the sampler of independent parameters."""
        self._independent_sampler.after_trial(study, trial, state, values)
        # As it is stored: that sampler may have a `constraints_func`.
        self._warn_of_limits([study._storage.get_trial(trial._trial_id)])

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the model: a copy makes its own."""
        inside = ("_lock", "_follower", "_found", "_warned", "_has_warned_of_limits")
        return {name: value for name, value in self.__dict__.items() if name not in inside}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Begin without a model."""
        self.__dict__.update(state)
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._follower = None
        self._found: tuple[tuple[BaseStorage, int, int], Branches] | None = None
        self._warned: set[str] = set()
        self._has_warned_of_limits = False

    def _refuse_if_fixed(self, search_space: SearchSpace) -> None:
        """Another sampler may have fixed some parameters, and told nobody to what."""
        needed: SearchSpace = {}
        if self._given is not None:
            needed = self._given.search_space
        elif self._constraints:
            needed = self._search_space or {}
        if not needed.keys() <= search_space.keys():
            raise ValueError("constraints cannot be kept when another sampler fixes parameters; enqueue trials instead")

    def _refuse_if_infeasible(self, study: Study, trial: FrozenTrial) -> None:
        """Nothing is sampled where everything is given, so this is the only place to look at it."""
        given = trial.system_attrs.get("fixed_params")
        if not given or (self._given is None and not self._constraints):
            return
        layout = self._given or Layout(self._search_space or {}, {}, self._constraints)
        params = layout.given(given)
        violations = [] if params is None else layout.space.check(params)
        if violations:
            # It runs by now, and nobody would ever end it.
            study._storage.set_trial_state_values(trial._trial_id, TrialState.FAIL)
            why = "; ".join(map(str, violations))
            raise InfeasibleError(f"the enqueued trial {_shown(given)} is not feasible: {why}")

    def _completed(
        self, study: Study, trial: FrozenTrial, search_space: SearchSpace, fixed: Mapping[str, Any]
    ) -> Point:
        """Draw what an enqueued trial leaves open."""
        try:
            point = self._layout(study, search_space).complete(fixed, (self._seed + trial.number) % 2**64)
        except InfeasibleError as error:
            raise InfeasibleError(
                f"no feasible trial is completed from the enqueued {_shown(fixed)}: {error}"
            ) from None
        study._storage.set_trial_system_attr(trial._trial_id, ASKED, point)
        return point

    def _asked(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> Point:
        """Ask the model for a point, and write it down where other workers find it.

        They may ask at the same time, and nobody knows of a point before it is written. So whoever finds the own point
        with somebody else, once it is written, takes another one: of two equal points the later one was written before
        its worker looked.
        """
        for attempt in range(_ATTEMPTS):
            follower = self._following(study, trial, search_space)
            point = follower.ask(trial.number)
            study._storage.set_trial_system_attr(trial._trial_id, ASKED, point)
            rival = follower.rival(trial.number, study.get_trials(deepcopy=False))
            if rival is None:
                break
            follower.cede(trial.number, rival)
            time.sleep(_PAUSE * (attempt + 1) * secrets.randbelow(1000) / 1000)
        return point

    def _warn_of_limits(self, trials: Sequence[FrozenTrial]) -> None:
        """Say once that bounds on what is measured are not modelled."""
        if self._has_warned_of_limits:
            return
        limited = next((trial for trial in trials if _has_limits(trial)), None)
        if limited is not None:
            self._has_warned_of_limits = True
            _logger.warning(
                f"Trial#{limited.number} has values of `set_constraint` or `constraints_func`, which "
                f"`{type(self).__name__}` does not model: it suggests points as if there were none. Rules that are "
                "known before a trial is evaluated belong into `constraints` or `space`, and hold for every suggestion."
            )

    def _branches(self, study: Study) -> Branches:
        """What trials that ended tell about parameters: a trial ends once, so their number says what is new."""
        trials = study.get_trials(deepcopy=False)
        home = (study._storage, study._study_id, sum(trial.state.is_finished() for trial in trials))
        found = self._found
        if found is None or found[0] != home:
            found = self._found = (home, infer(trials, self._search_space))
        return found[1]

    def _layout(self, study: Study, search_space: SearchSpace) -> Layout:
        """The space for these parameters, of which another sampler may have taken some."""
        if self._given is not None:
            return self._given
        found = self._branches(study)
        conditions = {
            name: found.conditions[name]
            for name, distribution in search_space.items()
            if found.search_space.get(name) == distribution
        }
        kept = dict(search_space)
        while orphans := [
            name for name in kept if any(condition.parent not in kept for condition in conditions.get(name, ()))
        ]:
            for name in orphans:
                del kept[name]
        kept_conditions = {name: conditions.get(name, ()) for name in kept}
        return Layout(kept, kept_conditions, self._constraints, is_partial=bool(found.left))

    def _following(self, study: Study, trial: FrozenTrial, search_space: SearchSpace) -> Follower:
        """Bring the model up to all trials but this one, or make a new one where the old one does not fit."""
        trials = [other for other in study.get_trials(deepcopy=False) if other.number != trial.number]
        self._warn_of_limits(trials)
        layout = self._layout(study, search_space)
        follower = self._follower
        if follower is None or not follower.is_of(study, layout) or not follower.follow(trials, trial.number):
            is_low = study.direction != StudyDirection.MAXIMIZE
            inner = self._study(layout.space, "minimize" if is_low else "maximize")
            follower = Follower(study._storage, study._study_id, layout, inner)
            follower.follow(trials, trial.number)
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

    def _warn(self, study: Study, trial: FrozenTrial, name: str) -> None:
        """Say once why a parameter that trials had before is not sampled with the others."""
        if name in self._warned:
            return
        reason = "it is not in the space" if self._given is not None else self._branches(study).left.get(name)
        if reason is None:
            return
        self._warned.add(name)
        _logger.warning(
            f"The parameter `{name}` in Trial#{trial.number} is sampled independently using "
            f"`{type(self._independent_sampler).__name__}` instead of `{type(self).__name__}`: {reason}. "
            "`warn_independent_sampling=False` turns this warning off."
        )


def _has_limits(trial: FrozenTrial) -> bool:
    """Before 5.0 Optuna had one attribute for all of them, and still reads it."""
    return any(key.partition(":")[0] == "constraints" for key in trial.system_attrs)


def _shown(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())


def _any_space() -> Space:
    space = Space()
    space.bool("any")
    return space


def _given(space: Space) -> Layout:
    if not isinstance(space, Space):
        raise TypeError(f"space: expected a mivabo.Space, not {space!r:.60}")
    return Layout.of_space(space)


def _handed_out(layout: Layout, trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
    """What was suggested for a parameter of the user's space, if the objective means the same by it."""
    axis = layout.axis(name)
    assert axis is not None, "the layout has this parameter"
    if not axis.agrees(distribution):
        raise ValueError(f"parameter `{name}` is suggested from {distribution}, but the space says {axis.distribution}")
    point: Point = trial.system_attrs.get(ASKED, {})
    if name not in point:
        when = layout.space._parameters[axis.inner].get("when", "")
        raise ValueError(
            f"parameter `{name}` is suggested, but the space has it only where `{when}`, which does not hold here"
        )
    return axis.hand_out(point[name], distribution)
