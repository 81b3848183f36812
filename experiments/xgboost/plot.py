"""The figure and the table of XGBoost's tuning, from result lines alone.

    python plot.py results/*.jsonl.gz --out results

Leaves `tables.md`, `xgboost.svg` and, where there are lines of live training, `live.svg`; the same lines give the same
bytes.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))

import figures
import run
from runs import Runs, compare, pairs
from table import grid
from tasks import xgb

POINTS = (10, 20, 50, 100)
WINS = (20, 50)
OURS = "mivabo:improvement"


def curves(runs: Runs, task: str) -> dict[str, np.ndarray]:
    """Best errors so far, one row for each seed; runs of a method are cut to its shortest."""
    found = {}
    for method in runs.methods:
        if rows := list(runs.seeds(task, method).values()):
            length = min(map(len, rows))
            found[method] = np.array([row[:length] for row in rows])
    return found


def draw(runs: Runs, tasks: list[str], path: Path) -> None:
    figure, panels = figures.plt.subplots(1, len(tasks), figsize=(5.5 * len(tasks), 4), squeeze=False)
    colour = figures.colours(runs.methods)
    for axes, task in zip(panels.flat, tasks, strict=True):
        found = curves(runs, task)
        figures.bands(axes, task, found, colour)
        first = max(rows[:, min(4, rows.shape[1] - 1)].mean() for rows in found.values())
        axes.set_ylim(0, 1.1 * first)  # from the fifth evaluation on; before it all are far above
        axes.set_xlabel("evaluations", fontsize=8)
    panels[0, 0].set_ylabel("error, mean ± one sd", fontsize=8)
    figure.subplots_adjust(bottom=0.3)
    figures.save(figure, path)


def table(runs: Runs, task: str) -> str:
    """Mean ± one standard deviation of the best error in percent; methods stand by their mean over all evaluations."""
    found = curves(runs, task)
    low = min(rows.min() for rows in found.values())
    rows = []
    for method, errors in sorted(found.items(), key=lambda item: (item[1].mean(), item[0])):
        cells = [_spread(100 * errors[:, k - 1]) if k <= errors.shape[1] else "-" for k in POINTS]
        wins = ["" if method == OURS else _wins(runs, task, method, k) for k in WINS]
        rows.append([f"`{method}`", *cells, _until(errors, low), *wins, str(len(errors))])
    header = [task, *(f"@{k}" for k in POINTS), f"until {100 * low:.2f}", *(f"ours @{k}" for k in WINS), "seeds"]
    return grid(header, rows)


def _until(errors: np.ndarray, low: float) -> str:
    reached = [np.argmax(row <= low) + 1 if row[-1] <= low else np.inf for row in errors]
    median = float(np.median(reached))
    return f"{median:.0f}" if np.isfinite(median) else f"> {errors.shape[1]}"


def _spread(values: np.ndarray) -> str:
    return f"{values.mean():.2f} ± {values.std(ddof=1) if len(values) > 1 else 0.0:.2f}"


def _wins(runs: Runs, task: str, method: str, k: int) -> str:
    found = [compare(a[k - 1], b[k - 1]) for a, b in pairs(runs, OURS, method, [task]) if min(len(a), len(b)) >= k]
    return f"{found.count(1)}/{found.count(0)}/{found.count(-1)}" if found else "-"


def cost(runs: Runs) -> str:
    rows = [[f"`{method}`", f"{1e3 * np.median(runs.seconds[method]):.1f}"] for method in runs.methods]
    return grid(["method", "median ms of a suggestion"], rows)


def page(runs: Runs) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in sorted(runs.versions.items()))
    title = "Best error so far in percent, mean ± one standard deviation over seeds"
    legend = f"""`until`: median number of evaluations until the lowest error that any method saw. `ours`: wins/ties/losses of
`{OURS}` on equal seeds. The order is that of the mean over all evaluations."""
    tables = "\n".join(table(runs, task) for task in sorted(runs.tasks))
    return f"Versions: {listed}\n\n## {title}\n\n{legend}\n\n{tables}\n## Cost, on a busy machine\n\n{cost(runs)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    arguments = parser.parse_args()
    runs = Runs.read(run.read(arguments.lines), {})
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tables.md").write_text(page(runs))
    for names, name in ((xgb.NAMES, "xgboost"), (xgb.LIVE, "live")):
        if tasks := [task for task in names if task in runs.tasks]:
            draw(runs, tasks, arguments.out / f"{name}.svg")


if __name__ == "__main__":
    main()
