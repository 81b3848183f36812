"""What came of each study, from the lines alone: for tables and figures.

Enters: result files. Leaves: an `Outcome` for each study (dataset, method, seed, penalty).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import run
from run import Study

EVALS = 32
HALF = 16  # evaluations that the paper's penalty tables end at
SEEDS = 8
DATASETS = ["mnist", "fashion-mnist"]
PENALTIES = [500.0, 250.0, 125.0]
OURS = ["mivabo:improvement", "mivabo:thompson", "mivabo:thompson-learned@6", "mivabo:random"]
PEERS = ["random", "gp-rounding", "hyperopt", "optuna-tpe", "optuna-gp", "smac"]
METHODS = [*OURS, *PEERS]


@dataclass(frozen=True)
class Outcome:
    """One study: best nats and invalid suggestions after each valid evaluation; seconds of all suggestions."""

    best: np.ndarray
    violations: np.ndarray
    seconds: np.ndarray
    gave_up: bool

    @classmethod
    def of(cls, lines: list[dict]) -> "Outcome":
        valid = [line for line in lines if line["feasible"]]
        return cls(
            np.minimum.accumulate([line["value"] for line in valid]) if valid else np.array([]),
            np.array([line["violations"] for line in valid]),
            np.array([line["seconds"] for line in lines]),
            len(valid) < EVALS and run.is_done(lines, EVALS),
        )


Outcomes = dict[Study, Outcome]


def read(paths: Iterable[Path]) -> Outcomes:
    return {study: Outcome.of(lines) for study, lines in sorted(run.read(paths).items())}


def select(outcomes: Outcomes, dataset: str, method: str, penalty: float = PENALTIES[0]) -> list[Outcome]:
    """The seeds of a method. What knows the constraints never pays the penalty, so one penalty stands for all."""
    if method in OURS:
        penalty = PENALTIES[0]
    return [o for s, o in outcomes.items() if (s.dataset, s.method, s.penalty) == (dataset, method, penalty)]
