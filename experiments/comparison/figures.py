"""Figures of the comparison as SVG whose bytes depend on the lines alone."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "mivabo"
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from runs import Runs
from tasks import CHEAP, vae

OURS = ["#0072b2", "#56b4e9", "#009e73", "#117733", "#44aa99", "#88ccee"]
FEW = 8  # seeds
PEERS = ["#d55e00", "#e69f00", "#cc79a7", "#882255", "#999933", "#aa4499", "#ddaa77", "#663300", "#000000"]


def colours(methods: list[str]) -> dict[str, str]:
    found, ours, peers = {"mivabo:random": "#666666"}, iter(OURS * 3), iter(PEERS * 3)
    for method in methods:
        found.setdefault(method, next(ours if method.startswith("mivabo") else peers))
    return found


def mean_score(runs: Runs, tasks: list[str], method: str) -> np.ndarray | None:
    """Mean over tasks of the mean over seeds, at each evaluation; none where a task is missing."""
    by_task = [list(runs.scores(task, method).values()) for task in tasks]
    if not by_task or not all(by_task):
        return None
    length = min(len(curve) for curves in by_task for curve in curves)
    return np.mean([np.mean([curve[:length] for curve in curves], axis=0) for curves in by_task], axis=0)


def panel(axes: Axes, title: str, curves: dict[str, np.ndarray | None], colour: dict[str, str]) -> None:
    for method, curve in curves.items():
        if curve is not None:
            width = 1.8 if method.startswith("mivabo") else 1.1
            axes.plot(np.arange(1, len(curve) + 1), curve, label=method, color=colour[method], linewidth=width)
    axes.set_title(title, fontsize=9)
    axes.tick_params(labelsize=7)
    axes.grid(alpha=0.25)


def bands(axes: Axes, title: str, curves: dict[str, np.ndarray], colour: dict[str, str]) -> None:
    """Mean ± one standard deviation over the rows of each method's curves, dashed where there are fewer than `FEW`."""
    panel(axes, title, {method: rows.mean(axis=0) for method, rows in curves.items()}, colour)
    for line in axes.lines:
        line.set_linestyle("--" if len(curves[str(line.get_label())]) < FEW else "-")
    for method, rows in curves.items():
        mean, spread = rows.mean(axis=0), rows.std(axis=0, ddof=1) if len(rows) > 1 else 0.0
        steps = np.arange(1, rows.shape[1] + 1)
        axes.fill_between(steps, mean - spread, mean + spread, color=colour[method], alpha=0.08, linewidth=0)


def save(figure: plt.Figure, path: Path) -> None:
    handles: list[Any] = []
    labels: list[str] = []
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            if label not in labels:
                handles, labels = [*handles, handle], [*labels, label]
    figure.legend(handles, labels, loc="lower center", ncol=5, fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def draw(runs: Runs, groups: dict[str, list[str]], out: Path) -> None:
    """Means are over the cheap tasks, which nearly all methods have; single tasks are all shown."""
    colour = colours(runs.methods)
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
    for axes, (name, found) in zip(panels, groups.items(), strict=True):
        tasks = [task for task in found if task in CHEAP]
        panel(axes, f"{name}: {len(tasks)} tasks", {m: mean_score(runs, tasks, m) for m in runs.methods}, colour)
    panels[0].set_ylabel("mean normalised score")
    figure.subplots_adjust(bottom=0.27)
    save(figure, out / "scores.svg")
    draw_tasks(runs, groups["all"], colour, out / "tasks.svg")
    if any(task in runs.tasks for task in vae.NAMES):
        draw_vae(runs, colour, out / "vae.svg")


def draw_tasks(runs: Runs, tasks: list[str], colour: dict[str, str], path: Path) -> None:
    rows = -(-len(tasks) // 4)
    figure, panels = plt.subplots(rows, 4, figsize=(11, 2.1 * rows), squeeze=False)
    for axes, task in zip(panels.flat, tasks, strict=False):
        panel(axes, task, {m: mean_score(runs, [task], m) for m in runs.methods}, colour)
    for axes in list(panels.flat)[len(tasks) :]:
        axes.axis("off")
    figure.subplots_adjust(hspace=0.45, bottom=0.08)
    save(figure, path)


def draw_vae(runs: Runs, colour: dict[str, str], path: Path) -> None:
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6))
    for axes, task in zip(panels, vae.NAMES, strict=True):
        found = {method: list(runs.seeds(task, method).values()) for method in runs.methods}
        means = {method: np.mean(curves, axis=0) if curves else None for method, curves in found.items()}
        panel(axes, f"{task}: best nats", means, colour)
        axes.set_ylim(89, 112)
    figure.subplots_adjust(bottom=0.27)
    save(figure, path)
