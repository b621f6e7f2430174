from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import eq
from typing import Any, Literal, overload

import msgspec

EMPTY_FILE = "empty_file"
"""The code of a file that was rejected because it holds nothing, which is no defect where nothing is an answer."""

Severity = Literal["info", "warning", "error"]
GRAVEST_FIRST: tuple[Severity, ...] = ("error", "warning", "info")


class Place(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One case of a finding."""

    where: str | None
    """File and line, run id or group; None when it is about the whole input."""
    message: str | None = None
    """Message for this case alone; None where the finding's own message applies."""
    count: int = 1
    """Number of cases: runs that lack a price for the same reason are one location."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem or anomaly in the data: a contradiction, a gap, an unexpected value.

    A single case has a `where`. A result contains one finding per kind, with all its locations.

    >>> finding = Finding(code="attempt_zero", message="attempts are counted from 1", where="run a")
    >>> finding.count, finding.places
    (1, (Place(where='run a', message=None, count=1),))
    """

    code: str
    """What kind of thing was found, as a stable word for scripts."""
    severity: Severity = "warning"
    """`info` explains, `warning` casts doubt on a number, `error` means a record was not used."""
    message: str
    """The sentence for a person; where the places differ, that of the first."""
    where: str | None = None
    """The first of its places."""
    count: int = 0
    """How many cases there are."""
    places: Sequence[Place] = ()
    """Every case, in a fixed order."""

    def __post_init__(self) -> None:
        """Complete what was not given: a finding of one case is one of one place."""
        if isinstance(self.places, list):  # as a worker's message is decoded
            msgspec.structs.force_setattr(self, "places", tuple(self.places))
        if not self.places:
            msgspec.structs.force_setattr(self, "places", (Place(where=self.where, count=self.count or 1),))
        msgspec.structs.force_setattr(self, "where", self.places[0].where)
        if not self.count:
            msgspec.structs.force_setattr(self, "count", _cases(self.places))

    @property
    def holds_everywhere(self) -> bool:
        """Whether it applies to all cases: an info that distinguishes nothing is for scripts alone."""
        return isinstance(self.places, PlacesOnDemand) and self.places.are_all


def _cases(places: Sequence[Place]) -> int:
    return len(places) if isinstance(places, PlacesOnDemand) else sum(place.count for place in places)


class PlacesOnDemand(Sequence[Place]):
    """Places that are made on access, so that millions take no more memory than what they come from.

    >>> places = PlacesOnDemand(3, lambda numbers: [Place(where=f"run {number}") for number in numbers])
    >>> places[1].where, [place.where for place in places]
    ('run 1', ['run 0', 'run 1', 'run 2'])
    """

    AT_ONCE = 10_000

    def __init__(self, count: int, made: Callable[[range], Iterable[Place]], *, are_all: bool = False) -> None:
        self._count = count
        self._made = made
        self.are_all = are_all

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Place]:
        for start in range(0, self._count, self.AT_ONCE):
            yield from self._made(range(start, min(start + self.AT_ONCE, self._count)))

    @overload
    def __getitem__(self, index: int) -> Place: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...

    def __getitem__(self, index: int | slice) -> Place | Sequence[Place]:
        """The place of that number, or several."""
        if isinstance(index, slice):
            return tuple(self._made(range(self._count)[index]))
        number = range(self._count)[index]
        return next(iter(self._made(range(number, number + 1))))

    def __eq__(self, other: object) -> bool:
        """Whether it has the same places, so that a finding equals the one that is read from its JSON."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


class FilePlaces:
    """Lines of files, with a message for each: paths are kept once, so that millions take a few bytes each."""

    def __init__(self) -> None:
        self._paths: dict[str, int] = {}
        self._path_numbers = array("q")
        self._lines = array("q")
        self._messages: list[str] = []

    def add(self, path: str, line: int | None, message: str) -> None:
        """One more."""
        self._path_numbers.append(self._paths.setdefault(path, len(self._paths)))
        self._lines.append(-1 if line is None else line)
        self._messages.append(message)

    def __len__(self) -> int:
        return len(self._lines)

    def on_demand(self) -> PlacesOnDemand:
        """The places, in the order in which they were added."""
        paths = list(self._paths)

        def made(numbers: range) -> Iterator[Place]:
            for number in numbers:
                path, line = paths[self._path_numbers[number]], self._lines[number]
                yield Place(where=path if line < 0 else f"{path}:{line}", message=self._messages[number])

        return PlacesOnDemand(len(self), made)


def one_a_kind(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding for each code, in the order in which codes first appear, with the places of all.

    >>> both = one_a_kind([Finding(code="c", message="is 1", where="a"), Finding(code="c", message="is 2", where="b")])
    >>> [(finding.message, finding.count) for finding in both], both[0].places[1].message
    ([('is 1', 2)], 'is 2')
    """
    kinds: dict[str, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.code, []).append(finding)
    return tuple(alike[0] if len(alike) == 1 else _merged(alike) for alike in kinds.values())


def _merged(alike: Sequence[Finding]) -> Finding:
    first = alike[0]
    return Finding(
        code=first.code,
        severity=min((finding.severity for finding in alike), key=GRAVEST_FIRST.index),
        message=first.message,
        count=sum(finding.count for finding in alike),
        places=tuple(
            Place(where=place.where, message=_own_words(place, finding, first), count=place.count)
            for finding in alike
            for place in finding.places
        ),
    )


def _own_words(place: Place, finding: Finding, first: Finding) -> str | None:
    if finding.message == first.message:
        return place.message
    return finding.message if place.message is None else f"{finding.message} ({place.message})"


_ADVICE = {
    "invalid_record": "fix or remove the record",
    EMPTY_FILE: "check the program that should have written the file, or remove the file",
    "cut_off": "read it again when it is complete, or copy it again; all data before this point was read",
    "unreadable_file": "check or remove the file",
}


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """A record that was rejected, with the reason and what to do."""

    path: str
    line: int | None = None
    reason: str
    hint: str | None = None
    code: str = "invalid_record"
    item: int | None = None
    """Its number from 1 in a list or table, where lines have no meaning."""

    @property
    def where(self) -> str:
        """File and line, or the item's number where lines have no meaning."""
        if self.item is not None:
            return f"{self.path}, item {self.item}"
        return self.path if self.line is None else f"{self.path}:{self.line}"

    @property
    def advice(self) -> str:
        """What to do: the hint, or what holds for all records rejected for such a cause."""
        return self.hint or _ADVICE.get(self.code, _ADVICE["invalid_record"])

    @property
    def message(self) -> str:
        """The reason and what to do, in one line."""
        return f"{self.reason} ({self.advice})"

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The record in a list of all that were rejected."""
        return {
            "code": self.code,
            "severity": "error",
            "message": self.message,
            "where": self.where,
            "hint": self.advice,
        }


class SetAside(Sequence[Rejected]):
    """All records that were rejected. Words are kept once, so that a million of bad lines take a few bytes each.

    >>> aside = SetAside()
    >>> for line in (1, 2):
    ...     aside.add(Rejected(path="runs.jsonl", line=line, reason="not JSON"))
    >>> len(aside), aside[1].where
    (2, 'runs.jsonl:2')
    """

    def __init__(self) -> None:
        self._numbers: dict[Rejected, int] = {}
        self._words: list[Rejected] = []
        self._worded = array("q")
        self._lines = array("q")
        self._items = array("q")

    def add(self, rejected: Rejected) -> None:
        """One more."""
        words = msgspec.structs.replace(rejected, line=None, item=None)
        number = self._numbers.setdefault(words, len(self._words))
        if number == len(self._words):
            self._words.append(words)
        self._worded.append(number)
        self._lines.append(-1 if rejected.line is None else rejected.line)
        self._items.append(-1 if rejected.item is None else rejected.item)

    def __len__(self) -> int:
        return len(self._worded)

    @overload
    def __getitem__(self, index: int) -> Rejected: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Rejected]: ...

    def __getitem__(self, index: int | slice) -> Rejected | Sequence[Rejected]:
        """The record of that number in the order of reading, or several."""
        if isinstance(index, slice):
            return tuple(self[number] for number in range(len(self))[index])
        line, item = self._lines[index], self._items[index]
        words = self._words[self._worded[index]]
        if line < 0 and item < 0:
            return words
        return msgspec.structs.replace(words, line=None if line < 0 else line, item=None if item < 0 else item)

    def by_reason(self) -> list[tuple[Rejected, int]]:
        """The first record of each reason and how many there are, the most frequent reason first."""
        first: dict[str, int] = {}
        counts: dict[str, int] = {}
        for index, number in enumerate(self._worded):
            reason = self._words[number].reason
            first.setdefault(reason, index)
            counts[reason] = counts.get(reason, 0) + 1
        most_first = sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))
        return [(self[first[reason]], count) for reason, count in most_first]


def set_aside_findings(rejected: Sequence[Rejected]) -> list[Finding]:
    """The records that were rejected as findings, one a cause."""
    by_code: dict[str, array[int]] = {}
    for index, record in enumerate(rejected):
        by_code.setdefault(record.code, array("q")).append(index)
    return [_set_aside_finding(rejected, indices) for indices in by_code.values()]


def _set_aside_finding(rejected: Sequence[Rejected], indices: array[int]) -> Finding:
    first = rejected[indices[0]]

    def made(numbers: range) -> Iterator[Place]:
        for number in numbers:
            record = rejected[indices[number]]
            message = record.message
            yield Place(where=record.where, message=None if message == first.message else message)

    return Finding(code=first.code, severity="error", message=first.message, places=PlacesOnDemand(len(indices), made))
