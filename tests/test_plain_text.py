"""Text from logs is shown, and does nothing else."""

from __future__ import annotations

import pytest

from steelyard.plain_text import clean


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 漢字 🚀", "plain ünïcode 漢字 🚀"),
        ("\x1b[1;31mred\x1b[0m \x9b31mred", "red red"),
        ("\x1b]0;a window's title\x07after \x1b]8;;http://x\x1b\\link", "after link"),
        ("\x1b]0;never ended", "\\x1b]0;never ended"),
        ("two\r\nlines\tand a\u00a0blank", "two  lines and a blank"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("\x00\ud800", "\\x00\\ud800"),
    ],
)
def test_what_is_invisible_is_shown_or_removed(text: str, shown: str) -> None:
    assert clean(text) == shown
    assert clean(text).isprintable()


@pytest.mark.parametrize("start", ["\x9d", "\x1b]", "\x9b", "\x1b[", "\x1b[1"])
def test_openings_without_an_end_take_no_more_than_their_length(start: str) -> None:
    assert clean(start * 300_000).isprintable()  # a search from each to the end would take hours
