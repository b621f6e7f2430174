"""Signatures and distances of normalized texts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec
from rapidfuzz.distance import Levenshtein

DISTANCE_VERSION = "levenshtein-1"
EXACT_CELLS = 100_000_000_000
"""Length times length up to which a distance is exact: about 300,000 characters on each side, a few seconds of work."""
_BAND_CHARACTERS = 20_000
_MAX_LINES = 20_000


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """How far two normalized texts are apart, 0 to 1."""

    value: float
    """Edits over the length of the longer text."""
    approximate: bool = False
    """Whether it is an upper bound, because the exact value exceeded the budget."""


def signature(text: str) -> str:
    """SHA-256 of the text in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def edits(first: str, second: str, *, budget: int = EXACT_CELLS) -> tuple[int, bool]:
    """Levenshtein distance by code point, and whether it is only an upper bound.

    >>> edits("kitten", "sitting")
    (3, False)
    """
    if first == second:
        return 0, False
    if len(first) * len(second) <= budget:
        return int(Levenshtein.distance(first, second)), False
    # Sorted, so that the bound is the same both ways.
    first, second = sorted((first, second), key=lambda text: (len(text), text))
    return min(_by_lines(first, second), _by_bands(first, second)), True


def distance(first: str, second: str, *, budget: int = EXACT_CELLS) -> Distance:
    """Edits over the longer length: 0 exactly for equal texts, 1 between nothing and something.

    >>> distance("", "abc").value, distance("", "").value
    (1.0, 0.0)
    """
    longest = max(len(first), len(second))
    if longest == 0:
        return Distance(value=0.0)
    count, approximate = edits(first, second, budget=budget)
    return Distance(value=count / longest, approximate=approximate)


def cut_alike(text: str, goal: str, cuts: Sequence[int]) -> list[int]:
    """Where a shortest edit from text to goal passes the cuts, in order, of the text: the parts' edits add up to it.

    >>> cut_alike("abcd", "abXXcd", [2])
    [2]
    """
    blocks = Levenshtein.opcodes(text, goal)
    places, number = [], 0
    for cut in cuts:
        while number < len(blocks) and blocks[number].src_end < cut:
            number += 1
        block = blocks[number] if number < len(blocks) else None
        places.append(len(goal) if block is None else min(block.dest_start + cut - block.src_start, block.dest_end))
    return places


def within(first: str, second: str, *, tau: float) -> bool:
    """Whether the distance is at most tau, about ten times faster than asking for the distance."""
    return bool(Levenshtein.normalized_distance(first, second, score_cutoff=tau) <= tau)


def pairs_within(texts: Sequence[str], counts: Sequence[int], *, tau: float) -> int:
    """Return how many pairs of outputs are at most tau apart, given distinct texts and their counts."""
    import numpy as np  # heavy: only needed for all pairs
    from rapidfuzz.process import cdist  # imports numpy

    weights = np.asarray(counts, dtype=np.int64)
    among_equals = int((weights * (weights - 1) // 2).sum())
    if len(texts) < 2:
        return among_equals
    is_near = cdist(texts, texts, scorer=Levenshtein.normalized_distance, score_cutoff=tau, dtype=np.float64) <= tau
    both = np.triu(is_near, k=1)
    return among_equals + int(weights @ both.astype(np.int64) @ weights)


def _by_bands(first: str, second: str) -> int:
    """Edits when both texts are cut into as many pieces and each piece may only be matched with its twin."""
    pieces = max(1, -(-max(len(first), len(second)) // _BAND_CHARACTERS))
    total = 0
    for piece in range(pieces):
        left = first[piece * len(first) // pieces : (piece + 1) * len(first) // pieces]
        right = second[piece * len(second) // pieces : (piece + 1) * len(second) // pieces]
        total += Levenshtein.distance(left, right)
    return total


def _by_lines(first: str, second: str) -> int:
    """Return the edits when whole lines are matched first and only the rest is compared by character."""
    left, right = first.splitlines(keepends=True), second.splitlines(keepends=True)
    if max(len(left), len(right)) > _MAX_LINES:
        return max(len(first), len(second))
    total = 0
    for block in Levenshtein.opcodes(left, right):
        if block.tag != "equal":
            gone = "".join(left[block.src_start : block.src_end])
            come = "".join(right[block.dest_start : block.dest_end])
            total += _by_bands(gone, come)
    return total
