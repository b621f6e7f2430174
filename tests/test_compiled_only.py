"""The package without its sources, as some installations have it: compiled modules and type stubs alone."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import steelyard

PACKAGE = Path(steelyard.__file__).parent


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a copy of the package that has no sources."""
    folder = tmp_path_factory.mktemp("compiled")
    shutil.copytree(PACKAGE, folder / "steelyard", ignore=shutil.ignore_patterns("__pycache__"))
    assert compileall.compile_dir(folder / "steelyard", legacy=True, quiet=1)
    for source in folder.rglob("*.py"):
        source.unlink()
    return folder


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--help"], "Start the dashboard and HTTP API."),
        (["measure", "runs.jsonl", "--by", "tier"], "100.0%"),
        (["usage", "--help"], "--by"),
    ],
)
def test_commands_run_without_sources(compiled: Path, words: list[str], expected: str) -> None:
    (compiled / "runs.jsonl").write_text('{"task": "a", "tier": "T0", "passed": true}\n', encoding="utf-8")
    code = f"import sys, steelyard.cli as cli; print(cli.__file__); sys.exit(cli.run({words!r}))"
    environment = {**os.environ, "PYTHONPATH": str(compiled)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=compiled,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{compiled}{os.sep}steelyard{os.sep}cli{os.sep}__init__.pyc\n")
    assert expected in done.stdout
