"""Launcher process between Steelyard and an untrusted command.

It is run as a script by an isolated interpreter and imports nothing of ours: it starts inside the sandbox, where our
package and its libraries need not be readable. It forks; the child gives up every right and becomes the command; the
parent waits, ends whatever the command left behind, and reports how it ended on a pipe the command never had.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
STARTED = b"started\n"
"""First output of the launcher."""
MIN_DOMAIN_ABI = 2
"""First Landlock ABI used together with bubblewrap: with ABI 1, no file can be moved to another directory."""
_WRITE_FILE, _REFER = 1 << 1, 1 << 13
_MAX_ERROR_LENGTH = 300
_AWAITED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGIO}
_ENDED_STATES = (b"Z", b"X")
_ENDING_SECONDS = 0.05
_MAX_LEFT_NAMES = 10
_ATTEMPT_COUNTERS = ("OutNoRoutes", "NoPorts", "Ip6OutNoRoutes", "Udp6NoPorts")
"""Kernel counters of packets without a route, and of packets to a port without a server, such as of name lookups."""
MAX_PIPE_NUMBER = 9
"""Largest descriptor of the command's pipes; those of the launcher itself are larger."""

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, *arguments: int) -> None:
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    if _libc.prctl(option, *padded) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def _install_filter(code: bytes) -> None:
    instructions = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(instructions))
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


def _file_rules(spec: dict[str, Any]) -> int:
    """Return a ruleset that allows what the spec lists and nothing else; -1 for none. It is enforced later.

    Under bubblewrap, namespaces restrict the files. The ruleset denies writing to /proc, and its domain keeps the
    command from tracing and, from ABI 6, from signaling the processes outside the domain.
    """
    isolation, abi = spec["isolation"], spec["landlock_abi"]
    if isolation == "none" or (isolation == "bubblewrap" and abi < MIN_DOMAIN_ABI):
        return -1
    if isolation == "bubblewrap":
        handled, network = _WRITE_FILE | _REFER, 0
    else:
        handled = (1 << 13) - 1
        handled |= (_REFER if abi >= 2 else 0) | (1 << 14 if abi >= 3 else 0) | (1 << 15 if abi >= 5 else 0)
        network = 3 if abi >= 4 else 0
    scope = 3 if abi >= 6 else 0
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = ctypes.create_string_buffer(struct.pack("QQQ", handled, network, scope)[:size], size)
    ruleset = int(_libc.syscall(444, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0)))
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "this kernel has no Landlock")
    if isolation == "bubblewrap":
        _landlock_rule(ruleset, "/dev", _WRITE_FILE)
    else:
        for path in spec["readable"]:
            _landlock_rule(ruleset, path, 0b1101)  # execute, read a file, list a folder
        for path in ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom"):
            _landlock_rule(ruleset, path, 0b110)
        _landlock_rule(ruleset, "/dev/zero", 0b100)  # mapped for writing it would be memory that no limit counts
    for path in spec["writable"]:
        # No device, socket or fifo may be made: only files, folders and links.
        _landlock_rule(ruleset, path, handled & ~(1 << 6 | 1 << 9 | 1 << 11))
    return ruleset


def _limit(spec: dict[str, Any]) -> None:
    for name, wanted in spec["rlimits"].items():
        kind = getattr(resource, name)
        _, ceiling = resource.getrlimit(kind)
        bound = ceiling != resource.RLIM_INFINITY and os.geteuid() != 0
        soft, hard = (min(value, ceiling) if bound else value for value in wanted)
        resource.setrlimit(kind, (soft, hard))


def _read_all(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def _moved(descriptor: int) -> int:
    """Return the descriptor under a number of our own, closed when the command starts."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, MAX_PIPE_NUMBER + 1)
    os.close(descriptor)
    return moved


def _become(spec: dict[str, Any], command: list[str]) -> NoReturn:
    for number, pipe in spec["pipes"]:
        os.dup2(pipe, number)
    os.setsid()
    os.umask(0o077)
    _limit(spec)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    ruleset = _file_rules(spec)
    if spec["uid"] is not None:
        os.setgroups([])
        os.setresgid(spec["uid"], spec["uid"], spec["uid"])
        os.setresuid(spec["uid"], spec["uid"], spec["uid"])
    os.chdir(spec["cwd"])
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if ruleset >= 0:
        if _libc.syscall(446, ruleset, ctypes.c_uint32(0)) != 0:
            raise OSError(ctypes.get_errno(), "landlock could not be enforced")
        os.close(ruleset)
    if spec["filter"]:
        _install_filter(spec["filter"])
    for number in signal.valid_signals():  # what Python ignores, and what nohup or a shell's background had us ignore
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
    _execute(command, spec["env"])


def _execute(command: list[str], environment: dict[str, str]) -> NoReturn:
    """Become the command, looked for along PATH as a shell would; raise the first error other than "not found".

    os.execvpe may import a module as it looks (3.13 does), and the standard library may be closed to the command's uid.
    """
    name = command[0]
    places = [name] if "/" in name else [f"{folder}/{name}" for folder in environment["PATH"].split(":")]
    problem: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    for place in places:
        try:
            os.execve(place, command, environment)  # noqa: S606 - a command line, never a shell string
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            problem = error if isinstance(problem, FileNotFoundError) else problem
    raise problem


def _descendants(root: int) -> Iterator[tuple[int, str]]:
    """Yield the pid and the name of each descendant; the name is empty for one that has ended."""
    children: dict[int, list[tuple[int, str]]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as stat:
            head, _, tail = stat.read().rpartition(b")")
            state, parent = tail.split()[:2]
            shown = "" if state in _ENDED_STATES else head.partition(b"(")[2].decode(errors="replace") or "unnamed"
            children.setdefault(int(parent), []).append((int(name), shown))
    waiting = list(children.get(root, []))
    while waiting:
        found = waiting.pop()
        yield found
        waiting += children.get(found[0], [])


def _left_processes() -> list[str]:
    """Return the names of the processes that the command left running; those about to end do not count."""
    before = {pid for pid, name in _descendants(os.getpid()) if name}
    if not before:
        return []
    time.sleep(_ENDING_SECONDS)
    return [name for pid, name in _descendants(os.getpid()) if name and pid in before]


def _network_attempts() -> int:
    """Return how often the network namespace had no route for a packet, or no server for a name lookup."""
    attempts = 0
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/net/snmp", encoding="ascii") as file:
            rows = [line.split() for line in file]
        for names, values in zip(rows[::2], rows[1::2], strict=True):
            counts = dict(zip(names, values, strict=True))
            attempts += sum(int(counts.get(name, 0)) for name in _ATTEMPT_COUNTERS)
        with open("/proc/net/snmp6", encoding="ascii") as file:
            attempts += sum(int(value) for name, value in map(str.split, file) if name in _ATTEMPT_COUNTERS)
    return attempts


def _kill_everything(spec: dict[str, Any]) -> None:
    """End all descendants. Orphans come to us (we are their reaper), so no child left means no process left."""
    while True:
        if spec["uid"] is not None:
            killer = os.fork()
            if killer == 0:
                with contextlib.suppress(OSError):
                    os.setresuid(spec["uid"], spec["uid"], spec["uid"])
                    os.kill(-1, signal.SIGKILL)  # every process of the uid that this run alone has, at one blow
                os._exit(0)
            os.waitpid(killer, 0)
        for child, _ in list(_descendants(os.getpid())):
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
    """Send SIGIO when the reader of the report is gone.

    The signal on a parent's death is not enough: it never comes when the parent had died before it was asked for.
    """
    fcntl.fcntl(spec["report_fd"], fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(spec["report_fd"], fcntl.F_GETFL)
    fcntl.fcntl(spec["report_fd"], fcntl.F_SETFL, flags | os.O_ASYNC)


def _end_of(child: int, spec: dict[str, Any]) -> int | None:
    """Return the child's status; None if the launcher must stop or the reader is gone."""
    while not _has_no_reader(spec):
        # Under bubblewrap, SIGTERM comes from the command only: to stop us, the namespace is killed.
        if signal.sigwait(_AWAITED) == signal.SIGTERM and spec["isolation"] != "bubblewrap":
            return None
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
                if ended[0] == child:
                    return ended[1]
    return None


def main(arguments: list[str]) -> int:
    """Run `arguments[1:]` with the settings in `arguments[0]`, a JSON object."""
    spec: dict[str, Any] = json.loads(arguments[0])  # Any: paths, limits and numbers, written by run()
    spec["report_fd"] = _moved(spec["report_fd"])
    spec["filter"] = b"" if spec["filter_fd"] is None else _read_all(spec["filter_fd"])
    spec["pipes"] = [(number, _moved(pipe)) for number, pipe in spec["pipes"]]
    # This line confirms the isolation: from here on no output of the command can be mistaken for ours.
    os.write(spec["report_fd"], STARTED)
    # Signals are waited for, not handled: none can come between a look and the sleep that follows it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    # Without a handler: an interrupt ends the command before it has begun, but not PID 1 of a namespace.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL if spec["isolation"] == "bubblewrap" else signal.SIGTERM)
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _ask_for_a_signal_without_reader(spec)
    failed_to_start, error_fd = map(_moved, os.pipe())
    child = os.fork()
    if child == 0:
        try:
            os.close(spec["report_fd"])
            _become(spec, arguments[1:])
        except OSError as error:
            os.write(error_fd, str(error).encode()[:_MAX_ERROR_LENGTH])
        except BaseException as error:  # noqa: BLE001 - the fork must end here whatever happened
            os.write(error_fd, repr(error).encode()[:_MAX_ERROR_LENGTH])
        os._exit(127)
    for descriptor in (error_fd, *(pipe for _, pipe in spec["pipes"])):
        os.close(descriptor)
    status = _end_of(child, spec)
    left = _left_processes() if status is not None and spec["stays"] else []
    _kill_everything(spec)
    if status is None:
        return 0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    _report(
        spec,
        start_error=os.read(failed_to_start, _MAX_ERROR_LENGTH).decode(errors="replace"),
        exit_status=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        cpu_seconds=used.ru_utime + used.ru_stime,
        peak_bytes=used.ru_maxrss * 1024,
        left_names=sorted(set(left))[:_MAX_LEFT_NAMES],
        network_attempts=_network_attempts() if spec["isolation"] == "bubblewrap" else None,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
