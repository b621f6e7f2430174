"""Files read on a cluster: the same runs, ids and findings as here."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from reading_twin import gathered
from steelyard.engines import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLES = Path(__file__).parent.parent / "samples" / "formats"


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
