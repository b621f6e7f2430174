"""The insides of other processes: their memory, their descriptors, their environment."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import time
from contextlib import suppress

from breakouts.inside import World, called, done, each, got_out, libc, read, system_call

_taken = ctypes.create_string_buffer(4096)


def _others(world: World) -> set[int]:
    return {world.pid, os.getppid(), world.first}


def attach(world: World) -> None:
    for pid in _others(world):
        each(lambda pid=pid: done(libc.ptrace(16, pid, None, None), f"traces {pid}"))


def seize(world: World) -> None:
    for pid in _others(world):
        each(lambda pid=pid: done(libc.ptrace(0x4206, pid, None, None), f"traces {pid}"))


def trace_a_child(world: World) -> None:
    child = os.fork()
    if child == 0:
        time.sleep(2)
        os._exit(0)
    each(lambda: done(libc.ptrace(16, child, None, None), f"traces {child}"))


def _pieces(pid: int, access: str = "r") -> tuple[ctypes.Array[ctypes.c_void_p], ctypes.Array[ctypes.c_void_p]]:
    """A piece of our own memory and one of the other's that it can access so, where that can be known."""
    start = 0x400000
    with suppress(OSError):
        maps = [line.split() for line in read(f"/proc/{pid}/maps").splitlines()]
        start = next(int(line[0].partition("-")[0], 16) for line in maps if line[1].startswith(access))
    return (ctypes.c_void_p * 2)(ctypes.addressof(_taken), 4096), (ctypes.c_void_p * 2)(start, 4096)


def read_memory(world: World) -> None:
    for pid in _others(world):
        here, there = _pieces(pid)
        each(lambda pid=pid, here=here, there=there: called(world, "process_vm_readv", pid, here, 1, there, 1, 0))


def write_memory(world: World) -> None:
    for pid in _others(world):
        here, there = _pieces(pid, "rw")
        with suppress(OSError):  # what is written is what was there
            system_call(world, "process_vm_readv", pid, here, 1, there, 1, 0)
        each(lambda pid=pid, here=here, there=there: called(world, "process_vm_writev", pid, here, 1, there, 1, 0))


def open_memory(world: World) -> None:
    for pid in _others(world):
        each(
            lambda pid=pid: os.open(f"/proc/{pid}/mem", os.O_RDWR),
            lambda pid=pid: read(f"/proc/{pid}/maps") or None,
            lambda pid=pid: read(f"/proc/{pid}/stack") or None,
            lambda pid=pid: read(f"/proc/{pid}/syscall") or None,
        )


def take_a_descriptor(world: World) -> None:
    for pid in _others(world):
        for number in range(8):
            each(lambda pid=pid, number=number: called(world, "pidfd_getfd", os.pidfd_open(pid), number, 0))


def read_the_environment(world: World) -> None:
    for pid in _others(world):
        each(lambda pid=pid: read(f"/proc/{pid}/environ") or None)


def compare_with_others(world: World) -> None:
    each(lambda: f"order {system_call(world, 'kcmp', os.getpid(), world.pid, 0, 1, 1)}")


def drop_the_memory_of_another(world: World) -> None:
    _, there = _pieces(world.pid)
    each(
        lambda: called(world, "process_madvise", os.pidfd_open(world.pid), there, 1, 21, 0),
        lambda: called(world, "process_mrelease", os.pidfd_open(world.pid), 0),
    )


def open_descriptors_by_path(world: World) -> None:
    for pid in _others(world):
        for number in range(20):
            each(lambda pid=pid, number=number: os.open(f"/proc/{pid}/fd/{number}", os.O_RDWR | os.O_NONBLOCK))


def print_for_another(world: World) -> None:
    for pid in _others(world):
        for number in (1, 2):
            each(lambda pid=pid, number=number: os.write(os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY), b"1.0\n"))


def run_code_in_another(world: World) -> None:
    """Leave the filter through a process without one: overwrite the code to which its system call returns."""
    if platform.machine() == "x86_64":
        for pid in _others(world):
            each(lambda pid=pid: _ran_in(pid))


def _ran_in(pid: int) -> str | None:
    # unshare(CLONE_NEWUSER), push what it returned, then pause() forever
    code = bytes.fromhex("9090 b810010000 bf00000010 0f05 50 b822000000 0f05 ebf7")
    memory = os.open(f"/proc/{pid}/mem", os.O_RDWR)
    stack, place = (int(word, 16) for word in read(f"/proc/{pid}/syscall").split()[-2:])
    os.pwrite(memory, bytes(8), stack - 8)
    os.pwrite(memory, code, place - 2)  # an interrupted call is repeated, one that ends is not
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.05)
        os._exit(0)  # the orphan's end wakes the first process
    os.wait()
    with suppress(OSError):
        os.kill(pid, signal.SIGSTOP)
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.2)
    (returned,) = struct.unpack("q", os.pread(memory, 8, stack - 8))
    return f"unshare in process {pid} returned {returned}"


def see_what_others_run(world: World) -> None:
    line = read(f"/proc/{world.pid}/cmdline")
    if "sleep" in line:
        got_out(f"sees the command line of another: {line!r}")
