"""What a command takes is counted, however it is hidden from a look at the folder or at resident memory."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacking import Attack, python
from steelyard.sandbox import Isolation, Limits
from steelyard.sandbox._resource_watch import ResourceUsage, Watcher, measured

MIB = 1 << 20
SMALL_DISK = Limits(wall_seconds=60, disk_bytes=8 * MIB, file_bytes=4 * MIB)
SMALL_MEMORY = Limits(wall_seconds=60, memory_bytes=200 * MIB, cpu_seconds=30)
UNLINKED = """
import os
def unlinked(content=bytes(2 << 20)):
    opened = os.open("f", os.O_RDWR | os.O_CREAT)
    os.write(opened, content)
    os.unlink("f")
    return opened
"""
MAPPING = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_char_p]
"""
SLEEP = "\nimport time\ntime.sleep(60)"


def test_gigabytes_reserved_at_a_stroke_are_a_full_disk(attack: Attack) -> None:
    code = (
        "import os\n"
        "for number in range(64):\n"
        "  os.posix_fallocate(os.open(f'f{number % 32}', os.O_RDWR | os.O_CREAT), 0, 4 << 20)"
    )
    assert attack(code, limits=SMALL_DISK).limit_hit == "disk"


def test_a_file_can_still_be_reserved(attack: Attack) -> None:
    code = (
        "import os\n"
        "f = os.open('f', os.O_RDWR | os.O_CREAT)\n"
        "os.write(f, b'kept')\n"
        "os.posix_fallocate(f, 0, 1 << 20)\n"
        "print(os.fstat(f).st_size == 1 << 20, os.fstat(f).st_blocks * 512 >= 1 << 20, os.pread(f, 4, 0))"
    )
    assert attack(code).stdout == b"True True b'kept'\n"


def test_what_was_written_before_anyone_looked_is_counted_at_the_end(attack: Attack) -> None:
    code = "for number in range(3): open(str(number), 'wb').write(bytes(4 << 20))"
    result = attack(code, limits=SMALL_DISK)
    assert (result.limit_hit, result.ok) == ("disk", False)


@pytest.mark.parametrize(
    "holding",
    [
        "held = [unlinked() for _ in range(8)]",
        # the process's first thread ends, and another goes on
        (
            "import threading, ctypes, platform, time\n"
            "def hold():\n  held = [unlinked() for _ in range(8)]\n  time.sleep(60)\n"
            "threading.Thread(target=hold).start()\n"
            "ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)"
        ),
        f"{MAPPING}\nfor _ in range(8):\n  f = unlinked()\n  libc.mmap(None, 4096, 1, 1, f, 0)\n  os.close(f)",
    ],
    ids=["open", "open in another thread", "mapped"],
)
def test_unlinked_files_are_counted_while_they_are_held(attack: Attack, holding: str) -> None:
    assert attack(UNLINKED + holding + SLEEP, limits=SMALL_DISK).limit_hit == "disk"


def test_threads_cannot_part_with_what_they_have_open(attack: Attack) -> None:
    code = (
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "print(libc.syscall(436, 100, 200, 2), os.strerror(ctypes.get_errno()))\n"
        "clone = 56 if platform.machine() == 'x86_64' else 220\n"
        "print(libc.syscall(clone, 0x10000 | 0x800 | 0x100, None, None, None, None), os.strerror(ctypes.get_errno()))"
    )
    assert attack(code).stdout == b"-1 Operation not permitted\n" * 2


def test_a_socket_keeps_no_more_than_it_did_before_it_was_asked_to(attack: Attack) -> None:
    code = (
        "import socket\n"
        "pair = socket.socketpair()\n"
        "before = [pair[0].getsockopt(1, option) for option in (7, 8)]\n"
        "for option in (7, 8, 32, 33): pair[0].setsockopt(1, option, 1 << 30)\n"  # SO_SNDBUF, SO_RCVBUF, both by force
        "pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)\n"
        "print([pair[0].getsockopt(1, option) for option in (7, 8)] == before, pair[0].getsockopt(1, 16))"
    )
    assert attack(code).stdout == b"True 1\n"


def test_a_process_may_close_itself_to_others(attack: Attack) -> None:
    code = "import ctypes, time; print(ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)); time.sleep(0.6)"
    result = attack(code, limits=Limits(memory_bytes=64 * MIB))
    assert (result.stdout, result.ok) == (b"0\n", True)


def test_ended_children_that_nobody_asked_about_hide_nothing(attack: Attack) -> None:
    code = "import os, time\nfor _ in range(5):\n  if os.fork() == 0: os._exit(0)\ntime.sleep(0.6)"
    assert attack(code).ok


def test_any_number_of_files_may_be_put_there(isolation: Isolation) -> None:
    limits = Limits(disk_entries=100)
    files = {f"{number}/f": b"" for number in range(150)}
    assert python("import time; time.sleep(0.5)", isolation, files=files, limits=limits).ok
    more = "for number in range(101): open(f'more{number}', 'w').close()"
    assert python(more, isolation, files=files, limits=limits).limit_hit == "disk"


def test_files_and_folders_count_beyond_those_that_were_there(open_folder: Path) -> None:
    for name in ("a", "b", "c"):
        (open_folder / name).mkdir()
    before = measured(open_folder)
    assert before == ResourceUsage(space=0, entries=3)
    (open_folder / "a" / "file").write_bytes(b"x")
    after = measured(open_folder)
    assert after is not None
    assert after.entries == 4
    assert measured(open_folder, after) == after
    assert measured(open_folder, ResourceUsage(after.space - 1, after.entries)) is None
    assert measured(open_folder, ResourceUsage(after.space, after.entries - 1)) is None


FLOOD = """
import os
for _ in range(3):
    os.fork()
os.makedirs(f"{os.getpid()}/closed")
os.chdir(str(os.getpid()))
for number in range(1_000_000):
    os.makedirs(f"{number}/deeper/and/deeper")
    os.write(1, b"....")
"""


def test_a_flood_of_directories_is_stopped_at_the_limit(isolation: Isolation) -> None:
    started = time.monotonic()
    result = python(FLOOD, isolation, limits=Limits(wall_seconds=60, disk_entries=4_000, cpu_seconds=60))
    assert result.limit_hit == "disk"
    assert len(result.stdout) < 8_000
    assert time.monotonic() - started - result.wall_seconds < 15  # 5 for what an earlier command left, 5 for its own


@pytest.fixture
def folder_in_memory() -> Iterator[Path]:
    """On a file system that others hardly use, so that the number of its files is ours."""
    memory = "/dev/shm"  # noqa: S108 - a file system in memory
    if not os.path.isdir(memory) or not os.statvfs(memory).f_ffree:
        pytest.skip(f"{memory} does not limit the number of files")
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name)


def test_the_limit_on_files_does_not_wait_for_the_pace(folder_in_memory: Path) -> None:
    watcher = Watcher(
        folder_in_memory, Limits(disk_entries=500, memory_bytes=1 << 40), (), launchers=0, is_ours=True
    )  # the process of the tests may use much memory
    assert watcher.limit_hit(os.getpid()) is None
    watcher._thorough.due = watcher._quick.due = time.monotonic() + 3_600  # as after a count that took long
    assert watcher.limit_hit(os.getpid()) is None
    for number in range(250):
        (folder_in_memory / f"{number}" / "deeper").mkdir(parents=True)
    (folder_in_memory / "one more").mkdir()
    assert watcher.limit_hit(os.getpid()) == "disk"


@pytest.mark.parametrize(
    "after",
    ["", "libc.prctl(4, 0, 0, 0, None)\n", "libc.prctl(0x53564D41, 0, start, whole, b'named')\n"],
    ids=["seen", "closed to others", "named"],
)
def test_shared_memory_counts_after_it_was_let_go_of(attack: Attack, after: str) -> None:
    fill = (
        "whole, piece = 600 << 20, 50 << 20\n"
        "start = libc.mmap(None, whole, 3, 0x21, -1, 0)\n"
        f"{after}"
        "for offset in range(0, whole, piece):\n"
        "  ctypes.memset(start + offset, 1, piece)\n"
        "  libc.madvise(start + offset, piece, 4)"
    )
    assert attack(MAPPING + fill + SLEEP, limits=SMALL_MEMORY).limit_hit == "memory"


def test_processes_may_share_memory_within_the_limit(attack: Attack) -> None:
    code = (
        "import mmap, os, time\n"
        "shared = mmap.mmap(-1, 80 << 20)\n"
        "shared[:] = bytes(len(shared))\n"
        "children = [os.fork() for _ in range(1)]\n"
        "if children[0] == 0:\n  shared[0] = 7; time.sleep(0.5); os._exit(0)\n"
        "os.wait()\nprint(shared[0])"
    )
    limits = Limits(wall_seconds=60, memory_bytes=250 * MIB)
    assert attack(code, limits=limits).stdout == b"7\n"
