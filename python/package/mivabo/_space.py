"""Spaces: parameters, definitions and constraints, said one after the other and checked together."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterable, Iterator, KeysView, Mapping
from collections.abc import Set as AbstractSet
from html import escape
from typing import Any, cast

from . import _native
from ._errors import Error, SpaceError
from ._native import Expr
from ._parameter import Parameter
from ._table import table
from ._trial import Params, Value, Violation

Statement = Expr | str
"""An expression, or its text."""

_NODES = 200_000


class Space:
    """Parameters and the constraints between them.

    Parameters are said by methods that return a handle; handles make expressions with Python's operators, and any text
    of the expression language does as well.

    >>> import mivabo
    >>> space = mivabo.Space()
    >>> kernel = space.int("kernel", 1, 7, step=2)
    >>> stride = space.int("stride", 1, 3)
    >>> optimizer = space.choice("optimizer", ["sgd", "adam"])
    >>> momentum = space.float("momentum", 0.0, 0.99, when=optimizer == "sgd")
    >>> _ = space.add(kernel * stride <= 12, name="receptive field")
    >>> _ = space.add("optimizer == 'adam' -> stride <= 2")
    >>> space.count()
    16
    >>> print(space.check({"kernel": 7, "stride": 2, "optimizer": "adam"})[0])
    constraint `receptive field` is violated: kernel * stride <= 12 does not hold (left side 14, right side 12)

    Bounds and texts are checked at once; names, kinds and contradictions when the space is first used.
    """

    def __init__(self) -> None:
        self._parameters: dict[str, dict[str, Any]] = {}
        self._definitions: dict[str, dict[str, str]] = {}
        self._constraints: dict[str, str] = {}
        self._built: _native.Space | None = None

    # What is said

    def float(
        self,
        name: str,
        low: builtins.float,
        high: builtins.float,
        *,
        log: builtins.bool = False,
        default: builtins.float | None = None,
        when: Statement | None = None,
    ) -> Expr:
        """Add a real parameter from ``low`` to ``high``; with ``log`` the model looks at its logarithm.

        The point of all defaults is the first trial of a study, where it is feasible:

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> rate = space.float("rate", 1e-4, 1e-1, log=True, default=1e-3)
        >>> layers = space.int("layers", 1, 6, default=2)
        >>> mivabo.Study(space).ask().params
        {'rate': 0.001, 'layers': 2}
        """
        keys = {"low": low, "high": high, "log": True if log else None, "default": default}
        return self._declare(name, "float", when, **keys)

    def int(
        self,
        name: str,
        low: builtins.int,
        high: builtins.int,
        *,
        step: builtins.int = 1,
        log: builtins.bool = False,
        encoding: str | None = None,
        default: builtins.int | None = None,
        when: Statement | None = None,
    ) -> Expr:
        """Add an integer parameter: ``low``, ``low + step``, …, ``high``.

        ``encoding`` is ``"binary"`` (the default), ``"unary"`` or ``"one-hot"``.
        """
        bounds = {"low": low, "high": high, "step": step}
        keys = {**bounds, "log": True if log else None, "encoding": encoding, "default": default}
        return self._declare(name, "int", when, **keys)

    def choice(
        self,
        name: str,
        values: Iterable[Value],
        *,
        ordered: builtins.bool = False,
        encoding: str | None = None,
        default: Value | None = None,
        when: Statement | None = None,
    ) -> Expr:
        """Add a parameter that is one of ``values``; with ``ordered`` their order matters to the model."""
        kind = "ordinal" if ordered else "choice"
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise TypeError(f"parameter `{name}`: expected a list of values, not {values!r:.60}")
        listed = _in_order(f"parameter `{name}`", "values", values)
        return self._declare(name, kind, when, values=listed, encoding=encoding, default=default)

    def bool(self, name: str, *, default: builtins.bool | None = None, when: Statement | None = None) -> Expr:
        """Add a parameter that is true or false."""
        return self._declare(name, "bool", when, default=default)

    def auxiliary(self, name: str, low: builtins.int, high: builtins.int, *, when: Statement | None = None) -> Expr:
        """Add an integer that only constraints speak of: the objective does not see it.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> total = space.int("total", 0, 100)
        >>> packs = space.auxiliary("packs", 0, 8)
        >>> _ = space.add(total == 12 * packs, name="whole packs")
        >>> space.check({"total": 24})
        []
        """
        return self._declare(name, "auxiliary", when, low=low, high=high)

    def define(self, name: str, expression: Statement, *, when: Statement | None = None) -> Expr:
        """Name an intermediate value. Over integers its divisions must come out whole: that is a constraint.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> kernel = space.int("kernel", 1, 7)
        >>> half = space.define("half", "(kernel + 1) / 2")
        >>> space.check({"kernel": 2})[0].constraint
        'half comes out whole'
        """
        name = self._new_name("definition", name)
        entry = {"expr": self._text(f"definition `{name}`", expression)}
        if when is not None:
            entry["when"] = self._text(f"the condition of `{name}`", when)
        self._definitions[name] = entry
        self._built = None
        return Expr(f"`{name}`")

    def add(self, constraint: Statement, *, name: str | None = None) -> Space:
        """Add a constraint, which every suggestion will satisfy. Without a name, its text is its name.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> a, b = space.int("a", 0, 9), space.int("b", 0, 9)
        >>> space.add(a + b == 10).count()
        9
        """
        what = "the constraint" if name is None else f"constraint `{name}`"
        text = self._text(what, constraint)
        if name is None:
            name = " ".join(text.replace("`", "").split())
        name = _name("constraint", name)
        if name in self._constraints:
            raise SpaceError(f"the name `{name}` is used twice")
        self._constraints[name] = text
        self._built = None
        return self

    # What is asked

    def count(self, *, effort: builtins.int = _NODES) -> builtins.int | None:
        """How many combinations of the discrete parameters are feasible; None where counting takes too long.

        Constraints that also speak of continuous parameters are left out: they exclude combinations only together with
        those.
        """
        return self._native().count(effort)

    def sample(self, n: builtins.int = 1, seed: builtins.int = 0) -> list[Params]:
        """Draw ``n`` random feasible points; equal seeds give equal points.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> a, b = space.int("a", 0, 9), space.int("b", 0, 9)
        >>> points = space.add(a + b == 10).sample(5, seed=1)
        >>> all(point["a"] + point["b"] == 10 for point in points)
        True
        """
        n = _size("n", n)
        return self._native().sample(n, seed)

    def check(self, params: Mapping[str, Value]) -> list[Violation]:
        """Which constraints fail at a point, and by how much; an empty list where it is feasible."""
        return [Violation(**found) for found in self._native().check(_dict(params))]

    def is_feasible(self, params: Mapping[str, Value]) -> builtins.bool:
        """Whether a point satisfies every constraint."""
        return not self.check(params)

    def nearest(self, params: Mapping[str, Value]) -> Params:
        """Find the feasible point nearest to a point that may violate constraints.

        Differences are measured on the scale of each parameter. Where only discrete parameters without conditions take
        part the answer is exact, elsewhere it is the nearest of what several searches find.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> a, b = space.int("a", 0, 9), space.int("b", 0, 9)
        >>> space.add(a + b <= 10).nearest({"a": 9, "b": 3})
        {'a': 8, 'b': 2}
        """
        return self._native().nearest(_dict(params))

    # Files and copies

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Space:
        """Read the space of a study file: its text, or its path.

        >>> import mivabo
        >>> mivabo.Space.from_toml("parameters.x = { type = 'int', low = 1, high = 3 }").count()
        3
        """
        return cls._of(_native.Space.from_toml(_read(source)))

    def to_toml(self) -> str:
        """Write the space as a study file has it."""
        return self._native().to_toml()

    @classmethod
    def from_json(cls, text: str) -> Space:
        """Read what :meth:`to_json` writes."""
        return cls._of(_native.Space(text))

    def to_json(self) -> str:
        """Write the space as JSON."""
        return self._native().to_json()

    @property
    def fingerprint(self) -> str:
        """A hash of parameters, definitions and constraints, the same wherever it is computed."""
        return self._native().fingerprint()

    @property
    def parameters(self) -> dict[str, Parameter]:
        """All parameters by name, auxiliary ones too; a change of the dict does not change the space.

        >>> import mivabo
        >>> space = mivabo.Space()
        >>> units = space.int("units", 16, 256, step=16)
        >>> space.parameters
        {'units': Parameter('units', int from 16 to 256, step 16)}
        """
        return {name: Parameter._of(name, said) for name, said in self._parameters.items()}

    @property
    def constraints(self) -> dict[str, str]:
        """The texts of all constraints by name; a change of the dict does not change the space."""
        return dict(self._constraints)

    @property
    def names(self) -> list[str]:
        """The names of the parameters that an objective sees."""
        return [name for name, entry in self._parameters.items() if entry["type"] != "auxiliary"]

    def __getitem__(self, name: str) -> Expr:
        """The handle of a parameter or a definition, by its name."""
        if name not in self._parameters and name not in self._definitions:
            raise KeyError(name)
        return Expr(f"`{name}`")

    def __iter__(self) -> Iterator[str]:
        """The names of all parameters, in the order in which they were said."""
        return iter(list(self._parameters))

    def __len__(self) -> builtins.int:
        """How many parameters there are."""
        return len(self._parameters)

    def __contains__(self, name: object) -> builtins.bool:
        """Whether there is a parameter or a definition of this name."""
        return name in self._parameters or name in self._definitions

    def __eq__(self, other: object) -> builtins.bool:
        """Whether the same was said, in the same order."""
        if not isinstance(other, Space):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Everything that was said; what was built from it is built again."""
        return {**self.__dict__, "_built": None}

    def __copy__(self) -> Space:
        """A space of its own."""
        copied = type(self)()
        copied._parameters = {name: dict(entry) for name, entry in self._parameters.items()}
        copied._definitions = {name: dict(entry) for name, entry in self._definitions.items()}
        copied._constraints = dict(self._constraints)
        copied._built = self._built
        return copied

    def __repr__(self) -> str:
        """How much was said, and what is wrong with it."""
        counts = f"{_counted(len(self), 'parameter')}, {_counted(len(self._constraints), 'constraint')}"
        wrong = self._wrong()
        return f"<mivabo.Space: {counts}>" if wrong is None else f"<mivabo.Space: {counts}; {wrong}>"

    def _repr_html_(self) -> str:
        parameters = table(
            ("parameter", "values", "when"),
            [(name, one.domain, one.when or "") for name, one in self.parameters.items()],
        )
        wrong = self._wrong()
        if wrong is not None:
            constraints = table(("constraint", "statement"), self._constraints.items())
            return f"{parameters}{constraints}<p>{escape(str(wrong))}</p>"
        constraints = table(
            ("constraint", "statement", "class"),
            [(name, text, kind) for name, text, kind, _ in self._native().constraints()],
        )
        return parameters + constraints

    # Inside

    @classmethod
    def _of(cls, native: _native.Space) -> Space:
        said = json.loads(native.to_json())
        space = cls()
        space._parameters = said["parameters"]
        definitions = said.get("definitions", {})
        space._definitions = {
            name: {"expr": entry} if isinstance(entry, str) else entry for name, entry in definitions.items()
        }
        space._constraints = said.get("constraints", {})
        space._built = native
        return space

    def _wrong(self) -> Error | None:
        """Why there is no such space, if there is none."""
        try:
            self._native()
        except Error as error:
            return error
        return None

    def _native(self) -> _native.Space:
        if self._built is None:
            said = {
                "parameters": self._parameters,
                "definitions": self._definitions,
                "constraints": self._constraints,
            }
            self._built = _native.Space(json.dumps(said))
        return self._built

    def _declare(self, name: str, kind: str, when: Statement | None, **keys: Any) -> Expr:
        name = self._new_name("parameter", name)
        entry: dict[str, Any] = {"type": kind}
        for key, value in keys.items():
            what = f"parameter `{name}`: {key}"
            if key == "encoding" and value is not None and not isinstance(value, str):
                raise TypeError(f"{what}: expected a text, not {value!r:.60}")
            if key == "values":
                entry[key] = [_native.plain(what, item) for item in value]
            elif value is not None or key in ("low", "high", "step"):
                entry[key] = _native.plain(what, value)
        # What is wrong with one parameter is said here and now.
        try:
            _native.Space(json.dumps({"parameters": {name: entry}}))
        except SpaceError as error:
            text = str(error)
            raise type(error)(text if f"`{name}`" in text else f"parameter `{name}`: {text}") from None
        if when is not None:
            entry["when"] = self._text(f"the condition of `{name}`", when)
        self._parameters[name] = entry
        self._built = None
        return Expr(f"`{name}`")

    def _new_name(self, what: str, name: str) -> str:
        name = _name(what, name)
        if name in self:
            raise SpaceError(f"the name `{name}` is used twice")
        return name

    def _text(self, what: str, statement: Statement) -> str:
        try:
            return _native.statement(statement)
        except (SpaceError, TypeError) as error:
            raise type(error)(f"{what}: {error}") from None


def _name(what: str, name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"the name of a {what}: expected a text, not {name!r:.60}")
    plain = _native.plain(f"the name of a {what}", name)
    if not plain:
        raise SpaceError(f"a {what} needs a name; this one is empty")
    if any(c == "`" or ord(c) < 32 or 127 <= ord(c) < 160 for c in plain):
        raise SpaceError(f"the name {plain!r} contains a backtick or a control character")
    return cast(str, plain)


def _size(what: str, n: object, refusal: type[Error] = SpaceError) -> int:
    try:
        size = n.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        raise TypeError(f"{what}: expected a whole number, not {n!r:.60}") from None
    if not 0 <= size < 2**62:
        raise refusal(f"{what}: {size} is negative or too large")
    return cast(int, size)


def _dict(params: Mapping[str, Value]) -> dict[str, Value]:
    if not isinstance(params, Mapping):
        raise TypeError(f"params: expected a dict of names and values, not {params!r:.60}")
    return dict(params)


def _read(source: str | os.PathLike[str]) -> str:
    """The text of a file, or the text itself if it cannot be a path."""
    if isinstance(source, str) and ("\n" in source or ("=" in source and not os.path.exists(source))):
        return source
    try:
        with open(source, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError as error:
        raise SpaceError(f"{os.fspath(source)}: the file is not a text in UTF-8: {error}") from None


def _in_order(what: str, items: str, given: Iterable[Any]) -> list[Any]:
    """These items; a set has no order, and that of a dict says nothing of its values."""
    kind = type(given).__name__
    expected = f"{what}: expected a list of {items} in their order, not a {kind}"
    if isinstance(given, Mapping):
        raise TypeError(f"{expected}: list({items}) is a list of its keys")
    if isinstance(given, AbstractSet) and not isinstance(given, KeysView):
        raise TypeError(f"{expected}, which has none: sorted({items}) has the same one in every run")
    return list(given)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
