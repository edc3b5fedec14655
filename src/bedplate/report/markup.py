"""HTML that cannot be injected into: every text is escaped unless it was built here."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Html(str):
    """A piece of markup. Plain strings are text and get escaped; only this module and plots.py make markup."""

    __slots__ = ()


Child = Html | str | int | float | None

VOID = {"br", "img", "meta", "link", "circle", "line", "rect", "path", "polyline", "source"}
"""Elements without an end tag (SVG's are closed in place)."""


def tag(name: str, /, *children: Child | Iterable[Child], **attributes: str | int | float | bool | None) -> Html:
    """One element.

    Args:
        name: of the element.
        children: markup, or text that is escaped; None is left out.
        attributes: `class_` is class, `stroke_width` is stroke-width; None and False leave an attribute out.
    """
    parts = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name_ = key.rstrip("_").replace("_", "-")
        parts.append(f" {name_}" if value is True else f' {name_}="{html.escape(str(value), quote=True)}"')
    opening = f"<{name}{''.join(parts)}>"
    if name in VOID:
        return Html(f"{opening[:-1]}/>")
    return Html(f"{opening}{join(children)}</{name}>")


def join(children: Iterable[Child | Iterable[Child]]) -> Html:
    """Pieces one after the other, nested lists flattened, text escaped."""
    out: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            out.append(child)
        elif isinstance(child, (str, int, float)):
            out.append(html.escape(str(child)))
        else:
            out.append(join(child))
    return Html("".join(out))


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Child]], numeric: Iterable[int] = (), narrow: bool = False
) -> Html:
    """A table; the columns in `numeric` are aligned to the right. An empty header row is left out."""
    right = set(numeric)
    head = tag("thead", tag("tr", [tag("th", text, class_=_side(i, right)) for i, text in enumerate(columns)]))
    body = [tag("tr", [tag("td", cell, class_=_side(i, right)) for i, cell in enumerate(row)]) for row in rows]
    whole = tag("table", head if any(columns) else None, tag("tbody", body))
    return tag("div", whole, class_="scroll narrow" if narrow else "scroll")


def facts(rows: Iterable[tuple[str, Child]]) -> Html:
    """Names and values side by side."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in rows], class_="facts")


def not_measured(what: str, command: str = "") -> Html:
    """The place of a part that is missing, and the command that would fill it."""
    advice = [" Run ", tag("code", command), "."] if command else None
    return tag("p", tag("b", "Not measured. "), what, advice, class_="missing")


def _side(column: int, right: set[int]) -> str | None:
    return "num" if column in right else None
