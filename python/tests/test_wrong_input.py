"""Wrong input: the right exception, with the name in it, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import mivabo
from mivabo import PointError, Space, SpaceError, StorageError, Study, StudyError, TrialError

POINT = {"kernel": 3, "stride": 2, "optimizer": "adam", "lr": 0.01}

DECLARATIONS: list[tuple[Callable[[Space], object], type[Exception], str]] = [
    (lambda s: s.int("n", None, 3), TypeError, "parameter `n`: low"),
    (lambda s: s.int("n", 1, "three"), SpaceError, "parameter `n`: `high` must be an integer"),
    (lambda s: s.int("n", 1, 10**30), SpaceError, "parameter `n`: high"),
    (lambda s: s.int("n", 1, 2**50), SpaceError, "parameter `n`: .* beyond"),
    (lambda s: s.int("n", 1, 2.5), SpaceError, "parameter `n`"),
    (lambda s: s.int("n", 3, 1), SpaceError, "parameter `n`: low bound 3 is above high bound 1"),
    (lambda s: s.int("n", 1, 8, step=0), SpaceError, "parameter `n`: step 0"),
    (lambda s: s.int("n", 1, 8, step=None), TypeError, "parameter `n`: step"),
    (lambda s: s.int("n", 1, 8, encoding="octal"), SpaceError, "parameter `n`: .*octal"),
    (lambda s: s.int("n", 1, 8, encoding=3), TypeError, "parameter `n`: encoding: expected a text, not 3"),
    (lambda s: s.float("x", 0.0, numpy.nan), SpaceError, "parameter `x`: high is NaN"),
    (lambda s: s.float("x", 0.0, float("inf")), SpaceError, "parameter `x`: high is inf"),
    (lambda s: s.float("x", 0.0, 1.0, log=True), SpaceError, "parameter `x`: a log scale"),
    (lambda s: s.float("x", object(), 1.0), TypeError, "parameter `x`: low"),
    (lambda s: s.float("x", [0.0], 1.0), TypeError, "parameter `x`: low"),
    (lambda s: s.choice("c", []), SpaceError, "parameter `c`: the list of values is empty"),
    (lambda s: s.choice("c", "abc"), TypeError, "parameter `c`: expected a list"),
    (lambda s: s.choice("c", 3), TypeError, "parameter `c`: expected a list"),
    (lambda s: s.choice("c", ["a", "a"]), SpaceError, "parameter `c`: the value 'a' is listed twice"),
    (lambda s: s.choice("c", ["a", None]), TypeError, "parameter `c`: values"),
    (lambda s: s.choice("c", ["\ud800"]), SpaceError, "parameter `c`: values"),
    (lambda s: s.choice("c", [numpy.nan, 1.0]), SpaceError, "parameter `c`: values is NaN"),
    (lambda s: s.bool("kernel"), SpaceError, "`kernel` is used twice"),
    (lambda s: s.define("kernel", "1 + 1"), SpaceError, "`kernel` is used twice"),
    (lambda s: s.bool(""), SpaceError, "needs a name"),
    (lambda s: s.bool("a`b"), SpaceError, "a`b"),
    (lambda s: s.bool("a\nb"), SpaceError, "control character"),
    (lambda s: s.bool("\ud800"), SpaceError, "the name of a parameter"),
    (lambda s: s.bool(7), TypeError, "the name of a parameter"),
    (lambda s: s.bool("b", when=True), TypeError, "the condition of `b`"),
    (lambda s: s.bool("b", when="kernel <="), SpaceError, "the condition of `b`"),
    (lambda s: s.define("d", "kernel +"), SpaceError, "definition `d`"),
    (lambda s: s.add(None, name="rule"), TypeError, "constraint `rule`"),
    (lambda s: s.add(True, name="rule"), TypeError, "constraint `rule`"),
    (lambda s: s.add("kernel <= ", name="rule"), SpaceError, "constraint `rule`"),
    (lambda s: s.add("\ud800", name="rule"), SpaceError, "constraint `rule`"),
    (
        lambda s: s.add("kernal <= 3", name="rule").count(),
        SpaceError,
        "constraint `rule`: unknown name `kernal`",
    ),
    (lambda s: s.add("optimizer == 'sdg'", name="rule").count(), SpaceError, "`optimizer` is never 'sdg'"),
    (lambda s: s.add("kernel <= 3", name="receptive field"), SpaceError, "`receptive field` is used twice"),
    (lambda s: s.add(s["kernel"] <= numpy.nan), SpaceError, "not finite"),
    (lambda s: s.add(s["kernel"] <= 10**30), SpaceError, "more than 64 bits"),
    (lambda s: s["kernel"] == None, TypeError, "not None"),  # noqa: E711
    (lambda s: s["kernel"] + b"x", TypeError, "not b'x'"),
    (lambda s: 1 <= s["kernel"] <= 3, TypeError, "`&`"),
    (lambda s: s["kernel"] and s["stride"], TypeError, "kernel"),
    (lambda s: pow(s["kernel"], 2, 3), TypeError, "modulus"),
    (lambda s: s["kernal"], KeyError, "kernal"),
    (lambda s: mivabo.at_most(None, s["kernel"]), TypeError, "None"),
    (lambda s: s.count(effort=-1), StudyError, "effort"),
    (lambda s: s.sample(-1), ValueError, "n: -1"),
    (lambda s: s.sample(1.5), TypeError, "n: "),
    (lambda s: s.sample(1, seed=-1), StudyError, "seed"),
    (lambda s: s.sample(1, seed=2**64), StudyError, "seed"),
    (lambda s: s.check(None), TypeError, "params"),
    (lambda s: s.check({}), PointError, "parameter `kernel` is missing"),
    (lambda s: s.check({**POINT, "kernle": 3}), PointError, "`kernle`; did you mean `kernel`"),
    (lambda s: s.check({**POINT, "lr": numpy.nan}), PointError, "parameter `lr`: NaN"),
    (lambda s: s.check({**POINT, "lr": None}), TypeError, "parameter `lr`"),
    (lambda s: s.check({**POINT, "kernel": 2}), PointError, "parameter `kernel`: 2"),
    (lambda s: s.check({**POINT, "kernel": 10**40}), PointError, "parameter `kernel`"),
    (lambda s: s.check({**POINT, "kernel": True}), PointError, "parameter `kernel`: true"),
    (lambda s: s.check({**POINT, "kernel": numpy.arange(3)}), TypeError, "parameter `kernel`"),
    (lambda s: s.check({**POINT, "optimizer": "\udfff"}), PointError, "parameter `optimizer`"),
    (lambda s: s.check({**POINT, "momentum": 0.5}), PointError, "parameter `momentum` is inactive"),
    (lambda s: s.check({**POINT, 3: 4}), TypeError, "the name of a parameter"),
    (lambda s: s.nearest({**POINT, "lr": 7.0}), PointError, "parameter `lr`"),
    (lambda s: Space.from_toml("x = [[["), SpaceError, "TOML"),
    (lambda s: Space.from_toml("parameters.x = { type = 'itn', low = 1 }"), SpaceError, "parameter `x`"),
    (lambda s: Space.from_toml("/nowhere/at/all.toml"), FileNotFoundError, "nowhere"),
    (lambda s: Space.from_json("[]"), SpaceError, "sequence|invalid"),
]


@pytest.mark.parametrize(("act", "kind", "message"), DECLARATIONS)
def test_wrong_words_about_a_space_are_named(
    space: Space, act: Callable[[Space], object], kind: type[Exception], message: str
) -> None:
    before = space.fingerprint
    with pytest.raises(kind, match=message):
        act(space)
    if not any("rule" in name for name in space._constraints):
        assert space.fingerprint == before


STUDIES: list[tuple[Callable[[Space, Path], object], type[Exception], str]] = [
    (lambda s, p: Study(None), TypeError, "space"),
    (lambda s, p: Study(s, strategy="thomson"), StudyError, "did you mean `thompson`"),
    (lambda s, p: Study(s, strategy="improvement:stall=x"), StudyError, "expected a whole number from 0 to 1000"),
    (lambda s, p: Study(s, strategy=3), TypeError, "strategy"),
    (lambda s, p: Study(s, direction="up"), StudyError, "direction"),
    (lambda s, p: Study(s, direction=3), TypeError, "direction: expected a text, not 3"),
    (lambda s, p: Study(s, direction="minimize", goals={"loss": "minimize"}), StudyError, "only one of them can be"),
    (lambda s, p: Study(s, goals={"loss": "minimize", "size": "minimize"}), StudyError, "2 goals: exactly one"),
    (lambda s, p: Study(s, goals={}), StudyError, "0 goals: exactly one is needed"),
    (lambda s, p: Study(s, goals={"loss": "down"}), StudyError, 'goals.loss: .*"minimize" or "maximize", not "down"'),
    (lambda s, p: Study(s, goals={"loss": -1}), TypeError, 'goals.loss: .*"minimize" or "maximize", not -1'),
    (lambda s, p: Study(s, goals={3: "minimize"}), TypeError, "the name of a measure: expected a text, not 3"),
    (lambda s, p: Study(s, goals={"a`b": "minimize"}), StudyError, "the name .* of a measure"),
    (lambda s, p: Study(s, goals={"\ud800": "minimize"}), StudyError, "the name of a measure: .* is not Unicode"),
    (lambda s, p: Study(s, goals="loss"), TypeError, "goals: expected a mapping from measures to texts, not 'loss'"),
    (lambda s, p: Study(s, limits={"latency": 20}), TypeError, 'limit of `latency`: expected "<= NUMBER" .*, not 20'),
    (lambda s, p: Study(s, limits={"latency": "20"}), StudyError, 'limit of `latency`: expected "<= NUMBER" .*"20"'),
    (lambda s, p: Study(s, limits=["latency <= 20"]), TypeError, "limits: expected a mapping"),
    (lambda s, p: Study(s, seed=-1), StudyError, "seed: -1"),
    (lambda s, p: Study(s, seed=2**64), StudyError, "seed"),
    (lambda s, p: Study(s, seed=0.5), TypeError, "seed"),
    (lambda s, p: Study(s, n_initial=-3), StudyError, "n_initial"),
    (lambda s, p: Study(s, n_initial=10**9), StudyError, "n_initial"),
    (lambda s, p: Study(s, name=""), StudyError, "name"),
    (lambda s, p: Study(s, name=3), TypeError, "name of a study"),
    (lambda s, p: Study(s, name="\ud800"), StudyError, "name of a study"),
    (lambda s, p: Study(s, storage=3), TypeError, "int"),
    (lambda s, p: Study(s, storage=b"a.db"), TypeError, "storage"),
    (lambda s, p: Study(s, storage="redis://host"), StudyError, "redis://host"),
    (lambda s, p: Study(s, storage="sqlite:///"), StudyError, "storage"),
    (lambda s, p: Study(s, storage="a\0b"), StudyError, "storage"),
    (lambda s, p: Study(s, storage=p), StorageError, "cannot be opened"),
    (lambda s, p: Study(s, storage=p / "no" / "a.db"), StorageError, "no"),
    (lambda s, p: Study(s, storage=Path(__file__)), StorageError, "not a SQLite database"),
    (lambda s, p: Study.load(p / "none.db"), StorageError, "none.db"),
    (lambda s, p: Study.from_file(p / "none.toml"), FileNotFoundError, "none.toml"),
    (
        lambda s, p: Study.load(Study(s, storage=p / "a.db").storage, "b"),
        StudyError,
        "no study `b`; there is `a`",
    ),
]


@pytest.mark.parametrize(("act", "kind", "message"), STUDIES)
def test_a_study_that_cannot_be_made_is_named(
    space: Space, tmp_path: Path, act: Callable[[Space, Path], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        act(space, tmp_path)


CALLS: list[tuple[Callable[[Study], object], type[Exception], str]] = [
    (lambda s: s.tell(0, 0.6), TrialError, "trial 0 was already told: it has the value 0.5"),
    (lambda s: s.tell(99, 0.6), TrialError, "no trial 99"),
    (lambda s: s.tell(-1, 0.6), StudyError, "trial: -1"),
    (lambda s: s.tell(10**30, 0.6), StudyError, "trial"),
    (lambda s: s.tell(None, 0.6), TypeError, "trial"),
    (lambda s: s.tell("0", 0.6), TypeError, "trial"),
    (lambda s: s.tell(True, 0.6), TypeError, "trial"),
    (lambda s: s.tell(1), TypeError, "trial 1"),
    (lambda s: s.tell(1, None), TypeError, "trial 1"),
    (lambda s: s.tell(1, "0.6"), TypeError, "the value of trial 1"),
    (lambda s: s.tell(1, [1.0]), TypeError, "the value of trial 1"),
    (lambda s: s.tell(1, 0.5, failed=True), TypeError, "trial 1"),
    (lambda s: s.tell(1, failed=3), TypeError, "reason"),
    (lambda s: s.tell(1, {"loss": 1.0, 3: 1}), TypeError, "the value of trial 1: .* `value`, not one with `loss`, `3`"),
    (lambda s: s.tell(1, {}), TypeError, "the value of trial 1: .* `value`, not one with nothing"),
    (lambda s: s.tell(1, {"value": "low"}), TypeError, "the value of trial 1: expected a number, not 'low'"),
    (lambda s: s.tell(1, {"value": None}), TypeError, "the value of trial 1: expected a number, not None"),
    (lambda s: s.tell(1, {"value": 1.0}, failed=True), TypeError, "the result of trial 1"),
    (lambda s: s.tell(1, {"value": 1.0}, result={}), TypeError, "the result of trial 1: .* mapping already"),
    (lambda s: s.add(POINT, {"loss": 1.0}), TypeError, "the value: .* `value`, not one with `loss`"),
    (lambda s: s.add(POINT, 1.0, result=3), TypeError, "the result: expected a mapping, not int"),
    (lambda s: s.add(POINT), TypeError, "the result"),
    (lambda s: s.add(POINT, "x"), TypeError, "value"),
    (lambda s: s.add({**POINT, "kernel": 4}, 1.0), PointError, "parameter `kernel`"),
    (lambda s: s.add([], 1.0), TypeError, "params"),
    (lambda s: s.enqueue({**POINT, "kernel": 7}), PointError, "`receptive field` is violated"),
    (lambda s: s.enqueue({"kernel": 3}), PointError, "missing"),
    (lambda s: s.replicate(99), TrialError, "no trial 99"),
    (lambda s: s.release(0), TrialError, "trial 0"),
    (lambda s: s.heartbeat(0), TrialError, "trial 0"),
    (lambda s: s.heartbeat(1, -1.0), StudyError, "lease"),
    (lambda s: s.heartbeat(1, float("nan")), StudyError, "lease"),
    (lambda s: s.ask(lease=0), StudyError, "lease"),
    (lambda s: s.ask(lease="1d"), TypeError, "lease"),
    (lambda s: s.optimize(None, trials=3), TypeError, "objective"),
    (lambda s: s.optimize(len), StudyError, "trials, timeout, patience or target"),
    (lambda s: s.optimize(len, trials=-1), ValueError, "trials"),
    (lambda s: s.optimize(len, trials=3, workers=0), StudyError, "workers"),
    (lambda s: s.optimize(len, trials=3, workers=10**6), StudyError, "workers"),
    (lambda s: s.optimize(len, trials=3, executor="cloud"), StudyError, "cloud"),
    (lambda s: s.optimize(len, trials=3, on_error="cry"), StudyError, "cry"),
    (lambda s: s.optimize(len, trials=10**30), ValueError, "trials"),
    (lambda s: s.optimize(len, timeout="1h"), TypeError, "timeout"),
    (lambda s: s.optimize(len, patience=0), StudyError, "patience: expected at least 1"),
    (lambda s: s.optimize(len, patience=-1), StudyError, "patience"),
    (lambda s: s.optimize(len, target=None, timeout=[]), TypeError, "timeout"),
    (lambda s: s.optimize(len, trials=3, catch=3), TypeError, "catch"),
    (lambda s: s.optimize(len, trials=3, callbacks=[3]), TypeError, "callbacks"),
]


@pytest.mark.parametrize(("act", "kind", "message"), CALLS)
def test_wrong_calls_are_named_and_change_nothing(
    space: Space, act: Callable[[Study], object], kind: type[Exception], message: str
) -> None:
    study = Study(space)
    study.tell(study.ask(), 0.5)
    study.ask()
    before = study.trials
    with pytest.raises(kind, match=message):
        act(study)
    assert study.trials == before


def test_an_empty_study_has_no_best(space: Space) -> None:
    study = Study(space)
    for act in (lambda: study.best, study.recommend, study.importance):
        with pytest.raises(StudyError, match=r"no (feasible )?trial has a value"):
            act()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (StudyError, {"timeout": float("nan")}, "timeout: expected a number, not nan"),
        (StudyError, {"target": float("nan")}, "target: expected a number, not nan"),
        (StudyError, {"trials": 1, "executor": 5}, "executor: expected 'threads', 'processes' or an Executor, not 5"),
        (TypeError, {"trials": 1, "callbacks": 5}, "callbacks: expected functions, not 5"),
    ],
)
def test_a_loop_that_makes_no_sense_does_not_begin(
    space: Space, kind: type[Exception], options: dict[str, Any], message: str
) -> None:
    study = Study(space)
    with pytest.raises(kind, match=message):
        study.optimize(lambda params: 0.0, **options)
    assert study.n_trials == 0


def test_an_int_beyond_all_floats_makes_a_failed_trial(space: Space) -> None:
    study = Study(space)
    study.tell(study.ask(), -(10**400))
    study.optimize(lambda params: 10**400, trials=2)
    assert [trial.reason for trial in study.trials] == ["the value is -inf", "the value is inf"]


def test_a_value_is_in_no_empty_list(space: Space) -> None:
    with pytest.raises(SpaceError, match="is never true: name at least one value"):
        mivabo.Space().int("a", 0, 3).is_in([])


def test_files_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "latin=1.toml"
    path.write_bytes(b"name = '\xe4'\n")
    for read in (Study.from_file, Space.from_toml):
        with pytest.raises(SpaceError, match=r"latin=1\.toml: the file is not a text in UTF-8"):
            read(str(path))


def test_keys_that_mean_nothing_are_refused_as_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[parameters]\nx = { type = 'bool' }\n[run]\nsede = 3\n")
    with pytest.raises(SpaceError, match=r"unknown key `sede` in \[run\]; did you mean `seed`"):
        Study.from_file(path)


def test_expressions_cannot_grow_without_end() -> None:
    def doubled(x: mivabo.Expr, times: int) -> mivabo.Expr:
        return x if times == 0 else doubled(x / x, times - 1)

    with pytest.raises(SpaceError, match="parts"):
        doubled(Space().int("x", 1, 3), 100)
    deep = Space().int("x", 1, 3)
    for _ in range(500):
        deep = -(deep + 1)
    with pytest.raises(SpaceError, match="levels deep"):
        Space().add(deep <= 1)


def test_errors_are_one_small_tree() -> None:
    for name in dir(mivabo):
        kind = getattr(mivabo, name)
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert issubclass(kind, mivabo.Error)
            assert kind.__doc__
