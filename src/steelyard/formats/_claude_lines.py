"""The lines of a Claude Code log with data about a run, found without looking at the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from steelyard.files import numbered_lines, whole_file

CREATED = b'"create"'
COST_STATE = b'"cost-state"'
WHOLE_BYTES = 64 << 20
"""Files up to this size are searched as a whole."""
OPENING_LINES = 4
"""Lines at the beginning that are all read, for when and where the session began."""


class Lines:
    """The lines with data about a run: the first, the last, and those with a model's message.

    Most of a log is what tools gave back. It is passed over without being cut into lines, so a broken line there is not
    noticed; it contains nothing that is counted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = b""
        self.start = 0
        """The place of the line that was given last, in bytes or lines; places of one file compare."""
        self.counted = 0
        self.writing = False
        """Whether a tool that may create a file has just been called."""
        self.created: list[bytes] = []
        """Lines in which a tool may report a file that it created."""
        self._states: list[tuple[int, bytes]] = []

    def states_from(self, place: int) -> Iterator[tuple[int, bytes]]:
        """Yield lines from a place on that may have the session's totals, with their own places."""
        if self.counted:
            return ((at, line) for at, line in self._states if at >= place)
        return _lines_with(self.data, COST_STATE, place)

    @property
    def number(self) -> int:
        """The number of the line that was given last; counted only on request."""
        number, at, find = self.counted or 1, -1, self.data.find
        while (at := find(b"\n", at + 1, self.start)) >= 0:  # `count` looks at every byte by itself
            number += 1
        return number

    def __iter__(self) -> Iterator[bytes]:
        if self.path.stat().st_size > WHOLE_BYTES:
            for number, line in numbered_lines(self.path):
                self.counted = self.start = number
                if CREATED in line:
                    self.created.append(line)
                if COST_STATE in line:
                    self._states.append((number, line))
                yield line
            return
        data = self.data = whole_file(self.path)
        end = len(data)
        while end and data[end - 1] in b" \t\r\n":
            end -= 1
        last = data.rfind(b"\n", 0, end) + 1
        start = 0
        opening = OPENING_LINES
        find = data.find
        while start <= last < end:
            if opening:
                opening -= 1
            else:
                hit = find(b'"assistant"', start, last)
                following = (data.rfind(b"\n", start, hit) + 1 or start) if hit >= 0 else last
                if self.writing and following > start:  # the tool's result precedes the model's next message
                    self._look_for_created(start, following)
                    self.writing = False
                start = following
            stop = find(b"\n", start, end)
            if stop < 0:
                stop = end
            if stop > start:
                self.start = start
                yield data[start:stop]
            start = stop + 1

    def _look_for_created(self, start: int, end: int) -> None:
        self.created += [line for _, line in _lines_with(self.data, CREATED, start, end)]


def _lines_with(data: bytes, word: bytes, start: int = 0, end: int | None = None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that contain the word, each once, with their starts."""
    end = len(data) if end is None else end
    at = data.find(word, start, end)
    while at >= 0:
        begin, stop = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at, end)
        stop = end if stop < 0 else stop
        yield begin, data[begin:stop]
        at = data.find(word, stop, end)
