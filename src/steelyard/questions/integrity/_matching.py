"""Patterns of rules: texts in which `*` stands for any characters. Each search is linear in the text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

MAX_ALTERNATIVES = 1_000
"""Patterns that one pattern with braces may stand for."""
REACH = 7
"""Words between an instruction and its object, at most."""


def alternatives(pattern: str) -> list[str]:
    """Return the patterns that one with braces stands for.

    >>> alternatives("*.{test,spec}.js"), alternatives("{a,b}{1,2}")
    (['*.test.js', '*.spec.js'], ['a1', 'a2', 'b1', 'b2'])
    """
    found = [""]
    while pattern:
        before, brace, rest = pattern.partition("{")
        inside, end, after = rest.partition("}")
        if not brace or not end:
            return [each + pattern for each in found]
        found = [each + before + choice for each in found for choice in inside.split(",")]
        if len(found) > MAX_ALTERNATIVES:
            raise ValueError(f"the braces stand for more than {MAX_ALTERNATIVES:,} patterns")
        pattern = after
    return found


def is_like(text: str, pattern: str) -> bool:
    """Return whether the whole text has the form of the pattern.

    >>> is_like("--updateSnapshot", "--update*"), is_like("a.py", "*.js"), is_like("abab", "a*ab")
    (True, False, True)
    """
    if "*" not in pattern:
        return text == pattern
    first, *rest = pattern.split("*")
    last = rest.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    return _in_order(text, rest, len(first), len(text) - len(last))


def contains(text: str, pattern: str) -> bool:
    """Return whether the text contains the parts of the pattern in their order.

    >>> contains("run: pytest -q || true", "pytest*|| true"), contains("true || pytest", "pytest*|| true")
    (True, False)
    """
    return _in_order(text, pattern.split("*"), 0, len(text))


def _in_order(text: str, parts: Sequence[str], start: int, end: int) -> bool:
    for part in parts:
        start = text.find(part, start, end)
        if start < 0:
            return False
        start += len(part)
    return True


class WordSequence:
    """Words of a command or a sentence, searched for many patterns: each part of a pattern is looked up once.

    >>> git = WordSequence(["git", "--no-pager", "log", "--all"])
    >>> git.has("log --all"), git.has("--all log"), git.is_command("git log --al*"), git.is_command("hg log")
    (True, False, True, False)
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            self._places.setdefault(word, []).append(place)
        self._found: dict[str, list[int]] = {}

    def has(self, pattern: str, start: int = 0) -> bool:
        """Return whether the words of the pattern occur in this order, with any others between."""
        for part in pattern.split():
            places = self._like(part)
            at = bisect_left(places, start)
            if at == len(places):
                return False
            start = places[at] + 1
        return True

    def is_command(self, pattern: str) -> bool:
        """Return whether the words are a command of the pattern, whose first word is its name."""
        name, _, rest = pattern.partition(" ")
        return bool(self.words) and is_like(self.words[0], name) and self.has(rest, 1)

    def has_any(self, patterns: Iterable[str]) -> bool:
        """Return whether some word has the form of a pattern."""
        return any(self._like(pattern) for pattern in patterns)

    def has_pair(self, first: Iterable[str], second: Iterable[str]) -> bool:
        """Return whether a word of the first patterns is shortly before one of the second."""
        starts = sorted(place for pattern in first for place in self._like(pattern))
        if not starts:
            return False
        for pattern in second:
            for place in self._like(pattern):
                before = bisect_left(starts, place)
                if before and place - starts[before - 1] <= REACH:
                    return True
        return False

    def _like(self, part: str) -> Sequence[int]:
        if "*" not in part:
            return self._places.get(part, ())
        if part not in self._found:
            self._found[part] = [place for place, word in enumerate(self.words) if is_like(word, part)]
        return self._found[part]


def is_path(path: str, pattern: str) -> bool:
    """Return whether a path has the form of the pattern: of its name, of its end, or of the whole from the root.

    >>> is_path("a/test_b.py", "test_*.py"), is_path("/x/tests/b", "tests/*"), is_path("/x/tests/b", "/tests/*")
    (True, True, False)
    """
    path = path.removeprefix("./").rstrip("/")
    if "/" not in pattern:
        return is_like(path.rpartition("/")[2], pattern)
    if pattern.startswith("/"):
        return is_like(path, pattern)
    return is_like(f"/{path}", f"*/{pattern}")


@lru_cache(maxsize=4096)
def is_any_path(path: str, patterns: tuple[str, ...]) -> bool:
    """Return whether a path has the form of one of the patterns."""
    return any(is_path(path, pattern) for pattern in patterns)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case.

    >>> words_of("Fix tests/test_a.py, don't merge.")
    ['fix', 'tests', 'test_a', 'py', "don't", 'merge']
    """
    spaced = "".join(each if each.isalnum() or each in "_'" else " " for each in text.lower())
    return [word for each in spaced.split() if (word := each.strip("'"))]


def sentences_of(text: str) -> list[str]:
    """Return the sentences and lines of a text.

    >>> sentences_of("Fix a.py. Do not skip tests; push it.")
    ['Fix a.py', 'Do not skip tests', 'push it.']
    """
    for end in (". ", "; ", "? ", "! "):
        text = text.replace(end, "\n")
    return [line for line in text.split("\n") if line.strip()]


def changed_lines(text: str, other: str) -> Iterator[str]:
    """Yield the lines of a text that another does not have."""
    known = {line.strip() for line in other.split("\n")}
    return (line for line in text.split("\n") if line.strip() and line.strip() not in known)


def first_line(lines: Iterable[str], patterns: Sequence[str]) -> str | None:
    """Return the first line that contains one of the patterns."""
    return next((line for line in lines if any(contains(line, pattern) for pattern in patterns)), None)


def without_values(text: str) -> str:
    """Return a text without numbers and quoted texts.

    >>> without_values("f(1e-6) == 'a'") == without_values("f(0.5) == 'bc'")
    True
    """
    kept, quote = [], ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif not character.isdigit() and character not in ".-_e":
            kept.append(character)
    return "".join(kept)
