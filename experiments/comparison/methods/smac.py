"""SMAC3's facade for hyper-parameters (random forest, expected improvement), its defaults, ConfigSpace's conditions."""

import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import ConfigSpace as cs
from smac import HyperparameterOptimizationFacade, Scenario
from smac.runhistory.dataclasses import TrialValue

from methods.method import Setting
from space import Parameter, Params

warnings.filterwarnings("ignore", message="Loky-backed")  # one process is all it gets


def _hyperparameter(p: Parameter) -> Any:
    if p.is_label:
        return cs.CategoricalHyperparameter(p.name, [str(level) for level in p.levels])
    if p.levels and p.log:
        return cs.UniformIntegerHyperparameter(p.name, p.levels[0], p.levels[-1], log=True)
    if p.levels:
        return cs.UniformIntegerHyperparameter(p.name, 0, len(p.levels) - 1)
    return cs.UniformFloatHyperparameter(p.name, p.low, p.high, log=p.log)


def _stored(p: Parameter, level: Any) -> Any:
    """A level as ConfigSpace holds it."""
    return str(level) if p.is_label else level if p.log else p.levels.index(level)


def _configuration_space(space: list[Parameter], seed: int) -> cs.ConfigurationSpace:
    found = cs.ConfigurationSpace(seed=seed)
    made = {p.name: _hyperparameter(p) for p in space}
    found.add(*made.values())
    by_name = {p.name: p for p in space}
    for p in space:
        if p.condition:
            parent = by_name[p.condition.parent]
            values = [_stored(parent, level) for level in p.condition.values]
            found.add(cs.InCondition(made[p.name], made[parent.name], values))
    return found


class Smac:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.folder = tempfile.TemporaryDirectory()
        scenario = Scenario(
            _configuration_space(setting.task.space, setting.seed),
            deterministic=setting.task.noise == 0,
            n_trials=setting.evals,
            seed=setting.seed,
            output_directory=Path(self.folder.name),
        )
        self.smac = HyperparameterOptimizationFacade(
            scenario, lambda config, seed=0: 0.0, logging_level=logging.ERROR, overwrite=True
        )

    def ask(self) -> Params:
        self.open = self.smac.ask()
        drawn = dict(self.open.config)
        return {p.name: self._value(p, drawn[p.name]) for p in self.setting.task.space if p.name in drawn}

    def _value(self, p: Parameter, stored: Any) -> Any:
        if p.is_label:
            return next(level for level in p.levels if str(level) == stored)
        if p.levels:
            return int(stored) if p.log else p.levels[int(stored)]
        return float(stored)

    def tell(self, params: Params, value: float | None) -> None:
        self.smac.tell(self.open, TrialValue(self.setting.penalty if value is None else value), save=False)
