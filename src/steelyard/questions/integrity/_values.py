"""Values that tests expect, and programs that repeat them."""

from __future__ import annotations

from collections.abc import Iterator

ASSERTIONS = ("assert", "==", "expect", "Equal", "toBe", "should", "is_eq", "require.", "want ", "!=")
"""Texts of lines that state an expected value."""
TRIVIAL = frozenset({"0", "1", "2", "10", "100", "1000", "", "true", "false", "none", "null", "utf-8", "utf8"})
MAX_LITERALS = 10_000
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


def _is_returned(value: str, text: str) -> bool:
    """Return whether a line of a program returns or prints the bare value."""
    for line in text.lower().replace("_", "").split("\n"):
        words = line.replace("(", " ").replace(")", " ").replace(";", " ").split()
        if len(words) > 1 and words[-1] == value and words[-2] in ("return", "print", "echo", "=>", "console.log"):
            return True
    return False


class ExpectedValues:
    """Values that tests or graders stated so far in a run."""

    def __init__(self) -> None:
        self._inputs: dict[str, set[str]] = {}
        """Inputs by expected value."""
        self._answers: set[str] = set()

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

    def add_cases(self, text: str) -> None:
        """Take the lines of a test that have several values: the last one is what is expected."""
        for line in text.split("\n"):
            values = list(literals_of(line))
            if len(values) > 1 and len(self._inputs) < MAX_LITERALS:
                self._inputs.setdefault(values[-1], set()).update(values[:-1])

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

    def repeated_by(self, text: str) -> str | None:
        """Return an expected value that a program states, if its values are mostly those of tests."""
        if not self._inputs and not self._answers:
            return None
        values = [value for value in literals_of(text) if value not in TRIVIAL]
        words = set(text.lower().split())
        answer = next((value for value in (*values, *words) if value in self._answers), None)
        if answer is not None:
            return answer
        known = set(values)
        pairs = {value: self._inputs[value] & known for value in values if value in self._inputs}
        found = [value for value, inputs in pairs.items() if inputs]
        if len(found) < MIN_PAIRS:
            found = [value for value in found if is_distinctive(value)]
        stated = set(found).union(*(pairs[value] for value in found))
        constant = next(
            (
                value
                for value in values
                if value in self._inputs and is_long_number(value) and _is_returned(value, text)
            ),
            None,
        )
        if constant is not None:
            return constant
        if not found or len(stated & known) < MIN_SHARE * len(known):
            return None
        return found[0]
