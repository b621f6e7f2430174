"""A command that cannot write what it has to say tells so in one line, with its exit status and no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from command_cases import APPS, GIVEN, UNENDING, arguments_of, made_files
from steelyard.cli import run

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
NOTHING_NEEDED = {
    "arena init",
    "arena upgrade",
    "doctor",
    "formats",
    "metrics",
    "repeatability canon list",
    "schema",
    "token list",
}
COMMANDS = [command for command in APPS if command not in UNENDING]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return made_files(tmp_path_factory.mktemp("files"))


def words_of(command: str, files: dict[str, str]) -> list[str]:
    """The command with what it needs, as JSON where it speaks JSON."""
    arguments = arguments_of(APPS[command])
    takes_runs = bool({"FILES", "PATHS", "RUNS"} & set(arguments))
    words = [word.format(**files) for word in GIVEN.get(command, ["{runs}"] if takes_runs else [])]
    if "--store" in arguments:
        words += ["--store", files["store"]]
    return [*command.split(), *words, *(["--json"] if "--json" in arguments else [])]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_told_in_one_line(
    command: str, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(command, files)
    with FULL.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        status = run(words)
        monkeypatch.undo()
    told = capsys.readouterr().err.splitlines()
    assert status in (1, 2), (words, told)
    assert [line for line in told if line.startswith("steelyard: ")] == [told[-1] if status == 1 else told[0]], told


@pytest.mark.parametrize("words", [["formats", "--json"], ["measure", "nowhere", "--json"], ["--help"], ["schema"]])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_python_does_not_complain_at_its_end(words: list[str], buffered: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "steelyard", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={"PYTHONUNBUFFERED": buffered, "PYTHONPATH": ":".join(sys.path)},
        )
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr


def test_a_command_without_a_standard_output_gives_its_status() -> None:
    closed = f"exec {sys.executable} -m steelyard formats --json >&-"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(["/bin/sh", "-c", closed], capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
