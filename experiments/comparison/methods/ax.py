"""Ax with its defaults (Sobol points, then BoTorch's Gaussian process over mixed parameters). Its space is flat: parameters
that are not there are drawn and left out."""

import logging
from typing import Any, Literal

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

from methods.method import Setting
from space import Parameter, Params, active

logging.disable(logging.WARNING)


def _config(p: Parameter) -> Any:
    if p.is_label:
        return ChoiceParameterConfig(
            name=p.name, values=list(p.levels), parameter_type="bool" if p.kind == "bool" else "str", is_ordered=False
        )
    scaling: Literal["linear", "log"] = "log" if p.log else "linear"
    if p.levels:
        bounds = (p.levels[0], p.levels[-1]) if p.log else (0, len(p.levels) - 1)
        return RangeParameterConfig(name=p.name, bounds=bounds, parameter_type="int", scaling=scaling)
    return RangeParameterConfig(name=p.name, bounds=(p.low, p.high), parameter_type="float", scaling=scaling)


class Ax:
    def __init__(self, setting: Setting) -> None:
        self.setting, self.client = setting, Client(random_seed=setting.seed)
        self.client.configure_experiment(parameters=[_config(p) for p in setting.task.space])
        self.client.configure_optimization(objective="-loss")

    def ask(self) -> Params:
        ((self.open, drawn),) = self.client.get_next_trials(max_trials=1).items()
        space = self.setting.task.space
        return active(space, {p.name: self._value(p, drawn[p.name]) for p in space})

    def _value(self, p: Parameter, stored: Any) -> Any:
        return p.levels[int(stored)] if p.levels and not p.is_label and not p.log else stored

    def tell(self, params: Params, value: float | None) -> None:
        self.client.complete_trial(self.open, raw_data={"loss": self.setting.penalty if value is None else value})
