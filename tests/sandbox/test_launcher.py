"""The launcher under attack by its command, on kernels with and without Landlock, and what a domain leaves allowed."""

from __future__ import annotations

import pytest

from attacking import AsUser, Attack, named, python
from steelyard import sandbox
from steelyard.sandbox import Isolation, Limits
from steelyard.sandbox._commands import landlock_abi

SIGNAL_THE_LAUNCHER = """
import fcntl, os, signal, socket, time
launcher = os.getppid()
def tried(call, *arguments):
  try: call(*arguments)
  except OSError: pass
for number in sorted(signal.valid_signals(), key=lambda number: number in (9, 19)):
  tried(os.kill, launcher, number)
here, there = socket.socketpair()
for number in (0, signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
  tried(fcntl.fcntl, here, fcntl.F_SETOWN, launcher)
  tried(fcntl.fcntl, here, 10, number)  # F_SETSIG
  tried(fcntl.fcntl, here, fcntl.F_SETFL, os.O_ASYNC)
  there.send(b"x")
time.sleep(0.2)
raise SystemExit(7)
"""
HONEST = """
import os, pty, signal, subprocess
os.makedirs("a"); os.makedirs("b")
open("a/f", "w").write("x")
os.rename("a/f", "b/f"); os.link("b/f", "a/g"); os.rename("b/f", os.path.expanduser("~/f"))
open("/dev/null", "w").write("x"); open("/dev/shm/f", "w").write("x"); open("/tmp/f", "w").write("x")
os.write(pty.openpty()[0], b"x")
held = os.open("a/g", os.O_RDWR); os.unlink("a/g"); os.close(os.open(f"/proc/self/fd/{held}", os.O_RDWR))
child = subprocess.Popen(["sleep", "60"])
child.terminate(); assert child.wait() == -signal.SIGTERM
os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)); os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)
subprocess.run(["sh", "-c", "sleep 60 & kill $!; wait $!; test $? = 143"], check=True)
print("done")
"""
BUBBLEWRAP = pytest.mark.parametrize("isolation", ["bubblewrap"], indirect=True)
ABIS = [0, 1, 2, 5, 7]


@pytest.fixture
def abi(request: pytest.FixtureRequest, isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> int:
    version: int = request.param
    if not (1 if isolation.name == "landlock" else 0) <= version <= landlock_abi():
        pytest.skip(f"{isolation.name} cannot use ABI {version} here")
    monkeypatch.setattr("steelyard.sandbox._commands.landlock_abi", lambda: version)
    return version


@pytest.mark.parametrize("abi", ABIS, indirect=True)
def test_launcher_survives_all_signals_of_its_command(attack: Attack, abi: int) -> None:
    result = attack(SIGNAL_THE_LAUNCHER)
    assert (result.exit_status, result.stderr) == (7, b""), abi


def test_unprotected_launcher_is_ended_by_a_signal(as_user: AsUser) -> None:
    limits = Limits(wall_seconds=5)
    result = as_user(lambda: python(SIGNAL_THE_LAUNCHER, named("none"), no_sandbox=True, limits=limits))
    assert result.ending == "ended without a report"


@BUBBLEWRAP
@pytest.mark.parametrize("abi", ABIS, indirect=True)
def test_bubblewrap_domain_leaves_honest_programs_alone(attack: Attack, abi: int) -> None:
    result = attack(HONEST)
    assert result.stdout == b"done\n", (abi, result.stderr)


@BUBBLEWRAP
def test_bubblewrap_domain_denies_writing_to_proc(attack: Attack) -> None:
    if landlock_abi() < 2:
        pytest.skip("no Landlock domain on this kernel")
    assert b"PermissionError" in attack("open('/proc/self/comm', 'w')").stderr


@BUBBLEWRAP
@pytest.mark.usefixtures("isolation")
@pytest.mark.parametrize(
    ("abi", "reason"),
    [
        (0, "no Landlock (the kernel has none)"),
        (1, "no Landlock (ABI 1 would forbid moving files between directories)"),
        (2, "Landlock (ABI 2)"),
    ],
)
def test_bubblewrap_detail_says_why_landlock_is_missing(abi: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.sandbox._commands.landlock_abi", lambda: abi)
    sandbox.isolation_named.cache_clear()
    try:
        assert sandbox.isolation_named("bubblewrap").detail == f"namespaces, seccomp filter, {reason}, limits"
    finally:
        sandbox.isolation_named.cache_clear()
