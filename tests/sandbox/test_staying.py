"""A command that stays, such as an agent: its work is kept, it is asked to end before it is killed, nothing is left."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from processes import alive
from steelyard import sandbox
from steelyard.errors import AbortedError
from steelyard.sandbox import HOME_FOLDER, WORK_FOLDER, Isolation, Limits, SandboxResult, Stay

LIMITS = Limits(wall_seconds=60, cpu_seconds=30)


def shell(code: str, stay: Stay, isolation: Isolation, *, limits: Limits = LIMITS) -> SandboxResult:
    return sandbox.run(["/bin/sh", "-c", code], stay=stay, isolation=isolation, limits=limits)


def test_work_home_and_what_was_said_are_kept_and_ours(isolation: Isolation, tmp_path: Path) -> None:
    code = (
        "cat $HOME/settings/a; echo done >&2; echo made > w; mkdir closed; echo in > closed/f; chmod 0 closed/f closed"
    )
    result = shell(code, Stay(tmp_path, home={"settings/a": b"read\n"}), isolation)
    assert (result.exit_status, result.stdout) == (0, b"")
    assert (tmp_path / "stdout").read_bytes() == b"read\n"
    assert (tmp_path / "stderr").read_bytes() == b"done\n"
    assert (tmp_path / "work/w").read_text() == "made\n"
    assert (tmp_path / "work/closed/f").stat().st_uid == os.getuid()
    assert stat.S_IMODE((tmp_path / "work/closed").stat().st_mode) == 0o700
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["home", "stderr", "stdout", "work"]


def test_what_is_not_asked_for_is_not_kept(isolation: Isolation, tmp_path: Path) -> None:
    shell("echo made > w", Stay(tmp_path, kept=()), isolation)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["stderr", "stdout"]


@pytest.mark.parametrize(("name", "levels", "kept"), [("a", 900, 100), ("a" * 200, 11, 9)])
def test_directories_too_deep_to_copy_are_not_kept(
    name: str, levels: int, kept: int, isolation: Isolation, tmp_path: Path
) -> None:
    assert isolation.python is not None
    code = f"import os\nfor level in range({levels}):\n    os.mkdir({name!r})\n    os.chdir({name!r})"
    sandbox.run([isolation.python, "-c", code], stay=Stay(tmp_path), isolation=isolation)  # may hit the disk limit
    assert (
        max(folder.count("/") for folder, *_ in os.walk(tmp_path / "work")) - str(tmp_path / "work").count("/") == kept
    )
    found = sandbox.run(["/bin/ls"], copy=tmp_path / "work", isolation=isolation)
    assert found.stdout.decode() == f"{name}\n"


def test_a_link_that_leads_out_is_kept_as_a_link(isolation: Isolation, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir(mode=0o755)
    (tmp_path / "kept").mkdir()
    shell(f"ln -s {tmp_path}/outside out; ln -s {tmp_path}/outside $HOME/out", Stay(tmp_path / "kept"), isolation)
    assert (tmp_path / "kept/work/out").is_symlink()
    assert stat.S_IMODE((tmp_path / "outside").stat().st_mode) == 0o755


def test_what_is_said_past_the_limit_is_dropped_and_counted(isolation: Isolation, tmp_path: Path) -> None:
    code = "head -c 300000 /dev/zero; echo end >&2; echo finished > w"
    result = shell(code, Stay(tmp_path), isolation, limits=Limits(wall_seconds=60, output_bytes=1000))
    assert (result.exit_status, result.limit_hit, result.dropped_bytes) == (0, None, 299_000)
    assert (tmp_path / "stdout").stat().st_size == 1000
    assert (tmp_path / "work/w").exists()  # it was not stopped


@pytest.mark.parametrize(("touched", "limit_hit"), [(False, None), (True, "memory")])
def test_memory_counts_when_it_is_used_not_when_it_is_reserved(
    touched: bool, limit_hit: str | None, isolation: Isolation, tmp_path: Path
) -> None:
    assert isolation.python is not None
    reserve = "import mmap, time; reserved = mmap.mmap(-1, 300 << 20, flags=mmap.MAP_PRIVATE)"
    code = f"{reserve}\nif {touched}: reserved.write(b'x' * (300 << 20)); time.sleep(30)"
    limits = Limits(wall_seconds=60, memory_bytes=200 << 20)
    result = sandbox.run([isolation.python, "-c", code], stay=Stay(tmp_path), isolation=isolation, limits=limits)
    assert result.limit_hit == limit_hit
    assert touched or result.ok


def test_variables_and_folders_are_filled_in(isolation: Isolation, tmp_path: Path) -> None:
    result = sandbox.run(
        ["/bin/sh", "-c", 'test "$1" = "$HOME/f" && test "$PLACE" = "$PWD" && echo "$SAID"', "sh", f"{HOME_FOLDER}/f"],
        variables={"SAID": "said {work}", "PLACE": WORK_FOLDER},
        stay=Stay(tmp_path),
        isolation=isolation,
    )
    assert result.ok
    assert (tmp_path / "stdout").read_bytes() == b"said {work}\n"


def test_a_file_is_laid_over_a_link_in_the_copy(isolation: Isolation, tmp_path: Path) -> None:
    (tmp_path / "copied").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "copied/tests").symlink_to(tmp_path / "outside")
    (tmp_path / "hidden.sh").write_text("#!/bin/sh\necho hidden\n")
    (tmp_path / "hidden.sh").chmod(0o755)
    result = sandbox.run(
        ["tests/hidden.sh"],
        copy=tmp_path / "copied",
        files={"tests/hidden.sh": tmp_path / "hidden.sh"},
        isolation=isolation,
    )
    assert result.stdout == b"hidden\n"
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_command_is_asked_to_end_first(isolation: Isolation, tmp_path: Path) -> None:
    code = "trap 'echo ending > ended; exit 7' INT; echo ready; while :; do sleep 0.05; done"
    said = tmp_path / "stdout"
    result = shell(code, Stay(tmp_path, is_over=lambda: said.exists() and said.read_bytes() == b"ready\n"), isolation)
    assert (result.exit_status, result.was_interrupted, result.limit_hit) == (7, True, None)
    assert (tmp_path / "work/ended").exists()


def test_a_command_is_asked_to_end_also_where_we_were_started_in_the_background(
    isolation: Isolation, tmp_path: Path
) -> None:
    said = tmp_path / "stdout"
    stay = Stay(tmp_path, is_over=lambda: said.exists() and said.read_bytes() == b"ready\n", grace_seconds=2)
    ignored = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)  # as `nohup` and `&` in a script have it
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    try:
        result = shell("sh -c 'kill -QUIT $$'; echo $? > quit; echo ready; exec sleep 60", stay, isolation)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (result.signal, result.was_interrupted) == (signal.SIGINT, True)
    assert (tmp_path / "work/quit").read_text() == f"{128 + signal.SIGQUIT}\n"


def test_a_command_that_does_not_listen_is_killed_after_the_grace(
    isolation: Isolation, tmp_path: Path, marker: str
) -> None:
    said = tmp_path / "stdout"
    stay = Stay(tmp_path, is_over=lambda: said.exists() and said.read_bytes() == b"ready\n", grace_seconds=0.5)
    # A session of its own, as agents start their tools in; the trap is inherited.
    code = f"trap '' INT; setsid sleep {marker} & setsid sh -c 'sleep {marker}; true' & echo ready; sleep {marker}"
    started = time.monotonic()
    result = shell(code, stay, isolation)
    assert (result.exit_status, result.was_interrupted) == (None, True)
    assert result.ending == "killed after an interrupt"
    assert alive(marker) == []  # at once, not after a while: what follows looks at the work
    assert time.monotonic() - started < 30


def test_a_command_that_is_interrupted_before_it_begins_is_not_said_to_have_failed_to_start(
    isolation: Isolation, tmp_path: Path, marker: str
) -> None:
    for number in range(4):
        folder = tmp_path / str(number)
        folder.mkdir()
        stay = Stay(folder, is_over=lambda: True, grace_seconds=0.5)
        result = shell(f"exec sleep {marker}", stay, isolation)
        assert (result.was_interrupted, result.start_error) == (True, None)
        assert alive(marker) == []


def test_a_command_whose_output_cannot_be_kept_is_ended(isolation: Isolation, tmp_path: Path, marker: str) -> None:
    with pytest.raises(FileNotFoundError):
        shell(f"exec sleep {marker}", Stay(tmp_path / "nowhere"), isolation)
    assert alive(marker) == []


def test_what_leaves_its_session_is_gone_when_the_command_has_ended(
    isolation: Isolation, tmp_path: Path, marker: str
) -> None:
    code = f"setsid sleep {marker} </dev/null >/dev/null 2>&1 & echo started"
    assert shell(code, Stay(tmp_path), isolation).ok
    assert alive(marker) == []


def test_the_work_of_a_stopped_command_is_kept(isolation: Isolation, tmp_path: Path, marker: str) -> None:
    stop = threading.Event()
    threading.Timer(0.7, stop.set).start()
    with pytest.raises(AbortedError):
        sandbox.run(
            ["/bin/sh", "-c", f"echo said; echo made > w; exec sleep {marker}"],
            stay=Stay(tmp_path),
            isolation=isolation,
            limits=LIMITS,
            stop=stop,
        )
    assert (tmp_path / "work/w").exists()
    assert (tmp_path / "stdout").read_bytes() == b"said\n"
    assert alive(marker) == []
