"""Whenever a command is ended, be it while it is still starting, nothing of it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from processes import alive, until
from steelyard import sandbox
from steelyard.errors import AbortedError
from steelyard.sandbox import Isolation, Limits

MOMENTS = [number / 4000 for number in range(60)]
"""Seconds into a start that takes about ten milliseconds, or a few times that on a busy machine."""

KILLED_AT = """
import os, signal, sys, time
from steelyard import sandbox

name, marker, *moments = sys.argv[1:]
isolation = sandbox.isolation_named(name)
for moment in moments:
    child = os.fork()
    if child == 0:
        sandbox.run(["sleep", marker], limits=sandbox.Limits(wall_seconds=600), isolation=isolation)
        os._exit(1)
    time.sleep(float(moment))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


def check_interrupted(isolation: Isolation, marker: str, stop: threading.Event) -> None:
    try:
        result = sandbox.run(["sleep", marker], limits=Limits(wall_seconds=600), isolation=isolation, stop=stop)
    except AbortedError:
        return
    pytest.fail(f"the command was to sleep until it is told to end: {result.ending}")


def test_a_command_ends_when_it_is_told_to(isolation: Isolation, marker: str) -> None:
    stop, is_over = threading.Event(), threading.Event()

    def press() -> None:
        while "sleep" not in alive(marker) and not is_over.wait(0.02):
            pass
        stop.set()

    presser = threading.Thread(target=press)
    presser.start()
    try:
        check_interrupted(isolation, marker, stop)
    finally:
        is_over.set()
        presser.join()
    until(lambda: alive(marker) == [])


def test_a_command_told_to_end_while_it_starts_leaves_nothing(
    isolation: Isolation, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.sandbox._commands._POLL_SECONDS", 0.0001)
    for moment in MOMENTS:
        stop = threading.Event()
        presser = threading.Timer(moment, stop.set)
        presser.start()
        try:
            check_interrupted(isolation, marker, stop)
        finally:
            presser.join()
        assert alive(marker) == []


def test_a_command_whose_supervisor_is_killed_while_it_starts_leaves_nothing(
    isolation: Isolation, marker: str, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments = [str(2 * moment) for moment in MOMENTS]
    line = [sys.executable, "-c", KILLED_AT, isolation.name, marker, *moments]
    subprocess.run(line, check=True, env={**os.environ, "TMPDIR": str(open_folder)})
    until(lambda: alive(marker) == [])
    assert os.listdir(open_folder) != []  # what the killed left behind
    monkeypatch.setattr("tempfile.tempdir", str(open_folder))
    assert sandbox.run(["/bin/true"], isolation=isolation).ok
    assert os.listdir(open_folder) == []
