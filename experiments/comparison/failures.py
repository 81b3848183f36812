"""What failed evaluations cost, from result lines alone.

    python run.py --failing 0.3 --evals 40 --out results/failures/chance-0.3.jsonl --methods …
    python run.py --failing untold --evals 40 --out results/failures/untold.jsonl --methods … --tasks $(python failures.py)
    python failures.py results/failures/*.jsonl.gz --out results/failures/README.md

Without files it prints the tasks with constraints. A table for each file: the mean score after 20 and 40 evaluations, failed ones
included, its difference from the first method of the file on equal tasks and seeds, and the share of failures among the last 20.
"""

import argparse
from pathlib import Path

import numpy as np

import run
import scale
import tasks
from runs import Runs, at
from table import grid

RESULTS = Path(__file__).parent / "results" / "failures"
POINTS = [20, 40]


def row(runs: Runs, method: str, first: str, failed: dict[str, list[bool]]) -> list[str]:
    cells = []
    for k in POINTS:
        ours, theirs = [], []
        for task in runs.tasks:
            curves, others = runs.scores(task, method), runs.scores(task, first)
            for seed in sorted(curves.keys() & others.keys()):
                ours.append(at(curves[seed], k))
                theirs.append(at(others[seed], k))
        off = np.subtract(ours, theirs)
        cells.append(f"{np.mean(ours):.3f}")
        cells.append("" if method == first else f"{np.mean(off):+.3f} ± {np.std(off, ddof=1) / np.sqrt(len(off)):.3f}")
    return [f"`{method}`", str(len(off)), *cells, f"{100 * np.mean(failed[method]):.0f} %"]


def section(path: Path) -> str:
    lines = [line for line in run.read([path]) if "task" in line]
    runs = Runs.read(lines, scale.read())
    failed: dict[str, list[bool]] = {}
    for line in lines:
        if line["index"] >= POINTS[-1] - 20:
            failed.setdefault(line["method"], []).append(line["value"] is None)
    chosen = list(dict.fromkeys(line["method"] for line in lines))
    first = chosen[0]
    head = ["method", "runs", *[cell for k in POINTS for cell in (f"after {k}", "against the first")], "failed at last"]
    table = grid(head, [row(runs, method, first, failed) for method in chosen])
    return f"## {path.name.partition('.jsonl')[0]}\n\n{table}"


def text(files: list[Path]) -> str:
    return "# Failed evaluations\n\n" + "\n".join(map(section, files))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if not arguments.files:
        print(",".join(name for name in tasks.CHEAP if tasks.make(name, 0).is_constrained))
        return
    found = text(arguments.files)
    arguments.out.write_text(found) if arguments.out else print(found)


if __name__ == "__main__":
    main()
