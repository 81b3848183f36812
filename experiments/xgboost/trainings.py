"""Tables of real trainings: random settings of XGBoost with their errors, one JSON line each.

    python trainings.py --data DATA [--tasks xgb-monks,xgb-steel] [--minutes 10] [--out results]

Enters: `monks-1.train` and `steel-plates-fault.csv`. Leaves: `OUT/TASK.jsonl` with params, value (the error) and the
seconds of the training; `gzip -9n` makes of it what the tasks read. Every parameter is drawn by itself, uniformly on its
scale, so both boosters are alike. Setting k is the same in every run: a file that is there is continued. `--minutes` is for each task.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")  # before numpy

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))

from methods import Setting
from methods.rejection import Rejection
from space import Params
from tasks import xgb
from tasks.task import Task

FIRST = 1_000_000  # no seed of a method


def setting(k: int) -> Params:
    """The k-th setting, to six digits."""
    space = Task("xgb", 0, xgb.TEXT, lambda _: 0.0)
    drawn = Rejection(Setting(space, FIRST + k, 0, 0.0)).ask()
    return {name: float(f"{v:.6g}") if isinstance(v, float) else v for name, v in drawn.items()}


def build(name: str, data: Path, out: Path, seconds: float, most: int = 100_000) -> int:
    """Continues the table of a task; says how many settings it has then."""
    error, path, start = xgb.live(name, data), out / f"{name}.jsonl", time.monotonic()
    k = len(path.read_text().splitlines()) if path.exists() else 0
    with path.open("a") as lines:
        while k < most and (begun := time.monotonic()) - start < seconds:
            params = setting(k)
            value = round(error(params), 6)
            entry = {"params": params, "value": value, "seconds": round(time.monotonic() - begun, 3)}
            lines.write(json.dumps(entry) + "\n")
            lines.flush()
            k += 1
    return k


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tasks", default=",".join(xgb.NAMES))
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.tasks.split(","):
        n = build(name, arguments.data, arguments.out, 60 * arguments.minutes)
        print(f"{name}: {n} settings", flush=True)


if __name__ == "__main__":
    main()
