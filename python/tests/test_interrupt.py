"""Ctrl-C while a study computes or waits: real processes, real signals."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import mivabo
from mivabo import Space, Study, _native, _optimize

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are Unix's")

BOUND = 30.0
"""Seconds within which a call ends after Ctrl-C on the slowest of machines; on others it is 0.2 s."""

BEGIN = """
import json, os, random, signal, sys, threading, time, mivabo
signal.signal(signal.SIGINT, signal.default_int_handler)  # one that runs in the background may have none
"""

SEARCHES = (
    BEGIN
    + """
space = mivabo.Space()
bits = [space.bool(f"x{k}") for k in range(400)]
draws = random.Random(1)
for _ in range(8):
    weights = [draws.randrange(1, 100) for _ in bits]
    terms = " + ".join(f"{weight} * x{k}" for k, weight in enumerate(weights))
    space.add(f"{terms} == {sum(weights) // 2}")
study = mivabo.Study(space, storage=sys.argv[1], strategy="random")
print("begun", flush=True)
try:
    while True:
        try:
            study.ask()
        except mivabo.InfeasibleError:
            pass  # It gave up after a long search: on to the next one.
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(study.n_trials, flush=True)
"""
)


@contextmanager
def running(program: str, *args: Any) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", program, *map(str, args)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


HOLD = """
import sqlite3, sys
other = sqlite3.connect(sys.argv[1], isolation_level=None)
other.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
"""

WAITS = (
    BEGIN
    + """
study = mivabo.Study.load(sys.argv[1])
print("begun", flush=True)
try:
    getattr(study, sys.argv[2])(*json.loads(sys.argv[3]))
    print("done", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.readline()
print(study.ask().id, flush=True)
"""
)


@pytest.fixture
def stored(small: Space, tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    study = Study(small, storage=path, strategy="random")
    study.tell(study.ask(), 1.0)
    return path


@pytest.mark.parametrize(("call", "args"), [("ask", []), ("add", [{"a": 5, "b": 5}, 1.0])])
def test_a_wait_for_the_turn_to_write_is_said_and_ends_at_ctrl_c(stored: Path, call: str, args: list[object]) -> None:
    with running(HOLD, stored) as holder, running(WAITS, stored, call, json.dumps(args)) as process:
        assert line(holder) == "held"
        assert line(process) == "begun"
        assert process.stderr is not None
        assert f"waiting for `{stored}`" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert line(process) == "interrupted"
        holder.communicate("go\n", timeout=BOUND)
        asked, _ = process.communicate("go\n", timeout=BOUND)
    assert asked.strip() == "1"
    assert [trial.state for trial in Study.load(stored).trials] == ["complete", "running"]


TELLS = (
    BEGIN
    + """
import subprocess
def objective(params):
    global holder
    holder = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stdin=-1, stdout=-1, text=True)
    holder.stdout.readline()
    print("held", flush=True)
    return 0.125
def handler(*_):
    if not handler.is_late:
        handler.is_late = True
        threading.Timer(0.3, lambda: holder.communicate("go\\n")).start()
        raise KeyboardInterrupt
handler.is_late = False
signal.signal(signal.SIGINT, handler)
mivabo.Study.load(sys.argv[1]).optimize(objective, trials=2, progress=False)
"""
)


def test_a_value_whose_tell_is_interrupted_is_named_and_its_trial_given_back(stored: Path) -> None:
    with running(TELLS, stored, HOLD) as process:
        assert line(process) == "held"
        assert process.stderr is not None
        assert "waiting" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=BOUND)
    assert "interrupted; not stored: trial 1: value 0.125" in errors
    assert "KeyboardInterrupt" in errors
    assert [trial.state for trial in Study.load(stored).trials] == ["complete", "waiting"]


SIGNALLED = (
    BEGIN
    + """
import subprocess
def handler(*_):
    holder.communicate("go\\n")
study = mivabo.Study.load(sys.argv[1])
holder = subprocess.Popen([sys.executable, "-c", sys.argv[2], sys.argv[1]], stdin=-1, stdout=-1, text=True)
holder.stdout.readline()
signal.signal(signal.SIGALRM, handler)
signal.alarm(1)
print(study.ask().id)
"""
)


def test_a_handler_that_raises_nothing_runs_during_a_call_and_interrupts_nothing(stored: Path) -> None:
    # The call ends because the handler lets the other process go.
    done = subprocess.run(
        [sys.executable, "-c", SIGNALLED, stored, HOLD], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "1"


class _Late:
    """A study, or a loop, whose asks are interrupted when they are over."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def ask(self, *args: Any) -> None:
        self._inner.ask(*args)
        raise KeyboardInterrupt

    def next(self, *args: Any) -> None:
        self._inner.next(*args)
        raise KeyboardInterrupt

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.mark.parametrize("is_stored", [True, False])
def test_a_trial_that_was_claimed_in_the_last_moment_is_given_back(
    small: Space, tmp_path: Path, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, twin = (Study(small, storage=tmp_path / name if is_stored else None) for name in ("a.db", "b.db"))
    inner, loop = study._inner, _native.Loop
    study._inner = _Late(inner)  # type: ignore[assignment]
    with pytest.raises(KeyboardInterrupt):
        study.ask()
    study._inner = inner
    with monkeypatch.context() as patched:
        patched.setattr(_native, "Loop", lambda *args: _Late(loop(*args)))
        with pytest.raises(KeyboardInterrupt):
            study.optimize(lambda params: 1.0, trials=3)
    assert [trial.state for trial in study.trials] == ["waiting"]
    assert study.ask() == twin.ask()


def test_an_interrupt_in_the_middle_of_a_batch_leaves_no_trial_behind(
    small: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    from mivabo.sklearn import _batch

    study = Study(small)
    asks = iter([study.ask, study.ask])

    def ask() -> mivabo.Trial:
        try:
            return next(asks)()
        except StopIteration:
            raise KeyboardInterrupt from None

    with monkeypatch.context() as patched:
        patched.setattr(study, "ask", ask)
        with pytest.raises(KeyboardInterrupt):
            _batch(study, 4)
    assert [trial.state for trial in study.trials] == ["waiting"] * 2


def test_a_loop_says_which_trial_of_others_it_waits_for(
    small: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    study, other = Study(small, storage=path), Study.load(path)
    theirs = other.ask(lease=20.0)
    said = []

    class Tells(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())
            other.tell(theirs, 1.0)

    handler = Tells()
    monkeypatch.setattr(_optimize, "LEASE", 20.0)
    monkeypatch.setattr(logging.getLogger("mivabo"), "handlers", [handler])
    study.optimize(lambda params: float(params["a"]), trials=2, progress=False)
    assert len(said) == 1
    assert said[0].startswith(f"waiting for trial 0 of `{path}`, which runs for ")


def test_ctrl_c_ends_a_long_search_for_feasible_points(tmp_path: Path) -> None:
    with running(SEARCHES, tmp_path / "a.db") as process:
        assert line(process) == "begun"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert line(process) == "interrupted"
        assert line(process) == "0"
        process.communicate(timeout=BOUND)
    assert process.returncode == 0
    assert Study.load(tmp_path / "a.db").n_trials == 0


MANY = (
    BEGIN
    + """
n_interrupts, path = int(sys.argv[1]), sys.argv[2] or None
draws = random.Random(7)

def space():
    found = mivabo.Space()
    x = [found.int(f"x{k}", 0, 30) for k in range(6)]
    y = [found.float(f"y{k}", 0.0, 1.0) for k in range(6)]
    found.add(x[0] + x[1] + x[2] == 45)
    found.add(y[0] + y[1] <= 1)
    return found

def value(trial):
    return sum(float(v) for v in trial.params.values()) % 7

study = mivabo.Study(space(), storage=path, seed=3)
trial, sent, times = None, 0.0, []

def interrupt():
    global sent
    time.sleep(draws.uniform(0.0, 0.5))
    sent = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)

def go_on():
    global trial
    while True:
        if trial is None:
            trial = study.ask()
        if study._trial(trial.id).state == "running":
            study.tell(trial, value(trial))
        trial = None

for _ in range(n_interrupts):
    sender = threading.Thread(target=interrupt)
    try:
        sender.start()
        go_on()
    except KeyboardInterrupt:
        times.append(time.perf_counter() - sent)
    sender.join()
    leaked = [t.id for t in study.trials if t.state == "running" and (trial is None or t.id != trial.id)]
    assert not leaked, leaked
if trial is not None and study._trial(trial.id).state == "running":
    study.tell(trial, value(trial))
found = [t for t in study.trials if t.state == "complete"]
assert [t.id for t in study.trials] == list(range(study.n_trials))
twin = mivabo.Study(space(), seed=3)
for mine in found:
    theirs = twin.ask()
    assert (theirs.id, theirs.params, theirs.origin) == (mine.id, mine.params, mine.origin)
    twin.tell(theirs, value(theirs))
assert study.ask().params == twin.ask().params
print(json.dumps([len(found), *sorted(times)]))
"""
)


@pytest.mark.parametrize("is_stored", [True, False])
def test_interrupts_at_random_moments_leak_no_trial_and_change_no_suggestion(tmp_path: Path, is_stored: bool) -> None:
    path = str(tmp_path / "a.db") if is_stored else ""
    done = subprocess.run([sys.executable, "-c", MANY, "50", path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    n_told, *times = json.loads(done.stdout)
    print(f"{n_told} told; median {times[25] * 1e3:.0f} ms, longest {times[-1] * 1e3:.0f} ms")
    assert len(times) == 50
    assert times[-1] < BOUND


PREDICTS = (
    BEGIN
    + """
space = mivabo.Space()
for k in range(8):
    space.float(f"x{k}", 0.0, 1.0)
study, twin = mivabo.Study(space), mivabo.Study(space)
for n, point in enumerate(space.sample(200, seed=1)):
    for each in (study, twin):
        each.add(point, sum(point.values()) + n % 3)
points = space.sample(500, seed=2) * 100
for pause in (0.02, 0.1, 0.3, 1.0):
    timer = threading.Timer(pause, lambda: (sent.append(time.perf_counter()), os.kill(os.getpid(), signal.SIGINT)))
    sent = []
    try:
        timer.start()
        while True:
            study.predict(points)
    except KeyboardInterrupt:
        print(time.perf_counter() - sent[0])
assert study.predict(points[:3]) == twin.predict(points[:3])
assert study.ask().params == twin.ask().params
"""
)


def test_predictions_at_many_points_end_at_ctrl_c_and_change_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", PREDICTS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    times = [float(line) for line in done.stdout.split()]
    print(f"longest {max(times) * 1e3:.0f} ms")
    assert len(times) == 4
    assert max(times) < BOUND
