"""Reads many files in several processes. They talk in MessagePack, so nothing that is read can run as code."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import msgspec

from steelyard.sources._read import FileResult, Job, read_file

WORTH_IT_BYTES = 48 << 20
"""Below this, starting processes takes longer than they save."""
BATCH_BYTES = 8 << 20
BATCH_FILES = 256

_LENGTH = struct.Struct("<Q")
_encode = msgspec.msgpack.Encoder().encode
_jobs = msgspec.msgpack.Decoder(list[Job])
_results = msgspec.msgpack.Decoder(list[FileResult])


def read_files(jobs: Sequence[tuple[Job, int]], *, workers: int | None = None) -> Iterator[FileResult]:
    """A result for each job (given with its size), in no particular order."""
    count = workers if workers is not None else (os.cpu_count() or 1)
    count = min(count, len(jobs))
    if count < 2 or sum(size for _, size in jobs) < WORTH_IT_BYTES or not sys.executable:
        for job, _ in jobs:
            yield read_file(job)
        return
    yield from _in_processes(list(_batches(jobs)), count)


def _batches(jobs: Sequence[tuple[Job, int]]) -> Iterator[list[Job]]:
    """Neighbouring files together, so that a worker meets one kind of file for a while."""
    batch: list[Job] = []
    held = 0
    for job, size in jobs:
        batch.append(job)
        held += size
        if held >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def _in_processes(batches: list[list[Job]], count: int) -> Iterator[FileResult]:
    waiting = iter(batches)
    lock = threading.Lock()
    answers: SimpleQueue[bytes | BaseException | None] = SimpleQueue()

    def following() -> list[Job] | None:
        with lock:
            return next(waiting, None)

    others = min(count, len(batches)) - 1
    threads = [threading.Thread(target=_serve, args=(following, answers), daemon=True) for _ in range(others)]
    for thread in threads:
        thread.start()
    left = len(threads)
    while (batch := following()) is not None:  # this process is one of the workers
        yield from [read_file(job) for job in batch]
    while left:
        answer = answers.get()
        if answer is None:
            left -= 1
        elif isinstance(answer, BaseException):
            raise answer
        else:
            yield from _results.decode(answer)


def _serve(following: Callable[[], list[Job] | None], answers: SimpleQueue[bytes | BaseException | None]) -> None:
    """Feeds one worker until there is nothing left; a worker that dies has its batch read here, file by file."""
    worker: subprocess.Popen[bytes] | None = None
    try:
        while (batch := following()) is not None:
            if worker is None:
                worker = _start()
            answer = _ask(worker, batch)
            if answer is None:
                worker.kill()
                worker.wait()
                worker = None
                answer = _encode([read_file(job) for job in batch])
            answers.put(answer)
    except BaseException as error:  # noqa: BLE001 # handed to the thread that waits, which raises it
        answers.put(error)
    finally:
        if worker is not None and worker.stdin is not None:
            worker.stdin.close()
            worker.wait()
            if worker.stdout is not None:
                worker.stdout.close()
        answers.put(None)


def _start() -> subprocess.Popen[bytes]:
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
    command = [sys.executable, "-c", "from steelyard.sources._workers import work; work()"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)  # noqa: S603 # our own code


def _ask(worker: subprocess.Popen[bytes], batch: list[Job]) -> bytes | None:
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        _send(worker.stdin, _encode(batch))
        return _receive(worker.stdout)
    except (BrokenPipeError, ConnectionError):
        return None


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
    gc.disable()  # what is made here is freed by counting; looking for circles would take a sixth of the time
    while (message := _receive(sys.stdin.buffer)) is not None:
        _send(sys.stdout.buffer, _encode([read_file(job) for job in _jobs.decode(message)]))
