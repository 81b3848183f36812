"""mivabo as a search of scikit-learn: an estimator and a space enter, the best of its kind leaves.

>>> from sklearn.datasets import load_iris
>>> from sklearn.ensemble import RandomForestClassifier
>>> from mivabo.sklearn import MivaboSearchCV
>>> X, y = load_iris(return_X_y=True)
>>> search = MivaboSearchCV(
...     RandomForestClassifier(random_state=0),
...     {"n_estimators": [5, 10, 20], "max_depth": [1, 2, 3, 4], "max_leaf_nodes": [2, 4, 8, 16]},
...     constraints=["max_leaf_nodes <= 2 ** max_depth"],
...     n_iter=4,
...     cv=3,
...     random_state=0,
... )
>>> search = search.fit(X, y)
>>> all(p["max_leaf_nodes"] <= 2 ** p["max_depth"] for p in search.cv_results_["params"])
True
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ._constraints import Constraints, named
from ._errors import ExhaustedError
from ._labels import Labels
from ._space import Space, _in_order
from ._study import Study
from ._trial import Params, Trial

__all__ = ["MivaboSearchCV"]


class MivaboSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Search of hyper-parameters by cross-validation: ``RandomizedSearchCV`` that learns and keeps rules.

    Where ``RandomizedSearchCV`` draws all candidates before, this one chooses each batch by the scores before
    it. All candidates are scored on the same splits. After ``fit`` there is ``study_`` besides
    ``cv_results_``, ``best_params_`` and the others: the :class:`mivabo.Study`, with report and importance.

    A batch in which every fit fails is in ``study_`` alone, since scikit-learn does not record it: a warning
    says so, and the search goes on. If no fit succeeds at all, ``fit`` raises.

    :param estimator: what to tune.
    :param param_distributions: a :class:`mivabo.Space`, or for each parameter a list of values or one of
        ``uniform``, ``loguniform`` and ``randint`` of scipy. Numbers that increase are an ordered list to the
        model. Where some parameters depend on others, a space with ``when`` stands for a list of dicts.
    :param constraints: statements in mivabo's language, as texts or expressions; a dict gives them names.
        Values that are neither numbers nor texts are written as by ``str``: ``layers == '(50, 50)'``.
    :param n_iter: how many candidates are tried; fewer where there are fewer feasible ones.
    :param strategy: one of ``mivabo.STRATEGIES``, with settings if need be: ``"improvement:draws=no"``.
    :param batch_size: how many candidates are chosen at once; by default as many as ``n_jobs``.
    :param refit: with several metrics, the name of the one that guides the search.
    :param random_state: a whole number is the seed of the study.

    All others are those of ``RandomizedSearchCV``.
    """

    _parameter_constraints = {  # noqa: RUF012 (as in the base class)
        **BaseSearchCV._parameter_constraints,
        "param_distributions": [dict, Space],
        "constraints": "no_validation",
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "strategy": [str, None],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        param_distributions: Mapping[str, Any] | Space,
        *,
        constraints: Constraints = (),
        n_iter: int = 10,
        strategy: str | None = None,
        batch_size: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.constraints = constraints
        self.n_iter = n_iter
        self.strategy = strategy
        self.batch_size = batch_size
        self.random_state = random_state
        super().__init__(
            estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def _run_search(self, evaluate_candidates: Callable[..., Mapping[str, Any]]) -> None:
        candidates = _Candidates(self.param_distributions, self.constraints)
        is_seed = isinstance(self.random_state, Integral)
        seed = self.random_state if is_seed else check_random_state(self.random_state).randint(2**31)
        study = Study(candidates.space, direction="maximize", strategy=self.strategy, seed=seed)
        size = self.batch_size or effective_n_jobs(self.n_jobs)
        self.study_ = study
        splits = _SameSplits(self)
        error = None
        while (left := self.n_iter - study.n_trials) > 0:
            trials = _batch(study, min(size, left))
            if not trials:
                tried = f"all {study.n_trials} feasible candidates were tried"
                warnings.warn(f"{tried}, of n_iter={self.n_iter}", stacklevel=3)
                break
            scores: Any = [np.nan] * len(trials)
            try:
                results = evaluate_candidates([candidates.of(trial.params) for trial in trials], cv=splits)
                scores = self._scores(results)[-len(trials) :]
            except ValueError as refusal:
                error = self._every_fit_failed(refusal)
            for trial, score in zip(trials, scores, strict=True):
                study.tell(trial, score)
        if error is not None and all(trial.state == "failed" for trial in study.trials):
            raise error

    def _every_fit_failed(self, error: ValueError) -> ValueError:
        """Warn of a batch that scikit-learn refuses to record; raise any other error."""
        if self.error_score == "raise" or "fits failed" not in str(error):
            raise error
        warnings.warn(f"left out of cv_results_: {str(error).strip()}", FitFailedWarning, stacklevel=4)
        return error

    def _scores(self, results: Mapping[str, Any]) -> Any:
        metric = self.refit if isinstance(self.refit, str) else "score"
        for key in ("mean_test_score", f"mean_test_{metric}"):
            if key in results:
                return results[key]
        raise ValueError("with several metrics, refit has to name the one that guides the search")


class _SameSplits:
    """Splits once: batches that are scored on splits of their own could not be compared."""

    def __init__(self, search: MivaboSearchCV) -> None:
        # Before 1.9, scikit-learn keeps the checked one to itself.
        self.cv = getattr(search, "_checked_cv_orig", search.cv)
        self.is_classifier = is_classifier(search.estimator)
        self.splits: list[Any] | None = None

    def split(self, X: Any, y: Any = None, **options: Any) -> Iterator[Any]:  # noqa: N803
        if self.splits is None:
            cv = check_cv(self.cv, y, classifier=self.is_classifier)
            self.splits = list(cv.split(X, y, **options))
        return iter(self.splits)


class _Candidates:
    """A space, and the objects that its values stand for."""

    def __init__(self, given: Mapping[str, Any] | Space, constraints: Constraints) -> None:
        self.space = copy.copy(given) if isinstance(given, Space) else Space()
        self.choices: dict[str, tuple[Labels, list[Any]]] = {}
        if not isinstance(given, Space):
            for name, values in given.items():
                self._declare(name, values)
        for rule, statement in named(constraints):
            self.space.add(statement, name=rule)

    def of(self, params: Params) -> dict[str, Any]:
        """Look up the objects."""
        found: dict[str, Any] = dict(params)
        for name, (labels, objects) in self.choices.items():
            found[name] = objects[labels.place(params[name])]
        return found

    def _declare(self, name: str, values: Any) -> None:
        kind = getattr(getattr(values, "dist", None), "name", None)
        if kind in ("uniform", "loguniform", "reciprocal"):
            low, high = values.support()
            self.space.float(name, low, high, log=kind != "uniform")
        elif kind == "randint":
            low, high = values.support()
            self.space.int(name, int(low), int(high))
        elif isinstance(values, Iterable) and not isinstance(values, str | bytes):
            objects = _in_order(f"parameter `{name}`", "values", values)
            labels = Labels(objects)
            self.space.choice(name, labels.values, ordered=_increase(labels.values))
            self.choices[name] = (labels, objects)
        else:
            raise TypeError(
                f"parameter `{name}`: expected a list, or uniform, loguniform or randint of scipy.stats, "
                f"not {values!r:.60}"
            )


def _increase(values: list[Any]) -> bool:
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return are_numbers and all(one < next_one for one, next_one in pairwise(values))


def _batch(study: Study, n: int) -> list[Trial]:
    trials: list[Trial] = []
    try:
        while len(trials) < n:
            trials.append(study.ask())
    except ExhaustedError:
        pass
    except BaseException:
        # Ctrl-C: nobody evaluates the others either.
        for trial in trials:
            study.release(trial)
        raise
    return trials
