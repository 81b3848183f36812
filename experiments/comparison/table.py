"""Tables and figures of the comparison, from its result lines alone.

    python table.py results/*.jsonl.gz --out results

Writes `tables.md` and SVG figures; the same lines give the same bytes.
"""

import argparse
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import figures
import run
import scale
from runs import CONSTRAINED, Runs, at, compare, pairs
from tasks import engineering, vae

POINTS = (20, 40, 80)
VAE_POINTS = (16, 32)


LEAST = 5e-4  # what is shown as 0.000 is no difference


def grid(header: list[str], rows: Iterable[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def spread(values: list[float], digits: int = 3) -> str:
    """Mean ± standard error."""
    if not values:
        return "-"
    if not all(map(math.isfinite, values)):
        return f"none ({sum(not math.isfinite(v) for v in values)} of {len(values)})"
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{np.mean(values):.{digits}f} ± {error:.{digits}f}"


def groups(runs: Runs) -> dict[str, list[str]]:
    """Tasks with the whole budget: all, without and with constraints. The stand-ins for the VAE have their own table."""
    whole = [task for task in runs.tasks if task not in vae.NAMES]
    return {
        "all": whole,
        "unconstrained": [task for task in whole if task not in CONSTRAINED],
        "constrained": [task for task in whole if task in CONSTRAINED],
    }


def score_table(runs: Runs) -> str:
    """Mean over tasks of the mean over seeds; the standard error is that over runs within tasks."""
    header = ["method", *(f"{name} @{k}" for name in groups(runs) for k in POINTS), "runs"]
    return grid(header, [_score_row(runs, method) for method in runs.methods])


def _score_row(runs: Runs, method: str) -> list[str]:
    cells, n_runs = [f"`{method}`"], 0
    for tasks in groups(runs).values():
        for k in POINTS:
            by_task = [[v for c in runs.scores(task, method).values() if (v := at(c, k)) is not None] for task in tasks]
            by_task = [values for values in by_task if values]
            missing = len(tasks) - len(by_task)
            errors = [np.var(v, ddof=1) / len(v) for v in by_task if len(v) > 1]
            mean = (
                f"{np.mean([np.mean(v) for v in by_task]):.3f} ± {np.sqrt(sum(errors)) / len(by_task):.3f}"
                if by_task
                else "-"
            )
            cells.append(mean + (f" ({missing} tasks missing)" if missing and by_task else ""))
            n_runs = max(n_runs, sum(map(len, by_task)))
    return [*cells, str(n_runs)]


def wins_table(runs: Runs, ours: str) -> str:
    """Wins/ties/losses of ours on equal tasks and seeds."""
    header = [f"`{ours}` against", *(f"{name} @{k}" for name in groups(runs) for k in POINTS)]
    rows = []
    for other in runs.methods:
        if other != ours:
            cells = [_wins(pairs(runs, ours, other, tasks), k) for tasks in groups(runs).values() for k in POINTS]
            rows.append([f"`{other}`", *cells])
    return grid(header, rows)


def _wins(found: list[tuple[np.ndarray, np.ndarray]], k: int) -> str:
    results = [compare(a[k - 1], b[k - 1]) for a, b in found if min(len(a), len(b)) >= k]
    return f"{results.count(1)}/{results.count(0)}/{results.count(-1)}" if results else "-"


def vae_table(runs: Runs) -> str:
    header = ["method", *(f"{task} @{k}" for task in vae.NAMES for k in VAE_POINTS), "seeds"]
    rows = []
    for method in runs.methods:
        cells = [_raw(runs, task, method, k, 2) for task in vae.NAMES for k in VAE_POINTS]
        n = max(len(runs.seeds(task, method)) for task in vae.NAMES)
        if n:
            rows.append([f"`{method}`", *cells, str(n)])
    return grid(header, rows)


def _raw(runs: Runs, task: str, method: str, k: int, digits: int = 3) -> str:
    return spread([v for c in runs.seeds(task, method).values() if (v := at(c, k)) is not None], digits)


def task_table(runs: Runs, k: int) -> str:
    """Mean best ± standard error of each task."""
    rows = [[task, *(_raw(runs, task, method, k) for method in runs.methods)] for task in groups(runs)["all"]]
    return grid([f"@{k}", *(f"`{method}`" for method in runs.methods)], rows)


def against_table(runs: Runs, ours: str, others: Sequence[str]) -> str:
    """Difference of scores (ours minus theirs) by task after all evaluations: below 0 is better; ** marks what is worse by
    more than two standard errors."""
    rows = []
    for task in groups(runs)["all"]:
        cells = []
        for other in others:
            mine, theirs = runs.scores(task, ours), runs.scores(task, other)
            gaps = [mine[s][-1] - theirs[s][-1] for s in sorted(mine.keys() & theirs.keys())]
            error = np.std(gaps, ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else math.inf
            cells.append(spread(gaps) + (" **" if gaps and np.mean(gaps) > max(2 * error, LEAST) else ""))
        rows.append([task, *cells])
    return grid([f"`{ours}` minus", *(f"`{other}`" for other in others)], rows)


def design_table(runs: Runs) -> str:
    """Median best of the designs with known optima after 60 evaluations, and how far above the optimum."""
    rows = []
    for method in runs.methods:
        cells = []
        for task in engineering.NAMES:
            found = [v for c in runs.seeds(task, method).values() if (v := at(c, 60)) is not None]
            median, known = float(np.median(found)) if found else math.inf, runs.scale[f"{task}/0"]["best"]
            cells.append(f"{median:.3f} ({100 * (median / known - 1):+.4f} %)" if math.isfinite(median) else "none")
        rows.append([f"`{method}`", *cells])
    return grid(["median @60", *engineering.NAMES], rows)


def cost_table(runs: Runs) -> str:
    """Seconds of a suggestion and infeasible suggestions in a run."""
    rows = []
    for method in runs.methods:
        seconds = runs.seconds[method] or [math.nan]
        broken = [n for (task, m, _), n in runs.violations.items() if m == method and task in CONSTRAINED]
        times = [f"{np.median(seconds):.3f}", f"{np.quantile(seconds, 0.9):.3f}"]
        rows.append([f"`{method}`", *times, f"{np.mean(broken):.1f}" if broken else "-", str(max(broken, default=0))])
    return grid(["method", "median s", "90 % s", "mean violations", "most"], rows)


def page(runs: Runs, ours: str) -> str:
    tpe = [
        m for m in ("optuna-tpe", "optuna-tpe:repair", "hyperopt", "optuna-gp", "optuna-gp:repair") if m in runs.methods
    ]
    sections: dict[str, str] = {
        "Normalised score (0 best known, 1 median random feasible point), mean ± se": score_table(runs),
        "Wins/ties/losses on equal tasks and seeds": wins_table(runs, ours),
        "Stand-ins for the VAE: best nats, mean ± se": vae_table(runs),
        "By task, difference of scores after all evaluations (** worse by more than 2 se)": against_table(
            runs, ours, tpe
        ),
        "Designs with known optima": design_table(runs),
        "Cost": cost_table(runs),
        **{f"Best values after {k} evaluations, mean ± se": task_table(runs, k) for k in POINTS},
    }
    listed = ", ".join(f"{name} {version}" for name, version in sorted(runs.versions.items()))
    return f"Versions: {listed}\n\n" + "\n".join(f"## {title}\n\n{text}" for title, text in sections.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("--ours", default="mivabo:improvement")
    parser.add_argument("--out", type=Path, default=scale.PATH.parent)
    arguments = parser.parse_args()
    runs = Runs.read(run.read(arguments.lines), scale.read())
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "tables.md").write_text(page(runs, arguments.ours))
    figures.draw(runs, groups(runs), arguments.out)


if __name__ == "__main__":
    main()
