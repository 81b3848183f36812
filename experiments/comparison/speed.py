"""How long a suggestion takes, and how much memory it needs, as outcomes grow: ours beside Optuna's Gaussian process.

    python speed.py [--outcomes 20,50,100,200,500,1000] [--asks 9] [--memory 5000] > results/speed.md

The space is that of `examples/vae.toml`: 28 parameters, conditions and constraints. The outcomes before the first measured suggestion are
random feasible points, the same for both. A suggestion is an ask after a tell: the first of a row fits anew, the others as the method
sees fit. Both take turns at each number of outcomes, on one core, so what else the machine does slows both.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before numpy

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median

import mivabo
import optuna

from methods import versions
from methods.method import Setting
from methods.optuna_samplers import Optuna
from space import Params
from table import grid
from tasks.task import Task

VAE = Path(__file__).parents[2] / "examples" / "vae.toml"
SLOW = 200  # outcomes up to which Optuna's process is asked


def value(params: Params) -> float:
    """Smooth in every number, so that there is something to learn."""
    return sum((float(number) - 3.0) ** 2 / (1.0 + float(number) ** 2) for number in params.values())


def space() -> mivabo.Space:
    return mivabo.Space.from_toml(VAE.read_text())


def outcomes(n: int) -> list[tuple[Params, float]]:
    study = mivabo.Study(space(), strategy="random", seed=1)
    found = []
    for _ in range(n):
        trial = study.ask()
        params = dict(trial.params)
        study.tell(trial, value(params))
        found.append((params, value(params)))
    return found


def ours(known: list[tuple[Params, float]]) -> Callable[[], None]:
    study = mivabo.Study(space(), seed=1)
    for params, result in known:
        study.add(params, result)

    def step() -> None:
        trial = study.ask()
        study.tell(trial, value(trial.params))

    return step


def theirs(known: list[tuple[Params, float]]) -> Callable[[], None]:
    method = Optuna(Setting(Task("vae", 1, VAE.read_text(), value), 1, 0, 0.0), "gp")
    for params, result in known:
        method.study.enqueue_trial(_asked(method, params))
        method.tell(method.ask(), result)

    def step() -> None:
        params = method.ask()
        method.tell(params, value(params))

    return step


def _asked(method: Optuna, params: Params) -> dict:
    """What Optuna calls the values: lists by index."""
    spaces = {p.name: p for p in method.setting.task.space}
    return {
        k: v if not (p := spaces[k]).levels or p.is_label or p.log else p.levels.index(v) for k, v in params.items()
    }


def times(step: Callable[[], None], n: int) -> list[float]:
    found = []
    for _ in range(n):
        start = time.perf_counter()
        step()
        found.append(1e3 * (time.perf_counter() - start))
    return found


def peak(n: int) -> float:
    """MB that a process with so many outcomes has taken at most, after one suggestion."""
    command = [sys.executable, __file__, "--only", str(n)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outcomes", default="20,50,100,200,500,1000")
    parser.add_argument("--asks", type=int, default=9)
    parser.add_argument("--memory", type=int, default=5000)
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only is not None:
        ours(outcomes(arguments.only))()
        # Not `ru_maxrss`: that remembers the process from which this one was started.
        status = Path("/proc/self/status").read_text().splitlines()
        print(next(float(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM")))
        return
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sizes = [int(n) for n in arguments.outcomes.split(",")]
    known, rows = outcomes(max(sizes)), []
    for n in sizes:
        mine = times(ours(list(islice(known, n))), arguments.asks)
        row = [n, f"{median(mine):.0f}", f"{max(mine):.0f}", "-", "-"]
        if n <= SLOW:
            other = times(theirs(list(islice(known, n))), arguments.asks)
            row[3:] = [f"{median(other):.0f}", f"{median(other) / median(mine):.0f}"]
        rows.append([str(cell) for cell in row])
    print(f"Versions: {', '.join(f'{k} {v}' for k, v in versions().items() if k in ('mivabo', 'optuna', 'torch'))}\n")
    heads = ["outcomes", "ours, median ms", "ours, slowest ms", "Optuna GP, median ms", "ratio"]
    print(grid(heads, rows))
    print(f"Peak memory with {arguments.memory} outcomes, Python and all: {peak(arguments.memory):.0f} MB")


if __name__ == "__main__":
    main()
