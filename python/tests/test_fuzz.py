"""Anything, anywhere: an exception of the right kind or an answer, never a panic and never an abort."""

from __future__ import annotations

from typing import Any

import numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mivabo
from mivabo import Expr, Space, Study

ALLOWED = (mivabo.Error, TypeError, ValueError, LookupError, OverflowError, OSError)

NAMES = st.sampled_from(["a", "b", "c", "d", "no such", "", "`", "a b", "\ud800", "\x00"])
TEXTS = st.sampled_from(["a <= 3", "a + b", "c == 'x'", "a -> ", "((((", "b", "a / (b - 1) <= 2", "log(a) > 0"])
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-5, 9),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=5),
    st.binary(max_size=3),
    st.sampled_from([numpy.int64(3), numpy.float32("nan"), numpy.bool_(True), numpy.str_("x"), numpy.arange(2)]),
    st.sampled_from(["x", "y", 10**30, -(2**63), 1e308, float("-inf"), 1j]),
    st.lists(st.integers(0, 3), max_size=2),
    NAMES,
    TEXTS,
)
EXPRESSIONS = st.recursive(
    st.sampled_from([Expr("a"), Expr("b"), Expr("c"), Expr("`no such`"), 1, 2.5, "x", True]),
    lambda inner: st.tuples(st.sampled_from("+-*/%^&|~<=!?#"), inner, inner),
    max_leaves=6,
)
PARAMS = st.one_of(
    ODD, st.dictionaries(st.one_of(NAMES, ODD.filter(lambda x: x.__hash__ is not None)), ODD, max_size=4)
)
KINDS = st.sampled_from(["int", "float", "choice", "bool", "auxiliary", "define", "add", "expression"])
CALLS = st.sampled_from(
    [
        "ask",
        "tell",
        "failed",
        "add",
        "enqueue",
        "replicate",
        "release",
        "heartbeat",
        "best",
        "recommend",
        "report",
    ]
)
QUIET = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def made(tree: Any) -> Any:
    """The expression of a tree, by Python's operators."""
    if not isinstance(tree, tuple):
        return tree
    sign, left, right = tree[0], made(tree[1]), made(tree[2])
    acts = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "%": lambda: left % right,
        "^": lambda: left**right,
        "&": lambda: left & right,
        "|": lambda: left | right,
        "~": lambda: ~left,
        "<": lambda: left < right,
        "=": lambda: left == right,
        "!": lambda: left != right,
        "?": lambda: mivabo.at_most(left, right, left),
        "#": lambda: abs(mivabo.sqrt(mivabo.max(left, right))),
    }
    return acts[sign]()


def declare(space: Space, kind: str, name: Any, x: Any, y: Any, tree: Any) -> None:
    acts = {
        "int": lambda: space.int(name, x, y),
        "float": lambda: space.float(name, x, y, log=bool(tree)),
        "choice": lambda: space.choice(name, [x, y], ordered=x == 1),
        "bool": lambda: space.bool(name, when=x),
        "auxiliary": lambda: space.auxiliary(name, x, y),
        "define": lambda: space.define(name, x),
        "add": lambda: space.add(x, name=name),
        "expression": lambda: space.add(made(tree)),
    }
    try:
        acts[kind]()
    except (*ALLOWED, ZeroDivisionError):
        pass


@QUIET
@given(st.lists(st.tuples(KINDS, st.one_of(NAMES, ODD), ODD, ODD, EXPRESSIONS), max_size=8), PARAMS, ODD)
def test_whatever_is_said_about_a_space(said: list[Any], params: Any, odd: Any) -> None:
    space = Space()
    space.int("a", 0, 4)
    space.choice("c", ["x", "y"])
    for call in said:
        declare(space, *call)
    for act in (
        lambda: space.count(effort=1000),
        lambda: space.check(params),
        lambda: space.nearest(params),
        lambda: space.sample(2, seed=odd),
        lambda: space.nearest(space.sample(1)[0]),
        lambda: Space.from_toml(space.to_toml()).fingerprint,
        lambda: space._repr_html_(),
        lambda: Study(space, seed=odd),
    ):
        try:
            act()  # type: ignore[no-untyped-call]
        except ALLOWED:
            pass


@QUIET
@given(st.lists(st.tuples(CALLS, ODD, ODD, PARAMS), max_size=12))
def test_whatever_is_said_to_a_study(calls: list[Any]) -> None:
    space = Space()
    a, b = space.int("a", 0, 4), space.float("b", 0.0, 1.0)
    space.choice("c", ["x", "y"])
    space.bool("d", when="c == 'x'")
    space.add(a * b <= 2, name="rule")
    study = Study(space, n_initial=2)
    for name, x, y, params in calls:
        acts = {
            "ask": lambda: study.ask(),
            "tell": lambda x=x, y=y: study.tell(x, y),
            "failed": lambda x=x, y=y: study.tell(x, failed=y),
            "add": lambda x=x, params=params: study.add(params, x),
            "enqueue": lambda params=params: study.enqueue(params),
            "replicate": lambda x=x: study.replicate(x),
            "release": lambda x=x: study.release(x),
            "heartbeat": lambda x=x, y=y: study.heartbeat(x, y),
            "best": lambda: study.best,
            "recommend": lambda: study.recommend(),
            "report": lambda: study.report(),
        }
        try:
            acts[name]()  # type: ignore[no-untyped-call]
        except (*ALLOWED, UserWarning):
            pass
    assert [trial.id for trial in study.trials] == list(range(study.n_trials))
    if study.n_trials < 5:
        assert space.is_feasible(study.ask().params)


@QUIET
@given(ODD, ODD, ODD, ODD)
def test_whatever_a_study_is_made_with(name: Any, strategy: Any, seed: Any, n_initial: Any) -> None:
    space = Space()
    space.int("a", 0, 4)
    for key, given_value in (
        ("name", name),
        ("strategy", strategy),
        ("seed", seed),
        ("n_initial", n_initial),
    ):
        try:
            Study(space, **{key: given_value}).ask()
        except ALLOWED:
            pass
