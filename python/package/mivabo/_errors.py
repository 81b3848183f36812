"""The exceptions of mivabo: one small tree, mapped from Rust's errors in `src/error.rs`.

Wrong Python types are plain ``TypeError``; an exception of your own objective stays as it is.
"""


class Error(Exception):
    """Everything that mivabo refuses."""


class SpaceError(Error, ValueError):
    """A wrong bound, name or expression in a space, or a wrong study file."""


class InfeasibleError(SpaceError):
    """No point satisfies the constraints together, or none was found."""


class PointError(Error, ValueError):
    """Values that are not a point of the space, or a point that violates constraints where it must not."""


class TrialError(Error, ValueError):
    """A trial that does not exist, was told before, or is held by another worker."""


class ExhaustedError(Error):
    """Every feasible point has been tried."""


class StudyError(Error, ValueError):
    """A study that cannot be made or found, or cannot answer yet: a wrong name, goal, limit, strategy or seed."""


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
