"""All tasks by name. `make(name, seed, data)` gives an instance; only the stand-ins for the VAE and `xgb-…-live` need
the data folder. The tasks of `experiments/xgboost` and `experiments/synthetic` are known here too, but are no part of the
comparison (`NAMES`)."""

from pathlib import Path

from tasks import boosting, branches, combinatorial, drawn, engineering, mixed, synthetic, threads, vae, xgb
from tasks.task import Task

FAMILIES = [synthetic, combinatorial, mixed, engineering, threads, boosting]
NAMES = [name for family in FAMILIES for name in family.NAMES] + vae.NAMES
CHEAP = [name for name in NAMES if name not in boosting.NAMES + vae.NAMES]


def make(name: str, seed: int, data: Path | None = None) -> Task:
    if name in vae.NAMES:
        if data is None:
            raise ValueError(f"task `{name}` needs --data, the folder with vae-mnist-evaluations.jsonl")
        return vae.make(name, seed, data)
    if name in xgb.NAMES + xgb.LIVE:
        return xgb.make(name, seed, data)
    for family in [*FAMILIES, branches, drawn]:
        if name in family.NAMES:
            return family.make(name, seed)
    raise ValueError(f"there is no task `{name}`; there are {', '.join(NAMES)}")


__all__ = ["CHEAP", "NAMES", "Task", "make"]
