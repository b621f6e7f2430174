"""The process that stands between Steelyard and a command that is not trusted.

It is run as a script by an isolated interpreter and imports nothing of ours: it starts inside the sandbox, where our
package and its libraries need not be readable. It forks; the child gives up every right and becomes the command; the
parent waits, ends whatever the command left behind, and reports how it ended on a pipe the command never had.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import resource
import select
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_EPERM, _EACCES, _ENOSYS = 1, 13, 38
_AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGIO}

_libc = ctypes.CDLL(None, use_errno=True)

# Name: (number on x86_64, number on aarch64); None where the architecture has no such call.
_KERNEL_CALLS: dict[str, tuple[int | None, int | None]] = {
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
    # Memory that belongs to no process, or to none yet, would escape the memory limit.
    "shmget": (29, 194),
    "msgget": (68, 186),
    "semget": (64, 190),
}
_ABSENT_CALLS: dict[str, tuple[int | None, int | None]] = {
    # "Not there" makes libraries take an older way that the filter can look into.
    "clone3": (435, 435),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "memfd_create": (319, 279),
}
_NETWORK_CALLS: dict[str, tuple[int | None, int | None]] = {"socket": (41, 198)}
_SIGNAL_CALLS: dict[str, tuple[int | None, int | None]] = {
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
_TRUNCATE_CALLS: dict[str, tuple[int | None, int | None]] = {"truncate": (76, 45)}
# Landlock does not guard owners, modes, times and attributes; under the user's own uid the filter has to.
_METADATA_CALLS: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}
_NEW_NAMESPACES = 0x7E020080
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06


def landlock_abi() -> int:
    """The version of Landlock this kernel has switched on; 0 for none."""
    return max(0, int(_libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def filter_program(denied: list[tuple[dict[str, tuple[int | None, int | None]], int]]) -> bytes:
    """A classic BPF program that answers the denied calls with an error and lets the others through."""
    column, audit, clone = _ARCHITECTURES[platform.machine()]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, audit), (_RETURN, 0, 0, _KILL), (_LOAD, 0, 0, 0)]
    if column == 0:  # the x32 calls are the same calls under other numbers
        steps += [(_AT_LEAST, 0, 1, 0x40000000), (_RETURN, 0, 0, _KILL)]
    for calls, error in denied:
        for numbers in calls.values():
            number = numbers[column]
            if number is not None:
                steps += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | error)]
    # A new process may not open namespaces of its own: in them it would be root again.
    steps += [(_EQUAL, 0, 4, clone), (_LOAD, 0, 0, 16), (_AND, 0, 0, _NEW_NAMESPACES), (_EQUAL, 1, 0, 0)]
    steps += [(_RETURN, 0, 0, _ERRNO | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _install_filter(spec: dict[str, Any]) -> None:
    denied = [(_KERNEL_CALLS, _EPERM), (_ABSENT_CALLS, _ENOSYS)]
    if spec["isolation"] == "landlock":
        denied.append((_NETWORK_CALLS, _EACCES))
        if landlock_abi() < 6:
            denied.append((_SIGNAL_CALLS, _EPERM))
        if landlock_abi() < 3:
            denied.append((_TRUNCATE_CALLS, _EPERM))
        if spec["uid"] is None:
            denied.append((_METADATA_CALLS, _EPERM))
    code = filter_program(denied)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(held))
    holder = ctypes.create_string_buffer(program, len(program))
    _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(holder))


def _landlock_rule(ruleset: int, path: str, allowed: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        is_folder = os.path.isdir(path)
        rights = allowed if is_folder else allowed & (0b111 | 1 << 14 | 1 << 15)
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, opened), 12)
        if _libc.syscall(445, ruleset, ctypes.c_int(1), rule, ctypes.c_uint32(0)) != 0:
            raise OSError(ctypes.get_errno(), f"landlock rule for {path}")
    finally:
        os.close(opened)


def _restrict_files(spec: dict[str, Any]) -> int:
    """A ruleset that allows what the spec lists and nothing else; it is put into force later, by its number."""
    abi = landlock_abi()
    every = (1 << 13) - 1
    every |= (1 << 13 if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0) | (1 << 15 if abi >= 5 else 0)
    network, scope = (3 if abi >= 4 else 0), (3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", every, network, scope)[:size], size)
    ruleset = int(_libc.syscall(444, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock")
    for path in spec["readable"]:
        _landlock_rule(ruleset, path, 0b1101)  # execute, read a file, list a folder
    for path in ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"):
        _landlock_rule(ruleset, path, 0b110)
    for path in spec["writable"]:
        # No device, socket or fifo may be made: only files, folders and links.
        _landlock_rule(ruleset, path, every & ~(1 << 6 | 1 << 9 | 1 << 11))
    return ruleset


def _limit(spec: dict[str, Any]) -> None:
    for name, wanted in spec["rlimits"].items():
        kind = getattr(resource, name)
        _, ceiling = resource.getrlimit(kind)
        bound = ceiling != resource.RLIM_INFINITY and os.geteuid() != 0
        soft, hard = (min(value, ceiling) if bound else value for value in wanted)
        resource.setrlimit(kind, (soft, hard))


def _become(spec: dict[str, Any], command: list[str]) -> NoReturn:
    os.setsid()
    os.umask(0o077)
    _limit(spec)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    ruleset = _restrict_files(spec) if spec["isolation"] == "landlock" else -1
    if spec["uid"] is not None:
        os.setgroups([])
        os.setresgid(spec["uid"], spec["uid"], spec["uid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    os.chdir(spec["cwd"])
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if ruleset >= 0:
        if _libc.syscall(446, ruleset, ctypes.c_uint32(0)) != 0:
            raise OSError(ctypes.get_errno(), "landlock could not be put into force")
        os.close(ruleset)
    if spec["isolation"] != "none":
        _install_filter(spec)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
    os.execvpe(command[0], command, spec["env"])  # noqa: S606 - a command line, never a shell string


def _descendants(root: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
            children.setdefault(int(stat.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    waiting = list(children.get(root, []))
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _kill_everything(spec: dict[str, Any]) -> None:
    """End all descendants. Orphans come to us (we are their reaper), so no child left means nobody left."""
    while True:
        if spec["uid"] is not None:
            killer = os.fork()
            if killer == 0:
                with contextlib.suppress(OSError):
                    os.setresuid(spec["uid"], spec["uid"], spec["uid"])
                    os.kill(-1, signal.SIGKILL)  # every process of the uid that this run alone has, at one blow
                os._exit(0)
            os.waitpid(killer, 0)
        for child in list(_descendants(os.getpid())):
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _report(spec: dict[str, Any], **facts: object) -> None:
    os.write(spec["report_fd"], json.dumps(facts).encode())


def _has_no_reader(spec: dict[str, Any]) -> bool:
    poller = select.poll()
    poller.register(spec["report_fd"], 0)
    return bool(poller.poll(0))


def _ask_for_a_signal_without_reader(spec: dict[str, Any]) -> None:
    """SIGIO when whoever reads the report is gone.

    The signal on a parent's death is not enough: it never comes when the parent had died before it was asked for.
    """
    fcntl.fcntl(spec["report_fd"], fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(spec["report_fd"], fcntl.F_GETFL)
    fcntl.fcntl(spec["report_fd"], fcntl.F_SETFL, flags | os.O_ASYNC)


def _end_of(child: int, spec: dict[str, Any]) -> int | None:
    """The status the child ended with; None when we are to stop, or nobody is there to be told."""
    while not _has_no_reader(spec):
        if signal.sigwait(_AWAITED) == signal.SIGTERM:
            return None
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if ended[0] == child:
                    return ended[1]
    return None


def main(arguments: list[str]) -> int:
    """Run `arguments[1:]` as `arguments[0]`, a JSON object, says."""
    spec: dict[str, Any] = json.loads(arguments[0])  # Any: paths, limits and numbers, written by run()
    os.set_inheritable(spec["report_fd"], False)
    # Signals are waited for, not handled: none can come between a look and the sleep that follows it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _ask_for_a_signal_without_reader(spec)
    failed_to_start, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(spec["report_fd"])
            _become(spec, arguments[1:])
        except OSError as error:
            os.write(tell, str(error).encode()[:1000])
        except BaseException as error:  # noqa: BLE001 - the fork must end here whatever happened
            os.write(tell, repr(error).encode()[:1000])
        os._exit(127)
    os.close(tell)
    status = _end_of(child, spec)
    _kill_everything(spec)
    if status is None:
        return 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _report(
        spec,
        start_error=os.read(failed_to_start, 1000).decode(errors="replace"),
        exit_status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        cpu_seconds=used.ru_utime + used.ru_stime,
        peak_bytes=used.ru_maxrss * 1024,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
