"""Rights: getting those of root, or getting rid of what was put in force."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
from pathlib import Path

from breakouts.inside import World, done, each, got_out, libc, read, write


def be_root(world: World) -> None:
    each(lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setreuid(0, 0), lambda: os.seteuid(0))
    if 0 in os.getresuid():
        got_out("root")


def be_in_roots_group(world: World) -> None:
    each(lambda: os.setgid(0), lambda: os.setresgid(0, 0, 0), lambda: os.setgroups([0]), lambda: os.setegid(0))
    if 0 in (*os.getresgid(), *os.getgroups()):
        got_out("root's group")


def take_capabilities(world: World) -> None:
    header, wanted = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    if libc.capset(header, wanted) == 0:
        got_out("capabilities")
    libc.capget(header, wanted)
    if wanted[0] or wanted[1]:
        got_out(f"capabilities {wanted[0]:#x}")


def raise_ambient_capabilities(world: World) -> None:
    for capability in range(41):
        each(lambda capability=capability: done(libc.prctl(47, 2, capability, 0, 0), capability))


def start_what_runs_as_root(world: World) -> None:
    code = "import os; print(os.getresuid())"
    for program in ("/usr/bin/su", "/usr/bin/sudo", "/usr/bin/pkexec", "/usr/bin/newgrp"):
        if Path(program).exists():
            each(lambda program=program: _ran_as_root([program], code))


def _ran_as_root(line: list[str], code: str) -> str | None:
    done = subprocess.run([*line, "-c", code], input=b"", capture_output=True, check=False, timeout=5)
    return str(done.stdout) if b"0" in done.stdout.split(b",")[:1] else None


def give_a_program_roots_rights(world: World) -> None:
    Path("program").write_bytes(Path("/usr/bin/id").read_bytes())
    each(lambda: os.chown("program", 0, 0), lambda: os.chmod("program", 0o6755))
    each(lambda: os.setxattr("program", "security.capability", b"\1\0\0\2" + b"\xff" * 16))
    each(lambda: os.chmod("program", 0o6755), lambda: os.chmod("program", 0o755))
    each(lambda: _as_root(subprocess.run(["./program", "-u"], capture_output=True, check=True).stdout))


def _as_root(said: bytes) -> str | None:
    return "root" if said.strip() == b"0" else None


def allow_new_privileges(world: World) -> None:
    libc.prctl(38, 0, 0, 0, 0)
    if libc.prctl(39, 0, 0, 0, 0) != 1:
        got_out("new privileges")


def take_the_filter_off(world: World) -> None:
    libc.prctl(22, 0, 0, 0, 0)
    each(lambda: done(libc.unshare(0x10000000), "no filter"))
    if libc.prctl(21, 0, 0, 0, 0) == 0:
        got_out("no filter")


def add_rules_of_its_own(world: World) -> None:
    """A ruleset that allows everything takes nothing away from the one that is in force."""
    attributes = (ctypes.c_uint64 * 3)(0xFFFF, 0, 0)
    ruleset = libc.syscall(ctypes.c_long(444), attributes, ctypes.c_long(8), ctypes.c_long(0))
    libc.syscall(ctypes.c_long(446), ctypes.c_long(ruleset), ctypes.c_long(0))
    each(lambda: read(world.secret))


def raise_its_limits(world: World) -> None:
    for name in ("CPU", "DATA", "NPROC", "FSIZE", "NOFILE", "CORE", "MEMLOCK"):
        kind = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(kind)
        each(lambda kind=kind, hard=hard: _raised(kind, hard + 1))
        each(lambda kind=kind: _raised(kind, resource.RLIM_INFINITY))


def _raised(kind: int, value: int) -> str | None:
    try:
        resource.setrlimit(kind, (value, value))
    except ValueError:
        return None
    return f"limit {kind} is {value}"


def forbid_its_own_death(world: World) -> None:
    each(lambda: write("/proc/self/oom_score_adj", "-1000"), lambda: os.setpriority(0, 0, -20) or "first")


def look_for_what_was_left_open(world: World) -> None:
    for number in range(3, 1024):
        each(lambda number=number: f"descriptor {number}: {os.fstat(number)}")


def look_for_secrets_in_its_surroundings(world: World) -> None:
    names = set(os.environ) - {"PATH", "HOME", "TMPDIR", "LANG", "LC_CTYPE", "PWD", "SHLVL", "_"}
    if names:
        got_out(names)
