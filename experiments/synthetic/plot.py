"""Figures and tables of the synthetic experiment, from its result lines alone.

    python plot.py results/2026-11-15.jsonl.gz --out results
"""

import argparse
import gzip
import json
import statistics
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "mivabo"  # the same lines give the same bytes
import matplotlib.pyplot as plt

TASKS = {
    "gaussian": "Gaussian weights",
    "sparse": "pruned Laplace weights",
    "cardinality": "at most two bits set",
}
COLOURS = {
    "thompson": "#0072b2",
    "thompson-learned": "#56b4e9",
    "thompson-laplace": "#009e73",
    "thompson-horseshoe": "#44aa99",
    "thompson-spike-slab": "#117733",
    "annealing": "#d55e00",
    "gp-annealing": "#e69f00",
    "random": "#666666",
}


def read(path: Path) -> list:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
        return [json.loads(line) for line in lines]


def curves(lines: list) -> dict:
    """{task: {method: {seed: [best so far]}}}"""
    found: dict = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        best = found[line["task"]][line["method"]].setdefault(line["seed"], [])
        best.append(min(line["value"], best[-1] if best else float("inf")))
    return found


def normalised(methods: dict) -> dict:
    """The paper's error: for each seed 0 at the lowest value that any method saw, 1 at the mean first value."""
    result: dict = {method: [] for method in methods}
    seeds = sorted(set().union(*methods.values()))
    for seed in seeds:
        runs = {method: of_seed[seed] for method, of_seed in methods.items() if seed in of_seed}
        low = min(run[-1] for run in runs.values())
        high = statistics.mean(run[0] for run in runs.values())
        for method, run in runs.items():
            result[method].append([(value - low) / (high - low) for value in run])
    return result


def figure(found: dict, suffix: str, out: Path) -> None:
    _, axes = plt.subplots(1, len(TASKS), figsize=(13, 4), sharey=True)
    for axis, (task, title) in zip(axes, TASKS.items()):
        for method, runs in normalised(found[task + suffix]).items():
            length = min(map(len, runs))
            columns = [[run[t] for run in runs] for t in range(length)]
            mean = [statistics.mean(column) for column in columns]
            spread = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
            steps = range(1, length + 1)
            axis.plot(steps, mean, label=method, color=COLOURS.get(method), lw=1.8)
            low = [m - s for m, s in zip(mean, spread)]
            high = [m + s for m, s in zip(mean, spread)]
            axis.fill_between(steps, low, high, color=COLOURS.get(method), alpha=0.08, lw=0)
        axis.set_title(title)
        axis.set_xlabel("evaluations")
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("normalised error (mean ± one sd)")
    axes[-1].legend(fontsize=8, frameon=False)
    plt.tight_layout()
    plt.savefig(out / f"synthetic{suffix}.svg", metadata={"Date": None})


def table(found: dict, suffix: str) -> str:
    lines = ["| task | method | @20 | @50 | @100 | normalised @100 | seeds | ms per ask |", "|---|---|---|---|---|---|---|---|"]
    for task, title in TASKS.items():
        methods = found[task + suffix]
        errors = normalised(methods)
        for method in sorted(methods, key=lambda m: statistics.mean(run[-1] for run in errors[m])):
            runs = list(methods[method].values())
            cells = [spread([run[min(t, len(run)) - 1] for run in runs]) for t in (20, 50, 100)]
            last = spread([run[-1] for run in errors[method]], 3)
            lines.append(f"| {title} | {method} | {' | '.join(cells)} | {last} | {len(runs)} | {seconds(found, task + suffix, method)} |")
    return "\n".join(lines)


def spread(values: list, digits: int = 1) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def seconds(found: dict, task: str, method: str) -> str:
    times = found["seconds"].get((task, method), [])
    return f"{1e3 * statistics.median(times):.1f}" if times else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=Path)
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    lines = read(arguments.lines)
    found = curves(lines)
    times = defaultdict(list)
    for line in lines:
        times[line["task"], line["method"]].append(line["seconds"])
    violations = sum(not line["feasible"] for line in lines)
    found["seconds"] = times
    for suffix in ("", "-own"):
        if "gaussian" + suffix in found:
            figure(found, suffix, arguments.out)
            print(f"\n## {'The model has waves of its own' if suffix else 'The model has the waves of the function'}\n")
            print(table(found, suffix))
    print(f"\nInfeasible suggestions: {violations} of {len(lines)}.")


if __name__ == "__main__":
    main()
