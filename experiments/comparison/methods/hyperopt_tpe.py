"""hyperopt's tree of Parzen estimators with its defaults. Conditional parameters hang below the values of their parents,
as hyperopt has it; numbers with levels go by their index."""

import warnings
from typing import Any

import numpy as np

from methods.method import Setting
from space import Parameter, Params

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from hyperopt import STATUS_OK, Trials, hp, space_eval, tpe
    from hyperopt.base import JOB_STATE_DONE, Domain


def tree(space: list[Parameter]) -> dict[str, Any]:
    """Nodes by name. A parent is a choice of branches, each of which holds the parameters that it switches on."""
    nodes: dict[str, Any] = {}
    for p in reversed(space):  # children are made before their parents
        children = [c for c in space if c.condition and c.condition.parent == p.name]
        nodes[p.name] = _branches(p, children, nodes) if children or p.is_label else _number(p)
    return {p.name: nodes[p.name] for p in space if p.condition is None}


def flat(branch: dict[str, Any]) -> Params:
    """What `tree` drew, as plain parameters."""
    params: Params = {}
    for name, value in branch.items():
        if isinstance(value, dict):
            params[name] = value["value"]
            params |= flat(value["children"])
        else:
            params[name] = value
    return params


def _branches(p: Parameter, children: list[Parameter], nodes: dict[str, Any]) -> Any:
    def below(level: Any) -> dict[str, Any]:
        return {c.name: nodes[c.name] for c in children if c.condition and level in c.condition.values}

    return hp.choice(p.name, [{"value": level, "children": below(level)} for level in p.levels])


def _number(p: Parameter) -> Any:
    if p.levels and p.log:
        return hp.qloguniform(p.name, np.log(p.low), np.log(p.high), 1)
    if p.levels:
        return hp.uniformint(p.name, 0, len(p.levels) - 1)
    if p.log:
        return hp.loguniform(p.name, np.log(p.low), np.log(p.high))
    return hp.uniform(p.name, p.low, p.high)


class Hyperopt:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.by_name = {p.name: p for p in setting.task.space}
        self.space = tree(setting.task.space)
        self.domain, self.trials = Domain(lambda _: 0.0, self.space), Trials()
        self.seeds = np.random.default_rng(setting.seed)
        self.open: dict[str, Any] = {}

    def ask(self) -> Params:
        (self.open,) = tpe.suggest(
            self.trials.new_trial_ids(1), self.domain, self.trials, int(self.seeds.integers(2**31 - 1))
        )
        drawn = {name: value[0] for name, value in self.open["misc"]["vals"].items() if value}
        return {name: self._value(name, value) for name, value in flat(space_eval(self.space, drawn)).items()}

    def _value(self, name: str, value: Any) -> Any:
        p = self.by_name[name]
        if not p.levels:
            return min(max(float(value), p.low), p.high)
        if p.is_label or any(c.condition and c.condition.parent == name for c in self.setting.task.space):
            return value
        return min(max(int(value), p.levels[0]), p.levels[-1]) if p.log else p.levels[int(value)]

    def tell(self, params: Params, value: float | None) -> None:
        self.open["state"] = JOB_STATE_DONE
        self.open["result"] = {"loss": self.setting.penalty if value is None else value, "status": STATUS_OK}
        self.trials.insert_trial_docs([self.open])
        self.trials.refresh()
