"""Optuna's own tests of samplers, as they ship with it: those for one objective and relative sampling."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from mivabo.optuna import MivaboSampler


class TestMivaboSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    """All of them apply; `MultiObjectiveSamplerTestCase` is for samplers of several objectives."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: MivaboSampler(seed=0)


class TestMivaboSamplerWithoutStartup(TestMivaboSampler):
    """The same with the model asked from the second trial on: most tests end within the initial design."""

    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: MivaboSampler(seed=0, n_startup=1)
