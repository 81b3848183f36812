from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest

import mivabo
from mivabo import Space, Study


def test_operators_and_texts_say_the_same() -> None:
    spaces = []
    for is_text in (False, True):
        space = Space()
        a, b, c = space.int("a", 0, 5), space.int("b", 1, 5), space.choice("c", ["x", "y"])
        d, e = space.bool("d"), space.float("e", 0.5, 2.0)
        said = {
            "2 * a - b + 1 <= 7 % b": 2 * a - b + 1 <= 7 % b,
            "a ** 2 != 9": a**2 != 9,
            "c == 'x' and not d or a > 1": ((c == "x") & ~d) | (a > 1),
            "c in {'x', 'y'} -> abs(a - b) <= 4": c.is_in(["x", "y"]).implies(abs(a - b) <= 4),
            "at_most(2, d, a == 1, b == 1)": mivabo.at_most(2, d, a == 1, b == 1),
            "min(a, b) + max(a, b, 3) >= 3": mivabo.min(a, b) + mivabo.max(a, b, 3) >= 3,
            "sqrt(e) + log(e) + exp(-e) <= 2.5": mivabo.sqrt(e) + mivabo.log(e) + mivabo.exp(-e) <= 2.5,
            "1 / b <= a + 1": 1 / b <= a + 1,
        }
        for name, (text, built) in enumerate(said.items()):
            space.add(text if is_text else built, name=str(name))
        spaces.append(space)

    assert spaces[0].fingerprint == spaces[1].fingerprint
    assert spaces[0] == spaces[1]


def test_a_long_sum_is_one_sum() -> None:
    space = Space()
    terms = [space.bool(f"b{i}") for i in range(150)]
    space.add(mivabo.sum(*terms) <= 2, name="few").add(sum(terms) <= 2, name="same")

    assert space.count() == 1 + 150 + 150 * 149 // 2


def test_count_sample_check(space: Space) -> None:
    assert space.count() == 9 + 7
    points = space.sample(20, seed=3)
    assert points == space.sample(20, seed=3) != space.sample(20, seed=4)
    assert all(space.is_feasible(point) for point in points)
    (violation,) = space.check({"kernel": 7, "stride": 2, "optimizer": "adam", "lr": 0.01})
    assert (violation.constraint, violation.left, violation.right, violation.amount) == (
        "receptive field",
        14,
        12,
        2.0,
    )


def test_counting_gives_up_where_it_takes_too_long() -> None:
    space = Space()
    terms = [space.int(f"n{i}", 0, 999) for i in range(30)]
    space.add(mivabo.sum(*[(i + 1) * n for i, n in enumerate(terms)]) == 20_011)

    assert space.count(effort=100) is None


def test_the_nearest_feasible_point_is_feasible_and_near(space: Space) -> None:
    wish = {"kernel": 7, "stride": 2, "optimizer": "adam", "lr": 0.01}

    found = space.nearest(wish)

    assert space.is_feasible(found)
    assert found["lr"] == pytest.approx(0.01)
    assert (found["kernel"], found["stride"]) in [(7, 1), (5, 2)]
    feasible = {"kernel": 3, "stride": 2, "optimizer": "adam", "lr": 0.01}
    assert space.nearest(feasible) == feasible


def test_numpy_values_enter_and_plain_python_leaves(space: Space) -> None:
    point = {
        "kernel": numpy.int64(3),
        "stride": numpy.uint8(2),
        "optimizer": numpy.str_("adam"),
        "lr": numpy.float32(0.01),
    }
    assert space.check(point) == []
    made = Space()
    x = made.int("x", numpy.int32(1), numpy.int64(4))
    made.choice("flag", list(numpy.array([True, False])))
    made.float("y", numpy.float32(0.5), numpy.float64(2.0))
    made.add(x <= numpy.int64(3))
    types = {name: type(value) for name, value in made.sample()[0].items()}
    assert types == {"x": int, "flag": bool, "y": float}


def test_a_space_is_pickled_and_copied(space: Space) -> None:
    for other in (
        pickle.loads(pickle.dumps(space)),
        copy.copy(space),
        copy.deepcopy(space),
        Space.from_toml(space.to_toml()),
        Space.from_json(space.to_json()),
    ):
        assert other.fingerprint == space.fingerprint
        other.add("kernel <= 5", name="new")
        assert other != space
    assert "new" not in space._constraints
    unfinished = Space()
    unfinished.add("later <= 3")
    pickle.loads(pickle.dumps(unfinished)).int("later", 1, 5)


def test_expressions_are_values() -> None:
    space = Space()
    x = space.int("learning rate", 1, 3)
    assert str(x + 1 <= 2) == "`learning rate` + 1 <= 2"
    assert str(pickle.loads(pickle.dumps(x + 1))) == str(copy.deepcopy(x + 1)) == "`learning rate` + 1"
    assert repr(space["learning rate"]) == 'Expr("`learning rate`")'
    assert "learning rate" in space


def test_a_file_is_read_by_its_path_or_its_text(space: Space, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(space.to_toml())
    assert Space.from_toml(path) == Space.from_toml(str(path)) == Space.from_toml(space.to_toml()) == space


def test_a_contradiction_is_named() -> None:
    space = Space()
    x = space.int("x", 1, 3)
    space.add(x >= 3, name="large").add(x <= 1, name="small")
    with pytest.raises(mivabo.InfeasibleError, match="`large`, `small`"):
        space.count()


def test_a_notebook_shows_parameters_and_constraints(space: Space) -> None:
    html = space._repr_html_()
    assert "<td>kernel</td>" in html
    assert "kernel * stride &lt;= 12" in html


def test_a_space_is_a_collection_of_its_parameters(space: Space) -> None:
    space.auxiliary("packs", 0, 8)
    space.define("area", "kernel * kernel")
    names = ["kernel", "stride", "optimizer", "lr", "momentum", "packs"]
    assert list(space) == names
    assert len(space) == 6
    assert all(name in space for name in space)
    assert "area" in space
    assert "depth" not in space
    assert space.names == names[:-1]
    assert bool(Space()) is False


def test_parameters_and_constraints_can_be_read(space: Space) -> None:
    space.int("units", 16, 256, step=16, log=False, encoding="unary")
    space.choice("heads", [1, 2, 4], ordered=True)
    space.bool("skip")
    space.auxiliary("packs", 0, 8)
    for read in (space, Space.from_toml(space.to_toml()), Study(space).space):
        parameters = read.parameters
        assert list(parameters) == list(read)
        lr, heads = parameters["lr"], parameters["heads"]
        assert (lr.name, lr.kind, lr.low, lr.high, lr.log, lr.when) == ("lr", "float", 1e-4, 1e-1, True, None)
        assert (heads.kind, heads.values, heads.low) == ("ordinal", (1, 2, 4), None)
        units = parameters["units"]
        assert (units.kind, units.low, units.high, units.step, units.encoding) == ("int", 16, 256, 16, "unary")
        assert [parameters[name].kind for name in ("optimizer", "skip", "packs")] == ["choice", "bool", "auxiliary"]
        assert parameters["momentum"].when == parameters["momentum"].when
        assert "optimizer" in str(parameters["momentum"].when)
        assert read.constraints == {
            "receptive field": "kernel * stride <= 12",
            "optimizer == 'adam' -> stride <= 2": "optimizer == 'adam' -> stride <= 2",
        }
        assert repr(lr) == "Parameter('lr', float from 0.0001 to 0.1, log)"
        assert repr(units) == "Parameter('units', int from 16 to 256, step 16, encoding='unary')"
        assert repr(heads) == "Parameter('heads', ordinal of [1, 2, 4])"
        assert repr(parameters["skip"]) == "Parameter('skip', bool)"
        assert repr(parameters["momentum"]).startswith("Parameter('momentum', float from 0.0 to 0.99, when=")
    space.parameters.clear()
    space.constraints.clear()
    assert len(space.parameters) == 9


def test_a_space_without_points_shows_what_is_wrong_with_it() -> None:
    space = Space()
    x = space.int("x", 1, 3)
    space.add(x >= 3, name="large").add(x <= 1, name="<small>")
    assert (
        repr(space)
        == "<mivabo.Space: 1 parameter, 2 constraints; no point satisfies constraints `large`, `<small>` together>"
    )
    page = space._repr_html_()
    assert "<td>x</td><td>int from 1 to 3</td>" in page
    assert "<td>&lt;small&gt;</td><td>x &lt;= 1</td>" in page
    assert "no point satisfies constraints `large`, `&lt;small&gt;` together" in page
    unknown = Space().add("y <= 3")
    assert repr(unknown).startswith("<mivabo.Space: 0 parameters, 1 constraint; constraint `y <= 3`: unknown name `y`")
    assert "unknown name `y`" in unknown._repr_html_()


class Sorts(dict[str, int]):
    """Somebody's own mapping."""


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"sgd", "adam"}, "parameter `c`: expected a list of values in their order, not a set, which has none: sorted"),
        (frozenset({1, 2}), "not a frozenset, which has none"),
        ({"sgd": 1, "adam": 2}, r"not a dict: list\(values\) is a list of its keys"),
        (Sorts(a=1), "not a Sorts"),
    ],
)
def test_a_choice_has_its_values_in_an_order(values: Any, said: str) -> None:
    space = Space()
    with pytest.raises(TypeError, match=said):
        space.choice("c", values)
    assert "c" not in space
    space.choice("c", {"sgd": 1, "adam": 2}.keys())
    space.choice("d", (f"{i}" for i in range(3)))
    space.choice("e", numpy.array([1, 2]))
    assert space.parameters["c"].values == ("sgd", "adam")


def test_what_else_has_an_order_is_no_set(small: Space) -> None:
    with pytest.raises(TypeError, match="linked: expected a list of pairs in their order, not a set"):
        Study(small, linked={("a", "b")})
