"""A Gaussian process over the relaxed unit cube whose suggestions are rounded, as in GPyOpt, which no longer installs.

Enters: the parameters of the study file, one dimension each (numbers after their logarithm, levels by index; inactive
parameters stay in the cube). Leaves: the maximiser of log expected improvement, rounded. BoTorch with its defaults.
The points are random until `FIRST` of them were valid (GPyOpt's default is 5 points): on penalties alone the model is
flat, and its maximisers are corners.
"""

import warnings

import numpy as np
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from methods.method import Setting
from space import Parameter, Params, active

FIRST = 5


class GpRounding:
    def __init__(self, setting: Setting) -> None:
        self.setting, self.space = setting, setting.task.space
        self.seed = setting.seed
        self.x: list[np.ndarray] = []
        self.y: list[float] = []
        self.n_valid = 0

    def ask(self) -> Params:
        # Seeded by what was told, so that a replay need not ask again.
        seed = 100_003 * self.seed + len(self.y)
        u = np.random.default_rng(seed).random(len(self.space)) if self.n_valid < FIRST else self._best(seed)
        return active(self.space, {p.name: _value(p, each) for p, each in zip(self.space, u, strict=True)})

    def tell(self, params: Params, value: float | None) -> None:
        self.x.append(np.array([_unit(p, params[p.name]) if p.name in params else 0.5 for p in self.space]))
        self.n_valid += value is not None
        self.y.append(self.setting.penalty if value is None else value)

    def _best(self, seed: int) -> np.ndarray:
        x = torch.tensor(np.array(self.x))
        y = -torch.tensor(self.y, dtype=torch.float64)[:, None]
        with torch.random.fork_rng(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(seed)
            model = SingleTaskGP(x, y)
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=y.max())
            cube = torch.stack([torch.zeros(x.shape[1]), torch.ones(x.shape[1])]).double()
            found, _ = optimize_acqf(acquisition, cube, q=1, num_restarts=4, raw_samples=256)
        return found[0].numpy()


def _value(p: Parameter, u: float):
    if p.levels:
        return p.levels[min(int(u * len(p.levels)), len(p.levels) - 1)]
    if p.log:
        return float(np.exp(np.log(p.low) + u * (np.log(p.high) - np.log(p.low))))
    return float(p.low + u * (p.high - p.low))


def _unit(p: Parameter, value) -> float:
    """The middle of a level's interval, so that the model sees what was rounded."""
    if p.levels:
        return (p.levels.index(value) + 0.5) / len(p.levels)
    if p.log:
        return float((np.log(value) - np.log(p.low)) / (np.log(p.high) - np.log(p.low)))
    return (value - p.low) / (p.high - p.low)
