"""Optuna's define-by-run objectives: our sampler without and with a space, our own study, and Optuna's samplers.

    python define_by_run.py [--seeds 32] [--trials 50] [--workers 1] [--out results/define-by-run]

Two objectives whose parameters depend on others: three models with two or three parameters of their own, and a network with one
width for each layer and a momentum for one of its optimizers. Lines are seeds: the best value after all trials. The same build
and the same seeds give the same lines.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before numpy

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from math import log10
from pathlib import Path
from statistics import mean, median
from typing import Any

import mivabo
import optuna
from mivabo.optuna import MivaboSampler

from table import grid


def models(trial: Any) -> float:
    """0.1 at its best, where `model` is `mlp`; the other branches end at 0.35 and 0.3."""
    model = trial.suggest_categorical("model", ["svm", "rf", "mlp"])
    if model == "svm":
        c = trial.suggest_float("C", 1e-3, 1e3, log=True)
        gamma = trial.suggest_float("gamma", 1e-5, 10, log=True)
        return 0.35 + 0.1 * abs(log10(c) - 1) + 0.05 * abs(log10(gamma) + 2)
    if model == "rf":
        depth = trial.suggest_int("depth", 1, 20)
        features = trial.suggest_float("features", 0.1, 1)
        return 0.3 + 0.02 * abs(depth - 12) + 0.1 * abs(features - 0.4)
    rate = trial.suggest_float("lr", 1e-5, 0.1, log=True)
    width = trial.suggest_int("width", 1, 40)
    dropout = trial.suggest_float("dropout", 0, 0.9)
    return 0.1 + 0.2 * abs(log10(rate) + 3) + 0.02 * abs(width - 27) + 0.3 * abs(dropout - 0.3)


def models_space() -> mivabo.Space:
    space = mivabo.Space()
    model = space.choice("model", ["svm", "rf", "mlp"])
    space.float("C", 1e-3, 1e3, log=True, when=model == "svm")
    space.float("gamma", 1e-5, 10, log=True, when=model == "svm")
    space.int("depth", 1, 20, when=model == "rf")
    space.float("features", 0.1, 1, when=model == "rf")
    space.float("lr", 1e-5, 0.1, log=True, when=model == "mlp")
    space.int("width", 1, 40, when=model == "mlp")
    space.float("dropout", 0, 0.9, when=model == "mlp")
    return space


WIDTHS = (96, 48, 72, 24)


def network(trial: Any) -> float:
    """0 at its best: three layers, sgd, and the widths of `WIDTHS`."""
    layers = trial.suggest_int("layers", 1, 4)
    widths = [trial.suggest_int(f"units{i}", 4, 128) for i in range(layers)]
    rate = trial.suggest_float("lr", 1e-5, 0.1, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd", "rmsprop"])
    loss = 0.2 * abs(layers - 3) + sum(abs(w - best) for w, best in zip(widths, WIDTHS, strict=False)) / 128 / layers
    if optimizer == "sgd":
        momentum = trial.suggest_float("momentum", 0, 0.99)
        return loss + 0.1 * abs(log10(rate) + 2) + 0.5 * abs(momentum - 0.9)
    return loss + 0.15 + 0.1 * abs(log10(rate) + 3) + 0.1 * (optimizer == "rmsprop")


def network_space() -> mivabo.Space:
    space = mivabo.Space()
    layers = space.int("layers", 1, 4)
    for i in range(4):
        space.int(f"units{i}", 4, 128, when=layers >= i + 1)
    space.float("lr", 1e-5, 0.1, log=True)
    optimizer = space.choice("optimizer", ["adam", "sgd", "rmsprop"])
    space.float("momentum", 0, 0.99, when=optimizer == "sgd")
    return space


class Given:
    """A trial of Optuna that has its values already."""

    def __init__(self, params: dict[str, Any]) -> None:
        self.params = params

    def _suggest(self, name: str, *_: Any, **__: Any) -> Any:
        return self.params[name]

    suggest_categorical = suggest_float = suggest_int = _suggest


OBJECTIVES = {"models": (models, models_space), "network": (network, network_space)}
GOOD = {"models": 0.25, "network": 0.25}
"""What only the best branch reaches, or nearly so."""

SAMPLERS: dict[str, Callable[[int, mivabo.Space], optuna.samplers.BaseSampler]] = {
    "sampler": lambda seed, _: MivaboSampler(seed=seed),
    "sampler, space=": lambda seed, space: MivaboSampler(seed=seed, space=space),
    "optuna-tpe": lambda seed, _: optuna.samplers.TPESampler(seed=seed),
    "optuna-random": lambda seed, _: optuna.samplers.RandomSampler(seed=seed),
}
METHODS = ["study", *SAMPLERS]


def best(objective: str, method: str, seed: int, trials: int) -> float:
    """The best value that a method finds."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    function, make_space = OBJECTIVES[objective]
    if method == "study":
        study = mivabo.Study(make_space(), seed=seed)
        return study.optimize(lambda params: function(Given(params)), trials, progress=False).best.value
    other = optuna.create_study(sampler=SAMPLERS[method](seed, make_space()))
    other.optimize(function, n_trials=trials)
    return other.best_value


def line(job: tuple[str, str, int, int]) -> dict:
    objective, method, seed, trials = job
    found = best(objective, method, seed, trials)
    return {"objective": objective, "method": method, "seed": seed, "trials": trials, "best": found}


def table(lines: list[dict]) -> str:
    rows = []
    for objective in OBJECTIVES:
        for method in METHODS:
            found = [line["best"] for line in lines if (line["objective"], line["method"]) == (objective, method)]
            if found:
                good = sum(value < GOOD[objective] for value in found)
                row = [
                    objective,
                    method,
                    *(f"{of(found):.3f}" for of in (median, mean, max)),
                    f"{good} of {len(found)}",
                ]
                rows.append(row)
    return grid(["objective", "method", "median of the best", "mean", "worst", "seeds below 0.25"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=32)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--methods", default=None, help="names separated by semicolons; all by default")
    parser.add_argument("--out", type=Path, help="a folder for lines.jsonl and README.md; the table is printed anyway")
    arguments = parser.parse_args()
    methods = METHODS if arguments.methods is None else arguments.methods.split(";")
    jobs = [
        (name, method, seed, arguments.trials)
        for name in OBJECTIVES
        for method in methods
        for seed in range(arguments.seeds)
    ]
    with ProcessPoolExecutor(arguments.workers) as pool:
        lines = list(pool.map(line, jobs))
    text = f"mivabo {mivabo.__version__}, optuna {optuna.__version__}; {arguments.trials} trials\n\n{table(lines)}"
    print(text)
    if arguments.out is not None:
        arguments.out.mkdir(exist_ok=True)
        (arguments.out / "lines.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
        (arguments.out / "README.md").write_text(f"# Define-by-run objectives\n\nMade by `define_by_run.py`.\n\n{text}")


if __name__ == "__main__":
    main()
