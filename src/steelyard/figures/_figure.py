"""A figure: what it shows in words, its size, its marks, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from zlib import crc32

from steelyard.errors import MissingExtraError, UsageError
from steelyard.figures._markup import HATCH_ID, Mark, markup, safe
from steelyard.figures._style import FONT, LIGHT, STYLE, attributes

FIGURE_ENDINGS = (".svg", ".png")
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
        words = f'<title id="{identity}-title">{safe(self.title) or self.name}</title>'
        words += f'<desc id="{identity}-desc">{safe(self.description)}</desc>'
        before = ""
        if alone:
            before = f"<style>{STYLE}</style>"
            before += f'<rect class="sy-ground"{attributes("ground")} width="{self.width}" height="{self.height}"/>'
        if HATCH_ID in body:
            before += _hatch(f"{identity}-hatch", alone=alone)
            body = body.replace(HATCH_ID, f"{identity}-hatch")
        namespace = 'xmlns="http://www.w3.org/2000/svg"'
        return f'<svg {namespace} class="sy" {size} {labels}{font}>{words}{before}{body}</svg>'

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
