"""Parameters that only some trials have: which ones the sampler's model knows, and from when on."""

from __future__ import annotations

import copy
import itertools
import pickle
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
from optuna.trial import FrozenTrial, Trial, TrialState

import mivabo
from mivabo._branches import Branches, OneOf, Within, infer
from mivabo.optuna import MivaboSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)

MODELS = CategoricalDistribution(["svm", "forest"])
BRANCHES: dict[str, BaseDistribution] = {
    "C": FloatDistribution(1e-3, 1e3, log=True),
    "depth": IntDistribution(1, 20),
    "model": MODELS,
}


class NoSampler(optuna.samplers.BaseSampler):
    """An independent sampler that nobody may ask."""

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        return {}

    def sample_independent(self, study: Any, trial: FrozenTrial, name: str, distribution: Any) -> Any:
        raise AssertionError(f"trial {trial.number}: `{name}` is sampled independently")


def models(trial: Trial) -> float:
    if trial.suggest_categorical("model", MODELS.choices) == "svm":
        return 0.3 + trial.suggest_float("C", 1e-3, 1e3, log=True) / 1e4
    return abs(trial.suggest_int("depth", 1, 20) - 12) / 20


def network(trial: Trial) -> float:
    n = trial.suggest_int("layers", 1, 4)
    return sum(abs(trial.suggest_int(f"units{i}", 1, 64) - 20) for i in range(1, n + 1)) / n


def models_space() -> mivabo.Space:
    space = mivabo.Space()
    model = mivabo.Expr("model")
    space.float("C", 1e-3, 1e3, log=True, when=model == "svm")
    space.int("depth", 1, 20, when=model == "forest")
    space.choice("model", ["svm", "forest"])
    return space


def study_of(sampler: optuna.samplers.BaseSampler | None = None, **options: Any) -> Any:
    return optuna.create_study(sampler=sampler, **options)


def told(
    params: dict[str, Any],
    value: float | None = 0.0,
    state: TrialState = TrialState.COMPLETE,
    **others: BaseDistribution,
) -> FrozenTrial:
    known = {"a": IntDistribution(0, 9), "b": IntDistribution(0, 9), **BRANCHES, **others}
    known["kernel"] = CategoricalDistribution(["rbf", "poly"])
    known["degree"] = IntDistribution(2, 5)
    known["layers"] = IntDistribution(1, 4)
    known.setdefault("x", FloatDistribution(0, 1))
    distributions = {name: known[name] for name in params}
    return optuna.create_trial(params=params, distributions=distributions, value=value, state=state)


def told_models() -> list[FrozenTrial]:
    return [told({"model": "svm", "C": 1.0}, 0.4), told({"model": "forest", "depth": 5}, 0.35)]


def inferred(*params: dict[str, Any]) -> Branches:
    return infer([told(each) for each in params])


@pytest.fixture
def warnings_of_optuna(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    optuna.logging.enable_propagation()
    yield lambda: [record.message for record in caplog.records if record.name == "optuna.mivabo"]
    optuna.logging.disable_propagation()


# Conditions that trials tell


def test_conditional_parameters_are_suggested_by_the_model() -> None:
    study = study_of(MivaboSampler(seed=1, independent_sampler=NoSampler()))
    study.add_trials(told_models())
    study.optimize(models, n_trials=12)
    assert {trial.params["model"] for trial in study.trials[2:]} == {"svm", "forest"}


def test_define_by_run_gets_the_suggestions_of_a_study_with_conditions() -> None:
    own = mivabo.Study(models_space(), seed=7)
    study = study_of(MivaboSampler(seed=7, independent_sampler=NoSampler()))
    for trial in told_models():
        own.add(trial.params, trial.value)
        study.add_trial(trial)
    for _ in range(15):
        expected, asked = own.ask(), study.ask()
        value = models(asked)
        assert asked.params == expected.params
        own.tell(expected, value)
        study.tell(asked, value)


def test_a_choice_decides_about_parameters() -> None:
    found = infer(told_models())
    assert found.conditions["C"] == (OneOf("model", frozenset({0.0})),)
    assert found.conditions["depth"] == (OneOf("model", frozenset({1.0})),)
    assert not found.left


def test_a_loop_over_layers_is_understood_as_thresholds() -> None:
    study = study_of(optuna.samplers.RandomSampler(seed=1))
    study.optimize(network, n_trials=20)
    found = infer(study.trials)
    assert found.conditions["units1"] == ()
    assert [found.conditions[f"units{i}"] for i in (2, 3, 4)] == [(Within("layers", i, None),) for i in (2, 3, 4)]


def test_an_integer_may_decide_by_an_upper_bound_or_by_both() -> None:
    found = inferred({"a": 2, "x": 0.5}, {"a": 3, "x": 0.5}, {"a": 5})
    assert found.conditions["x"] == (Within("a", None, 3),)
    found = inferred({"a": 2}, {"a": 3, "x": 0.5}, {"a": 4, "x": 0.5}, {"a": 6})
    assert found.conditions["x"] == (Within("a", 3, 4),)


def test_conditions_are_nested() -> None:
    found = inferred(
        {"model": "svm", "kernel": "rbf"},
        {"model": "svm", "kernel": "poly", "degree": 3},
        {"model": "forest", "depth": 3},
    )
    assert found.conditions["kernel"] == (OneOf("model", frozenset({0.0})),)
    assert found.conditions["degree"] == (OneOf("kernel", frozenset({1.0})),)


def test_two_parameters_decide_together() -> None:
    found = inferred(
        {"model": "svm", "kernel": "rbf"},
        {"model": "svm", "kernel": "poly", "x": 0.5},
        {"model": "forest", "kernel": "rbf"},
        {"model": "forest", "kernel": "poly"},
    )
    assert found.conditions["x"] == (OneOf("kernel", frozenset({1.0})), OneOf("model", frozenset({0.0})))


def test_a_parameter_of_two_branches_is_one() -> None:
    found = infer(
        [
            told({"model": "svm", "x": 0.1}),
            told({"model": "forest", "x": 0.2}),
            told({"model": "net"}, model=CategoricalDistribution(["svm", "forest", "net"])),
        ]
    )
    assert "model" in found.left
    wide = CategoricalDistribution(["svm", "forest", "net"])
    found = infer(
        [told({"model": model, "x": 0.1}, model=wide) for model in ("svm", "forest")]
        + [told({"model": "net"}, model=wide)]
    )
    assert found.conditions["x"] == (OneOf("model", frozenset({0.0, 1.0})),)


def test_what_few_values_explain_is_not_explained_by_many() -> None:
    found = inferred(
        {"a": 1, "model": "svm", "x": 0.5},
        {"a": 2, "model": "svm", "x": 0.5},
        {"a": 7, "model": "forest"},
    )
    assert found.conditions["x"] == (OneOf("model", frozenset({0.0})),)


def test_without_an_explanation_a_parameter_is_left_to_the_independent_sampler() -> None:
    found = inferred({"model": "svm", "x": 0.5}, {"model": "svm"}, {"model": "forest", "x": 0.5}, {"model": "forest"})
    assert list(found.search_space) == ["model"]
    assert "tell the trials that have it" in found.left["x"]


def test_a_range_that_changes_is_left_to_the_independent_sampler() -> None:
    found = infer([told({"a": 1, "x": 0.5}), told({"a": 1, "x": 0.5}, x=FloatDistribution(0, 2))])
    assert list(found.search_space) == ["a"]
    assert "differs between trials" in found.left["x"]


def test_trials_that_were_pruned_early_do_not_hide_parameters() -> None:
    early = [told({"a": a}, None, TrialState.PRUNED) for a in (3, 5)]
    found = infer([told({"a": a, "x": 0.5}) for a in (3, 5, 7)] + early)
    assert found.conditions == {"a": (), "x": ()}


def test_trials_that_were_pruned_in_their_branch_tell_of_it() -> None:
    pruned = [told(trial.params, None, TrialState.PRUNED) for trial in told_models()]
    assert infer(pruned).conditions == infer(told_models()).conditions


def test_a_branch_that_always_failed_is_known() -> None:
    failed = told({"model": "forest", "depth": 3}, None, TrialState.FAIL)
    found = infer([told_models()[0], failed])
    assert found.conditions["depth"] == (OneOf("model", frozenset({1.0})),)


def test_a_failed_trial_with_other_ranges_tells_nothing() -> None:
    failed = told({"model": "svm", "C": 1.0, "a": 1}, None, TrialState.FAIL, C=FloatDistribution(0, 9))
    found = infer([*told_models(), failed])
    assert found.search_space == BRANCHES
    assert not found.left


# What becomes of them in a study


def test_a_branch_that_nobody_took_is_drawn_independently_once() -> None:
    study = study_of(MivaboSampler(seed=3))
    study.add_trial(told_models()[0])
    while study.trials[-1].params["model"] == "svm":
        study.optimize(models, n_trials=1)
    study.sampler._independent_sampler = NoSampler()
    study.optimize(models, n_trials=8)
    assert study.sampler._follower.layout.search_space == BRANCHES


def test_a_trial_that_contradicts_the_conditions_changes_them() -> None:
    study = study_of(MivaboSampler(seed=3))
    study.add_trials([told({"a": 2}), told({"a": 6, "x": 0.5})])
    study.ask().suggest_int("a", 0, 9)
    before = study.sampler._follower.layout.conditions["x"]
    study.add_trial(told({"a": 4, "x": 0.5}))
    study.ask().suggest_int("a", 0, 9)
    assert before == (Within("a", 6, None),)
    assert study.sampler._follower.layout.conditions["x"] == (Within("a", 4, None),)


def test_every_trial_of_every_branch_is_learned_from() -> None:
    study = study_of(MivaboSampler(seed=2))
    study.optimize(network, n_trials=15)
    study.ask().suggest_int("layers", 1, 4)
    learned = [trial for trial in study.sampler._follower.study.trials if trial.value is not None]
    assert sorted(trial.value for trial in learned) == sorted(
        trial.value for trial in study.trials if trial.value is not None
    )


def test_a_branch_whose_parameters_are_all_left_out_is_tried_more_than_once() -> None:
    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
            return 2 + trial.suggest_float("C", 0, 1)
        return trial.suggest_float("x", 0, 1 + trial.number)

    study = study_of(MivaboSampler(seed=1, warn_independent_sampling=False))
    study.optimize(objective, n_trials=20)
    assert sum(trial.params["model"] == "forest" for trial in study.trials) > 4


def test_a_sampler_made_anew_goes_on_as_the_old_one_would() -> None:
    def params(restart: bool) -> list[dict[str, Any]]:
        storage = optuna.storages.InMemoryStorage()
        study = study_of(MivaboSampler(seed=5), storage=storage)
        study.add_trials(told_models())
        for _ in range(4):
            if restart:
                study = optuna.load_study(study_name=study.study_name, storage=storage, sampler=MivaboSampler(seed=5))
            study.optimize(models, n_trials=3)
        return [trial.params for trial in study.trials]

    assert params(restart=True) == params(restart=False)


def test_a_copied_study_goes_on_in_its_branches(tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path}/copy.db"
    study = study_of(MivaboSampler(seed=5), study_name="first")
    study.add_trials(told_models())
    study.optimize(models, n_trials=8)
    optuna.copy_study(from_study_name="first", from_storage=study._storage, to_storage=target, to_study_name="second")
    sampler = MivaboSampler(seed=5, independent_sampler=NoSampler())
    copied = optuna.load_study(study_name="second", storage=target, sampler=sampler)
    copied.optimize(models, n_trials=4)
    assert len(copied.trials) == 14
    assert len(sampler._follower.study.trials) == 14


def test_workers_share_branches(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/shared.db"
    name = study_of(MivaboSampler(), storage=storage).study_name
    workers = [
        optuna.load_study(
            study_name=name, storage=storage, sampler=MivaboSampler(seed=seed, independent_sampler=NoSampler())
        )
        for seed in range(2)
    ]
    workers[0].add_trials(told_models())
    asked = [workers[at % 2].ask() for at in range(6)]
    for trial in asked:
        models(trial)
    assert len({str(trial.params) for trial in asked}) == 6


def test_threads_work_on_branches() -> None:
    study = study_of(MivaboSampler(seed=1))
    study.optimize(models, n_trials=16, n_jobs=4)
    assert len(study.get_trials(states=[TrialState.COMPLETE])) == 16


def test_an_enqueued_trial_takes_the_branch_of_its_parameters() -> None:
    study = study_of(MivaboSampler(seed=1, independent_sampler=NoSampler()))
    study.add_trials(told_models())
    for fixed in ({"C": 3.0}, {"depth": 4}, {"model": "svm"}, {"model": "forest", "C": 1.0}):
        study.enqueue_trial(fixed)
    study.optimize(models, n_trials=4)
    first, second, third, fourth = (trial.params for trial in study.trials[2:])
    assert first == {"model": "svm", "C": 3.0}
    assert second == {"model": "forest", "depth": 4}
    assert third["model"] == "svm"
    assert sorted(fourth) == ["depth", "model"]


def test_conditional_parameters_beside_a_search_space_are_modelled() -> None:
    sampler = MivaboSampler(seed=1, search_space={"model": MODELS}, independent_sampler=NoSampler())
    study = study_of(sampler)
    study.add_trials(told_models())
    study.optimize(models, n_trials=6)
    assert study.sampler._follower.layout.search_space == BRANCHES


def test_a_child_of_a_parameter_that_another_sampler_fixes_is_independent() -> None:
    sampler = MivaboSampler(seed=1)
    study = study_of(sampler)
    study.add_trials(told_models())
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        study.sampler = optuna.samplers.PartialFixedSampler({"model": "svm"}, sampler)
    study.optimize(models, n_trials=4)
    assert [trial.params["model"] for trial in study.trials[2:]] == ["svm"] * 4


def test_many_switches_are_no_obstacle() -> None:
    def objective(trial: Trial) -> float:
        return sum(
            trial.suggest_float(f"x{i}", 0, 1) for i in range(16) if trial.suggest_categorical(f"on{i}", [True, False])
        )

    study = study_of(MivaboSampler(seed=1))
    study.optimize(objective, n_trials=12)
    assert len(study.trials) == 12


# Warnings


def test_a_parameter_that_is_left_out_is_warned_of_once(warnings_of_optuna: Callable[[], list[str]]) -> None:
    study = study_of(MivaboSampler(seed=1))
    study.optimize(
        lambda trial: trial.suggest_float("x", 0, 1 + trial.number) + trial.suggest_int("n", 0, 9), n_trials=5
    )
    (message,) = warnings_of_optuna()
    assert "`x` in Trial#2 is sampled independently using `TPESampler`" in message
    assert "its distribution differs between trials" in message


def test_no_warning_comes_where_branches_are_understood(warnings_of_optuna: Callable[[], list[str]]) -> None:
    study_of(MivaboSampler(seed=1)).optimize(models, n_trials=8)
    assert warnings_of_optuna() == []


def test_warnings_can_be_turned_off(warnings_of_optuna: Callable[[], list[str]]) -> None:
    study = study_of(MivaboSampler(seed=1, warn_independent_sampling=False))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1 + trial.number), n_trials=5)
    assert warnings_of_optuna() == []


# A space that the user gives


def test_a_space_gives_the_suggestions_of_its_own_study_from_the_first_trial_on() -> None:
    own = mivabo.Study(models_space(), seed=4)
    study = study_of(MivaboSampler(seed=4, space=models_space(), independent_sampler=NoSampler()))
    for _ in range(15):
        expected, asked = own.ask(), study.ask()
        value = models(asked)
        assert asked.params == expected.params
        own.tell(expected, value)
        study.tell(asked, value)


def test_constraints_between_conditional_parameters_are_kept() -> None:
    space = mivabo.Space()
    layers = space.int("layers", 1, 4)
    units = [space.int(f"units{i}", 1, 64, when=layers >= i) for i in range(1, 5)]
    for one, other in itertools.pairwise(units):
        space.add(other <= one)
    study = study_of(MivaboSampler(seed=1, space=space, independent_sampler=NoSampler()))
    study.optimize(network, n_trials=12)
    for trial in study.trials:
        widths = [value for name, value in trial.params.items() if name != "layers"]
        assert widths == sorted(widths, reverse=True)


def test_auxiliaries_and_definitions_stand_in_a_space() -> None:
    space = mivabo.Space()
    total = space.int("total", 0, 100)
    packs = space.auxiliary("packs", 0, 8)
    space.define("half", total / 2)
    space.add(total == 12 * packs, name="whole packs")
    study = study_of(MivaboSampler(seed=1, space=space, independent_sampler=NoSampler()))
    study.optimize(lambda trial: trial.suggest_int("total", 0, 100), n_trials=5)
    assert all(trial.params["total"] % 12 == 0 for trial in study.trials)
    assert len(study.sampler._follower.study.trials) == 5


def test_choices_may_be_listed_in_another_order_and_be_other_objects() -> None:
    space = mivabo.Space()
    space.choice("norm", ["batch", "None", "(50, 50)"])
    space.bool("deep")
    space.choice("heads", [1, 2, 4], ordered=True)
    study = study_of(MivaboSampler(seed=1, space=space, n_startup=3))

    def objective(trial: Trial) -> float:
        norm = trial.suggest_categorical("norm", [None, (50, 50), "batch"])  # type: ignore[list-item]
        deep = trial.suggest_categorical("deep", [True, False])
        assert norm in (None, (50, 50), "batch")
        assert isinstance(deep, bool)
        return trial.suggest_categorical("heads", [4, 2, 1]) + deep + (norm is not None)

    with pytest.warns(UserWarning, match="tuple"):
        study.optimize(objective, n_trials=8)
    learned = study.sampler._follower.study.trials
    assert len({str(trial.params) for trial in study.trials}) == 8
    assert len(learned) == 8


def test_a_distribution_that_the_space_does_not_have_is_refused_with_both() -> None:
    def refused(objective: Callable[[Trial], float], message: str) -> None:
        study = study_of(MivaboSampler(seed=1, space=models_space()))
        with pytest.raises(ValueError, match=message):
            study.optimize(objective, n_trials=4)

    refused(
        lambda trial: trial.suggest_int("depth", 1, 30), r"`depth` is suggested from Int.*high=30.*says Int.*high=20"
    )
    refused(lambda trial: trial.suggest_float("C", 1e-3, 1e3), r"`C` is suggested from .*log=False.*says .*log=True")
    refused(lambda trial: trial.suggest_int("model", 0, 1), r"`model` is suggested from Int.*says Cat")
    refused(lambda trial: len(trial.suggest_categorical("model", ["svm", "net"])), r"'net'.* says .*'forest'")


def test_a_parameter_that_is_absent_in_the_space_is_refused_with_its_condition() -> None:
    study = study_of(MivaboSampler(seed=1, space=models_space()))
    with pytest.raises(ValueError, match=r"`C` is suggested, but the space has it only where `.*model.*svm.*`"):
        study.optimize(lambda trial: trial.suggest_float("C", 1e-3, 1e3, log=True), n_trials=9)


def test_a_parameter_outside_of_the_space_is_warned_of(warnings_of_optuna: Callable[[], list[str]]) -> None:
    study = study_of(MivaboSampler(seed=1, space=models_space()))
    study.optimize(lambda trial: models(trial) + trial.suggest_float("x", 0, 1), n_trials=3)
    (message,) = warnings_of_optuna()
    assert "`x` in Trial#0" in message
    assert "it is not in the space" in message


def test_a_space_stands_for_search_space_and_constraints() -> None:
    with pytest.raises(ValueError, match="leave out search_space"):
        MivaboSampler(space=models_space(), search_space={"model": MODELS})
    with pytest.raises(ValueError, match="leave out search_space"):
        MivaboSampler(space=models_space(), constraints=["depth <= 3"])
    with pytest.raises(TypeError, match="space: expected a"):
        MivaboSampler(space={"a": IntDistribution(0, 9)})  # type: ignore[arg-type]
    with pytest.raises(mivabo.InfeasibleError, match="depth >= 30"):
        MivaboSampler(space=models_space().add("model == 'forest'").add("depth >= 30"))


def test_a_space_with_integers_that_optuna_does_not_have_is_refused() -> None:
    space = mivabo.Space()
    space.int("n", 1, 9, step=2, log=True)
    with pytest.raises(mivabo.SpaceError, match="`n`: Optuna has no integers"):
        MivaboSampler(space=space)


def test_another_sampler_that_fixes_parameters_of_a_space_is_refused() -> None:
    with pytest.warns(optuna.exceptions.ExperimentalWarning):
        fixed = optuna.samplers.PartialFixedSampler({"model": "svm"}, MivaboSampler(space=models_space()))
    with pytest.raises(ValueError, match="enqueue"):
        study_of(fixed).optimize(models, n_trials=1)


def test_a_space_learns_from_trials_of_other_samplers() -> None:
    study = study_of(optuna.samplers.RandomSampler(seed=1))
    study.optimize(models, n_trials=9)
    study.sampler = MivaboSampler(seed=1, space=models_space(), independent_sampler=NoSampler())
    study.optimize(models, n_trials=4)
    learned = [trial.value for trial in study.sampler._follower.study.trials if trial.value is not None]
    assert len(learned) == 12


def test_an_enqueued_trial_is_completed_within_its_space() -> None:
    study = study_of(MivaboSampler(seed=1, space=models_space().add("depth >= 7"), independent_sampler=NoSampler()))
    for fixed in ({"depth": 9}, {"C": 2.0}, {"model": "forest"}, {"model": "svm", "C": 1.0, "depth": 3}):
        study.enqueue_trial(fixed)
    study.optimize(models, n_trials=6)
    first, second, third, fourth = (trial.params for trial in study.trials[:4])
    assert first == {"model": "forest", "depth": 9}
    assert second == {"model": "svm", "C": 2.0}
    assert third["depth"] >= 7
    assert fourth == {"model": "svm", "C": 1.0}


def test_a_space_travels_with_copies_of_its_sampler() -> None:
    sampler = MivaboSampler(seed=3, space=models_space())
    study_of(sampler).optimize(models, n_trials=3)
    studies = [study_of(each) for each in (pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler))]
    for study in studies:
        study.optimize(models, n_trials=5)
    first, second = ([trial.params for trial in study.trials] for study in studies)
    assert first == second


def test_a_change_of_the_space_does_not_change_the_sampler() -> None:
    space = models_space()
    sampler = MivaboSampler(seed=3, space=space)
    space.float("late", 0, 1)
    study_of(sampler).optimize(models, n_trials=3)
    assert "late" not in sampler._follower.layout.search_space
