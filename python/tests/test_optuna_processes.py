"""Several processes that work on one study of Optuna."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

optuna.logging.set_verbosity(optuna.logging.WARNING)

EACH = 20

WORK = """
import sys, warnings, optuna
from optuna.distributions import CategoricalDistribution, IntDistribution
from mivabo.optuna import MivaboSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend

optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, place, seed, n = sys.argv[1:]
storage = JournalStorage(JournalFileBackend(place)) if kind == "journal" else f"sqlite:///{place}"
space = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9), "c": CategoricalDistribution(["x", "y"])}
sampler = MivaboSampler(seed=int(seed), search_space=space, constraints=["a + b <= 14"])
study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)

def objective(trial):
    a, b = trial.suggest_int("a", 0, 9), trial.suggest_int("b", 0, 9)
    return (a - 4) ** 2 + (b - 7) ** 2 + (trial.suggest_categorical("c", ["x", "y"]) == "x")

print("ready", flush=True)
sys.stdin.readline()
study.optimize(objective, n_trials=int(n))
"""


@pytest.mark.parametrize("kind", ["journal", "sqlite"])
@pytest.mark.parametrize("seeds", [(7, 7), (7, 8)])
def test_two_processes_never_try_the_same_point(tmp_path: Path, kind: str, seeds: tuple[int, int]) -> None:
    place = tmp_path / "shared"
    storage = JournalStorage(JournalFileBackend(str(place))) if kind == "journal" else RDBStorage(f"sqlite:///{place}")
    study = optuna.create_study(study_name="shared", storage=storage)
    commands = [[sys.executable, "-c", WORK, kind, str(place), str(seed), str(EACH)] for seed in seeds]
    workers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for command in commands
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in workers:
        worker.communicate(timeout=300)
        assert worker.returncode == 0
    trials = study.get_trials()
    assert len(trials) == 2 * EACH
    points = Counter(tuple(trial.params.values()) for trial in trials)
    assert all(a + b <= 14 for a, b, _ in points)
    assert [point for point, times in points.items() if times > 1] == []
