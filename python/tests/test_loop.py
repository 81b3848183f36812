from __future__ import annotations

import asyncio
import functools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import conftest
import pytest

import mivabo
from mivabo import Space, Study, Trial


class OwnError(Exception):
    """An exception of a user."""


def test_minimize_and_maximize_find_the_ends(small: Space) -> None:
    assert mivabo.minimize(conftest.train, small, trials=9).best.params["a"] == 1
    assert mivabo.maximize(conftest.train, small, trials=9).best.params["a"] == 9


def test_trials_count_those_that_exist(small: Space) -> None:
    study = Study(small)
    study.optimize(conftest.train, trials=4)
    study.optimize(conftest.train, trials=4)
    assert study.n_trials == 4
    assert study.optimize(conftest.train, trials=6).n_trials == 6


def test_the_loop_ends_where_there_are_no_more_points(small: Space) -> None:
    assert mivabo.minimize(conftest.train, small, trials=100, workers=3).n_trials == 9


def test_threads_work_at_the_same_time(small: Space) -> None:
    barrier = threading.Barrier(3, timeout=60)

    def objective(params: dict[str, object]) -> float:
        barrier.wait()
        return conftest.train(params)

    study = mivabo.minimize(objective, small, trials=9, workers=3)
    assert [trial.state for trial in study.trials] == ["complete"] * 9


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_and_executors_evaluate(small: Space, tmp_path: Path) -> None:
    study = Study(small, storage=tmp_path / "a.db")
    study.optimize(conftest.train, trials=4, workers=2, executor="processes")
    with ThreadPoolExecutor(2) as executor:
        study.optimize(conftest.train, trials=9, workers=2, executor=executor)
    assert all(trial.value == float(trial.params["a"]) ** 2 for trial in study.trials)


@pytest.mark.parametrize("workers", [1, 3])
def test_what_could_not_be_stored_is_said(small: Space, tmp_path: Path, workers: int) -> None:
    barrier = threading.Barrier(workers, timeout=60)

    def objective(params: dict[str, object]) -> float:
        if barrier.wait() == 0:
            (tmp_path / "a.db").rename(tmp_path / "b.db")
        barrier.wait()
        return 0.125

    study = Study(small, storage=tmp_path / "a.db")
    with pytest.raises(mivabo.StorageError) as raised:
        study.optimize(objective, trials=9, workers=workers)
    message = str(raised.value)
    assert "no longer there" in message
    assert all(f"trial {trial}: value 0.125" in message for trial in range(workers)), message


@pytest.mark.skipif(sys.platform != "linux", reason="cuts are noticed on Linux only")
@pytest.mark.parametrize("part", ["", "-wal"])
def test_what_was_stored_and_is_cut_off_later_is_named(small: Space, tmp_path: Path, part: str) -> None:
    calls = 0

    def objective(params: dict[str, object]) -> float:
        nonlocal calls
        calls += 1
        if calls == 4:
            os.truncate(f"{tmp_path / 'a.db'}{part}", 0)
        return 0.125

    study = Study(small, storage=tmp_path / "a.db")
    with pytest.raises(mivabo.StorageError) as raised:
        study.optimize(objective, trials=9)
    message = str(raised.value)
    assert "cut off" in message
    stored, missing = message.split("; stored before, and missing now: ")
    assert "not stored: trial 3: value 0.125" in stored
    assert [f"trial {trial}: value 0.125" in missing for trial in range(3)] == [True] * 3, message


def test_a_callback_gets_the_trial_as_it_is_stored(small: Space) -> None:
    seen: list[Trial] = []
    study = mivabo.minimize(conftest.train, small, trials=3, callbacks=lambda _, trial: seen.append(trial))
    assert seen == study.trials
    assert all(trial.seconds is not None and trial.worker for trial in seen)


@pytest.mark.parametrize("breaks", ["the value", "the callback"])
def test_trials_that_run_are_told_before_a_mistake_is_raised(small: Space, breaks: str) -> None:
    first = threading.Event()
    barrier = threading.Barrier(2, timeout=60)

    def objective(params: dict[str, object]) -> float:
        if barrier.wait() == 0:
            return None if breaks == "the value" else 1.0  # type: ignore[return-value]
        assert first.wait(60)
        return 2.0

    def callback(study: Study, trial: Trial) -> None:
        if breaks == "the callback" and trial.value == 1.0:
            raise TypeError("oops")

    study = Study(small)
    waker = threading.Timer(0.2, first.set)
    waker.start()
    with pytest.raises(TypeError):
        study.optimize(objective, trials=2, workers=2, callbacks=callback)
    waker.join()
    told = [trial.value for trial in study.trials if trial.state == "complete"]
    assert 2.0 in told
    assert len(told) == (1 if breaks == "the value" else 2)


def test_what_is_no_number_is_caught_like_an_exception(small: Space) -> None:
    study = mivabo.minimize(lambda params: None, small, trials=2, catch=TypeError)  # type: ignore[arg-type, return-value]
    assert [trial.state for trial in study.trials] == ["failed", "failed"]


def test_callbacks_see_told_trials_and_may_stop(small: Space) -> None:
    seen: list[Trial] = []

    def callback(study: Study, trial: Trial) -> None:
        seen.append(trial)
        if len(seen) == 3:
            study.stop()

    study = mivabo.minimize(conftest.train, small, trials=9, callbacks=callback)
    assert study.n_trials == 3
    assert [trial.value for trial in seen] == [trial.value for trial in study.trials]


def test_the_loop_ends_at_a_target_and_in_time(small: Space) -> None:
    study = mivabo.minimize(conftest.train, small, trials=None, target=16)  # type: ignore[arg-type]
    assert study.best.value <= 16
    assert all(trial.value > 16 for trial in study.trials[:-1])
    slow = mivabo.maximize(lambda p: time.sleep(0.2) or 1.0, small, timeout=0.3)
    assert 1 <= slow.n_trials <= 3


def test_a_loop_ends_when_no_trial_was_better_for_as_long_as_its_patience(small: mivabo.Space) -> None:
    values = iter([3.0, 2.0, 5.0, 1.0, 1.0, 4.0])

    study = mivabo.Study(small, strategy="random").optimize(lambda p: next(values), patience=2)

    assert [trial.value for trial in study.trials] == [3.0, 2.0, 5.0, 1.0, 1.0, 4.0]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_users_exception_stays_that_exception(small: Space, workers: int) -> None:
    mine = OwnError("bad luck")

    def objective(params: dict[str, object]) -> float:
        if params["a"] == 5:
            raise mine
        return 1.0

    study = Study(small)
    study.enqueue({"a": 5, "b": 5})
    with pytest.raises(OwnError) as caught:
        study.optimize(objective, trials=9, workers=workers)
    assert caught.value is mine
    assert study.trials[0].state == "waiting"
    assert all(trial.state != "running" for trial in study.trials)

    with pytest.raises(OwnError) as caught:
        study.optimize(objective, trials=9, workers=workers, on_error="fail")
    assert caught.value is mine
    assert (study.trials[0].state, study.trials[0].reason) == ("failed", "OwnError: bad luck")


def test_caught_exceptions_make_trials_fail(small: Space) -> None:
    def objective(params: dict[str, object]) -> float:
        if params["a"] == 5:
            raise OwnError("\ud800")
        return 1.0

    study = mivabo.minimize(objective, small, trials=9, catch=OwnError)
    assert [trial.reason for trial in study.trials if trial.state == "failed"] == ["OwnError: ?"]
    assert study.n_trials == 9


@pytest.mark.parametrize("answer", [None, "0.3", [1.0], 1j])
def test_an_objective_must_give_a_number(small: Space, answer: object) -> None:
    study = Study(small)
    with pytest.raises(TypeError, match="the value of trial 0"):
        study.optimize(lambda params: answer, trials=3)  # type: ignore[arg-type, return-value]
    assert study.trials[0].state in ("waiting", "failed")


def test_a_value_that_is_not_finite_is_a_failed_trial(small: Space) -> None:
    seen: list[Trial] = []
    study = Study(small)
    study.optimize(lambda p: float("inf"), trials=2, callbacks=lambda study, trial: seen.append(trial))
    assert [trial.reason for trial in seen] == [trial.reason for trial in study.trials] == ["the value is inf"] * 2


def test_progress_is_shown_by_tqdm(small: Space, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    mivabo.minimize(conftest.train, small, trials=5, progress=True, name="shown")
    shown = capsys.readouterr().err
    assert "shown: 100%" in shown
    assert "best" in shown


def test_other_threads_go_on_while_a_study_thinks() -> None:
    space = Space()
    for i in range(12):
        space.int(f"n{i}", 0, 30)
        space.float(f"x{i}", 0.0, 1.0)
    study = Study(space, n_initial=2)
    for _ in range(40):
        study.add(space.sample(1, seed=study.n_trials)[0], float(study.n_trials % 7))
    go, has_run = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: go.wait() and has_run.set())
    thread.start()
    time.sleep(0.1)
    interval = sys.getswitchinterval()
    try:
        # Only who gives up the lock of Python lets others run.
        sys.setswitchinterval(1000)
        go.set()
        study.ask()
        ran = has_run.is_set()
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert ran


PROGRAM = """
import signal, sys, time, mivabo
signal.signal(signal.SIGINT, signal.default_int_handler)  # one that runs in the background may have none
space = mivabo.Space()
space.int("a", 0, 1000)
study = mivabo.Study(space, storage=sys.argv[1])

def objective(params):
    if study.n_trials > 4:
        sys.stdout.write("long\\n")  # at once, where `print` lets another thread in between
        sys.stdout.flush()
        time.sleep(600)
    return 1.0

study.optimize(objective, trials=100, workers=int(sys.argv[2]))
"""


@pytest.mark.parametrize("workers", [1, 3])
def test_ctrl_c_ends_the_loop_and_gives_trials_back(tmp_path: Path, workers: int) -> None:
    path = tmp_path / "a.db"
    command = [sys.executable, "-c", PROGRAM, str(path), str(workers)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "long\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0
    states = [trial.state for trial in Study.load(path).trials]
    assert states.count("complete") >= 2
    assert "waiting" in states
    assert "running" not in states


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_loop_wakes_up_for_nothing_but_the_end_of_an_evaluation(small: Space) -> None:
    woken = []

    def wakes() -> int:
        status = Path(f"/proc/self/task/{threading.main_thread().native_id}/status").read_text()
        return int(status.split("voluntary_ctxt_switches:")[1].split()[0])

    def objective(params: dict[str, object]) -> float:
        time.sleep(0.5)  # until the loop waits
        before = wakes()
        time.sleep(1.0)
        woken.append(wakes() - before)
        return 1.0

    Study(small).optimize(objective, trials=2, workers=2, progress=False)
    assert len(woken) == 2
    # Another thread that ends within the second is heard of.
    assert max(woken) <= 5, woken


def test_many_threads_ask_and_tell_one_study(space: Space, tmp_path: Path) -> None:
    study = Study(space, storage=tmp_path / "a.db", strategy="random")

    def work(_: int) -> None:
        for _ in range(5):
            trial = study.ask()
            study.tell(trial, 1.0)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert [trial.id for trial in study.trials] == list(range(40))
    assert {trial.state for trial in study.trials} == {"complete"}


def test_an_objective_may_return_more_than_a_value(space: Space) -> None:
    study = Study(space, strategy="random")
    study.optimize(lambda params: {"value": 2.0, "accuracy": 0.5}, trials=2)
    assert [(trial.value, trial.result) for trial in study.trials] == [(2.0, {"accuracy": 0.5})] * 2
    with pytest.raises(TypeError, match="trial 2"):
        study.optimize(lambda params: {"accuracy": 0.5}, trials=3)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_objective_returns_its_goal_by_name(small: Space, workers: int) -> None:
    study = Study(small, goals={"loss": "minimize"}, limits={"size": ">= 5"})
    study.optimize(lambda p: {"loss": p["a"], "size": p["a"], "value": 0}, trials=9, workers=workers)
    assert study.best.measured == {"loss": 5.0, "size": 5.0, "value": 0.0}
    assert study.best.result == {"size": 5, "value": 0}


def test_an_objective_that_leaves_out_its_goal_is_told_so(small: Space) -> None:
    study = Study(small, goals={"loss": "minimize"})
    with pytest.raises(TypeError, match=r"the value of trial 0: .* a mapping with `loss`, not one with `value`"):
        study.optimize(lambda params: {"value": 0.5}, trials=3)
    assert study.trials[0].state == "waiting"
    study.optimize(lambda params: {"value": 0.5}, trials=3, catch=TypeError)
    assert {trial.state for trial in study.trials} == {"failed"}


# Objectives that wait


async def slowly(params: mivabo.Params) -> float:
    """An objective that other processes can import."""
    await asyncio.sleep(0.001)
    return float(params["a"]) ** 2


class Slowly:
    """An object that is called, and a coroutine then."""

    async def __call__(self, params: mivabo.Params) -> dict[str, float]:
        await asyncio.sleep(0.001)
        return {"value": await slowly(params), "size": 3}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("objective", "options"),
    [
        (slowly, {}),
        (slowly, {"workers": 3}),
        (slowly, {"workers": 2, "executor": "processes"}),
        (Slowly(), {}),
        (functools.partial(slowly), {"workers": 2}),
        (lambda params: slowly(params), {}),
        (lambda params: asyncio.ensure_future(slowly(params)) if params["a"] < 0 else slowly(params), {"workers": 2}),
    ],
)
def test_an_async_objective_is_run(small: Space, objective: mivabo.Objective, options: dict[str, Any]) -> None:
    study = mivabo.minimize(objective, small, trials=9, **options)
    assert all(trial.value == float(trial.params["a"]) ** 2 for trial in study.trials)


def test_an_async_objective_runs_where_a_loop_runs_already(small: Space) -> None:
    async def notebook() -> Study:
        return mivabo.minimize(slowly, small, trials=4)

    assert [trial.state for trial in asyncio.run(notebook()).trials] == ["complete"] * 4


def test_what_an_async_objective_raises_is_raised(small: Space) -> None:
    async def objective(params: mivabo.Params) -> float:
        await asyncio.sleep(0)
        raise OwnError(params["a"])

    study = Study(small)
    with pytest.raises(OwnError):
        study.optimize(objective, trials=3)
    assert [trial.state for trial in study.trials] == ["waiting"]
    study.optimize(objective, trials=3, catch=OwnError)
    assert [trial.state for trial in study.trials] == ["failed"] * 3


# What the loop says


def test_the_loop_says_what_it_does_to_whoever_listens(small: Space, caplog: pytest.LogCaptureFixture) -> None:
    def objective(params: mivabo.Params) -> float:
        if study.n_trials == 2:
            raise OwnError("oops")
        return -math.inf if study.n_trials == 3 else 0.5

    study = Study(small, name="loud")
    study.release(study.ask())
    with caplog.at_level("DEBUG", logger="mivabo"):
        study.optimize(objective, trials=3, catch=OwnError)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    points = [trial.params for trial in study.trials]
    assert said == [
        ("DEBUG", f"study `loud`: trial 0 begins: {points[0]!r}"),
        ("INFO", "study `loud`: trial 0 has the value 0.5"),
        ("DEBUG", f"study `loud`: trial 1 begins: {points[1]!r}"),
        ("INFO", "study `loud`: trial 1 failed: OwnError: oops"),
        ("DEBUG", f"study `loud`: trial 2 begins: {points[2]!r}"),
        ("INFO", "study `loud`: trial 2 failed: the value is -inf"),
    ]


def test_a_trial_that_is_given_back_and_begins_again_is_logged(
    small: Space, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def objective(params: mivabo.Params) -> float:
        raise OwnError("oops")

    study = Study(small, storage=tmp_path / "a.db")
    with caplog.at_level("INFO", logger="mivabo"):
        with pytest.raises(OwnError):
            study.optimize(objective, trials=3)
        # A worker that was never heard of again.
        study.ask(lease=0.01)
        time.sleep(0.02)
        study.optimize(lambda params: 0.5, trials=1)
    assert [record.getMessage() for record in caplog.records] == [
        "study `a`: trial 0 waits for the next run: OwnError('oops')",
        "study `a`: trial 0 begins again, attempt 2",
        "study `a`: trial 0 has the value 0.5",
    ]


def test_a_wait_for_others_is_logged_once(small: Space, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    study = Study(small, storage=tmp_path / "a.db")
    theirs = Study.load(tmp_path / "a.db").ask(lease=60)
    timer = threading.Timer(0.7, lambda: Study.load(tmp_path / "a.db").tell(theirs, 0.5))
    timer.start()
    with caplog.at_level("DEBUG", logger="mivabo"):
        study.optimize(conftest.train, trials=1)
    timer.join()
    assert [record.getMessage() for record in caplog.records] == ["study `a`: waiting for trials of other workers"]


def test_nothing_is_said_unless_somebody_listens() -> None:
    code = (
        "import mivabo; s = mivabo.Space(); s.int('x', 1, 9)\n"
        "def f(p): raise ValueError\n"
        "mivabo.minimize(f, s, 3, catch=ValueError, progress=False)"
    )
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert (said.stdout, said.stderr) == ("", "")
