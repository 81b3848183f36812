"""What the tests share: small spaces, and where the built programs are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import mivabo

ROOT = Path(__file__).resolve().parents[2]


def built(name: str) -> str:
    """A program that `python/check` built; without it the test is skipped."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
    path = folder / name
    if not path.exists():
        pytest.skip(f"{path} is not built; run python/check")
    return str(path)


@pytest.fixture
def space() -> mivabo.Space:
    """Discrete and continuous parameters, a condition, two constraints."""
    space = mivabo.Space()
    kernel = space.int("kernel", 1, 7, step=2)
    stride = space.int("stride", 1, 3)
    optimizer = space.choice("optimizer", ["sgd", "adam"])
    space.float("lr", 1e-4, 1e-1, log=True)
    space.float("momentum", 0.0, 0.99, when=optimizer == "sgd")
    space.add(kernel * stride <= 12, name="receptive field")
    space.add("optimizer == 'adam' -> stride <= 2")
    return space


@pytest.fixture
def small() -> mivabo.Space:
    """Nine points."""
    space = mivabo.Space()
    a, b = space.int("a", 0, 9), space.int("b", 0, 9)
    return space.add(a + b == 10, name="ten")


def train(params: mivabo._trial.Params) -> float:
    """An objective that other processes can import."""
    return float(params["a"]) ** 2
