"""The command line, Rust and Python: one study, the same suggestions."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import conftest
import pytest

from mivabo import Space, Study

FILE = """
name = "shared"
direction = "maximize"

[parameters]
lr        = { type = "float", low = 1e-4, high = 1e-1, log = true }
kernel    = { type = "int", low = 1, high = 7, step = 2 }
stride    = { type = "int", low = 1, high = 3 }
optimizer = { type = "choice", values = ["sgd", "adam"] }
momentum  = { type = "float", low = 0.0, high = 0.99, when = "optimizer == 'sgd'" }

[definitions]
half = "(kernel + 1) / 2"

[constraints]
"receptive field" = "kernel * stride <= 12"
"adam likes small strides" = "optimizer == 'adam' -> stride <= 2"

[run]
trials = 20
seed = 7
strategy = "STRATEGY"
"""


def value(number: int) -> float:
    """What is told: it depends on nothing but the trial's number."""
    return float((number * 7) % 10)


@pytest.fixture
def study_file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(FILE.replace("STRATEGY", getattr(request, "param", "improvement")))
    return path


def mivabo(*arguments: object) -> str:
    command = [conftest.built("mivabo"), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def asked_by_command_line(path: Path) -> dict[str, object]:
    asked = json.loads(mivabo("ask", path))
    mivabo("tell", path, asked["trial"], value(asked["trial"]))
    params: dict[str, object] = asked["params"]
    return params


def asked_by_python(study: Study) -> dict[str, object]:
    trial = study.ask()
    study.tell(trial, value(trial.id))
    return dict(trial.params)


@pytest.mark.parametrize("study_file", ["improvement", "thompson"], indirect=True)
def test_rust_the_command_line_and_python_suggest_the_same(study_file: Path) -> None:
    n = 14
    by_rust = subprocess.run(
        [conftest.built("examples/suggestions"), str(study_file), str(n)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rust = [json.loads(line) for line in by_rust.splitlines()]

    line = [asked_by_command_line(study_file) for _ in range(n)]
    space = Space.from_toml(study_file)
    strategy = Study.load(study_file.with_suffix(".db")).strategy
    study = Study(space, seed=7, direction="maximize", strategy=strategy)
    python = [asked_by_python(study) for _ in range(n)]

    assert rust == line == python


def test_python_goes_on_with_a_study_of_the_command_line(study_file: Path) -> None:
    begun = [asked_by_command_line(study_file) for _ in range(8)]
    study = Study.from_file(study_file)
    assert (study.name, study.direction, study.seed) == ("shared", "maximize", 7)
    assert [trial.params for trial in study.trials] == begun
    further = [asked_by_python(study) for _ in range(4)]
    last = asked_by_command_line(study_file)
    assert [trial.params for trial in study.trials] == [*begun, *further, last]
    assert json.loads(mivabo("best", study_file, "--json"))["best"]["trial"] == study.best.id


def test_the_command_line_opens_a_study_of_python(tmp_path: Path, space: Space) -> None:
    path = tmp_path / "made.db"
    study = Study(space, storage=path, name="made here", seed=3)
    asked_by_python(study)
    asked = asked_by_command_line(path)
    assert study.trials[1].params == asked
    assert space.is_feasible(asked)  # type: ignore[arg-type]
    assert "trial" in mivabo("show", path)
    mivabo("report", path, "--out", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == study.report().html


def test_python_and_a_study_file_mean_the_same_study(study_file: Path) -> None:
    one = Study.from_file(study_file)
    space = Space.from_toml(study_file)
    other = Study(space, seed=7, direction="maximize", name="shared", storage=study_file.with_suffix(".db"))
    one.tell(one.ask(), 1.0)
    assert other.n_trials == 1


AIMS = """
[goals]
loss = "maximize"

[limits]
latency = "<= 3"

[parameters]
a = { type = "int", low = 0, high = 9 }

[objective]
shell = 'echo "{\\"loss\\": $MIVABO_TRIAL, \\"latency\\": $MIVABO_TRIAL}"'

[run]
trials = 6
"""


def facts(study: Study) -> list[object]:
    return [(trial.value, trial.measured, trial.keeps_limits) for trial in study.trials]


def test_goals_and_limits_mean_the_same_in_python_and_on_the_command_line(tmp_path: Path) -> None:
    file = tmp_path / "aims.toml"
    file.write_text(AIMS)
    mivabo("run", file, "--quiet")
    by_command_line = Study.from_file(file)
    assert (by_command_line.goals, by_command_line.limits) == ({"loss": "maximize"}, {"latency": "<= 3"})
    assert by_command_line.best.id == 3

    space = Space()
    space.int("a", 0, 9)
    aims = {"goals": {"loss": "maximize"}, "limits": {"latency": "<= 3"}}
    assert Study(space, storage=tmp_path / "aims.db", **aims).n_trials == 6  # type: ignore[arg-type]
    by_python = Study(space, storage=tmp_path / "made.db", **aims)  # type: ignore[arg-type]
    for number in range(5):
        by_python.tell(by_python.ask(), {"loss": number, "latency": number})
    asked = json.loads(mivabo("ask", tmp_path / "made.db"))
    mivabo("tell", tmp_path / "made.db", asked["trial"], 5, "--result", '{"latency": 5}')

    assert [trial.params for trial in by_python.trials] == [trial.params for trial in by_command_line.trials]
    assert facts(by_python) == facts(by_command_line)
    for study, path in [(by_python, tmp_path / "made.db"), (by_command_line, file)]:
        assert json.loads(mivabo("export", path, "--format", "json")) == study.view()
        assert json.loads(mivabo("best", path, "--json"))["best"]["trial"] == 3
