"""The code in an answer: which part of a model's text is the program.

The rule, version extract-1, in this order:
1. Fenced blocks (three or more backticks or tildes) whose label is the wanted language: their contents.
2. Else fenced blocks without a label: their contents.
3. Else all fenced blocks.
   Several blocks of the chosen kind: for Python they are joined in order when the whole parses, otherwise the longest
   that parses is taken; for other languages, and when none parses, the longest; the first among equals.
4. Else, for Python, the whole text when it parses; else the longest run of lines that parses and holds a statement that
   is more than a bare expression, the first among equals.
5. Else the whole text.
A fence that is never closed runs to the end of the text, as in an answer that was cut off.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from steelyard.questions.repeatability._languages import PYTHON, language_of
from steelyard.questions.repeatability._python_source import is_words, parse_python

EXTRACTION_VERSION = "extract-1"

Rule = Literal["labeled_fence", "bare_fence", "other_fence", "whole", "lines"]

_OPENING = re.compile(r"^ {0,3}(`{3,}+|~{3,}+)[ \t]*+([^\s`{]*+)[^\n`]*+$")
"""Possessive, so linear: what one part takes the next could not take better."""
_BEGINS = re.compile(r"(def|class|import|from|async|if|for|while|with|try)\b|@\w|\w+\s*=")
_MAX_LINES = 400
"""Maximum lines of prose around unfenced code before the search for a run of lines stops."""
_MAX_PARSED_LINES = 400_000
"""Maximum lines parsed without success before the search stops (about two seconds)."""


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """Code taken from an answer."""

    code: str
    """The program's text."""
    rule: Rule
    """Which part of the rule chose it."""
    blocks: int = 0
    """How many fenced blocks the answer has."""
    version: str = EXTRACTION_VERSION
    """The rule's version."""


def extract_code(answer: str, *, language: str | None = PYTHON) -> Extracted:
    r"""The code in an answer, by the rule above.

    >>> extract_code("Sure:\n```python\nx = 1\n```\nDone.").code
    'x = 1'
    """
    text = answer.replace("\r\n", "\n").replace("\r", "\n")
    blocks = _fenced(text)
    kinds: tuple[tuple[Rule, list[str]], ...] = (
        ("labeled_fence", [body for label, body in blocks if label and language_of(label) == language]),
        ("bare_fence", [body for label, body in blocks if not label]),
        ("other_fence", [body for _, body in blocks]),
    )
    for rule, bodies in kinds:
        if bodies:
            return Extracted(code=_choose(bodies, language), rule=rule, blocks=len(blocks))
    if language == PYTHON and parse_python(text) is None:
        code = _python_lines(text.split("\n"))
        if code is not None:
            return Extracted(code=code, rule="lines")
    return Extracted(code=answer, rule="whole")


def _fenced(text: str) -> list[tuple[str, str]]:
    """Label and content of each fenced block."""
    blocks: list[tuple[str, str]] = []
    fence, label, content = "", "", list[str]()
    for line in text.split("\n"):
        if not fence:
            opening = _OPENING.match(line)
            if opening:
                fence, label, content = opening[1], opening[2].lower(), []
        elif _closes(line, fence):
            blocks.append((label, "\n".join(content)))
            fence = ""
        else:
            content.append(line)
    if fence and any(line.strip() for line in content):
        blocks.append((label, "\n".join(content)))
    return blocks


def _closes(line: str, fence: str) -> bool:
    stripped = line.strip()
    return len(stripped) >= len(fence) and set(stripped) == {fence[0]}


def _choose(bodies: list[str], language: str | None) -> str:
    if len(bodies) == 1:
        return bodies[0]
    if language == PYTHON:
        joined = "\n\n".join(bodies)
        if parse_python(joined) is not None:
            return joined
        bodies = [body for body in bodies if parse_python(body) is not None] or bodies
    return max(bodies, key=len)


def _python_lines(lines: list[str]) -> str | None:
    """The longest run of lines that is Python and more than words."""
    if len(lines) > _MAX_LINES:
        return None
    # Only a line that could begin or end a program is tried, so prose costs little.
    starts = [number for number, line in enumerate(lines) if _BEGINS.match(line)]
    ends = {number for number, line in enumerate(lines) if line.strip()}
    parsed = 0
    for length in sorted({end - start + 1 for start in starts for end in ends if end >= start}, reverse=True):
        for start in starts:
            if start + length - 1 in ends:
                run = "\n".join(lines[start : start + length])
                tree = parse_python(run)
                if tree is not None and not is_words(tree):
                    return run
                parsed += length
                if parsed > _MAX_PARSED_LINES:
                    return None
    return None
