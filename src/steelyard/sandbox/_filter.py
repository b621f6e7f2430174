"""Seccomp filter of a sandboxed command: the denied system calls as a BPF program.

It is made here and handed to the launcher as bytes, which needs nothing of ours to put it into force.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from errno import EACCES, EAFNOSUPPORT, ENOSYS, EOPNOTSUPP, EPERM
from functools import cache
from typing import NamedTuple

from steelyard.sandbox._sandbox_records import IsolationName

Numbers = tuple[int | None, int | None]
"""A call's number on x86_64 and on aarch64; None where the architecture has no such call."""
Calls = dict[str, Numbers]

_KERNEL_CALLS: Calls = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "mount_setattr": (442, 442),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "personality": (135, 92),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    # Memory that belongs to no process, or to none yet, would escape the memory limit; and what others made can be
    # reached by guessing its number, without the call that asks for it.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # What reaches into another process.
    "kcmp": (312, 272),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
}
_ABSENT_CALLS: Calls = {
    # "Not there" makes libraries take an older way that the filter can look into.
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "io_setup": (206, 0),  # the whole system shares the number of requests that it may reserve
    # They reveal activity of others in folders that the command may not even list.
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
}
# Reserving gigabytes is instant; if it is unsupported, libraries write instead, which takes time.
_RESERVING_CALLS: Calls = {"fallocate": (285, 47)}
_NETWORK_CALLS: Calls = {"socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201)}
_SIGNAL_CALLS: Calls = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
_TRUNCATE_CALLS: Calls = {"truncate": (76, 45)}
# Landlock guards neither watching a folder nor attributes, which take no more than the right to read or write a file.
_WATCH_CALLS: Calls = {"inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27)}
_ATTRIBUTE_CALLS: Calls = {
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "getxattrat": (464, 464),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "listxattrat": (465, 465),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
}
# Nor does it guard owners, modes and times; under the user's own uid the filter has to.
_METADATA_CALLS: Calls = {
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "file_setattr": (469, 469),
}


class _Test(NamedTuple):
    """What an argument of a call must be for the call to be let through: the bits of the mask, compared to a value."""

    argument: int
    mask: int
    value: int
    equal: bool = True


class _GuardedCall(NamedTuple):
    """A call that is let through in some ways only. The kernel takes these arguments as 32 bits, as we do."""

    name: str
    numbers: Numbers
    ways: tuple[tuple[_Test, ...], ...]
    """Each a list of tests: the call is let through when all tests of one list hold."""
    error: int = EPERM


_WHOLE = 0xFFFFFFFF
_SOL_SOCKET, _BUFFER_SIZES = 1, (7, 8, 32, 33)
_NEW_NAMESPACES = 0x7E020080
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x10000
_GUARDED = (
    # A new process may not open namespaces of its own: in them it would be root again. And the search for
    # unlinked files finds those of all threads in one place only while they share open files.
    _GuardedCall(
        "clone",
        (56, 220),
        ((_Test(0, _NEW_NAMESPACES, 0), _Test(0, _CLONE_FILES | _CLONE_THREAD, _CLONE_THREAD, equal=False)),),
    ),
    _GuardedCall("close_range", (436, 436), ((_Test(2, 2, 0),),)),  # it can part what threads share
    # No limit counts what waits in sockets, so their buffers stay as large as they are. The system may
    # ignore a requested size without an error, so the call still succeeds.
    _GuardedCall(
        "setsockopt",
        (54, 208),
        (
            (_Test(1, _WHOLE, _SOL_SOCKET, equal=False),),
            tuple(_Test(2, _WHOLE, option, equal=False) for option in _BUFFER_SIZES),
        ),
        error=0,
    ),
)
# Namespaces part these families from the rest of the machine. Others (AF_VSOCK, AF_ALG, AF_BLUETOOTH) know no
# namespaces: they lead to the host or deep into the kernel. Netlink is needed to ask for one's own interfaces.
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK, _NETLINK_ROUTE = 1, 2, 10, 16, 0
_NAMESPACED_SOCKETS = (
    _GuardedCall(
        "socket",
        (41, 198),
        (
            *((_Test(0, _WHOLE, family),) for family in (_AF_UNIX, _AF_INET, _AF_INET6)),
            (_Test(0, _WHOLE, _AF_NETLINK), _Test(2, _WHOLE, _NETLINK_ROUTE)),
        ),
        EAFNOSUPPORT,
    ),
    _GuardedCall("socketpair", (53, 199), ((_Test(0, _WHOLE, _AF_UNIX),),), EAFNOSUPPORT),
)
# A pair of datagram sockets can be used to send to any socket that has a path; a pair of streams cannot. The bits are
# those that SOCK_STREAM and SOCK_SEQPACKET have in common and that no other type has so.
_SOCKET_PAIRS = (_GuardedCall("socketpair", (53, 199), ((_Test(0, _WHOLE, _AF_UNIX), _Test(1, 0b1011, 1)),), EACCES),)


def _process_guards(pid: int, *, equal: bool) -> tuple[_GuardedCall, ...]:
    """Return guards of the calls that change another process, which allow this process only, or all others."""
    process = ((_Test(0, _WHOLE, pid, equal),),)
    return (
        _GuardedCall("prlimit64", (302, 261), process),
        _GuardedCall("sched_setaffinity", (203, 122), process),
        _GuardedCall("sched_setscheduler", (144, 119), process),
        _GuardedCall("sched_setparam", (142, 118), process),
        _GuardedCall("sched_setattr", (314, 274), process),
        _GuardedCall("migrate_pages", (256, 238), process),
        _GuardedCall("move_pages", (279, 239), process),
        # Of a process, not of a process group or a user.
        _GuardedCall("setpriority", (141, 140), ((_Test(0, _WHOLE, 0), _Test(1, _WHOLE, pid, equal)),)),
        _GuardedCall("ioprio_set", (251, 30), ((_Test(0, _WHOLE, 1), _Test(1, _WHOLE, pid, equal)),)),
    )


# Without a separate uid or PID namespace, the command's processes are among all those of the user: 0 is the caller.
_CALLER_ONLY = _process_guards(0, equal=True)
# In bubblewrap's PID namespace, the only other process is the launcher.
_ALL_BUT_LAUNCHER = _process_guards(1, equal=False)
# A descriptor can be set to signal another process when it becomes readable.
_F_SETOWN, _F_SETOWN_EX, _FIOSETOWN, _SIOCSPGRP = 8, 15, 0x8901, 0x8902
# It can watch a directory for changes, and can block others that want to write to a file.
_F_NOTIFY, _F_SETLEASE = 1026, 1024
# A file that is open for reading can be given attributes by its owner.
_FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR = 0x40086602, 0x401C5820

ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""Where the filter is written for: which of the numbers holds there, and how the kernel names it."""
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_FIRST_ARGUMENT = 16
_Step = tuple[int, int, int, int]


@cache
def filter_for(name: IsolationName, *, own_uid: bool, abi: int) -> bytes:
    """The program for a command under that isolation, on a kernel with that version of Landlock; empty for `none`."""
    if name == "none":
        return b""
    denied = [(_KERNEL_CALLS, EPERM), (_ABSENT_CALLS, ENOSYS), (_RESERVING_CALLS, EOPNOTSUPP)]
    guarded = list(_GUARDED)
    fcntl_denied, ioctl_denied = [_F_NOTIFY, _F_SETLEASE], []
    if name == "bubblewrap":
        guarded += [*_NAMESPACED_SOCKETS, *_ALL_BUT_LAUNCHER]
    else:
        denied += [(_NETWORK_CALLS, EACCES), (_WATCH_CALLS, ENOSYS), (_ATTRIBUTE_CALLS, EOPNOTSUPP)]
        guarded += _SOCKET_PAIRS
        signals_unguarded, owners_unguarded = abi < 6, not own_uid
        if signals_unguarded:
            denied.append((_SIGNAL_CALLS, EPERM))
            fcntl_denied += [_F_SETOWN, _F_SETOWN_EX]
            ioctl_denied += [_FIOSETOWN, _SIOCSPGRP]
        if abi < 3:
            denied.append((_TRUNCATE_CALLS, EPERM))
        if owners_unguarded:
            denied.append((_METADATA_CALLS, EPERM))
            guarded += _CALLER_ONLY
            ioctl_denied += [_FS_IOC_SETFLAGS, _FS_IOC_FSSETXATTR]
    guarded += [_none_of("fcntl", (72, 25), fcntl_denied), _none_of("ioctl", (16, 29), ioctl_denied)]
    return _program(denied, guarded)


def _none_of(name: str, numbers: Numbers, denied: Iterable[int]) -> _GuardedCall:
    """Return a guard that denies some values of the second argument of a call."""
    return _GuardedCall(name, numbers, (tuple(_Test(1, _WHOLE, wish, equal=False) for wish in denied),))


def _program(denied: Iterable[tuple[Calls, int]], guarded: Iterable[_GuardedCall]) -> bytes:
    """Classic BPF that answers the denied calls with an error and lets the others through."""
    column, audit = ARCHITECTURES[os.uname().machine]
    steps: list[_Step] = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:  # the x32 calls are the same calls under other numbers
        steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]
    for calls, error in denied:
        for numbers in calls.values():
            number = numbers[column]
            if number is not None:
                steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]
    for call in guarded:
        number = call.numbers[column]
        if number is not None:
            tested = _tested(call)
            steps += [(_EQUAL, 0, len(tested), number), *tested]
    steps.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _tested(call: _GuardedCall) -> list[_Step]:
    """The steps that decide a guarded call for good: the call's number is no longer at hand after them."""
    steps: list[_Step] = [(_RETURN, 0, 0, _ERRNO | call.error)]
    for way in reversed(call.ways):
        own: list[_Step] = [(_RETURN, 0, 0, _ALLOW)]
        for test in reversed(way):
            next_way = len(own)
            jumps = (0, next_way) if test.equal else (next_way, 0)
            own = [
                (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * test.argument),
                (_AND, 0, 0, test.mask),
                (_EQUAL, *jumps, test.value),
                *own,
            ]
        steps = [*own, *steps]
    return steps
