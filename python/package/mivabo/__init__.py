"""Bayesian optimisation over mixed variables under known constraints.

Every suggestion satisfies every constraint, by construction.

>>> import mivabo
>>> space = mivabo.Space()
>>> kernel = space.int("kernel", 1, 7, step=2)
>>> stride = space.int("stride", 1, 3)
>>> _ = space.add(kernel * stride <= 12, name="receptive field")
>>> study = mivabo.minimize(lambda p: abs(p["kernel"] * p["stride"] - 10), space, trials=8)
>>> study.best.value
0.0
"""

from ._errors import (
    Error,
    ExhaustedError,
    InfeasibleError,
    PointError,
    SpaceError,
    StorageError,
    StudyError,
    TrialError,
)
from ._native import STRATEGIES, Expr, __version__, at_least, at_most, exactly, exp, log, max, min, sqrt, sum
from ._optimize import Callback, Objective
from ._parameter import Parameter
from ._revision import Revision
from ._space import Space
from ._study import Report, Study, maximize, minimize
from ._trial import Estimate, Importance, Params, Recommendation, Trial, Value, Violation

__all__ = [
    "STRATEGIES",
    "Callback",
    "Error",
    "Estimate",
    "ExhaustedError",
    "Expr",
    "Importance",
    "InfeasibleError",
    "Objective",
    "Parameter",
    "Params",
    "PointError",
    "Recommendation",
    "Report",
    "Revision",
    "Space",
    "SpaceError",
    "StorageError",
    "Study",
    "StudyError",
    "Trial",
    "TrialError",
    "Value",
    "Violation",
    "__version__",
    "at_least",
    "at_most",
    "exactly",
    "exp",
    "log",
    "max",
    "maximize",
    "min",
    "minimize",
    "sqrt",
    "sum",
]
