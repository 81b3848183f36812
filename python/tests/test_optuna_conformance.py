"""Optuna's own tests of samplers, as they ship with it: those for one objective and relative sampling."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("optuna")

from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from mivabo.optuna import MivaboSampler


class TestMivaboSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All of them apply; `MultiObjectiveSamplerTestCase` is for samplers of several objectives, which this is not."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: MivaboSampler(seed=0)
