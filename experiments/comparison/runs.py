"""Result lines as curves: the best value so far, raw and on the scale of its instance.

    score = clip((best - low) / (median - low), 0, 1)

low is the known optimum, or the best that any method found on the instance; median is that of random feasible points. Where
nothing feasible is found yet the best is ∞ and the score 1.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from methods import UNDER_CONSTRAINTS
from tasks import engineering, threads, vae

CONSTRAINED = {*threads.NAMES, *engineering.NAMES, *vae.NAMES, "synthetic-two-bits"}
FIXED = {*engineering.NAMES, *vae.NAMES}


@dataclass
class Runs:
    """Curves by (task, method, seed), and how long suggestions took and how often they were infeasible."""

    scale: dict[str, dict]
    best: dict[tuple[str, str, int], np.ndarray] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    violations: dict[tuple[str, str, int], int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, lines: Iterable[dict], scale: dict[str, dict]) -> "Runs":
        runs = cls(scale)
        values: dict[tuple[str, str, int], dict[int, float]] = defaultdict(dict)
        for line in lines:
            if "versions" in line:
                runs.versions |= line["versions"]
                continue
            key = (line["task"], line["method"], line["seed"])
            values[key][line["index"]] = math.inf if line["value"] is None else line["value"]
            runs.violations[key] = max(line["violations"], runs.violations.get(key, 0))
            if line["feasible"]:
                runs.seconds[line["method"]].append(line["seconds"])
        for key, found in values.items():
            runs.best[key] = np.minimum.accumulate([found[index] for index in sorted(found)])
        return runs

    @property
    def methods(self) -> list[str]:
        """Ours first, the best of ours in front; then peers by name."""
        names = {method for _, method, _ in self.best}
        return sorted(names, key=lambda name: (not name.startswith("mivabo"), name == "mivabo:random", name))

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(task for task, _, _ in self.best))

    def seeds(self, task: str, method: str) -> dict[int, np.ndarray]:
        """Curves of a method on a task. Where there are no constraints a variant for constraints is its peer."""
        if task not in CONSTRAINED and method in UNDER_CONSTRAINTS:
            method = method.partition(":")[0]
        return {s: curve for (t, m, s), curve in self.best.items() if (t, m) == (task, method)}

    def low(self, task: str, seed: int) -> float:
        known = self.scale[self.instance(task, seed)]["best"]
        same = [c[-1] for (t, _, s), c in self.best.items() if t == task and (s == seed or task in FIXED)]
        return min(same) if known is None else min([known, *same])

    def scores(self, task: str, method: str) -> dict[int, np.ndarray]:
        found = {}
        for seed, curve in self.seeds(task, method).items():
            low = self.low(task, seed)
            gap = self.scale[self.instance(task, seed)]["median"] - low
            # Where all evaluations may fail, nobody may be below the median.
            found[seed] = np.clip((curve - low) / gap, 0, 1) if gap > 0 else np.ones(len(curve))
        return found

    @staticmethod
    def instance(task: str, seed: int) -> str:
        return f"{task}/{0 if task in FIXED else seed}"


def at(curve: np.ndarray, evals: int) -> float | None:
    """The curve after so many evaluations; none where the run was shorter."""
    return float(curve[evals - 1]) if len(curve) >= evals else None


def compare(ours: float, theirs: float) -> int:
    """1 where ours is lower, -1 where theirs is, 0 where they agree to nine digits."""
    if ours == theirs or math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9):  # ∞ is close to nothing but itself
        return 0
    return 1 if ours < theirs else -1


def pairs(runs: Runs, ours: str, other: str, tasks: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Curves of both on the same task and seed."""
    found = []
    for task in tasks:
        mine, theirs = runs.seeds(task, ours), runs.seeds(task, other)
        found += [(mine[seed], theirs[seed]) for seed in sorted(mine.keys() & theirs.keys())]
    return found
