"""mivabo's strategies by name, and the repair step that a careful user would put around a peer."""

import mivabo

from methods.method import Method, Setting
from space import Params


class Mivabo:
    """`strategy` may end in `@n`: with n points of the initial design instead of its default."""

    def __init__(self, setting: Setting, strategy: str) -> None:
        space = mivabo.Space.from_toml(setting.task.text)
        strategy, _, n = strategy.partition("@")
        self.study = mivabo.Study(space, strategy=strategy, seed=setting.seed, n_initial=int(n) if n else None)

    def ask(self) -> Params:
        self.trial = self.study.ask()
        return dict(self.trial.params)

    def tell(self, params: Params, value: float | None) -> None:
        self.study.tell(self.trial, value=value) if value is not None else self.study.tell(self.trial, failed=True)


class Repaired:
    """A peer whose infeasible suggestions are moved to the nearest feasible point; it is told the value found there."""

    def __init__(self, setting: Setting, inner: Method) -> None:
        self.task, self.inner = setting.task, inner
        self.space = mivabo.Space.from_toml(setting.task.text)

    def ask(self) -> Params:
        self.asked = self.inner.ask()
        return self.asked if self.task.is_feasible(self.asked) else dict(self.space.nearest(self.asked))

    def tell(self, params: Params, value: float | None) -> None:
        self.inner.tell(self.asked, value)
