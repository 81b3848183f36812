#!/usr/bin/env python3
"""Markdown tables from result lines alone: our solver against HiGHS and SCIP, and our solver on its own.

A run that proved nothing counts with the CPU seconds it used, at most the limit, and every figure that rests on
it is marked ≥ (or ≤, for a ratio that divides by it). The median of lower bounds is a lower bound on the median.

Our solver has two clocks: the CPU time of its process, which includes start-up and reading the file, and its own,
which starts at the problem as the timers around HiGHS and SCIP do. They differ by milliseconds; both are shown.
"""

import argparse
import json
import math
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from statistics import median

OURS, OTHERS = "mivabo", ("highs", "scip")
FAMILIES = ["gauss", "blr", "onehot", "card2", "cardq", "knap", "vae"]


@dataclass(frozen=True)
class Time:
    """CPU seconds to a proved optimum, or a lower bound on them."""

    seconds: float
    proved: bool

    def __str__(self):
        return ("" if self.proved else "≥ ") + figure(self.seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versus", type=Path, help="result file of a comparison: prints the first table")
    parser.add_argument("--alone", type=Path, help="result file of our solver over all instances: the second")
    args = parser.parse_args()
    if args.versus:
        print(versus_table(latest(args.versus)))
    if args.alone:
        print(alone_table([run for run in latest(args.alone) if run["solver"] == OURS]))


def latest(file):
    """The last run of each instance, solver and formulation: a file may hold several limits and versions."""
    with open(file, encoding="utf-8") as lines:
        runs = [json.loads(line) for line in lines]
    return list({(run["instance"], run["solver"], run["formulation"]): run for run in runs}.values())


def versus_table(runs):
    """Family × n: median of each solver, and how many times slower than ours the better of the others is."""
    head = [
        "family",
        "n",
        "mivabo",
        "own clock",
        "HiGHS",
        "SCIP",
        "ratio",
        "by own clock",
        "solved (mivabo, HiGHS, SCIP)",
        "fastest formulation",
    ]
    rows = []
    for (family, n), cell in cells(runs):
        ours, highs, scip = (times(cell, solver) for solver in (OURS, *OTHERS))
        own = middle(times(cell, OURS, "reported_seconds"))
        others = better(middle(highs), middle(scip))
        rows.append(
            [
                family,
                n,
                middle(ours),
                own,
                middle(highs),
                middle(scip),
                ratio(middle(ours), others),
                ratio(own, others),
                ", ".join(f"{solved(part)}/{len(part)}" for part in (ours, highs, scip)),
                "; ".join(filter(None, (winners(cell, solver) for solver in OTHERS))),
            ]
        )
    return caption(runs, "Median CPU seconds to a proved optimum") + markdown(head, rows)


def alone_table(runs):
    """Family × n of our solver: median and worst, by the process's CPU clock and by the solver's own."""
    head = ["family", "n", "median", "worst", "own clock, median", "median nodes", "solved", "largest gap left"]
    rows = []
    for (family, n), cell in cells(runs):
        spent = times(cell, OURS)
        nodes = [run["nodes"] for run in cell if run["nodes"] is not None]
        rows.append(
            [
                family,
                n,
                middle(spent),
                max(spent, key=lambda time: time.seconds),
                middle(times(cell, OURS, "reported_seconds")),
                f"{median(nodes):.0f}" if nodes else "-",
                f"{solved(spent)}/{len(spent)}",
                largest_gap(cell),
            ]
        )
    return caption(runs, "mivabo alone, CPU seconds to a proved optimum") + markdown(head, rows)


def cells(runs):
    """The runs by family and n, families in the order of the instances' description."""

    def place(run):
        family = run["family"]
        known = FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)
        return known, family, run["n"]

    for (_, family, n), cell in groupby(sorted(runs, key=place), key=place):
        yield (family, n), list(cell)


def times(cell, solver, clock="seconds"):
    """One time per instance: the solver's fastest formulation there, chosen with hindsight in its favour."""
    best = [fastest(tries) for tries in by_instance(cell, solver).values()]
    return [time_of(run, clock) for run in best if run[clock] is not None]


def by_instance(cell, solver):
    tries = {}
    for run in cell:
        if run["solver"] == solver:
            tries.setdefault(run["instance"], []).append(run)
    return tries


def fastest(tries):
    return min(tries, key=lambda run: (run["status"] != "optimal", run["seconds"]))


def time_of(run, clock):
    proved = run["status"] == "optimal"
    return Time(run[clock] if proved else min(run[clock], run["limit"]), proved)


def middle(spent):
    """The median; only a lower bound where a run up to the middle proved nothing."""
    if not spent:
        return None
    ordered = sorted(spent, key=lambda time: (time.seconds, not time.proved))
    up_to_middle = ordered[: len(ordered) // 2 + 1]
    return Time(median(time.seconds for time in spent), all(time.proved for time in up_to_middle))


def better(one, other):
    """The smaller of two medians, either of which may be missing."""
    return min((time for time in (one, other) if time), key=lambda time: time.seconds, default=None)


def ratio(ours, others):
    """How many times as long the others take: ≥ where they did not finish, ≤ where we did not."""
    if ours is None or others is None:
        return "-"
    if not ours.proved and not others.proved:
        return "?"
    mark = "" if ours.proved and others.proved else "≥ " if ours.proved else "≤ "
    return f"{mark}{figure(others.seconds / max(ours.seconds, 1e-6))}"


def solved(spent):
    return sum(time.proved for time in spent)


def winners(cell, solver):
    """Which formulation was fastest, on how many of the instances the solver closed."""
    closed = [fastest(tries) for tries in by_instance(cell, solver).values()]
    counts = Counter(run["formulation"] for run in closed if run["status"] == "optimal")
    return f"{solver}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()) if counts else ""


def largest_gap(cell):
    """The largest (value - bound) / |value| among unproved runs, in percent."""
    gaps = [
        (run["value"] - run["bound"]) / max(abs(run["value"]), 1e-9)
        for run in cell
        if run["status"] != "optimal" and run["value"] is not None and run["bound"] is not None
    ]
    return f"{100.0 * max(gaps):.1f} %" if gaps else "-"


def caption(runs, title):
    """What the figures were measured with, since they mean nothing without it."""

    def all_of(key):
        return sorted({run[key] for run in runs})

    versions = sorted({f"{run['solver']} ({run['version']})" for run in runs})
    limits = ", ".join(f"{limit:g}" for limit in all_of("limit"))
    return (
        f"\n{title}, one thread. Limit {limits} s. {', '.join(versions)}. "
        f"{', '.join(all_of('machine'))}, {min(all_of('date'))[:10]}.\n\n"
    )


def figure(number):
    """Two significant digits, without exponents."""
    if number >= 10.0:
        return f"{number:.0f}"
    return f"{number:.{1 - math.floor(math.log10(max(number, 1e-6)))}f}"


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join("-" if cell is None else str(cell) for cell in line) + " |" for line in lines)


if __name__ == "__main__":
    main()
