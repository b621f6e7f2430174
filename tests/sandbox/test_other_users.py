"""Another user of the machine, who sees every command line, gets at nothing that lies in a sandbox."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import processes
from attacking import NOBODY, named, use_system_python
from steelyard import sandbox
from steelyard.sandbox import Isolation, IsolationName, Limits

SPY = NOBODY - 1
BOXES = re.compile(rb'/[^"\0 ]*steelyard-[^"\0 ]*/box')
pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can be two users")


def as_uid(uid: int, task: Callable[[], object]) -> int:
    """A process of that user, which ends with 1 when the task gave something and with 0 when it gave nothing."""
    child = os.fork()
    if child == 0:
        status = 2
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            status = 1 if task() else 0
        finally:
            os._exit(status)
    return child


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def places_told(marker: str) -> set[str]:
    """Everything that command lines tell of the sandbox, and what the kernel shows of its processes."""
    places: set[str] = set()
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if marker.encode() in line:
            boxes = [os.fsdecode(box) for box in BOXES.findall(line)]
            places |= {f"{box}/{rest}" for box in boxes for rest in ("", "work", "work/hidden")}
            places |= {f"/proc/{process}/{rest}" for rest in ("cwd", "cwd/hidden", "root/box/work/hidden")}
    return places


def reached(marker: str) -> list[str]:
    return [place for place in places_told(marker) if os.access(place, os.R_OK) or os.access(place, os.X_OK)]


@pytest.mark.parametrize("uid", [0, NOBODY])
def test_hidden_tests_are_hidden_from_other_users_too(
    isolation: Isolation, uid: int, marker: str, open_folder: Path
) -> None:
    (open_folder / "tmp").mkdir()
    (open_folder / "tmp").chmod(0o777)
    # It opens all that it owns, as whoever has an accomplice would.
    command = ["/bin/sh", "-c", f"chmod -R 0777 . .. ; exec sleep {marker}"]
    victim = as_uid(uid, lambda: hiding(command, isolation.name, uid, open_folder / "tmp"))
    try:
        processes.until(lambda: "sleep" in processes.alive(marker))
        assert any(place.endswith("/work/hidden") and Path(place).exists() for place in places_told(marker))
        assert ended(as_uid(SPY, lambda: reached(marker))) == 0
    finally:
        processes.end(marker)
    assert ended(victim) == 0


def hiding(command: list[str], name: IsolationName, uid: int, temporary: Path) -> bool:
    """Run the command beside a hidden test; whether it never got as far as it should."""
    tempfile.tempdir = str(temporary)
    if uid != 0:
        use_system_python()
    limits = Limits(wall_seconds=60)
    result = sandbox.run(command, files={"hidden": b"assert answer() == 42"}, isolation=named(name), limits=limits)
    return result.signal != 9
