"""How two texts differ, line by line: exact while that is affordable, complete however long they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

AT_ONCE = 4_000
"""Lines of each text that are compared at once: the work of one comparison grows with the square of it."""
CONTEXT = 3
"""Equal lines that are shown around a change."""
MAX_LINE_BYTES = 2_000
"""Characters of a line that are shown, so that a text without line ends does not fill the page twice."""


class Block(NamedTuple):
    """Line ranges of the first text and the corresponding ones of the second."""

    is_equal: bool
    a_start: int
    a_end: int
    b_start: int
    b_end: int


class TextDifference(NamedTuple):
    """The changes from one text to another."""

    added: int
    removed: int
    is_shortest: bool
    """False where the texts were compared part by part, so that another list of changes may be shorter."""
    unified: str
    """The changes in the unified format, without file names; empty where the texts are equal."""


def text_difference(a: str, b: str) -> TextDifference:
    r"""The changes that make the second text of the first; the work grows with the length, not with its square.

    >>> text_difference("x\ny\n", "x\nz\n").unified
    '@@ -1,2 +1,2 @@\n x\n-y\n+z'
    """
    lines_a, lines_b = a.splitlines(), b.splitlines()
    blocks = line_blocks(lines_a, lines_b)
    changed = [block for block in blocks if not block.is_equal]
    return TextDifference(
        added=sum(block.b_end - block.b_start for block in changed),
        removed=sum(block.a_end - block.a_start for block in changed),
        is_shortest=max(len(lines_a), len(lines_b)) <= AT_ONCE,
        unified="\n".join(_unified(blocks, lines_a, lines_b)),
    )


def line_blocks(lines_a: Sequence[str], lines_b: Sequence[str]) -> list[Block]:
    """Return the equal and unequal blocks of lines, in order."""
    return _joined(_blocks(lines_a, lines_b))


def _blocks(lines_a: Sequence[str], lines_b: Sequence[str]) -> Iterator[Block]:
    """Equal and unequal blocks in order; both texts are taken up whole."""
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in lines_a]
    b = [numbers.setdefault(line, len(numbers)) for line in lines_b]
    at_a = at_b = 0
    while at_a < len(a) or at_b < len(b):
        part_a, part_b = a[at_a : at_a + AT_ONCE], b[at_b : at_b + AT_ONCE]
        is_last = at_a + len(part_a) == len(a) and at_b + len(part_b) == len(b)
        found = [
            Block(code.tag == "equal", code.src_start, code.src_end, code.dest_start, code.dest_end)
            for code in Indel.opcodes(part_a, part_b)
        ]
        if not is_last:
            found = _sure(found)
        for block in found:
            yield Block(
                block.is_equal, at_a + block.a_start, at_a + block.a_end, at_b + block.b_start, at_b + block.b_end
            )
        at_a, at_b = at_a + found[-1].a_end, at_b + found[-1].b_end


def _sure(found: list[Block]) -> list[Block]:
    """The blocks up to the last equal lines: what follows may find its like further on.

    Where the texts have next to nothing in common the whole part is taken up, so that the work stays bounded.
    """
    last = max((place for place, block in enumerate(found) if block.is_equal), default=None)
    if last is None or max(found[last].a_end, found[last].b_end) < AT_ONCE // 4:
        return found
    return found[: last + 1]


def _joined(blocks: Iterator[Block]) -> list[Block]:
    """Blocks of a kind that follow each other as one."""
    joined: list[Block] = []
    for block in blocks:
        if joined and joined[-1].is_equal == block.is_equal:
            joined[-1] = joined[-1]._replace(a_end=block.a_end, b_end=block.b_end)
        else:
            joined.append(block)
    return joined


def _unified(blocks: Sequence[Block], a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    for hunk in _hunks(blocks):
        first, last = hunk[0], hunk[-1]
        count_a, count_b = last.a_end - first.a_start, last.b_end - first.b_start
        yield f"@@ -{_place(first.a_start, count_a)} +{_place(first.b_start, count_b)} @@"
        for block in hunk:
            if block.is_equal:
                yield from (" " + _cut(line) for line in a[block.a_start : block.a_end])
            else:
                yield from ("-" + _cut(line) for line in a[block.a_start : block.a_end])
                yield from ("+" + _cut(line) for line in b[block.b_start : block.b_end])


def _place(start: int, count: int) -> str:
    """Return a line range in unified diff format; an empty one names the line before it."""
    return f"{start + 1},{count}" if count else f"{start},0"


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE_BYTES:
        return line
    return f"{line[:MAX_LINE_BYTES]} ... {len(line) - MAX_LINE_BYTES:,} more characters"


def _hunks(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Yield changes with their context lines; nearby changes are one hunk."""
    hunk: list[Block] = []
    for place, block in enumerate(blocks):
        if not block.is_equal:
            hunk.append(block)
            continue
        length = block.a_end - block.a_start
        is_first, is_last = place == 0, place == len(blocks) - 1
        if not (is_first or is_last) and length <= 2 * CONTEXT:
            hunk.append(block)
            continue
        if hunk:
            kept = min(length, CONTEXT)
            yield [*hunk, block._replace(a_end=block.a_start + kept, b_end=block.b_start + kept)]
        kept = min(length, CONTEXT)
        hunk = [] if is_last else [block._replace(a_start=block.a_end - kept, b_start=block.b_end - kept)]
    if any(not block.is_equal for block in hunk):
        yield hunk
