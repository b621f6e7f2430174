"""Differences between two runs: their numbers, and their steps aligned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import islice, zip_longest
from typing import Literal, NamedTuple

from steelyard.questions._answer import Part
from steelyard.questions.show._text_difference import line_blocks
from steelyard.questions.show_steps import shown_step
from steelyard.records import SessionStep

MAX_ALIGNED = 20_000
"""Steps of each run that are aligned."""
MAX_PAIRS = 200
"""Pairs of steps in an answer, from the first that differs on."""


class NumberPair(Part, frozen=True, kw_only=True):
    """A metric or fact of both runs."""

    name: str
    unit: str | None
    value: float | None
    """None if it is missing."""
    base_value: float | None
    """Value of the other run."""


class StepPair(Part, frozen=True, kw_only=True):
    """A step of the run and the corresponding one of the other run."""

    relation: Literal["same", "changed", "added", "removed"]
    """`changed`: same kind and tool, other content. `added`: only in this run. `removed`: only in the other run."""
    step: int | None
    """Position in this run, from 1."""
    base_step: int | None
    """Position in the other run."""
    author: str
    tool: str | None
    content: str | None
    """Beginning of the step of this run."""
    base_content: str | None
    """Beginning of the step of the other run."""


class StepDifference(Part, frozen=True, kw_only=True):
    """The steps of two runs, aligned by their content."""

    count: int
    """Steps of this run."""
    base_count: int
    """Steps of the other run."""
    same: int
    """Steps of this run that the other run has too, in the same order."""
    first_divergence: int | None
    """Position in this run of the first step that differs; None if the runs have the same steps."""
    pairs: tuple[StepPair, ...]
    """From the first that differs on; at most 200."""
    is_complete: bool
    """Whether all steps were aligned and all pairs are listed."""


class _Aligned(NamedTuple):
    """What is kept of a step."""

    key: str
    sort: tuple[str, str | None]
    author: str
    tool: str | None
    content: str


def step_difference(steps: Iterator[SessionStep], base: Iterator[SessionStep]) -> StepDifference:
    """Return the steps of a run aligned with those of another; the work grows with their number."""
    mine, others = (_kept(each) for each in (steps, base))
    is_whole = next(steps, None) is None and next(base, None) is None
    pairs = list(_pairs(mine, others))
    first = next((at for at, pair in enumerate(pairs) if pair.relation != "same"), None)
    shown = () if first is None else tuple(pairs[first : first + MAX_PAIRS])
    diverges = None if first is None else sum(pair.step is not None for pair in pairs[:first]) + 1
    return StepDifference(
        count=len(mine),
        base_count=len(others),
        same=sum(pair.relation == "same" for pair in pairs),
        first_divergence=diverges,
        pairs=shown,
        is_complete=is_whole and (first is None or len(pairs) - first <= MAX_PAIRS),
    )


def _kept(steps: Iterator[SessionStep]) -> list[_Aligned]:
    return [_aligned(step) for step in islice(steps, MAX_ALIGNED)]


def _aligned(step: SessionStep) -> _Aligned:
    shown = shown_step(step)
    digest = blake2b(digest_size=16)
    for text in (step.kind, step.role, step.tool or "", *step.content):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return _Aligned(digest.hexdigest(), (step.kind, step.tool), shown.author, step.tool, shown.snippet)


def _pairs(mine: Sequence[_Aligned], others: Sequence[_Aligned]) -> Iterator[StepPair]:
    for block in line_blocks([each.key for each in others], [each.key for each in mine]):
        left = range(block.a_start, block.a_end)
        right = range(block.b_start, block.b_end)
        if block.is_equal:
            for base_at, at in zip(left, right, strict=True):
                yield _pair("same", mine, at, others, base_at)
            continue
        for base_at, at in zip_longest(left, right):
            if at is not None and base_at is not None and mine[at].sort == others[base_at].sort:
                yield _pair("changed", mine, at, others, base_at)
                continue
            if base_at is not None:
                yield _pair("removed", mine, None, others, base_at)
            if at is not None:
                yield _pair("added", mine, at, others, None)


def _pair(
    relation: Literal["same", "changed", "added", "removed"],
    mine: Sequence[_Aligned],
    at: int | None,
    others: Sequence[_Aligned],
    base_at: int | None,
) -> StepPair:
    own = None if at is None else mine[at]
    other = None if base_at is None else others[base_at]
    named = own or other
    assert named is not None  # one of both is there
    return StepPair(
        relation=relation,
        step=None if at is None else at + 1,
        base_step=None if base_at is None else base_at + 1,
        author=named.author,
        tool=named.tool,
        content=None if own is None else own.content,
        base_content=None if other is None else other.content,
    )
