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


def _shown(char: str) -> str:
    if char.isprintable():
        return char
    return " " if char.isspace() else ascii(char)[1:-1]
