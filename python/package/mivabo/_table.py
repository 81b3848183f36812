"""Tables of notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Row = tuple[str, ...]


def table(head: Row, rows: Iterable[Row]) -> str:
    """HTML with this head, or none if it is empty.

    >>> table(("name", "value"), [("a<b", "1")])
    '<table><tr><th>name</th><th>value</th></tr><tr><td>a&lt;b</td><td>1</td></tr></table>'
    """
    heads = [_row(head, "th")] if head else []
    return "<table>" + "".join([*heads, *(_row(cells, "td") for cells in rows)]) + "</table>"


def _row(cells: Row, tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
