"""A figure, its marks, their looks and their SVG: the only place where a foreign text becomes markup."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

from steelyard.errors import MissingExtraError, UnknownNameError, UsageError
from steelyard.plain_text import clean
from steelyard.settings import FIGURE_ENDINGS

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


PNG_ZOOM = 2
"""Pixels of a PNG for each unit of the figure, so that it is sharp on a slide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Figure that notebooks display and that can be saved as SVG or PNG."""

    name: str
    """The kind of figure: `dots`, `pareto`, ..."""
    title: str
    description: str
    """Text description for screen readers."""
    width: int
    height: int
    marks: tuple[Mark, ...]

    @property
    def inline(self) -> str:
        """SVG without styles, for a page whose style sheet contains `STYLE`."""
        return self._svg(alone=False)

    @property
    def svg(self) -> str:
        """Standalone SVG that follows the viewer's color scheme; light without CSS support."""
        return self._svg(alone=True)

    def _svg(self, *, alone: bool) -> str:
        body = "".join(markup(mark, alone=alone) for mark in self.marks)
        # a page has the figure for a desk and for a phone, which may be the same but for its width
        content = self.title + self.description + body + ("" if alone else f"{self.width}")
        identity = f"sy-{self.name}-{crc32(content.encode('utf-8', 'replace')):08x}"
        size = f'width="{self.width}" height="{self.height}" viewBox="0 0 {self.width} {self.height}"'
        font = f' font-family="{FONT}" font-size="12"' if alone else ""
        labels = f'role="img" aria-labelledby="{identity}-title" aria-describedby="{identity}-desc"'
        texts = f'<title id="{identity}-title">{safe(self.title) or self.name}</title>'
        texts += f'<desc id="{identity}-desc">{safe(self.description)}</desc>'
        before = ""
        if alone:
            before = f"<style>{STYLE}</style>"
            before += f'<rect class="sy-ground"{attributes("ground")} width="{self.width}" height="{self.height}"/>'
        if HATCH_ID in body:
            before += _hatch(f"{identity}-hatch", alone=alone)
            body = body.replace(HATCH_ID, f"{identity}-hatch")
        namespace = 'xmlns="http://www.w3.org/2000/svg"'
        return f'<svg {namespace} class="sy" {size} {labels}{font}>{texts}{before}{body}</svg>'

    def save(self, path: Path | str) -> None:
        """Write the figure to a file in the format of its extension (.svg or .png)."""
        path = Path(path)
        check_figure_file(path)
        content = self.png() if path.suffix.lower() == ".png" else self.svg.encode("utf-8", "replace") + b"\n"
        try:
            path.write_bytes(content)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from error

    def png(self, *, zoom: int = PNG_ZOOM) -> bytes:
        """Return the figure as a PNG in light colors; requires the extra `png`."""
        import resvg_py  # optional

        svg = self.svg.replace(f"<style>{STYLE}</style>", "")  # the attributes have the same styles, without dark mode
        return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom, background=LIGHT.ground))

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Figure({self.name!r}, {self.title!r}, {self.width} x {self.height})"


def figure_named(name: str | None, names: Sequence[str], *, result: str) -> str:
    """Return the name of a figure of a result (default: the first); an unknown name is an error with a suggestion."""
    if not names:
        raise UsageError(f"{result} has no figure")
    if name is not None and name not in names:
        error = UnknownNameError("figure", name, names)
        error.hint = f"{error.hint} known: {', '.join(names)}" if error.nearest else error.hint
        raise error
    return name or names[0]


def check_figure_options(unknown: Iterable[str], names: Sequence[str]) -> None:
    """Reject options that figures do not have; the hint lists the valid options and figures."""
    for keyword in unknown:
        drawn = f", where name is {', '.join(map(repr, names))}" if names else ""
        hint = f"figure(name, width=720){drawn}; select metrics and groups in the call that returned the result"
        raise UsageError(f"figure has no option {keyword!r}", hint=hint)


def check_figure_file(path: Path) -> None:
    """Reject a file without a figure extension, and a PNG if its library is not installed."""
    ending = path.suffix.lower()
    if ending not in FIGURE_ENDINGS:
        hint = f"supported: {' or '.join(FIGURE_ENDINGS)}"
        raise UsageError(f"unsupported file type: {path.name!r}", hint=hint)
    if ending == ".png" and find_spec("resvg_py") is None:
        raise MissingExtraError("resvg_py", extra="png", purpose="a PNG")


def _hatch(identity: str, *, alone: bool) -> str:
    look = f'class="sy-hatch"{attributes("hatch") if alone else ""}'
    size = 'width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"'
    return f'<defs><pattern id="{identity}" {size}><path {look} d="M1 0V5"/></pattern></defs>'


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


FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"


class Palette(NamedTuple):
    """One hue, two inks and a ground."""

    ground: str
    ink: str
    quiet: str
    grid: str
    hue: str


LIGHT = Palette(ground="#ffffff", ink="#1f2328", quiet="#59636e", grid="#e4e8ec", hue="#1a5fb4")
DARK = Palette(ground="#0d1117", ink="#e6edf3", quiet="#9aa4af", grid="#262c34", hue="#6cb0ff")

LOOKS = {
    "ground": {"fill": "ground"},
    "title": {"fill": "ink", "font-size": "14", "font-weight": "600"},
    "label": {"fill": "ink", "font-size": "12"},
    "strong": {"fill": "ink", "font-size": "12", "font-weight": "600"},
    "big": {"fill": "ink", "font-size": "22", "font-weight": "600"},
    "quiet": {"fill": "quiet", "font-size": "12"},
    "tick": {"fill": "quiet", "font-size": "11"},
    "count": {"fill": "ink", "font-size": "10"},
    "count-over": {"fill": "ground", "font-size": "10"},
    "grid": {"stroke": "grid", "stroke-width": "1", "fill": "none"},
    "axis": {"stroke": "quiet", "stroke-width": "1", "fill": "none"},
    "dashed": {"stroke": "quiet", "stroke-width": "1", "stroke-dasharray": "3 3", "fill": "none"},
    "mark": {"fill": "hue"},
    "soft": {"fill": "hue", "fill-opacity": ".38"},
    "faint": {"fill": "hue", "fill-opacity": ".1"},
    "ink": {"fill": "ink"},
    "grey": {"fill": "quiet", "fill-opacity": ".45"},
    "hollow": {"fill": "ground", "stroke": "hue", "stroke-width": "2"},
    "whisker": {"stroke": "hue", "stroke-width": "2", "stroke-opacity": ".55", "fill": "none"},
    "line": {"stroke": "hue", "stroke-width": "2", "fill": "none"},
    "thin": {"stroke": "hue", "stroke-width": "1", "stroke-opacity": ".55", "fill": "none"},
    "ring": {"stroke": "ink", "stroke-width": "1.5", "fill": "none"},
    "reference": {"stroke": "ink", "stroke-width": "2", "fill": "none"},
    "hatch": {"stroke": "quiet", "stroke-width": "1", "fill": "none"},
    "cell": {"fill": "hue"},
}
"""The attributes of each look; a color is named by its place in the palette."""


def attributes(look: str) -> str:
    """The look as attributes in the light palette, for renderers that know no style sheets."""
    return "".join(f' {name}="{_color(value, LIGHT)}"' for name, value in LOOKS[look].items())


def _color(value: str, palette: Palette) -> str:
    return getattr(palette, value) if value in Palette._fields else value


def _rules(palette: Palette, *, colors_only: bool) -> str:
    rules = []
    for look, declared in LOOKS.items():
        kept = {name: value for name, value in declared.items() if not colors_only or value in Palette._fields}
        body = ";".join(f"{name}:{_color(value, palette)}{_unit(name)}" for name, value in kept.items())
        rules.append(f".sy-{look}{{{body}}}" if body else "")
    return "".join(rules)


def _unit(name: str) -> str:
    return "px" if name == "font-size" else ""


STYLE = (
    f".sy{{font-family:{FONT};font-variant-numeric:tabular-nums}}"
    + _rules(LIGHT, colors_only=False)
    + f"@media screen and (prefers-color-scheme:dark){{{_rules(DARK, colors_only=True)}}}"
)
"""Style of figures, for the style sheet of a page or a standalone file."""
