"""What `show` gives: one run, the way to each of its numbers, what it wrote, and how that differs from another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from steelyard.records import Run
from steelyard.results._base import Result, json_number, json_values

if TYPE_CHECKING:
    from steelyard.questions.explain import ExplainedValue

PIECE_CHARACTERS = 64_000
"""How much of a text is shown at a time."""


class TextPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a long text."""

    text: str
    offset: int
    """Number of characters before this piece."""
    total: int
    """Characters of the whole."""

    @property
    def end(self) -> int:
        """Number of characters up to the end of this piece."""
        return self.offset + len(self.text)

    @property
    def previous_offset(self) -> int | None:
        """Where the piece before begins; None for the first."""
        return None if not self.offset else max(0, self.offset - PIECE_CHARACTERS)

    @property
    def next_offset(self) -> int | None:
        """Where the next piece begins; None for the last."""
        return None if self.end >= self.total else self.end


def piece_of(text: str, offset: int = 0) -> TextPiece:
    """Return the piece at this offset; empty beyond the end.

    >>> piece_of("abc", 1).text, piece_of("abc", 9).text
    ('bc', '')
    """
    begin = min(max(offset, 0), len(text))
    return TextPiece(text=text[begin : begin + PIECE_CHARACTERS], offset=begin, total=len(text))


class OutputDifference(msgspec.Struct, frozen=True, kw_only=True):
    """How the output of the run differs from that of another run."""

    base: str
    """The other run."""
    added: int
    """Lines only in this run's output."""
    removed: int
    """Lines only in the other run's output."""
    is_shortest: bool
    """False if the diff is complete but may not be minimal, because the outputs are long."""
    changes: TextPiece
    """Unified diff with context lines."""


class CallCost(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model, placed in its run."""

    seconds: float | None
    """Since the start of the run, or the first call where the start is unknown; None where the call has no time."""
    model: str | None
    tokens: int | None
    cost_usd: float | None
    """As the price table has it; None where it has none."""


class RunPosition(msgspec.Struct, frozen=True, kw_only=True):
    """Position of the run among those that were read."""

    number: int
    """Counts from 1."""
    count: int
    previous: str | None
    next: str | None


@dataclass(frozen=True, repr=False, kw_only=True)
class RunDetail(Result):
    """The result of showing one run."""

    run: str
    record: Run
    """The record as it was read, without its output."""
    where: str
    """The file and line that it was read from."""
    profile: str
    prices: str
    numbers: tuple[ExplainedValue, ...]
    """Every metric of a run and the facts that a page shows, each with what it was made from."""
    calls: tuple[CallCost, ...]
    position: RunPosition
    output: TextPiece | None = None
    difference: OutputDifference | None = None
    redacted: str | None = None
    """How many keys and tokens of each kind were taken out; None where they were left in place."""

    @property
    def verdict(self) -> str:
        """How the run ended, in a word or two."""
        verdict = self.record.verdict
        if verdict is not None:
            return "passed" if verdict else "failed"
        return (self.record.outcome or "without a verdict").replace("_", " ")

    def number(self, name: str) -> float | None:
        """The metric or fact of that name; None where it is missing."""
        return next((each.value for each in self.numbers if each.name == name), None)

    def _about(self) -> str:
        return f"{self.run}: {self.verdict}, {self.record.task}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One flat row a number, those that it was made from below it."""
        return [{"run": self.run, **row} for each in self.numbers for row in _number_rows(each)]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        record = msgspec.json.decode(msgspec.json.encode(self.record))
        record.pop("output", None)
        return {
            "run": self.run,
            "where": self.where,
            "verdict": self.verdict,
            "profile": self.profile,
            "prices": self.prices,
            "position": msgspec.to_builtins(self.position),
            "record": record,
            "numbers": {each.name: json_values(msgspec.to_builtins(each)) for each in self.numbers},
            "calls": [{**msgspec.to_builtins(call), "cost_usd": json_number(call.cost_usd)} for call in self.calls],
            "output": msgspec.to_builtins(self.output),
            "difference": msgspec.to_builtins(self.difference),
            "redacted": self.redacted,
        }


def _number_rows(part: ExplainedValue, depth: int = 0) -> Iterator[dict[str, Any]]:  # Any: cells of any type
    names = ("name", "title", "value", "text", "reason", "unit", "formula", "provenance")
    yield {"depth": depth, **{name: getattr(part, name) for name in names}}
    for each in part.inputs:
        yield from _number_rows(each, depth + 1)


@dataclass(frozen=True, repr=False, kw_only=True)
class RunOutput(Result):
    """Part of the output of a run."""

    run: str
    output: TextPiece

    def _about(self) -> str:
        return f"{self.run}: characters {self.output.offset + 1:,} to {self.output.end:,} of {self.output.total:,}"

    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """One row with the piece."""
        return [{"run": self.run, **msgspec.to_builtins(self.output)}]

    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        return {
            "run": self.run,
            **msgspec.to_builtins(self.output),
            "previous_offset": self.output.previous_offset,
            "next_offset": self.output.next_offset,
        }
