from __future__ import annotations

import copy
import math
import pickle
from pathlib import Path

import numpy
import pytest

import mivabo
from mivabo import Space, Study, _study


def run(study: Study, n: int) -> list[dict[str, object]]:
    asked = []
    for _ in range(n):
        trial = study.ask()
        asked.append(dict(trial.params))
        study.tell(trial, float((trial.id * 7) % 10))
    return asked


def test_equal_seeds_give_equal_suggestions_in_memory_and_in_a_file(space: Space, tmp_path: Path) -> None:
    one = run(Study(space, seed=5), 12)
    assert one == run(Study(space, seed=5, storage=tmp_path / "a.db"), 12)
    assert one != run(Study(space, seed=6), 12)


@pytest.mark.parametrize("strategy", mivabo.STRATEGIES)
def test_every_strategy_suggests_feasible_points(strategy: str) -> None:
    space = Space()
    a, b = space.int("a", 0, 9), space.int("b", 0, 9)
    space.add(a + b == 10, name="ten")
    study = Study(space, strategy=strategy, n_initial=3)
    assert all(space.is_feasible(params) for params in run(study, 5))
    assert study.strategy == strategy


def linked_space() -> Space:
    space = Space()
    space.int("units", 1, 8)
    space.bool("skip")
    space.float("rate", 0.0, 1.0)
    space.float("decay", 0.0, 1.0)
    return space


def test_links_belong_to_the_study(tmp_path: Path) -> None:
    linked = [("units", "rate"), ("decay", "skip")]
    strategy = "thompson:products=linked:additive=yes"
    study = Study(linked_space(), strategy=strategy, linked=linked, n_initial=3, storage=tmp_path / "a.db")

    asked = run(study, 5)

    assert Study.load(tmp_path / "a.db").linked == study.linked == linked
    assert asked == run(Study(linked_space(), strategy=strategy, linked=linked, n_initial=3), 5)
    assert asked != run(Study(linked_space(), strategy="thompson:additive=yes", n_initial=3), 5)
    with pytest.raises(mivabo.StudyError, match="`units` and `skip` cannot be linked: both are discrete"):
        Study(linked_space(), strategy=strategy, linked=[("units", "skip")])
    with pytest.raises(mivabo.StudyError, match="`linked` is for strategies with `products=linked`"):
        Study(linked_space(), linked=linked)
    with pytest.raises(TypeError, match="expected pairs of names"):
        Study(linked_space(), linked=["ab"])  # type: ignore[list-item]


def test_a_search_with_a_proof_says_how_far_the_point_may_be_from_the_minimum() -> None:
    study = Study(linked_space(), strategy="thompson:search=dual:order=1", n_initial=3)
    run(study, 4)
    assert study.trials[3].origin.startswith("thompson, gap ")


def test_trials_say_what_became_of_them(small: Space) -> None:
    study = Study(small, direction="maximize")
    study.enqueue({"a": 4, "b": 6})
    first, second, third = study.ask(), study.ask(), study.ask()
    study.tell(first, 1.5)
    study.tell(second.id, failed="out of memory")
    study.tell(third, numpy.nan)
    added = study.add({"a": 9, "b": 9}, numpy.float32(7.0))

    trials = study.trials
    assert [trial.state for trial in trials] == ["complete", "failed", "failed", "complete"]
    assert trials[0].params == {"a": 4, "b": 6}
    assert (trials[0].origin, trials[0].seconds is not None) == ("queue", True)
    assert (trials[1].reason, trials[2].reason) == ("out of memory", "the value is NaN")
    assert (added.feasible, added.value, study.best.id) == (False, 7.0, 0)
    assert study.direction == "maximize"
    assert study.n_trials == 4


def test_a_trial_can_be_given_back_and_repeated(small: Space) -> None:
    study = Study(small)
    trial = study.ask()
    study.release(trial)
    again = study.ask()
    assert (again.id, again.params) == (trial.id, trial.params)
    study.heartbeat(again, 5.0)
    study.tell(again, 1.0)
    repeated = study.replicate(again)
    assert (repeated.state, repeated.params) == ("waiting", trial.params)
    assert study.ask().id == repeated.id


def test_a_study_goes_on_where_it_stopped(space: Space, tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/a.db"
    whole = run(Study(space, seed=1), 14)
    begun = run(Study(space, seed=1, storage=storage), 7)
    resumed = run(Study(space, seed=1, storage=storage), 3)
    loaded = run(Study.load(storage), 4)
    assert [*begun, *resumed, *loaded] == whole
    with pytest.raises(mivabo.StudyError, match="study `a` exists with another definition"):
        Study(space, seed=2, storage=storage)


def test_a_copy_of_a_study_in_memory_goes_its_own_way(small: Space) -> None:
    study = Study(small, seed=3)
    run(study, 4)
    study.enqueue({"a": 5, "b": 5})
    running = study.ask()
    late = study.ask()
    study.tell(late, 0.5)
    study.enqueue({"a": 9, "b": 1})
    for other in (pickle.loads(pickle.dumps(study)), copy.copy(study), copy.deepcopy(study)):
        facts = [(t.id, t.params, t.state, t.value) for t in study.trials]
        assert [(t.id, t.params, t.state, t.value) for t in other.trials] == facts
        other.tell(running.id, 2.0)
        assert study.trials[running.id].state == "running"
        assert other.ask().params == {"a": 9, "b": 1}
        assert other.space == study.space
    a, b = copy.copy(study), copy.copy(study)
    assert [a.ask().params for _ in range(2)] == [b.ask().params for _ in range(2)]


def test_a_copy_of_a_study_in_memory_has_all_that_is_known_of_it(small: Space) -> None:
    study = Study(small, goals={"loss": "maximize"}, limits={"size": "<= 3"}, n_initial=2)
    study.tell(study.ask(), {"loss": 1.5, "size": 7, "note": [1, "two"]})
    study.tell(study.ask(), failed="out of memory", result={"size": 2.5})
    study.release(study.ask())
    study.enqueue({"a": 9, "b": 1})
    study.add({"a": 9, "b": 9}, 7.0)
    study.tell(study.ask(), {"loss": math.nan, "size": 1})
    study.ask(lease=1e9)
    copied = pickle.loads(pickle.dumps(study))
    assert copied.view() == study.view()
    assert copied.trials == study.trials
    assert [copied.ask().params for _ in range(3)] == [study.ask().params for _ in range(3)]
    _, (cls, name, (definition, trials, events), before) = study.__reduce__()
    with pytest.raises(TypeError, match=r"Kept\.state"):
        _study._restored(cls, name, (definition, [{**trials[0], "state": "lost"}], events), before)


def test_a_copy_of_a_stored_study_is_the_same_study(small: Space, tmp_path: Path) -> None:
    study = Study(small, storage=tmp_path / "a.db", name="shared")
    other = pickle.loads(pickle.dumps(study))
    trial = study.ask()
    other.tell(trial.id, 3.0)
    assert study.best.value == 3.0
    assert (other.name, other.storage) == ("shared", study.storage)


def test_recommendation_and_importance_follow_the_objective(space: Space) -> None:
    study = Study(space, seed=2)
    study.optimize(lambda p: abs(math.log10(p["lr"]) + 2) + 0.01 * p["stride"], trials=25)
    recommended = study.recommend()
    assert space.is_feasible(recommended.params)
    assert abs(math.log10(recommended.params["lr"]) + 2) < 0.3
    effects = study.importance().effects
    assert max(effects, key=lambda name: effects[name]) == "lr"


def test_the_report_is_a_page_that_shows_itself(small: Space, tmp_path: Path) -> None:
    study = Study(small, name="my <study>")
    run(study, 5)
    report = study.report()
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert report._repr_html_().startswith("<iframe srcdoc=")
    assert "my &lt;study&gt;" in study._repr_html_()
    assert "my <study>" in repr(study)


def test_a_report_replaces_a_report_and_nothing_else_unless_forced(small: Space, tmp_path: Path) -> None:
    report = Study(small).report()
    theirs, page, link = tmp_path / "theirs.html", tmp_path / "page.html", tmp_path / "link.html"
    theirs.write_text("<p>theirs</p>")
    link.symlink_to(theirs)
    report.save(page)
    report.save(page)
    for path in (theirs, link):
        with pytest.raises(FileExistsError, match=r"it was left as it is; force=True replaces it"):
            report.save(path)
    assert theirs.read_text() == "<p>theirs</p>"
    report.save(link, force=True)
    assert not link.is_symlink()
    assert link.read_text() == page.read_text() == report.html
    assert theirs.read_text() == "<p>theirs</p>"
    report.save(theirs, force=True)
    assert theirs.read_text() == report.html


def test_a_report_never_replaces_a_database_or_a_folder(small: Space, tmp_path: Path) -> None:
    study = Study(small, storage=tmp_path / "study.db")
    for path in (tmp_path / "study.db", tmp_path):
        with pytest.raises(FileExistsError, match=r"it was left as it is$"):
            study.report().save(path, force=True)
    with pytest.raises(FileNotFoundError, match=r"none/page\.html: "):
        study.report().save(tmp_path / "none" / "page.html")
    assert study.ask().id == 0


def test_the_view_trials_and_frame_say_the_same(small: Space) -> None:
    study = Study(small)
    study.enqueue({"a": 4, "b": 6})
    first, second, _ = study.ask(), study.ask(), study.ask()
    study.tell(first, 1.5, result={"size": 12, "big": 10**26, "text": "</script>"})
    study.tell(second.id, failed="out of memory")
    study.add({"a": 9, "b": 9}, -7.0)
    study.enqueue({"a": 5, "b": 5})

    view = study.view()
    trials = study.trials

    assert (view["version"], view["best"], view["ranking"]) == (1, 0, [3, 0])
    assert [trial["state"] for trial in view["trials"]] == ["complete", "failed", "running", "complete", "waiting"]
    assert [trial.state for trial in trials] == [trial["state"] for trial in view["trials"]]
    assert [trial.params for trial in trials] == [trial["params"] for trial in view["trials"]]
    assert [trial.measured for trial in trials] == [trial.get("measured", {}) for trial in view["trials"]]
    assert trials[0].measured == {"value": 1.5, "size": 12.0, "big": 1e26}
    assert trials[0].result == view["trials"][0]["result"] == {"size": 12, "big": 10**26, "text": "</script>"}
    assert study.best == trials[0]
    assert study.best.id == view["best"]
    pytest.importorskip("pandas")
    frame = study.frame()
    assert list(frame["state"]) == [trial.state for trial in trials]
    assert frame["result.size"][0] == 12


def test_trials_are_a_data_frame(space: Space) -> None:
    pandas = pytest.importorskip("pandas")
    study = Study(space)
    run(study, 6)
    frame = study.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns)[:5] == ["kernel", "stride", "optimizer", "lr", "momentum"]
    assert frame["value"].min() == study.best.value
    assert frame["momentum"].isna().sum() == (frame["optimizer"] == "adam").sum()
    assert list(Study(space).frame().columns) == list(frame.columns)


def test_a_data_frame_has_a_column_for_parameters_of_any_name() -> None:
    pytest.importorskip("pandas")
    space = Space()
    space.int("trial", 1, 3)
    space.float("value", 0.0, 1.0)
    space.int("param value", 1, 3)
    study = Study(space)
    study.add({"trial": 2, "value": 0.5, "param value": 3}, 7.0)
    row = study.frame().loc[0]
    assert (row["param trial"], row["param param value"], row["param value"], row["value"]) == (2, 0.5, 3, 7.0)


def test_the_space_of_a_study_does_not_change_with_its_copy(small: Space) -> None:
    study = Study(small)
    study.space.add("a <= 3", name="less")
    assert study.space == small


def test_every_point_is_tried_once_and_then_it_is_said(small: Space) -> None:
    study = Study(small)
    run(study, 9)
    with pytest.raises(mivabo.ExhaustedError, match="every feasible point has been tried"):
        study.ask()
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 9


class Odd:
    def __str__(self) -> str:
        raise ValueError("no text")


def test_a_study_has_a_goal_and_limits(small: Space, tmp_path: Path) -> None:
    goals, limits = {"loss": "minimize"}, {"latency": "<= 20", "accuracy": ">= 0.5"}
    study = Study(small, goals=goals, limits=limits, storage=tmp_path / "a.db")
    told = [
        {"loss": 0.1, "latency": 20.5, "accuracy": 0.9},
        {"loss": numpy.float32(0.25), "latency": 20, "accuracy": numpy.float64(0.5), "model": "a.pt"},
        {"loss": 0.5, "latency": 12.0, "accuracy": 0.9},
        {"loss": 0.2, "latency": 12.0},
        {"loss": math.inf, "latency": 1.0, "accuracy": 1.0},
    ]
    for one in told:
        study.tell(study.ask(), one)
    study.tell(study.ask(), 0.01)
    study.tell(study.ask(), failed="out of memory", result={"latency": 3})

    trials = Study.load(tmp_path / "a.db").trials
    assert [trial.keeps_limits for trial in trials] == [False, True, True, False, True, False, False]
    assert [trial.value for trial in trials] == [0.1, 0.25, 0.5, 0.2, None, 0.01, None]
    assert trials[1].measured == {"accuracy": 0.5, "latency": 20.0, "loss": 0.25}
    assert trials[1].result == {"accuracy": 0.5, "latency": 20, "model": "a.pt"}
    assert (trials[4].state, trials[4].reason) == ("failed", "`loss` is inf")
    assert (trials[6].measured, trials[6].reason) == ({"latency": 3.0}, "out of memory")
    assert study.best == trials[1]
    assert study.view()["ranking"] == [1, 2, 5, 0, 3]
    assert study.add({"a": 9, "b": 9}, {"loss": 0.0, "latency": 1, "accuracy": 1}).keeps_limits
    assert study.best == trials[1]
    assert (study.direction, study.goals, study.limits) == ("minimize", goals, limits)
    assert Study(small, goals=goals, limits=limits, storage=tmp_path / "a.db").n_trials == 8
    with pytest.raises(mivabo.StudyError, match="exists with another definition"):
        Study(small, goals=goals, storage=tmp_path / "a.db")


def test_limits_do_not_need_a_goal_of_another_name(small: Space) -> None:
    study = mivabo.maximize(lambda p: {"value": p["a"], "size": p["a"]}, small, trials=9, limits={"size": "<= 4"})
    assert (study.best.value, study.best.keeps_limits) == (4.0, True)
    assert (study.direction, study.goals, study.limits) == ("maximize", {"value": "maximize"}, {"size": "<= 4"})
    bare = Study(small)
    assert (bare.direction, bare.goals, bare.limits) == ("minimize", {"value": "minimize"}, {})
    bare.tell(bare.ask(), 1.0)
    assert bare.trials[0].keeps_limits is None


def test_what_else_came_of_a_trial_is_kept(space: Space, tmp_path: Path) -> None:
    study = Study(space, storage=tmp_path / "a.db")
    cyclic: list[object] = [1]
    cyclic.append(cyclic)
    result = {
        "accuracy": numpy.float32(0.5),
        "curve": numpy.array([1.0, math.nan]),
        "lost": math.inf,
        "huge": 10**5000,
        "path": Path("model.pt"),
        "text": "ü\ud800",
        "odd": Odd(),
        3: {"deep": (1, True, None)},
        Odd(): "key",
    }
    study.tell(study.ask(), 0.5, result=result)
    study.tell(study.ask(), failed="out of memory", result={"cyclic": cyclic})
    study.tell(study.ask(), 0.25)
    first, failed, bare = Study.load(tmp_path / "a.db").trials
    assert first.result == {
        "accuracy": 0.5,
        "curve": [1.0, None],
        "lost": None,
        "huge": None,
        "path": "model.pt",
        "text": "ü?",
        "odd": "of type Odd",
        "of type Odd": "key",
        "3": {"deep": [1, True, None]},
    }
    assert failed.result == {"cyclic": [1, "[1, [...]]"]}
    assert bare.result is None
    assert study.best.result is None
    frame = study.frame()
    assert frame["result.accuracy"][0] == 0.5
    assert frame["result.accuracy"].isna()[2]
    with pytest.raises(TypeError, match="the result of trial 3: expected a mapping, not list"):
        study.tell(study.ask(), 1.0, result=[1])  # type: ignore[arg-type]


def test_a_parameter_may_be_named_like_a_result() -> None:
    space = Space()
    space.int("result.a", 1, 3)
    study = Study(space)
    study.tell(study.ask(), 1.0, result={"a": 5.5, "value": 7})
    frame = study.frame()
    assert list(frame.columns)[-1] == "result.a"
    assert frame["result.a"][0] == 5.5
    assert frame["param result.a"][0] in (1, 2, 3)


# Whose trial it is


def test_a_trial_of_another_study_is_refused(small: Space, tmp_path: Path) -> None:
    one, other = Study(small, name="one"), Study(small, storage=tmp_path / "other.db")
    for asked, stranger in ((one, other), (other, one), (one, Study(small, name="one"))):
        theirs = asked.ask()
        mine = stranger.ask()
        before = stranger.trials
        for act in (
            lambda study, trial: study.tell(trial, 0.5),
            lambda study, trial: study.tell(trial, failed=True),
            lambda study, trial: study.release(trial),
            lambda study, trial: study.heartbeat(trial),
            lambda study, trial: study.replicate(trial),
        ):
            with pytest.raises(mivabo.TrialError, match=f"trial {theirs.id} is of another study, `{asked.name}` in "):
                act(stranger, theirs)
        assert stranger.trials == before
        stranger.tell(mine, 0.5)
        # Whoever means the trial of this number here gives the number.
        asked.tell(theirs.id, 0.5)


def test_every_way_to_get_a_trial_says_whose_it_is(small: Space) -> None:
    study, other = Study(small), Study(small)
    study.tell(study.ask(), 0.5)
    found = [study.best, *study.trials, study.enqueue({"a": 4, "b": 6}), study.add({"a": 5, "b": 5}, 1.0)]
    study.optimize(lambda params: 0.0, trials=4, callbacks=lambda study, trial: found.append(trial))
    found.append(study.replicate(0))
    for trial in found:
        with pytest.raises(mivabo.TrialError, match="another study"):
            other.replicate(trial)
        study.replicate(trial)


def test_a_trial_goes_with_its_study_into_other_processes_and_copies(small: Space, tmp_path: Path) -> None:
    stored = Study(small, storage=tmp_path / "a.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "a.db")
    for home in (pickle.loads(pickle.dumps(stored)), Study.load(tmp_path / "a.db"), Study.load(tmp_path / "link.db")):
        home.tell(pickle.loads(pickle.dumps(stored.ask())), 0.5)
    study = Study(small)
    trial = study.ask()
    copied = copy.copy(copy.copy(study))
    copied.tell(pickle.loads(pickle.dumps(trial)), 1.5)
    late, later = study.ask(), copied.ask()
    with pytest.raises(mivabo.TrialError, match="another study"):
        copied.tell(late, 2.5)
    with pytest.raises(mivabo.TrialError, match="another study"):
        study.tell(later, 2.5)
    assert late == mivabo.Trial(late.id, late.params, origin=late.origin)
    assert "home" not in repr(late)
    study.tell(mivabo.Trial(late.id, late.params), 2.5)


# The best, and what is believed


def test_the_best_has_its_value_and_its_params_at_hand(small: Space) -> None:
    study = Study(small, direction="maximize")
    with pytest.raises(mivabo.StudyError, match="no feasible trial has a value"):
        _ = study.best_value
    with pytest.raises(mivabo.StudyError, match="no feasible trial has a value"):
        _ = study.best_params
    run(study, 5)
    assert (study.best_value, study.best_params) == (study.best.value, study.best.params)


def test_a_study_predicts_what_its_model_believes(space: Space) -> None:
    study = Study(space, direction="maximize", seed=2)
    known = {"kernel": 3, "stride": 1, "optimizer": "adam"}

    def objective(params: mivabo.Params) -> float:
        return 100 - 10 * (math.log10(float(params["lr"])) + 2.5) ** 2 - float(params["stride"])

    study.optimize(objective, trials=25)
    points = [{**known, "lr": 10.0 ** -(1 + 0.1 * k)} for k in range(31)]
    found = study.predict(points)
    assert all(isinstance(one, mivabo.Estimate) for one in found)
    errors = [abs(one.mean - objective(point)) for one, point in zip(found, points, strict=True)]
    assert all(error <= 0.5 + 3 * one.deviation for error, one in zip(errors, found, strict=True))
    assert errors[15] < 0.5
    assert errors[15] + found[15].deviation < errors[0] + found[0].deviation
    recommended = study.recommend()
    assert study.predict([recommended.params])[0].mean == pytest.approx(recommended.mean)
    # As in `add`, values of inactive parameters make no difference; constraints need not hold.
    assert study.predict([{**points[0], "momentum": 0.5}]) == found[:1]
    assert study.predict([{**points[0], "kernel": 7, "stride": 3}])[0].deviation > 0
    assert study.predict(iter(points[:2])) == found[:2]
    assert study.predict([]) == []


def test_what_cannot_be_predicted_is_named(space: Space) -> None:
    point = space.sample()[0]
    study = Study(space)
    with pytest.raises(mivabo.StudyError, match="no trial has a value yet"):
        study.predict([point])
    with pytest.raises(mivabo.StudyError, match="the strategy `random` has no model"):
        Study(space, strategy="random").predict([point])
    study.tell(study.ask(), 0.5)
    with pytest.raises(TypeError, match=r"points: expected a list of points, not one: \[point\]"):
        study.predict(point)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="points: expected a list of points, not 3"):
        study.predict(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="params: expected a dict"):
        study.predict([3])  # type: ignore[list-item]
    with pytest.raises(mivabo.PointError, match="`kernel` is missing"):
        study.predict([{}])


# Notebooks


def test_trials_importance_and_recommendations_show_themselves_in_a_notebook() -> None:
    space = Space()
    space.int("a<b", 0, 9)
    space.bool("flag")
    study = Study(space)
    study.optimize(lambda params: {"value": float(params["a<b"]), "size": 3}, trials=8)
    study.add({"a<b": 1, "flag": True}, failed="out of <memory>")
    first, failed = study.trials[0], study.trials[-1]
    assert "<td>a&lt;b</td>" in first._repr_html_()
    assert f"<td>{first.value!r}</td>" in first._repr_html_()
    assert "<td>size</td><td>3.0</td>" in first._repr_html_()
    assert "out of &lt;memory&gt;" in failed._repr_html_()
    page = study.importance()._repr_html_()
    effects = study.importance().effects
    assert f"<td>a&lt;b</td><td>{100 * effects['a<b']:.0f} %</td>" in page
    assert page.index("<td>a&lt;b</td>") < page.index("<td>flag</td>")
    assert "8 trials" in page
    assert "<td>a&lt;b</td><td>0</td>" in study.recommend()._repr_html_()


# Storage


def test_storage_may_be_memory_or_in_the_home_folder(
    small: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for memory in ("memory", ":memory:", "sqlite:///:memory:"):
        assert Study(small, storage=memory).storage is None
        with pytest.raises(mivabo.StudyError, match="a study in memory cannot be loaded"):
            Study.load(memory)
    for place in ("~/a.db", Path("~/a.db"), "sqlite:///~/a.db"):
        assert Study(small, storage=place).storage == str(tmp_path / "a.db")
        assert Study.load(place).name == "a"
    with pytest.raises(mivabo.StudyError, match=r"option `timeout` .* waits for its turn"):
        Study(small, storage="sqlite:///a.db?timeout=3")
    with pytest.raises(mivabo.StudyError, match="option `mode` is not supported"):
        Study(small, storage="sqlite:///a.db?mode=ro&timeout=3")


def test_a_backup_is_a_whole_database_and_replaces_nothing_unasked(space: Space, tmp_path: Path) -> None:
    study = Study(space, storage=tmp_path / "a.db", seed=1)
    run(study, 3)
    study.backup(tmp_path / "copy.db")

    with pytest.raises(mivabo.StorageError, match="is there already"):
        study.backup(tmp_path / "copy.db")
    study.backup(tmp_path / "copy.db", force=True)

    copied = Study.load(tmp_path / "copy.db")
    assert [trial.value for trial in copied.trials] == [trial.value for trial in study.trials]
    run(copied, 1)
    assert (copied.n_trials, study.n_trials) == (4, 3)
    with pytest.raises(mivabo.StudyError, match="is in memory"):
        Study(space).backup(tmp_path / "memory.db")
