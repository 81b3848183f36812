"""Stand-ins for the paper's VAE on MNIST: two regressors on 954 real evaluations, over the space of `examples/vae.toml`.

Enters: `vae-mnist-evaluations.jsonl`. Inactive parameters are canonicalised; the target is log(nats - 85). Extra trees
cannot go below the best of the data (91.7); the Gaussian process can.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from space import Parameter, Params, active, is_active, parameters
from tasks.task import Task

TEXT = (Path(__file__).parents[3] / "examples" / "vae.toml").read_text()
KERNEL = Path(__file__).with_name("vae_kernel.json")
DATA = "vae-mnist-evaluations.jsonl"
FLOOR = 85.0
RENAMED = {"lr": "learning_rate", "lr_decay": "decay"}


def read(path: Path, space: list[Parameter]) -> tuple[list[Params], np.ndarray]:
    """Configurations in the words of the study file, and their nats."""
    rows, nats = [], []
    for line in path.read_text().splitlines():
        entry = json.loads(line)
        named = {RENAMED.get(k, k.replace("_ch", "_channels")): v for k, v in entry["params"].items()}
        rows.append(active(space, named))
        nats.append(entry["nll"])
    return rows, np.array(nats)


def features(space: list[Parameter], params: Params) -> np.ndarray:
    """One number in [0, 1] for each parameter (after its logarithm, by index where it has levels); ½ where it is absent."""
    row = []
    for p in space:
        if not is_active(p, params):
            row.append(0.5)
        elif p.levels:
            row.append(p.levels.index(params[p.name]) / (len(p.levels) - 1))
        else:
            scale = np.log if p.log else float
            row.append((scale(params[p.name]) - scale(p.low)) / (scale(p.high) - scale(p.low)))
    return np.array(row)


@cache
def _regressor(name: str, path: Path) -> Callable[[np.ndarray], np.ndarray]:
    space = parameters(TEXT)
    rows, nats = read(path, space)
    x, y = np.array([features(space, row) for row in rows]), np.log(nats - FLOOR)
    if name == "vae-trees":
        from sklearn.ensemble import ExtraTreesRegressor

        return ExtraTreesRegressor(200, min_samples_leaf=1, random_state=0, n_jobs=1).fit(x, y).predict
    return process(x, y, fitted=json.loads(KERNEL.read_text())).predict


def process(x: np.ndarray, y: np.ndarray, fitted: list[float] | None = None) -> Any:
    """A Matérn process with one length-scale for each parameter. Its hyper-parameters take a minute to fit, so they are kept:
    the logarithms of variance, length-scales and noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel(1.0) * Matern(np.full(x.shape[1], 2.0), (0.2, 30.0), nu=2.5) + WhiteKernel(0.05)
    if fitted is None:
        return GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(x, y)
    return GaussianProcessRegressor(kernel.clone_with_theta(np.array(fitted)), optimizer=None, normalize_y=True).fit(
        x, y
    )


def fit_kernel(path: Path) -> None:
    """Writes the hyper-parameters anew, from every second evaluation: `python -m tasks.vae DATA`."""
    space = parameters(TEXT)
    rows, nats = read(path, space)
    x, y = np.array([features(space, row) for row in rows]), np.log(nats - FLOOR)
    theta = process(x[::2], y[::2]).kernel_.theta
    KERNEL.write_text(json.dumps([round(float(v), 4) for v in theta]) + "\n")


def excess(p: Params) -> list[float]:
    """The constraints of `examples/vae.toml`: sizes are whole and at least 1; the decoder ends at 28."""
    found = []
    if p["n_conv"] >= 1:
        span = 28 - p["c1_filter"] + p["c1_pad"]
        w1 = span / p["c1_stride"] + 1
        found += [float(span % p["c1_stride"]), 1 - w1]
        if p["n_conv"] == 2:
            span = w1 - p["c2_filter"] + p["c2_pad"]
            found += [float(span % p["c2_stride"]), -span / p["c2_stride"]]
    if p["n_deconv"] == 0:
        return [*found, float(p["d1_channels"] != 16)]
    v = 6 * p["d1_stride"] + p["d1_filter"] - 2 * p["d1_pad"] + p["d1_out"]
    if p["n_deconv"] == 2:
        v = (v - 1) * p["d2_stride"] + p["d2_filter"] - 2 * p["d2_pad"] + p["d2_out"]
    return [*found, abs(v - 28)]


def make(name: str, seed: int, data: Path) -> Task:
    space = parameters(TEXT)
    predict = _regressor(name, data / DATA)

    def value(params: Params) -> float:
        return float(np.exp(predict(features(space, params)[None, :])[0]) + FLOOR)

    return Task(name, seed, TEXT, value, excess, fixed=True, budget=32)


NAMES = ["vae-trees", "vae-gp"]

if __name__ == "__main__":
    fit_kernel(Path(sys.argv[1]) / DATA)
