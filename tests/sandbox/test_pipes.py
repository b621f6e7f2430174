"""Commands that communicate over pipes while they run, each in a sandbox of its own."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from attacking import python
from processes import alive
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError, UsageError
from steelyard.sandbox import Isolation, Limits

ECHO = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"


def interpreter(isolation: Isolation) -> str:
    assert isolation.python is not None
    return isolation.python


def test_start_exchanges_data_while_the_command_runs(isolation: Isolation) -> None:
    with sandbox.start([interpreter(isolation), "-I", "-c", ECHO], isolation=isolation) as command:
        for word in (b"one", b"two"):
            command.input.write(word + b"\n")
            assert command.output.readline() == word.upper() + b"\n"
    result = command.result()
    assert result is not None
    assert (result.ok, result.stdout, result.isolation) == (True, b"", isolation.name)


def test_start_connects_a_checker_with_a_candidate(isolation: Isolation) -> None:
    ask = "import os; os.write(4, b'asked\\n'); print(os.read(3, 100))"
    with sandbox.start([interpreter(isolation), "-I", "-c", ECHO], isolation=isolation) as candidate:
        pipes = {3: candidate.output, 4: candidate.input}
        checker = python(ask, isolation, pipes=pipes)
    assert (checker.stdout, checker.ok) == (b"b'ASKED\\n'\n", True), checker.stderr
    result = candidate.result()
    assert result is not None
    assert result.ok  # it read the end of its input: nobody else has the other end open


def test_start_ends_the_output_when_the_candidate_dies(isolation: Isolation) -> None:
    die = "import os; os.read(0, 1); os._exit(3)"
    ask = "import os; os.write(4, b'x'); print(os.read(3, 1))"
    with sandbox.start([interpreter(isolation), "-I", "-c", die], isolation=isolation) as candidate:
        started = time.monotonic()
        checker = python(ask, isolation, pipes={3: candidate.output, 4: candidate.input})
        assert time.monotonic() - started < 5  # the limit is 10
    assert checker.stdout == b"b''\n"
    result = candidate.result()
    assert result is not None
    assert result.exit_status == 3


def test_start_ends_the_output_at_the_wall_limit(isolation: Isolation) -> None:
    with sandbox.start(["sleep", "60"], limits=Limits(wall_seconds=0.5), isolation=isolation) as command:
        assert command.output.read() == b""
    result = command.result()
    assert result is not None
    assert result.limit_hit == "wall"


def test_start_stops_a_command_that_ignores_its_end(isolation: Isolation, marker: str) -> None:
    with sandbox.start(["sleep", marker], limits=Limits(wall_seconds=60), isolation=isolation) as command:
        while alive(marker).count("sleep") == 0:
            time.sleep(0.02)
    assert command.result() is None
    assert alive(marker) == []


def test_start_raises_why_the_command_could_not_run() -> None:
    bare = sandbox.isolation_named("none")
    with pytest.raises(SandboxUnavailableError), sandbox.start(["true"], isolation=bare) as command:
        assert command.output.read() == b""


def test_start_reports_a_command_that_does_not_exist(isolation: Isolation) -> None:
    with sandbox.start(["no-such-program"], isolation=isolation) as command:
        assert command.output.read() == b""
    result = command.result()
    assert result is not None
    assert result.start_error is not None


def test_start_closes_its_pipes_when_the_block_raises(isolation: Isolation) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyError), sandbox.start(["cat"], isolation=isolation):
        raise KeyError
    assert set(os.listdir("/proc/self/fd")) == before


def pipe() -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return open(reading, "rb", buffering=0), open(writing, "wb", buffering=0)


@pytest.mark.parametrize("numbers", [(0, 1), (3, 4), (4, 3), (9, 5)])
def test_run_gives_pipes_any_descriptor_number(isolation: Isolation, numbers: tuple[int, int]) -> None:
    (its_input, ours), (output, its_output) = pipe(), pipe()
    ours.write(b"crossed")
    reading, writing = numbers
    code = (
        "import os\n"
        f"os.write({writing}, os.read({reading}, 100))\n"
        "for number in range(3, 200):\n"
        f"  if number in {numbers}: continue\n"
        "  try: os.fstat(number)\n"
        "  except OSError: continue\n"
        "  os.write(2, b'open')"
    )
    with ours, output:
        result = python(code, isolation, pipes={reading: its_input, writing: its_output})
        assert (result.ok, result.stderr) == (True, b"")
        assert output.read() == b"crossed"
    assert its_input.closed
    assert its_output.closed


@pytest.mark.parametrize("number", [-1, 10])
def test_run_rejects_other_descriptor_numbers(number: int) -> None:
    reading, writing = pipe()
    with writing, pytest.raises(UsageError, match=f"invalid descriptor {number}"):
        sandbox.run(["true"], pipes={number: reading})
    assert reading.closed


def test_run_rejects_descriptors_that_are_not_pipes(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    here, there = socket.socketpair()
    with here, there, open(there.detach(), "rb", buffering=0) as connected, open(tmp_path / "file", "rb") as file:
        for given in (connected, file):
            with pytest.raises(UsageError, match="descriptor 3 is not a pipe"):
                sandbox.run(["true"], pipes={3: given})
