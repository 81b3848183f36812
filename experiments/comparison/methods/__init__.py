"""All methods by name. A method is imported when it is made: the harness works without peers that are not installed.

| name | what |
|---|---|
| `mivabo:STRATEGY` | our strategy of that name; `mivabo:random` is random search over the feasible points |
| `mivabo:STRATEGY@6` | with six points of the initial design |
| `random` | random search as the paper has it: infeasible points are drawn again |
| `hyperopt`, `optuna-tpe`, `optuna-gp`, `smac`, `ax` | peers with their defaults |
| `gp-rounding` | a Gaussian process over the relaxed cube, rounded, of `experiments/vae`: what GPyOpt does |
| `optuna-tpe:constraints` | with Optuna's `constraints_func` |
| `optuna-tpe:repair`, `optuna-gp:repair` | behind a step that moves to the nearest feasible point |
"""

import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from methods.method import Method, Setting

PEERS = ["random", "hyperopt", "optuna-tpe", "optuna-gp", "smac", "ax"]
UNDER_CONSTRAINTS = ["optuna-tpe:constraints", "optuna-tpe:repair", "optuna-gp:repair"]
PACKAGES = [
    "mivabo",
    "numpy",
    "scipy",
    "scikit-learn",
    "xgboost-cpu",
    "hyperopt",
    "optuna",
    "torch",
    "smac",
    "ConfigSpace",
]
PACKAGES += ["ax-platform", "botorch", "gpytorch"]


def make(name: str, setting: Setting) -> Method:
    base, _, option = name.partition(":")
    match base:
        case "mivabo":
            from methods.ours import Mivabo

            return Mivabo(setting, option)
        case "random":
            from methods.rejection import Rejection

            return Rejection(setting)
        case "hyperopt":
            from methods.hyperopt_tpe import Hyperopt

            return Hyperopt(setting)
        case "optuna-tpe" | "optuna-gp":
            from methods.optuna_samplers import Optuna

            inner = Optuna(setting, base.removeprefix("optuna-"), constraints=option == "constraints")
            if option != "repair":
                return inner
            from methods.ours import Repaired

            return Repaired(setting, inner)
        case "smac":
            from methods.smac import Smac

            return Smac(setting)
        case "ax":
            from methods.ax import Ax

            return Ax(setting)
        case "gp-rounding":
            sys.path.append(str(Path(__file__).resolve().parents[2] / "vae"))
            from gp_rounding import GpRounding

            return GpRounding(setting)
    raise ValueError(f"there is no method `{name}`")


def versions() -> dict[str, str]:
    """Versions of the packages that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


__all__ = ["PEERS", "UNDER_CONSTRAINTS", "Method", "Setting", "make", "versions"]
