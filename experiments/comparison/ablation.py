"""What each setting of the default strategy is worth, from result lines alone.

    python run.py --out results/ablation/lines.jsonl --seeds 4 --methods $(python ablation.py)
    python run.py --out results/ablation/lines.jsonl --seeds 8 --methods $(python ablation.py) --tasks vae-trees,vae-gp --data DATA
    python ablation.py results/ablation/lines.jsonl.gz results/ours.jsonl.gz --out results/ablation/README.md

Without files it prints the methods to run. Runs of a variant are compared with those of the default on equal tasks and seeds.
"""

import argparse
from pathlib import Path

import numpy as np

import run
import scale
from runs import Runs, at
from table import POINTS, VAE_POINTS, grid
from tasks import vae

DEFAULT = "mivabo:improvement"
VARIANTS = {
    "kernel=additive": "the additive kernel alone",
    "kernel=product": "the full-dimensional kernel alone",
    "draws=no": "no candidates from the paper's model",
    "stall=0": "no shorter length-scales in stalls",
    "plateau=0": "no lower target on plateaus and in pits",
    "outputs=standard": "outputs standardised, not made symmetric",
    "climbs=1": "one climb instead of four",
    "turns=0": "no turns for branches",
    "kernel=additive:draws=no:stall=0:climbs=1": "additive, no draws, no stall rule, one climb",
}
METHODS = [f"{DEFAULT}:{settings}" for settings in VARIANTS]


def difference(curves: dict[int, np.ndarray], default: dict[int, np.ndarray], k: int) -> list[float]:
    """Variant minus default after `k` evaluations, on the seeds on which both came so far."""
    both = [(at(curves[seed], k), at(default[seed], k)) for seed in sorted(curves.keys() & default.keys())]
    return [ours - theirs for ours, theirs in both if ours is not None and theirs is not None]


def cell(differences: list[float], digits: int) -> str:
    if len(differences) < 2:
        return "not run"
    error = np.std(differences, ddof=1) / np.sqrt(len(differences))
    mark = "**" if abs(np.mean(differences)) > 2 * error else ""
    return f"{mark}{np.mean(differences):+.{digits}f} ± {error:.{digits}f}{mark}"


def row(runs: Runs, settings: str) -> list[str]:
    method, cells, n = f"{DEFAULT}:{settings}", [], 0
    for k in POINTS:
        found = [
            d
            for task in runs.tasks
            if task not in vae.NAMES
            for d in difference(runs.scores(task, method), runs.scores(task, DEFAULT), k)
        ]
        cells, n = [*cells, cell(found, 3)], len(found)
    for k in VAE_POINTS:
        found = [d for task in vae.NAMES for d in difference(runs.seeds(task, method), runs.seeds(task, DEFAULT), k)]
        cells.append(cell(found, 2))
    return [f"`{settings}`", VARIANTS[settings], str(n), *cells]


def table(runs: Runs) -> str:
    header = ["setting", "what it means", "pairs", *(f"@{k}" for k in POINTS), *(f"VAE @{k}" for k in VAE_POINTS)]
    return (
        "# What the settings of the default strategy are worth\n\n"
        "Variant minus default, mean ± one standard error: positive is worse, bold is beyond two standard errors. Normalised scores after "
        "20, 40 and 80 evaluations\nover the tasks of the comparison, and nats on both stand-ins for the VAE after 16 and 32. "
        "`ablation.py` makes this page.\n\n" + grid(header, [row(runs, settings) for settings in VARIANTS])
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", type=Path, nargs="*")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if not arguments.lines:
        print(",".join(METHODS))
        return
    text = table(Runs.read(run.read(arguments.lines), scale.read()))
    arguments.out.write_text(text) if arguments.out else print(text)


if __name__ == "__main__":
    main()
