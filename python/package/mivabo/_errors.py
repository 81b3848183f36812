"""The exceptions of mivabo: one small tree, mapped from Rust's errors in `src/error.rs`.

Wrong Python types are plain ``TypeError``; an exception of your own objective stays as it is.
"""


class Error(Exception):
    """Everything that mivabo refuses."""


class SpaceError(Error, ValueError):
    """What was said about a space makes no sense: a bound, a name, an expression, a study file."""


class InfeasibleError(SpaceError):
    """No point satisfies the constraints together, or none was found."""


class PointError(Error, ValueError):
    """Values that are no point of the space, or a point that violates constraints where it must not."""


class TrialError(Error, ValueError):
    """There is no such trial, it was told before, or it is held by another worker."""


class ExhaustedError(Error):
    """Every feasible point has been tried."""


class StudyError(Error, ValueError):
    """A study that cannot be made, found or asked this: its name, strategy, seed or direction."""


class StorageError(Error, OSError):
    """A database that cannot be opened, read or written."""


for _kind in (
    Error,
    SpaceError,
    InfeasibleError,
    PointError,
    TrialError,
    ExhaustedError,
    StudyError,
    StorageError,
):
    # Where users find them, and where pickles look for them.
    _kind.__module__ = "mivabo"
