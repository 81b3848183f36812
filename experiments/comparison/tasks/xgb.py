"""The paper's XGBoost tasks (Figure 1): the flat space of its Table 1 on `monks-problem-1` and `steel-plates-fault`.

`xgb-monks` and `xgb-steel` give the error of the nearest setting in a table of real trainings, which
`experiments/xgboost/trainings.py` makes; `…-live` train every setting and need the data. There is one instance of each.

Distance is Euclidean: numbers on their own scale from 0 to 1, another booster is at least 1 away, and between two
linear boosters the parameters of trees do not count.
"""

import csv
import gzip
import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import numpy as np

from space import Parameter, Params, parameters, unit
from tasks import boosting
from tasks.task import Task, draws

TABLES = Path(__file__).parents[2] / "xgboost" / "results"
NAMES = ["xgb-monks", "xgb-steel"]
LIVE = ["xgb-monks-live", "xgb-steel-live"]
TEXT = boosting.text(conditional=False)
BUDGET = 100  # the paper's text does not say how many


def make(name: str, seed: int, data: Path | None = None) -> Task:
    if name in LIVE:
        if data is None:
            raise ValueError(f"task `{name}` needs --data, the folder with monks-1.train and steel-plates-fault.csv")
        value = live(name.removesuffix("-live"), data)
    else:
        value = tabled(name)
    return Task(name, seed, TEXT, value, fixed=True, budget=BUDGET)


def live(name: str, data: Path) -> Callable[[Params], float]:
    """The share of wrong labels in a third of the rows, always the same one, after training on the other two."""
    import xgboost

    x, y = monks(data) if name == "xgb-monks" else steel(data)
    order = draws(name, 0).permutation(len(y))
    test, train = order[: len(y) // 3], order[len(y) // 3 :]
    train_data, test_data = xgboost.DMatrix(x[train], y[train]), xgboost.DMatrix(x[test])

    def value(params: Params) -> float:
        return float(np.mean((boosting.trained(params, "binary:logistic", train_data, test_data) > 0.5) != y[test]))

    return value


def monks(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """The 556 rows of OpenML: all 432 combinations, and the 124 training rows once more. Labels enter one-hot."""
    x, y = boosting.monks()
    rows = np.array([line.split()[:7] for line in (data / "monks-1.train").read_text().splitlines()[1:]], dtype=int)
    again = np.hstack([np.eye(size)[rows[:, k + 1] - 1] for k, size in enumerate(boosting.SIZES)])
    return np.vstack([x, again]), np.concatenate([y, rows[:, 0]])


def steel(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """OpenML's binary reading: `Other_Faults`, the last column, from the 33 before it."""
    with (data / "steel-plates-fault.csv").open() as file:
        rows = np.array(list(csv.reader(file))[1:], dtype=float)
    return rows[:, :-1], rows[:, -1]


@cache
def tabled(name: str) -> Callable[[Params], float]:
    with gzip.open(TABLES / f"{name}.jsonl.gz", "rt") as lines:
        return nearest([json.loads(line) for line in lines])


def nearest(table: Iterable[dict]) -> Callable[[Params], float]:
    """The value of the nearest row; of equally near ones the first."""
    space, rows = parameters(TEXT), list(table)
    values, at = [row["value"] for row in rows], np.array([_place(space, row["params"]) for row in rows])

    def value(params: Params) -> float:
        return values[int(np.argmin(np.sum((at - _place(space, params)) ** 2, axis=1)))]

    return value


def _place(space: list[Parameter], params: Params) -> np.ndarray:
    linear = params["booster"] == "gblinear"

    def coordinate(p: Parameter) -> float:
        if p.name == "booster":
            return float(linear)
        return 0.0 if linear and p.name in boosting.TREES else unit(p, params[p.name])

    return np.array([coordinate(p) for p in space])
