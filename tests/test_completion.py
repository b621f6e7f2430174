"""Completion of commands and options, installed by one command; help that imports no command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.cli import COMPLETION, build_app, command_names, outline

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script that the command installs for bash, in a home of its own."""
    home = tmp_path_factory.mktemp("home")
    done = steelyard(COMPLETION, "--shell", "bash", HOME=str(home))
    assert done.status == 0, done.stderr
    (installed,) = home.rglob("completions/steelyard")
    assert str(installed) in (home / ".bashrc").read_text(encoding="utf-8")
    return installed


def offered(script: Path, *words: str) -> set[str]:
    """What bash offers for the last of the words."""
    function = next(line for line in script.read_text("utf-8").splitlines() if line.startswith("complete ")).split()
    name = function[function.index("-F") + 1]
    code = f'. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); {name}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    command = [str(BASH), "--norc", "-c", code, str(script), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return {line.strip() for line in done.stdout.splitlines()}


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("steelyard", "mea"), "measure"),
        (("steelyard", "measure", "--b"), "--by"),
        (("steelyard", "measure", "--weight-by", ""), "tasks"),
        (("steelyard", "arena", "lea"), "leaderboard"),
    ],
)
def test_bash_completes_commands_options_and_choices(script: Path, words: tuple[str, ...], word: str) -> None:
    assert word in offered(script, *words)


def test_help_without_a_command_says_what_each_command_says_of_itself() -> None:
    whole, light = build_app(), outline()
    assert [name for name in light if not name.startswith("-")] == sorted(command_names())
    for name in command_names():
        assert light[name].help == whole[name].help.split("\n")[0]  # the sentence is found as text, not by importing
