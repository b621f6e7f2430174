"""Ways out of the sandbox that were tried with success once, and what honest programs must still be able to do."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from attacking import NOBODY, Attack, python
from steelyard import sandbox
from steelyard.sandbox import Isolation, Limits

ESCAPE = "\x1b[2J"
IPC_CREAT, IPC_RMID, ANYONE = 0o1000, 0, 0o666


def test_the_command_racing_us_for_its_own_output_breaks_nothing(attack: Attack) -> None:
    code = (
        "import os\n"
        "try: own = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\n"
        "except OSError: raise SystemExit(5)\n"  # with a uid of its own it cannot even begin
        "if os.fork() == 0:\n"
        "  while True:\n"
        "    try: os.read(own, 65536)\n"
        "    except OSError: pass\n"
        "while True: os.write(1, b'x')"
    )
    result = attack(code, limits=Limits(wall_seconds=3, output_bytes=64 << 20))
    assert result.exit_status == 5 or result.limit_hit in ("wall", "output")


def test_the_command_filling_its_own_input_breaks_nothing(attack: Attack) -> None:
    code = (
        "import os, time\n"
        "try: own = os.open('/proc/self/fd/0', os.O_WRONLY | os.O_NONBLOCK)\n"
        "except OSError: raise SystemExit(5)\n"
        "end = time.monotonic() + 1\n"
        "while time.monotonic() < end:\n"
        "  os.read(0, 4096)\n"
        "  try: os.write(own, b'x' * 65536)\n"
        "  except OSError: pass\n"
        "raise SystemExit(5)"
    )
    assert attack(code, stdin=b"x" * 8_000_000).exit_status == 5


def test_other_processes_of_the_user_are_left_alone(users_landlock: Attack) -> None:
    code = (
        "import ctypes, os, resource\n"
        "libc, other = ctypes.CDLL(None, use_errno=True), os.getppid()\n"
        "def tried(call):\n"
        "  try: call()\n"
        "  except OSError as error: return error.strerror\n"
        "  return 'done'\n"
        "print({tried(call) for call in (\n"
        "  lambda: resource.prlimit(other, resource.RLIMIT_NOFILE),\n"
        "  lambda: resource.prlimit(other, resource.RLIMIT_CPU, (1, 1)),\n"
        "  lambda: os.sched_setaffinity(other, os.sched_getaffinity(0)),\n"
        "  lambda: os.sched_setscheduler(other, os.SCHED_BATCH, os.sched_param(0)),\n"
        "  lambda: os.sched_setparam(other, os.sched_param(0)),\n"
        "  lambda: os.setpriority(os.PRIO_PROCESS, other, 19),\n"
        "  lambda: os.setpriority(os.PRIO_USER, 0, 19),\n"
        ")})\n"
        "print({tried(call) for call in (\n"
        "  lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (10, 10)),\n"
        "  lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),\n"
        "  lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)),\n"
        "  lambda: os.setpriority(os.PRIO_PROCESS, 0, 19),\n"
        ")})"
    )
    assert users_landlock(code).stdout == b"{'Operation not permitted'}\n{'done'}\n"


def test_a_file_is_collected_only_from_where_the_work_was(attack: Attack, open_folder: Path) -> None:
    (open_folder / "out.json").write_text("the user's")
    code = (
        "import os\n"
        "open('out.json', 'w').write('its own')\n"
        "try: os.rename('../work', '../elsewhere')\n"
        "except OSError: raise SystemExit\n"
        f"os.symlink({str(open_folder)!r}, '../work')"
    )
    assert attack(code, collect=["out.json"]).collected == {"out.json": b"its own"}


def test_no_link_on_the_way_to_a_collected_file_is_followed(attack: Attack, open_folder: Path) -> None:
    (open_folder / "out.json").write_text("the user's")
    code = (
        "import os\n"
        f"os.symlink({str(open_folder)!r}, 'away')\n"
        f"os.symlink({str(open_folder / 'out.json')!r}, 'linked')\n"
        "os.makedirs('a/b'); open('a/b/c', 'w').write('deep')\n"
        "try: os.mkfifo('fifo')\n"
        "except OSError: pass\n"
    )
    names = ["away/out.json", "linked", "a/b/c", "a/b", "fifo", "a/../linked", "/etc/passwd", "none"]
    assert attack(code, collect=names).collected == {"a/b/c": b"deep"}


def test_a_users_socket_cannot_be_written_to(attack: Attack, open_folder: Path) -> None:
    place = open_folder / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(place))
        place.chmod(0o777)
        listener.setblocking(False)
        # 2: datagrams, 3: the same under another name
        attack(
            "import ctypes, struct\n"
            "libc, pair = ctypes.CDLL(None), (ctypes.c_int * 2)()\n"
            f"address = struct.pack('H', 1) + {os.fsencode(place)!r} + bytes(1)\n"
            "for kind in (2, 3):\n"
            "  libc.socketpair(1, kind, 0, pair)\n"
            "  libc.sendto(pair[0], b'hello', 5, 0, address, len(address))\n"
            "  libc.connect(pair[0], address, len(address))\n"
        )
        with pytest.raises(BlockingIOError):
            listener.recv(100)


def test_only_families_that_are_listed_have_sockets(attack: Attack, isolation: Isolation) -> None:
    code = (
        "import ctypes, socket\n"
        "opened, pair = set(), (ctypes.c_int * 2)()\n"
        "for family in range(64):\n"
        "  for kind in (1, 2, 3, 5):\n"
        "    try: socket.socket(family, kind).close(); opened.add(family)\n"
        "    except OSError: pass\n"
        "    if ctypes.CDLL(None).socketpair(family, kind, 0, pair) == 0: opened.add(-family)\n"
        "try: socket.socket(16, 3, 15).close(); opened.add('events of devices')\n"  # AF_NETLINK, KOBJECT_UEVENT
        "except OSError: pass\n"
        "print(sorted(opened))"
    )
    # 1: Unix, 2 and 10: Internet, 16: Netlink; -1: a pair of connected ones. AF_VSOCK, which leads to the host, is 40.
    families = {"bubblewrap": b"[-1, 1, 2, 10, 16]\n", "landlock": b"[-1]\n"}
    assert attack(code).stdout == families[isolation.name]


def test_a_program_can_ask_for_its_own_interfaces(isolation: Isolation) -> None:
    if isolation.name == "bubblewrap":
        assert python("import socket; print(socket.if_nameindex())", isolation).stdout == b"[(1, 'lo')]\n"


WATCHING = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
inotify, fanotify = libc.inotify_init1(0), libc.fanotify_init(0x200, 0)
for place in {places!r}:
  if libc.inotify_add_watch(inotify, place, 0xFFF) >= 0: print("inotify", place)
  if libc.fanotify_mark(fanotify, 1, 0x3B, -100, place) == 0: print("fanotify", place)
for request, argument in ((1026, 0x2F), (1024, 0)):  # F_NOTIFY, F_SETLEASE
  if libc.fcntl(os.open("/usr", os.O_RDONLY), request, argument) == 0: print("fcntl", request)
"""


def test_nobody_elses_folders_can_be_watched(attack: Attack, open_folder: Path) -> None:
    (open_folder / "told").write_text("x")
    places = [os.fsencode(open_folder), os.fsencode(open_folder / "told")]
    assert attack(WATCHING.format(places=places)).stdout == b""


def test_attributes_outside_can_be_neither_read_nor_set(attack: Attack, open_folder: Path) -> None:
    anyones = open_folder / "anyones"
    anyones.write_text("x")
    anyones.chmod(0o666)
    try:
        os.setxattr(anyones, "user.kept", b"secret")
    except OSError:
        pytest.skip("this file system has no attributes")
    code = (
        "import os\n"
        f"place = {str(anyones)!r}\n"
        "calls = [lambda: os.setxattr(place, 'user.kept', b'changed'), lambda: os.removexattr(place, 'user.kept'),\n"
        "  lambda: os.getxattr(place, 'user.kept'), lambda: os.listxattr(place)]\n"
        "for call in calls:\n"
        "  try: print(call())\n"
        "  except OSError: pass\n"
    )
    assert attack(code).stdout == b""
    assert os.getxattr(anyones, "user.kept") == b"secret"


def test_a_tree_can_be_copied_with_all_that_belongs_to_it(isolation: Isolation) -> None:
    code = "import shutil; shutil.copytree('a', 'b'); print(open('b/f').read())"
    assert python(code, isolation, files={"a/f": b"copied"}).stdout == b"copied\n"


def test_what_the_whole_machine_shares_cannot_be_reserved(attack: Attack) -> None:
    code = (
        "import ctypes, platform\n"
        "libc, context = ctypes.CDLL(None), ctypes.c_ulong(0)\n"
        "print(libc.syscall(206 if platform.machine() == 'x86_64' else 0, 1000, ctypes.byref(context)))\n"  # io_setup
        "print(libc.syscall(447, 0))"  # memfd_secret
    )
    assert attack(code).stdout == b"-1\n-1\n"


def test_pairs_of_streams_go_on_working(attack: Attack) -> None:
    code = (
        "import asyncio, multiprocessing, socket\n"
        "async def five(): return 5\n"
        "print(asyncio.run(five()))\n"
        "here, there = multiprocessing.Pipe(); here.send('sent'); print(there.recv())\n"
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b'x'); print(b.recv(9))"
    )
    assert attack(code).stdout == b"5\nsent\nb'x'\n"


@pytest.fixture
def words() -> Iterator[tuple[int, int]]:
    """The number and address of a piece of memory that anyone may attach."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    number = libc.shmget(0, 4096, IPC_CREAT | ANYONE)
    address = libc.shmat(number, None, 0)
    ctypes.memmove(address, b"words", 5)
    yield number, address
    libc.shmdt(ctypes.c_void_p(address))
    libc.shmctl(number, IPC_RMID, None)


def test_memory_that_others_share_cannot_be_reached_by_its_number(attack: Attack, words: tuple[int, int]) -> None:
    number, address = words
    code = (
        "import ctypes\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        f"calls = [lambda: libc.shmat({number}, None, 0), lambda: libc.shmctl({number}, 0, None),\n"
        "  lambda: libc.msgctl(0, 0, None), lambda: libc.semctl(0, 0, 0), lambda: libc.mq_open(b'/none', 0)]\n"
        "print({(call(), ctypes.get_errno()) for call in calls})"
    )
    assert attack(code).stdout == b"{(-1, 1)}\n"  # 1 is EPERM: refused, not merely absent
    assert ctypes.string_at(address, 5) == b"words"


def test_a_users_file_keeps_its_mode_and_attributes(users_landlock: Attack, open_folder: Path) -> None:
    kept = open_folder / "kept"
    kept.write_text("x")
    kept.chmod(0o644)
    if os.getuid() == 0:
        os.chown(kept, NOBODY, NOBODY)
    code = (
        "import ctypes, os, struct\n"
        f"opened = os.open({str(kept)!r}, os.O_RDONLY)\n"
        "libc, flags = ctypes.CDLL(None), struct.pack('l', 0x40)\n"
        "calls = [lambda: os.fchmod(opened, 0), lambda: os.fchown(opened, -1, -1),\n"
        "  lambda: os.setxattr(opened, 'user.x', b'x'), lambda: os.removexattr(opened, 'user.x'),\n"
        "  lambda: os.utime(opened, (0, 0))]\n"
        "for call in calls:\n"
        "  try: call()\n"
        "  except OSError: continue\n"
        "  print('done')\n"
        "if libc.ioctl(opened, 0x40086602, flags) == 0: print('done')"  # FS_IOC_SETFLAGS
    )
    before = kept.stat()
    result = users_landlock(code, readable=[kept])
    assert (result.stdout, result.exit_status) == (b"", 0)
    assert kept.stat() == before


def test_a_command_cannot_say_that_it_never_started(attack: Attack) -> None:
    code = (
        "import os, sys, time\n"
        f"sys.stderr.write('bwrap: ' + {ESCAPE!r} + 'A' * 10_000); sys.stderr.flush()\n"
        "try: os.kill(os.getppid(), 9); time.sleep(60)\n"
        "except OSError: pass"
    )
    result = attack(code)
    assert result.start_error is None
    assert result.ending in ("ended without a report", "exit status 0")


def test_why_it_did_not_start_is_told_briefly_and_cannot_drive_a_terminal(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = open_folder / "bwrap"
    broken.write_text(f"#!/bin/sh\nprintf 'bwrap: {ESCAPE}%05000d' 1 >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{open_folder}:{os.environ['PATH']}")
    found = Isolation(name="bubblewrap", detail="broken", own_uid=os.getuid() == 0, python=None)
    result = sandbox.run(["/bin/true"], isolation=found)
    assert result.start_error is not None
    assert result.start_error.startswith("bwrap: \\x1b[2J0000")
    assert len(result.ending) < 400


def test_what_lies_below_the_temporary_folder_can_be_made_readable(isolation: Isolation) -> None:
    folder = Path("/tmp") / f"steelyard-test-{os.getpid()}"  # noqa: S108 - the folder that bubblewrap replaces
    folder.mkdir(mode=0o755)
    try:
        (folder / "told").write_text("told")
        result = python(f"print(open('{folder}/told').read())", isolation, readable=[folder])
        refused = python(f"open('{folder}/told', 'w')", isolation, readable=[folder])
    finally:
        (folder / "told").unlink()
        folder.rmdir()
    assert result.stdout == b"told\n"
    assert not refused.ok


@pytest.mark.parametrize(
    ("program", "name", "code"),
    [
        (
            "node",
            "main.js",
            (
                "const { Worker } = require('worker_threads');"
                "new Worker(\"require('worker_threads').parentPort.postMessage(42)\", { eval: true })"
                ".on('message', (sent) => console.log(sent))"
            ),
        ),
        (
            "java",
            "Main.java",
            (
                "public class Main { public static void main(String[] a) throws Exception {"
                " Thread t = new Thread(() -> System.out.println(42)); t.start(); t.join(); } }"
            ),
        ),
    ],
)
def test_other_languages_start_with_their_threads(isolation: Isolation, program: str, name: str, code: str) -> None:
    found = shutil.which(program, path="/usr/bin:/bin")
    if found is None:
        pytest.skip(f"{program} is not installed")
    limits = Limits(wall_seconds=60, processes=128, open_files=512, memory_bytes=2 << 30)
    result = sandbox.run([found, name], files={name: code.encode()}, isolation=isolation, limits=limits)
    assert (result.stdout, result.ok) == (b"42\n", True), result.stderr
