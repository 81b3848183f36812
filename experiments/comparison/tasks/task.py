"""What a task is: a study file, a function to minimise, and the constraints once more in plain Python.

The constraints of the study file are what mivabo knows. `excess` says the same independently: amounts by which a point
breaks each of them, at most 0 where it holds. The harness decides by `excess` alone whether a suggestion counts.
"""

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from space import Parameter, Params, parameters

TOLERANCE = 1e-9  # as docs/space.md says for reals


def nothing(_: Params) -> list[float]:
    return []


def never(_: Params) -> bool:
    return False


@dataclass(frozen=True)
class Task:
    name: str
    seed: int  # of the instance; tasks with a fixed optimum have the same instance for all seeds
    text: str
    value: Callable[[Params], float]
    excess: Callable[[Params], list[float]] = nothing
    fails: Callable[[Params], bool] = never
    best: float | None = None  # the known optimum
    noise: float = 0.0  # standard deviation of what a method is told
    fixed: bool = False
    budget: int = 80
    penalty: float | None = None  # what peers are told of an infeasible point; none: what `scale.json` says
    space: list[Parameter] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "space", parameters(self.text))

    @property
    def is_constrained(self) -> bool:
        return self.excess is not nothing

    def is_feasible(self, params: Params) -> bool:
        return all(amount <= TOLERANCE for amount in self.excess(params))

    def failing(self, chance: float) -> "Task":
        """The same task where each evaluation fails with this chance."""
        luck = np.random.default_rng([self.seed, 78])
        return replace(self, fails=lambda _: bool(luck.random() < chance))

    def untold(self) -> "Task":
        """The same task where nobody knows the constraints: what breaks them fails."""
        parts = re.split(r"^(?=\[)", self.text, flags=re.MULTILINE)
        text = "".join(part for part in parts if not part.startswith("[constraints]"))
        return replace(self, text=text, excess=nothing, fails=lambda params: not self.is_feasible(params))


def draws(name: str, seed: int) -> np.random.Generator:
    """The random numbers of an instance. No method sees this stream."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed])


def study(lines: list[str], constraints: dict[str, str] | None = None) -> str:
    """A study file from lines of parameters and named constraints."""
    text = "[parameters]\n" + "\n".join(lines) + "\n"
    if constraints:
        text += "\n[constraints]\n" + "\n".join(f'"{name}" = "{rule}"' for name, rule in constraints.items()) + "\n"
    return text


def real(name: str, low: float, high: float, extra: str = "") -> str:
    return f'{name} = {{ type = "float", low = {low!r}, high = {high!r}{extra} }}'


def integer(name: str, low: int, high: int, extra: str = "") -> str:
    return f'{name} = {{ type = "int", low = {low}, high = {high}{extra} }}'


def truth(name: str, extra: str = "") -> str:
    return f'{name} = {{ type = "bool"{extra} }}'


def choice(name: str, values: list[str], extra: str = "") -> str:
    listed = ", ".join(f'"{value}"' for value in values)
    return f'{name} = {{ type = "choice", values = [{listed}]{extra} }}'


def when(condition: str) -> str:
    return f', when = "{condition}"'


def bits(params: Params, n: int, letter: str = "b") -> np.ndarray:
    return np.array([params[f"{letter}{k}"] for k in range(n)], dtype=float)


def reals(params: Params, n: int, letter: str = "x") -> np.ndarray:
    return np.array([params[f"{letter}{k}"] for k in range(n)], dtype=float)
