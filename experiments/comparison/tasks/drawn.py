"""The functions that `experiments/synthetic` draws in Rust, from its export: f = aᵀ W b with monomials a of the bits
and b = (1, waves). Ours runs on them in Rust; these tasks are for the peers.

Peers are told of a point with more than two bits set what is the worst of 200 random feasible points.
"""

import gzip
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from space import Params
from tasks.task import Task, bits, real, reals, study, truth

PATH = Path(__file__).parents[2] / "synthetic" / "results" / "functions.jsonl.gz"
NAMES = ["gaussian-own", "sparse-own", "cardinality-own"]
N = 8
MOST = 2  # bits that may be set in `cardinality-own`


@cache
def exported() -> dict[tuple[str, int], dict]:
    with gzip.open(PATH, "rt") as lines:
        return {(line["task"], line["seed"]): line for line in map(json.loads, lines)}


def function(line: dict) -> Callable[[np.ndarray, np.ndarray], float]:
    """The exported function of bits and reals."""
    names = ("frequencies", "phases", "amplitudes", "weights")
    frequencies, phases, amplitudes, weights = (np.array(line[name]) for name in names)

    def value(b: np.ndarray, x: np.ndarray) -> float:
        a = np.array([b[monomial].prod() for monomial in line["monomials"]])
        waves = amplitudes * np.cos(frequencies @ x + phases)
        return float(a @ (weights[:, 0] + weights[:, 1:] @ waves))

    return value


def worst(value: Callable[[np.ndarray, np.ndarray], float], seed: int) -> float:
    draw = np.random.default_rng([seed, 200])
    found: list[float] = []
    while len(found) < 200:
        b, x = draw.integers(0, 2, N), draw.random(N)
        if b.sum() <= MOST:
            found.append(value(b, x))
    return max(found)


def make(name: str, seed: int) -> Task:
    at = function(exported()[name, seed])

    def value(params: Params) -> float:
        return at(bits(params, N).astype(int), reals(params, N))

    names = [f"b{k}" for k in range(N)]
    lines = [truth(name) for name in names] + [real(f"x{k}", 0.0, 1.0) for k in range(N)]
    if not name.startswith("cardinality"):
        return Task(name, seed, study(lines), value, budget=100)
    text = study(lines, {"at most two bits": " + ".join(names) + f" <= {MOST}"})
    return Task(name, seed, text, value, excess, budget=100, penalty=worst(at, seed))


def excess(params: Params) -> list[float]:
    return [float(bits(params, N).sum()) - MOST]
