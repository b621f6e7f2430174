"""Files read on a cluster: the same runs, ids and findings as here, also when a worker is lost in the middle."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import steelyard as sy
from reading_twin import gathered
from steelyard.metrics import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLES = Path(__file__).parent.parent / "samples" / "formats"
FIVE = ("claude-code", "codex", "gemini-cli", "harbor", "swe-agent")


def test_samples_of_every_format_are_read_as_here(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES, tmp_path / "logs" / "a")
    shutil.copytree(SAMPLES / "claude-code", tmp_path / "logs" / "again")
    shutil.make_archive(str(tmp_path / "logs" / "packed"), "zip", SAMPLES / "codex")
    paths = [tmp_path / "logs", tmp_path / "not-there"]
    local, counted = gathered(paths)
    there, counted_there = gathered(paths, cluster=SparkCluster(spark))
    assert there == local
    assert len(local) > 100
    assert counted_there == counted


def test_a_session_that_is_handed_in_reads_a_table(spark: SparkSession) -> None:
    logs = SAMPLES / "claude-code"
    assert sy.read(logs, engine=spark).to_polars().equals(sy.read(logs).to_polars())


def many_logs(folder: Path, least: int) -> Path:
    """Copies of five formats' samples, in folders of their own: many sessions are told of again, many calls copied."""
    for number in range(least):
        for name in FIVE:
            shutil.copytree(SAMPLES / name, folder / f"{number:05}" / name)
        if sum(1 for path in folder.rglob("*") if path.is_file()) >= least:
            break
    for number, path in enumerate(sorted(folder.rglob("*.json*"))):
        if number % 3 == 0:  # other sessions, with calls that others hold too
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace("sess", f"sess{number}"), encoding="utf-8")
    return folder


@pytest.mark.long
def test_two_thousand_files_of_five_formats_are_read_as_here(spark: SparkSession, tmp_path: Path) -> None:
    logs = many_logs(tmp_path / "logs", 2000)
    local, counted = gathered([logs])
    there, counted_there = gathered([logs], cluster=SparkCluster(spark))
    assert there == local
    assert counted_there == counted


def executors() -> list[int]:
    """The processes that do a standalone cluster's work."""
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True, check=False)
    ours = os.environ["SPARK_CONF_DIR"]
    return [int(pid) for pid in found.stdout.split() if _has(int(pid), ours)]


def _has(pid: int, word: str) -> bool:
    try:
        return word in Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return False


def _killed_in_the_middle(killed: list[int]) -> Iterator[None]:
    time.sleep(3)
    for pid in executors()[:1]:
        os.kill(pid, signal.SIGKILL)
        killed.append(pid)
    yield


@pytest.mark.long
def test_a_worker_that_is_killed_in_the_middle_changes_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("steelyard.sources.tables._cluster.TASK_FILES", 5)  # many tasks, so that there is a middle
    logs = many_logs(tmp_path / "logs", 600)
    local, counted = gathered([logs])
    killed: list[int] = []
    killer = threading.Thread(target=lambda: list(_killed_in_the_middle(killed)))
    killer.start()
    there, counted_there = gathered([logs], cluster=SparkCluster(spark))
    killer.join()
    assert killed
    assert there == local
    assert counted_there == counted
