"""Mixed test functions whose optimum is drawn from the whole range: Ackley, Rastrigin, ellipsoid, Rosenbrock, Func3C."""

import numpy as np

from space import Params
from tasks.task import Task, bits, choice, draws, integer, real, reals, study, truth


def ackley(name: str, seed: int) -> Task:
    """20 bits, 3 reals in [-1, 1]; zero where the bits have their pattern and the reals their values."""
    draw = draws(name, seed)
    flipped, shift = draw.integers(0, 2, 20), draw.uniform(-1, 1, 3)

    def value(params: Params) -> float:
        z = np.concatenate([np.abs(bits(params, 20) - flipped), reals(params, 3) - shift])
        far = -20 * np.exp(-0.2 * np.sqrt(np.mean(z**2)))
        return float(far - np.exp(np.mean(np.cos(2 * np.pi * z))) + 20 + np.e)

    lines = [truth(f"b{k}") for k in range(20)] + [real(f"x{k}", -1.0, 1.0) for k in range(3)]
    return Task(name, seed, study(lines), value, best=0.0)


def rastrigin(name: str, seed: int) -> Task:
    """5 integers and 3 reals in [-5, 5]."""
    draw = draws(name, seed)
    shift = np.concatenate([draw.integers(-5, 6, 5), draw.uniform(-5, 5, 3)])

    def value(params: Params) -> float:
        z = np.concatenate([bits(params, 5, "n"), reals(params, 3)]) - shift
        return float(np.sum(z**2 - 10 * np.cos(2 * np.pi * z) + 10))

    lines = [integer(f"n{k}", -5, 5) for k in range(5)] + [real(f"x{k}", -5.0, 5.0) for k in range(3)]
    return Task(name, seed, study(lines), value, best=0.0)


LEVELS = 20


def _unit(n: int) -> list[str]:
    """Integers 0 to 20 and reals in turn, all of them coordinates in [0, 1] after scaling."""
    return [integer(f"n{k}", 0, LEVELS) if k % 2 == 0 else real(f"x{k}", 0.0, 1.0) for k in range(n)]


def _scaled(params: Params, n: int) -> np.ndarray:
    return np.array([params[f"n{k}"] / LEVELS if k % 2 == 0 else params[f"x{k}"] for k in range(n)])


def _target(draw: np.random.Generator, n: int) -> np.ndarray:
    whole = draw.integers(0, LEVELS + 1, n) / LEVELS
    return np.where(np.arange(n) % 2 == 0, whole, draw.random(n))


def ellipsoid(name: str, seed: int) -> Task:
    """zᵀ Rᵀ diag(1 … 1000) R z with a random rotation R, z = u - t: four integers and four reals."""
    n = 8
    draw = draws(name, seed)
    target, (rotation, _) = _target(draw, n), np.linalg.qr(draw.normal(size=(n, n)))
    scales = 1000.0 ** (np.arange(n) / (n - 1))

    def value(params: Params) -> float:
        return float(scales @ (rotation @ (_scaled(params, n) - target)) ** 2)

    return Task(name, seed, study(_unit(n)), value, best=0.0)


def rosenbrock(name: str, seed: int) -> Task:
    """Σ 100 (z_{i+1} - z_i²)² + (1 - z_i)², z = 1 + 2 (u - t): three integers and three reals in a chain."""
    n = 6
    target = _target(draws(name, seed), n)

    def value(params: Params) -> float:
        z = 1 + 2 * (_scaled(params, n) - target)
        return float(np.sum(100 * (z[1:] - z[:-1] ** 2) ** 2 + (1 - z[:-1]) ** 2))

    return Task(name, seed, study(_unit(n)), value, best=0.0)


def _rosenbrock2(x: float, y: float) -> float:
    return (100 * (y - x**2) ** 2 + (x - 1) ** 2) / 300


def _camel(x: float, y: float) -> float:
    return ((4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (-4 + 4 * y**2) * y**2) / 10


def _beale(x: float, y: float) -> float:
    x, y = x / 2, y / 2
    return ((1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2) / 50


def func3c(name: str, seed: int) -> Task:
    """CoCaBO's Func3C: three labels choose and weigh three functions of two reals.

    The best is six-hump camel with weight 7, at ±(0.0898, -0.7126) of [-2, 2]². A bent axis moves it to a random place: the
    functions grow too fast to be shifted.
    """
    draw = draws(name, seed)
    orders = [draw.permutation(size) for size in (3, 5, 4)]
    places = draw.uniform(0.05, 0.95, 2)
    sign = draw.choice([-1.0, 1.0])
    optimum = (sign * np.array([0.0898420, -0.7126564]) + 2) / 4
    plain = (_rosenbrock2, _camel, _beale)

    def value(params: Params) -> float:
        h = [int(np.flatnonzero(order == int(params[f"h{k}"]))[0]) for k, order in enumerate(orders)]
        u = [np.interp(params[f"x{k}"], [-1, 2 * places[k] - 1, 1], [0, optimum[k], 1]) for k in range(2)]
        x, y = (4 * float(v) - 2 for v in u)
        last = [5 * _camel(x, y), 2 * _rosenbrock2(x, y)][h[2]] if h[2] < 2 else h[2] * _beale(x, y)
        return plain[h[0]](x, y) + plain[min(h[1], 2)](x, y) + last

    lines = [choice(f"h{k}", [str(v) for v in range(size)]) for k, size in enumerate((3, 5, 4))]
    lines += [real(f"x{k}", -1.0, 1.0) for k in range(2)]
    noise = 0.05 if name.endswith("-noisy") else 0.0
    return Task(name, seed, study(lines), value, best=-0.7 * 1.0316284535, noise=noise)


MAKERS = {
    "ackley": ackley,
    "rastrigin": rastrigin,
    "ellipsoid": ellipsoid,
    "rosenbrock": rosenbrock,
    "func3c": func3c,
    "func3c-noisy": func3c,
}
NAMES = list(MAKERS)


def make(name: str, seed: int) -> Task:
    return MAKERS[name](name, seed)
