"""The search of scikit-learn: scikit-learn's own checks of estimators, and what it promises besides."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.stats import loguniform, norm, randint, uniform
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RandomizedSearchCV, ShuffleSplit
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import mivabo
from mivabo.sklearn import MivaboSearchCV

X, Y = make_classification(n_samples=80, n_features=6, random_state=0)

# Of the instances that scikit-learn checks RandomizedSearchCV with, a regressor and a classifier in a pipeline;
# and the one check of theirs that it excuses for it.
CHECKED: list[tuple[Any, dict[str, Any]]] = [
    (Ridge(), {"alpha": [0.1, 1.0]}),
    (
        Pipeline([("pca", PCA()), ("logisticregression", LogisticRegression(max_iter=5))]),
        {"logisticregression__C": [0.1, 1.0]},
    ),
]
EXCUSED = {"check_supervised_y_2d": "as for RandomizedSearchCV: DataConversionWarning is not caught"}


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        MivaboSearchCV(estimator, space, n_iter=2, cv=2, error_score="raise", random_state=0)
        for estimator, space in CHECKED
    ],
    expected_failed_checks=lambda estimator: EXCUSED,
)  # type: ignore[untyped-decorator]
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


def tree_search(**options: Any) -> Any:
    space = {
        "max_depth": randint(1, 7),
        "max_leaf_nodes": [2, 4, 8, 16, 32],
        "min_impurity_decrease": loguniform(1e-5, 1e-1),
        "max_features": uniform(0.1, 0.9),
        "criterion": ["gini", "entropy"],
        "class_weight": [None, "balanced", {0: 1, 1: 2}],
    }
    options = {"n_iter": 8, "cv": 3, "random_state": 1, **options}
    return MivaboSearchCV(DecisionTreeClassifier(random_state=0), space, **options)


def test_every_candidate_is_feasible_and_is_what_the_estimator_takes() -> None:
    constraints = {"leaves fit": "max_leaf_nodes <= 2 ** max_depth", "plain": "class_weight != 'balanced'"}
    search = tree_search(constraints=constraints).fit(X, Y)
    candidates = search.cv_results_["params"]
    assert len(candidates) == 8
    for params in candidates:
        assert params["max_leaf_nodes"] <= 2 ** params["max_depth"]
        assert params["class_weight"] in (None, {0: 1, 1: 2})
        assert 1 <= params["max_depth"] <= 6
        assert 0.1 <= params["max_features"] <= 1.0
    assert search.best_params_ in candidates
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.best_estimator_.get_params().items() >= search.best_params_.items()


def test_the_results_have_what_those_of_a_randomized_search_have() -> None:
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    space = {"logisticregression__C": loguniform(1e-3, 1e3)}
    ours = MivaboSearchCV(pipe, space, n_iter=3, cv=2, random_state=0, return_train_score=True).fit(X, Y)
    theirs = RandomizedSearchCV(pipe, space, n_iter=3, cv=2, random_state=0, return_train_score=True).fit(X, Y)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    assert ours.score(X, Y) > 0.7
    assert {name for name in vars(theirs) if name.endswith("_")} <= set(vars(ours))


def test_equal_seeds_give_equal_candidates() -> None:
    one, other, third = (tree_search(random_state=seed).fit(X, Y) for seed in (1, 1, 2))
    assert one.cv_results_["params"] == other.cv_results_["params"]
    assert one.cv_results_["params"] != third.cv_results_["params"]
    assert tree_search(random_state=np.random.RandomState(0), n_iter=1).fit(X, Y).best_params_


def test_the_search_learns_from_scores() -> None:
    space = {"alpha": loguniform(1e-6, 1e6)}
    target = 0.37

    def score(estimator: Any, *_: Any) -> float:
        return -((float(np.log10(estimator.alpha)) - target) ** 2)

    search = MivaboSearchCV(Ridge(), space, n_iter=20, scoring=score, cv=2, random_state=0, refit=False)
    assert search.fit(X, Y).best_score_ > -0.01
    assert search.study_.best.value == search.best_score_


def test_a_space_brings_conditions_and_constraints_of_its_own() -> None:
    space = mivabo.Space()
    solver = space.choice("solver", ["sgd", "adam"])
    first, second = space.int("first", 1, 8), space.int("second", 1, 8)
    space.float("momentum", 0.0, 0.99, when=solver == "sgd")
    space.add(first + second <= 10)

    class Net(MLPClassifier):  # type: ignore[misc]
        def __init__(self, solver: str = "adam", momentum: float = 0.9, first: int = 1, second: int = 1) -> None:
            super().__init__(solver=solver, momentum=momentum, hidden_layer_sizes=(first, second), max_iter=3)
            self.first, self.second = first, second

    search = MivaboSearchCV(Net(), space, constraints="first >= second", n_iter=6, cv=2, random_state=0)
    with pytest.warns(UserWarning, match="converged"):
        search.fit(X, Y)
    for params in search.cv_results_["params"]:
        assert params["first"] + params["second"] <= 10
        assert params["first"] >= params["second"]
        assert ("momentum" in params) == (params["solver"] == "sgd")
    assert space.names == ["solver", "first", "second", "momentum"]


def test_steps_of_a_pipeline_are_choices_too() -> None:
    pipe = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
    space = {"scale": [StandardScaler(), MaxAbsScaler(), "passthrough"], "model__C": [0.1, 1.0, 10.0]}
    search = MivaboSearchCV(
        pipe, space, constraints="scale == 'MaxAbsScaler()' -> model__C <= 1", n_iter=8, cv=2, random_state=0
    ).fit(X, Y)
    pairs = {(str(params["scale"]), params["model__C"]) for params in search.cv_results_["params"]}
    assert len(pairs) == 8
    assert ("MaxAbsScaler()", 10.0) not in pairs


def test_a_finite_space_ends_early_with_a_warning() -> None:
    search = MivaboSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, n_iter=9, cv=2)
    with pytest.warns(UserWarning, match="all 3 feasible candidates"):
        search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 3


def test_batches_are_as_large_as_n_jobs_and_all_have_the_same_splits() -> None:
    class Splits(ShuffleSplit):  # type: ignore[misc]
        calls = 0

        def split(self, *args: Any, **options: Any) -> Any:
            Splits.calls += 1
            return super().split(*args, **options)

    search = tree_search(n_jobs=2, n_iter=5, cv=Splits(2), constraints="max_depth >= 2").fit(X, Y)
    assert len(search.cv_results_["params"]) == 5
    assert Splits.calls == 1


def test_failed_fits_count_as_failed_trials() -> None:
    space = {"C": [-1.0, 0.1, 1.0]}
    search = MivaboSearchCV(LogisticRegression(), space, n_iter=3, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning, match="left out of cv_results_"):
        search.fit(X, Y)
    assert [trial.state for trial in search.study_.trials].count("failed") == 1
    assert search.best_params_["C"] > 0
    with pytest.warns(Warning, match="fits failed|non-finite"):
        search.set_params(batch_size=3).fit(X, Y)
    assert np.isnan(search.cv_results_["mean_test_score"]).sum() == 1


def test_a_search_without_any_score_raises() -> None:
    search = MivaboSearchCV(LogisticRegression(), {"C": [-1.0, -2.0]}, n_iter=2, cv=2, random_state=0)
    with pytest.warns(FitFailedWarning), pytest.raises(ValueError, match="fits failed"):
        search.fit(X, Y)
    with pytest.raises(ValueError, match="'C' parameter"):
        search.set_params(error_score="raise").fit(X, Y)


def test_with_several_metrics_refit_names_the_one_that_guides() -> None:
    metrics = ["accuracy", "f1"]
    search = tree_search(scoring=metrics, refit="f1").fit(X, Y)
    assert search.study_.best.value == search.best_score_ == search.cv_results_["mean_test_f1"].max()
    with pytest.raises(ValueError, match="refit"):
        tree_search(scoring=metrics, refit=False).fit(X, Y)


def test_what_makes_no_sense_is_refused_when_it_is_fitted() -> None:
    cases: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        ({"alpha": norm()}, {}, TypeError, "`alpha`"),
        ({"alpha": "abc"}, {}, TypeError, "`alpha`"),
        ([{"alpha": [1]}], {}, ValueError, "param_distributions"),
        ({"alpha": [1, 2]}, {"constraints": "beta <= 1"}, mivabo.SpaceError, "beta"),
        ({"alpha": [1, 2]}, {"constraints": "alpha >= 3"}, mivabo.InfeasibleError, "alpha >= 3"),
        ({"alpha": [1, 2]}, {"n_iter": 0}, ValueError, "n_iter"),
        ({"alpha": [1, 2]}, {"strategy": "nonsense"}, mivabo.StudyError, "nonsense"),
    ]
    for space, options, error, message in cases:
        with pytest.raises(error, match=message):
            MivaboSearchCV(Ridge(), space, **options).fit(X, Y)


def test_a_fitted_search_pickles_and_a_search_clones() -> None:
    search = tree_search(constraints=["max_depth >= 2"], n_iter=2)
    fitted = clone(search).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.best_params_ == fitted.best_params_
    assert (again.predict(X) == fitted.predict(X)).all()
    assert len(again.study_.trials) == 2
