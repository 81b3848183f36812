"""Tasks × methods × seeds, one JSON line for each evaluation.

    python run.py --out results/ours.jsonl [--tasks a,b] [--methods a,b] [--seeds 8] [--evals 80] [--jobs 1] [--data DATA]
                  [--again] [--minutes 60] [--invalid 600] [--failing 0.3 | --failing untold]

A line holds task, method, seed, index (from 0), value (without noise; null where none was found), feasible, violations
(so far) and the seconds of the suggestion. A suggestion that breaks a constraint is not counted: the method is told so
(peers as a penalty). After 50 of them in a row the evaluation is given up, after `--invalid` in all (600, or 100 for the
slowest peers) the run.

With `--failing` evaluations fail: by chance, or where they break a constraint that the method was not told. A failed one counts,
has no value, and is told as an infeasible one.

Runs that the file holds are left out, so the same command resumes an interrupted comparison; a run is written whole or not
at all. `--again` first drops the runs of these tasks and methods from the file. After `--minutes` no further run is
written than the one at work.
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # before numpy

import argparse
import gzip
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

import methods
import scale
import tasks

CAP = 50  # infeasible suggestions for one evaluation
IN_ALL = {"optuna-gp": 100, "smac": 100, "ax": 100}  # in a run; those are slow
IN_ALL_OTHERS = 600


@dataclass(frozen=True)
class Job:
    task: str
    method: str
    seed: int
    evals: int
    data: Path | None
    in_all: int = IN_ALL_OTHERS  # infeasible suggestions in the run
    failing: str | None = None


def run(job: Job) -> str:
    """One whole run, as lines."""
    task = tasks.make(job.task, job.seed, job.data)
    penalty = task.penalty
    if penalty is None:
        penalty = scale.read()[scale.key(task)]["worst"] if task.is_constrained or job.failing else 0.0
    if job.failing:
        task = task.untold() if job.failing == "untold" else task.failing(float(job.failing))
    method = methods.make(job.method, methods.Setting(task, job.seed, job.evals, penalty))
    noise = np.random.default_rng([job.seed, 77])
    lines, violations = "", 0
    for index in range(job.evals):
        value, is_feasible, seconds = None, False, 0.0
        for _ in range(min(CAP, job.in_all - violations)):
            start = time.perf_counter()
            params = method.ask()
            seconds += time.perf_counter() - start
            is_feasible = task.is_feasible(params)
            if is_feasible and not task.fails(params):
                value = task.value(params)
                method.tell(params, value + task.noise * float(noise.normal()))
                break
            method.tell(params, None)
            if is_feasible:
                break
            violations += 1
        entry = {"task": job.task, "method": job.method, "seed": job.seed, "index": index, "value": value}
        entry |= {"feasible": is_feasible, "violations": violations, "seconds": round(seconds, 4)}
        lines += json.dumps(entry) + "\n"
    return lines


def read(paths: list[Path]) -> Iterator[dict]:
    """Lines of result files, gzipped or not."""
    for path in paths:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            yield from map(json.loads, lines)


def finished(path: Path) -> set[tuple[str, str, int]]:
    lines = read([path]) if path.exists() else iter(())
    return {(line["task"], line["method"], line["seed"]) for line in lines if "task" in line}


def forget(path: Path, names: list[str], chosen: list[str]) -> None:
    """Drops the lines of these tasks and methods."""
    kept = [line for line in read([path]) if line.get("task") not in names or line["method"] not in chosen]
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


def applies(method: str, task: tasks.Task) -> bool:
    """Constraint variants of a peer run only where there are constraints: elsewhere they are the peer itself."""
    return task.is_constrained or method not in methods.UNDER_CONSTRAINTS


def attempt(job: Job) -> tuple[Job, str, str]:
    try:
        return job, run(job), ""
    except Exception as error:  # a peer that fails is reported and does not stop the others
        return job, "", f"{type(error).__name__}: {error}"


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    done = finished(arguments.out)
    for method in arguments.methods.split(","):
        for name in arguments.tasks.split(","):
            task = tasks.make(name, 0, arguments.data)
            for seed in range(arguments.first_seed, arguments.seeds):
                if (name, method, seed) not in done and applies(method, task):
                    in_all = IN_ALL.get(method, IN_ALL_OTHERS) if arguments.invalid is None else arguments.invalid
                    evals = min(arguments.evals, task.budget)
                    yield Job(name, method, seed, evals, arguments.data, in_all, arguments.failing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", type=Path, help="folder with vae-mnist-evaluations.jsonl")
    parser.add_argument("--tasks", default=",".join(tasks.CHEAP))
    parser.add_argument("--methods", default="mivabo:improvement,mivabo:thompson,mivabo:random")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--evals", type=int, default=80)
    parser.add_argument("--invalid", type=int, help="in a run; 600, or 100 for the slowest peers")
    parser.add_argument("--failing", help="the share of evaluations that fail by chance, or `untold`")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    arguments = parser.parse_args()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    if arguments.again and arguments.out.exists():
        forget(arguments.out, arguments.tasks.split(","), arguments.methods.split(","))
    end = time.monotonic() + 60 * arguments.minutes
    todo = list(jobs(arguments))
    print(json.dumps(methods.versions()), file=sys.stderr)
    with arguments.out.open("a") as out, get_context("spawn").Pool(arguments.jobs, maxtasksperchild=20) as pool:
        if todo:
            out.write(json.dumps({"versions": methods.versions()}) + "\n")
        for job, lines, error in pool.imap(attempt, todo):
            out.write(lines)
            out.flush()
            print(job.task, job.method, job.seed, error or "done", file=sys.stderr, flush=True)
            if time.monotonic() > end:
                break  # leaving the pool ends what it has begun


if __name__ == "__main__":
    main()
