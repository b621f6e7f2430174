"""Looks of marks, declared once for style sheets and for the attributes of standalone files."""

from __future__ import annotations

from typing import NamedTuple

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

LOOKS: dict[str, dict[str, str]] = {
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
    return "".join(f' {name}="{_value(value, LIGHT)}"' for name, value in LOOKS[look].items())


def _value(value: str, palette: Palette) -> str:
    return getattr(palette, value) if value in Palette._fields else value


def _rules(palette: Palette, *, colors_only: bool) -> str:
    rules = []
    for look, declared in LOOKS.items():
        kept = {name: value for name, value in declared.items() if not colors_only or value in Palette._fields}
        body = ";".join(f"{name}:{_value(value, palette)}{_unit(name)}" for name, value in kept.items())
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
