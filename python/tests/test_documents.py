"""Examples of docstrings and documents run as they are written."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from pathlib import Path

import conftest
import pytest

CORE = [
    "mivabo",
    "mivabo._space",
    "mivabo._study",
    "mivabo._trial",
    "mivabo._errors",
    "mivabo._optimize",
    "mivabo._parameter",
]
ADAPTERS = [
    "mivabo._table",
    "mivabo._branches",
    "mivabo._constraints",
    "mivabo._labels",
    "mivabo.optuna",
    "mivabo.sklearn",
]
MODULES = [*CORE, *ADAPTERS]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", ["docs/python.md", "docs/coming-from.md", "python/README.md", "README.md"])
def test_examples_of_documents_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (conftest.ROOT / name).read_text(), re.M | re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {"__name__": "document"}
    for block in blocks:
        exec(compile(block, name, "exec"), scope)


def test_importing_brings_nothing_large() -> None:
    large = ("numpy", "pandas", "tqdm", "optuna", "sklearn", "matplotlib", "asyncio")
    code = f"import sys, mivabo; print([m for m in {large} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
