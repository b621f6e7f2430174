"""Which files must be put together at once: those that may report the same run, or hold the same call.

A file's parts name what they have to do with other files as keys. Files that share a key are one unit, and units are
put together apart from each other, wherever that is done. A key too many only makes a unit larger, so keys may be
short digests, and one that some files merely offer (their folder) binds only where another asks for it (the
trial that owns the folder).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from steelyard.formats import RunPart, log_format_named

Bond = tuple[int, bool]
"""A key, and whether the file asks for others that have it, or merely offers it."""


def digest_number(*texts: str | bytes) -> int:
    """Return a 63-bit hash of the texts, the same on every machine.

    >>> digest_number("a", "b") == digest_number("ab")
    False
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in texts:
        raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "big") + raw)
    return int.from_bytes(digest.digest(), "big") >> 1


def bonds_of(parts: Sequence[RunPart], content: bytes | None = None) -> dict[int, bool]:
    """What a file's parts have to do with other files: each key, and whether the file asks for it.

    `content` is the digest of the file's bytes, where a copy of the file would add nothing.
    """
    bonds: dict[int, bool] = {}
    for part in parts:
        for key, asks in _bonds(part):
            bonds[key] = bonds.get(key, False) or asks
    if content is not None:
        bonds[digest_number("content", content)] = True
    return bonds


def _bonds(part: RunPart) -> Iterator[Bond]:
    run, role, declared = part.run, part.role, log_format_named((part.run.source and part.run.source.format) or "")
    folder = part.path.rpartition("/")[0]
    yield digest_number("folder", folder), role in ("tests", "recording")
    if role == "owner":
        if run.id:
            yield digest_number("trial", declared.name, run.id), True
        if part.owns:
            yield digest_number("in", part.owns), True
        return
    while folder:
        yield digest_number("in", folder), False
        folder = folder.rpartition("/")[0]
    if role in ("tests", "recording"):
        return
    yield digest_number("task", run.task), role != "session"
    if role == "session":
        for id_ in (run.id, part.parent):
            if id_:
                yield digest_number("session", id_), True
        for call in run.calls or ():
            if call.id is not None:
                yield digest_number("call", declared.family, call.id), True
        for tool in part.tool_ids:
            yield digest_number("tool", declared.family, tool), not run.id


def linked(holders: Iterable[tuple[int, bool]]) -> Iterator[tuple[int, int]]:
    """Pairs of files that one key binds, from the files that have it and whether each asks for it, those first.

    >>> list(linked([(7, True), (7, False), (8, False)])), list(linked([(7, False), (8, False)]))
    ([(7, 8)], [])
    """
    first: int | None = None
    for file, asks in holders:
        if first is None:
            if not asks:
                return
            first = file
        elif file != first:
            yield first, file


def units_of(links: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Map each file that is linked with another to the file that represents its unit.

    >>> units_of([(1, 2), (5, 6), (2, 3)])
    {1: 1, 2: 1, 5: 5, 6: 5, 3: 1}
    """
    above: dict[int, int] = {}

    def top(file: int) -> int:
        while (over := above.setdefault(file, file)) != file:
            above[file] = file = above[over]
        return file

    for one, other in links:
        first, second = sorted((top(one), top(other)))
        above[second] = first
    return {file: top(file) for file in above}
