"""What workers of a cluster read and put together is what a local reading tells, in the same order."""

from __future__ import annotations

import io
import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

import steelyard as sy
from reading_twin import PlainCluster, PlainRows, gathered
from steelyard.cli import run
from steelyard.errors import MissingExtraError, UsageError
from steelyard.pages import _run_files
from steelyard.sources import Row, Work, gather
from steelyard.version import __version__

SAMPLES = Path(__file__).parent / "samples" / "formats"
FORMATS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def assert_same(paths: list[Path], **how: object) -> int:
    local, counted = gathered(paths, **how)
    spread, counted_there = gathered(paths, cluster=PlainCluster(), **how)
    assert spread == local
    assert counted_there == counted
    return len(local)


@pytest.mark.parametrize("name", FORMATS)
def test_every_sample_is_read_on_a_cluster_as_here(name: str) -> None:
    assert assert_same([SAMPLES / name]) > 0


def test_all_samples_at_once_with_copies_archives_and_paths_that_are_not_there(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    shutil.copytree(SAMPLES, logs / "a")
    for name in ("claude-code", "harbor", "runs-jsonl", "swe-bench", "junit"):
        shutil.copytree(SAMPLES / name, logs / "again" / name)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as inner:
        for path in sorted((SAMPLES / "codex").rglob("*")):
            inner.write(path, path.relative_to(SAMPLES))
    with zipfile.ZipFile(logs / "outer.zip", "w") as outer:
        outer.writestr("deep/inner.zip", packed.getvalue())
        for path in sorted((SAMPLES / "runs-jsonl").rglob("*")):
            outer.write(path, path.relative_to(SAMPLES))
    (logs / "broken.zip").write_bytes(b"PK\x03\x04 cut off")
    (logs / "empty.json").write_text("")
    (logs / "notes.txt").write_text("nothing that a format knows")
    paths = [logs, tmp_path / "not-there", logs / "notes.txt", logs / "broken.zip", logs / "empty.json"]
    assert assert_same(paths) > 100


def test_relative_paths_begin_where_the_caller_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(SAMPLES / "claude-code", tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    assert assert_same([Path("logs")]) > 0
    assert Path(os.getcwd()) == tmp_path


def test_one_format_alone(tmp_path: Path) -> None:
    assert assert_same([SAMPLES], format="codex") > 0


class OlderRows(PlainRows):
    def mapped(self, work: Work) -> PlainRows:
        rows = super().mapped(work).rows
        return PlainRows([row._replace(value=b"0.0.1") if row.value == __version__.encode() else row for row in rows])


class OlderCluster(PlainCluster):
    def rows(self, rows: Sequence[Row]) -> PlainRows:
        return OlderRows(rows)


def test_pipes_are_refused_and_workers_of_another_version_too() -> None:
    with pytest.raises(UsageError, match="a cluster cannot read stdin"):
        list(gather([Path("-")], cluster=PlainCluster()))
    with pytest.raises(UsageError, match=r"the cluster's workers run steelyard 0\.0\.1"):
        list(gather([SAMPLES / "codex"], cluster=OlderCluster()))


@pytest.mark.parametrize("engine", ["spark", "spark://127.0.0.1:1", "sc://127.0.0.1:1"])
def test_without_the_extra_spark_says_what_to_install(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("pyspark", "pyspark.sql", "pyspark.errors"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as refused:
        sy.read(SAMPLES / "codex", engine=engine)
    assert refused.value.hint == "pip install 'steelyard[spark]'"


def test_an_engine_that_does_not_read_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="engine 'ray' cannot read files"):
        sy.read(SAMPLES / "codex", engine="ray")


def test_runs_go_to_a_folder_of_parquet_files_that_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_run_files, "FOLDER_RUNS", 3)
    folder = tmp_path / "runs"
    runs = list(sy.demo_runs())[:7]
    assert _run_files.write_runs_folder(runs, folder) == 7
    assert [path.name for path in sorted(folder.iterdir())] == [f"runs-0000{number}.parquet" for number in range(3)]
    assert sorted(sy.read(folder).to_polars()["id"]) == sorted(str(one.id) for one in runs)
    with pytest.raises(UsageError, match="is not empty"):
        _run_files.write_runs_folder(runs, folder)


def test_the_command_writes_a_folder_where_the_name_ends_like_one(tmp_path: Path) -> None:
    folder = f"{tmp_path}/runs/"
    assert run(["read", str(SAMPLES / "codex"), "--out", folder]) == 0
    assert [path.name for path in Path(folder).iterdir()] == ["runs-00000.parquet"]
    assert run(["read", str(SAMPLES / "codex"), "--out", folder]) == 2
