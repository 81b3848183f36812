"""What type checkers say of programs that use the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import conftest
import pytest

import mivabo

PROGRAM = """
from collections.abc import Mapping
from typing import Any

import mivabo
from matplotlib.figure import Figure

space = mivabo.Space()
x = space.float("x", 0.0, 1.0)


def plain(params: mivabo.Params) -> float:
    return float(params["x"])


def measured(params: mivabo.Params) -> Mapping[str, Any]:
    return {"value": 1, "size": 2}


async def later(params: mivabo.Params) -> float:
    return 0.5


def callback(study: mivabo.Study, trial: mivabo.Trial) -> None:
    if trial.value is not None and trial.value < 0.1:
        study.stop()


def given(objective: mivabo.Objective, callbacks: list[mivabo.Callback]) -> mivabo.Study:
    return mivabo.minimize(objective, space, 3, workers=2, timeout=1.5, callbacks=callbacks, catch=ValueError)


for objective in (plain, measured, later):
    study = given(objective, [callback])
mivabo.maximize(lambda params: float(params["x"]), space, trials=3, on_error="fail", progress=False)
value: mivabo.Value = study.best_params["x"]
best: float = study.best_value
first: mivabo.Parameter = space.parameters["x"]
estimates: list[mivabo.Estimate] = study.predict([study.best_params, {"x": 0.5}])
figure: Figure = study.plot.convergence()
names: list[str] = [name for name in space]
"""

WRONG = {
    "mivabo.minimize(plain, space, wrokers=2)": 'Unexpected keyword argument "wrokers" for "minimize"',
    "mivabo.maximize(plain, space, timeout='1h')": 'Argument "timeout" to "maximize" has incompatible type',
    "study.optimize(plain, trails=3)": 'Unexpected keyword argument "trails" for "optimize" of "Study"',
    "mivabo.minimize(str.upper, space)": 'Argument 1 to "minimize" has incompatible type',
    "study.predict({'x': 0.5})": 'Dict entry 0 has incompatible type "str": "float"; expected "Mapping[str,',
    "mivabo.Study(space, direction='up')": 'Argument "direction" to "Study" has incompatible type',
}


def test_type_checkers_know_every_argument(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM + "\n".join(WRONG) + "\n")
    config = conftest.ROOT / "python" / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path), str(path)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    first = PROGRAM.count("\n") + 1
    said = {int(line.split(":")[1]): line for line in found.stdout.splitlines() if ": error: " in line}
    assert list(said) == list(range(first, first + len(WRONG))), found.stdout + found.stderr
    for line, message in enumerate(WRONG.values(), first):
        assert message in said[line]


def test_an_argument_that_does_not_exist_makes_no_study(tmp_path: Path) -> None:
    space = mivabo.Space()
    space.int("x", 1, 3)
    for find in (mivabo.minimize, mivabo.maximize):
        with pytest.raises(TypeError, match="'wrokers'"):
            find(lambda params: 0.0, space, 3, storage=tmp_path / "a.db", wrokers=2)  # type: ignore[call-arg]
        assert not (tmp_path / "a.db").exists()
