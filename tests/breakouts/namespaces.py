"""Namespaces, mounts and roots of one's own, in which one would be root again."""

from __future__ import annotations

import ctypes
import os
import signal

from breakouts.inside import World, called, checked, done, each, got_out, libc, system_call, write

USER, MOUNT, NETWORK, PROCESSES, NAMES, IPC, GROUPS, TIME = (
    0x10000000, 0x20000, 0x40000000, 0x20000000, 0x4000000, 0x8000000, 0x2000000, 0x80,
)  # fmt: skip


def be_root_in_a_namespace(world: World) -> None:
    checked(libc.unshare(USER))
    got_out("a user namespace")


def leave_the_others(world: World) -> None:
    for kind in (MOUNT, NETWORK, PROCESSES, NAMES, IPC, GROUPS, TIME):
        each(lambda kind=kind: done(libc.unshare(kind), f"namespace {kind:#x}"))


def _cloned(world: World, flags: int) -> None:
    pid = system_call(world, "clone", flags | signal.SIGCHLD, None, None, None, None)
    if pid == 0:
        got_out(f"cloned with {flags:#x}")
        os._exit(0)
    os.waitpid(pid, 0)


def clone_into_one(world: World) -> None:
    for kind in (USER, USER | MOUNT, MOUNT, NETWORK, PROCESSES):
        each(lambda kind=kind: _cloned(world, kind))


def clone_into_one_by_the_newer_call(world: World) -> None:
    arguments = (ctypes.c_uint64 * 11)(USER, 0, 0, 0, signal.SIGCHLD)
    if system_call(world, "clone3", arguments, ctypes.sizeof(arguments)) == 0:
        got_out("cloned")
        os._exit(0)


def enter_that_of_another(world: World) -> None:
    for pid in (1, os.getppid(), world.pid):
        for kind in ("mnt", "user", "net", "pid"):
            each(lambda pid=pid, kind=kind: _entered(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)))
        each(lambda pid=pid: _entered(os.pidfd_open(pid)))


def _entered(place: int) -> str:
    checked(libc.setns(place, 0))
    return "entered"


def mount_a_file_system(world: World) -> None:
    os.makedirs("place", exist_ok=True)
    for kind in (b"tmpfs", b"proc", b"sysfs", b"overlay", b"devtmpfs"):
        each(lambda kind=kind: done(libc.mount(b"x", b"place", kind, 0, None), f"mounted {kind!r}"))


def mount_a_folder(world: World) -> None:
    os.makedirs("place", exist_ok=True)
    checked(libc.mount(os.fsencode(os.path.dirname(world.secret)), b"place", None, 4096, None))
    got_out(os.listdir("place"))


def make_the_system_writable(world: World) -> None:
    for place in (b"/", b"/usr", b"/tmp"):
        each(lambda place=place: done(libc.mount(None, place, None, 32, None), f"remounted {place!r}"))


def take_mounts_away(world: World) -> None:
    for place in (b"/tmp", b"/proc", b"/dev", b"/usr"):
        each(lambda place=place: done(libc.umount2(place, 2), f"unmounted {place!r}"))


def mount_by_the_newer_calls(world: World) -> None:
    each(
        lambda: called(world, "fsopen", b"tmpfs", 0),
        lambda: called(world, "open_tree", -100, b"/", 1),
        lambda: called(world, "fspick", -100, b"/", 0),
        lambda: called(world, "move_mount", -100, b"/tmp", -100, b"/usr", 0),
        lambda: called(world, "mount_setattr", -100, b"/", 0, (ctypes.c_uint64 * 4)(), 32),
    )


def pivot_the_root(world: World) -> None:
    os.makedirs("new/old", exist_ok=True)
    checked(libc.syscall(ctypes.c_long(world.calls["pivot_root"]), b"new", b"new/old"))
    got_out("another root")


def rename_the_machine(world: World) -> None:
    each(
        lambda: done(libc.sethostname(b"hacked", 6), "a name"),
        lambda: done(libc.setdomainname(b"hacked", 6), "a domain"),
    )


def write_its_own_user_map(world: World) -> None:
    each(
        lambda: write("/proc/self/uid_map", "0 0 1"),
        lambda: write("/proc/self/gid_map", "0 0 1"),
        lambda: write("/proc/self/setgroups", "allow"),
    )
