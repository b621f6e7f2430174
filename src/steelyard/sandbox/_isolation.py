"""Detect the isolation that works on this machine."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import stat
import subprocess
import sys
from functools import cache
from pathlib import Path

from steelyard.errors import SandboxUnavailableError
from steelyard.sandbox import _launch
from steelyard.sandbox._box import TEMPORARY
from steelyard.sandbox._filter import ARCHITECTURES
from steelyard.sandbox._launch import MIN_DOMAIN_ABI
from steelyard.sandbox._sandbox_records import Isolation, IsolationName

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
BOX_IN_BUBBLEWRAP = "/box"
LAUNCHER = str(Path(_launch.__file__).resolve())
LAUNCHER_IN_BUBBLEWRAP = "/launch.py"
"""Path of its own: the package may be below the temporary directory, which the sandbox replaces."""
_STRENGTH: tuple[IsolationName, ...] = ("bubblewrap", "landlock")


@cache
def system_files() -> list[str]:
    """Files that programs such as Node and Java read at start; they reveal nothing about the user."""
    etc = Path("/etc")
    loader = ["ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "alternatives", "ssl/openssl.cnf"]
    return [*(str(etc / name) for name in loader), *sorted(map(str, etc.glob("java-*")))]


def base_python() -> str:
    """Return the current interpreter, outside any virtual environment."""
    # typeshed leaves out the attribute that venv itself relies on
    base: str = getattr(sys, "_base_executable", None) or sys.executable
    return os.path.realpath(base)


def python_folders() -> list[str]:
    """Return the directories of the interpreter and its standard library."""
    return sorted({os.path.realpath(sys.base_prefix), os.path.realpath(sys.base_exec_prefix)})


def bubblewrap_command(box: str, *, readable: list[str], filter_fd: int) -> list[str]:
    """Return the bubblewrap command line up to the command; the seccomp filter is read from `filter_fd`."""
    program = shutil.which("bwrap")
    assert program is not None  # callers ask active_isolation first
    line = [program, "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--unshare-net"]
    # The launcher is PID 1, which no signal from inside the namespace ends. Bubblewrap's own init would be a process
    # whose memory a command of the same uid can write.
    line += ["--unshare-uts", "--unshare-cgroup-try", "--as-pid-1", "--seccomp", str(filter_fd)]
    # As root no user namespace is made: the launcher inside moves to a uid of its own, which NPROC then counts alone.
    # It keeps the three rights that this takes.
    if _is_root():
        line += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_KILL"]
    else:
        line += ["--unshare-user"]
    line += ["--proc", "/proc", "--dev", "/dev"]
    for folder in SYSTEM_FOLDERS:
        if Path(folder).is_symlink():
            line += ["--symlink", os.readlink(folder), folder]
        elif Path(folder).exists():
            line += ["--ro-bind", folder, folder]
    # Shared memory and temporary files are kept in the counted folder, and nothing else can be written. They come
    # before what may be mounted below them: an interpreter, or something readable.
    for place in ("/tmp", "/dev/shm"):  # noqa: S108 - paths inside the sandbox
        line += ["--bind", f"{box}/{TEMPORARY}", place]
    for path in [*system_files(), *python_folders(), *readable]:
        if Path(path).exists() and not path.startswith("/usr/"):
            # Bubblewrap would make the folders on the way for their owner only, and the command is not the owner.
            for parent in reversed(Path(path).parents[:-1]):
                line += ["--perms", "0755", "--dir", str(parent)]
            line += ["--ro-bind", path, path]
    line += ["--ro-bind", LAUNCHER, LAUNCHER_IN_BUBBLEWRAP]
    return [*line, "--bind", box, BOX_IN_BUBBLEWRAP, "--remount-ro", "/dev", "--remount-ro", "/", "--"]


@cache
def landlock_abi() -> int:
    """Return the Landlock ABI version of this kernel; 0 for none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1))))


def _is_root() -> bool:
    return os.geteuid() == 0


def _reachable_by_others(path: str) -> bool:
    """Return whether any uid can execute the file."""
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        mode = target.stat().st_mode
        folders_open = all(parent.stat().st_mode & stat.S_IXOTH for parent in target.parents)
        return bool(folders_open and mode & stat.S_IXOTH and mode & stat.S_IROTH)
    return False


def _python_for(name: IsolationName) -> str | None:
    candidates = [base_python()]
    if name == "bubblewrap" or not _is_root():
        return candidates[0]
    system_python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    candidates += [system_python] if system_python else []
    return next((candidate for candidate in candidates if _reachable_by_others(candidate)), None)


def _filter_problem() -> str | None:
    machine = os.uname().machine
    return None if machine in ARCHITECTURES else f"seccomp filter not available for {machine}"


def _bubblewrap_problem() -> str | None:
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    if problem := _filter_problem():
        return problem
    problem = _trial("bubblewrap")
    return f"bubblewrap does not work here: {problem}" if problem else None


def _landlock_problem() -> str | None:
    if problem := _filter_problem():
        return problem
    if landlock_abi() == 0:
        return "this kernel has no Landlock"
    problem = _trial("landlock")
    return f"Landlock and seccomp do not work here: {problem}" if problem else None


def _domain_detail() -> str:
    """Return whether commands under bubblewrap get a Landlock domain too, and the reason if not."""
    abi = landlock_abi()
    if abi >= MIN_DOMAIN_ABI:
        return f"Landlock (ABI {abi})"
    reason = "the kernel has none" if abi == 0 else f"ABI {abi} would forbid moving files between directories"
    return f"no Landlock ({reason})"


def _trial(name: IsolationName) -> str | None:
    from steelyard.sandbox._running import run  # running asks this module which isolation there is

    isolation = Isolation(name=name, detail="on trial", own_uid=_is_root(), python=_python_for(name))
    try:
        result = run(["/bin/sh", "-c", "exit 7"], isolation=isolation)
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if result.exit_status == 7:
        return None
    lines = result.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else result.ending


@cache
def isolation_named(name: IsolationName) -> Isolation:
    """Return the isolation with this name; raise SandboxUnavailableError if it is unavailable."""
    if name == "none":
        return Isolation(
            name="none",
            detail="resource limits only; no file or network isolation",
            own_uid=_is_root(),
            python=_python_for(name),
        )
    if not sys.platform.startswith("linux"):
        raise SandboxUnavailableError(f"isolation is not supported on {sys.platform}")
    problem = _bubblewrap_problem() if name == "bubblewrap" else _landlock_problem()
    if problem is not None:
        raise SandboxUnavailableError(problem)
    detail = {
        "bubblewrap": f"namespaces, seccomp filter, {_domain_detail()}, limits",
        "landlock": f"Landlock (ABI {landlock_abi()}), seccomp filter, limits",
    }[name]
    return Isolation(name=name, detail=detail, own_uid=_is_root(), python=_python_for(name))


@cache
def active_isolation() -> Isolation:
    """Return the strongest isolation that works on this machine, named `none` if none does."""
    problems = []
    for name in _STRENGTH:
        try:
            isolation = isolation_named(name)
        except SandboxUnavailableError as error:
            problems.append(error.reason)
        else:
            why = f" ({'; '.join(problems)})" if problems else ""
            return Isolation(
                name=isolation.name, detail=isolation.detail + why, own_uid=isolation.own_uid, python=isolation.python
            )
    bare = isolation_named("none")
    return Isolation(name="none", detail="; ".join(problems), own_uid=bare.own_uid, python=bare.python)
