"""The three pipes between Steelyard and a running command."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO


@dataclass
class Streams:
    """The three pipes of a running command. Output over the limit is not read or, in files, dropped."""

    process: subprocess.Popen[bytes]
    most: int
    waiting: bytes
    into: Path | None = None
    """The folder whose files `stdout` and `stderr` take what it writes; None keeps it in memory."""
    kept: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    dropped_bytes: int = 0
    _files: dict[str, BinaryIO] = field(default_factory=dict)
    _written: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __post_init__(self) -> None:
        assert self.process.stdin is not None  # all three were asked for
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        for name, stream in (("stdout", self.process.stdout), ("stderr", self.process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)
            if self.into is not None:
                # Unbuffered, so that the output is complete if we are killed.
                self._files[name] = open(self.into / name, "wb", buffering=0)  # noqa: SIM115 - closed in close()
        os.set_blocking(self.process.stdin.fileno(), False)
        if self.waiting:
            self.selector.register(self.process.stdin, selectors.EVENT_WRITE, "stdin")
        else:
            self.process.stdin.close()

    def turn(self, seconds: float) -> bool:
        """Move what can be moved; whether too much was written."""
        if not self.selector.get_map():
            time.sleep(seconds)
            return False
        for key, _ in self.selector.select(seconds):
            if key.data == "stdin":
                self._feed()
            elif self._read(key):
                return True
        return False

    def _feed(self) -> None:
        assert self.process.stdin  # registered only while it is open
        try:
            self.waiting = self.waiting[os.write(self.process.stdin.fileno(), self.waiting[:65536]) :]
        except BlockingIOError:
            return  # the command writes to its own input, which it may open again as its own, and was faster
        except BrokenPipeError:
            self.waiting = b""
        if not self.waiting:
            self.selector.unregister(self.process.stdin)
            self.process.stdin.close()

    def _read(self, key: selectors.SelectorKey) -> bool:
        try:
            piece = os.read(key.fd, 65536)
        except BlockingIOError:
            return False  # the command reads its own output, and was faster
        if not piece:
            self.selector.unregister(key.fileobj)
            return False
        if self.into is not None:
            self._write(key.data, piece)
            return False
        output = self.kept[key.data]
        output += piece[: max(0, self.most - len(output))]
        return len(piece) > 0 and len(output) >= self.most

    def _write(self, name: str, piece: bytes) -> None:
        fitting = piece[: max(0, self.most - self._written[name])]
        self._files[name].write(fitting)
        self._written[name] += len(fitting)
        self.dropped_bytes += len(piece) - len(fitting)

    def close(self) -> None:
        self.selector.close()
        for file in self._files.values():
            file.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
