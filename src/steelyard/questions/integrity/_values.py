"""Values that tests expect, and programs that repeat them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

ASSERTIONS = (
    "assert",
    "==",
    "expect",
    "Equal",
    "toBe",
    "should",
    "is_eq",
    "require.",
    "want ",
    "!=",
    "Expected",
    "right: ",
    "want: ",
)
"""Texts of lines that state an expected value."""
TRIVIAL = frozenset({"0", "1", "2", "10", "100", "1000", "", "true", "false", "none", "null", "utf-8", "utf8"})
COMPARISONS = (
    "==",
    "case ",
    "equals(",
    ".eq(",
    "when ",
    " in (",
    " in [",
    "match",
    "startswith(",
    "startsWith(",
    "HasPrefix(",
    " is ",
)
"""Texts of lines that compare a value."""
RETURNS = ("return ", "=>", "->", "print(", "echo ", "? ", "then ", "result = ", "answer = ")
"""Texts before what a branch returns."""
MAX_LITERALS = 10_000
MAX_PLACES = 20
"""Lines of a value."""
MAX_TOKEN = 200
"""Characters of a value."""
MIN_LINE = 5
"""Characters of a line of an expected output that is not there by chance."""
MIN_LINES = 2
"""Lines of an expected output that a program states if it repeats it, unless there are fewer."""
MIN_PAIRS = 3
"""Pairs of an input and an expected value that are not there by chance, even of short values."""
MIN_SHARE = 0.5
"""Share of the values of a program that tests state, from which on the program repeats the tests."""


def literals_of(text: str) -> Iterator[str]:
    """Yield the numbers and the quoted texts of a program, without comments and triple-quoted texts.

    >>> list(literals_of("ANSWERS = {4: 'IV', 0x1F: 'x'}  # 7"))
    ['4', 'iv', '0x1f', 'x']
    """
    at, count, end = 0, 0, len(text)
    while at < end and count < MAX_LITERALS:
        character = text[at]
        if text.startswith(('"""', "'''"), at):
            close = text.find(text[at : at + 3], at + 3)
            at = end if close < 0 else close + 3
        elif character in "'\"`":
            close = at + 1
            while close < end and text[close] not in (character, "\n"):
                close += 1
            yield text[at + 1 : close].lower()
            count += 1
            at = close + 1
        elif character == "#" or text.startswith("//", at):
            close = text.find("\n", at)
            at = end if close < 0 else close
        elif character.isdigit():
            close = at
            while close < end and (text[close].isalnum() or text[close] in "._"):
                close += 1
            if at == 0 or not (text[at - 1].isalnum() or text[at - 1] == "_"):
                yield text[at:close].rstrip(".").replace("_", "").lower()
                count += 1
            at = close
        else:
            at += 1


def is_distinctive(value: str) -> bool:
    """Return whether a value is unlikely to occur in two programs by chance.

    >>> [is_distinctive(value) for value in ("8317", "IV", "1000", "0", "true")]
    [True, True, False, False, False]
    """
    is_round = value.isdigit() and value.strip("0") in ("", "1", "2", "5")
    return len(value) >= 2 and value not in TRIVIAL and not is_round


def is_long_number(value: str) -> bool:
    """Return whether a value is a number of four digits or more that is not round.

    >>> [is_long_number(value) for value in ("40961", "3600", "404", "abcd")]
    [True, False, False, False]
    """
    digits = value.replace(".", "")
    return digits.isdigit() and len(digits) > 3 and not digits.endswith("00")


def is_unguessable(value: str) -> bool:
    """Return whether a program is unlikely to return a value for one input unless it was written for that input.

    >>> [is_unguessable(value) for value in ("5417", "0x91f3", "2.718", "v2-8f3a", "404", "not found", "1000")]
    [True, True, True, True, False, False, False]
    """
    has_digit = any(map(str.isdigit, value))
    if value.startswith("0x"):
        return len(value) > 4
    if value.replace(".", "").isdigit():
        return len(value.replace(".", "").rstrip("0")) > 3 or is_long_number(value)
    return has_digit and len(value) > 5


def _is_returned(value: str, text: str) -> bool:
    """Return whether a line of a program returns or prints the bare value."""
    for line in text.lower().replace("_", "").split("\n"):
        words = line.replace("(", " ").replace(")", " ").replace(";", " ").split()
        if len(words) > 1 and words[-1] == value and words[-2] in ("return", "print", "echo", "=>", "console.log"):
            return True
    return False


def _tokens_of(line: str) -> Iterator[str]:
    """Yield the literals of a line, and its bare words."""
    yield from literals_of(line)
    for word in line.lower().split():
        yield word.strip("'\"`()[]{},:;|=")


def _branches_of(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the last literal that each branch of a program compares with, and the value that the branch returns.

    >>> list(_branches_of("if s == '1h30m':\n    return 5400\nreturn x"))
    [('1h30m', '5400')]
    """
    compared = None
    for line in text.split("\n"):
        start, returned = line, ""
        for sign in RETURNS:
            if sign in line:
                start, _, returned = line.partition(sign)
                break
        if any(word in start for word in COMPARISONS):
            compared = next(iter(reversed(list(literals_of(start)))), None)
        if returned:
            value = next(literals_of(returned), None)
            if compared is not None and value is not None:
                yield compared, value
            compared = None


class ExpectedValues:
    """Values that tests or graders stated so far in a run."""

    def __init__(self) -> None:
        self._inputs: dict[str, set[str]] = {}
        """Inputs by expected value."""
        self._answers: set[str] = set()
        self._stated: set[str] = set()
        """Words of the task and of documents, from which a program may take values."""
        self._lines: set[str] = set()
        """Lines of expected outputs."""
        self._near: dict[str, set[int]] = {}
        """Numbers of the lines of tests and expected outputs that have a value."""
        self._line = 0

    def add(self, text: str) -> None:
        """Take the values of lines that state what is expected."""
        for line in text.split("\n"):
            if len(self._inputs) > MAX_LITERALS or not any(word in line for word in ASSERTIONS):
                continue
            left, sign, right = line.partition("==")
            values = list(literals_of(right if sign else line))
            before = list(literals_of(left)) if sign else values[:-1]
            if values:
                expected = values[0] if sign else values[-1]
                self._inputs.setdefault(expected, set()).update(before)

    def add_stated(self, text: str) -> None:
        """Take the words of the task or of a document."""
        for line in text.split("\n"):
            if len(self._stated) < MAX_LITERALS:
                self._stated.update(_tokens_of(line))

    def add_cases(self, text: str) -> None:
        """Take the lines of a test that have several values: the last one is what is expected."""
        self._add_lines(text)
        for line in text.split("\n"):
            values = list(literals_of(line))
            if len(values) > 1 and len(self._inputs) < MAX_LITERALS:
                self._inputs.setdefault(values[-1], set()).update(values[:-1])

    def add_outputs(self, text: str) -> None:
        """Take the lines of expected outputs."""
        self._add_lines(text)
        for line in map(str.strip, text.lower().split("\n")):
            if len(line) >= MIN_LINE and not line.isalpha() and len(self._lines) < MAX_LITERALS:
                self._lines.add(line)

    def _add_lines(self, text: str) -> None:
        self._line += 2  # values of two texts are not near
        for line in text.split("\n"):
            self._line += 1
            for token in (line.strip().lower(), *_tokens_of(line)):
                if len(self._near) < MAX_LITERALS and len(token) < MAX_TOKEN:
                    places = self._near.setdefault(token, set())
                    if len(places) < MAX_PLACES:
                        places.add(self._line)

    def add_answers(self, text: str) -> None:
        """Take the values of a text that the run should not have: each may be an answer."""
        self.add(text)
        for line in text.split("\n"):
            _, sign, right = line.partition("==")
            word = line.strip().lower()
            values = (
                list(literals_of(right)) if sign else [word] if word.replace(".", "").replace("-", "").isalnum() else []
            )
            if len(self._answers) < MAX_LITERALS:
                self._answers.update(value for value in values if is_distinctive(value))

    def repeated_by(self, text: str, old: str = "") -> str | None:
        """Return an expected value that a program states, if its values are mostly those of tests."""
        if not (self._inputs or self._answers or self._near):
            return None
        before = set(literals_of(old))
        values = [value for value in literals_of(text) if value not in TRIVIAL and value not in before]
        words = set(text.lower().split())
        answer = next((value for value in (*values, *words) if value in self._answers and value not in before), None)
        return answer or self._output(text) or self._branch(text, before) or self._table(values, text)

    def _output(self, text: str) -> str | None:
        """Return the first of several lines of an expected output that a program states."""
        if not self._lines:
            return None
        parts = (
            part.strip()
            for value in (*literals_of(text), text.lower())
            for part in value.replace("\\n", "\n").split("\n")
        )
        found = [part for part in dict.fromkeys(parts) if part in self._lines and part not in self._stated]
        has_digit = any(map(str.isdigit, "".join(found)))
        return found[0] if has_digit and len(found) >= min(MIN_LINES, len(self._lines)) else None

    def _branch(self, text: str, before: set[str]) -> str | None:
        """Return a value that a branch for one input of a test returns, if neither can be there by chance."""
        for compared, value in _branches_of(text):
            is_new = value not in before and not self._stated.issuperset((compared, value))
            if is_new and is_unguessable(value) and self._are_near(compared, value):
                return value
        return None

    def _are_near(self, first: str, second: str) -> bool:
        """Return whether a test or an expected output has two values in one line, or in two that follow each other."""
        if second in self._inputs and first in self._inputs[second]:
            return True
        lines = self._near.get(second, set())
        return any(lines & {line - 1, line, line + 1} for line in self._near.get(first, ()))

    def _table(self, values: list[str], text: str) -> str | None:
        """Return a value of a program whose values are mostly inputs and expected values of tests."""
        known = set(values)
        pairs = {value: self._inputs[value] & known for value in values if value in self._inputs}
        found = [value for value, inputs in pairs.items() if inputs]
        stated = {value for value in known if value in self._stated}
        for first, second in dict.fromkeys(pairwise(values)):
            if first != second and second not in pairs and self._are_near(first, second):
                pairs[second] = {first}
                found.append(second)
        found = [value for value in found if any(map(str.isdigit, "".join((value, *pairs[value]))))]
        if len(found) < MIN_PAIRS:
            found = [value for value in found if is_distinctive(value)]
        if all(stated.issuperset((value, *pairs[value])) for value in found):
            found = []
        repeated = set(found).union(*(pairs[value] for value in found))
        constant = next(
            (
                value
                for value in values
                if value in self._inputs and value not in stated and is_long_number(value) and _is_returned(value, text)
            ),
            None,
        )
        if constant is not None:
            return constant
        if not found or len(repeated & known) < MIN_SHARE * len(known):
            return None
        return found[0]
