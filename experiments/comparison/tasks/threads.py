"""Constrained problems that users of other tools asked about in public threads. Each instance draws its own coefficients,
and with them where the optimum lies; constraints are those of the thread, widened where it gives only a fragment.

Where nothing else is said a task is a `bowl`: (u - t)ᵀ A (u - t) over numbers scaled to [0, 1], t anywhere in the box (also
where it is infeasible), A with eigenvalues from 0.3 to 10, plus ripples that are as high as the bowl is at distance 0.1.
"""

import itertools
from collections.abc import Callable

import numpy as np

from space import Params
from tasks.task import Task, choice, draws, integer, real, study, truth, when


def bowl(draw: np.random.Generator, n: int) -> Callable[[np.ndarray], float]:
    target, (rotation, _) = draw.random(n), np.linalg.qr(draw.normal(size=(n, n)))
    scales = 10 ** draw.uniform(-0.5, 1.0, n)

    def value(u: np.ndarray) -> float:
        z = u - target
        return float(scales @ (rotation @ z) ** 2 + 0.05 * np.sum(1 - np.cos(6 * np.pi * z)))

    return value


def unit(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low)


def recipe(name: str, seed: int) -> Task:
    """Shares of five ingredients that sum to one (Ax#510), a solvent and a temperature. Scheffé's mixture model: each
    ingredient, each pair, and the best temperature depends on the mixture and the solvent."""
    draw = draws(name, seed)
    n, solvents = 5, ["water", "ethanol", "toluene"]
    single, pair = draw.normal(size=(3, n)), np.triu(draw.normal(scale=4.0, size=(3, n, n)), 1)
    heat = draw.random((3, n))

    def shares(params: Params) -> np.ndarray:
        return np.array([params[f"share{k}"] for k in range(n)])

    def value(params: Params) -> float:
        x, s = shares(params), solvents.index(params["solvent"])
        off = unit(params["temperature"], 20.0, 120.0) - heat[s] @ x
        return float(single[s] @ x + x @ pair[s] @ x + 4 * off**2)

    lines = [real(f"share{k}", 0.0, 1.0) for k in range(n)]
    lines += [real("temperature", 20.0, 120.0), choice("solvent", solvents)]
    text = study(lines, {"shares sum to one": " + ".join(f"share{k}" for k in range(n)) + " == 1"})
    return Task(name, seed, text, value, lambda params: [abs(float(shares(params).sum()) - 1)])


def allotment(name: str, seed: int) -> Task:
    """Ten units over six places (Ax#1767): diminishing returns, pairs that help or hurt each other, and a pace."""
    draw = draws(name, seed)
    n = 6
    worth, speed = draw.uniform(0.5, 2.0, n), draw.uniform(1.0, 6.0, n)
    pair, best_pace = np.triu(draw.normal(scale=0.6, size=(n, n)), 1), draw.random(n)

    def units(params: Params) -> np.ndarray:
        return np.array([params[f"units{k}"] for k in range(n)], dtype=float)

    def value(params: Params) -> float:
        x = units(params)
        filled = 1 - np.exp(-x / speed)
        return float(-worth @ filled - filled @ pair @ filled + 2 * (params["pace"] - best_pace @ x / 10) ** 2)

    lines = [integer(f"units{k}", 0, 10) for k in range(n)] + [real("pace", 0.0, 1.0)]
    text = study(lines, {"ten in all": " + ".join(f"units{k}" for k in range(n)) + " == 10"})
    return Task(name, seed, text, value, lambda params: [abs(float(units(params).sum()) - 10)])


def heads(name: str, seed: int) -> Task:
    """A transformer: hidden % heads == 0 and a budget of weights (Ax#167); Adam's or SGD's learning rates differ."""
    draw = draws(name, seed)
    shape, shift = bowl(draw, 5), draw.uniform(0.0, 0.4)

    def value(p: Params) -> float:
        rate = unit(np.log10(p["rate"]), -5, -1) - shift * (p["optimizer"] == "sgd")
        u = [
            unit(p["hidden"], 24, 480),
            unit(np.log2(p["heads"]), 0, 4.0),
            unit(p["layers"], 1, 12),
            rate,
            2 * p["dropout"],
        ]
        return shape(np.array(u)) + 0.3 * (p["optimizer"] == "sgd") * (1 - 2 * shift)

    def excess(p: Params) -> list[float]:
        return [float(p["hidden"] % p["heads"]), p["hidden"] * p["layers"] - 2400]

    lines = [integer("hidden", 24, 480, ", step = 8"), integer("heads", 1, 16), integer("layers", 1, 12)]
    lines += [real("rate", 1e-5, 1e-1, ", log = true"), real("dropout", 0.0, 0.5), choice("optimizer", ["adam", "sgd"])]
    rules = {"heads divide the layer": "hidden % heads == 0", "budget": "hidden * layers <= 2400"}
    return Task(name, seed, study(lines, rules), value, excess)


def product(name: str, seed: int) -> Task:
    """x1 x2 + 16 x1 + 16 x2 <= 64 (Ax#271), P1 + P2 + P3 <= 10 (Ax#229), x5 + x6 <= 1.2 over reals."""
    shape = bowl(draws(name, seed), 7)

    def value(p: Params) -> float:
        whole = [p["x1"] / 4, p["x2"] / 4, p["p1"] / 10, p["p2"] / 10, p["p3"] / 10]
        return shape(np.array([*whole, p["x5"], p["x6"]]))

    def excess(p: Params) -> list[float]:
        first = p["x1"] * p["x2"] + 16 * p["x1"] + 16 * p["x2"] - 64
        return [first, p["p1"] + p["p2"] + p["p3"] - 10, p["x5"] + p["x6"] - 1.2]

    lines = [integer(f"x{k}", 0, 4) for k in (1, 2)] + [integer(f"p{k}", 0, 10) for k in (1, 2, 3)]
    lines += [real(f"x{k}", 0.0, 1.0) for k in (5, 6)]
    rules = {"memory": "x1*x2 + 16*x1 + 16*x2 <= 64", "power": "p1 + p2 + p3 <= 10", "reals": "x5 + x6 <= 1.2"}
    return Task(name, seed, study(lines, rules), value, excess)


def factors(name: str, seed: int) -> Task:
    """x y z == 32 and x + w <= 8 (Ax#265), two reals."""
    shape = bowl(draws(name, seed), 6)

    def value(p: Params) -> float:
        return shape(np.array([*(np.log2(p[k]) / 5 for k in "xyz"), unit(p["w"], 1, 8), p["a"], p["b"]]))

    def excess(p: Params) -> list[float]:
        return [abs(p["x"] * p["y"] * p["z"] - 32), p["x"] + p["w"] - 8]

    lines = [integer(k, 1, 32, ", log = true") for k in "xyz"] + [integer("w", 1, 8)]
    lines += [real(k, 0.0, 1.0) for k in "ab"]
    return Task(name, seed, study(lines, {"volume": "x * y * z == 32", "together": "x + w <= 8"}), value, excess)


def blend(name: str, seed: int) -> Task:
    """At most three of ten drugs (bofire#450), each with a dose where it is used: effects with a best dose, pairs, harm."""
    draw = draws(name, seed)
    n = 10
    effect, best_dose = draw.uniform(0.2, 1.5, n), draw.uniform(0.05, 0.95, n)
    pair = np.triu(draw.normal(scale=0.8, size=(n, n)), 1)

    def value(params: Params) -> float:
        used = np.array([params[f"use{k}"] for k in range(n)], dtype=float)
        dose = np.array([params.get(f"dose{k}", 0.0) for k in range(n)])
        felt = used * np.exp(-(((dose - best_dose) / 0.35) ** 2))
        return float(-effect @ felt - felt @ pair @ felt + 0.2 * np.sum(used * dose**2))

    lines = [truth(f"use{k}") for k in range(n)] + [real(f"dose{k}", 0.0, 1.0, when(f"use{k}")) for k in range(n)]
    text = study(lines, {"at most three": "at_most(3, " + ", ".join(f"use{k}" for k in range(n)) + ")"})
    return Task(name, seed, text, value, lambda params: [sum(params[f"use{k}"] for k in range(n)) - 3])


def layers(name: str, seed: int) -> Task:
    """One to four layers, each there only where the network is deep enough, never wider than the one before (optuna#2968),
    and a budget of units."""
    draw = draws(name, seed)
    depth, shape = draw.uniform(1, 4), bowl(draw, 3)
    width, rate = draw.random(4), draw.random(4)

    def value(p: Params) -> float:
        n = p["n_layers"]
        u = np.array([unit(p[f"units{k}"], 16, 256) for k in range(n)])
        r = np.array([p[f"dropout{k}"] / 0.6 for k in range(n)])
        fit = np.sum((u - width[:n]) ** 2) / n + 0.5 * np.sum((r - rate[:n]) ** 2) / n
        return float(fit + 0.08 * (n - depth) ** 2 + 0.3 * shape(np.array([p["momentum"], _rate(p), u.mean()])))

    def excess(p: Params) -> list[float]:
        units = [p[f"units{k}"] for k in range(p["n_layers"])]
        return [*(b - a for a, b in itertools.pairwise(units)), sum(units) - 480]

    lines = [integer("n_layers", 1, 4)]
    for k in range(4):
        there = when(f"n_layers >= {k + 1}") if k else ""
        lines += [integer(f"units{k}", 16, 256, ", step = 16" + there), real(f"dropout{k}", 0.0, 0.6, there)]
    lines += [real("rate", 1e-4, 1e-1, ", log = true"), real("momentum", 0.0, 1.0)]
    rules = {f"layer {k} is no wider": f"units{k} <= units{k - 1}" for k in (1, 2, 3)}
    for n in (1, 2, 3, 4):
        rules[f"budget of {n}"] = f"n_layers == {n} -> " + " + ".join(f"units{k}" for k in range(n)) + " <= 480"
    return Task(name, seed, study(lines, rules), value, excess)


def _rate(p: Params) -> float:
    return unit(np.log10(p["rate"]), -4, -1)


def buffers(name: str, seed: int) -> Task:
    """A database: buf1 + buf2 <= vm (ConfigSpace#353), workers times memory within it, x3 + 2 < x2 < x3 + 5 (EGObox#240)."""
    shape = bowl(draws(name, seed), 7)

    def value(p: Params) -> float:
        sizes = [np.log2(p["buf1"] / 64) / 6, np.log2(p["buf2"] / 64) / 6, np.log2(p["vm"] / 256) / 6]
        rest = [unit(p["workers"], 1, 32), unit(p["x2"], 0, 20), unit(p["x3"], 0, 20), p["ratio"]]
        return shape(np.array(sizes + rest))

    def excess(p: Params) -> list[float]:
        gap = p["x2"] - p["x3"]
        return [p["buf1"] + p["buf2"] - p["vm"], 256 * p["workers"] - p["vm"], 3 - gap, gap - 4]

    steps = ", ".join(str(64 * 2**k) for k in range(7))
    lines = [f'{k} = {{ type = "ordinal", values = [{steps}] }}' for k in ("buf1", "buf2")]
    lines += ['vm = { type = "ordinal", values = [' + ", ".join(str(256 * 2**k) for k in range(7)) + "] }"]
    lines += [integer("workers", 1, 32), integer("x2", 0, 20), integer("x3", 0, 20), real("ratio", 0.0, 1.0)]
    rules = {"buffers fit": "buf1 + buf2 <= vm", "workers fit": "256 * workers <= vm", "gap": "x3 + 2 < x2 < x3 + 5"}
    return Task(name, seed, study(lines, rules), value, excess)


MAKERS = {
    "recipe": recipe,
    "allotment": allotment,
    "heads": heads,
    "product": product,
    "factors": factors,
    "blend": blend,
    "layers": layers,
    "buffers": buffers,
}
NAMES = list(MAKERS)


def make(name: str, seed: int) -> Task:
    return MAKERS[name](name, seed)
