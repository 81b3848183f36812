"""Studies: ask, tell and everything around it, in memory or in a file that the command line shares."""

from __future__ import annotations

import json
import os
import uuid
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native, _optimize
from ._errors import Error, ExhaustedError, SpaceError, StorageError, StudyError, TrialError
from ._optimize import Callback, Objective
from ._plots import Plots
from ._result import as_json, parted
from ._revision import Revision, warn_of
from ._space import Space, _dict, _in_order, _read, _size
from ._table import Row, table
from ._trial import Estimate, Home, Importance, Params, Recommendation, Trial, Value

if TYPE_CHECKING:
    import pandas

Direction = Literal["minimize", "maximize"]
"""Whether low or high values are good."""

Storage = str | os.PathLike[str]
"""The path of a database, ``sqlite:///path``, or ``memory``; ``~`` is the home folder."""

_DAY = 24 * 3600.0

_MEMORY = "memory:"

# Windows cannot fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_native.before_fork, after_in_parent=_native.after_fork, after_in_child=_native.after_fork
    )


class Study:
    """An optimisation in progress.

    >>> import mivabo
    >>> space = mivabo.Space()
    >>> x = space.float("x", -2.0, 2.0)
    >>> n = space.int("n", 1, 4)
    >>> _ = space.add(x * n <= 3, name="budget")
    >>> study = mivabo.Study(space, seed=1)
    >>> for _ in range(12):
    ...     trial = study.ask()
    ...     study.tell(trial, (trial.params["x"] - 1) ** 2 + 0.1 * trial.params["n"])
    >>> study.best.value < 0.5
    True

    The same seed and the same tells give the same suggestions, here, in Rust and on the command line. Without
    ``storage`` a study lives in memory; with it, in a SQLite file that other processes and the command line may
    share. A study that is there already goes on where it stopped.

    What is optimised is a number called ``value``, unless ``goals`` names another measure. ``limits`` are bounds on
    measures that are known only after an evaluation. A trial that breaks one counts as worse than any that keeps all:

    >>> study = mivabo.Study(space, goals={"loss": "minimize"}, limits={"latency": "<= 20"})
    >>> for loss, latency in [(0.3, 12.0), (0.1, 50.0)]:
    ...     study.tell(study.ask(), {"loss": loss, "latency": latency})
    >>> study.best.measured, study.best.keeps_limits
    ({'latency': 12.0, 'loss': 0.3}, True)

    ``strategy`` is one of ``mivabo.STRATEGIES``, with settings if need be (``"improvement:draws=no"``); ``n_initial``
    is the number of trials before its model is asked. ``linked`` holds pairs of parameters that are known to interact,
    a discrete and a continuous one each, for strategies with ``products=linked``.

    >>> space = mivabo.Space()
    >>> _ = space.int("units", 1, 8), space.float("rate", 0.0, 1.0), space.float("decay", 0.0, 1.0)
    >>> linked = [("units", "rate")]
    >>> study = mivabo.Study(space, strategy="thompson:products=linked:additive=yes", linked=linked)
    """

    _inner: _native.Study
    _stop: bool
    _space: Space | None
    _text: str
    _said: dict[str, Any]
    _home: Home
    _before: dict[Home, int]
    """Studies in memory that this one is a copy of, and how many trials they had then."""

    def __init__(
        self,
        space: Space,
        *,
        name: str | None = None,
        storage: Storage | None = None,
        direction: Direction | None = None,
        goals: Mapping[str, Direction] | None = None,
        limits: Mapping[str, str] | None = None,
        strategy: str | None = None,
        seed: int = 0,
        n_initial: int | None = None,
        linked: Iterable[tuple[str, str]] = (),
    ) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space: expected a mivabo.Space, not {space!r:.60}")
        path = _path(storage)
        settings = {
            "direction": direction,
            "goals": _by_measure("goals", goals),
            "limits": _by_measure("limits", limits),
            "strategy": _native.DEFAULT_STRATEGY if strategy is None else strategy,
            "seed": seed,
            "n_initial": n_initial,
            "linked": _links(linked),
        }
        name = _study_name(name, path)
        self._begin(_native.Study(space._native(), name, path, _worker(), settings))
        warn_of(self._inner.news())

    @classmethod
    def load(cls, storage: Storage, name: str | None = None) -> Study:
        """Open a study that exists, as it was last revised; a file with one study needs no name."""
        path = _path(storage)
        if path is None:
            raise StudyError(f"storage: `{storage}`: a study in memory cannot be loaded; expected a file")
        if not os.path.exists(path):
            raise StorageError(f"`{storage}` does not exist")
        if name is not None:
            name = _study_name(name, path)
        return cls._of(_native.Study.load(path, name, _worker()))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Study:
        """Open the study of a study file, as the command line does; it is made if there is none.

        The file's objective and its workers are for the command line alone.
        """
        path = os.path.abspath(path)
        text = _read(Path(path))
        try:
            study = cls._of(_native.Study.from_file(path, text, _worker()))
        except Error as error:
            raise type(error)(f"{path}: {error}") from None
        warn_of(study._inner.news())
        return study

    # Ask and tell

    def ask(self, *, lease: float = _DAY) -> Trial:
        """Take the next trial to evaluate; it satisfies every constraint.

        If it is not told within ``lease`` seconds, it may be handed out again. Ctrl-C interrupts the call and leaves no
        running trial behind.
        """
        trial = self._ask(lease, None)
        if trial is None:
            raise ExhaustedError("there is no trial to evaluate")
        return trial

    def tell(
        self,
        trial: Trial | int,
        value: float | Mapping[str, Any] | None = None,
        *,
        failed: bool | str = False,
        result: Mapping[str, Any] | None = None,
    ) -> None:
        """Tell the value of a trial, or that it has none: ``failed=True``, or why it failed.

        A value that is not finite makes it a failed trial too. A trial is told once. ``result`` is what else the
        evaluation gave. It is kept with the trial as JSON; its numbers are measures, on which a study may have limits.
        A mapping is both in one: the number of the goal, and all else.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 1, 3)
        >>> study = mivabo.Study(space)
        >>> trial = study.ask()
        >>> study.tell(trial, 0.5)
        >>> study.tell(trial, 0.6)
        Traceback (most recent call last):
        ...
        mivabo.TrialError: trial 0 was already told: it has the value 0.5
        >>> study.tell(study.ask(), {"value": 0.4, "accuracy": 0.9})
        >>> study.best.measured
        {'accuracy': 0.9, 'value': 0.4}
        """
        number = self._number(trial)
        answer, text = self._answer(f" of trial {number}", value, failed, result)
        self._inner.tell(number, answer, text)

    def add(
        self,
        params: Mapping[str, Value],
        value: float | Mapping[str, Any] | None = None,
        *,
        failed: bool | str = False,
        result: Mapping[str, Any] | None = None,
    ) -> Trial:
        """Add a result from elsewhere, feasible or not; for the rest see :meth:`tell`.

        Values of inactive parameters are ignored. An active parameter that is left out takes its default, else its
        first value, or a float the middle of its range, and a warning says so.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 1, 3)
        >>> study = mivabo.Study(space)
        >>> study.add({"x": 2}, 0.25).id
        0
        """
        answer, text = self._answer("", value, failed, result)
        params, left_out = self.space._native().complete(_dict(params))
        if left_out:
            taken = ", ".join(f"`{name}` for {params.get(name)!r}" for name in left_out)
            warnings.warn(f"left out, and taken: {taken}", stacklevel=2)
        return self._trial(self._inner.add(params, answer, text))

    def enqueue(self, params: Mapping[str, Value]) -> Trial:
        """Add a feasible point that is asked before any other; what is left out has its default."""
        return self._trial(self._inner.enqueue(_dict(params)))

    def replicate(self, trial: Trial | int) -> Trial:
        """Add the point of a trial once more, for a noisy objective or one that failed by chance."""
        return self._trial(self._inner.replicate(self._number(trial)))

    def release(self, trial: Trial | int) -> None:
        """Give back a trial of this process, so that the next ask returns it."""
        self._inner.release(self._number(trial))

    def heartbeat(self, trial: Trial | int, lease: float = _DAY) -> None:
        """Give a sign of life: the lease of a trial begins anew."""
        self._inner.heartbeat(self._number(trial), lease)

    # Second thoughts

    def correct(
        self,
        trial: Trial | int,
        value: float | Mapping[str, Any] | None = None,
        *,
        failed: bool | str = False,
        result: Mapping[str, Any] | None = None,
        why: str | None = None,
    ) -> Trial:
        """Let another outcome count for a trial that was told wrongly; for the rest see :meth:`tell`.

        What was told is kept as the ``history`` of the trial. A number alone leaves everything else that was measured
        as it is; a mapping, or a ``result``, gives all of it anew.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 1, 3)
        >>> study = mivabo.Study(space)
        >>> study.tell(study.ask(), 50.0)
        >>> study.correct(0, 0.5, why="percent").value
        0.5
        >>> study.best.history[0]["value"]
        50.0
        """
        number = self._number(trial)
        answer, text = self._answer(f" of trial {number}", value, failed, result)
        self._inner.correct(number, answer, (text, why))
        return self._trial(number)

    def revise(
        self, space: Space, *, strategy: str | None = None, seed: int | None = None, dry_run: bool = False
    ) -> Revision:
        """Give the study another space; what was told stays, and teaches wherever it has a place in the new one.

        Bounds, parameters and constraints may change; a new parameter needs a ``default``, which is what earlier
        trials stand for. Waiting trials that the new space forbids fail; running ones finish. Other processes follow
        at their next call. ``dry_run`` only says what would change.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> lr = space.float("lr", 0.0, 1.0)
        >>> study = mivabo.Study(space)
        >>> for lr in [0.5, 0.05]:
        ...     _ = study.add({"lr": lr}, 3.0)
        >>> revised = mivabo.Space()
        >>> lr, depth = revised.float("lr", 0.0, 0.1), revised.int("depth", 1, 4, default=2)
        >>> print(study.revise(revised))
        parameter `lr` changed: was a number from 0.0 to 1.0, is a number from 0.0 to 0.1
        parameter `depth` was added: an integer from 1 to 4, default 2
        1 of 2 trials teach in the revised space; 1 does not: `lr` = 0.5 is above its bound 0.1 (1)
        >>> [trial.params for trial in study.trials]
        [{}, {'lr': 0.05, 'depth': 2}]
        """
        if not isinstance(space, Space):
            raise TypeError(f"space: expected a mivabo.Space, not {space!r:.60}")
        return Revision(**self._inner.revise(space._native(), (strategy, seed), dry_run))

    # The loop

    def optimize(
        self,
        objective: Objective,
        trials: int | None = None,
        *,
        workers: int = 1,
        executor: Executor | Literal["threads", "processes"] = "threads",
        timeout: float | None = None,
        target: float | None = None,
        patience: int | None = None,
        callbacks: Callback | Iterable[Callback] = (),
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        on_error: Literal["release", "fail"] = "release",
        progress: bool | None = None,
    ) -> Study:
        """Evaluate ``objective(params)`` until the study has ``trials`` trials, including those already there.

        The objective returns a number, or a mapping with the number of the goal and whatever else it measured.

        :param workers: evaluations at the same time, in threads of this process or in other ``"processes"``; or
            give any executor of ``concurrent.futures``.
        :param timeout: no trial begins after this many seconds.
        :param target: no trial begins once the value of the best trial is at least this good.
        :param patience: no trial begins once so many were evaluated in a row without a better one.
        :param callbacks: called as ``callback(study, trial)`` after each told trial; ``study.stop()`` ends the loop.
        :param catch: exceptions that make a trial fail and let the loop go on.
        :param on_error: what any other exception does to its trial: it waits for the next ask (``"release"``) or fails
            (``"fail"``). The exception itself is raised unchanged, once the running trials have ended.
        :param progress: whether to show a bar by tqdm; by default if it is installed, on a terminal or in a notebook.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 0, 20)
        >>> study = mivabo.Study(space)
        >>> study.optimize(lambda params: (params["x"] - 7) ** 2, trials=15).best.params
        {'x': 7}
        """
        if not callable(objective):
            raise TypeError(f"objective: expected a function, not {objective!r:.60}")
        plan = _optimize.Plan(
            trials=None if trials is None else _size("trials", trials, StudyError),
            workers=_size("workers", workers, StudyError),
            executor=executor,
            timeout=None if timeout is None else _real("timeout", timeout),
            target=None if target is None else _real("target", target),
            patience=None if patience is None else _size("patience", patience, StudyError),
            callbacks=_optimize.callbacks_of(callbacks),
            catch=_optimize.kinds_of(catch),
            on_error=on_error,
            progress=progress,
        )
        _optimize.run(self, objective, plan)
        return self

    def stop(self) -> None:
        """End the loop of :meth:`optimize` once the running trials have ended; for callbacks."""
        self._stop = True

    # What was found

    @property
    def best(self) -> Trial:
        """The best feasible trial. Those that keep every limit come first, and then those with the better value."""
        return self._made(self._inner.best())

    @property
    def best_value(self) -> float:
        """The value of the best trial."""
        value = self.best.value
        assert value is not None, "a trial without a value is never the best"
        return value

    @property
    def best_params(self) -> Params:
        """The values of the best trial's parameters."""
        return self.best.params

    def recommend(self) -> Recommendation:
        """Find the feasible point with the best posterior mean: a better answer than ``best`` if values are noisy."""
        params, mean = self._inner.recommend()
        return Recommendation(params, mean)

    def predict(self, points: Iterable[Mapping[str, Value]]) -> list[Estimate]:
        """What the study's model believes of the values at these points, feasible or not, after all told trials.

        It is what the next suggestion comes from: the value without noise, in the units of the goal. Values of inactive
        parameters are ignored. A strategy without a model predicts nothing.

        If the model sees values through a transform T, and believes T(f(x)) to be normal with mean m and deviation s,
        then ``mean`` is T⁻¹(m), the median of f(x), and ``deviation`` is (T⁻¹(m + s) - T⁻¹(m - s)) / 2. Where T is
        affine these are the mean and the standard deviation.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 0, 20)
        >>> study = mivabo.minimize(lambda params: (params["x"] - 7) ** 2, space, trials=12)
        >>> near, far = study.predict([{"x": 7}, {"x": 15}])
        >>> near.mean < 1, far.mean > 40
        (True, True)
        """
        if isinstance(points, Mapping):
            raise TypeError("points: expected a list of points, not one: [point]")
        if not isinstance(points, Iterable):
            raise TypeError(f"points: expected a list of points, not {points!r:.60}")
        pairs = self._inner.predict([_dict(point) for point in points])
        return [Estimate(mean, deviation) for mean, deviation in pairs]

    @property
    def trials(self) -> list[Trial]:
        """All trials, by number."""
        return [self._made(found) for found in self._inner.trials()]

    @property
    def n_trials(self) -> int:
        """How many trials there are."""
        return self._inner.len()

    def frame(self) -> pandas.DataFrame:
        """All trials as a pandas DataFrame, one column for each parameter, each measure and each key of a ``result``.

        A measure has the column ``measured.NAME`` unless it is the value, or its number is in the ``result`` anyway.
        """
        import pandas

        facts = ["value", "state", "feasible", "origin", "seconds", "reason"]
        trials = self.trials
        results = [_beside(trial, self._goal) for trial in trials]
        others = list(dict.fromkeys(key for result in results for key in result if key != "result.value"))
        column = _columns(self.space.names, {"trial", *facts, *others})
        rows = []
        for trial, result in zip(trials, results, strict=True):
            params = {column[name]: value for name, value in trial.params.items()}
            rows.append({**result, "trial": trial.id, **params, **{fact: getattr(trial, fact) for fact in facts}})
        return pandas.DataFrame(rows, columns=["trial", *column.values(), *facts, *others]).set_index("trial")

    def view(self) -> dict[str, Any]:
        """Return everything that is known of the study as one document, which ``mivabo export --format json`` prints.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> x = space.int("x", 1, 3)
        >>> study = mivabo.Study(space)
        >>> study.tell(study.ask(), 0.5)
        >>> view = study.view()
        >>> view["version"], view["best"], view["trials"][0]["value"]
        (1, 0, 0.5)
        """
        view: dict[str, Any] = json.loads(self._inner.view())
        return view

    def importance(self) -> Importance:
        """Compute which parameters matter, and which pairs of them, by a model of the told trials."""
        effects, pairs, n_trials = self._inner.importance()
        return Importance(dict(effects), dict(pairs), n_trials)

    def report(self) -> Report:
        """Write the study as one HTML page: charts, constraints, times, trials. Shows itself in a notebook."""
        return Report(self._inner.report())

    @property
    def plot(self) -> Plots:
        """The study in figures of matplotlib, such as ``study.plot.convergence()``."""
        return Plots(self)

    def backup(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Copy the whole database into a new file, even while others work on it.

        The copy has everything as it is at one moment, and its studies go on like any others. A file that is there
        already is replaced only with ``force``.
        """
        if self.storage is None:
            why = "it has no database to copy; `copy` and `pickle` copy the study"
            raise StudyError(f"study `{self.name}` is in memory: {why}")
        self._inner.backup(os.fspath(path), force)

    # What it is

    @property
    def name(self) -> str:
        """Its name, which no other study of its file has."""
        return self._inner.name

    @property
    def storage(self) -> str | None:
        """Its file; None for a study in memory."""
        path = self._inner.storage
        return None if path is None else os.fspath(path)

    @property
    def space(self) -> Space:
        """Its space; a change of it does not change the study, but see :meth:`revise`."""
        self._look()
        if self._space is None:
            self._space = Space._of(self._inner.space())
        return self._space.__copy__()

    @property
    def direction(self) -> Direction:
        """Whether low or high values are good."""
        return self.goals[self._goal]

    @property
    def goals(self) -> dict[str, Direction]:
        """The measure that is optimised, and whether low or high values of it are good. There is one, at present."""
        goals: dict[str, Direction] = self._definition.get("goals") or {"value": self._definition["direction"]}
        return dict(goals)

    @property
    def limits(self) -> dict[str, str]:
        """Bounds that measures should keep, such as ``<= 20``."""
        return dict(self._definition.get("limits", {}))

    @property
    def strategy(self) -> str:
        """How points are chosen."""
        return str(self._definition["strategy"])

    @property
    def linked(self) -> list[tuple[str, str]]:
        """Pairs of parameters that are known to interact."""
        return [(one, other) for one, other in self._definition.get("model", {}).get("linked", [])]

    @property
    def seed(self) -> int:
        """Where all randomness comes from."""
        return int(self._definition["seed"])

    def __reduce__(self) -> tuple[Any, ...]:
        """A study in a file is opened again; one in memory is copied, trials and all."""
        if self.storage is not None:
            return type(self).load, (self.storage, self.name)
        kept = self._inner.kept()
        before = {**self._before, self._home: len(kept[1])}
        return _restored, (type(self), self.name, kept, before)

    def __repr__(self) -> str:
        """Its name, its place and how many trials it has."""
        place = self.storage or "in memory"
        return f"<mivabo.Study {self.name!r}: {self.n_trials} trials, {place}>"

    def _repr_html_(self) -> str:
        best = self._inner.best_value()
        rows: list[Row] = [("study", self.name), ("trials", str(self.n_trials))]
        if best is not None:
            trial = self.best
            rows.append(("best value", f"{best[1]!r} (trial {best[0]})"))
            rows += [(name, repr(value)) for name, value in trial.params.items()]
        return table((), rows)

    # Inside

    @classmethod
    def _of(cls, native: _native.Study) -> Study:
        study = cls.__new__(cls)
        study._begin(native)
        return study

    def _begin(self, native: _native.Study) -> None:
        self._inner = native
        self._stop = False
        self._space = None
        self._text = ""
        self._look()
        path = self.storage
        place = f"{_MEMORY}{uuid.uuid4()}" if path is None else os.path.realpath(path)
        self._home, self._before = (self.name, place), {}

    def _look(self) -> None:
        """Take in that the study was revised."""
        text = self._inner.definition()
        if text != self._text:
            self._text, self._said, self._space = text, json.loads(text), None

    @property
    def _definition(self) -> dict[str, Any]:
        self._look()
        return self._said

    @property
    def _goal(self) -> str:
        return next(iter(self.goals))

    def _answer(
        self, of: str, value: object, failed: bool | str, result: object
    ) -> tuple[tuple[Any, str | None], str | None]:
        """The number of the goal, or why there is none, and what else the evaluation gave as JSON."""
        reason = _reason(f"the result{of}", value, failed)
        number, beside = parted(f"the value{of}", value, self._goal)
        if result is None:
            return (number, reason), beside
        if not isinstance(result, Mapping):
            raise TypeError(f"the result{of}: expected a mapping, not {type(result).__name__}")
        if isinstance(value, Mapping):
            raise TypeError(f"the result{of}: the value is a mapping already; put all of it there")
        return (number, reason), as_json(result)

    def _ask(self, lease: float, max_trials: int | None) -> Trial | None:
        claimed: list[int] = []
        try:
            asked = self._inner.ask(lease, max_trials, claimed)
            return None if asked is None else self._made(asked)
        except BaseException:
            # Ctrl-C in the last moment: nobody else knows of this trial.
            for number in claimed:
                self._give_back(number)
            raise

    def _give_back(self, number: int) -> None:
        """Let a trial of this process wait again, if it still is this process's."""
        try:
            self._inner.release(number)
        except (TrialError, StorageError):
            pass  # Others have it by now, or will have it when its lease ends.

    def _trial(self, number: int) -> Trial:
        return self._made(self._inner.trial(number))

    def _made(self, found: Mapping[str, Any]) -> Trial:
        return Trial(**found, _home=self._home)

    def _number(self, trial: Trial | int) -> int:
        """The number of a trial of this study."""
        if isinstance(trial, bool):
            raise TypeError(f"trial: expected a trial or its number, not {trial!r}")
        if not isinstance(trial, Trial):
            return trial
        home = trial._home
        if home in (None, self._home) or trial.id < self._before.get(home, 0):
            return trial.id
        name, place = home
        where = "memory" if place.startswith(_MEMORY) else place
        raise TrialError(
            f"trial {trial.id} is of another study, `{name}` in {where}; "
            f"if you mean trial {trial.id} of this one, give its number"
        )


class Report:
    """The report of a study: one HTML page that needs nothing else."""

    def __init__(self, html: str) -> None:
        self.html = html
        """The page."""

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the page to a file, whole or not at all.

        It replaces an older report. Any other file or a link raises ``FileExistsError`` unless ``force`` is true; a
        folder or a database always does.
        """
        _native.save_page(path, self.html, force)

    def __repr__(self) -> str:
        """How large it is."""
        return f"<mivabo.Report: {len(self.html)} characters>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="800" style="border:0"></iframe>'


def minimize(
    objective: Objective,
    space: Space,
    trials: int = 100,
    *,
    name: str | None = None,
    storage: Storage | None = None,
    strategy: str | None = None,
    seed: int = 0,
    n_initial: int | None = None,
    linked: Iterable[tuple[str, str]] = (),
    limits: Mapping[str, str] | None = None,
    workers: int = 1,
    executor: Executor | Literal["threads", "processes"] = "threads",
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    on_error: Literal["release", "fail"] = "release",
    progress: bool | None = None,
) -> Study:
    """Find where ``objective(params)`` is low; for the arguments see :class:`Study` and :meth:`Study.optimize`.

    >>> import mivabo
    >>> space = mivabo.Space()
    >>> a, b = space.int("a", 0, 9), space.int("b", 0, 9)
    >>> _ = space.add(a + b == 10)
    >>> study = mivabo.minimize(lambda p: (p["a"] - 4) ** 2, space, trials=9)
    >>> study.best.params
    {'a': 4, 'b': 6}
    """
    study = Study(
        space,
        name=name,
        storage=storage,
        limits=limits,
        strategy=strategy,
        seed=seed,
        n_initial=n_initial,
        linked=linked,
    )
    return study.optimize(
        objective,
        trials,
        workers=workers,
        executor=executor,
        timeout=timeout,
        target=target,
        callbacks=callbacks,
        catch=catch,
        on_error=on_error,
        progress=progress,
    )


def maximize(
    objective: Objective,
    space: Space,
    trials: int = 100,
    *,
    name: str | None = None,
    storage: Storage | None = None,
    strategy: str | None = None,
    seed: int = 0,
    n_initial: int | None = None,
    linked: Iterable[tuple[str, str]] = (),
    limits: Mapping[str, str] | None = None,
    workers: int = 1,
    executor: Executor | Literal["threads", "processes"] = "threads",
    timeout: float | None = None,
    target: float | None = None,
    callbacks: Callback | Iterable[Callback] = (),
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    on_error: Literal["release", "fail"] = "release",
    progress: bool | None = None,
) -> Study:
    """Find where ``objective(params)`` is high; see :func:`minimize`."""
    study = Study(
        space,
        name=name,
        storage=storage,
        direction="maximize",
        limits=limits,
        strategy=strategy,
        seed=seed,
        n_initial=n_initial,
        linked=linked,
    )
    return study.optimize(
        objective,
        trials,
        workers=workers,
        executor=executor,
        timeout=timeout,
        target=target,
        callbacks=callbacks,
        catch=catch,
        on_error=on_error,
        progress=progress,
    )


def _beside(trial: Trial, goal: str) -> dict[str, Any]:
    """What an evaluation gave beside its value, by column."""
    given = trial.result or {}
    measured = {key: number for key, number in trial.measured.items() if key != goal and key not in given}
    return {
        **{f"result.{key}": value for key, value in given.items()},
        **{f"measured.{key}": number for key, number in measured.items()},
    }


def _by_measure(what: str, given: Mapping[str, str] | None) -> dict[str, str] | None:
    if given is None or isinstance(given, Mapping):
        return None if given is None else dict(given)
    raise TypeError(f"{what}: expected a mapping from measures to texts, not {given!r:.60}")


def _links(linked: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    pairs = []
    for pair in _in_order("linked", "pairs", linked):
        if isinstance(pair, str) or not isinstance(pair, Iterable):
            raise TypeError(f"linked: expected pairs of names, not {pair!r:.60}")
        names = tuple(pair)
        if len(names) != 2 or not all(isinstance(name, str) for name in names):
            raise TypeError(f"linked: expected pairs of names, not {pair!r:.60}")
        pairs.append((names[0], names[1]))
    return pairs


def _columns(names: list[str], taken: set[str]) -> dict[str, str]:
    """A column for each parameter: its name, behind ``param`` if that is taken."""
    columns = {}
    for name in names:
        column = name
        while column in taken or (column != name and column in names):
            column = f"param {column}"
        columns[name] = column
        taken = {*taken, column}
    return columns


def _restored(cls: type[Study], name: str, kept: tuple[str, list[Any], list[Any]], before: dict[Home, int]) -> Study:
    study = cls._of(_native.Study.restore(name, kept, _worker()))
    study._before = before
    return study


def _reason(what: str, value: object, failed: bool | str) -> str | None:
    """Why there is no value; None where there is one."""
    if value is None and failed is False:
        raise TypeError(f"{what}: expected a value or failed=True; neither is given")
    if value is not None and failed is not False:
        raise TypeError(f"{what}: expected a value or failed=True; both are given")
    if failed is False:
        return None
    return "" if failed is True else failed


def _real(what: str, value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{what}: expected a number, not {value!r:.60}") from None
    if number != number:
        raise StudyError(f"{what}: expected a number, not nan")
    return number


def _path(storage: Storage | None) -> str | None:
    """The absolute path of a file; None for memory."""
    if storage is None:
        return None
    path: str | None = os.fspath(storage)
    if not isinstance(path, str):
        raise TypeError(f"storage: expected a path or an address, not {storage!r:.60}")
    if "\0" in path:
        raise StudyError(f"storage: {path!r} is not the path of a file")
    if isinstance(storage, str):
        found = _native.file_of(storage)
        path = None if found is None else os.fspath(found)
    return None if path is None else os.path.abspath(os.path.expanduser(path))


def _study_name(name: str | None, path: str | None) -> str:
    if name is None:
        # Bytes of a path that are not text have no place in a name.
        return "study" if path is None else Path(path).stem.encode("utf-8", "replace").decode()
    if not isinstance(name, str):
        raise TypeError(f"the name of a study: expected a text, not {name!r:.60}")
    try:
        return str(_native.plain("the name of a study", name))
    except SpaceError as error:
        raise StudyError(str(error)) from None


def _worker() -> str:
    """Workers on several machines need different names."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "host")
