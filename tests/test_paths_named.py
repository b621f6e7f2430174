"""Every option of every command that names a file, given what is no regular file: it is refused by name, at once."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from command_cases import APPS, GIVEN, UNENDING, arguments_of, made_files
from steelyard.cli import run

SECONDS = 10
"""More than any of these takes on a busy machine."""
NO_FILE = {"--out", "--write", "--report", "--summary", "--artifacts", "--results"}
"""What is written, and the folders of artifacts and of results."""
NAME_OR_PATH = {
    "--profile",
    "--prices",
    "--map",
    "--agent",
    "--tests",
    "--log",
    "FILE",
    "FIRST",
    "SECOND",
}
"""Texts that may be a path too."""
CASES = [
    (command, name)
    for command, app in APPS.items()
    if command not in UNENDING
    for name, hint in arguments_of(app).items()
    if (command, name) != ("arena leaderboard", "--agent")  # an agent's name
    and name not in NO_FILE
    and ("Path" in hint or name in NAME_OR_PATH or (command, name) == ("speedup", "--candidate"))
]
"""Every argument of every command that names a file."""
FIRST_CASES = list({f"{name} {'arena' in command}": (command, name) for command, name in CASES}.values())
"""Each once for the arena and once for the others: they read it alike."""
INSTEAD = {
    "arena submit --from-runs": [],
    "arena submit --map": ["--from-runs", "{runs}"],
    "arena submit --task-map": ["--from-runs", "{runs}"],
    "arena submit --prices": ["--from-runs", "{runs}"],
    "arena rescore --profile": [],
    "arena init --profile": [],
    "repeatability --map": ["{table}", "--no-repair"],
    "speedup PATHS": [],
    "speedup --baseline": ["--candidate", "a:m={timings}"],
    "speedup --candidate": ["--baseline", "{timings}"],
}
"""What it needs where that option is asked for."""
LABELS = {"--agent": "a:m=", "--candidate": "a:m=", "--log": "a:m="}


class Waiting(BaseException):
    """It took too long."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("files")
    for ending in ("toml", "json", "jsonl"):
        os.mkfifo(folder / f"pipe.{ending}")
        (folder / f"zero.{ending}").symlink_to("/dev/zero")
    return made_files(folder)


def _words(command: str, argument: str, value: str, files: dict[str, str]) -> list[str]:
    """The command with the value, and what else it needs."""
    needed = INSTEAD.get(f"{command} {argument}", GIVEN.get(command, ["{runs}"]))
    words = [word.format(**files) for word in needed]
    value = LABELS.get(argument, "") + value
    if argument in words:
        words[words.index(argument) + 1] = value
    elif argument.startswith("--"):
        words += [argument, value]
    else:
        place = [name for name in arguments_of(APPS[command]) if not name.startswith("-") and name != "ACTION"]
        at = place.index(argument)
        words[at : at + 1] = [value]
    store = (
        ["--store", files["store"]] if "--store" in arguments_of(APPS[command]) and command != "repeatability" else []
    )
    if command == "arena init":
        store = ["--store", f"sqlite:///{files['folder']}/other.db"]
    return [*command.split(), *words, *store]


def _refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said when the command is run, which fails."""

    def waiting(*_: Any) -> None:
        raise Waiting

    signal.signal(signal.SIGALRM, waiting)
    signal.alarm(SECONDS)
    capsys.readouterr()
    try:
        status = run(words)
    except Waiting:
        pytest.fail(f"steelyard {' '.join(words)} does not end")
    finally:
        signal.alarm(0)
    told = capsys.readouterr()
    assert status in (1, 2), f"steelyard {' '.join(words)} gives {status}"
    return told.out + told.err


def _check(command: str, argument: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("pipe.toml", "pipe.json", "zero.jsonl", "zero.toml"):
        told = _refusal(_words(command, argument, f"{files['folder']}/{name}", files), capsys)
        assert name in told, f"{command} {argument}: {told}"


@pytest.mark.parametrize(("command", "argument"), FIRST_CASES, ids=lambda value: value)
def test_what_is_no_regular_file_is_refused_at_once(
    command: str, argument: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _check(command, argument, files, capsys)


@pytest.mark.long
@pytest.mark.parametrize(("command", "argument"), CASES, ids=lambda value: value)
def test_what_is_no_regular_file_is_refused_at_once_by_every_command(
    command: str, argument: str, files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _check(command, argument, files, capsys)


def test_every_kind_of_file_is_among_the_cases() -> None:
    named = {argument for _, argument in FIRST_CASES}
    assert {"FILES", "PATHS", "--contract", "--targets", "--task-map", "--nop", "--tests"} <= named
    assert named == {argument for _, argument in CASES}
