"""Text from logs made safe to show: one rule for terminals, pages and figures."""

from __future__ import annotations

import re

_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colors, cursor moves
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\x9d]*(?:\x07|\x1b\\|\x9c)"  # window titles, links
    r"|\x1b[ -/]*[0-Z\\^-~]"  # the short ones
)


def clean(text: str) -> str:
    r"""The text without terminal escapes, blanks as spaces, other invisible characters as their escape.

    Nothing in it can drive a terminal, reorder its neighbors (bidirectional controls) or hide (zero-width characters).

    >>> clean("red \x1b[31mherring\x1b[0m\tcut\u202e")
    'red herring cut\\u202e'
    """
    if text.isprintable():
        return text
    text = _ANSI.sub("", text)
    return "".join(_shown(char) for char in text)


def visible_json(text: str) -> str:
    r"""JSON with every invisible character as its escape: it means the same, and nothing in it can drive a terminal.

    >>> visible_json('"c1 \x9b31m, turned \u202e, tag \U000e0041"')
    '"c1 \\u009b31m, turned \\u202e, tag \\udb40\\udc41"'
    """
    return _BEYOND_ASCII.sub(_json_escapes, text)


_BEYOND_ASCII = re.compile(r"[^\n -~]+")


def _json_escapes(match: re.Match[str]) -> str:
    run = match[0]
    return run if run.isprintable() else "".join(map(_json_escape, run))


def _json_escape(char: str) -> str:
    if char.isprintable():
        return char
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else ascii(char)[1:-1]
