"""The JSON schema of study files: it takes what the command line takes, and refuses what has the wrong shape."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import conftest
import jsonschema
import pytest

EXAMPLES = sorted((conftest.ROOT / "examples").glob("*.toml"))

FULL: dict[str, Any] = {
    "name": "full",
    "goals": {"loss": "minimize"},
    "limits": {"latency": "<= 20"},
    "parameters": {
        "lr": {"type": "float", "low": 1e-4, "high": 1, "log": True, "default": 0.01},
        "n": {"type": "int", "low": 1, "high": 9, "step": 2, "encoding": "one-hot"},
        "units": {"type": "ordinal", "values": [16, 32]},
        "opt": {"type": "choice", "values": ["sgd", 2, True], "default": "sgd"},
        "flag": {"type": "bool", "when": "n >= 3"},
        "spare": {"type": "auxiliary", "low": 0, "high": 3},
    },
    "definitions": {"half": "(n + 1) / 2", "tenth": {"expr": "lr / 10", "when": "flag"}},
    "constraints": {"small": "n <= 7"},
    "objective": {
        "command": ["true"],
        "timeout": "2h 30m",
        "grace": "5s",
        "retries": 1,
        "env": {"A": "1"},
    },
    "run": {
        "trials": 9,
        "for": "1day",
        "patience": 3,
        "workers": 2,
        "seed": 7,
        "strategy": "thompson:products=linked:order=1",
        "n_initial": 4,
        "storage": "sqlite:///a.db",
        "lease": "500ms",
    },
    "model": {"linked": [["n", "lr"]]},
}
"""Every key, but for those that exclude each other."""


@cache
def validator() -> jsonschema.protocols.Validator:
    printed = subprocess.run([conftest.built("mivabo"), "schema"], capture_output=True, check=True).stdout
    schema = json.loads(printed)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def is_checked(study: dict[str, Any], folder: Path) -> bool:
    """Whether `mivabo check` takes a file."""
    file = folder / "study.json"
    file.write_text(json.dumps(study))
    return subprocess.run([conftest.built("mivabo"), "check", file], capture_output=True).returncode == 0


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_every_example_is_valid(file: Path) -> None:
    tomllib = pytest.importorskip("tomllib")

    study = tomllib.loads(file.read_text())

    assert [error.message for error in validator().iter_errors(study)] == []


def test_what_init_writes_is_valid_and_has_the_schema_beside_it(tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    subprocess.run([conftest.built("mivabo"), "init"], cwd=tmp_path, check=True, capture_output=True)

    text = (tmp_path / "study.toml").read_text()

    validator().validate(tomllib.loads(text))
    named = text.splitlines()[0].removeprefix("#:schema ")
    assert json.loads((tmp_path / named).read_text()) == validator().schema


def test_every_key_may_be_used(tmp_path: Path) -> None:
    validator().validate(FULL)
    assert is_checked(FULL, tmp_path)


def mutated() -> Iterator[tuple[str, dict[str, Any]]]:
    """Studies with one mistake of shape each."""

    def at(path: str, value: Any) -> tuple[str, dict[str, Any]]:
        study = deepcopy(FULL)
        *folders, last = path.split(".")
        inner = study
        for folder in folders:
            inner = inner[folder]
        if value is None:
            del inner[last]
        else:
            inner[last] = value
        return f"{path} = {value!r}", study

    for table in ["", "objective.", "run.", "model.", "parameters.lr.", "definitions.tenth."]:
        yield at(f"{table}unheard_of", 1)
    yield at("parameters", None)
    yield at("parameters", {})
    yield at("direction", "minimize")
    yield at("goals.loss", "up")
    yield at("goals.size", "minimize")
    yield at("goals", {})
    yield at("limits.latency", "20")
    yield at("limits.latency", "< 20")
    yield at("parameters.lr.type", "real")
    yield at("parameters.lr.type", None)
    yield at("parameters.lr.low", None)
    yield at("parameters.lr.low", "small")
    yield at("parameters.lr.log", "yes")
    yield at("parameters.lr.step", 2)
    yield at("parameters.n.low", 1.5)
    yield at("parameters.n.step", 0)
    yield at("parameters.n.encoding", "gray")
    yield at("parameters.n.when", True)
    yield at("parameters.units.values", None)
    yield at("parameters.units.values", [])
    yield at("parameters.opt.values", "sgd")
    yield at("parameters.opt.encoding", "unary")
    yield at("parameters.flag.low", 0)
    yield at("parameters.spare.default", 1)
    yield at("definitions.half", 3)
    yield at("definitions.tenth.expr", None)
    yield at("constraints.small", True)
    yield at("objective", {})
    yield at("objective.shell", "true")
    yield at("objective.command", "true")
    yield at("objective.command", [])
    yield at("objective.command", [1])
    yield at("objective.timeout", 30)
    yield at("objective.timeout", "soon")
    yield at("objective.grace", "5M")
    yield at("objective.retries", -1)
    yield at("objective.env", {"A": 1})
    yield at("run.trials", "ten")
    yield at("run.trials", -3)
    yield at("run.trials", 2.5)
    yield at("run.for", 2)
    yield at("run.patience", 0)
    yield at("run.workers", 0)
    yield at("run.workers", 1025)
    yield at("run.seed", -1)
    yield at("run.n_initial", 10_001)
    yield at("run.strategy", "randm")
    yield at("run.strategy", 3)
    yield at("run.lease", "")
    yield at("run.storage", 3)
    yield at("model.linked", [["n"]])
    yield at("model.linked", ["n", "lr"])


@pytest.mark.parametrize(
    ("mistake", "study"), list(mutated()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_mistakes_are_refused_by_the_schema_and_by_the_command_line(
    mistake: str, study: dict[str, Any], tmp_path: Path
) -> None:
    assert not validator().is_valid(study)
    assert not is_checked(study, tmp_path)


KINDS: dict[str, dict[str, Any]] = {
    "float": {"low": 1, "high": 2},
    "int": {"low": 1, "high": 3},
    "ordinal": {"values": [1, 2]},
    "choice": {"values": ["a", "b"]},
    "bool": {},
    "auxiliary": {"low": 1, "high": 3},
}

KEYS: dict[str, Any] = {
    "low": 1,
    "high": 3,
    "step": 1,
    "log": True,
    "values": [1, 2],
    "encoding": "unary",
    "when": "flag",
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_knows_which_keys_belong_to_a_type(kind: str, tmp_path: Path) -> None:
    for key, value in KEYS.items():
        parameters = {"flag": {"type": "bool"}, "x": {"type": kind, key: value, **KINDS[kind]}}
        study = {"parameters": parameters}

        assert validator().is_valid(study) == is_checked(study, tmp_path), (kind, key)
