"""Studies that grow: defaults that are tried first, revisions, corrections."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path

import pytest

import mivabo
from mivabo import Space, Study


def earlier() -> Space:
    space = Space()
    space.float("lr", 0.0, 1.0)
    space.int("n", 1, 9)
    return space


def revised(*, default: int | None = 2) -> Space:
    space = Space()
    space.float("lr", 0.0, 0.1)
    n = space.int("n", 1, 9)
    depth = space.int("depth", 1, 4, default=default)
    return space.add(n * depth <= 12, name="small")


def told(storage: Path | None = None) -> Study:
    study = Study(earlier(), storage=storage)
    for lr, n in [(0.05, 2), (0.5, 3), (0.01, 9)]:
        study.add({"lr": lr, "n": n}, lr)
    return study


def with_defaults(n: int = 6) -> Space:
    space = Space()
    x = space.float("x", 0.0, 1.0, default=1)
    number = space.int("n", 1, 9, default=n)
    space.choice("opt", ["sgd", "adam"], default="adam")
    space.choice("size", [1, 2.5], ordered=True, default=2.5)
    space.bool("fast", default=False)
    return space.add(number + 5 * x <= 11, name="small")


def test_the_defaults_are_the_first_trial() -> None:
    space = with_defaults()
    trial = Study(space).ask()
    assert trial.params == {"x": 1.0, "n": 6, "opt": "adam", "size": 2.5, "fast": False}
    assert trial.origin == "defaults"
    assert Space.from_toml(space.to_toml()) == space
    assert pickle.loads(pickle.dumps(space)) == space


def test_defaults_that_break_a_rule_are_left_out_and_that_is_said_once() -> None:
    with pytest.warns(UserWarning, match="the defaults are not tried first: constraint `small` is violated") as said:
        study = Study(with_defaults(n=7))
    assert (len(said), said[0].filename) == (1, __file__)
    assert study.ask().origin == "design"


def test_a_default_that_a_parameter_cannot_have_is_refused_at_once() -> None:
    space = Space()
    with pytest.raises(mivabo.SpaceError, match=r"parameter `x`: the default 3 is not a number from 0\.0 to 1\.0"):
        space.float("x", 0.0, 1.0, default=3)
    with pytest.raises(mivabo.SpaceError, match="parameter `n`: the default 'two' is not an integer from 1 to 9"):
        space.int("n", 1, 9, default="two")  # type: ignore[arg-type]


def test_what_is_left_out_of_a_point_has_its_default() -> None:
    study = Study(with_defaults())
    trial = study.enqueue({"n": 2})
    assert trial.params == {"x": 1.0, "n": 2, "opt": "adam", "size": 2.5, "fast": False}
    assert study.ask().id == trial.id
    with pytest.warns(UserWarning, match="left out, and taken: `x` for 1.0"):
        assert study.add({"n": 1}, 0.0).params["opt"] == "adam"


def test_a_study_without_results_takes_another_space_and_says_so(tmp_path: Path) -> None:
    Study(earlier(), storage=tmp_path / "a.db")
    with pytest.warns(UserWarning, match="takes its new definition: parameter `lr` changed: .*; seed was 0, is 1"):
        study = Study(revised(), seed=1, storage=tmp_path / "a.db")
    assert (study.space, study.seed) == (revised(), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study(revised(), seed=1, storage=tmp_path / "a.db")


def test_a_study_with_results_says_what_differs_and_how_it_is_revised(tmp_path: Path) -> None:
    told(tmp_path / "a.db")
    with pytest.raises(mivabo.StudyError, match="parameter `depth` was added: an integer from 1 to 4") as refused:
        Study(revised(), storage=tmp_path / "a.db")
    assert "Study.load(storage, name).revise(space)" in str(refused.value)


def test_a_revised_study_keeps_its_results_and_learns_from_those_that_have_a_place(tmp_path: Path) -> None:
    study = told(tmp_path / "a.db")
    other = Study.load(tmp_path / "a.db")
    planned = study.revise(revised(), dry_run=True)
    assert study.space == earlier()
    revision = study.revise(revised())
    assert revision == planned
    assert revision.changes == [
        "parameter `lr` changed: was a number from 0.0 to 1.0, is a number from 0.0 to 0.1",
        "parameter `depth` was added: an integer from 1 to 4, default 2",
        "constraint `small` was added: n * depth <= 12",
    ]
    assert (revision.told, revision.taught, revision.infeasible) == (3, 2, 1)
    assert revision.left_out == [("`lr` = 0.5 is above its bound 0.1", 1)]
    for one in (study, other, Study.load(tmp_path / "a.db")):
        kept, left_out, infeasible = one.trials
        assert (one.n_trials, one.space) == (3, revised())
        assert (kept.params, kept.evaluated) == ({"lr": 0.05, "n": 2, "depth": 2}, {"lr": 0.05, "n": 2})
        assert (left_out.params, left_out.evaluated) == ({}, {"lr": 0.5, "n": 3})
        assert left_out.left_out == "`lr` = 0.5 is above its bound 0.1"
        assert not infeasible.feasible
        assert one.best.id == 0
    trial = other.ask()
    assert set(trial.params) == {"lr", "n", "depth"}
    assert trial.params["n"] * trial.params["depth"] <= 12  # type: ignore[operator]
    assert str(study.revise(revised())) == "nothing to revise"


def test_a_new_parameter_needs_a_default_and_a_goal_cannot_change(tmp_path: Path) -> None:
    study = told(tmp_path / "a.db")
    with pytest.raises(mivabo.StudyError, match="parameter `depth` is new and has no default"):
        study.revise(revised(default=None))
    with pytest.raises(TypeError, match=r"expected a mivabo\.Space"):
        study.revise("space")  # type: ignore[arg-type]
    assert study.revise(earlier(), seed=7, strategy="random").changes[-1] == "seed was 0, is 7"
    assert (study.seed, study.strategy) == (7, "random")


def test_waiting_trials_that_a_revision_forbids_fail() -> None:
    study = told()
    running = study.ask()
    waiting = study.enqueue({"lr": 0.5, "n": 1})
    revision = study.revise(revised())
    assert (revision.failing, revision.running) == ([waiting.id], 1)
    failed = study.trials[waiting.id]
    assert failed.reason == "the revised space forbids it: `lr` = 0.5 is above its bound 0.1"
    study.tell(running, 1.0)
    assert study.trials[running.id].value == 1.0


def test_a_wrong_tell_is_corrected_and_kept_as_history(tmp_path: Path) -> None:
    study = Study(earlier(), limits={"latency": "<= 20"}, storage=tmp_path / "a.db")
    study.tell(study.ask(), {"value": 50.0, "latency": 12})
    corrected = study.correct(0, 0.5, why="percent")
    assert (corrected.value, corrected.measured) == (0.5, {"value": 0.5, "latency": 12.0})
    (past,) = corrected.history
    assert (past["value"], past["state"], past["why"]) == (50.0, "complete", "percent")
    assert Study.load(tmp_path / "a.db").best.value == 0.5
    failed = study.correct(corrected, failed="diverged")
    assert (failed.state, failed.reason, len(failed.history)) == ("failed", "diverged", 2)
    running = study.ask()
    with pytest.raises(mivabo.TrialError, match="so there is nothing to correct; tell it"):
        study.correct(running, 1.0)
    with pytest.raises(mivabo.TrialError, match="there is no trial 9"):
        study.correct(9, 1.0)


def test_a_copy_in_memory_has_what_was_revised_and_corrected() -> None:
    study = told()
    study.revise(revised())
    study.correct(0, 7.0)
    copied = pickle.loads(pickle.dumps(study))
    assert copied.trials == study.trials
    assert copied.space == study.space
    assert copied.ask().params == study.ask().params
