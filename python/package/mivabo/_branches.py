"""Which parameters appear when: trials of a define-by-run objective enter, conditions on earlier parameters leave.

>>> import optuna
>>> from mivabo._branches import infer
>>> def objective(trial):
...     if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
...         return trial.suggest_float("C", 0, 1)
...     return trial.suggest_int("depth", 1, 9)
>>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
>>> study.optimize(objective, n_trials=9)
>>> infer(study.trials).conditions["C"]
(OneOf(parent='model', values=frozenset({0.0})),)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState

from ._axes import is_known

_FIRST = 20
"""Trials whose order of suggestions is looked at: it hardly ever changes."""

SearchSpace = dict[str, BaseDistribution]
"""Names of parameters and their distributions."""


@dataclass(frozen=True)
class OneOf:
    """A choice has one of these values, as Optuna's storages keep them."""

    parent: str
    values: frozenset[float]

    def holds(self, value: float) -> bool:
        """Whether it holds for a value of the parent."""
        return value in self.values


@dataclass(frozen=True)
class Within:
    """An integer is within bounds, of which either may be missing."""

    parent: str
    low: int | None
    high: int | None

    def holds(self, value: float) -> bool:
        """Whether it holds for a value of the parent."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


Conditions = tuple[OneOf | Within, ...]
"""All of them hold where a parameter is present; without any it is always present."""


@dataclass
class Branches:
    """What trials tell about the parameters of an objective."""

    search_space: SearchSpace = field(default_factory=dict)
    """Parameters whose presence is understood."""
    conditions: dict[str, Conditions] = field(default_factory=dict)
    """When each of them is present."""
    left: dict[str, str] = field(default_factory=dict)
    """Why other parameters are not among them."""


def infer(trials: Iterable[FrozenTrial], known: Mapping[str, BaseDistribution] | None = None) -> Branches:
    """Find conditions that tell the trials with a parameter from those without it.

    ``known`` are parameters that are always present, whatever trials say.
    """
    known = known or {}
    record = _Record(trials, known)
    found = Branches(dict(known), dict.fromkeys(known, ()))
    # A parent is in more trials than its child, so it comes first.
    for name in record.names():
        distributions = record.distributions[name]
        if len(distributions) > 1:
            found.left[name] = "its distribution differs between trials"
        elif distributions[0].single():
            continue
        elif not is_known(name, distributions[0]):
            found.left[name] = f"mivabo has no parameters such as {distributions[0]}"
        elif (conditions := _conditions(record, name, found.search_space)) is None:
            found.left[name] = "no values of other parameters tell the trials that have it from those that do not"
        else:
            found.search_space[name] = distributions[0]
            found.conditions[name] = conditions
    return found


class _Record:
    """Which trial has which value of which parameter."""

    def __init__(self, trials: Iterable[FrozenTrial], known: Mapping[str, BaseDistribution]) -> None:
        self.trials = _telling(list(trials), known)
        self.distributions: dict[str, list[BaseDistribution]] = {}
        """All that were seen, except of what is known before."""
        self.known = known
        for trial in self.trials:
            for name, distribution in trial.distributions.items():
                seen = self.distributions.setdefault(name, [])
                if distribution not in seen:
                    seen.append(distribution)
        self.values = {name: self._column(name) for name in (*self.distributions, *known)}
        """Values by the place of their trial, as Optuna's storages keep them."""
        self.variety = {name: len(set(column.values())) for name, column in self.values.items()}
        """How many different values were seen."""

    def names(self) -> list[str]:
        """All parameters that are not known before, those of many trials first."""
        new = [name for name in self.distributions if name not in self.known]
        return sorted(new, key=lambda name: (-len(self.values[name]), name))

    @cached_property
    def complete(self) -> set[int]:
        """Trials that looked at every parameter of their branch."""
        return self._of(TrialState.COMPLETE)

    @cached_property
    def pruned(self) -> set[int]:
        """Trials that may have ended before they looked at every parameter of their branch."""
        return self._of(TrialState.PRUNED)

    def is_late(self, parent: str, child: str) -> bool:
        """Whether a trial looked at the child first: then the parent hardly decides about it."""
        for place in islice(self.values[child], _FIRST):
            order = list(self.trials[place].params)
            if order.index(parent) > order.index(child):
                return True
        return False

    def _of(self, state: TrialState) -> set[int]:
        return {place for place, trial in enumerate(self.trials) if trial.state == state}

    def _column(self, name: str) -> dict[int, float]:
        distribution = self.known.get(name)
        column = {}
        for place, trial in enumerate(self.trials):
            own = trial.distributions.get(name)
            if own is not None and (distribution is None or own == distribution):
                column[place] = float(own.to_internal_repr(trial.params[name]))
        return column


def _telling(trials: list[FrozenTrial], known: Mapping[str, BaseDistribution]) -> list[FrozenTrial]:
    """Trials to learn from: failed ones only where a parameter failed whenever it was looked at."""
    ended = [trial for trial in trials if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)]
    seen = {name: distribution for trial in ended for name, distribution in trial.distributions.items()} | dict(known)

    def is_new(trial: FrozenTrial) -> bool:
        # The ranges of a run that failed as a whole may have been a mistake.
        agrees = all(seen.get(name, own) == own for name, own in trial.distributions.items())
        return agrees and not seen.keys() >= trial.distributions.keys()

    return [*ended, *(trial for trial in trials if trial.state == TrialState.FAIL and is_new(trial))]


def _conditions(record: _Record, child: str, search_space: SearchSpace) -> Conditions | None:
    """When a parameter is present; None if that is not understood."""
    present = record.values[child].keys()
    certain = record.complete - present
    likely = certain | (record.pruned - present)
    parents = _parents(record, child, search_space)
    # Pruned trials count first, and are left out where nothing explains them.
    for absent in (likely, certain):
        if not absent:
            return ()
        found = next(_explanations(record, child, parents, absent), None)
        if found is not None:
            return found
    return None


def _parents(record: _Record, child: str, search_space: SearchSpace) -> list[str]:
    """Parameters that may decide about another one, the likeliest first.

    Each value that was seen is a chance to tell trials apart by accident, so few of them make a better reason.
    """
    present = record.values[child].keys()

    def may_decide(name: str) -> bool:
        is_discrete = isinstance(search_space[name], CategoricalDistribution | IntDistribution)
        return is_discrete and present < record.values[name].keys()

    def rank(name: str) -> tuple[bool, int, str]:
        return record.is_late(name, child), record.variety[name], name

    return sorted(filter(may_decide, search_space), key=rank)


def _explanations(record: _Record, child: str, parents: list[str], absent: set[int]) -> Iterator[Conditions]:
    present = record.values[child].keys()
    for parent in parents:
        column = record.values[parent]
        inside = {column[place] for place in present}
        outside = {column[place] for place in absent if place in column}
        condition = _widened(record, parent, inside, outside)
        if not any(condition.holds(value) for value in outside):
            yield (condition,)
    narrow = [_narrow(record, parent, {record.values[parent][place] for place in present}) for parent in parents]
    for pair in combinations(narrow, 2):
        if not any(_all_hold(record, pair, place) for place in absent):
            yield pair


def _narrow(record: _Record, parent: str, inside: set[float]) -> OneOf | Within:
    """The condition that holds for as little as it can."""
    if _is_choice(record, parent):
        return OneOf(parent, frozenset(inside))
    return Within(parent, int(min(inside)), int(max(inside)))


def _widened(record: _Record, parent: str, inside: set[float], outside: set[float]) -> OneOf | Within:
    """The same, without a bound where nothing was seen beyond it: deeper networks have more layers."""
    found = _narrow(record, parent, inside)
    if isinstance(found, OneOf):
        return found
    is_above = not any(value > max(inside) for value in outside)
    is_below = not any(value < min(inside) for value in outside)
    return Within(parent, None if is_below else found.low, None if is_above else found.high)


def _is_choice(record: _Record, name: str) -> bool:
    distribution = record.known.get(name) or record.distributions[name][0]
    return isinstance(distribution, CategoricalDistribution)


def _all_hold(record: _Record, conditions: Conditions, place: int) -> bool:
    columns = ((condition, record.values[condition.parent]) for condition in conditions)
    return all(place in column and condition.holds(column[place]) for condition, column in columns)
