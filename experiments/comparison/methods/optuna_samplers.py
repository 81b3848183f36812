"""Optuna's TPE and Gaussian process samplers with their defaults, spaces defined by run.

`constraints`: the sampler is given the amounts by which each constraint is broken (`constraints_func`).
"""

import warnings

import optuna

from methods.method import Setting
from space import Params, is_active

optuna.logging.set_verbosity(optuna.logging.ERROR)
warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)


def _amounts(trial: optuna.trial.FrozenTrial) -> list[float]:
    return trial.user_attrs["excess"]


class Optuna:
    def __init__(self, setting: Setting, sampler: str, constraints: bool = False) -> None:
        self.setting, self.constraints = setting, constraints
        kind = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler}[sampler]
        extra = {"constraints_func": _amounts} if constraints else {}
        self.study = optuna.create_study(sampler=kind(seed=setting.seed, **extra))

    def ask(self) -> Params:
        self.trial = self.study.ask()
        params: Params = {}
        for p in self.setting.task.space:
            if is_active(p, params):
                params[p.name] = self._suggest(p)
        return params

    def _suggest(self, p):
        if p.is_label:
            return self.trial.suggest_categorical(p.name, p.levels)
        if p.levels and p.log:
            return self.trial.suggest_int(p.name, p.levels[0], p.levels[-1], log=True)
        if p.levels:
            return p.levels[self.trial.suggest_int(p.name, 0, len(p.levels) - 1)]
        return self.trial.suggest_float(p.name, p.low, p.high, log=p.log)

    def tell(self, params: Params, value: float | None) -> None:
        if self.constraints:
            self.trial.set_user_attr("excess", [float(amount) for amount in self.setting.task.excess(params)])
        self.study.tell(self.trial, self.setting.penalty if value is None else value)
