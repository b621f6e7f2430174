"""What is not trusted is refused by name, before it costs time or memory."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from steelyard.errors import UnreadableFile
from steelyard.records.finding import Rejected
from steelyard.sources._archives import Limits, unpack
from steelyard.sources._base import Entry
from steelyard.sources._gather import gather

SAMPLES = Path(__file__).parent / "samples" / "sources"
ROLLOUT = (SAMPLES / "codex" / "rollout.jsonl").read_bytes()


def refused(path: Path) -> str:
    (item,) = gather([path])
    assert isinstance(item, Rejected)
    assert item.path.startswith(path.as_posix())
    return item.reason


def zipped(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def test_zip_tar_and_gz_read_as_the_folder_does(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", **{"logs/rollout.jsonl": ROLLOUT})
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("logs/rollout.jsonl")
        info.size = len(ROLLOUT)
        archive.addfile(info, io.BytesIO(ROLLOUT))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(ROLLOUT))
    for name, inner in (
        ("a.zip", "logs/rollout.jsonl"),
        ("b.tar.gz", "b.tar!/logs/rollout.jsonl"),
        ("c.jsonl.gz", "c.jsonl"),
    ):
        (item,) = gather([tmp_path / name])
        assert isinstance(item, Entry)
        assert item.path == f"{(tmp_path / name).as_posix()}!/{inner}"
        assert len(item.run.calls or ()) == 2


def test_a_trials_folder_inside_an_archive_is_put_together(tmp_path: Path) -> None:
    trial = (SAMPLES / "harbor" / "trial.json").read_bytes()
    report = (SAMPLES / "ctrf" / "seconds.json").read_bytes()
    path = zipped(tmp_path / "job.zip", **{"job/t/result.json": trial, "job/t/verifier/ctrf.json": report})
    (item,) = gather([path])
    assert isinstance(item, Entry)
    assert item.run.tests is not None


def test_a_bomb_is_refused_whatever_its_packing(tmp_path: Path) -> None:
    zeros = bytes(64 << 20)  # 64 MB out of 64 kB: a thousand times
    assert "expands to more than" in refused(zipped(tmp_path / "bomb.zip", **{"a.jsonl": zeros}))
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(zeros))
    assert "expands to more than" in refused(tmp_path / "bomb.gz")
    import zstandard

    (tmp_path / "bomb.zst").write_bytes(zstandard.compress(zeros))
    assert "expands to more than" in refused(tmp_path / "bomb.zst")


def test_an_eval_log_that_is_a_bomb_is_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.eval", **{"_journal/start.json": b"{}", "header.json": b" " * (64 << 20)})
    assert "expands to more than" in refused(path)


@pytest.mark.parametrize(
    "name", ["../outside.jsonl", "/etc/outside.jsonl", "a/../../outside.jsonl", "C:\\outside.jsonl"]
)
def test_a_path_that_leads_outside_refuses_the_archive(tmp_path: Path, name: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = zipped(inner / "slip.zip", **{"good.jsonl": ROLLOUT, name: ROLLOUT})
    assert "points outside the archive" in refused(path)
    assert not (tmp_path / "outside.jsonl").exists()


def test_links_in_a_tar_are_not_followed(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        link = tarfile.TarInfo("passwords")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        archive.addfile(link)
    assert list(gather([tmp_path / "links.tar"])) == []


def test_too_many_entries_and_too_deep_nesting_are_refused(tmp_path: Path) -> None:
    path = zipped(tmp_path / "many.zip", **{f"{number}.txt": b"x" for number in range(20)})
    with pytest.raises(UnreadableFile, match="more than 10 entries"):
        unpack(path, "many.zip", tmp_path / "out", limits=Limits(entries=10))
    data = ROLLOUT
    for depth in range(4):
        data = zipped(tmp_path / f"{depth}.zip", **{f"inner{depth}.zip" if depth else "r.jsonl": data}).read_bytes()
    assert "in more than 2 other archives" in refused(tmp_path / "3.zip")


def test_a_broken_archive_is_an_error_and_no_crash(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "a.zip", **{"r.jsonl": ROLLOUT}).read_bytes()
    for end in range(30, len(whole), 97):
        (tmp_path / "cut.zip").write_bytes(whole[:end])
        assert refused(tmp_path / "cut.zip")


def test_deep_json_is_refused(tmp_path: Path) -> None:
    deep = b'{"sessionId":"s","projectHash":"p","messages":[],"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    (tmp_path / "deep.json").write_bytes(deep)
    assert "nested too deeply" in refused(tmp_path / "deep.json")


def laughs() -> bytes:
    lines = [f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)]
    return (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "ha">' + "".join(lines) + "]><testsuite>&l9;</testsuite>"
    ).encode()


def test_a_billion_laughs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "laughs.xml").write_bytes(laughs())
    assert "declares the entity 'l0'" in refused(tmp_path / "laughs.xml")


def test_hostile_files_take_little_memory(tmp_path: Path) -> None:
    """The command line as a user runs it on each of them stays under 300 MB."""
    zipped(tmp_path / "bomb.zip", **{"a.jsonl": bytes(128 << 20)})
    (tmp_path / "deep.json").write_bytes(b"[" * 100_000)
    (tmp_path / "laughs.xml").write_bytes(laughs())
    program = (
        "import re, sys\n"
        "from pathlib import Path\n"
        "from steelyard.surfaces.cli import run\n"
        f"status = run(['read', {str(tmp_path)!r}, '--quiet', '--json'])\n"
        # the peak that getrusage gives begins with that of the process that started this one
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(status, int(peak) // 1024, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    status, megabytes = done.stderr.split()[-2:]
    assert status == "1"
    assert int(megabytes) < 300
