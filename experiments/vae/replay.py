"""Brings a method to where it was, from the lines of its study.

mivabo and hyperopt are asked again and told what they were told: equal seeds give equal suggestions. SMAC does not
repeat itself and a GP would take minutes, so SMAC and Optuna are given their trials, and `gp-rounding` has no state
but its trials. Optuna goes on with another seed, or its random points would come again.
"""

from typing import Any

from space import Parameter


def seed(name: str, seed: int, n_told: int) -> int:
    """The seed of a method that is told `n_told` trials first."""
    return seed + 1000 * n_told if name.startswith("optuna") else seed


def replay(name: str, method: Any, space: list[Parameter], told: list[dict]) -> None:
    for line in told:
        match name.partition(":")[0]:
            case "smac":
                method.open = _smac_trial(method, space, line["params"])
            case "optuna-tpe" | "optuna-gp":
                inner = getattr(method, "inner", method)
                inner.study.enqueue_trial(_by_index(space, line["params"]))
                method.ask()
            case "gp-rounding":
                pass
            case _:
                asked = method.ask()
                if asked != line["params"]:
                    raise RuntimeError(f"the replay left its path: asked {asked}, recorded {line}")
        method.tell(line["params"], line["value"] if line["feasible"] else None)


def _by_index(space: list[Parameter], params: dict) -> dict:
    """Parameters as Optuna and SMAC hold them: levels by index. The space has no labels."""
    by_name = {p.name: p for p in space}
    return {name: by_name[name].levels.index(v) if by_name[name].levels else v for name, v in params.items()}


def _smac_trial(method: Any, space: list[Parameter], params: dict) -> Any:
    from ConfigSpace import Configuration
    from smac.runhistory.dataclasses import TrialInfo

    configuration = Configuration(method.smac.scenario.configspace, values=_by_index(space, params))
    return TrialInfo(configuration, seed=0)
