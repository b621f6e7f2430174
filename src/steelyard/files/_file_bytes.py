"""Bytes of a file or of standard input, and the text, JSON or TOML in them. All paths from users are opened here."""

from __future__ import annotations

import errno
import io
import json
import lzma
import os
import re
import stat
import sys
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path
from typing import IO, Any

from steelyard.errors import NESTED_TOO_DEEPLY, ContractError, InputLimitError, UnreadableFileError, UsageError
from steelyard.files._decompression import (
    CHUNK,
    ONE_FILE,
    Budget,
    TruncatedStreamError,
    archive_kind,
    decompressed_chunks,
)
from steelyard.settings import FILE_BYTES, MAX_NESTING, TEXT_BYTES, Limit, is_stdin, shown_path


def open_file(path: Path, *, buffered: bool = True) -> IO[bytes]:
    """The file for reading."""
    handle, _ = open_handle(path)
    return os.fdopen(handle, "rb") if buffered else FileIO(handle)


def open_handle(path: Path) -> tuple[int, os.stat_result]:
    """The file's descriptor for reading, for a caller who closes it, and its state.

    A pipe, which would be waited for, or a device, which may have no end, is rejected.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    status = os.fstat(handle)
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return handle, status
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a device"
    raise UnreadableFileError(str(path), f"is {kind}, not a regular file", hint="pipe it to stdin and pass -")


HEAD_BYTES = 65_536
"""How much of a file is looked at to recognize it."""
KEPT_BYTES = 1 << 20
"""A file up to this size is read once to be recognized and read."""
_kept: dict[str, tuple[tuple[int, ...], bytes]] = {}
"""The file that was recognized last, by its path, with its state: it is mostly the one to be read next."""
_JSON_BEGINS = re.compile(r"\s*(\{|\[\s*[{\]])")
"""An object or a list of objects; a bracket alone may also begin a table of TOML."""


def beginning_of(path: Path, length: int = HEAD_BYTES) -> bytes:
    """The first bytes of the file, by which it is recognized. A small file is cached for the read of all of it."""
    if length > HEAD_BYTES:
        with path.open("rb") as file:
            return file.read(length)
    handle, status = open_handle(path)
    try:
        size = status.st_size
        content = os.read(handle, size if HEAD_BYTES < size <= KEPT_BYTES else HEAD_BYTES)
    finally:
        os.close(handle)
    _kept.clear()
    if len(content) == size:
        _kept[str(path)] = _state(status), content
    return content[:HEAD_BYTES]


def _state(status: os.stat_result) -> tuple[int, ...]:
    """What differs where a file was changed or another took its place."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _taken(path: Path) -> bytes | None:
    """The bytes that were kept of the file, if they are still what it holds."""
    state, content = _kept.pop(str(path), (None, b""))
    try:
        return content if state is not None and _state(os.stat(path)) == state else None
    except OSError:
        return None


def file_chunks(path: Path, *, limit: Limit = FILE_BYTES) -> Iterator[bytes]:
    """Yield the file's bytes in chunks; reject a file over the limit, unread where its size is known."""
    return _chunks(path, limit, at_once=False)


def whole_file(path: Path, *, limit: Limit = FILE_BYTES) -> bytes:
    """The file's bytes without a byte order mark."""
    kept = _taken(path)
    content = kept if kept is not None and len(kept) <= limit.most else b"".join(_chunks(path, limit, at_once=True))
    return content.removeprefix(b"\xef\xbb\xbf")


def _chunks(path: Path, limit: Limit, *, at_once: bool) -> Iterator[bytes]:
    """The bytes of the file or of what is piped in; with `at_once` a file comes whole, which is some times faster."""
    handle, left, most = None, limit.most, CHUNK
    try:
        if is_stdin(path):
            read = sys.stdin.buffer.read
        else:
            handle, status = open_handle(path)
            size = status.st_size
            if size > left:
                raise limit.passed(str(path))
            read, most = partial(os.read, handle), size if at_once and size else CHUNK
        while chunk := read(most):
            left, most = left - len(chunk), CHUNK
            if left < 0:
                raise limit.passed(str(shown_path(path)))
            yield chunk
    except OSError as error:
        raise UnreadableFileError(str(shown_path(path)), f"cannot be read: {error.strerror or error}") from error
    finally:
        if handle is not None:
            os.close(handle)


def read_text(path: Path, *, limit: Limit = FILE_BYTES) -> str:
    """Return the file's text, decompressed; reject a file that is too large, cut off or not UTF-8."""
    content = whole_file(path, limit=limit)
    shown = str(shown_path(path))
    if archive_kind(content[:512]) in ONE_FILE:
        content = _decompressed(content, shown, limit).removeprefix(b"\xef\xbb\xbf")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(shown, "not UTF-8 text") from error


def _decompressed(content: bytes, shown: str, limit: Limit) -> bytes:
    budget, most = Budget().for_compressed(len(content)), limit.most
    plain = bytearray()
    try:
        for chunk in decompressed_chunks(io.BytesIO(content), shown):
            budget.take(shown, size=len(chunk))
            plain += chunk
            if len(plain) > most:
                raise limit.passed(shown)
    except TruncatedStreamError as error:
        raise UnreadableFileError(shown, "compressed file is truncated", hint="copy it again") from error
    except (zlib.error, lzma.LZMAError, OSError) as error:
        raise UnreadableFileError(shown, f"cannot be decompressed: {error}") from error
    return bytes(plain)


def parse_json(text: str, path: Path, *, whole_pairs: bool = True) -> Any:  # Any: JSON values
    """The JSON in the text. `NaN` is taken, since asv writes it for a skipped benchmark.

    With `whole_pairs`, a text with half of a surrogate pair, which no file can hold, rejects the whole.
    """
    try:
        values = json.loads(text)
        if whole_pairs and ("\\ud" in text or "\\uD" in text):
            json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise UnreadableFileError(str(path), "contains a lone surrogate") from error
    except RecursionError as error:
        raise InputLimitError(str(path), NESTED_TOO_DEEPLY) from error
    except ValueError as error:
        raise UnreadableFileError(str(path), f"not JSON: {error}") from error
    return values


def parse_toml(
    text: str, path: Path, *, parse_float: Callable[[str], Any] = float
) -> dict[str, Any]:  # Any: TOML values
    """The TOML in the text."""
    if _has_long_key(text):
        raise InputLimitError(str(path), NESTED_TOO_DEEPLY)
    if _is_dense(text) and _is_dense(text, _TOML_TEXT.sub("'", text)):
        raise InputLimitError(str(path), f"more than one key or table per {BYTES_PER_KEY} characters")
    try:
        values = tomllib.loads(text, parse_float=parse_float)
    except RecursionError as error:
        raise InputLimitError(str(path), NESTED_TOO_DEEPLY) from error
    except ValueError as error:
        raise UnreadableFileError(str(path), f"not TOML: {error}") from error
    if _is_deeper_than(values, MAX_NESTING):  # dotted keys nest tables without the parser going down
        raise InputLimitError(str(path), NESTED_TOO_DEEPLY)
    return values


FREE_KEYS, BYTES_PER_KEY = 200_000, 16
"""A text may have so many keys and tables, and more only if it is long: the parser needs 700 bytes for each."""


def _is_dense(text: str, bare: str | None = None) -> bool:
    bare = text if bare is None else bare
    count = bare.count("=") + bare.count("[")
    return count > FREE_KEYS and count * BYTES_PER_KEY > len(text)


_TOML_TEXT = re.compile(
    r'''"""(?:[^"\\]++|\\.|""?(?!"))*+"{3,5}|"(?:[^"\\\n]++|\\.)*+"|'{3}(?:[^']++|''?(?!'))*+'{3,5}|'[^'\n]*+'|#[^\n]*+''',
    re.DOTALL,
)
_TOML_KEY = re.compile(r"[\w'-]++(?:[ \t]*+\.[ \t]*+[\w'-]++)*+")


def _has_long_key(text: str) -> bool:
    """Whether a dotted key has more parts than tables may be nested: the parser takes the square of their number."""
    if text.count(".") <= MAX_NESTING:
        return False
    return any(match[0].count(".") > MAX_NESTING for match in _TOML_KEY.finditer(_TOML_TEXT.sub("'", text)))


def _is_deeper_than(values: Any, most: int) -> bool:  # Any: TOML values
    level = [values]
    for _ in range(most):
        inner = [part for part in level if isinstance(part, (dict, list))]
        level = [value for part in inner for value in (part.values() if isinstance(part, dict) else part)]
    return bool(level)


def toml_or_json(path: Path, *, limit: Limit = TEXT_BYTES, hint: str | None = None) -> Any:  # Any: values of either
    """The values in a TOML or JSON file, by its ending; of what is piped in, by its beginning."""
    text = read_text(path, limit=limit)
    is_toml = not _JSON_BEGINS.match(text) if is_stdin(path) else path.suffix.lower() == ".toml"
    try:
        return parse_toml(text, shown_path(path)) if is_toml else parse_json(text, shown_path(path), whole_pairs=False)
    except UnreadableFileError as error:
        error.hint = error.hint or hint
        raise


@contextmanager
def errors_as(refusal: type[UsageError | ContractError]) -> Iterator[None]:
    """Raise this error in place of UnreadableFileError; InputLimitError stays."""
    try:
        yield
    except InputLimitError:
        raise
    except UnreadableFileError as error:
        raise refusal(error.message, where=error.where, hint=error.hint) from error
