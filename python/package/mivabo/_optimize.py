"""The loop of a study: an objective enters, told trials leave. Evaluations run here, in threads or in processes."""

from __future__ import annotations

import logging
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ._errors import ExhaustedError, StorageError, StudyError, TrialError
from ._result import parted
from ._trial import Params, Trial

if TYPE_CHECKING:
    from ._study import Study

Objective = Callable[[Params], float | Mapping[str, Any]]
"""Takes the values of the active parameters, gives a number, or a mapping with a ``value`` and what else came of it."""

Callback = Callable[["Study", Trial], object]
"""Called after each told trial."""

LEASE = 60.0
"""Seconds that a worker may be silent before its trial is given to others, as on the command line."""

PAUSE = 0.2
"""Seconds between two looks at what others do."""

SILENCE = 2.0
"""Seconds of waiting after which it is said what is waited for."""

MAX_WORKERS = 1024

_log = logging.getLogger("mivabo")


@dataclass(frozen=True)
class Plan:
    """When a loop ends, and what it does on the way."""

    trials: int | None
    workers: int
    executor: Executor | Literal["threads", "processes"]
    timeout: float | None
    target: float | None
    callbacks: tuple[Callback, ...]
    catch: tuple[type[Exception], ...]
    on_error: Literal["release", "fail"]
    progress: bool | None

    def check(self) -> None:
        """Refuse what makes no sense, before anything is evaluated."""
        if not 1 <= self.workers <= MAX_WORKERS:
            raise StudyError(f"workers: expected 1 to {MAX_WORKERS}, not {self.workers}")
        if not isinstance(self.executor, Executor) and self.executor not in ("threads", "processes"):
            raise StudyError(f"executor: expected 'threads', 'processes' or an Executor, not {self.executor!r:.60}")
        if self.on_error not in ("release", "fail"):
            raise StudyError(f"on_error: expected 'release' or 'fail', not {self.on_error!r}")
        if self.trials is None and self.timeout is None and self.target is None:
            raise StudyError("say when to stop: trials, timeout or target")


def run(study: Study, objective: Objective, plan: Plan) -> None:
    """Evaluate trials until the plan says so."""
    plan.check()
    held: dict[int, Trial] = {}
    with _executor(plan) as executor, _signs_of_life(study, held), _progress(study, plan) as bar:
        loop = _Loop(study, objective, plan, executor, held, bar)
        try:
            loop.run()
        except BaseException as error:
            loop.release()
            if loop.not_stored:
                raise error from loop.loss()
            raise
        if loop.not_stored or isinstance(loop.error, StorageError):
            raise loop.loss() from loop.error
        if loop.error is not None:
            raise loop.error


class _Bar(Protocol):
    """What is used of tqdm."""

    def update(self, n: float | None = 1) -> bool | None: ...

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None: ...


@dataclass
class _Loop:
    study: Study
    objective: Objective
    plan: Plan
    executor: Executor
    held: dict[int, Trial]
    """Trials that run here."""
    bar: _Bar | None
    error: Exception | None = None
    not_stored: list[str] = field(default_factory=list)
    """Outcomes that the storage did not take."""
    stored: dict[int, str] = field(default_factory=dict)
    """Outcomes that it took."""
    has_nothing: bool = False
    """The last ask gave nothing."""
    is_exhausted: bool = False
    """All has been tried."""
    waited: float = 0.0
    """Seconds spent waiting for trials of others."""
    has_said: bool = False
    """The user knows of that."""

    def run(self) -> None:
        began = time.monotonic()
        done: queue.SimpleQueue[tuple[Trial, Future[Any]]] = queue.SimpleQueue()
        self.study._stop = False
        while True:
            while len(self.held) < self.plan.workers and self._goes_on(time.monotonic() - began):
                trial = self._ask()
                if trial is None:
                    break
                self.held[trial.id] = trial
                future = self.executor.submit(self.objective, dict(trial.params))
                future.add_done_callback(lambda future, trial=trial: done.put((trial, future)))  # type: ignore[misc]
            if not self.held:
                if self._waits(time.monotonic() - began):
                    continue
                return
            trial, future = done.get()
            self._end(trial, future)

    def release(self) -> None:
        """Give back what runs, so that it waits for the next one who asks."""
        for trial in list(self.held.values()):
            self._give_back(trial)

    def loss(self) -> Exception:
        """What was evaluated and is not stored, or not any more."""
        text = str(self.error or "interrupted")
        lost = self._lost()
        if self.not_stored:
            text += f"; not stored: {', '.join(self.not_stored)}"
        if lost:
            text += f"; stored before, and missing now: {', '.join(lost)}"
        return StorageError(text) if self.error is None or lost or self.not_stored else self.error

    def _lost(self) -> list[str]:
        """Outcomes that were stored and are not there any more, as when the file was cut off.

        A copy says so: the file itself is refused while it is open here, or when something is missing.
        """
        storage = self.study.storage
        if storage is None or not Path(storage).is_file():
            return []
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.db"
            try:
                for ending in ("", "-wal"):
                    if (part := Path(f"{storage}{ending}")).is_file():
                        shutil.copyfile(part, f"{copy}{ending}")
            except OSError:
                return []
            try:
                trials = type(self.study).load(copy, self.study.name).trials
            except (StorageError, StudyError):
                trials = []
            there = {trial.id for trial in trials if trial.state in ("complete", "failed")}
        return [outcome for number, outcome in self.stored.items() if number not in there]

    def _goes_on(self, seconds: float) -> bool:
        plan = self.plan
        if self.error is not None or self.has_nothing or self.study._stop:
            return False
        if plan.timeout is not None and seconds >= plan.timeout:
            return False
        try:
            return plan.target is None or not self.study._reaches(plan.target)
        except StorageError as error:
            self.error = self.error or error
            return False

    def _waits(self, seconds: float) -> bool:
        """Wait a little for trials of others, as on the command line: those of a dead process come back."""
        # A study in memory is this process's alone.
        if not self.has_nothing or self.study.storage is None:
            return False
        self.has_nothing = False
        try:
            awaited = self.study._inner.awaited(2 * LEASE) if self._goes_on(seconds) else None
        except StorageError as error:
            self.error = self.error or error
            return False
        if awaited is None:
            return False
        self._say(*awaited)
        time.sleep(PAUSE)
        return True

    def _say(self, number: int, worker: str) -> None:
        """Say what is waited for, once, when that takes a while."""
        self.waited += PAUSE
        if self.waited > SILENCE and not self.has_said:
            self.has_said = True
            _log.warning("waiting for trial %d of `%s`, which runs for %s", number, self.study.storage, worker)

    def _ask(self) -> Trial | None:
        # Where all has been tried, nothing but what comes back is left.
        trials = 0 if self.is_exhausted else self.plan.trials
        try:
            trial = self.study._ask(LEASE, trials)
        except ExhaustedError:
            self.is_exhausted = self.has_nothing = True
            return None
        except StorageError as error:
            self.error = self.error or error
            return None
        self.has_nothing = trial is None
        return trial

    def _end(self, trial: Trial, future: Future[Any]) -> None:
        error = future.exception()
        is_told = False
        if error is None:
            value, result = parted(future.result())
            try:
                is_told = self._told(
                    trial, "value", value, lambda: self.study._inner.tell(trial.id, (value, None), result)
                )
            except TypeError as wrong:
                error = wrong  # What was returned is no number.
        if error is None:
            pass
        elif not isinstance(error, Exception):
            raise error
        elif isinstance(error, self.plan.catch):
            is_told = self._fail(trial, error)
        else:
            self.error = self.error or error
            is_told = self.plan.on_error == "fail" and self._fail(trial, error)
            self._give_back(trial)
        if is_told:
            self._show()
            self._call_back(trial)

    def _call_back(self, trial: Trial) -> None:
        """An exception here ends the loop like one of the objective: after the trials that run."""
        if not self.plan.callbacks:
            return
        try:
            told = self.study._trial(trial.id)
            for callback in self.plan.callbacks:
                callback(self.study, told)
        except Exception as error:
            self.error = self.error or error

    def _fail(self, trial: Trial, error: Exception) -> bool:
        reason = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
        return self._told(trial, "failed by", reason, lambda: self.study.tell(trial, failed=reason))

    def _told(self, trial: Trial, what: str, outcome: object, tell: Callable[[], None]) -> bool:
        """Whether this tell was stored and came first: a worker that was taken for dead may have been replaced."""
        is_first = False
        try:
            tell()
            is_first = True
            self.stored[trial.id] = f"trial {trial.id}: {what} {_brief(outcome)}"
        except (TrialError, StorageError) as error:
            if not self._is_told(trial):
                self.error = self.error or error
                self.not_stored.append(f"trial {trial.id}: {what} {_brief(outcome)}")
        except KeyboardInterrupt:
            # It may have had to wait for its turn. The trial is given back, and what it cost is named.
            if not self._is_told(trial):
                self.not_stored.append(f"trial {trial.id}: {what} {_brief(outcome)}")
            raise
        self.held.pop(trial.id, None)
        return is_first

    def _is_told(self, trial: Trial) -> bool:
        """Whether it has an outcome, of whomever."""
        try:
            return self.study._trial(trial.id).state in ("complete", "failed")
        except (TrialError, StorageError):
            return False

    def _give_back(self, trial: Trial) -> None:
        if self.held.pop(trial.id, None) is not None:
            self.study._give_back(trial.id)

    def _show(self) -> None:
        if self.bar is not None:
            self.bar.update(1)
            try:
                best = self.study._inner.best_value()
            except StorageError:
                return  # The next ask meets it too.
            if best is not None:
                self.bar.set_postfix_str(f"best {best[1]:.6g} (trial {best[0]})")


def _brief(outcome: object) -> str:
    try:
        return f"{outcome!s:.200}"
    except Exception:  # Such as an int of more digits than Python writes.
        return f"of type {type(outcome).__name__}"


class _Inline(Executor):
    """One evaluation at a time, in this very thread: Ctrl-C reaches the objective."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class _Threads(Executor):
    """Threads that do not keep a program alive: after Ctrl-C nobody waits for them."""

    def __init__(self, n: int) -> None:
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._n = n
        for _ in range(n):
            threading.Thread(target=self._serve, name="mivabo worker", daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        self._work.put(work)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for _ in range(self._n):
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None:
            work()


@contextmanager
def _executor(plan: Plan) -> Iterator[Executor]:
    if isinstance(plan.executor, Executor):
        yield plan.executor
        return
    executor: Executor
    if plan.executor == "processes":
        # Imported late: it brings much along.
        from concurrent.futures import ProcessPoolExecutor

        executor = ProcessPoolExecutor(plan.workers)
    elif plan.workers == 1:
        executor = _Inline()
    else:
        executor = _Threads(plan.workers)
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _signs_of_life(study: Study, held: dict[int, Trial]) -> Iterator[None]:
    """Renew the leases of what runs here; only a file can have other readers."""
    if study.storage is None:
        yield
        return
    end = threading.Event()

    def beat() -> None:
        while not end.wait(LEASE / 4):
            for trial in list(held.values()):
                try:
                    study.heartbeat(trial, LEASE)
                except (TrialError, OSError):
                    pass  # It goes on: its result counts if it comes first.

    thread = threading.Thread(target=beat, name="mivabo signs of life", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()


@contextmanager
def _progress(study: Study, plan: Plan) -> Iterator[_Bar | None]:
    if plan.progress is False:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        if plan.progress:
            raise
        yield None
        return
    # By itself it is shown where somebody looks at it.
    disable = None if plan.progress is None else False
    total = plan.trials
    begun = min(study.n_trials, total) if total is not None else 0
    with tqdm(total=total, initial=begun, disable=disable, unit="trial", desc=study.name) as bar:
        yield bar


def callbacks_of(callbacks: Callback | Iterable[Callback]) -> tuple[Callback, ...]:
    """One callback or several."""
    if callable(callbacks):
        return (callbacks,)
    try:
        found = tuple(callbacks)
    except TypeError:
        raise TypeError(f"callbacks: expected functions, not {callbacks!r:.60}") from None
    for callback in found:
        if not callable(callback):
            raise TypeError(f"callbacks: expected functions, not {callback!r:.60}")
    return found


def kinds_of(catch: type[Exception] | tuple[type[Exception], ...]) -> tuple[type[Exception], ...]:
    """One kind of exception or several."""
    found = catch if isinstance(catch, tuple) else (catch,)
    for kind in found:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError(f"catch: expected kinds of exceptions, not {kind!r:.60}")
    return found
