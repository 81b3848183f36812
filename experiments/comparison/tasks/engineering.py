"""Two designs with known optima under constraints: the pressure vessel (6059.714) and the speed reducer (2994.47)."""

from math import pi, sqrt
from pathlib import Path

from space import Params
from tasks.task import Task, integer, real, study

VESSEL = Path(__file__).parents[3] / "examples" / "pressure-vessel.toml"


def _vessel_cost(p: Params) -> float:
    a, b, r, length = p["shell"] / 16, p["head"] / 16, p["radius"], p["length"]
    return 0.6224 * a * r * length + 1.7781 * b * r**2 + 3.1661 * a**2 * length + 19.84 * a**2 * r


def _vessel_excess(p: Params) -> list[float]:
    r = p["radius"]
    volume = pi * (r**2 * p["length"] + 4 / 3 * r**3)
    return [0.0193 * r - p["shell"] / 16, 0.00954 * r - p["head"] / 16, 1 - volume / 1296000]


def vessel(name: str, seed: int) -> Task:
    text = VESSEL.read_text().split("[objective]")[0]
    return Task(name, seed, text, _vessel_cost, _vessel_excess, best=6059.714, fixed=True)


REDUCER = [
    real("width", 2.6, 3.6),
    real("module", 0.7, 0.8),
    integer("teeth", 17, 28),
    real("length1", 7.3, 8.3),
    real("length2", 7.3, 8.3),
    real("diameter1", 2.9, 3.9),
    real("diameter2", 5.0, 5.5),
]
RULES = {
    "bending": "27 / (width * module**2 * teeth) <= 1",
    "contact": "397.5 / (width * module**2 * teeth**2) <= 1",
    "deflection 1": "1.93 * length1**3 / (module * teeth * diameter1**4) <= 1",
    "deflection 2": "1.93 * length2**3 / (module * teeth * diameter2**4) <= 1",
    "stress 1": "sqrt((745 * length1 / (module * teeth))**2 + 16900000) <= 110 * diameter1**3",
    "stress 2": "sqrt((745 * length2 / (module * teeth))**2 + 157500000) <= 85 * diameter2**3",
    "space": "module * teeth <= 40",
    "slender": "width >= 5 * module",
    "not too slender": "width <= 12 * module",
    "shaft 1": "1.5 * diameter1 + 1.9 <= length1",
    "shaft 2": "1.1 * diameter2 + 1.9 <= length2",
}


def _weight(p: Params) -> float:
    b, m, z, l1, l2, d1, d2 = (
        p[k] for k in ("width", "module", "teeth", "length1", "length2", "diameter1", "diameter2")
    )
    gears = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934)
    shafts = -1.508 * b * (d1**2 + d2**2) + 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    return gears + shafts


def _reducer_excess(p: Params) -> list[float]:
    b, m, z, l1, l2, d1, d2 = (
        p[k] for k in ("width", "module", "teeth", "length1", "length2", "diameter1", "diameter2")
    )
    return [
        27 / (b * m**2 * z) - 1,
        397.5 / (b * m**2 * z**2) - 1,
        1.93 * l1**3 / (m * z * d1**4) - 1,
        1.93 * l2**3 / (m * z * d2**4) - 1,
        sqrt((745 * l1 / (m * z)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
        sqrt((745 * l2 / (m * z)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
        m * z / 40 - 1,
        5 * m / b - 1,
        b / (12 * m) - 1,
        (1.5 * d1 + 1.9) / l1 - 1,
        (1.1 * d2 + 1.9) / l2 - 1,
    ]


def reducer(name: str, seed: int) -> Task:
    return Task(name, seed, study(REDUCER, RULES), _weight, _reducer_excess, best=2994.4711, fixed=True)


MAKERS = {"pressure-vessel": vessel, "speed-reducer": reducer}
NAMES = list(MAKERS)


def make(name: str, seed: int) -> Task:
    return MAKERS[name](name, seed)
