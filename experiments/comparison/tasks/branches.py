"""A choice among three algorithms that have parameters of their own. The best one can reach 0.1 and the others 0.3 and 0.35,
but its ordinary points look worse than theirs: who judges a branch by a few points leaves it for good.

`algorithms` has a fixed optimum; the instances of the others move it with the seed. `algorithms-svm` and `algorithms-forest` change
the parts of the branches about; in `algorithms-unequal` the branches have one, two and six parameters, and the largest is the best.
"""

import math
from collections.abc import Callable

from space import Params
from tasks.task import Task, choice, draws, integer, real, study, when

FOUND = 0.25
"""Below this the best branch is found: no other one reaches it."""

SVM = {"c": (1e-3, 1e3, "log"), "g": (1e-5, 1e1, "log")}
FOREST = {"d": (1, 20, "int"), "f": (0.1, 1.0, "")}
NETWORK = {"lr": (1e-5, 1e-1, "log"), "w": (1, 40, "int"), "p": (0.0, 0.9, "")}
LINE = {"ridge": (1e-6, 1e2, "log")}
LARGE = {
    "rate": (1e-5, 1e-1, "log"),
    "width": (1, 40, "int"),
    "drop": (0.0, 0.9, ""),
    "decay": (1e-6, 1e-2, "log"),
    "depth": (1, 8, "int"),
    "momentum": (0.0, 1.0, ""),
}

Ranges = dict[str, tuple[float, float, str]]


class Branch:
    """floor + Σ slopes |position - target|, positions on each parameter's own scale in [0, 1]."""

    def __init__(self, floor: float, ranges: Ranges, slopes: list[float], targets: list[float]) -> None:
        self.floor, self.ranges = floor, ranges
        self.terms = list(zip(ranges, slopes, targets, strict=True))

    def value(self, params: Params) -> float:
        return self.floor + sum(slope * abs(self.position(name, params) - target) for name, slope, target in self.terms)

    def position(self, name: str, params: Params) -> float:
        low, high, kind = self.ranges[name]
        at, low, high = (math.log(v) if kind == "log" else v for v in (params[name], low, high))
        return (at - low) / (high - low)


def parameter(name: str, low: float, high: float, kind: str, model: str) -> str:
    condition = when(f"model == '{model}'")
    return (
        integer(name, int(low), int(high), condition)
        if kind == "int"
        else real(name, low, high, (", log = true" if kind == "log" else "") + condition)
    )


def task(name: str, seed: int, branches: dict[str, Branch], fixed: bool = False) -> Task:
    lines = [choice("model", list(branches))]
    lines += [parameter(p, *r, model) for model, branch in branches.items() for p, r in branch.ranges.items()]
    best = min(branch.floor for branch in branches.values())
    return Task(name, seed, study(lines), lambda p: branches[p["model"]].value(p), best=best, fixed=fixed)


def plain(name: str, seed: int) -> Task:
    """The slopes by position: 0.1 for each decade of C is 0.6 over its range."""
    branches = {
        "svm": Branch(0.35, SVM, [0.6, 0.3], [4 / 6, 3 / 6]),
        "rf": Branch(0.3, FOREST, [0.38, 0.09], [11 / 19, 1 / 3]),
        "mlp": Branch(0.1, NETWORK, [0.8, 0.78, 0.27], [2 / 4, 26 / 39, 1 / 3]),
    }
    return task(name, seed, branches, fixed=True)


def changed(best: str) -> Callable[[str, int], Task]:
    """The same three, with another one the best, and optima that move with the seed."""
    ranges = {"svm": SVM, "rf": FOREST, "mlp": NETWORK}
    order = [best] + [model for model in ranges if model != best]
    parts = dict(zip(order, [(0.1, 1.85), (0.3, 0.47), (0.35, 0.9)], strict=True))

    def make(name: str, seed: int) -> Task:
        draw = draws(name, seed)

        def branch(model: str) -> Branch:
            floor, height = parts[model]
            weights, n = draw.dirichlet([4.0] * len(ranges[model])), len(ranges[model])
            return Branch(floor, ranges[model], list(height * weights), list(draw.uniform(0.15, 0.85, n)))

        return task(name, seed, {model: branch(model) for model in ranges})

    return make


def unequal(name: str, seed: int) -> Task:
    draw = draws(name, seed)
    parts = {"line": (0.3, 0.3, LINE), "rf": (0.35, 0.5, FOREST), "network": (0.1, 2.0, LARGE)}

    def branch(floor: float, height: float, ranges: Ranges) -> Branch:
        weights, n = draw.dirichlet([4.0] * len(ranges)), len(ranges)
        return Branch(floor, ranges, list(height * weights), list(draw.uniform(0.15, 0.85, n)))

    return task(name, seed, {model: branch(*part) for model, part in parts.items()})


MAKERS = {
    "algorithms": plain,
    "algorithms-svm": changed("svm"),
    "algorithms-forest": changed("rf"),
    "algorithms-unequal": unequal,
}
NAMES = list(MAKERS)


def make(name: str, seed: int) -> Task:
    return MAKERS[name](name, seed)
