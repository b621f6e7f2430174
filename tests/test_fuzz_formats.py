"""Coverage-guided fuzzing of the sources, where atheris is installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SECONDS = 120


@pytest.mark.long
def test_fuzzing_finds_no_crash(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for number, path in enumerate(sorted((HERE / "samples" / "formats").rglob("*"))):
        if path.is_file():
            shutil.copy(path, corpus / f"{number}-{path.name}")
    command = [
        sys.executable,
        str(HERE / "support" / "fuzz_formats.py"),
        f"-max_total_time={SECONDS}",
        "-rss_limit_mb=1024",
        str(corpus),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
