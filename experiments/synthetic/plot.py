"""Figures and tables of the synthetic experiment, from its result lines alone.

    python plot.py results/*.jsonl.gz --out results > results/tables.md

Enters: lines of `mivabo-synthetic` and, for the peers, of `experiments/comparison/run.py`; others are passed over.
Leaves: `synthetic.svg` and `synthetic-own.svg` with our methods, `synthetic-peers.svg` with the peers beside some of
them, and tables on standard output.
"""

import argparse
import gzip
import json
import math
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
    "improvement": "#332288",
    "random": "#666666",
}
PEERS = {
    "hyperopt": "#d55e00",
    "optuna-tpe": "#e69f00",
    "optuna-gp": "#cc79a7",
    "smac": "#999933",
    "gp-rounding": "#882255",
}
FEW = 8
BESIDE_PEERS = {name: COLOURS[name] for name in ("improvement", "thompson", "thompson-learned", "random")} | PEERS


def read(paths: list[Path]) -> list:
    """Evaluations; a value that is none is ∞: nothing feasible was found."""
    found = []
    for path in paths:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            found += [line for line in map(json.loads, lines) if "method" in line]
    return [line | {"value": math.inf if line["value"] is None else line["value"]} for line in found]


def curves(lines: list) -> dict:
    """{task: {method: {seed: [best so far]}}}"""
    found: dict = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        best = found[line["task"]][line["method"]].setdefault(line["seed"], [])
        best.append(min(line["value"], best[-1] if best else float("inf")))
    return found


def normalised(methods: dict) -> dict:
    """The paper's error: for each seed 0 at the lowest value that any method saw, 1 at the mean first value and where
    nothing feasible is found yet."""
    result: dict = {method: [] for method in methods}
    seeds = sorted(set().union(*methods.values()))
    for seed in seeds:
        runs = {method: of_seed[seed] for method, of_seed in methods.items() if seed in of_seed}
        low = min(run[-1] for run in runs.values())
        high = statistics.mean(run[0] for run in runs.values() if math.isfinite(run[0]))
        for method, run in runs.items():
            errors = [(value - low) / (high - low) for value in run]
            result[method].append([error if math.isfinite(error) else 1.0 for error in errors])
    return result


def figure(found: dict, suffix: str, colours: dict[str, str], path: Path) -> None:
    """Mean ± one standard deviation of the methods that have a colour, dashed with fewer than `FEW` seeds."""
    _, axes = plt.subplots(1, len(TASKS), figsize=(13, 4), sharey=True)
    for axis, (task, title) in zip(axes, TASKS.items(), strict=True):
        errors = normalised(found[task + suffix])
        for method in (name for name in colours if name in errors):
            length = min(map(len, errors[method]))
            columns = [[run[t] for run in errors[method]] for t in range(length)]
            mean = [statistics.mean(column) for column in columns]
            spread = [statistics.stdev(column) if len(column) > 1 else 0.0 for column in columns]
            steps = range(1, length + 1)
            style = "--" if len(errors[method]) < FEW else "-"
            axis.plot(steps, mean, label=method, color=colours[method], lw=1.8, ls=style)
            low = [m - s for m, s in zip(mean, spread, strict=True)]
            high = [m + s for m, s in zip(mean, spread, strict=True)]
            axis.fill_between(steps, low, high, color=colours[method], alpha=0.08, lw=0)
        axis.set_title(title)
        axis.set_xlabel("evaluations")
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("normalised error (mean ± one sd)")
    handles = {label: line for axis in axes for line, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    axes[-1].legend(handles.values(), handles.keys(), fontsize=8, frameon=False)
    plt.tight_layout()
    plt.savefig(path, metadata={"Date": None})
    plt.close()


def table(found: dict, suffix: str) -> str:
    lines = [
        "| task | method | @20 | @50 | @100 | normalised @100 | seeds | ms per ask |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for task, title in TASKS.items():
        methods = found[task + suffix]
        errors = normalised(methods)
        for method in sorted(methods, key=lambda m: statistics.mean(run[-1] for run in errors[m])):
            runs = list(methods[method].values())
            cells = [spread([run[min(t, len(run)) - 1] for run in runs]) for t in (20, 50, 100)]
            last = spread([run[-1] for run in errors[method]], 3)
            lines.append(
                f"| {title} | {method} | {' | '.join(cells)} | {last} | {len(runs)} | {seconds(found, task + suffix, method)} |"
            )
    return "\n".join(lines)


def spread(values: list, digits: int = 1) -> str:
    if not all(map(math.isfinite, values)):
        return f"none ({sum(map(math.isinf, values))} of {len(values)})"
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.{digits}f} ± {deviation:.{digits}f}"


def seconds(found: dict, task: str, method: str) -> str:
    times = found["seconds"].get((task, method), [])
    return f"{1e3 * statistics.median(times):.1f}" if times else "-"


def violations(lines: list) -> str:
    """Infeasible suggestions of peers in a run, under the constraint that they are not told."""
    runs: dict = defaultdict(dict)
    for line in lines:
        if line["method"] in PEERS and line["task"].startswith("cardinality"):
            runs[line["method"]][line["seed"]] = line["violations"]
    means = [f"{method} {statistics.mean(by_seed.values()):.0f}" for method, by_seed in sorted(runs.items())]
    return (
        f"Mean infeasible suggestions in a run of a peer with at most two bits set: {', '.join(means)}."
        if means
        else ""
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, default=Path("results"))
    arguments = parser.parse_args()
    lines = read(arguments.lines)
    found = curves(lines)
    times = defaultdict(list)
    for line in lines:
        times[line["task"], line["method"]].append(line["seconds"])
    ours = [line["feasible"] for line in lines if line["method"] not in PEERS]
    found["seconds"] = times
    for suffix in ("", "-own"):
        if "gaussian" + suffix in found:
            figure(found, suffix, COLOURS, arguments.out / f"synthetic{suffix}.svg")
            print(f"\n## {'The model has waves of its own' if suffix else 'The model has the waves of the function'}\n")
            print(table(found, suffix))
    if any(line["method"] in PEERS for line in lines):
        figure(found, "-own", BESIDE_PEERS, arguments.out / "synthetic-peers.svg")
    print(f"\nInfeasible suggestions of ours: {ours.count(False)} of {len(ours)}.")
    print(violations(lines))


if __name__ == "__main__":
    main()
