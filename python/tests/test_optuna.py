"""What the sampler promises besides Optuna's own tests."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial, TrialState

import mivabo
from mivabo.optuna import MivaboSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)

NET: dict[str, BaseDistribution] = {
    "kernel": IntDistribution(1, 7, step=2),
    "stride": IntDistribution(1, 3),
    "lr": FloatDistribution(1e-4, 1e-1, log=True),
    "optimizer": CategoricalDistribution(["sgd", "adam", None]),
}
RULES = {
    "receptive field": "kernel * stride <= 12",
    "adam likes small strides": "optimizer == 'adam' -> stride <= 1",
    "no optimizer, no rate": "optimizer == 'None' -> kernel == 1",
}


def net(trial: Trial) -> float:
    kernel = trial.suggest_int("kernel", 1, 7, step=2)
    stride = trial.suggest_int("stride", 1, 3)
    lr = trial.suggest_float("lr", 1e-4, 1e-1, log=True)
    optimizer = trial.suggest_categorical("optimizer", ["sgd", "adam", None])
    return abs(kernel * stride - 10) + lr + (optimizer == "sgd")


def keeps_the_rules(params: dict[str, Any]) -> bool:
    return (
        params["kernel"] * params["stride"] <= 12
        and (params["optimizer"] != "adam" or params["stride"] <= 1)
        and (params["optimizer"] is not None or params["kernel"] == 1)
    )


def study_of(sampler: optuna.samplers.BaseSampler, **options: Any) -> Any:
    return optuna.create_study(sampler=sampler, **options)


# Constraints


def test_every_trial_is_feasible_from_the_first_one_on() -> None:
    for seed in range(5):
        study = study_of(MivaboSampler(seed=seed, search_space=NET, constraints=RULES))
        study.optimize(net, n_trials=12)
        assert all(keeps_the_rules(trial.params) for trial in study.trials)


def test_constraints_may_be_a_list_a_text_or_expressions() -> None:
    space = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9)}
    a, b = mivabo.Expr("a"), mivabo.Expr("b")
    for constraints in (["a + b == 10", "a <= 4"], "a + b == 10 and a <= 4", [a + b == 10, a <= 4]):
        study = study_of(MivaboSampler(seed=1, search_space=space, constraints=constraints))
        params = study.ask(space).params
        assert params["a"] + params["b"] == 10
        assert params["a"] <= 4


def test_constraints_without_a_search_space_are_refused() -> None:
    with pytest.raises(ValueError, match="constraints need search_space"):
        MivaboSampler(constraints=["a <= 1"])


def test_what_is_wrong_with_constraints_is_said_before_the_first_trial() -> None:
    space = {"a": IntDistribution(0, 9)}
    with pytest.raises(mivabo.SpaceError, match="unknown name `b`"):
        MivaboSampler(search_space=space, constraints=["b <= 1"])
    with pytest.raises(mivabo.InfeasibleError, match="a >= 10"):
        MivaboSampler(search_space=space, constraints=["a >= 10"])
    with pytest.raises(mivabo.StudyError, match="nonsense"):
        MivaboSampler(search_space=space, strategy="nonsense")
    with pytest.raises(TypeError, match="`a`"):
        MivaboSampler(search_space={"a": 3})  # type: ignore[dict-item]


def test_wrong_settings_are_said_at_once_whatever_the_parameters_will_be() -> None:
    with pytest.raises(mivabo.StudyError, match="seed: -1"):
        MivaboSampler(seed=-1)
    with pytest.raises(TypeError, match="seed: expected a whole number, not 'a'"):
        MivaboSampler(seed="a")  # type: ignore[arg-type]
    with pytest.raises(mivabo.StudyError, match="there is no strategy `foo`"):
        MivaboSampler(strategy="foo")
    with pytest.raises(mivabo.StudyError, match="n_initial: -1"):
        MivaboSampler(n_startup=-1)
    with pytest.raises(TypeError, match="constraints: expected a list of statements in their order, not a set"):
        MivaboSampler(search_space={"a": IntDistribution(0, 9)}, constraints={"a <= 3", "a >= 1"})


def test_a_range_that_differs_from_the_search_space_is_refused_where_constraints_could_break() -> None:
    space = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9)}
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=["a + b == 10"]))
    with pytest.raises(ValueError, match="`a` is suggested from"):
        study.ask().suggest_int("a", 20, 30)


def test_another_sampler_that_fixes_parameters_is_refused_where_constraints_could_break() -> None:
    space = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9)}
    sampler = MivaboSampler(seed=1, search_space=space, constraints=["a + b == 10"])
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        fixed = optuna.samplers.PartialFixedSampler({"a": 3}, sampler)
    with pytest.raises(ValueError, match="enqueue"):
        study_of(fixed).ask(space)


def test_conditional_parameters_stand_beside_constrained_ones() -> None:
    space = {"a": IntDistribution(0, 3), "b": IntDistribution(0, 3)}
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=["a + b == 3"]))

    def objective(trial: Trial) -> float:
        a, b = trial.suggest_int("a", 0, 3), trial.suggest_int("b", 0, 3)
        assert a + b == 3
        return trial.suggest_float("x", 0, 1) if a > 1 else b

    study.optimize(objective, n_trials=8)
    assert any("x" in trial.params for trial in study.trials)


# Values


def test_every_kind_of_parameter_comes_back_as_optuna_has_it() -> None:
    choices = [None, True, False, 1, 1.5, "1", "None", 2**60, float("inf")]
    space: dict[str, BaseDistribution] = {
        "choice": CategoricalDistribution(choices),
        "steps": FloatDistribution(0.1, 0.7, step=0.1),
        "fine": FloatDistribution(-1.0, 1.0, step=1e-4),
        "whole": IntDistribution(-(2**39), 2**39 - 1),
        "log": IntDistribution(1, 2**30, log=True),
        "real": FloatDistribution(-1e-3, 1e3),
    }
    study = study_of(MivaboSampler(seed=3, search_space=space, n_startup=3))
    for _ in range(6):
        trial = study.ask(space)
        for name, distribution in space.items():
            value = trial.params[name]
            assert distribution._contains(distribution.to_internal_repr(value))
        assert any(type(value) is type(trial.params["choice"]) for value in choices)
        assert trial.params["steps"] in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
        study.tell(trial, trial.params["real"])


def test_steps_are_exact_in_constraints() -> None:
    space = {"x": FloatDistribution(0.0, 1.0, step=0.1), "y": FloatDistribution(0.0, 1.0, step=0.1)}
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=["x + y == 0.3"]))
    pairs = {tuple(study.ask(space).params.values()) for _ in range(4)}
    assert pairs == {(0.0, 0.3), (0.1, 0.2), (0.2, 0.1), (0.3, 0.0)}


def test_what_mivabo_does_not_have_is_sampled_independently() -> None:
    space = {"huge": IntDistribution(0, 2**60), "a`b": FloatDistribution(0, 1), "x": FloatDistribution(0, 1)}
    study = study_of(MivaboSampler(seed=1))
    for _ in range(3):
        study.tell(study.ask(space), 1.0)
    trial = study.ask()
    assert list(study.sampler.infer_relative_search_space(study, trial)) == ["x"]


# What is learned


def test_suggestions_are_those_of_a_study_of_mivabo() -> None:
    space = mivabo.Space()
    x, n = space.float("x", -1, 1), space.int("n", 0, 9)
    space.add(x * n <= 2, name="budget")
    own = mivabo.Study(space, seed=7, direction="maximize")
    given = {"x": FloatDistribution(-1, 1), "n": IntDistribution(0, 9)}
    sampler = MivaboSampler(seed=7, search_space=given, constraints={"budget": "x * n <= 2"})
    study = study_of(sampler, direction="maximize")
    for _ in range(12):
        trial, expected = study.ask(given), own.ask()
        assert trial.params == expected.params
        value = trial.params["x"] + trial.params["n"] / 10
        study.tell(trial, value)
        own.tell(expected, value)


def test_a_sampler_made_anew_goes_on_as_the_old_one_would() -> None:
    def params(restart: bool) -> list[dict[str, Any]]:
        storage = optuna.storages.InMemoryStorage()
        study = study_of(MivaboSampler(seed=5, search_space=NET, constraints=RULES), storage=storage)
        for _ in range(4):
            if restart:
                sampler = MivaboSampler(seed=5, search_space=NET, constraints=RULES)
                study = optuna.load_study(study_name=study.study_name, storage=storage, sampler=sampler)
            study.optimize(net, n_trials=3)
        return [trial.params for trial in study.trials]

    assert params(restart=True) == params(restart=False)


def test_low_is_good_or_high_is_good() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_int("n", 0, 100) / 100

    low = study_of(MivaboSampler(seed=1))
    low.optimize(objective, n_trials=20)
    high = study_of(MivaboSampler(seed=1), direction="maximize")
    high.optimize(objective, n_trials=20)
    assert low.best_value < 0.05
    assert high.best_value > 1.95


def test_failed_trials_and_nan_are_not_tried_again() -> None:
    study = study_of(MivaboSampler(seed=1, search_space={"n": IntDistribution(0, 5)}))

    def objective(trial: Trial) -> float:
        n = trial.suggest_int("n", 0, 5)
        if trial.number % 2:
            raise ArithmeticError
        return float(n) if trial.number % 4 else float("nan")

    study.optimize(objective, n_trials=6, catch=ArithmeticError)
    assert {trial.params["n"] for trial in study.trials} == set(range(6))
    assert len(study.get_trials(states=[TrialState.FAIL])) == 5


def test_pruned_trials_count_with_their_last_value_but_never_as_the_best() -> None:
    study = study_of(MivaboSampler(seed=1, search_space={"n": IntDistribution(0, 50)}))

    def objective(trial: Trial) -> float:
        n = trial.suggest_int("n", 0, 50)
        if trial.number % 2:
            trial.report(-100.0 if n < 20 else float(n), step=1)
            raise optuna.TrialPruned
        return float(n)

    study.optimize(objective, n_trials=12)
    follower = study.sampler._following(study, study.ask()._cached_frozen_trial, study.sampler._search_space)
    told = [trial.value for trial in follower.study.trials if trial.value is not None]
    assert len(told) == 12
    assert min(told) == study.best_value


def test_a_pruned_trial_without_a_value_counts_as_failed() -> None:
    space = {"n": IntDistribution(0, 50)}
    study = study_of(MivaboSampler(seed=1, search_space=space))
    study.tell(study.ask(space), state=TrialState.PRUNED)
    study.ask(space)
    assert [trial.state for trial in study.sampler._follower.study.trials] == ["failed", "running"]


def test_trials_of_other_search_spaces_are_learned_from_where_they_fit() -> None:
    study = study_of(MivaboSampler(seed=1, n_startup=1))
    wide: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 10), "z": FloatDistribution(0, 1)}
    for x in (0.5, 9.0):
        study.add_trial(optuna.create_trial(params={"x": x, "z": 0.5}, distributions=wide, value=x))
    narrow: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}
    study.sampler.sample_relative(study, study.ask()._cached_frozen_trial, narrow)
    learned = [trial.params for trial in study.sampler._follower.study.trials if trial.state == "complete"]
    assert learned == [{"x": 0.5}]


def test_a_parameter_that_the_objective_does_not_look_at_is_no_obstacle() -> None:
    space = {
        "deep": CategoricalDistribution([False, True]),
        "a": FloatDistribution(0, 1),
        "b": FloatDistribution(0, 1),
    }

    def objective(trial: Trial) -> float:
        deep = trial.suggest_categorical("deep", [False, True])
        return trial.suggest_float("b", 0, 1) if deep else 2 + trial.suggest_float("a", 0, 1)

    study = study_of(MivaboSampler(seed=1, search_space=space))
    study.optimize(objective, n_trials=25)
    assert study.best_value < 0.1


# Workers


def test_running_trials_of_other_workers_are_not_suggested_again(tmp_path: Path) -> None:
    space = {"a": IntDistribution(0, 3), "b": CategoricalDistribution(["x", "y"])}
    storage = f"sqlite:///{tmp_path}/shared.db"
    name = study_of(MivaboSampler(), storage=storage).study_name
    workers = [
        optuna.load_study(study_name=name, storage=storage, sampler=MivaboSampler(seed=seed, search_space=space))
        for seed in range(2)
    ]
    asked = [workers[at % 2].ask(space).params for at in range(8)]
    assert len({tuple(params.values()) for params in asked}) == 8


def test_threads_get_different_feasible_points() -> None:
    space = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9)}
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=["a + b == 10"]))

    def objective(trial: Trial) -> float:
        return float(trial.suggest_int("a", 0, 9) * trial.suggest_int("b", 0, 9))

    study.optimize(objective, n_trials=9, n_jobs=3)
    assert sorted(trial.params["a"] for trial in study.trials) == list(range(1, 10))


def test_pruners_work() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        for step in range(5):
            trial.report(x + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x

    study = study_of(MivaboSampler(seed=1), pruner=optuna.pruners.MedianPruner(n_startup_trials=3))
    study.optimize(objective, n_trials=15)
    assert study.best_value < 0.1
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)


# Enqueued trials


def test_what_an_enqueued_trial_leaves_open_is_feasible_with_the_rest() -> None:
    for fixed in ({"kernel": 5}, {"optimizer": None}, {"lr": 0.01, "optimizer": "adam"}, {"stride": 3}):
        study = study_of(MivaboSampler(seed=1, search_space=NET, constraints=RULES))
        study.enqueue_trial(fixed)
        study.optimize(net, n_trials=3)
        first = study.trials[0].params
        assert fixed.items() <= first.items()
        assert keeps_the_rules(first)


def test_an_enqueued_trial_that_breaks_a_constraint_is_refused_before_it_is_evaluated() -> None:
    study = study_of(MivaboSampler(seed=1, search_space=NET, constraints=RULES))
    study.enqueue_trial({"kernel": 7, "stride": 3, "lr": 0.01, "optimizer": "sgd", "other": 3})
    said = (
        "the enqueued trial kernel=7, stride=3, lr=0.01, optimizer='sgd', other=3 is not feasible: constraint "
        r"`receptive field` is violated: kernel \* stride <= 12 does not hold \(left side 21, right side 12\)"
    )
    with pytest.raises(mivabo.InfeasibleError, match=said):
        study.optimize(net, n_trials=3)
    study.optimize(net, n_trials=2)
    assert [trial.state for trial in study.trials] == [TrialState.FAIL, TrialState.COMPLETE, TrialState.COMPLETE]
    assert not study.trials[0].params


def test_an_enqueued_trial_is_refused_where_the_rest_has_but_one_value() -> None:
    space = {"a": IntDistribution(0, 9), "b": IntDistribution(5, 5), "c": CategoricalDistribution([None])}
    rules = ["a + b <= 9", "c == 'None'"]
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=rules))
    study.enqueue_trial({"a": 7})
    with pytest.raises(
        mivabo.InfeasibleError, match=r"the enqueued trial a=7 is not feasible: constraint `a \+ b <= 9`"
    ):
        study.ask(space)
    study.enqueue_trial({"a": 4, "c": None})
    assert study.ask(space).params == {"a": 4, "b": 5, "c": None}


def test_enqueued_trials_are_refused_by_the_rules_of_a_space() -> None:
    space = mivabo.Space()
    model = space.choice("model", ["svm", "forest"])
    space.float("C", 0.1, 10, when=model == "svm")
    space.int("depth", 1, 9, when=model == "forest")
    space.add("C <= 5", name="soft")

    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
            return trial.suggest_float("C", 0.1, 10)
        return trial.suggest_int("depth", 1, 9)

    study = study_of(MivaboSampler(seed=1, space=space))
    for fixed in ({"model": "svm", "C": 7.0}, {"model": "forest", "C": 7.0, "depth": 3}):
        study.enqueue_trial(fixed)
    with pytest.raises(mivabo.InfeasibleError, match=r"the enqueued trial model='svm', C=7.0 is not .*`soft`"):
        study.optimize(objective, n_trials=2)
    study.optimize(objective, n_trials=1)
    assert study.trials[1].params == {"model": "forest", "depth": 3}


def test_results_from_elsewhere_that_break_a_constraint_are_learned_from() -> None:
    study = study_of(MivaboSampler(seed=1, search_space=NET, constraints=RULES))
    params = {"kernel": 7, "stride": 3, "lr": 0.01, "optimizer": "sgd"}
    study.add_trial(optuna.create_trial(params=params, distributions=NET, value=11.0))
    study.optimize(net, n_trials=2)
    assert [keeps_the_rules(trial.params) for trial in study.trials] == [False, True, True]
    assert [trial.feasible for trial in study.sampler._follower.study.trials] == [False, True, True]


def test_an_enqueued_trial_that_nothing_completes_is_refused() -> None:
    study = study_of(MivaboSampler(seed=1, search_space=NET, constraints=RULES))
    study.enqueue_trial({"kernel": 7, "stride": 3})
    said = "no feasible trial is completed from the enqueued kernel=7, stride=3: .*`receptive field`"
    with pytest.raises(mivabo.InfeasibleError, match=said):
        study.optimize(net, n_trials=1)


# Limits


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    optuna.logging.enable_propagation()
    yield lambda: [record.message for record in caplog.records if record.name == "optuna.mivabo"]
    optuna.logging.disable_propagation()


def test_limits_that_are_not_modelled_are_said_once(said: Callable[[], list[str]]) -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("size", x - 0.5)
        return x

    study = study_of(MivaboSampler(seed=1))
    study.optimize(objective, n_trials=1)
    (warning,) = said()
    assert warning.startswith(
        "Trial#0 has values of `set_constraint` or `constraints_func`, which `MivaboSampler` does"
    )
    study.optimize(objective, n_trials=3)
    assert said() == [warning]
    # One that comes later learns of it from the trials.
    study.sampler = MivaboSampler(seed=1)
    study.ask({"x": FloatDistribution(0, 1)})
    assert said() == [warning, warning]


def test_a_constraints_func_of_the_other_sampler_is_said_to_be_of_no_use(said: Callable[[], list[str]]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        independent = optuna.samplers.TPESampler(seed=1, constraints_func=lambda trial: [trial.params["x"] - 0.5])
    study = study_of(MivaboSampler(seed=1, independent_sampler=independent))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(said()) == 1
    plain = study_of(MivaboSampler(seed=1))
    plain.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(said()) == 1


# The rest


def test_a_finite_space_goes_on_when_all_its_points_were_tried() -> None:
    space = {"a": IntDistribution(0, 2), "b": IntDistribution(0, 2)}
    study = study_of(MivaboSampler(seed=1, search_space=space, constraints=["a + b == 2"]))
    for _ in range(6):
        trial = study.ask(space)
        assert sum(trial.params.values()) == 2
        study.tell(trial, 1.0)


def test_one_sampler_serves_several_studies() -> None:
    sampler = MivaboSampler(seed=1)
    for _ in range(2):
        study = study_of(sampler)
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=4)
        study.optimize(lambda trial: trial.suggest_float("y", 5, 9), n_trials=4)


def test_a_copy_suggests_the_same_and_a_reseeded_one_does_not() -> None:
    sampler = MivaboSampler(seed=3, search_space=NET, constraints=RULES)
    study_of(sampler).optimize(net, n_trials=3)
    other = copy.deepcopy(sampler)
    other.reseed_rng()
    copies = (pickle.loads(pickle.dumps(sampler)), copy.copy(sampler), other)
    studies = [study_of(each) for each in copies]
    first, same, different = ([study.ask(NET).params for _ in range(5)] for study in studies)
    assert first == same
    assert first != different


def test_several_objectives_are_refused() -> None:
    study = study_of(MivaboSampler(search_space=NET), directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="multi-objective"):
        study.ask(NET)
