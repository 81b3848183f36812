"""Random search by the paper's protocol: every parameter is drawn by itself, uniformly on its scale. What breaks a constraint is
not counted.

Its feasible points are spread otherwise than those of `mivabo:random`, which takes each branch of conditional parameters alike: of the
VAE's networks 92 % here, and half there, have no deconvolution (one deconvolution cannot end at 28 pixels).
"""

import numpy as np

from methods.method import Setting
from space import Parameter, Params, active


class Rejection:
    def __init__(self, setting: Setting) -> None:
        self.space, self.draw = setting.task.space, np.random.default_rng([setting.seed, 5])

    def ask(self) -> Params:
        return active(self.space, {p.name: self._value(p) for p in self.space})

    def _value(self, p: Parameter) -> object:
        if p.levels and not p.log:
            return p.levels[self.draw.integers(len(p.levels))]
        if not p.log:
            return float(self.draw.uniform(p.low, p.high))
        value = float(np.exp(self.draw.uniform(np.log(p.low), np.log(p.high))))
        return round(value) if p.levels else min(max(value, p.low), p.high)

    def tell(self, params: Params, value: float | None) -> None:
        """Nothing is learnt."""
