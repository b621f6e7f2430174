"""What `deploy/` starts does start: the commands of the unit, on another port."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from served import serving

pytestmark = pytest.mark.checkout

DEPLOY = Path(__file__).parent.parent.parent / "deploy"


def of_unit(name: str, folder: Path) -> list[str]:
    """The words of a line of the unit behind the program's name."""
    unit = (DEPLOY / "steelyard.service").read_text(encoding="utf-8")
    (line,) = re.findall(rf"^{name}=/opt/steelyard/bin/steelyard (.*)$", unit, re.MULTILINE)
    return shlex.split(line.replace("/%S/steelyard", f"/{folder}"))


def test_it_starts_and_is_healthy(tmp_path: Path) -> None:
    made = of_unit("ExecStartPre", tmp_path)
    subprocess.run([sys.executable, "-m", "steelyard", *made], check=True, capture_output=True)
    verb, *words = of_unit("ExecStart", tmp_path)
    assert verb == "serve"
    at = words.index("--port")
    with serving(*words[:at], *words[at + 2 :]) as server:
        assert server.ask("/api/v1/healthz").status == 200
        assert server.ask("/").status == 200
        assert server.stop() < 10, "the unit waits no longer"
