"""Interfaces of the kernel: keys, rings, programs in the kernel, modules, clocks, watches."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import time

from breakouts.inside import World, called, checked, done, each, got_out, libc, read, system_call, write


def add_a_key(world: World) -> None:
    for ring in (-2, -3, -4, -5):  # of the process, the session, the user, the user's session
        each(lambda ring=ring: called(world, "add_key", b"user", b"hacked", b"x", 1, ring))


def ask_for_a_key(world: World) -> None:
    each(
        lambda: called(world, "request_key", b"user", b"kept", None, 0),
        lambda: called(world, "request_key", b"user", b"made", b"x", -3),
    )


def read_keys(world: World) -> None:
    found = ctypes.create_string_buffer(4096)
    for ring in (-3, -4, -5):
        each(
            lambda ring=ring: called(world, "keyctl", 11, ring, found, 4096),
            lambda ring=ring: called(world, "keyctl", 10, ring, b"user", b"kept", 0),
        )


def join_a_session_of_keys(world: World) -> None:
    each(lambda: called(world, "keyctl", 1, b"hacked"), lambda: called(world, "keyctl", 22, -1, -3))


def set_up_a_ring(world: World) -> None:
    system_call(world, "io_uring_setup", 8, ctypes.create_string_buffer(120))
    got_out("io_uring")


def use_a_ring_that_was_not_set_up(world: World) -> None:
    each(
        lambda: called(world, "io_uring_enter", 0, 0, 0, 0, None, 0),
        lambda: called(world, "io_uring_register", -1, 0, None, 0),
    )


def set_up_asynchronous_requests(world: World) -> None:
    system_call(world, "io_setup", 60_000, ctypes.byref(ctypes.c_ulong(0)))
    got_out("requests that the whole machine shares")


def load_a_program_into_the_kernel(world: World) -> None:
    each(
        lambda: called(world, "bpf", 5, ctypes.create_string_buffer(120), 120),
        lambda: called(world, "bpf", 0, ctypes.create_string_buffer(b"\1\0\0\0\4\0\0\0\4\0\0\0\1", 120), 120),
    )


def count_events(world: World) -> None:
    attributes = ctypes.create_string_buffer(b"\1\0\0\0\x70\0\0\0", 112)
    for pid in (0, -1, world.pid):
        each(lambda pid=pid: called(world, "perf_event_open", attributes, pid, 0 if pid == -1 else -1, -1, 0))


def handle_page_faults(world: World) -> None:
    each(lambda: called(world, "userfaultfd", 0), lambda: os.open("/dev/userfaultfd", os.O_RDWR))


def load_a_module(world: World) -> None:
    open("module", "w").close()
    each(
        lambda: called(world, "finit_module", os.open("module", os.O_RDONLY), b"", 0),
        lambda: called(world, "init_module", b"x", 1, b""),
        lambda: called(world, "delete_module", b"none", 0),
        lambda: called(world, "kexec_file_load", 0, 0, 0, b"", 0),
    )


def read_the_kernels_log(world: World) -> None:
    said = ctypes.create_string_buffer(4096)
    each(lambda: called(world, "syslog", 3, said, 4096), lambda: read("/dev/kmsg"), lambda: read("/proc/kmsg"))


def set_the_clock(world: World) -> None:
    moment = (ctypes.c_long * 2)(int(time.time()), 0)
    each(
        lambda: done(system_call(world, "settimeofday", moment, None), "the clock"),
        lambda: done(system_call(world, "clock_settime", 0, moment), "the clock"),
        lambda: "the clock" if system_call(world, "adjtimex", ctypes.create_string_buffer(b"\2", 208)) >= 0 else None,
    )


def swap_and_account(world: World) -> None:
    open("file", "w").close()
    each(
        lambda: done(system_call(world, "swapon", b"file", 0), "swap"),
        lambda: done(system_call(world, "acct", b"file"), "accounting"),
        lambda: done(system_call(world, "quotactl", 0x800001, b"/dev/none", 0, 0), "quotas"),
        lambda: "ports" if "iopl" in world.calls and system_call(world, "iopl", 3) == 0 else None,
    )


def be_another_personality(world: World) -> None:
    each(lambda: f"personality {system_call(world, 'personality', 0x0040000):#x}")  # ADDR_NO_RANDOMIZE


def watch_folders(world: World) -> None:
    watching = libc.inotify_init1(0)
    for place in (world.secret, world.open_folder, os.path.dirname(world.secret)):
        each(lambda place=place: f"watch {checked(libc.inotify_add_watch(watching, os.fsencode(place), 0xFFF))}")


def watch_everything(world: World) -> None:
    watching = checked(libc.fanotify_init(0x200, 0))
    checked(libc.fanotify_mark(watching, 1, ctypes.c_uint64(0x3B), -100, os.fsencode(world.open_folder)))
    got_out("watches")


def lease_a_file(world: World) -> None:
    each(
        lambda: done(libc.fcntl(os.open("/usr/bin/env", os.O_RDONLY), 1024, 0), "a lease"),
        lambda: done(libc.fcntl(os.open("/usr", os.O_RDONLY), 1026, 0x80000000 - 1), "a note"),
    )


def _machine_code(code: bytes) -> int:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return int(ctypes.CFUNCTYPE(ctypes.c_long)(address)())


def call_as_a_32_bit_program(world: World) -> None:
    if platform.machine() == "x86_64":
        got_out(_machine_code(b"\xb8\x14\0\0\0\xcd\x80\xc3"))  # mov eax, 20 (getpid); int 0x80; ret


def call_by_the_other_numbers(world: World) -> None:
    if platform.machine() == "x86_64":
        each(lambda: checked(libc.syscall(ctypes.c_long(0x40000000 | 39))))  # getpid of x32


def call_with_bits_that_nobody_reads(world: World) -> None:
    high = 1 << 32
    each(
        lambda: checked(libc.syscall(ctypes.c_long(world.calls["socket"]), ctypes.c_long(high | 40), 1, 0)),
        lambda: checked(libc.syscall(ctypes.c_long(high | world.calls["ptrace"]), 16, world.pid, 0, 0)) == 0,
        lambda: checked(libc.syscall(ctypes.c_long(world.calls["unshare"]), ctypes.c_long(high | 0x10000000))) == 0,
    )


def press_the_magic_key(world: World) -> None:
    for place in ("sysrq-trigger", "sys/kernel/sysrq", "sys/kernel/core_pattern", "sys/vm/overcommit_memory"):
        each(lambda place=place: write(f"/proc/{place}", "0"))


def write_to_the_systems_tree(world: World) -> None:
    for place in ("kernel/mm/ksm/run", "power/state", "fs/cgroup/cgroup.procs", "kernel/debug/tracing/trace"):
        each(lambda place=place: write(f"/sys/{place}", "0"), lambda place=place: read(f"/sys/{place}"))


def read_the_kernels_memory(world: World) -> None:
    for place in ("/proc/kcore", "/dev/mem", "/proc/kallsyms", "/proc/kpagecount", "/proc/iomem"):
        each(lambda place=place: _told(read(place)))


def _told(text: str) -> str | None:
    """The lines that tell an address: without the right to know them, all are zero."""
    zero = ("0000000000000000 ", "00000000-00000000")
    return "\n".join([line for line in text.splitlines() if not line.lstrip().startswith(zero)][:3]) or None
