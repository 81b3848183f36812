from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy
import pytest

import mivabo
from mivabo import Space


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
