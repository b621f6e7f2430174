"""Run the command line as a user does, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass


@dataclass(frozen=True)
class Done:
    status: int
    stdout: str
    stderr: str


def steelyard(*arguments: str, cwd: object = None, stdin: str | None = None, **environment: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-m", "steelyard", *arguments],
        capture_output=True,
        input=stdin,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=None if cwd is None else str(cwd),
        env={**os.environ, **environment},
        timeout=300,
    )
    return Done(done.returncode, done.stdout, done.stderr)
