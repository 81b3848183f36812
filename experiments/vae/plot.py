"""Figures as SVG whose bytes depend on what they show alone.

`draw_nats`: best nats so far, mean ± one standard deviation over the seeds (the paper's Figure 2), dashed where seeds
are missing. `draw_pictures`: test images, reconstructions and samples (Figures 4 and 7), from what `pictures.py` leaves.
"""

import sys
from math import floor
from pathlib import Path

import numpy as np

from studies import DATASETS, EVALS, HALF, METHODS, SEEDS, Outcomes, select

sys.path.append(str(Path(__file__).resolve().parents[1] / "comparison"))
from figures import bands, colours, plt, save  # sets what makes the bytes of an SVG repeat

SHOWN = 34  # nats of a panel


def curves(outcomes: Outcomes, dataset: str, method: str) -> np.ndarray:
    """Best nats, seeds × evaluations: of the whole studies; where none is whole, of those that got half way, up to the
    shortest."""
    found = [o.best for o in select(outcomes, dataset, method) if len(o.best) >= HALF]
    found = [best for best in found if len(best) >= EVALS] or found
    length = min(map(len, found), default=0)
    return np.array([best[:length] for best in found]).reshape(len(found), length)


def draw_nats(outcomes: Outcomes, path: Path) -> None:
    """One panel for each dataset. All show the same number of nats, each from below the best that was found in it."""
    figure, panels = plt.subplots(1, len(DATASETS), figsize=(11, 4.2))
    for axes, dataset in zip(panels, DATASETS, strict=True):
        found = {m: c for m in METHODS if (c := curves(outcomes, dataset, m)).size}
        bands(axes, dataset, found, colours(METHODS))
        axes.set_xlabel("valid evaluations", fontsize=8)
        axes.text(0.98, 0.96, _gaps(found), ha="right", va="top", fontsize=7, color="#555555", transform=axes.transAxes)
        if found:
            low = floor(min(c.min() for c in found.values())) - 1
            axes.set_ylim(low, low + SHOWN)
    panels[0].set_ylabel("best nats so far")
    figure.subplots_adjust(bottom=0.25)
    save(figure, path)


def _gaps(found: dict[str, np.ndarray]) -> str:
    """Which methods have fewer seeds than the others, or no curve."""
    few = [f"{method}: {len(c)} of {SEEDS} seeds" for method, c in found.items() if len(c) < SEEDS]
    return "\n".join([*few, *(f"{method}: not run to {HALF}" for method in METHODS if method not in found)])


def draw_pictures(pictures: dict[str, np.ndarray], path: Path) -> None:
    """One column of test images, then two columns for each network: reconstructions and samples."""
    columns = {"test image": pictures["truth"]}
    names = sorted({key.split("/")[0] for key in pictures if "/" in key}, key=lambda n: float(pictures[f"{n}/nats"]))
    for name in names:
        short = name.replace(":", ":\n").replace("-", "-\n")
        label = f"{short}\n{float(pictures[f'{name}/nats']):.1f} nats"
        columns |= {f"{label}\n{what}": pictures[f"{name}/{what}"] for what in ("reconstructions", "samples")}
    rows = len(pictures["truth"])
    figure, panels = plt.subplots(rows, len(columns), figsize=(1.15 * len(columns), 0.85 * rows + 0.5), squeeze=False)
    for column, (label, images) in zip(panels.T, columns.items(), strict=True):
        column[0].set_title(label, fontsize=6)
        for axes, image in zip(column, images, strict=True):
            axes.imshow(image, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axes.axis("off")
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
