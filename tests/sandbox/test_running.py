from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from processes import alive
from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError, UsageError
from steelyard.sandbox import Isolation, Limits, SandboxResult
from steelyard.sandbox._commands import LAUNCHER, base_python
from steelyard.sandbox._resource_watch import ResourceUsage, measured

# The clock is generous: a busy machine must not be taken for a lazy command.
TIGHT = Limits(wall_seconds=30, cpu_seconds=1, memory_bytes=200 << 20, output_bytes=64 << 10)

BECOMING = """
import sys

def refuse(event, arguments):
    if event == "import":
        raise ImportError(arguments[0])

launcher = {"__name__": "launcher"}
exec(open(sys.argv[1]).read(), launcher)
sys.addaudithook(refuse)
launcher["_execute"](["echo", "done"], {"PATH": "/nowhere:/usr/bin:/bin"})
"""


def python(code: str, isolation: Isolation, limits: Limits = TIGHT) -> SandboxResult:
    assert isolation.python is not None
    return sandbox.run([isolation.python, "-I", "-c", code], isolation=isolation, limits=limits)


def test_a_command_sees_its_files_and_its_input(isolation: Isolation) -> None:
    assert isolation.python is not None
    code = "import sys; print(open('in/data.txt').read() + sys.stdin.read())"
    result = sandbox.run(
        [isolation.python, "-c", code], files={"in/data.txt": b"file "}, stdin=b"input", isolation=isolation
    )
    assert (result.stdout, result.ok, result.isolation) == (b"file input\n", True, isolation.name)


def test_a_large_input_is_fed_whole(isolation: Isolation) -> None:
    assert isolation.python is not None
    code = "import sys; print(len(sys.stdin.buffer.read()))"
    result = sandbox.run([isolation.python, "-c", code], stdin=b"x" * 3_000_000, isolation=isolation)
    assert result.stdout == b"3000000\n"


def test_the_original_of_a_copied_folder_is_untouched(isolation: Isolation, tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("before")
    os.mkfifo(tmp_path / "pipe")
    result = sandbox.run(
        ["/bin/sh", "-c", "echo after > kept.txt; echo new > made.txt"],
        copy=tmp_path,
        collect=["kept.txt", "made.txt", "absent.txt"],
        isolation=isolation,
    )
    assert result.collected == {"kept.txt": b"after\n", "made.txt": b"new\n"}
    assert (tmp_path / "kept.txt").read_text() == "before"


def test_a_collected_link_to_the_outside_is_not_followed(isolation: Isolation) -> None:
    result = sandbox.run(["/bin/sh", "-c", "ln -s /etc/passwd out"], collect=["out"], isolation=isolation)
    assert result.collected == {}


def test_the_exit_status_and_the_signal_are_told_apart(isolation: Isolation) -> None:
    assert python("raise SystemExit(3)", isolation).exit_status == 3
    crashed = python("import os; os.abort()", isolation)
    assert (crashed.exit_status, crashed.signal) == (None, 6)


def test_a_command_that_does_not_exist_did_not_start(isolation: Isolation) -> None:
    result = sandbox.run(["/no/such/program"], isolation=isolation)
    assert result.start_error is not None
    assert not result.ok


def test_a_command_is_found_by_its_name(isolation: Isolation) -> None:
    assert sandbox.run(["echo", "found"], isolation=isolation).stdout == b"found\n"
    assert sandbox.run(["no-such-program"], isolation=isolation).ending.endswith(
        "No such file or directory: 'no-such-program'"
    )


def test_becoming_the_command_imports_nothing() -> None:
    done = subprocess.run([base_python(), "-I", "-S", "-c", BECOMING, LAUNCHER], capture_output=True, check=False)
    assert (done.stdout, done.stderr) == (b"done\n", b"")


def test_an_endless_loop_ends_at_the_processor_limit(isolation: Isolation) -> None:
    result = python("while True: pass", isolation)
    assert result.limit_hit == "cpu"
    assert result.timed_out


def test_a_loop_that_ignores_the_warning_is_killed(isolation: Isolation) -> None:
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert python(code, isolation).limit_hit == "cpu"


def test_a_sleeper_ends_at_the_wall_limit(isolation: Isolation) -> None:
    result = python("import time; time.sleep(60)", isolation, Limits(wall_seconds=0.5))
    assert (result.limit_hit, result.exit_status) == ("wall", None)


def test_a_fork_bomb_meets_the_process_limit(isolation: Isolation) -> None:
    code = "import os, time\ntry:\n  while True:\n    os.fork()\nexcept OSError:\n  time.sleep(0.2)\n  raise"
    result = python(code, isolation)
    assert not result.ok


def test_ten_gigabytes_are_not_given(isolation: Isolation) -> None:
    result = python("b = bytearray(10 * 2**30)", isolation)
    assert b"MemoryError" in result.stderr


def test_many_processes_together_meet_the_memory_limit(isolation: Isolation) -> None:
    code = (
        "import os, time\n"
        "for _ in range(8):\n"
        "  if os.fork() == 0:\n"
        "    b = bytearray(b'x') * (60 << 20)\n"
        "    time.sleep(30)\n"
        "time.sleep(30)"
    )
    assert python(code, isolation).limit_hit == "memory"


@pytest.mark.parametrize("path", ["/etc/steelyard-was-here", "/usr/steelyard-was-here", "/srv/steelyard-was-here"])
def test_nothing_can_be_written_outside(isolation: Isolation, path: str) -> None:
    result = python(f"open({path!r}, 'w').write('x')", isolation)
    assert not result.ok
    assert not Path(path).exists()


def test_the_users_files_cannot_be_read_or_changed(isolation: Isolation, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("token")
    tmp_path.chmod(0o755)
    secret.chmod(0o666)
    result = python(f"print(open({str(secret)!r}).read())", isolation)
    assert b"token" not in result.stdout
    assert not result.ok
    python(f"import os; os.truncate({str(secret)!r}, 0)", isolation)
    python(f"import os; os.chmod({str(secret)!r}, 0)", isolation)
    python(f"import os; os.unlink({str(secret)!r})", isolation)
    assert secret.read_text() == "token"
    assert secret.stat().st_mode & 0o777 == 0o666


def test_there_is_no_network(isolation: Isolation) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener,
    ):
        listener.bind(("127.0.0.1", 0))
        listener.setblocking(False)
        assert not python(f"import socket; socket.create_connection({server.getsockname()}, 1)", isolation).ok
        datagram = "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', {})"
        python(f"import socket; {datagram.format(listener.getsockname())}", isolation)
        with pytest.raises(BlockingIOError):  # nothing has come
            listener.recv(1)


def test_the_environment_is_empty_but_for_four_names(isolation: Isolation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_TEST_SECRET", "token")
    shown = sandbox.run(["/usr/bin/env"], isolation=isolation).stdout.decode()
    assert sorted(line.partition("=")[0] for line in shown.split()) == ["HOME", "LANG", "PATH", "TMPDIR"]


def test_it_never_runs_as_root(isolation: Isolation) -> None:
    assert python("import os; print(os.getuid() != 0 and os.geteuid() != 0)", isolation).stdout == b"True\n"
    assert not python("import os; os.setuid(0)", isolation).ok


def test_a_daemon_left_behind_is_ended(isolation: Isolation, marker: str) -> None:
    code = (
        "import os, subprocess\n"
        "if os.fork() == 0:\n"
        "  os.setsid()\n"
        f"  subprocess.Popen(['sleep', '{marker}'], start_new_session=True)\n"
        "  os._exit(0)"
    )
    assert python(code, isolation).ok
    assert alive(marker) == []


def test_killing_everybody_does_not_reach_us(isolation: Isolation) -> None:
    result = python("import os; os.kill(-1, 9); os.kill(os.getppid(), 9); print('still here')", isolation)
    assert result.isolation == isolation.name  # we are still here to say so


def test_more_output_than_allowed_stops_the_command(isolation: Isolation) -> None:
    result = python("while True: print('x' * 1000)", isolation)
    assert result.limit_hit == "output"
    assert len(result.stdout) == TIGHT.output_bytes


def test_a_full_disk_stops_the_command(isolation: Isolation) -> None:
    many = "n = 0\nwhile True:\n  open(f'f{n}', 'wb').write(b'x' * 1_000_000)\n  n += 1"
    limits = Limits(wall_seconds=10, disk_bytes=20 << 20)
    assert python(many, isolation, limits).limit_hit == "disk"
    large = "f = open('f', 'wb')\nwhile True: f.write(b'x' * 1_000_000); f.flush()"
    assert not python(large, isolation).ok


@pytest.mark.parametrize("depth", [1_200, 6_000])
def test_folders_deeper_than_any_path_neither_break_us_nor_stay(
    isolation: Isolation, depth: int, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(open_folder))
    dig = f"import os\nfor _ in range({depth}):\n  os.mkdir('d' * 9); os.chdir('d' * 9)\n"
    quick = python(f"{dig}os.chmod('.', 0)", isolation)
    assert quick.ok or quick.limit_hit == "disk"
    fill = "for number in range(1000):\n  open(str(number), 'wb').write(bytes(1 << 20))\n"
    slow = python(f"{dig}{fill}import time\ntime.sleep(60)", isolation)
    assert slow.limit_hit == "disk"
    assert os.listdir(open_folder) == []


def test_a_folder_that_cannot_be_looked_into_counts_as_full(open_folder: Path) -> None:
    (open_folder / "closed").mkdir(mode=0o300)
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:  # nothing is closed to root
            os.setuid(65534)
        os._exit(measured(open_folder, ResourceUsage(space=500, entries=10)) is None)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


def test_new_namespaces_are_refused(isolation: Isolation) -> None:
    code = "import ctypes; raise SystemExit(0 if ctypes.CDLL(None).unshare(0x10000000) == 0 else 5)"
    assert python(code, isolation).exit_status == 5


def test_batches_run_in_parallel_without_mixing(isolation: Isolation) -> None:
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda n: python(f"print({n})", isolation), range(8)))
    assert [result.stdout for result in results] == [f"{n}\n".encode() for n in range(8)]


def test_without_isolation_code_is_refused_unless_the_user_insists() -> None:
    bare = sandbox.isolation_named("none")
    with pytest.raises(SandboxUnavailableError, match="resource limits only: no_sandbox"):
        sandbox.run(["/bin/true"], isolation=bare)
    result = sandbox.run(["/bin/sh", "-c", "exit 0"], isolation=bare, no_sandbox=True)
    assert (result.ok, result.isolation) == (True, "none")


@pytest.fixture
def without_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    which = shutil.which
    monkeypatch.setattr("shutil.which", lambda name, **options: None if name == "bwrap" else which(name, **options))
    for known in (sandbox.isolation_named, sandbox.active_isolation):
        known.cache_clear()
    yield
    for known in (sandbox.isolation_named, sandbox.active_isolation):
        known.cache_clear()


@pytest.mark.usefixtures("without_bubblewrap")
def test_where_landlock_works_nobody_says_that_code_cannot_be_isolated() -> None:
    chosen = sandbox.active_isolation()
    if chosen.name == "none":
        pytest.skip(chosen.detail)
    assert chosen.detail.startswith("Landlock (ABI ")
    assert chosen.detail.endswith("(bubblewrap is not installed)")


@pytest.mark.usefixtures("without_bubblewrap")
def test_where_nothing_works_it_is_said_once_with_every_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.sandbox._commands.landlock_abi", lambda: 0)
    with pytest.raises(SandboxUnavailableError) as caught:
        sandbox.run(["/bin/true"])
    reasons = "bubblewrap is not installed; this kernel has no Landlock"
    assert caught.value.message == f"no sandbox available for untrusted code: {reasons}"


def test_limits_hold_without_isolation_too() -> None:
    bare = sandbox.isolation_named("none")
    result = sandbox.run(
        ["/bin/sh", "-c", "sleep 60"], isolation=bare, no_sandbox=True, limits=Limits(wall_seconds=0.3)
    )
    assert result.limit_hit == "wall"


@pytest.mark.parametrize("name", ["/etc/passwd", "../out", "a/../../out", ""])
def test_a_file_outside_the_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        sandbox.run(["/bin/true"], files={name: b""}, isolation=sandbox.isolation_named("none"), no_sandbox=True)


def test_a_limit_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="wall_seconds"):
        Limits(wall_seconds=0)
