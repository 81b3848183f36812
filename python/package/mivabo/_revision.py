"""What revising a study changes, and what was told of a trial before it was corrected. Plain data that pickles."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Revision:
    """What revising a study changed, or would change."""

    changes: list[str]
    """What the study has otherwise, as sentences; empty where it was so already."""
    told: int
    """How many trials are told."""
    taught: int
    """How many of them the study learns from in the revised space."""
    left_out: list[tuple[str, int]]
    """Why it does not learn from the others, and from how many."""
    infeasible: int
    """How many it learns from although they break a constraint of the revised space; they are never the best."""
    failing: list[int]
    """The waiting trials that the revised space forbids: they fail."""
    running: int
    """How many trials run, and will finish."""
    summary: str
    """How many trials teach in the revised space, as a sentence."""

    def __str__(self) -> str:
        """Everything of it, a line each."""
        return "\n".join([*self.changes, self.summary]) if self.changes else "nothing to revise"


def warn_of(news: Iterable[str]) -> None:
    """Say what somebody who opens a study should know, in the line that opens it."""
    for text in news:
        warnings.warn(text, stacklevel=3)
