"""The scale of each instance, from random feasible points: what is bad, what is typical, what is best.

    python scale.py --data DATA [--tasks a,b] [--seeds 8]

Writes `results/scale.json`: {"task/instance": {"median", "worst", "best"}} over 200 random feasible points (40 where a
value takes a training run), `best` being the known optimum or null. A score of 1 is the median; the worst is the penalty
that peers are told for an infeasible suggestion. Entries that are there already stay as they are.
"""

import argparse
import json
import statistics
from pathlib import Path

import tasks

PATH = Path(__file__).parent / "results" / "scale.json"
N = 200
N_SLOW = 40


def key(task: tasks.Task) -> str:
    return f"{task.name}/{0 if task.fixed else task.seed}"


def read(path: Path = PATH) -> dict[str, dict]:
    return json.loads(path.read_text()) if path.exists() else {}


def measure(task: tasks.Task) -> dict:
    import mivabo

    n = N_SLOW if task.name.startswith("xgboost") else N
    values = [
        task.value(dict(params)) for params in mivabo.Space.from_toml(task.text).sample(n, seed=1_000_000 + task.seed)
    ]
    return {"median": statistics.median(values), "worst": max(values), "best": task.best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default=",".join(tasks.NAMES))
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--data", type=Path)
    arguments = parser.parse_args()
    for name in arguments.tasks.split(","):
        for seed in range(arguments.seeds):
            task = tasks.make(name, seed, arguments.data)
            found = read()
            if key(task) not in found:
                found[key(task)] = measure(task)
                PATH.write_text(
                    "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(found.items())) + "\n}\n"
                )
            if task.fixed:
                break
        print(name, flush=True)


if __name__ == "__main__":
    main()
