#!/usr/bin/env python3
"""Makes instances by the recipe of the data file, for those who do not have it.

`gauss` is Thompson sampling before any data: all weights of a second-order model are standard normal draws. The
other families put constraints under the same objective. No optimum is stored: `best` is null.
"""

import argparse
import json
from pathlib import Path

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder in which bqp/instances.jsonl is written")
    parser.add_argument("--sizes", type=int, nargs="+", default=[24, 32])
    parser.add_argument("--count", type=int, default=2, help="instances per family and size (default: 2)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng = np.random.default_rng(args.seed)
    file = args.data / "bqp" / "instances.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    with open(file, "x", encoding="utf-8") as out:  # never over somebody's data
        for n in args.sizes:
            for number in range(args.count):
                for instance in family_of_one_objective(n, number, rng):
                    out.write(json.dumps(instance) + "\n")


def family_of_one_objective(n, number, rng):
    """One objective under each kind of constraint, so that families differ in nothing else."""
    objective = {
        "n": n,
        "linear": rng.standard_normal(n).tolist(),
        "quadratic": [[i, j, rng.standard_normal()] for i in range(n) for j in range(i + 1, n)],
    }
    groups = [list(range(start, min(start + 4, n))) for start in range(0, n, 4)]
    kinds = {
        "gauss": ([], []),
        "card2": ([row(range(n), np.ones(n), "<=", 2)], []),
        "cardq": ([row(range(n), np.ones(n), "<=", n // 4)], []),
        "knap": ([knapsack(n, rng) for _ in range(5)], []),
        "onehot": ([row(group, np.ones(len(group)), "==", 1) for group in groups], groups),
    }
    for family, (rows, one_hot) in kinds.items():
        yield {
            "name": f"{family}_{n}_{number}",
            "family": family,
            **objective,
            "rows": rows,
            "groups": one_hot,
            "tables": [],
            "best": None,
            "proven": False,
        }


def knapsack(n, rng):
    """Weights 1 to 20, a capacity of 25 to 50 % of their sum."""
    weights = rng.integers(1, 21, n)
    return row(range(n), weights, "<=", np.floor(weights.sum() * rng.uniform(0.25, 0.5)))


def row(indices, coefficients, sense, rhs):
    return {
        "idx": list(indices),
        "coef": [float(c) for c in coefficients],
        "sense": sense,
        "rhs": float(rhs),
    }


if __name__ == "__main__":
    main()
