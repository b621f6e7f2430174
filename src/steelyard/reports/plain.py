"""Text from logs as a terminal may show it."""

from __future__ import annotations


def clean(text: str) -> str:
    r"""The text without control characters: names come from logs and must not drive the terminal.

    >>> clean("red \x1b[31m herring")
    'red  [31m herring'
    """
    return "".join(char if char.isprintable() else " " for char in text)
