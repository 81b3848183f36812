"""Forked and spawned processes, and several of them on one file."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
from itertools import chain
from pathlib import Path

import pytest

from mivabo import Space, StorageError, Study, _optimize

STUDY: Study | None = None


def work(study: Study) -> list[int]:
    told = []
    for _ in range(5):
        trial = study.ask()
        study.tell(trial, float(trial.params["a"]))
        told.append(trial.id)
    return told


def work_here(_: int) -> list[int]:
    assert STUDY is not None
    return work(STUDY)


@pytest.fixture
def wide() -> Space:
    space = Space()
    space.int("a", 0, 10_000)
    return space


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_stored_study_goes_to_other_processes(wide: Space, tmp_path: Path, method: str) -> None:
    study = Study(wide, storage=tmp_path / "a.db", strategy="random")
    with multiprocessing.get_context(method).Pool(2) as pool:
        told = pool.map(work, [study, study])
    mine = work(study)
    assert sorted(chain(*told, mine)) == list(range(15))
    assert {trial.state for trial in study.trials} == {"complete"}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_opens_the_file_anew(wide: Space, tmp_path: Path) -> None:
    global STUDY
    STUDY = Study(wide, storage=tmp_path / "a.db", strategy="random")
    work(STUDY)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        told = pool.map(work_here, range(4))
    assert sorted(chain(*told)) == list(range(5, 25))
    assert work(STUDY) == list(range(25, 30))
    workers = {trial.worker for trial in STUDY.trials}
    assert len(workers) >= 2


DIES = """
import os, sys, mivabo
from mivabo import _optimize
_optimize.LEASE = 1.0
def objective(params):
    if study.n_trials == 3:
        os.kill(os.getpid(), 9)
    return params["a"]
study = mivabo.Study.load(sys.argv[1])
study.optimize(objective, trials=5, progress=False)
"""


def test_a_loop_takes_over_what_a_dead_process_left(
    wide: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    study = Study(wide, storage=path, strategy="random")
    died = subprocess.run([sys.executable, "-c", DIES, path], check=False)
    assert died.returncode == -9
    assert [trial.state for trial in study.trials] == ["complete", "complete", "running"]
    monkeypatch.setattr(_optimize, "LEASE", 1.0)
    study.optimize(lambda params: float(params["a"]), trials=3, progress=False)
    assert [trial.state for trial in study.trials] == ["complete"] * 3


def test_a_loop_waits_for_what_others_evaluate_and_not_for_what_they_keep(
    wide: Space, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    study, other = Study(wide, storage=path, strategy="random"), Study.load(path)
    kept, soon = other.ask(lease=1e6), other.ask(lease=20.0)
    monkeypatch.setattr(_optimize, "LEASE", 20.0)
    timer = threading.Timer(1.0, lambda: other.tell(soon, 1.0))
    timer.start()
    study.optimize(lambda params: float(params["a"]), trials=3, progress=False)
    timer.join()
    states = {trial.id: trial.state for trial in study.trials}
    assert states[kept.id] == "running"
    assert states[soon.id] == "complete"
    assert len(states) == 3


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_copy_of_a_study_in_memory_is_its_own(wide: Space) -> None:
    study = Study(wide, strategy="random")
    work(study)
    child = os.fork()
    if child == 0:
        os._exit(0 if work(study) == list(range(5, 10)) else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert study.n_trials == 5


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_a_forked_process_tells_stays_after_the_parent_is_gone(wide: Space, tmp_path: Path) -> None:
    study = Study(wide, storage=tmp_path / "a.db", strategy="random")
    work(study)
    (from_child, to_parent), (from_parent, to_child) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        first = study.ask()
        os.write(to_parent, b"x")
        os.read(from_parent, 1)
        study.tell(first, 1.0)
        os._exit(0 if len(work(study)) == 5 else 1)
    os.read(from_child, 1)
    assert study.n_trials == 6
    del study  # Its connection closes while the child has the file open, and the child goes on.
    gc.collect()
    os.write(to_child, b"x")
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [trial.state for trial in Study.load(tmp_path / "a.db").trials] == ["complete"] * 11


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("storage", [True, False])
def test_a_fork_waits_for_the_threads_that_use_a_study(wide: Space, tmp_path: Path, storage: bool) -> None:
    study = Study(wide, storage=tmp_path / "a.db" if storage else None, strategy="random")
    is_over = threading.Event()

    def keep_on() -> None:
        while not is_over.is_set():
            work(study)

    thread = threading.Thread(target=keep_on, daemon=True)
    thread.start()
    for _ in range(5):
        child = os.fork()
        if child == 0:
            os._exit(0 if len(work(study)) == 5 else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
    is_over.set()
    thread.join()
    assert {trial.state for trial in study.trials} == {"complete"}


def visit(path: Path) -> int:
    return Study.load(path).n_trials


@pytest.mark.skipif(sys.platform != "linux", reason="locks of open files are Linux's")
def test_another_sqlite_library_may_look_at_the_open_file(wide: Space, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    study = Study(wide, storage=path, strategy="random")
    log = os.stat(tmp_path / "a.db-wal").st_ino
    with multiprocessing.get_context("spawn").Pool(1) as others:
        for n in range(3):
            work(study)
            with contextlib.closing(sqlite3.connect(path)) as other:
                assert other.execute("select count(*) from trial").fetchone() == (10 * n + 5,)
            work(study)
            assert others.apply(visit, (path,)) == 10 * n + 10
            assert os.stat(tmp_path / "a.db-wal").st_ino == log


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_study_whose_file_is_gone_after_a_fork_is_refused_and_no_file_is_made(wide: Space, tmp_path: Path) -> None:
    study = Study(wide, storage=tmp_path / "a.db", strategy="random")
    trial = study.ask()
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    with pytest.raises(StorageError, match="no longer there"):
        study.tell(trial, 1.0)
    assert [path.name for path in tmp_path.iterdir()] == ["b.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="numbers of open files are Unix's")
def test_what_a_process_without_standard_error_prints_does_not_get_into_the_file(tmp_path: Path) -> None:
    program = """
import os, sys
from mivabo import Space, Study
os.close(2)
space = Space()
space.int("a", 0, 10_000)
study = Study(space, storage=sys.argv[1], strategy="random")
os.write(2, b"printed" * 100)
study.tell(study.ask(), 1.0)
"""
    path = tmp_path / "a.db"
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)
    assert Study.load(path).n_trials == 1


HOLD_TURN = """
import fcntl, struct, sys, time
file = open(sys.argv[1], "r+b")
# As a process that computes a suggestion for the first study of a file: docs/store.md.
lock = struct.pack("hhxxxxqqixxxx", fcntl.F_WRLCK, 0, 1 << 60, 1, 0)
fcntl.fcntl(file, 37, lock)
print("taken", flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs locks of open files")
def test_a_sign_of_life_does_not_wait_for_a_thread_that_waits_for_its_turn(tmp_path: Path) -> None:
    space = Space()
    space.int("x", 1, 9)
    study = Study(space, storage=tmp_path / "a.db")
    trial = study.ask()
    with subprocess.Popen([sys.executable, "-c", HOLD_TURN, tmp_path / "a.db"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        asker = threading.Thread(target=study.ask)
        asker.start()
        time.sleep(0.3)

        study.heartbeat(trial)
        study.tell(trial, 1.0)

        assert asker.is_alive()
        holder.kill()
        asker.join()
    assert study.n_trials == 2
