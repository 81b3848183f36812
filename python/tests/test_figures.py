"""Figures of a study, as matplotlib draws them."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import mivabo
from mivabo import Space, Study

ALL = ["convergence", "parameters", "slices", "importance", "parallel"]


def png(figure: Figure) -> bytes:
    # Drawn whole: much of what can go wrong does so here.
    page: bytes = figure._repr_png_()  # type: ignore[attr-defined]
    assert page.startswith(b"\x89PNG")
    return page


def studied(space: Space, **options: object) -> Study:
    def objective(params: mivabo.Params) -> float:
        if float(params["lr"]) > 0.05:
            raise ValueError
        return (math.log10(float(params["lr"])) + 2.5) ** 2 + 0.3 * float(params["stride"])

    study = Study(space, seed=1, **options)  # type: ignore[arg-type]
    return study.optimize(objective, trials=20, catch=ValueError)


@pytest.mark.parametrize("name", ALL)
def test_every_figure_is_one_of_matplotlib(space: Space, name: str, tmp_path: Path) -> None:
    study = studied(space)
    figure = getattr(study.plot, name)()
    assert isinstance(figure, Figure)
    png(figure)
    figure.savefig(tmp_path / "figure.svg")
    assert name in repr(study.plot)


def test_convergence_has_every_trial_and_the_best_so_far(space: Space) -> None:
    study = studied(space)
    (axes,) = study.plot.convergence().axes
    valued = [trial for trial in study.trials if trial.value is not None]
    points = axes.collections[0].get_offsets()
    assert [tuple(point) for point in points] == [(trial.id, trial.value) for trial in valued]
    best, failed = axes.lines
    assert best.get_ydata()[-1] == study.best_value
    assert list(best.get_ydata()) == sorted(best.get_ydata(), reverse=True)
    assert list(failed.get_xdata()) == [trial.id for trial in study.trials if trial.state == "failed"]
    assert axes.get_ylabel() == "value"


def test_slices_are_what_the_study_predicts_and_grey_where_a_constraint_fails(space: Space) -> None:
    space.add("kernel * stride >= 3", name="enough")
    study = studied(space)
    best = study.best_params
    panels = {axes.get_xlabel(): axes for axes in study.plot.slices().axes}
    assert list(panels) == [name for name in space.names if name in best]
    line, inside, _ = panels["kernel"].lines
    points = [{**best, "kernel": kernel} for kernel in (1, 3, 5, 7)]
    assert list(line.get_xdata()) == [1, 3, 5, 7]
    assert list(line.get_ydata()) == [found.mean for found in study.predict(points)]
    drawn = [not math.isnan(mean) for mean in inside.get_ydata()]
    assert drawn == [space.is_feasible(point) for point in points]
    assert False in drawn


def test_parameters_say_how_many_trials_do_not_have_them(space: Space) -> None:
    study = studied(space)
    without = sum("momentum" not in trial.params for trial in study.trials if trial.value is not None)
    labels = [axes.get_xlabel() for axes in study.plot.parameters().axes]
    assert labels == ["kernel", "stride", "optimizer", "lr", f"momentum ({without} inactive)"]


def test_importance_is_that_of_the_study(space: Space) -> None:
    study = studied(space)
    axes = study.plot.importance().axes[0]
    shown = dict(zip([label.get_text() for label in axes.get_yticklabels()], axes.patches, strict=True))
    effects = study.importance().effects
    assert {name: bar.get_width() for name, bar in shown.items()} == effects
    assert list(shown)[-1] == max(effects, key=lambda name: effects[name])


def test_parallel_coordinates_show_the_best_trial_above_all_others(space: Space) -> None:
    study = studied(space, direction="maximize")
    (axes,) = study.plot.parallel().axes
    trials = [line for line in axes.lines if len(line.get_xdata()) == len(space.names)]
    assert len(trials) == sum(trial.value is not None for trial in study.trials)
    assert [line.get_linewidth() for line in trials] == [1] * (len(trials) - 1) + [2.5]
    assert [label.get_text() for label in axes.get_xticklabels()] == space.names


def odd() -> Space:
    space = Space()
    space.choice("$x_", [1, True, "1", 0.5, "a$b"])
    space.choice("many", [f"option {i}" for i in range(30)])
    space.int("one", 3, 3)
    space.int("wide", -(2**40), 2**40)
    space.int("log", 1, 2**30, log=True)
    space.float("tiny", 1e-300, 1e-290, log=True)
    space.float("huge", -1e300, 1e300)
    space.auxiliary("hidden", 0, 1)
    return space


VALUES = {
    "equal": [2.0] * 9,
    "far": [1.0, 2.0, 3.0, 2.5, 1.5, 2.2, 1.7, 1.1, 1e300],
    "huge": [1e308, -1e308, 3e307, 0.0, 1.0, -2.0, 5e-324, 1e308, 9.0],
    "positive": [1e-9, 1.0, 1e9, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
    "single": [1.0],
    "failed and one": [math.nan, math.nan, 0.5],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_odd_spaces_and_values_are_drawn(values: list[float]) -> None:
    study = Study(odd(), direction="maximize")
    for value in values:
        study.tell(study.ask(), value)
    # What matters is computed in the model's units, whatever the values are.
    names = ALL if len(values) == 1 else [name for name in ALL if name != "importance"]
    for name in names:
        png(getattr(study.plot, name)())


def test_infeasible_results_and_broken_limits_are_never_the_best_so_far(small: Space) -> None:
    study = Study(small, limits={"size": "<= 3"})
    study.add({"a": 9, "b": 9}, {"value": -7.0, "size": 1})
    study.add({"a": 4, "b": 6}, {"value": -1.0, "size": 9})
    study.add({"a": 5, "b": 5}, {"value": 2.0, "size": 1})
    (axes,) = study.plot.convergence().axes
    assert set(axes.lines[0].get_ydata()) == {2.0}


def test_a_figure_of_nothing_is_empty_or_says_why_it_cannot_be(small: Space) -> None:
    study = Study(small)
    for name in ("convergence", "parameters", "parallel"):
        png(getattr(study.plot, name)())
    for name in ("slices", "importance"):
        with pytest.raises(mivabo.StudyError, match=r"no (feasible )?trial has a value"):
            getattr(study.plot, name)()
    random = mivabo.minimize(lambda params: 1.0, small, 3, strategy="random")
    with pytest.raises(mivabo.StudyError, match="the strategy `random` has no model"):
        random.plot.slices()


def test_without_matplotlib_its_name_is_said() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import mivabo; s = mivabo.Space(); s.int('x', 1, 9); plot = mivabo.Study(s).plot; print(plot)\n"
        "try: plot.convergence()\n"
        "except ImportError as error: print(error.name, error)"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    plot, error = found.stdout.splitlines()
    assert "convergence, parameters, slices, importance, parallel" in plot
    assert error.startswith("matplotlib figures need the package `matplotlib`")
