"""Hostile programs of our own (tests/breakouts), under each isolation, as root and as an ordinary user: none gets out.

What a program says of itself is one half; the other is the world outside, which must be as it was before.
"""

from __future__ import annotations

import ast
import ctypes
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import processes
from attacking import NOBODY, AsUser, Attack, named, python
from breakouts.inside import MUST_FAIL, OUT, TRIED, World
from steelyard import sandbox
from steelyard.sandbox import Isolation, Limits, SandboxResult, _filter
from steelyard.sandbox._filter import ARCHITECTURES

FOLDER = Path(__file__).parents[1] / "breakouts"
SOURCES = {f"breakouts/{path.name}": path.read_bytes() for path in sorted(FOLDER.glob("*.py"))}
FAMILIES = [path.stem for path in sorted(FOLDER.glob("*.py")) if path.stem != "inside"]
TOKEN = b"the token that nobody inside may read"
MIB = 1 << 20
QUICK_ENDS = ("resources", "timing", "signals", "reports")
"""Families whose programs may be ended before they come to their own end."""
SHORT = Limits(
    wall_seconds=5,
    cpu_seconds=3,
    memory_bytes=256 * MIB,
    file_bytes=4 * MIB,
    disk_bytes=16 * MIB,
    processes=24,
    output_bytes=64 << 10,
)
PATIENT = Limits(wall_seconds=60, memory_bytes=256 * MIB, processes=24, output_bytes=64 << 10)
COLLECTED = ["result", "sub/result", "../result"]


def programs(family: str) -> list[str]:
    tree = ast.parse(SOURCES[f"breakouts/{family}.py"])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [name for name in functions if not name.startswith("_")]


def call_numbers() -> dict[str, int]:
    column = ARCHITECTURES[platform.machine()][0]
    tables = [value for name, value in vars(_filter).items() if name.endswith("_CALLS")]
    known = {name: numbers[column] for table in tables for name, numbers in table.items()}
    guarded = [call for value in vars(_filter).values() if isinstance(value, tuple) for call in value]
    known |= {call.name: call.numbers[column] for call in guarded if isinstance(call, _filter._GuardedCall)}
    known |= {"renameat2": (316, 276)[column]}
    return {name: number for name, number in known.items() if number is not None}


def process_state(pid: int) -> dict[str, object]:
    """Return what other processes can change of a running process."""
    shown = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return {
        "process": (shown[0] == "T", shown[16], os.sched_getaffinity(pid), os.sched_getscheduler(pid)),
        "limits": [Path(f"/proc/{pid}/{name}").read_text() for name in ("limits", "oom_score_adj")],
    }


@dataclass
class Outside:
    """Files, sockets, memory and a process of the user who runs the sandbox, and whether they are as they were."""

    folder: Path
    uid: int
    marker: str
    has_namespace: bool
    """Whether commands see processes of their own namespace only."""
    times_are_open: bool
    """Whether the time of a file that everybody may write can be set to now (docs/sandbox.md tells of it)."""
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        folder = self.folder
        (folder / "secret").write_bytes(TOKEN)
        (folder / "anyones").write_bytes(b"as it was")
        os.setxattr(folder / "anyones", "user.kept", TOKEN)
        (folder / "open").mkdir()
        shutil.copy("/bin/echo", folder / "program")
        os.mkfifo(folder / "fifo")
        self._listen()
        for name, mode in (("secret", 0o644), ("anyones", 0o666), ("open", 0o777), ("program", 0o755), ("fifo", 0o666)):
            (folder / name).chmod(mode)
            os.chown(folder / name, self.uid, self.uid)
        os.chown(folder, self.uid, self.uid)
        self.fifo = os.open(folder / "fifo", os.O_RDWR | os.O_NONBLOCK)
        self.stack.callback(os.close, self.fifo)
        self._share_memory()
        self.printed, standard_output = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.stack.callback(os.close, self.printed)
        os.fchown(standard_output, self.uid, self.uid)
        self.process = subprocess.Popen(
            ["sleep", f"{self.marker}1"],
            env={"TOKEN": TOKEN.decode()},
            stdout=standard_output,
            user=self.uid,
            group=self.uid,
            process_group=0,
        )
        os.close(standard_output)
        self.stack.callback(self._end)
        self.before = self.state()

    def _listen(self) -> None:
        open_socket: Callable[..., socket.socket] = lambda *kind: self.stack.enter_context(socket.socket(*kind))  # noqa: E731
        self.abstract = f"steelyard-{self.marker}"
        stream, datagram, abstract = (
            open_socket(socket.AF_UNIX, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_STREAM)
        )
        stream.bind(str(self.folder / "stream"))
        datagram.bind(str(self.folder / "datagram"))
        abstract.bind(f"\0{self.abstract}")
        for name in ("stream", "datagram"):
            (self.folder / name).chmod(0o777)
        tcp, udp = open_socket(socket.AF_INET, socket.SOCK_STREAM), open_socket(socket.AF_INET, socket.SOCK_DGRAM)
        for bound in (tcp, udp):
            bound.bind(("127.0.0.1", 0))
        self.listeners, self.receivers = (stream, abstract, tcp), (datagram, udp)
        for listener in self.listeners:
            listener.listen()
        for waiting in (*self.listeners, *self.receivers):
            waiting.setblocking(False)
        self.tcp_port, self.udp_port = tcp.getsockname()[1], udp.getsockname()[1]

    def _share_memory(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        self.shared_memory = libc.shmget(0, 4096, 0o1666)
        self.stack.callback(libc.shmctl, self.shared_memory, 0, None)
        address = libc.shmat(self.shared_memory, None, 0)
        self.stack.callback(libc.shmdt, ctypes.c_void_p(address))
        self.shared = (ctypes.c_char * 16).from_address(address)

    def _end(self) -> None:
        self.process.kill()
        self.process.wait()

    def world(self) -> World:
        place = str(self.folder)
        return World(
            secret=f"{place}/secret",
            anyones=f"{place}/anyones",
            open_folder=f"{place}/open",
            program=f"{place}/program",
            stream=f"{place}/stream",
            datagram=f"{place}/datagram",
            fifo=f"{place}/fifo",
            abstract=self.abstract,
            tcp_port=self.tcp_port,
            udp_port=self.udp_port,
            pid=self.process.pid,
            first=1 if self.has_namespace else self.process.pid,
            shared_memory=self.shared_memory,
            marker=self.marker,
            calls=call_numbers(),
        )

    def state(self) -> dict[str, object]:
        """All that a program could have changed."""
        state: dict[str, object] = {"machine": os.uname().nodename, "memory": bytes(self.shared)}
        for path in sorted(self.folder.rglob("*")):
            status = path.lstat()
            facts: list[object] = [status.st_mode, status.st_uid, status.st_gid, status.st_nlink]
            if path.is_file():
                facts += [path.read_bytes(), sorted(os.listxattr(path))]
            if not self.times_are_open:
                facts.append(status.st_mtime_ns)
            state[path.name] = facts
        state["process ended"] = self.process.poll()
        if self.process.returncode is None:
            state |= process_state(self.process.pid)
        return state

    def heard(self) -> list[str]:
        """What came in from anywhere."""
        arrived = []
        for listener in self.listeners:
            with suppress(BlockingIOError):
                listener.accept()[0].close()
                arrived.append(f"a connection to {listener.getsockname()!r}")
        for receiver in self.receivers:
            with suppress(BlockingIOError):
                arrived.append(f"{receiver.recv(100)!r} to {receiver.getsockname()!r}")
        for pipe in (self.fifo, self.printed):
            with suppress(BlockingIOError):
                if written := os.read(pipe, 100):
                    arrived.append(f"{written!r} in a pipe")
        return arrived

    def traces(self) -> list[str]:
        """How it differs from what it was."""
        time.sleep(0.02)  # whoever was sent a signal needs a moment to end
        before, now = self.before, self.state()
        names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
        changed = [f"{name}: {before.get(name)} became {now.get(name)}" for name in names]
        left = [f"left {program}" for program in processes.alive(self.marker)]
        made = [str(path) for path in Path("/").glob("*/steelyard-was-here")]
        return changed + self.heard() + left + made


def judged(family: str, result: SandboxResult) -> list[str]:
    """What the run itself shows: that the program got out, or that it never really tried."""
    said, problems = result.stdout.decode(errors="replace"), []
    problems += [line for line in said.splitlines() if line.startswith(OUT)]
    if TOKEN in result.stdout + result.stderr or any(TOKEN in content for content in result.collected.values()):
        problems.append("it has the token")
    if any(len(content) > SHORT.output_bytes for content in result.collected.values()):
        problems.append("more was collected than is kept")
    if MUST_FAIL in said and result.ok:
        problems.append("it is taken for a success")
    if result.start_error is not None:
        problems.append(f"it never started: {result.start_error}")
    ended_early = family in QUICK_ENDS or result.signal is not None or MUST_FAIL in said
    if b"Traceback" in result.stderr or (TRIED not in said and not ended_early):
        problems.append(f"it is broken: {result.ending} {said[-200:]} {result.stderr.decode(errors='replace')[-500:]}")
    return problems


Runner = Callable[[str, str], list[str]]
"""Runs one program of a family; how it got out, or why it never tried."""


def attack_code(family: str, name: str) -> str:
    return (
        "import sys; sys.path.insert(0, '.')\n"
        f"sys.argv[1:] = [{family!r}, {name!r}]\n"
        "from breakouts.inside import main; main()"
    )


def attack_files(world: World) -> dict[str, bytes]:
    return {**SOURCES, "world.json": json.dumps(world._asdict()).encode()}


def runner(attack: Attack, outside: Outside, temporary: Path) -> Runner:
    def run(family: str, name: str) -> list[str]:
        result = attack(
            attack_code(family, name),
            files=attack_files(outside.world()),
            limits=SHORT if family in ("resources", "timing") else PATIENT,
            collect=COLLECTED,
        )
        remains = [f"left {entry}" for entry in temporary.glob("*")]
        return judged(family, result) + outside.traces() + remains

    return run


@pytest.fixture
def outside(request: pytest.FixtureRequest, open_folder: Path, marker: str) -> Iterator[Outside]:
    if os.uname().machine not in ARCHITECTURES:
        pytest.skip("no filter is written for this machine")
    settings = request.node.callspec.params
    is_root = os.getuid() == 0 and settings.get("attack") == "as we are"
    folder = open_folder / "outside"
    folder.mkdir()
    made = Outside(
        folder,
        uid=0 if is_root else (os.getuid() or NOBODY),
        marker=marker,
        has_namespace=settings.get("isolation") == "bubblewrap",
        times_are_open=is_root and settings.get("isolation") == "landlock",
    )
    with made.stack:
        yield made


@pytest.fixture
def break_out(attack: Attack, outside: Outside, open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setattr("tempfile.tempdir", str(open_folder / "tmp"))
    return runner(attack, outside, open_folder / "tmp")


def test_there_are_more_than_a_hundred_programs() -> None:
    assert sum(len(programs(family)) for family in FAMILIES) > 150


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_no_program_gets_out(break_out: Runner, family: str) -> None:
    ways = {name: break_out(family, name) for name in programs(family)}
    assert {name: told for name, told in ways.items() if told} == {}


CONTROL = {
    "files": """
        read_a_file read_from_an_open_root open_again_what_was_opened_as_a_path map_a_file overwrite append
        truncate make_a_file move_a_file_out move_a_file_in exchange_two_files remove change_modes
        change_times set_times_to_now change_attributes read_attributes start_a_program_outside
        write_to_a_pipe
    """,
    "symlinks": """
        read_by_a_link write_by_a_link climb_up swap_a_folder_for_a_link links_of_the_process
        programs_of_others
    """,
    "signals": """
        end_another end_its_group end_a_thread queue_a_signal end_by_descriptor let_a_descriptor_send_it
        stop_another slow_another_down limit_another let_another_be_killed_first slow_the_launcher_down
    """,
    "tracing": """
        attach seize trace_a_child read_memory write_memory open_memory take_a_descriptor read_the_environment
        compare_with_others open_descriptors_by_path print_for_another run_code_in_another see_what_others_run
    """,
    "network": """
        connect connect_by_version_6 send_a_datagram send_with_the_first_packet connect_to_a_path
        send_to_a_path connect_without_a_path reach_the_host other_families listen_to_the_kernel
        let_the_shell_connect
    """,
    "memory": """
        make_a_file_in_memory make_secret_memory attach_the_memory_of_others make_memory_that_stays
    """,
    "kernel": """
        add_a_key read_keys join_a_session_of_keys set_up_asynchronous_requests
        be_another_personality watch_folders watch_everything lease_a_file call_as_a_32_bit_program
        call_with_bits_that_nobody_reads
    """,
    "namespaces": """
        be_root_in_a_namespace clone_into_one clone_into_one_by_the_newer_call
    """,
    "collecting": """
        a_hard_link
    """,
}
"""Programs that harm nothing but what stands outside for them: without an isolation they get out, and we notice."""


@pytest.mark.long
@pytest.mark.parametrize("family", CONTROL)
def test_without_isolation_programs_get_out_and_are_noticed(
    as_user: AsUser, open_folder: Path, marker: str, family: str
) -> None:
    def bare(code: str, **options: object) -> SandboxResult:
        return as_user(lambda: python(code, named("none"), no_sandbox=True, **options))

    kept = []
    for number, name in enumerate(CONTROL[family].split()):
        folder = open_folder / f"outside{number}"
        folder.mkdir()
        uid = os.getuid() or NOBODY
        outside = Outside(folder, uid, f"{marker}{number}", has_namespace=False, times_are_open=False)
        with outside.stack:
            if not runner(bare, outside, folder / "none")(family, name):
                kept.append(name)
    assert kept == []


CHECKER = """
import os, sys
expected = open("expected").read()
os.write(1, b"ready\\n")
sys.stdin.read()
print(0.0)
"""
CHECKER_ATTACKS = {
    "tracing": """
        attach seize read_memory write_memory open_memory take_a_descriptor read_the_environment
        compare_with_others open_descriptors_by_path print_for_another run_code_in_another
    """,
    "signals": """
        end_another end_its_group end_a_thread queue_a_signal end_by_descriptor let_a_descriptor_send_it
        stop_another slow_another_down limit_another let_another_be_killed_first
    """,
}
"""Programs that read, change or end their checker."""


def attacked_checker(isolation: Isolation, world: World, attacks: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Run attacks while a checker in a sandbox of its own waits for its input; return what each achieved."""
    assert isolation.python is not None
    command = [isolation.python, "-I", "-c", CHECKER, world.marker]
    bare = isolation.name == "none"
    limits = SHORT if bare else PATIENT  # without protection, the checker and the launcher can be stopped for good
    achieved: dict[str, list[str]] = {}
    with sandbox.start(
        command, files={"expected": TOKEN}, limits=limits, isolation=isolation, no_sandbox=bare
    ) as checker:
        assert checker.output.readline() == b"ready\n"
        pid = next(pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if arguments(pid) == command)
        before = process_state(pid)
        files = attack_files(world._replace(pid=pid, first=1 if isolation.name == "bubblewrap" else pid))
        for family, name in attacks:
            candidate = python(attack_code(family, name), isolation, files=files, limits=limits, no_sandbox=bare)
            changed = [] if arguments(pid) and process_state(pid) == before else ["the checker was changed"]
            achieved[name] = judged(family, candidate) + changed
        checker.input.close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
        verdict = checker.output.read()
        result = checker.result()
    if verdict != b"0.0\n" or result is None or not result.ok:
        achieved["verdict"] = [f"{verdict!r}, {result and result.ending}"]
    return {name: problems for name, problems in achieved.items() if problems}


def arguments(pid: int) -> list[str]:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")[:-1]
    return []


def reported(achieved: dict[str, list[str]]) -> SandboxResult:
    """Return the outcome in the form that a forked process can pass on."""
    said = json.dumps(achieved).encode()
    return SandboxResult(command=(), exit_status=0, stdout=said, wall_seconds=0.0, isolation="none")


ATTACKS = [(family, name) for family, names in CHECKER_ATTACKS.items() for name in names.split()]


@pytest.mark.parametrize("is_user", [False, True], ids=["as we are", "ordinary user"])
def test_checker_is_out_of_reach_of_the_candidate(
    isolation: Isolation, is_user: bool, as_user: AsUser, outside: Outside
) -> None:
    world = outside.world()
    if is_user:
        task = lambda: reported(attacked_checker(named(isolation.name), world, ATTACKS))  # noqa: E731
        assert json.loads(as_user(task).stdout) == {}
    else:
        assert attacked_checker(isolation, world, ATTACKS) == {}


@pytest.mark.parametrize("attack_name", ATTACKS, ids=lambda attack: attack[1])
def test_unprotected_checker_is_reached(attack_name: tuple[str, str], as_user: AsUser, outside: Outside) -> None:
    world = outside.world()
    achieved = as_user(lambda: reported(attacked_checker(named("none"), world, [attack_name])))
    assert json.loads(achieved.stdout) != {}
