"""Requests and responses of the metering proxy, kept in a compressed file when the plan asks for it."""

from __future__ import annotations

import gzip
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import msgspec

from steelyard.records import Record, Redaction
from steelyard.runner._metering_records import MeteredCall

TRANSCRIPT = "transcript.jsonl.gz"
MAX_KEPT_BODY_BYTES = 4 << 20
"""Bytes of one request or response that are kept."""
MAX_TRANSCRIPT_BYTES = 256 << 20
"""Compressed bytes of one execution that are kept."""
MAX_WAITING_BYTES = 64 << 20
"""Bytes of calls that wait to be written."""


class KeptCall(Record, frozen=True, kw_only=True):
    """Request and response of a model call, redacted."""

    number: int
    """Number of the call within its execution, as in `metering.jsonl`."""
    path: str
    """Path of the request, without the query."""
    started: datetime
    """Time when it was forwarded."""
    ended: datetime | None = None
    """Time when the response ended."""
    status: int | None = None
    """HTTP status of the response; None without a response."""
    request: str | None = None
    """Body of the request; None if it was omitted."""
    response: str | None = None
    """Body of the response, or the part that arrived; None if it was omitted."""
    is_truncated: bool = False
    """Whether a body is longer than what is kept."""
    is_omitted: bool = False
    """Whether the bodies were omitted because the file, or what waits to be written, is too large."""


class CallTranscript:
    """File with the calls of one execution. Each line is compressed separately, so that a crash loses only the last."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._written = os.fstat(self._file).st_size
        self._redaction = Redaction()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="transcript")
        self._waiting = 0
        self._lock = threading.Lock()

    def keep(self, call: MeteredCall, request: bytes, response: bytes) -> None:
        """Write the call in the background; redacting and compressing would delay other calls."""
        size = len(request) + len(response)
        with self._lock:
            is_omitted = self._waiting + size > MAX_WAITING_BYTES
            self._waiting += 0 if is_omitted else size
        if is_omitted:
            request = response = b""
        self._writer.submit(self._write, call, request, response, is_omitted=is_omitted)

    def close(self) -> None:
        """Wait until everything is written."""
        self._writer.shutdown()
        os.close(self._file)

    def _write(self, call: MeteredCall, request: bytes, response: bytes, *, is_omitted: bool) -> None:
        is_omitted = is_omitted or self._written >= MAX_TRANSCRIPT_BYTES
        kept = KeptCall(
            number=call.number,
            path=call.path,
            started=call.started,
            ended=call.ended,
            status=call.status,
            request=None if is_omitted else self._text(request),
            response=None if is_omitted else self._text(response),
            is_truncated=max(len(request), len(response)) > MAX_KEPT_BODY_BYTES,
            is_omitted=is_omitted,
        )
        with self._lock:
            self._waiting -= len(request) + len(response)
        line = gzip.compress(msgspec.json.encode(kept) + b"\n", 6, mtime=0)
        self._written += len(line)
        while line:
            line = line[os.write(self._file, line) :]

    def _text(self, body: bytes) -> str:
        return self._redaction.text(body[:MAX_KEPT_BODY_BYTES].decode("utf-8", "replace"))
