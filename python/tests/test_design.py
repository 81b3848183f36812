"""The example of the design, word for word."""

from __future__ import annotations

from pathlib import Path

import pytest

EXAMPLE = """
import mivabo

space = mivabo.Space()
kernel = space.int("kernel", 1, 7, step=2)
stride = space.int("stride", 1, 3)
opt = space.choice("optimizer", ["sgd", "adam"])
lr = space.float("lr", 1e-4, 1e-1, log=True)
units = space.choice("units", [64, 128, 256], ordered=True)
space.add(kernel * stride <= 12, name="receptive field")
momentum = space.float("momentum", 0.0, 0.99, when=opt == "sgd")
half = space.define("half", "(kernel + 1) / 2")          # must come out whole
space.add("optimizer == 'adam' -> stride <= 2")

study = mivabo.Study(space, seed=7, storage="sqlite:///cnn.db", name="cnn")
trial = study.ask()                 # trial.id, trial.params
study.tell(trial, value=0.31)       # or study.tell(trial, failed=True)
study.add({"kernel": 3, "stride": 2, "optimizer": "adam", "lr": 1e-3}, 0.29)   # a result from elsewhere
study.optimize(train, trials=100, workers=2)
study.best.params, study.recommend().params
"""


def test_the_example_of_the_design_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"train": lambda params: params["lr"] * params["kernel"]}

    with pytest.warns(UserWarning, match="`units` for 64"):
        exec(EXAMPLE, scope)

    study, space = scope["study"], scope["space"]
    assert study.n_trials == 100  # type: ignore[attr-defined]
    assert all(not space.check(trial.params) for trial in study.trials)  # type: ignore[attr-defined]
    assert (tmp_path / "cnn.db").exists()
    assert study.best.value < 0.29  # type: ignore[attr-defined]
