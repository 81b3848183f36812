"""A study of mivabo that follows a study of Optuna."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from optuna.trial import FrozenTrial, TrialState

from ._errors import ExhaustedError
from ._layout import REST, Layout, Point
from ._study import Study
from ._trial import Params

if TYPE_CHECKING:
    import optuna
    from optuna.storages import BaseStorage

ASKED = "mivabo:asked"
"""The attribute of a trial that keeps what was suggested: an objective may not look at all of it."""

_FOREVER = 1e9
"""Seconds for which a trial runs: whether its worker lives is Optuna's to know."""


_GOLDEN = 0.6180339887498949
"""Its multiples modulo 1 spread evenly."""


class Follower:
    """A mivabo study that knows what an Optuna study knows about some parameters."""

    def __init__(self, storage: BaseStorage, study_id: int, layout: Layout, study: Study) -> None:
        self.home = (storage, study_id, os.getpid())
        self.layout = layout
        self.study = study
        self.running: dict[int, tuple[int, Params]] = {}
        """Trials that run: for Optuna's number, ours and the point."""
        self.settled: set[int] = set()
        """Trials that ended, whether they fit or not."""
        self.best: float | None = None

    def is_of(self, study: optuna.Study, layout: Layout) -> bool:
        """Whether it follows this study in this layout."""
        storage, *others = self.home
        is_same = storage is study._storage and others == [study._study_id, os.getpid()]
        return is_same and self.layout.is_like(layout)

    def follow(self, trials: list[FrozenTrial], number: int) -> bool:
        """Take in what is new before this trial; False if one went another way than suggested: then nothing fits."""
        for trial in trials:
            if trial.number in self.settled or trial.state == TrialState.WAITING:
                continue
            params = self._params(trial)
            if not self._agrees(trial, params):
                return False
            if trial.state.is_finished():
                self.settled.add(trial.number)
            if params is not None and trial.state.is_finished():
                self._end(trial, params)
            elif params is not None and trial.number not in self.running:
                self._begin(trial.number, params)
        for trial in trials:
            if trial.number < number and trial.number not in self.running and _has_nothing(trial):
                self._reserve(trial.number)
        return True

    def ask(self, number: int) -> Point:
        """Suggest a point for this trial of Optuna."""
        if number in self.running:
            return self.layout.point(self.running[number][1])
        try:
            trial = self.study.ask(lease=_FOREVER)
        except ExhaustedError:
            return self.layout.draw((self.study.seed + number) % 2**64)
        self.running[number] = (trial.id, trial.params)
        return self.layout.point(trial.params)

    def rival(self, number: int, trials: list[FrozenTrial]) -> int | None:
        """Another trial that has got the point of this one, from a worker that could not know of it."""
        if number not in self.running:
            return None  # It was drawn where all points were tried.
        point = self.layout.point(self.running[number][1])
        others = (trial for trial in trials if trial.number != number and trial.number not in self.settled)
        return next((other.number for other in others if other.system_attrs.get(ASKED) == point), None)

    def cede(self, number: int, rival: int) -> None:
        """Leave the point of this trial to another one."""
        self.running[rival] = self.running.pop(number)

    def _params(self, trial: FrozenTrial) -> Params | None:
        """Read the values of a trial; None if some are unknown or outside of their ranges."""
        asked = trial.system_attrs.get(ASKED, {})
        point = {}
        for axis in self.layout.axes:
            value = asked.get(axis.name)
            if axis.name in trial.params:
                value = axis.read(trial.params[axis.name], trial.distributions[axis.name])
            elif value is None and axis.name == REST:
                value = trial.number * _GOLDEN % 1
            if value is not None and axis.distribution._contains(value):
                point[axis.name] = float(value)
        return self.layout.params(point)

    def _agrees(self, trial: FrozenTrial, params: Params | None) -> bool:
        """Whether a trial that we know of stayed where it was suggested."""
        if trial.number not in self.running:
            return True
        # One that was just suggested may not have been written down yet.
        is_new = params is None and not trial.state.is_finished()
        return is_new or params == self.running[trial.number][1]

    def _reserve(self, number: int) -> None:
        """Take what its worker is about to be suggested; if that is something else, it turns out later."""
        try:
            trial = self.study.ask(lease=_FOREVER)
        except ExhaustedError:
            return
        self.running[number] = (trial.id, trial.params)

    def _begin(self, number: int, params: Params) -> None:
        if not self.study.space.check(params):
            self.study.enqueue(params)
            self.running[number] = (self.study.ask(lease=_FOREVER).id, params)

    def _end(self, trial: FrozenTrial, params: Params) -> None:
        value = self._value(trial)
        if trial.number in self.running:
            number, _ = self.running.pop(trial.number)
            self.study.tell(number, value, failed=value is None)
        else:
            self.study.add(params, value, failed=value is None)

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


def _has_nothing(trial: FrozenTrial) -> bool:
    """Whether its worker may be about to ask for its point."""
    is_bare = not trial.params and trial.system_attrs.keys().isdisjoint((ASKED, "fixed_params"))
    return trial.state == TrialState.RUNNING and is_bare
