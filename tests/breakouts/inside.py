"""How a hostile program is run inside the sandbox: what it knows of the outside, and how it says that it got there.

The programs are the functions of the other files in this folder, a file for each family. They need nothing but the
standard library, and nothing happens when they are imported.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

TRIED, OUT, MUST_FAIL = "TRIED", "OUT", "MUST FAIL"
"""What a program prints at its end; what it prints when it got out; what it prints when its run must be no success."""


class World(NamedTuple):
    """What there is outside. A program is told all but the contents: it has to get those itself."""

    secret: str
    """A file that everybody may read."""
    anyones: str
    """A file that everybody may write."""
    open_folder: str
    """A folder in which everybody may make files."""
    program: str
    """A program that everybody may start; it prints what the secret says."""
    stream: str
    """The path of a socket that takes connections."""
    datagram: str
    """The path of a socket that takes messages."""
    fifo: str
    """A pipe from which somebody reads."""
    abstract: str
    """The name of a socket without a path."""
    tcp_port: int
    """Where somebody listens on loopback."""
    udp_port: int
    """Likewise."""
    pid: int
    """A process of the same user."""
    first: int
    """The first process of the sandbox's namespace; `pid` where the host's own first process would be attacked."""
    shared_memory: int
    """The number of memory that everybody may attach."""
    marker: str
    """Seconds to sleep for that nobody else sleeps for: what still sleeps at the end was left behind."""
    calls: dict[str, int]
    """The numbers of system calls on this machine."""


libc = ctypes.CDLL(None, use_errno=True)
Address = ctypes.c_void_p


def got_out(how: object) -> None:
    """Say so; whoever runs the program looks for it."""
    print(OUT, how, flush=True)


def must_fail() -> None:
    """Say that this run must not be taken for a success, and end it as none."""
    print(MUST_FAIL, flush=True)
    os._exit(9)


def checked(result: int) -> int:
    """What a call gave; an OSError when it failed."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def done(result: int, what: object) -> object:
    """What was done, when the call did not fail."""
    checked(result)
    return what


def system_call(world: World, name: str, *arguments: object) -> int:
    """The kernel asked directly, past the library."""
    return checked(libc.syscall(ctypes.c_long(world.calls[name]), *map(_whole, arguments)))


def called(world: World, name: str, *arguments: object) -> str:
    """The same, for a call that must not succeed."""
    return f"{name}: {system_call(world, name, *arguments)}"


def _whole(argument: object) -> object:
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def each(*actions: Callable[[], object]) -> None:
    """Try them all; those that are refused stop none of the others. What one gives, if anything, is a way out."""
    for action in actions:
        try:
            result = action()
        except (OSError, subprocess.SubprocessError):
            continue
        if result:
            got_out(result)


def read(path: str | int) -> str:
    """What the file says; whoever runs the program knows the secret."""
    with open(path, encoding="latin-1") as opened:
        return opened.read(10_000)


def write(path: str, text: str) -> int:
    """Write at once: what is kept back for later would be refused when nobody looks any more."""
    with open(path, "wb", buffering=0) as opened:
        return opened.write(text.encode())


def main() -> None:
    """Run one program and say that it came to its end."""
    family, name = sys.argv[1:]
    values = json.loads(Path("world.json").read_text())
    try:
        getattr(importlib.import_module(f"breakouts.{family}"), name)(World(**values))
    except (OSError, MemoryError, RuntimeError, subprocess.SubprocessError) as refused:
        print("refused:", refused)
    print(TRIED, flush=True)
