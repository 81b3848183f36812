"""What a method is: it is asked for a point and told what came of it.

A method sees the space, the number of evaluations and its seed; the objective never. `tell` with None says that the point
breaks a constraint and was not evaluated; what a peer then learns is `penalty`.
"""

from dataclasses import dataclass
from typing import Protocol

from space import Params
from tasks import Task


@dataclass(frozen=True)
class Setting:
    """All that a method may know."""

    task: Task
    seed: int
    evals: int
    penalty: float


class Method(Protocol):
    def ask(self) -> Params: ...

    def tell(self, params: Params, value: float | None) -> None: ...
