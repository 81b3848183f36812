"""XGBoost trained live: the ten parameters of the paper's Table 1, on MONK's problem 1 and on scikit-learn's diabetes data.

Each instance splits the data its own way. `xgboost-monks` has the paper's flat space; in `xgboost-diabetes` the parameters
of trees are there only where the booster makes trees.
"""

import itertools
from typing import Any

import numpy as np

from space import Params
from tasks.task import Task, choice, draws, integer, real, study, when

TREES = ["colsample_bylevel", "colsample_bytree", "max_depth", "min_child_weight", "subsample"]
SIZES = (3, 3, 2, 3, 4, 2)  # of the attributes of MONK's problems


def text(conditional: bool) -> str:
    log = ", log = true"
    trees = when("booster == 'gbtree'") if conditional else ""
    return study(
        [
            choice("booster", ["gbtree", "gblinear"]),
            integer("nrounds", 3, 5000, log),
            real("alpha", 0.000985, 1009.209690, log),
            real("lambda", 0.000978, 999.020893, log),
            real("colsample_bylevel", 0.046776, 0.998424, trees),
            real("colsample_bytree", 0.062528, 0.999640, trees),
            real("eta", 0.000979, 0.995686, log),
            integer("max_depth", 1, 15, trees),
            real("min_child_weight", 1.012169, 127.041806, log + trees),
            real("subsample", 0.100215, 0.999830, trees),
        ]
    )


def monks() -> tuple[np.ndarray, np.ndarray]:
    """All 432 combinations of the six attributes; the class is (a1 = a2) or (a5 = 1). Labels enter one-hot."""
    rows = np.array(list(itertools.product(*(range(size) for size in SIZES))))
    y = (rows[:, 0] == rows[:, 1]) | (rows[:, 4] == 0)
    return np.hstack([np.eye(size)[rows[:, k]] for k, size in enumerate(SIZES)]), y.astype(float)


def trained(params: Params, objective: str, train: Any, test: Any) -> np.ndarray:
    """Trains on one `DMatrix`, predicts another. One thread, and linear boosting by its updater that knows no chance."""
    import xgboost

    settings = {k: v for k, v in params.items() if k != "nrounds"}
    if params["booster"] == "gblinear":
        settings = {k: v for k, v in settings.items() if k not in TREES} | {"updater": "coord_descent"}
    settings |= {"objective": objective, "nthread": 1, "seed": 0, "verbosity": 0}
    return xgboost.train(settings, train, int(params["nrounds"])).predict(test)


def make(name: str, seed: int) -> Task:
    import xgboost
    from sklearn.datasets import load_diabetes

    draw = draws(name, seed)
    is_monks = name == "xgboost-monks"
    x, y = monks() if is_monks else load_diabetes(return_X_y=True)
    order = draw.permutation(len(y))
    n_train = 124 if is_monks else 2 * len(y) // 3  # MONK's problem has 124 training rows
    train, test = order[:n_train], order[n_train:]
    train_data = xgboost.DMatrix(x[train], y[train])
    test_data = xgboost.DMatrix(x[test])

    def value(params: Params) -> float:
        if is_monks:
            return float(np.mean((trained(params, "binary:logistic", train_data, test_data) > 0.5) != y[test]))
        found = trained(params, "reg:squarederror", train_data, test_data)
        error = float(np.mean((found - y[test]) ** 2) / np.var(y[test]))
        return min(error, 10.0) if np.isfinite(error) else 10.0  # linear boosting can diverge

    return Task(name, seed, text(not is_monks), value)


NAMES = ["xgboost-monks", "xgboost-diabetes"]
