"""``Study.optimize``: evaluations in this thread, in others or in processes. What is evaluated next is said in Rust."""

from __future__ import annotations

import inspect
import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from . import _native
from ._errors import StorageError, StudyError, TrialError
from ._result import parted
from ._trial import Params, Trial

if TYPE_CHECKING:
    from ._study import Study

Answer = float | Mapping[str, Any]
"""What an objective gives: a number, or a mapping with that number and other measures.

In a mapping the number has the name of the study's goal: ``value`` unless ``goals`` says otherwise.
"""

Objective = Callable[[Params], Answer | Awaitable[Answer]]
"""Takes the values of the active parameters; an ``async`` one is run in an event loop of its own."""

Callback = Callable[["Study", Trial], object]
"""Called after each told trial."""

LEASE = _native.LEASE
"""Seconds that a worker may be silent before its trial is given to others."""

MAX_WORKERS = _native.MAX_WORKERS

_logger = logging.getLogger("mivabo")


@dataclass(frozen=True)
class Plan:
    """When a loop ends, and what it does on the way."""

    trials: int | None
    workers: int
    executor: Executor | Literal["threads", "processes"]
    timeout: float | None
    target: float | None
    patience: int | None
    callbacks: tuple[Callback, ...]
    catch: tuple[type[Exception], ...]
    on_error: Literal["release", "fail"]
    progress: bool | None

    def check(self) -> None:
        """Refuse a wrong argument before anything is evaluated."""
        if not 1 <= self.workers <= MAX_WORKERS:
            raise StudyError(f"workers: expected 1 to {MAX_WORKERS}, not {self.workers}")
        if not isinstance(self.executor, Executor) and self.executor not in ("threads", "processes"):
            raise StudyError(f"executor: expected 'threads', 'processes' or an Executor, not {self.executor!r:.60}")
        if self.on_error not in ("release", "fail"):
            raise StudyError(f"on_error: expected 'release' or 'fail', not {self.on_error!r}")
        if self.patience == 0:
            raise StudyError("patience: expected at least 1, not 0")
        if all(bound is None for bound in (self.trials, self.timeout, self.target, self.patience)):
            raise StudyError("say when to stop: trials, timeout, patience or target")


def run(study: Study, objective: Objective, plan: Plan) -> None:
    """Evaluate trials until the plan says so."""
    plan.check()
    work = _native.Loop(study._inner, LEASE, plan.trials, plan.timeout, plan.target, plan.patience)
    with _executor(plan) as executor, _signs_of_life(study, work), _progress(study, plan) as bar:
        loop = _Loop(study, _evaluation(objective, plan), plan, executor, work, bar)
        try:
            loop.run()
        except BaseException as error:
            loop.release()
            loss = loop.loss()
            if loss is not None:
                raise error from loss
            raise
        if loop.error is not None:
            loss = loop.loss()
            if loss is not None:
                raise loss from loop.error
            raise loop.error


class _Bar(Protocol):
    """What is used of tqdm."""

    def update(self, n: float | None = 1) -> bool | None: ...

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None: ...


@dataclass
class _Loop:
    study: Study
    objective: Callable[[Params], Any]
    plan: Plan
    executor: Executor
    work: _native.Loop
    bar: _Bar | None
    running: int = 0
    """Evaluations that have begun and whose ends have not been heard of."""
    error: Exception | None = None
    is_waiting: bool = False
    """Whether nothing can begin before trials of other workers end."""

    def run(self) -> None:
        done: queue.SimpleQueue[tuple[Trial, Future[Any]]] = queue.SimpleQueue()
        self.study._stop = False
        while True:
            pause = self._begin(done)
            if self.running:
                try:
                    trial, future = done.get(timeout=pause)
                except queue.Empty:
                    continue
                self.running -= 1
                self._end(trial, future)
            elif pause is None:
                return
            else:
                time.sleep(pause)

    def release(self) -> None:
        """Give back what runs, so that it waits for the next one who asks."""
        try:
            self.work.release()
        except (TrialError, StorageError):
            pass  # It comes back when the leases end.

    def loss(self) -> Exception | None:
        """What was evaluated and is not stored, or not any more."""
        not_stored = self.work.unstored()
        missing = self.work.missing() if not_stored or isinstance(self.error, StorageError) else []
        if not not_stored and not missing:
            return None
        text = str(self.error or "interrupted")
        if not_stored:
            text += f"; not stored: {', '.join(not_stored)}"
        if missing:
            text += f"; stored before, and missing now: {', '.join(missing)}"
        return StorageError(text)

    def _begin(self, done: queue.SimpleQueue[tuple[Trial, Future[Any]]]) -> float | None:
        """Begin what may begin. Seconds until there may be more; None where only the end of an evaluation can tell."""
        while self.running < self.plan.workers and self.error is None:
            try:
                step = self.work.next(self.study._stop)
            except StorageError as error:
                self.error = error
                return None
            if not isinstance(step, dict):
                self._say_waiting(step is not None)
                return step
            trial = self.study._made(step)
            self.running += 1
            self._say_begun(trial)
            future = self.executor.submit(self.objective, dict(trial.params))
            future.add_done_callback(lambda future, trial=trial: done.put((trial, future)))  # type: ignore[misc]
        return None

    def _end(self, trial: Trial, future: Future[Any]) -> None:
        error = future.exception()
        is_told = False
        if error is None:
            try:
                value, result = parted(f"the value of trial {trial.id}", future.result(), self.study._goal)
                is_told = self._told(trial, (value, None), result)
            except TypeError as wrong:
                error = wrong  # What was returned has no number in it.
        if error is None:
            pass
        elif not isinstance(error, Exception):
            raise error
        elif isinstance(error, self.plan.catch):
            is_told = self._failed(trial, error)
        else:
            self.error = self.error or error
            if self.plan.on_error == "fail":
                is_told = self._failed(trial, error)
            else:
                self._give_back(trial)
        if is_told:
            self._say_told(trial)
            self._show()
            self._call_back(trial)

    def _failed(self, trial: Trial, error: Exception) -> bool:
        reason = f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode()
        return self._told(trial, (None, reason), None)

    def _told(self, trial: Trial, outcome: tuple[Any, str | None], result: str | None) -> bool:
        """Whether this was stored and came first: a worker that was taken for dead may have been replaced."""
        try:
            return self.work.tell(trial.id, outcome, result)
        except (TrialError, StorageError) as error:
            self.error = self.error or error
            return False

    def _give_back(self, trial: Trial) -> None:
        try:
            self.work.give_back(trial.id)
        except (TrialError, StorageError):
            pass  # It comes back when its lease ends.
        _logger.info("study `%s`: trial %d waits for the next run: %r", self.study.name, trial.id, self.error)

    def _say_begun(self, trial: Trial) -> None:
        self.is_waiting = False
        if trial.attempts > 1:
            _logger.info("study `%s`: trial %d begins again, attempt %d", self.study.name, trial.id, trial.attempts)
        _logger.debug("study `%s`: trial %d begins: %r", self.study.name, trial.id, trial.params)

    def _say_waiting(self, is_waiting: bool) -> None:
        """Once for each wait, however often is looked."""
        if is_waiting and not self.is_waiting:
            _logger.debug("study `%s`: waiting for trials of other workers", self.study.name)
        self.is_waiting = is_waiting

    def _say_told(self, trial: Trial) -> None:
        if not _logger.isEnabledFor(logging.INFO):
            return
        try:
            told = self.study._trial(trial.id)
        except StorageError:
            return  # The next ask meets it too.
        if told.value is None:
            _logger.info("study `%s`: trial %d failed: %s", self.study.name, told.id, told.reason)
        else:
            _logger.info("study `%s`: trial %d has the value %r", self.study.name, told.id, told.value)

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

    def _show(self) -> None:
        if self.bar is not None:
            self.bar.update(1)
            try:
                best = self.study._inner.best_value()
            except StorageError:
                return  # The next ask meets it too.
            if best is not None:
                self.bar.set_postfix_str(f"best {best[1]:.6g} (trial {best[0]})")


@dataclass(frozen=True)
class _Awaited:
    """An objective as a function that returns when what it began has ended."""

    objective: Objective

    def __call__(self, params: Params) -> Any:
        returned: Any = self.objective(params)
        if not inspect.isawaitable(returned):
            return returned
        # Imported late: it is half of what this package would bring along.
        import asyncio

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(_end_of(returned))
        # A notebook has a loop in this very thread, and a thread has one at most.
        with _Threads(1) as other:
            return other.submit(asyncio.run, _end_of(returned)).result()


async def _end_of(awaitable: Awaitable[Answer]) -> Answer:
    return await awaitable


def _evaluation(objective: Objective, plan: Plan) -> Callable[[Params], Any]:
    """What executors run: elsewhere the objective itself if possible, since this package may not be there."""
    is_async = inspect.iscoroutinefunction(objective) or inspect.iscoroutinefunction(type(objective).__call__)
    return _Awaited(objective) if is_async or plan.executor == "threads" else objective


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
def _signs_of_life(study: Study, work: _native.Loop) -> Iterator[None]:
    """Renew the leases of what runs here; only a file can have other readers."""
    if study.storage is None:
        yield
        return
    end = threading.Event()

    def beat() -> None:
        while not end.wait(work.pulse):
            try:
                work.beat()
            except (TrialError, StudyError, StorageError):
                pass  # The trials go on: their results count if they come first.

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
