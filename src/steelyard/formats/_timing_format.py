"""What a timing source is, and the bounded reading that all of them share."""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFile
from steelyard.records import Rejected, Run, Snapshot, TestResults, Timing
from steelyard.settings import is_stdin, shown_path

MAX_BYTES = 256 * 1024 * 1024
"""Largest timing file that is read, after unpacking."""


MAX_AMOUNT = 1e12
"""Largest cost that is taken for one."""


@dataclass(frozen=True, slots=True)
class TimingFile:
    """What one file says: timings, and what else it knows of the run that made them."""

    path: str
    format: str
    timings: tuple[Timing, ...]
    rejected: tuple[Rejected, ...] = ()
    tests: TestResults | None = None
    snapshot: Snapshot | None = None
    cost_usd: float | None = None
    trajectory_length: int | None = None
    run: Run | None = None
    """The run record that the file is, where it is one."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A file's content, parsed once for all sources to look at."""

    path: Path
    text: str
    values: Any  # Any: whatever JSON the file holds; None when it is not JSON


@dataclass(frozen=True, slots=True)
class TimingFormat:
    """One format: standing in this folder as `FORMAT` is being registered."""

    name: str
    title: str
    recognizes: Callable[[Opened], bool]
    read: Callable[[Opened], TimingFile]


def read_text(path: Path) -> str:
    """The file's text, unpacked when it is gzip; refused when it is too large, cut off or not UTF-8."""
    try:
        with nullcontext(sys.stdin.buffer) if is_stdin(path) else path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableFile(str(path), f"cannot be read: {error.strerror or error}") from error
    path = shown_path(path)
    if content[:2] == b"\x1f\x8b":
        content = _unpacked(content, path)
    if len(content) > MAX_BYTES:
        raise UnreadableFile(str(path), f"larger than {MAX_BYTES // 2**20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableFile(str(path), "not UTF-8 text") from error


def _unpacked(content: bytes, path: Path) -> bytes:
    plain = b""
    while content and len(plain) <= MAX_BYTES:  # a gzip file may be several, one after another
        unpacker = zlib.decompressobj(wbits=31)
        try:
            plain += unpacker.decompress(content, MAX_BYTES + 1 - len(plain))
        except zlib.error as error:
            raise UnreadableFile(str(path), f"broken gzip: {error}") from error
        if not unpacker.eof and len(plain) <= MAX_BYTES:
            raise UnreadableFile(str(path), "the gzip file is cut off")
        content = unpacker.unused_data
    return plain


def parse_json(text: str, path: Path) -> Any:  # Any: JSON values
    """The JSON in the text. `NaN` is taken, since asv writes it for a skipped benchmark."""
    try:
        values = json.loads(text)
        if "\\ud" in text or "\\uD" in text:  # an escape that only counts as a character in a pair
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UnreadableFile(str(path), "a text in it holds half of a surrogate pair") from error
    except RecursionError as error:
        raise UnreadableFile(str(path), "the JSON is nested too deeply") from error
    except ValueError as error:
        raise UnreadableFile(str(path), f"not JSON: {error}") from error
    return values


def number(value: object) -> float | None:
    """The value as a float; None for anything that is not a number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def amount(value: object) -> float | None:
    """The value as an amount of money; None when it is negative, not finite or absurd."""
    known = number(value)
    return known if known is not None and 0 <= known <= MAX_AMOUNT else None


def count(value: object) -> int | None:
    """The value as a whole number that is not negative; None otherwise."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def text_or_none(value: object) -> str | None:
    """The value when it is a text with something in it."""
    return value if isinstance(value, str) and value else None


def collected(
    path: Path, name: str, entries: Iterable[Timing | Rejected], **known: Any
) -> TimingFile:  # Any: the other fields of TimingFile
    """A TimingFile of what a source found; the second of two timings with one name and environment is set aside."""
    timings: dict[str, Timing] = {}
    rejected: list[Rejected] = []
    for entry in entries:
        if isinstance(entry, Rejected):
            rejected.append(entry)
        elif entry.name in timings:
            rejected.append(
                Rejected(path=str(path), reason=f"benchmark {entry.name!r} is listed twice", hint="keep one")
            )
        else:
            timings[entry.name] = entry
    return TimingFile(str(path), name, tuple(timings.values()), tuple(rejected), **known)
