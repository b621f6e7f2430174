"""Marks of a figure and their SVG text; the only place where a foreign text becomes markup."""

from __future__ import annotations

import math
import unicodedata
from html import escape
from typing import Literal, NamedTuple

from steelyard.figures._style import LOOKS, attributes
from steelyard.plain_text import clean

HATCH_ID = "\0"
"""Placeholder for the id of the figure's hatch until the figure is written; texts never contain this character."""
HATCHED = f' fill="url(#{HATCH_ID})"'
"""Fills a mark without a look with the figure's hatch: not run, unknown."""

Anchor = Literal["start", "middle", "end"]

MAX_TITLE_LENGTH = 12_000
"""Maximum characters of a tooltip."""
MAX_TOOLTIP_CHARS = 60
"""Characters of a name in the tooltip of a mark; its label contains the whole name."""

_WIDTHS = {
    "ijl'|": 0.28,
    " .,:;!I/\\ft()[]-": 0.39,
    'r"*`{}J?': 0.5,
    "cksvxyzLFTEPZY_$": 0.62,
    "mM@W%w": 0.98,
    "+=<>~#^": 0.84,
}
"""Advance widths in ems: at least those of Helvetica, Arial, Segoe UI, Roboto and DejaVu Sans."""
_WIDTH = {char: width for chars, width in _WIDTHS.items() for char in chars}
_LOWER_OR_DIGIT, _CAPITAL, _OTHER, _WIDE = 0.64, 0.79, 0.85, 1.1


class Mark(NamedTuple):
    """One element: a shape, a text or a group."""

    tag: str
    look: str = ""
    place: str = ""
    """The attributes that place it: numbers of ours only."""
    title: str = ""
    """Its tooltip, not yet escaped."""
    text: str = ""
    """The text, not yet escaped."""
    parts: tuple[Mark, ...] = ()


def safe(text: str) -> str:
    """The text as SVG may hold it: what is invisible is shown, what is markup is escaped."""
    return escape(clean(text))


def markup(mark: Mark, *, alone: bool) -> str:
    """The mark as SVG; `alone` repeats its look as attributes, for a file that some program reads without styles."""
    look = f' class="sy-{mark.look}"{attributes(mark.look) if alone else ""}' if mark.look else ""
    title = f"<title>{safe(mark.title[:MAX_TITLE_LENGTH])}</title>" if mark.title else ""
    inside = title + safe(mark.text) + "".join(markup(part, alone=alone) for part in mark.parts)
    head = f"<{mark.tag}{look}{mark.place}"
    return f"{head}>{inside}</{mark.tag}>" if inside else f"{head}/>"


def px(value: float) -> str:
    """A length to a tenth, as short as can be.

    >>> px(12.04), px(-0.01), px(3.25)
    ('12', '0', '3.2')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def line(x1: float, y1: float, x2: float, y2: float, *, look: str, title: str = "") -> Mark:
    """A straight line."""
    return Mark("path", look, f' d="M{px(x1)} {px(y1)}L{px(x2)} {px(y2)}"', title)


def path(points: str, *, look: str, title: str = "") -> Mark:
    """A path of our own making."""
    return Mark("path", look, f' d="{points}"', title)


def box(
    x: float, y: float, width: float, height: float, *, look: str, title: str = "", opacity: float | None = None
) -> Mark:
    """A rectangle; a negative width or height counts as none."""
    place = f' x="{px(x)}" y="{px(y)}" width="{px(max(width, 0))}" height="{px(max(height, 0))}"'
    shade = "" if opacity is None else f' opacity="{opacity:.2g}"'
    return Mark("rect", look, place + shade, title)


def dot(x: float, y: float, radius: float, *, look: str = "mark", title: str = "") -> Mark:
    """A filled or hollow circle."""
    return Mark("circle", look, f' cx="{px(x)}" cy="{px(y)}" r="{px(radius)}"', title)


def words(
    x: float, y: float, text: str, *, room: float, look: str = "label", anchor: Anchor = "start", title: str = ""
) -> Mark:
    """A text on one line, cut to its room; a text that is cut has the whole in its tooltip."""
    shown = cut(text, room, size=size_of(look), bold=is_bold(look))
    place = f' x="{px(x)}" y="{px(y)}"' + ("" if anchor == "start" else f' text-anchor="{anchor}"')
    return Mark("text", look, place, title or (text if shown != clean(text) else ""), shown)


def group(parts: tuple[Mark, ...], *, look: str = "", place: str = "", title: str = "") -> Mark:
    """Several marks as one element."""
    return Mark("g", look, place, title, "", parts)


def size_of(look: str) -> float:
    """The font size of a look."""
    return float(LOOKS[look]["font-size"])


def is_bold(look: str) -> bool:
    """Whether a look is set in bold."""
    return "font-weight" in LOOKS[look]


def text_width(text: str, *, size: float = 12, bold: bool = False) -> float:
    """How wide a text is at most in the fonts that we ask for, by a table of widths."""
    return math.fsum(_char_width(char) for char in text) * size * (1.1 if bold else 1)


def _char_width(char: str) -> float:
    if char.isascii():
        return _WIDTH.get(char) or (_LOWER_OR_DIGIT if char.islower() or char.isdigit() else _CAPITAL)
    if unicodedata.combining(char):
        return 0.0
    return _WIDE if unicodedata.east_asian_width(char) in "WF" else _OTHER


def cut(text: str, room: float, *, size: float = 12, bold: bool = False) -> str:
    """The text as it is shown, shortened in the middle until it fits: names often differ at their ends.

    >>> cut("a-rather-long-name-of-an-agent", 90)
    'a-rath…agent'
    """
    shown = clean(text[:MAX_TITLE_LENGTH])
    most = max(int(room / size * 4), 1)  # no name has more characters than narrow letters fit, whatever it stacks
    if len(shown) <= most and text_width(shown, size=size, bold=bold) <= room:
        return shown
    widths = [_char_width(char) * size * (1.1 if bold else 1) for char in shown]
    left, right, used = 0, 0, text_width("…", size=size, bold=bold)
    while left + right < min(len(shown), most):
        from_left = left <= right * 1.4
        width = widths[left] if from_left else widths[-right - 1]
        if used + width > room:
            break
        used += width
        left, right = (left + 1, right) if from_left else (left, right + 1)
    return shown[:left] + "…" + (shown[-right:] if right else "")


def brief(name: str) -> str:
    """A name for the tooltip of a mark.

    >>> len(brief("x" * 10_000))
    60
    """
    if len(name) <= MAX_TOOLTIP_CHARS:
        return name
    return f"{name[: MAX_TOOLTIP_CHARS // 2]}…{name[-(MAX_TOOLTIP_CHARS // 2 - 1) :]}"
