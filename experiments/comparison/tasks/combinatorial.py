"""Discrete tasks of the literature: contamination and pest control (COMBO), NK landscapes. Each instance draws its own
dynamics, and which label means what, so that no value of a parameter is special."""

import numpy as np

from space import Params
from tasks.task import Task, bits, choice, draws, study, truth

STAGES = 25
RUNS = 100
THRESHOLD = 0.1


def contamination(name: str, seed: int) -> Task:
    """25 stages of a food chain, each with or without prevention: cost, minus how far P(contamination < 0.1) is above 0.95,
    plus 0.01 for each stage with prevention."""
    draw = draws(name, seed)
    start = draw.beta(1.0, 30.0, RUNS)
    spread = draw.beta(1.0, 17 / 3, (STAGES, RUNS))
    restore = draw.beta(1.0, 3 / 7, (STAGES, RUNS))
    flipped = draw.integers(0, 2, STAGES)

    def value(params: Params) -> float:
        prevent = np.abs(bits(params, STAGES) - flipped)
        level, total = start, 0.0
        for on, grows, shrinks in zip(prevent, spread, restore, strict=True):
            level = grows * (1 - on) * (1 - level) + (1 - shrinks * on) * level
            total += on - (np.mean(level < THRESHOLD) - 0.95)
        return float(total + 0.01 * prevent.sum())

    return Task(name, seed, study([truth(f"b{k}") for k in range(STAGES)]), value)


PRICE = [0.0, 1.0, 0.8, 0.7, 0.5]
DISCOUNT = [0.0, 0.2, 0.3, 0.3, 0.0]
TOLERANCE_GROWTH = [0.0, 1 / 7, 2.5 / 7, 2 / 7, 0.5 / 7]
CONTROL = [0.0, 2 / 7, 3 / 7, 3 / 7, 5 / 7]


def pest(name: str, seed: int) -> Task:
    """25 stages with one of four pesticides or none: prices (with discounts for repeats) plus how often pests exceed 0.1."""
    first = draws(name, seed)
    labels = [[str(label) for label in first.permutation(5)] for _ in range(STAGES)]
    simulation = int(first.integers(2**31))

    def value(params: Params) -> float:
        used = [labels[k].index(params[f"stage{k}"]) for k in range(STAGES)]
        draw = np.random.default_rng(simulation)  # the same weather for every plan
        level, control = draw.beta(1.0, 30.0, RUNS), list(CONTROL)
        total = 0.0
        for kind in used:
            spread, strength = draw.beta(1.0, 17 / 3, RUNS), draw.random(RUNS)
            total += float(np.mean(level > THRESHOLD))
            if kind == 0:
                level = spread * (1 - level) + level
                continue
            kills = 1 - (1 - strength) ** (1 / control[kind])  # Beta(1, c) by its inverse
            level = (1 - kills) * level
            control[kind] += TOLERANCE_GROWTH[kind] / STAGES
            total += PRICE[kind] * (1 - DISCOUNT[kind] / STAGES * used.count(kind))
        return float(total)

    lines = [choice(f"stage{k}", [str(label) for label in range(5)]) for k in range(STAGES)]
    return Task(name, seed, study(lines), value)


def landscape(name: str, seed: int) -> Task:
    """NK(20, 4): each bit pays by itself and four others. All 2^20 points are tried, so the best is known."""
    n, k = 20, 4
    draw = draws(name, seed)
    partners = np.array([[i, *draw.permutation([j for j in range(n) if j != i])[:k]] for i in range(n)])
    tables = draw.random((n, 2 ** (k + 1)))
    powers = 2 ** np.arange(k + 1)

    def value(params: Params) -> float:
        rows = bits(params, n).astype(int)[partners] @ powers
        return float(-tables[np.arange(n), rows].mean())

    codes = np.arange(2**n)
    total = np.zeros(2**n)
    for i in range(n):
        rows = sum(((codes >> j) & 1) << p for p, j in enumerate(partners[i]))
        total += tables[i][rows]
    return Task(name, seed, study([truth(f"b{j}") for j in range(n)]), value, best=float(-total.max() / n))


MAKERS = {"contamination": contamination, "pest": pest, "nk": landscape}
NAMES = list(MAKERS)


def make(name: str, seed: int) -> Task:
    return MAKERS[name](name, seed)
