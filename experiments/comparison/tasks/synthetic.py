"""The paper's synthetic functions (App. C), as in `experiments/synthetic` but drawn by numpy.

f(x) = wᵀφ(x) over 8 bits and 8 reals: a = (1, bits, products of two bits), b = (1, 16 waves √(2/16) cos(ω·x + c)),
ω ~ N(0, I), c ~ U(0, 2π); φ = a ⊗ b, M = 37·17 = 629. Gaussian: w ~ N(0, 1). Sparse: w ~ Laplace with scale 10, and 0
where |w| < 10. The model of no method has these waves.
"""

import numpy as np

from space import Params
from tasks.task import Task, bits, draws, real, reals, study, truth

N = 8
WAVES = 16


def make(name: str, seed: int) -> Task:
    draw = draws(name, seed)
    frequencies, phases = draw.normal(size=(WAVES, N)), draw.uniform(0, 2 * np.pi, WAVES)
    size = (1 + N + N * (N - 1) // 2, 1 + WAVES)
    if name == "synthetic-sparse":
        weights = draw.laplace(scale=10.0, size=size)
        weights[np.abs(weights) < 10.0] = 0.0
    else:
        weights = draw.normal(size=size)
    pairs = np.triu_indices(N, 1)

    def value(params: Params) -> float:
        b = bits(params, N)
        a = np.concatenate([[1.0], b, np.outer(b, b)[pairs]])
        waves = np.sqrt(2 / WAVES) * np.cos(frequencies @ reals(params, N) + phases)
        return float(a @ weights @ np.concatenate([[1.0], waves]))

    lines = [truth(f"b{k}") for k in range(N)] + [real(f"x{k}", 0.0, 1.0) for k in range(N)]
    if name != "synthetic-two-bits":
        return Task(name, seed, study(lines), value)
    names = [f"b{k}" for k in range(N)]
    text = study(lines, {"at most two bits": " + ".join(names) + " <= 2"})
    return Task(name, seed, text, value, lambda params: [float(bits(params, N).sum()) - 2])


NAMES = ["synthetic-gaussian", "synthetic-sparse", "synthetic-two-bits"]
