"""The text of a file that is read whole, from a disk or standard input, and the JSON in it."""

from __future__ import annotations

import json
import sys
import zlib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFile
from steelyard.settings import is_stdin, shown_path

MAX_BYTES = 256 * 1024 * 1024
"""Largest file that is read whole, after unpacking."""


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
