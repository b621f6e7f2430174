"""Read files by the format that recognizes them, in this process or in several that exchange MessagePack."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Literal

import msgspec

from steelyard.errors import DeclarationError, UnreadableFileError
from steelyard.files import archive_kind, is_yaml, open_file
from steelyard.records import DecodeError, Finding, Rejected
from steelyard.sources.formats._catalog import each_log_format, formats_plugged_in, log_format_named
from steelyard.sources.formats._log_format import (
    SQLITE,
    Head,
    LogFormat,
    PlacedRun,
    ReadItem,
    RunPart,
    head_of,
    stored_tables,
)

FileKind = Literal["read", "archive", "own", "no_run", "unknown"]


class ReadJob(msgspec.Struct, frozen=True, array_like=True):
    """A file to be read."""

    number: int
    path: str
    named: bool
    format: str | None = None


class FileResult(msgspec.Struct, array_like=True):
    """What a file turned out to be: read, compressed, our own records (streamed later), without a run, or unknown."""

    number: int
    kind: FileKind
    format: str | None = None
    parts: list[RunPart] = []
    entries: list[PlacedRun] = []
    rejected: list[Rejected] = []
    findings: list[Finding] = []


_latest: list[LogFormat] = []
"""The format of the file before: neighbors are often of one kind, and no two of our formats recognize the same file."""


def read_file(job: ReadJob) -> FileResult:
    """Return the file's parts; errors are reported as rejected, never raised."""
    path = Path(job.path)
    result = FileResult(job.number, "read")
    try:
        head = head_of(path)
        log_format = log_format_named(job.format) if job.format and job.named else recognized(head)
        if log_format is None and job.named and head.start.startswith(SQLITE):
            stored_tables(path)  # raises the error of a store that cannot be opened
        if log_format is None or (job.format and log_format.name != job.format):
            return _not_read(job, head)
        result.format = log_format.name
        if log_format.priority == "last":
            result.kind = "own"
            return result
        for item in log_format.read(path):
            _sort(item, result, log_format)
    except UnreadableFileError as error:
        where, _, line = (error.where or job.path).rpartition(":")
        place = (where, int(line)) if where and line.isdigit() else (error.where or job.path, None)
        result.rejected.append(
            Rejected(path=place[0], line=place[1], reason=error.message, hint=error.hint, code=error.kind)
        )
    except DecodeError as error:
        result.rejected.append(Rejected(path=job.path, reason=error.reason, hint=error.hint))
    except OSError as error:
        result.rejected.append(Rejected(path=job.path, reason=error.strerror or str(error), code="unreadable_file"))
    if result.rejected and result.parts:
        _note_unfinished_line(result, path)
        _mark_lost_lines(result)
    return result


def _note_unfinished_line(result: FileResult, path: Path) -> None:
    """Make a note of the last line of a session's log that ends within it: it is being written, or its writer died."""
    last = result.rejected[-1]
    if last.code != "cut_off" or result.format is None or log_format_named(result.format).kind != "sessions":
        return
    with open_file(path) as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) in b"\n}":
            return  # it is a line before the last
    result.rejected.pop()
    message = "the log ends within this line: the session is still running, or it crashed; its numbers are lower bounds"
    result.findings.append(Finding(code="unfinished_log", severity="info", message=message, where=last.where))
    result.parts = [msgspec.structs.replace(part, unfinished=True) for part in result.parts]


def _mark_lost_lines(result: FileResult) -> None:
    """Marks the sessions of a log some of whose lines were rejected."""
    if result.rejected and result.format is not None and log_format_named(result.format).kind == "sessions":
        result.parts = [
            part if part.is_one_record else msgspec.structs.replace(part, lacks_lines=True) for part in result.parts
        ]


def _not_read(job: ReadJob, head: Head) -> FileResult:
    """Return the rejection of a file that no format, or not the requested one, recognizes."""
    if archive_kind(head.start) or (job.named and is_yaml(Path(job.path))):
        return FileResult(job.number, "archive")
    for log_format in each_log_format():
        if log_format.holds_no_run is not None and log_format.holds_no_run(head):
            return FileResult(job.number, "no_run", log_format.name)
    return FileResult(job.number, "unknown")


def _sort(item: ReadItem, result: FileResult, log_format: LogFormat) -> None:
    if isinstance(item, RunPart):
        if item.run.source is None or item.run.source.format != log_format.name:
            raise DeclarationError(f"format {log_format.name!r} returned part of a run with a different origin")
        result.parts.append(item)
    elif isinstance(item, PlacedRun):
        result.entries.append(item)
    elif isinstance(item, Rejected):
        result.rejected.append(item)
    else:
        result.findings.append(item)


def recognized(head: Head) -> LogFormat | None:
    """The format that recognizes the file by its content; None when none does.

    Our formats are asked first, then those of plug-ins, then our own records.
    """
    if _latest and _latest[0].recognizes(head):
        return _latest[0]
    for log_format in each_log_format():
        if log_format.recognizes(head):
            if log_format.priority == "normal":
                _latest[:] = [log_format]
            return log_format
    return None


WORTH_IT_BYTES = 48 << 20
"""Below this, starting processes takes longer than they save."""
BATCH_BYTES = 2 << 20
MESSAGE_BYTES = 4096
"""Any pipe buffers a message of this size."""
PIPE_BYTES = 1 << 20
"""Room for whole answers: a worker whose pipe is full waits until this process has time to empty it."""
AHEAD = 2
"""Batches that a worker is given at once: it reads the next one while its answer waits to be taken."""

COMMAND = ("-c", "import gc; gc.disable(); from steelyard.sources.formats._file_reader import work; work()")
"""Python's arguments for a worker. What it makes is freed by counting; looking for circles would take a sixth of
the time."""

_LENGTH = struct.Struct("<Q")
_encode = msgspec.msgpack.Encoder().encode
_jobs = msgspec.msgpack.Decoder(list[ReadJob])
_results = msgspec.msgpack.Decoder(list[FileResult])


def read_files(jobs: Sequence[tuple[ReadJob, int]], *, workers: int | None = None) -> Iterator[FileResult]:
    """A result for each job (given with its size), in no particular order."""
    count = workers if workers is not None else (os.cpu_count() or 1)
    count = min(count, len(jobs))
    if count < 2 or sum(size for _, size in jobs) < WORTH_IT_BYTES or not sys.executable:
        for job, _ in jobs:
            yield read_file(job)
        return
    yield from _in_processes(list(_batches(jobs)), count)


def _batches(jobs: Sequence[tuple[ReadJob, int]]) -> Iterator[list[ReadJob]]:
    """Neighboring files together, so that a worker meets one kind of file for a while."""
    batch: list[ReadJob] = []
    batch_bytes = named = 0
    for job, size in jobs:
        length = len(_encode(job))
        if batch and (batch_bytes >= BATCH_BYTES or named + length > MESSAGE_BYTES):
            yield batch
            batch, batch_bytes, named = [], 0, 0
        batch.append(job)
        batch_bytes += size
        named += length
    if batch:
        yield batch


def _in_processes(batches: list[list[ReadJob]], count: int) -> Iterator[FileResult]:
    formats_plugged_in()  # one that cannot be loaded is an error here, once, and not in each process
    waiting = iter(batches)
    lock = threading.Lock()
    answers: SimpleQueue[bytes | BaseException | None] = SimpleQueue()

    def following() -> list[ReadJob] | None:
        with lock:
            return next(waiting, None)

    others = min(count, len(batches)) - 1
    threads = [threading.Thread(target=_serve, args=(following, answers), daemon=True) for _ in range(others)]
    for thread in threads:
        thread.start()
    busy = len(threads)
    try:
        while (batch := following()) is not None or busy:
            if batch is not None:  # this process is one of the workers
                yield from [read_file(job) for job in batch]
            while busy and (batch is None or not answers.empty()):
                answer = answers.get()
                if answer is None:
                    busy -= 1
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    yield from _results.decode(answer)
    finally:
        batches.clear()  # a caller that stops early leaves the workers without work


def _serve(following: Callable[[], list[ReadJob] | None], answers: SimpleQueue[bytes | BaseException | None]) -> None:
    """Feeds one worker until there is nothing left; a worker that dies has its batches read here, file by file."""
    worker: subprocess.Popen[bytes] | None = None
    given: deque[list[ReadJob]] = deque()
    try:
        while True:
            while len(given) < AHEAD and (batch := following()) is not None:
                given.append(batch)
                worker = worker or _start()
                _give(worker, batch)
            if not given:
                break
            answer = _take(worker) if worker else None
            if answer is not None:
                given.popleft()
                answers.put(answer)
            else:
                _end(worker, at_once=True)
                worker = None
                while given:
                    answers.put(_encode([read_file(job) for job in given.popleft()]))
    except BaseException as error:  # noqa: BLE001 # handed to the thread that waits, which raises it
        answers.put(error)
    finally:
        _end(worker, at_once=bool(given))
        answers.put(None)


def _start() -> subprocess.Popen[bytes]:
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    pipe = subprocess.PIPE
    return subprocess.Popen(  # noqa: S603 # our own code
        [sys.executable, *COMMAND], stdin=pipe, stdout=pipe, pipesize=PIPE_BYTES, env=environment
    )


def _give(worker: subprocess.Popen[bytes], batch: list[ReadJob]) -> None:
    assert worker.stdin is not None
    with suppress(BrokenPipeError, ConnectionError):  # a worker that has died gives no answer, which is seen then
        _send(worker.stdin, _encode(batch))


def _take(worker: subprocess.Popen[bytes]) -> bytes | None:
    assert worker.stdout is not None
    try:
        return _receive(worker.stdout)
    except ConnectionError:
        return None


def _end(worker: subprocess.Popen[bytes] | None, *, at_once: bool) -> None:
    if worker is None:
        return
    if at_once:
        worker.kill()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()
    worker.wait()


def _send(pipe: IO[bytes], message: bytes) -> None:
    pipe.write(_LENGTH.pack(len(message)))
    pipe.write(message)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> bytes | None:
    header = pipe.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(header)
    message = pipe.read(length)
    return message if len(message) == length else None


def work() -> None:
    """A worker's life: a batch in, its results out, until the pipe closes."""
    while (message := _receive(sys.stdin.buffer)) is not None:
        _send(sys.stdout.buffer, _encode([read_file(job) for job in _jobs.decode(message)]))
    os._exit(0)  # nothing to clean up, and the parent waits for the exit
