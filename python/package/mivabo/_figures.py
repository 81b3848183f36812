"""What the figures of a study look like. Only ``_plots.py`` imports this: it needs matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib
import matplotlib.figure
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from ._parameter import Parameter
from ._trial import Params, Trial, Value

if TYPE_CHECKING:
    from ._study import Study

_PANELS = 3
"""Side by side."""

_GRID = 101
"""Values of a real parameter at which a model is asked."""

_SPREAD = 100.0
"""From this factor on between positive values the axis is logarithmic."""

_FAR = 3.0
"""How many times as far as nine tenths of the values others may be from the best one."""

_LOWEST = -0.12
"""Where inactive parameters are in parallel coordinates, which run from 0 to 1."""

_LARGEST = 1e150
"""matplotlib squares and adds numbers: larger ones are drawn here."""

_TICKS = 12
"""The most names on an axis."""

_WIDE = 24
"""From this many letters on names beside each other are slanted."""

_PAIRS = 10
_LEAST = 0.01
"""The most interactions that are shown, and the smallest."""

_MUTED = "0.75"
_LINE = "C0"
_BEST = "C3"


class Figure(matplotlib.figure.Figure):
    """A figure that shows itself in a notebook, also where nobody imports pyplot."""

    def _repr_png_(self) -> bytes:
        page = io.BytesIO()
        self.savefig(page, format="png")
        return page.getvalue()


def convergence(study: Study) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    values = _Values(study)
    trials = values.trials
    axes.scatter([trial.id for trial in trials], values.drawn(trials), s=18, color=_LINE, alpha=0.6, label="trials")
    best = _best_so_far(values)
    if best:
        # It stays the best to the end.
        x, y = [*(trial.id for trial in best), trials[-1].id], values.drawn([*best, best[-1]])
        axes.step(x, y, where="post", color=_BEST, label="best so far")
    failed = [trial.id for trial in study.trials if trial.state == "failed"]
    if failed:
        # On the frame below: they have no value.
        below = axes.get_xaxis_transform()
        axes.plot(failed, [0] * len(failed), "x", color="0.4", transform=below, clip_on=False, label="failed")
    axes.set_xlabel("trial")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    values.label(axes)
    axes.legend()
    return figure


def parameters(study: Study) -> Figure:
    values = _Values(study)
    shown = _shown(study)
    figure, panels = _paneled(len(shown))
    for place, (axes, parameter) in enumerate(zip(panels, shown, strict=True)):
        scale = _Scale(parameter)
        inside = [trial for trial in values.trials if parameter.name in trial.params]
        x = [_drawn(scale.place(trial.params[parameter.name])) for trial in inside]
        axes.scatter(x, values.drawn(inside), s=18, color=_LINE, alpha=0.6)
        n_inactive = len(values.trials) - len(inside)
        scale.label(axes, f" ({n_inactive} inactive)" if n_inactive else "")
        _label_first(values, axes, place)
    return figure


def slices(study: Study) -> Figure:
    best = study.best_params
    shown = [parameter for parameter in _shown(study) if parameter.name in best]
    cuts = [_Cut(study, parameter, best) for parameter in shown]
    # All at once: the model is fitted for each call.
    found = iter(study.predict([point for cut in cuts for point in cut.points]))
    figure, panels = _paneled(len(shown))
    for place, (axes, cut) in enumerate(zip(panels, cuts, strict=True)):
        estimates = [next(found) for _ in cut.points]
        cut.draw(axes, [one.mean for one in estimates], [one.deviation for one in estimates])
        axes.axvline(_drawn(cut.scale.place(best[cut.scale.parameter.name])), color=_BEST, linewidth=1, linestyle=":")
        cut.scale.label(axes)
        if place % _PANELS == 0:
            axes.set_ylabel(_name(study._goal))
    return figure


def importance(study: Study) -> Figure:
    found = study.importance()
    effects = sorted(found.effects.items(), key=lambda effect: effect[1])
    rows = [("total effect", [(_name(name), share) for name, share in effects])]
    # The greatest first, and at the top.
    pairs = list(found.interactions.items())[:_PAIRS]
    crossed = [(f"{_name(one)}, {_name(other)}", share) for (one, other), share in reversed(pairs) if share >= _LEAST]
    if crossed:
        rows.append(("interaction", crossed))
    heights = [len(named) + 1 for _, named in rows]
    figure = Figure(figsize=(7, 1 + 0.32 * sum(heights)), layout="constrained")
    panels = figure.subplots(len(rows), squeeze=False, height_ratios=heights)[:, 0]
    for axes, (what, named) in zip(panels, rows, strict=True):
        axes.barh([name for name, _ in named], [share for _, share in named], color=_LINE)
        axes.set_xlim(0, 1)
        axes.set_xlabel(f"{what}, as a share of the variance")
    return figure


def parallel(study: Study) -> Figure:
    values = _Values(study)
    scales = [_Scale(parameter) for parameter in _shown(study)]
    figure = Figure(figsize=(max(7.0, 1.4 * len(scales)), 4.5), layout="constrained")
    axes = figure.add_subplot()
    colours = matplotlib.colormaps["viridis"]
    ranked = sorted(values.trials, key=values.worse)
    # The best one last, above all others.
    for rank, trial in reversed(list(enumerate(ranked))):
        heights = [scale.height(trial.params.get(scale.parameter.name)) for scale in scales]
        colour = colours(0.95 * rank / max(1, len(ranked) - 1))
        axes.plot(range(len(scales)), heights, color=colour, alpha=0.8, linewidth=2.5 if rank == 0 else 1)
    for place, scale in enumerate(scales):
        _upright(axes, place, scale)
    axes.set_xticks(range(len(scales)), [_name(scale.parameter.name) for scale in scales])
    axes.set_yticks([])
    axes.set_ylim(_LOWEST - 0.05, 1.08)
    axes.spines[:].set_visible(False)
    axes.set_title(f"{_name(study._goal)}: {len(ranked)} trials, the better the darker", fontsize="medium")
    return figure


class _Values:
    """The trials with a value, and how their values are drawn."""

    def __init__(self, study: Study) -> None:
        self.goal = study._goal
        self.sign = 1.0 if study.direction == "minimize" else -1.0
        self.trials = [trial for trial in study.trials if trial.value is not None]
        numbers = [_value(trial) for trial in self.trials]
        self.is_log = bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= _SPREAD
        self.edge = math.inf if self.is_log else _edge([self.sign * y for y in numbers])
        """Worse values are drawn here."""

    def worse(self, trial: Trial) -> tuple[bool, float]:
        """What is worse comes later."""
        return not trial.feasible or trial.keeps_limits is False, self.sign * _value(trial)

    def drawn(self, trials: Iterable[Trial]) -> list[float]:
        return [_drawn(self.sign * min(self.sign * _value(trial), self.edge)) for trial in trials]

    def label(self, axes: Axes) -> None:
        n_beyond = sum(self.sign * _value(trial) > self.edge for trial in self.trials)
        beyond = f" ({n_beyond} beyond the edge)" if n_beyond else ""
        axes.set_ylabel(f"{_name(self.goal)}{beyond}")
        if self.is_log:
            axes.set_yscale("log")


@dataclass(frozen=True)
class _Scale:
    """Where the values of a parameter are on an axis."""

    parameter: Parameter

    @property
    def names(self) -> Sequence[Value] | None:
        """The values that have places and no size."""
        return (False, True) if self.parameter.kind == "bool" else self.parameter.values

    def place(self, value: Value) -> float:
        return float(value) if self.names is None else float(_index(self.names, value))

    def height(self, value: Value | None) -> float:
        """Between 0 and 1, below if it is inactive."""
        if value is None:
            return _LOWEST
        low, high = self.bounds
        if high == low:
            return 0.5
        if self.parameter.log:
            return math.log(self.place(value) / low) / math.log(high / low)
        return (self.place(value) - low) / (high - low)

    @property
    def bounds(self) -> tuple[float, float]:
        if self.names is not None:
            return 0.0, float(len(self.names) - 1)
        low, high = self.parameter.low, self.parameter.high
        return float(_bound(low)), float(_bound(high))

    @property
    def grid(self) -> list[Value]:
        """Its values, or some of them, evenly spread."""
        if self.names is not None:
            return list(self.names)
        low, high = self.bounds
        shares = [k / (_GRID - 1) for k in range(_GRID)]
        if self.parameter.log:
            spread = [low * (high / low) ** share for share in shares]
        else:
            spread = [low + (high - low) * share for share in shares]
        if self.parameter.kind == "float":
            return [min(max(x, low), high) for x in spread]
        step = self.parameter.step or 1
        whole = [int(low) + step * math.floor((x - low) / step) for x in spread]
        return list(dict.fromkeys(whole))

    def label(self, axes: Axes, note: str = "") -> None:
        axes.set_xlabel(f"{_name(self.parameter.name)}{note}")
        if self.names is not None:
            shown = range(0, len(self.names), math.ceil(len(self.names) / _TICKS))
            names = [_name(self.names[at]) for at in shown]
            axes.set_xticks(shown, names)
            if sum(map(len, names)) > _WIDE:
                axes.tick_params(axis="x", labelrotation=30)
            axes.set_xlim(-0.5, len(self.names) - 0.5)
        elif self.parameter.log:
            axes.set_xscale("log")
        elif self.parameter.kind == "int":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))


class _Cut:
    """The points along one parameter through the best one."""

    def __init__(self, study: Study, parameter: Parameter, best: Params) -> None:
        space = study.space
        self.scale = _Scale(parameter)
        self.values = self.scale.grid
        self.points = [space._native().complete({**best, parameter.name: value})[0] for value in self.values]
        self.is_feasible = [space.is_feasible(point) for point in self.points]

    def draw(self, axes: Axes, means: list[float], deviations: list[float]) -> None:
        x = [_drawn(self.scale.place(value)) for value in self.values]
        means, deviations = [_drawn(mean) for mean in means], [_drawn(deviation) for deviation in deviations]
        if self.scale.names is not None:
            colours = [_LINE if feasible else _MUTED for feasible in self.is_feasible]
            for at, mean, deviation, colour in zip(x, means, deviations, colours, strict=True):
                axes.errorbar(at, mean, deviation, fmt="o", color=colour, capsize=3)
            return
        low = [mean - deviation for mean, deviation in zip(means, deviations, strict=True)]
        high = [mean + deviation for mean, deviation in zip(means, deviations, strict=True)]
        axes.plot(x, means, color=_MUTED)
        axes.fill_between(x, low, high, color=_MUTED, alpha=0.3, linewidth=0)
        inside = [mean if feasible else math.nan for mean, feasible in zip(means, self.is_feasible, strict=True)]
        # Single feasible values between others have a dot, since a line needs two.
        axes.plot(x, inside, color=_LINE, marker="." if self.scale.parameter.kind == "int" else "")
        axes.fill_between(x, low, high, where=self.is_feasible, color=_LINE, alpha=0.3, linewidth=0)


def _shown(study: Study) -> list[Parameter]:
    """The parameters that an objective sees."""
    return [parameter for parameter in study.space.parameters.values() if parameter.kind != "auxiliary"]


def _paneled(n: int) -> tuple[Figure, list[Axes]]:
    columns = min(n, _PANELS)
    rows = math.ceil(n / columns)
    figure = Figure(figsize=(max(4.5, 3.2 * columns), 0.4 + 2.6 * rows), layout="constrained")
    panels: list[Axes] = []
    for place in range(n):
        panels.append(figure.add_subplot(rows, columns, place + 1, sharey=panels[0] if panels else None))
    return figure, panels


def _label_first(values: _Values, axes: Axes, place: int) -> None:
    values.label(axes)
    if place % _PANELS:
        axes.set_ylabel("")


def _upright(axes: Axes, place: int, scale: _Scale) -> None:
    """An axis of parallel coordinates, with the ends of its scale or its names."""
    axes.plot([place, place], [0, 1], color="0.4", linewidth=1)
    if scale.parameter.when is not None:
        _mark(axes, place, _LOWEST, "inactive")
    ends = scale.parameter.low, scale.parameter.high
    marks: Sequence[Value | None] = ends if scale.names is None else scale.names
    for mark in map(_bound, marks[:: math.ceil(len(marks) / _TICKS)]):
        text = f"{mark:.4g}" if scale.names is None and isinstance(mark, float) else _name(mark)
        _mark(axes, place, scale.height(mark), text)


def _mark(axes: Axes, place: int, height: float, text: str) -> None:
    ground = {"facecolor": "white", "alpha": 0.7, "pad": 0.5, "linewidth": 0}
    at = (place, height)
    axes.annotate(text, at, (5, 0), textcoords="offset points", fontsize="small", va="center", bbox=ground)


def _best_so_far(values: _Values) -> list[Trial]:
    """The trials that were the best one when they were new."""
    best: list[Trial] = []
    for trial in values.trials:
        counts = trial.feasible and trial.keeps_limits is not False
        if counts and (not best or values.worse(trial) < values.worse(best[-1])):
            best.append(trial)
    return best


def _edge(numbers: list[float]) -> float:
    """Where low numbers are good: the greatest one that is drawn in its place."""
    if not numbers:
        return math.inf
    ranked = sorted(numbers)
    best, most = ranked[0], ranked[(9 * (len(ranked) - 1)) // 10]
    edge = most + _FAR * (most - best)
    return edge if ranked[-1] > edge > best else math.inf


def _drawn(number: float) -> float:
    return min(max(number, -_LARGEST), _LARGEST)


def _index(names: Sequence[Value], value: Value) -> int:
    """Where it is: 1 and True are equal in Python, and two values here."""
    kind = isinstance(value, bool)
    return next(at for at, name in enumerate(names) if name == value and isinstance(name, bool) == kind)


def _bound(bound: Value | None) -> Value:
    assert bound is not None, "a number has bounds"
    return bound


def _value(trial: Trial) -> float:
    assert trial.value is not None, "only trials with a value are drawn"
    return trial.value


def _name(name: Value) -> str:
    """As it is: matplotlib takes dollars for formulas."""
    text = str(name)
    short = text if len(text) <= 16 else f"{text[:15]}…"
    return short.replace("$", r"\$")
