"""More of everything than is allowed. A program that holds it for a while has got out."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import pty
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

from breakouts.inside import World, each, got_out

MIB = 1 << 20
HOLD_SECONDS = 2.0
"""How long is too long: whoever watches looks every few hundredths of a second, also on a busy machine."""


def _hold(what: str) -> None:
    time.sleep(HOLD_SECONDS)
    got_out(what)


def fork_without_end(world: World) -> None:
    count = 0
    while count < 200:
        if os.fork() == 0:
            time.sleep(5)
            os._exit(0)
        count += 1
    _hold("200 processes")


def fork_as_a_tree(world: World) -> None:
    end = time.monotonic() + 3
    while time.monotonic() < end:
        each(lambda: os.fork() and None)
        time.sleep(0.01)
    os._exit(0)


def start_threads_without_end(world: World) -> None:
    for _ in range(300):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    _hold("300 threads")


def take_memory_at_once(world: World) -> None:
    taken = bytearray(b"x") * (1024 * MIB)
    _hold(f"{len(taken)} bytes")


def take_memory_bit_by_bit(world: World) -> None:
    taken = [bytearray(b"x") * MIB for _ in range(1024)]
    _hold(f"{len(taken)} MiB")


def take_memory_in_many_processes(world: World) -> None:
    for _ in range(10):
        if os.fork() == 0:
            taken = bytearray(b"x") * (100 * MIB)
            time.sleep(HOLD_SECONDS + 2)
            os._exit(len(taken) & 1)
    _hold("1 GB in ten processes")


def take_shared_memory(world: World) -> None:
    shared = mmap.mmap(-1, 1024 * MIB)
    for offset in range(0, len(shared), MIB):
        shared[offset] = 1
        shared[offset : offset + MIB] = bytes([1]) * MIB
    _hold("1 GB of shared memory")


def lock_memory(world: World) -> None:
    mapped = mmap.mmap(-1, 64 * MIB)
    address = ctypes.addressof(ctypes.c_char.from_buffer(mapped))
    if ctypes.CDLL(None).mlock(ctypes.c_void_p(address), ctypes.c_size_t(64 * MIB)) == 0:
        got_out("64 MiB that cannot be swapped out")


def write_one_large_file(world: World) -> None:
    with open("large", "wb") as opened:
        for _ in range(256):
            opened.write(bytes(MIB))
            opened.flush()
    _hold("256 MiB in a file")


def write_many_files(world: World) -> None:
    for number in range(256):
        with open(f"file{number}", "wb") as opened:
            opened.write(b"x" * MIB)
    _hold("256 MiB in files")


def write_to_every_folder(world: World) -> None:
    for place in (".", os.environ["TMPDIR"], os.environ["HOME"], "/tmp", "/dev/shm"):
        for number in range(60):
            each(lambda place=place, number=number: open(f"{place}/f{number}", "wb").write(bytes(MIB)) and None)
    held = sum(os.path.getsize(f"{place}/f{number}") for place in (".", os.environ["TMPDIR"]) for number in range(60))
    time.sleep(HOLD_SECONDS)
    if held > 100 * MIB:
        got_out(held)


def keep_unlinked_files(world: World) -> None:
    kept = []
    for _ in range(50):
        opened = os.open("file", os.O_RDWR | os.O_CREAT, 0o600)
        os.write(opened, b"x" * 3 * MIB)
        os.unlink("file")
        kept.append(opened)
    _hold(f"{len(kept)} unlinked files of 3 MiB")


def reserve_space(world: World) -> None:
    for number in range(50):
        opened = os.open(f"file{number}", os.O_RDWR | os.O_CREAT, 0o600)
        os.posix_fallocate(opened, 0, 3 * MIB)
        os.close(opened)
    _hold("150 MiB reserved")


def make_files_without_end(world: World) -> None:
    for number in range(60_000):
        os.close(os.open(f"f{number}", os.O_CREAT, 0o600))
    _hold("60,000 empty files")


def dig_folders_without_end(world: World) -> None:
    for _ in range(5_000):
        os.mkdir("deep")
        os.chdir("deep")
    _hold("5,000 folders deep")


def say_more_than_anyone_keeps(world: World) -> None:
    for _ in range(1_000):
        os.write(1, b"x" * 100_000)
    got_out("100 MB said")


def complain_more_than_anyone_keeps(world: World) -> None:
    for _ in range(1_000):
        os.write(2, b"x" * 100_000)
    got_out("100 MB complained")


def open_files_without_end(world: World) -> None:
    opened = [os.open("/dev/null", os.O_RDONLY) for _ in range(2_000)]
    got_out(f"{len(opened)} open files")


def fill_pipes(world: World) -> None:
    for _ in range(25):
        _, writing = os.pipe()
        each(lambda writing=writing: fcntl.fcntl(writing, 1031, 64 * MIB))  # F_SETPIPE_SZ


def fill_sockets(world: World) -> None:
    taken, kept = 0, []
    for _ in range(25):
        here, there = socket.socketpair()
        kept.append((here, there))
        for option in (socket.SO_SNDBUF, 32):  # SO_SNDBUFFORCE
            each(lambda here=here, option=option: here.setsockopt(socket.SOL_SOCKET, option, 1 << 30))
        here.setblocking(False)
        with suppress(OSError):
            while True:
                taken += here.send(bytes(65_536))
    if taken > 20 * MIB:
        got_out(f"{taken} bytes in {len(kept)} pairs of sockets")


def take_terminals(world: World) -> None:
    taken = [pty.openpty() for _ in range(200)]
    got_out(f"{len(taken)} terminals")


def start_with_endless_arguments(world: World) -> None:
    each(lambda: subprocess.run(["true", *["x" * 100_000] * 300], check=True) and "30 MB of arguments")


def recurse_into_the_stack(world: World) -> None:
    sys.setrecursionlimit(10**9)

    def deeper(depth: int) -> int:
        return deeper(depth + 1) + 1

    deeper(0)


def compute_in_many_processes(world: World) -> None:
    for _ in range(8):
        if os.fork() == 0:
            signal.signal(signal.SIGXCPU, signal.SIG_IGN)
            while True:
                pass
    while True:
        pass


def dump_core(world: World) -> None:
    with suppress(ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
        got_out("cores are dumped")
    os.abort()
