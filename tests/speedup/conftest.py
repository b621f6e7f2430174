"""The command `speedup`, for the tests that run it as a user does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import commands
from steelyard.cli import run


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., commands.Done]:
    """The command in this process: a new one for each call would spend the time on imports."""

    def call(*arguments: str) -> commands.Done:
        status = run(["speedup", *arguments])
        written = capsys.readouterr()
        return commands.Done(status, written.out, written.err)

    return call
