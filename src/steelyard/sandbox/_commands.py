"""Execution of untrusted commands: on a copy, within limits, under the strongest isolation that works here.

The isolation is bubblewrap, or else Landlock with a seccomp filter. Both are tried once per process.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import select
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Event
from typing import BinaryIO

from steelyard.errors import AbortedError, SandboxUnavailableError, UsageError
from steelyard.sandbox import _launch
from steelyard.sandbox._box import HOME, TEMPORARY, WORK, filled
from steelyard.sandbox._filter import ARCHITECTURES, filter_for
from steelyard.sandbox._launch import MAX_PIPE_NUMBER, MIN_DOMAIN_ABI, STARTED
from steelyard.sandbox._resource_watch import Watcher, descendants
from steelyard.sandbox._sandbox_records import (
    HOME_FOLDER,
    WORK_FOLDER,
    Content,
    Isolation,
    IsolationName,
    LimitName,
    Limits,
    SandboxResult,
    Stay,
    printable,
)


@dataclass
class Streams:
    """The three pipes of a running command. Output over the limit is not read or, in files, dropped."""

    process: subprocess.Popen[bytes]
    most: int
    waiting: bytes
    into: Path | None = None
    """The folder whose files `stdout` and `stderr` take what it writes; None keeps it in memory."""
    kept: dict[str, bytearray] = field(default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()})
    dropped_bytes: int = 0
    _files: dict[str, BinaryIO] = field(default_factory=dict)
    _written: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})
    selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def __post_init__(self) -> None:
        assert self.process.stdin is not None  # all three were asked for
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        for name, stream in (("stdout", self.process.stdout), ("stderr", self.process.stderr)):
            os.set_blocking(stream.fileno(), False)
            self.selector.register(stream, selectors.EVENT_READ, name)
            if self.into is not None:
                # Unbuffered, so that the output is complete if we are killed.
                self._files[name] = open(self.into / name, "wb", buffering=0)  # noqa: SIM115 - closed in close()
        os.set_blocking(self.process.stdin.fileno(), False)
        if self.waiting:
            self.selector.register(self.process.stdin, selectors.EVENT_WRITE, "stdin")
        else:
            self.process.stdin.close()

    def turn(self, seconds: float) -> bool:
        """Move what can be moved; whether too much was written."""
        if not self.selector.get_map():
            time.sleep(seconds)
            return False
        for key, _ in self.selector.select(seconds):
            if key.data == "stdin":
                self._feed()
            elif self._read(key):
                return True
        return False

    def _feed(self) -> None:
        assert self.process.stdin  # registered only while it is open
        try:
            self.waiting = self.waiting[os.write(self.process.stdin.fileno(), self.waiting[:65536]) :]
        except BlockingIOError:
            return  # the command writes to its own input, which it may open again as its own, and was faster
        except BrokenPipeError:
            self.waiting = b""
        if not self.waiting:
            self.selector.unregister(self.process.stdin)
            self.process.stdin.close()

    def _read(self, key: selectors.SelectorKey) -> bool:
        try:
            piece = os.read(key.fd, 65536)
        except BlockingIOError:
            return False  # the command reads its own output, and was faster
        if not piece:
            self.selector.unregister(key.fileobj)
            return False
        if self.into is not None:
            self._write(key.data, piece)
            return False
        output = self.kept[key.data]
        output += piece[: max(0, self.most - len(output))]
        return len(piece) > 0 and len(output) >= self.most

    def _write(self, name: str, piece: bytes) -> None:
        fitting = piece[: max(0, self.most - self._written[name])]
        self._files[name].write(fitting)
        self._written[name] += len(fitting)
        self.dropped_bytes += len(piece) - len(fitting)

    def close(self) -> None:
        self.selector.close()
        for file in self._files.values():
            file.close()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
BOX_IN_BUBBLEWRAP = "/box"
LAUNCHER = str(Path(_launch.__file__).resolve())
LAUNCHER_IN_BUBBLEWRAP = "/launch.py"
"""Path of its own: the package may be below the temporary directory, which the sandbox replaces."""
_STRENGTH: tuple[IsolationName, ...] = ("bubblewrap", "landlock")
_POLL_SECONDS = 0.02
_GRACE_SECONDS = 3.0
_END_SECONDS = 1.0
"""How long a command may run on after its pipes are closed."""
_MAX_REPORT_BYTES = 1 << 16
_RESERVED_SHARE = 4
"""How many times its memory a process may reserve that stays."""
_INSIDE_BUBBLEWRAP = (f"{BOX_IN_BUBBLEWRAP}/", "/tmp/", "/dev/shm/")  # noqa: S108 - paths inside the sandbox
_slots = itertools.count()


def run(
    command: Sequence[str],
    *,
    files: Mapping[str, Content] | None = None,
    copy: Path | None = None,
    absent: Sequence[str] = (),
    stdin: bytes = b"",
    pipes: Mapping[int, BinaryIO] | None = None,
    variables: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    readable: Sequence[Path] = (),
    collect: Sequence[str] = (),
    stay: Stay | None = None,
    no_sandbox: bool = False,
    isolation: Isolation | None = None,
    stop: Event | None = None,
) -> SandboxResult:
    """Run a command in a temporary directory and return how it ended.

    The directory starts as a copy of `copy`, overlaid with `files` (relative path to content), without the paths in
    `absent`. It is deleted afterwards except for the files named in `collect` and those that `stay` keeps. The command
    can read the system's programs and `readable`. It has no network, no environment except PATH, HOME, TMPDIR, LANG and
    `variables`, and never runs as root. Without isolation, raise SandboxUnavailableError unless `no_sandbox` is set;
    the limits apply either way. `pipes` are ends of pipes that the command gets under these descriptor numbers, to
    communicate while it runs. They are closed here, and no limit counts their data. When this returns, no process of
    the command is running.
    Thread-safe: batches may run in parallel, and setting `stop` ends the command at once (AbortedError).
    """
    given = dict(pipes or {})
    with contextlib.ExitStack() as closing:
        for pipe in given.values():
            closing.enter_context(pipe)
        _check_pipes(given)
        chosen = isolation or active_isolation()
        if chosen.name == "none" and not no_sandbox:
            raise SandboxUnavailableError(chosen.detail)
        bounds = limits or Limits()
        uid = _own_uid() if chosen.own_uid else None
        # Without namespaces the command reaches its box by its path, on which folders may be closed to its uid.
        with filled(files or {}, copy, uid, absent=absent, stay=stay, in_stay=chosen.name == "bubblewrap") as box:
            seen = [os.path.realpath(path) for path in readable]
            job = _Job(tuple(command), box.path, bounds, chosen, uid, seen, dict(variables or {}), stay, given)
            result = _supervise(job, stdin, stop)
            collected = box.collected(collect, bounds.output_bytes)
    return _with(result, collected)


def _check_pipes(pipes: Mapping[int, BinaryIO]) -> None:
    """Raise UsageError for anything but a pipe: files and sockets would give access to more than data."""
    for number, pipe in pipes.items():
        if not 0 <= number <= MAX_PIPE_NUMBER:
            raise UsageError(f"invalid descriptor {number}", hint=f"use 0 to {MAX_PIPE_NUMBER}")
        if not stat.S_ISFIFO(os.fstat(pipe.fileno()).st_mode):
            raise UsageError(f"descriptor {number} is not a pipe", hint="use the ends of os.pipe()")


@dataclass(frozen=True)
class RunningCommand:
    """Command that runs in its own sandbox until the block of `start` ends."""

    input: BinaryIO
    """Standard input of the command. Closed by `run` if it is given to another command."""
    output: BinaryIO
    """Standard output of the command, likewise. It ends with the command, at the latest at its wall-clock limit."""
    _future: Future[SandboxResult]

    @property
    def checker_pipes(self) -> dict[int, BinaryIO]:
        """The pipes as a checker gets them: descriptor 3 is the command's output, 4 its input."""
        return {3: self.output, 4: self.input}

    def result(self) -> SandboxResult | None:
        """Wait for the command and return how it ended; None if it was stopped at the end of the block."""
        try:
            return self._future.result()
        except AbortedError:
            return None


@contextlib.contextmanager
def start(
    command: Sequence[str],
    *,
    files: Mapping[str, Content] | None = None,
    copy: Path | None = None,
    variables: Mapping[str, str] | None = None,
    limits: Limits | None = None,
    readable: Sequence[Path] = (),
    no_sandbox: bool = False,
    isolation: Isolation | None = None,
) -> Iterator[RunningCommand]:
    """Run a command while the block runs, with pipes as its standard input and output.

    The arguments are those of `run`. To connect a checker and a candidate that cannot reach each other otherwise, start
    the candidate and give its pipes to the checker: `run(checker, pipes=candidate.checker_pipes)`.
    At the end of the block, the pipes are closed, and a command that does not end by itself is stopped. An error of
    `run`, such as SandboxUnavailableError, is raised there.
    """
    stop = Event()
    (its_input, input_), (output, its_output) = _pipe(), _pipe()
    with ThreadPoolExecutor(1) as pool, input_, output:
        future = pool.submit(
            run,
            command,
            files=files,
            copy=copy,
            pipes={0: its_input, 1: its_output},
            variables=variables,
            limits=limits,
            readable=readable,
            no_sandbox=no_sandbox,
            isolation=isolation,
            stop=stop,
        )
        running = RunningCommand(input_, output, future)
        try:
            yield running
        finally:
            input_.close()
            output.close()
            wait([future], _END_SECONDS)
            stop.set()
            running.result()


def _pipe() -> tuple[BinaryIO, BinaryIO]:
    reading, writing = os.pipe()
    return open(reading, "rb", buffering=0), open(writing, "wb", buffering=0)


def _with(result: SandboxResult, collected: dict[str, bytes]) -> SandboxResult:
    known = {name: getattr(result, name) for name in result.__struct_fields__}
    return SandboxResult(**{**known, "collected": collected})


def _own_uid() -> int:
    # The uid is this run's alone, so that its process count is too and all it leaves behind can be ended by uid.
    return (1 << 30) + ((os.getpid() << 6) | (next(_slots) & 63))


@dataclass(frozen=True)
class _Job:
    command: tuple[str, ...]
    box: Path
    limits: Limits
    isolation: Isolation
    uid: int | None
    readable: list[str]
    variables: dict[str, str]
    stay: Stay | None
    pipes: Mapping[int, BinaryIO]

    @property
    def inside(self) -> str:
        """The box's path as the command sees it."""
        return BOX_IN_BUBBLEWRAP if self.isolation.name == "bubblewrap" else str(self.box)

    def placed(self, text: str) -> str:
        """The text with the box's own folders in it as the command sees them."""
        for place, folder in ((WORK_FOLDER, WORK), (HOME_FOLDER, HOME)):
            text = text.replace(place, f"{self.inside}/{folder}")
        return text

    def rlimits(self) -> dict[str, tuple[int, int]]:
        limits = self.limits
        processes = limits.processes + (0 if self._counted_alone else _own_processes())
        # Agents reserve far more than they use, and end without a word when they may not: what they use is watched.
        reserved = limits.memory_bytes * (_RESERVED_SHARE if self.stay else 1)
        return {
            "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 1),
            "RLIMIT_DATA": (reserved, reserved),
            "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
            "RLIMIT_NPROC": (processes, processes),
            "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
            "RLIMIT_CORE": (0, 0),
            "RLIMIT_MEMLOCK": (0, 0),
            "RLIMIT_MSGQUEUE": (0, 0),
        }

    @property
    def _counted_alone(self) -> bool:
        """Whether the kernel counts only this run's processes, not all of the user's."""
        return self.uid is not None or self.isolation.name == "bubblewrap"

    def watcher(self) -> Watcher:
        """Who looks after the limits; to be made before the command runs, to know what was there."""
        boxed = self.isolation.name == "bubblewrap"
        return Watcher(
            self.box,
            self.limits,
            inside=_INSIDE_BUBBLEWRAP if boxed else (f"{os.path.realpath(self.box)}/",),
            # Bubblewrap is a process outside the namespace.
            launchers=2 if boxed else 1,
            is_ours=self.uid is None,
        )

    @property
    def landlock_abi(self) -> int:
        return 0 if self.isolation.name == "none" else landlock_abi()

    def filter(self) -> bytes:
        return filter_for(self.isolation.name, own_uid=self.uid is not None, abi=self.landlock_abi)

    def line(self, report_fd: int, filter_fd: int) -> list[str]:
        inside, name = self.inside, self.isolation.name
        spec = {
            "isolation": name,
            "landlock_abi": self.landlock_abi,
            "filter_fd": None if name == "bubblewrap" else filter_fd,  # bubblewrap installs it before the launcher
            "cwd": f"{inside}/{WORK}",
            "uid": self.uid,
            "stays": self.stay is not None,
            "readable": [*SYSTEM_FOLDERS, *system_files(), *python_folders(), *self.readable, inside],
            "writable": [f"{inside}/{folder}" for folder in (WORK, TEMPORARY, HOME)],
            "rlimits": self.rlimits(),
            "env": {
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": f"{inside}/{HOME}",
                "TMPDIR": f"{inside}/{TEMPORARY}",
                "LANG": "C.UTF-8",
                **{name: self.placed(value) for name, value in self.variables.items()},
            },
            "report_fd": report_fd,
            "pipes": [(number, pipe.fileno()) for number, pipe in self.pipes.items()],
        }
        place = LAUNCHER_IN_BUBBLEWRAP if name == "bubblewrap" else LAUNCHER
        launcher = [base_python(), "-I", "-S", place, json.dumps(spec), *map(self.placed, self.command)]
        if name != "bubblewrap":
            return launcher
        return [*bubblewrap_command(str(self.box), readable=self.readable, filter_fd=filter_fd), *launcher]


def _own_processes() -> int:
    """Processes and threads of this user that live now: where they share a count, the limit comes on top of them."""
    mine, total = os.getuid(), 0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and entry.stat().st_uid == mine:
                total += len(os.listdir(entry / "task"))
    return total


def _supervise(job: _Job, stdin: bytes, stop: Event | None) -> SandboxResult:
    watcher = job.watcher()
    report, its_report = _pipe()
    started = time.monotonic()
    with report:
        with _launched(job, its_report) as process:
            watch = _Watch(job, watcher, process, stop)
            try:
                streams = Streams(process, job.limits.output_bytes, stdin, job.stay.folder if job.stay else None)
            except BaseException:  # as on a full disk; the command would run on without a monitor
                watch.end()
                raise
            try:
                limit_hit = watch.until_the_end(streams)
            finally:
                watch.end()
                while not streams.turn(0) and streams.selector.get_map() and streams.selector.select(0):
                    pass
                streams.close()
        raw = _read_all_there(report)
    wall = time.monotonic() - started
    if limit_hit is None and watcher.disk_is_full():
        limit_hit = "disk"  # written faster than anyone looked
    return _result(job, raw, limit_hit, streams, wall, was_interrupted=watch.killed_at is not None)


def _launched(job: _Job, report: BinaryIO) -> subprocess.Popen[bytes]:
    """Start the launcher with the report, the filter and the pipes, and close them here."""
    with contextlib.ExitStack() as passed:
        for file in (report, *job.pipes.values()):
            passed.enter_context(file)
        filter_file = passed.enter_context(open(os.memfd_create("filter"), "r+b", buffering=0))
        filter_file.write(job.filter())
        filter_file.seek(0)
        return subprocess.Popen(  # noqa: S603 - the command is run by the launcher, which isolates it
            job.line(report.fileno(), filter_file.fileno()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[file.fileno() for file in (report, filter_file, *job.pipes.values())],
            env={},
            cwd="/",
            start_new_session=True,
        )


def _read_all_there(report: BinaryIO) -> bytes:
    """Return the report of the launcher, which has ended."""
    os.set_blocking(report.fileno(), False)
    return report.read(_MAX_REPORT_BYTES) or b""


@dataclass
class _Watch:
    """Looks after a command until it ends, or must."""

    job: _Job
    watcher: Watcher
    process: subprocess.Popen[bytes]
    stop: Event | None
    started: float = field(default_factory=time.monotonic)
    killed_at: float | None = None
    """When an interrupted command is killed; None while it was not interrupted."""
    _first_inside: int | None = None
    """A descriptor of the first process of bubblewrap's namespace, with which all others end."""

    def until_the_end(self, streams: Streams) -> LimitName | None:
        """The limit that was hit while the command ran; None when it ended before."""
        while True:
            if streams.turn(_POLL_SECONDS):
                return "output"
            if self.process.poll() is not None:
                return None
            if self.stop is not None and self.stop.is_set():
                raise AbortedError("the command was stopped")
            self._find_first_inside()
            if self._is_over():
                return None
            if time.monotonic() - self.started > self.job.limits.wall_seconds:
                return "wall"
            if limit := self.watcher.limit_hit(self.process.pid):
                return limit

    def _is_over(self) -> bool:
        """Whether the command was interrupted and has had its time; it is interrupted once it is to end."""
        stay = self.job.stay
        if stay is None or stay.is_over is None:
            return False
        if self.killed_at is None and stay.is_over():
            self.killed_at = time.monotonic() + stay.grace_seconds
            self.watcher.interrupt(self.process.pid)
        return self.killed_at is not None and time.monotonic() > self.killed_at

    def _find_first_inside(self) -> None:
        """Open the first process of the namespace; to be called only while bubblewrap runs and its PID is taken."""
        if self._first_inside is not None or self.job.isolation.name != "bubblewrap":
            return
        with contextlib.suppress(OSError):
            for pid in self._bubblewrap_children():
                opened = os.pidfd_open(pid)
                if pid in self._bubblewrap_children():
                    self._first_inside = opened
                else:  # it ended in between, and its number may be another process's by now
                    os.close(opened)

    def _bubblewrap_children(self) -> list[int]:
        return list(itertools.islice(descendants(self.process.pid), 1, 2))

    def end(self) -> None:
        """End the command and all it started."""
        if self.process.poll() is None:
            self._find_first_inside()
            self._stop()
        if self._first_inside is not None:
            self._end_namespace(self._first_inside)
            self._first_inside = None

    def _stop(self) -> None:
        """End the process that we started: the launcher when it is asked, bubblewrap with its group."""
        if self.job.isolation.name == "bubblewrap":
            # Its second process, with which the namespace ends, is tied to the first only late in its start
            # (bubblewrap issue 633): killed alone, the first would leave the command running. Until it has a session
            # of its own, the second is in our group.
            _kill_group(self.process)
        else:
            self.process.terminate()
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            _kill_group(self.process)
            self.process.wait()

    def _end_namespace(self, first: int) -> None:
        """Kill the first process and wait for it: it ends after all others."""
        with open(first, "rb", buffering=0), contextlib.closing(select.epoll()) as waiting:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(first, signal.SIGKILL)
            waiting.register(first, select.EPOLLIN)
            waiting.poll(_GRACE_SECONDS)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)


def _stderr_start(job: _Job, streams: Streams) -> bytes:
    """The beginning of standard error, wherever it went."""
    if job.stay is None:
        return bytes(streams.kept["stderr"])
    with open(job.stay.folder / "stderr", "rb") as written:
        return written.read(_MAX_REPORT_BYTES)


def _result(
    job: _Job, raw: bytes, limit_hit: LimitName | None, streams: Streams, wall: float, *, was_interrupted: bool
) -> SandboxResult:
    has_started = raw.startswith(STARTED)
    report = raw.removeprefix(STARTED)
    facts = json.loads(report) if report else {}
    ended_by = facts.get("signal")
    cpu = facts.get("cpu_seconds")
    if limit_hit is None and (
        ended_by == signal.SIGXCPU or (ended_by == signal.SIGKILL and cpu is not None and cpu >= job.limits.cpu_seconds)
    ):
        limit_hit = "cpu"
    elif limit_hit is None and ended_by == signal.SIGXFSZ:
        limit_hit = "disk"
    start_error = printable(facts.get("start_error", "")) or None
    # Once the launcher runs, the text there may come from the command.
    if not has_started and limit_hit is None and (isolated := _stderr_start(job, streams)).startswith(b"bwrap:"):
        start_error = printable(isolated.decode(errors="replace").strip())
    finished = limit_hit is None and start_error is None
    return SandboxResult(
        command=job.command,
        exit_status=facts.get("exit_status") if finished else None,
        signal=ended_by,
        limit_hit=limit_hit,
        start_error=start_error,
        was_interrupted=was_interrupted,
        dropped_bytes=streams.dropped_bytes,
        stdout=bytes(streams.kept["stdout"]),
        stderr=bytes(streams.kept["stderr"]),
        wall_seconds=wall,
        cpu_seconds=cpu,
        peak_bytes=facts.get("peak_bytes"),
        left_processes=tuple(map(printable, facts.get("left_names", ()))) if finished and not was_interrupted else (),
        network_attempts=facts.get("network_attempts"),
        isolation=job.isolation.name,
    )


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
