"""Choices among algorithms that have parameters of their own, from result lines alone.

    python run.py --out results/branches/lines.jsonl --tasks $(python branches.py) --seeds 32 --evals 50 --methods …
    python branches.py results/branches/lines.jsonl.gz --out results/branches/README.md

Without files it prints the tasks. A row for each task and method: the median of the best values, their mean, and on how many seeds the
best branch was found. No other branch can reach a value below `FOUND`.
"""

import argparse
from pathlib import Path
from statistics import mean, median

import run
from runs import Runs
from table import grid
from tasks import branches

RESULTS = Path(__file__).parent / "results" / "branches"


def row(runs: Runs, task: str, method: str) -> list[str]:
    best = [curve[-1] for curve in runs.seeds(task, method).values()]
    n_found = sum(value < branches.FOUND for value in best)
    return [task, f"`{method}`", f"{median(best):.3f}", f"{mean(best):.3f}", f"{n_found} of {len(best)}"]


def text(files: list[Path]) -> str:
    runs = Runs.read(run.read(files), {})
    versions = ", ".join(f"{package} {version}" for package, version in runs.versions.items())
    n_evals = {len(curve) for curve in runs.best.values()}
    head = ["task", "method", "median of the best", "mean", f"below {branches.FOUND}"]
    rows = [row(runs, task, method) for task in runs.tasks for method in runs.methods if runs.seeds(task, method)]
    made = f"Made by `branches.py` after {', '.join(map(str, sorted(n_evals)))} evaluations; {versions}."
    return f"# Choices among algorithms\n\n{made}\n\n{grid(head, rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if not arguments.files:
        print(",".join(branches.NAMES))
        return
    found = text(arguments.files)
    arguments.out.write_text(found) if arguments.out else print(found)


if __name__ == "__main__":
    main()
