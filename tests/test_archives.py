"""What is not trusted is refused by name, before it costs time or memory."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
import zstandard

import steelyard as sy
from steelyard.errors import UnreadableFileError
from steelyard.files import ZipLog
from steelyard.questions.read import RunReading
from steelyard.records import Rejected
from steelyard.scratch import remove_scratch
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).parent / "samples" / "formats"
ROLLOUT = (SAMPLES / "codex" / "rollout.jsonl").read_bytes()


def refused(path: Path) -> str:
    (item,) = gather([path])
    assert isinstance(item, Rejected)
    assert item.path.startswith(path.as_posix())
    return item.reason


def facts(path: Path) -> list[tuple[object, ...]]:
    runs = [item.run for item in gather([path]) if isinstance(item, PlacedRun)]
    assert runs
    return [(run.passed, run.usage, run.tests) for run in runs]


def zipped(path: Path, **files: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def zipped_with_zstandard(path: Path, files: dict[str, bytes]) -> Path:
    """A zip of the packing that Inspect uses and this Python's library cannot write."""
    body = listing = b""
    for name, content in files.items():
        compressed = zstandard.compress(content)
        sizes = struct.pack("<LLLHH", zlib.crc32(content), len(compressed), len(content), len(name), 0)
        listing += struct.pack("<4sHHHHHH", b"PK\x01\x02", 63, 63, 0, 93, 0, 33) + sizes
        listing += struct.pack("<HHHLL", 0, 0, 0, 0, len(body)) + name.encode()
        body += struct.pack("<4sHHHHH", b"PK\x03\x04", 63, 0, 93, 0, 33) + sizes + name.encode() + compressed
    end = struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, len(files), len(files), len(listing), len(body), 0)
    path.write_bytes(body + listing + end)
    return path


def test_an_eval_log_packed_with_zstandard_reads_as_any_other(tmp_path: Path) -> None:
    plain = SAMPLES / "inspect" / "log.eval"
    with zipfile.ZipFile(plain) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    compressed = zipped_with_zstandard(tmp_path / "log.eval", files)
    assert facts(compressed) == facts(plain)
    compressed.write_bytes(compressed.read_bytes().replace(zstandard.compress(files["header.json"])[-8:], b"\0" * 8))
    assert "archive is corrupt or unsupported" in refused(compressed)


def test_a_zip_packed_with_zstandard_reads_and_its_bomb_is_refused(tmp_path: Path) -> None:
    sample = SAMPLES / "junit" / "report.xml"
    zipped_with_zstandard(tmp_path / "reports.zip", {"report.xml": sample.read_bytes()})
    assert facts(tmp_path / "reports.zip") == facts(sample)
    bomb = zipped_with_zstandard(tmp_path / "bomb.zip", {"a.json": b"0" * (64 << 20)})
    assert "expands to more than" in refused(bomb)


def test_every_packing_reads_as_the_folder_does(tmp_path: Path) -> None:
    zipped(tmp_path / "a.zip", **{"logs/rollout.jsonl": ROLLOUT})
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("logs/rollout.jsonl")
        info.size = len(ROLLOUT)
        archive.addfile(info, io.BytesIO(ROLLOUT))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(ROLLOUT))
    (tmp_path / "d.jsonl.bz2").write_bytes(bz2.compress(ROLLOUT[:999]) + bz2.compress(ROLLOUT[999:]))
    (tmp_path / "e.jsonl.xz").write_bytes(lzma.compress(ROLLOUT[:999]) + bytes(4) + lzma.compress(ROLLOUT[999:]))
    for name, inner in (
        ("a.zip", "logs/rollout.jsonl"),
        ("b.tar.gz", "b.tar!/logs/rollout.jsonl"),
        ("c.jsonl.gz", "c.jsonl"),
        ("d.jsonl.bz2", "d.jsonl"),
        ("e.jsonl.xz", "e.jsonl"),
    ):
        (item,) = gather([tmp_path / name])
        assert isinstance(item, PlacedRun)
        assert item.path == f"{(tmp_path / name).as_posix()}!/{inner}"
        assert len(item.run.calls or ()) == 2


def test_a_trials_folder_inside_an_archive_is_put_together(tmp_path: Path) -> None:
    trial = (SAMPLES / "harbor" / "trial.json").read_bytes()
    report = (SAMPLES / "ctrf" / "seconds.json").read_bytes()
    path = zipped(tmp_path / "job.zip", **{"job/t/result.json": trial, "job/t/verifier/ctrf.json": report})
    (item,) = gather([path])
    assert isinstance(item, PlacedRun)
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


def test_too_many_entries_and_too_deep_nesting_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "many.zip", **{f"{number}.txt": b"x" for number in range(20)})
    monkeypatch.setenv("STEELYARD_MAX_INPUT_ENTRIES", "10")
    assert "more than 10 files and directories" in refused(path)
    monkeypatch.delenv("STEELYARD_MAX_INPUT_ENTRIES")
    data = ROLLOUT
    for depth in range(4):
        data = zipped(tmp_path / f"{depth}.zip", **{f"inner{depth}.zip" if depth else "r.jsonl": data}).read_bytes()
    assert "in more than 2 archives" in refused(tmp_path / "3.zip")


@pytest.mark.parametrize("depth", [99, 100, 600, 1_500])
def test_folders_too_deep_in_an_archive_are_refused(tmp_path: Path, depth: int) -> None:
    path = zipped(tmp_path / "deep.zip", **{"d/" * depth + "rollout.jsonl": ROLLOUT})
    if depth < 100:
        assert facts(path)
    else:
        assert "more than 100 directory levels" in refused(path)


def test_folders_too_deep_for_a_path_are_named_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    held = os.open(tmp_path / "logs", os.O_RDONLY)
    for level in range(1_500):
        if level in (3, 1_200):
            handle = os.open("rollout.jsonl", os.O_WRONLY | os.O_CREAT, dir_fd=held)
            with os.fdopen(handle, "wb") as file:
                file.write(ROLLOUT.replace(b"0", b"1", 1) if level == 3 else ROLLOUT)
        os.mkdir("deep", dir_fd=held)
        inner = os.open("deep", os.O_RDONLY, dir_fd=held)
        os.close(held)
        held = inner
    os.close(held)
    try:
        items = list(gather([tmp_path / "logs"]))
    finally:
        remove_scratch(tmp_path / "logs")
    assert [type(item).__name__ for item in items] == ["Rejected", "PlacedRun"]
    (named,) = [item for item in items if isinstance(item, Rejected)]
    assert named.reason == "cannot read the directory: File name too long"


def test_a_folder_that_is_closed_to_the_reader_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs" / "closed").mkdir(parents=True)
    (tmp_path / "logs" / "rollout.jsonl").write_bytes(ROLLOUT)
    looked = os.scandir

    def closed(path: str | int) -> Any:  # root, whom nothing is closed to, may run the tests
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return looked(path)

    monkeypatch.setattr("os.scandir", closed)
    named, run = gather([tmp_path / "logs"])
    assert isinstance(run, PlacedRun)
    assert isinstance(named, Rejected)
    assert (named.path, named.reason) == (
        (tmp_path / "logs" / "closed").as_posix(),
        "cannot read the directory: Permission denied",
    )


def test_a_broken_archive_is_an_error_and_no_crash(tmp_path: Path) -> None:
    whole = zipped(tmp_path / "a.zip", **{"r.jsonl": ROLLOUT}).read_bytes()
    for end in range(30, len(whole), 97):
        (tmp_path / "cut.zip").write_bytes(whole[:end])
        assert refused(tmp_path / "cut.zip")


def compressed(data: bytes, kind: str) -> bytes:
    if kind == "gz":
        return gzip.compress(data)
    if kind == "two gz":
        half = len(data) // 2
        return gzip.compress(data[:half]) + gzip.compress(data[half:]) + bytes(100)
    if kind == "tar":
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for number, line in enumerate(data.splitlines(keepends=True)):
                info = tarfile.TarInfo(f"{number:02}.jsonl")
                info.size = len(line)
                archive.addfile(info, io.BytesIO(line))
        return out.getvalue()
    import zstandard

    streamed = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True)
    return {
        "zst": zstandard.compress(data),
        "two zst": zstandard.compress(data[:900]) + zstandard.compress(data[900:]),
        "streamed zst": streamed.compress(data),
        "zst of zeros": zstandard.compress(data) + zstandard.compress(b"\n" * 300_000),
    }[kind]


KINDS = ("gz", "two gz", "zst", "two zst", "streamed zst", "zst of zeros", "tar")


@pytest.mark.parametrize("kind", KINDS)
def test_a_packed_file_cut_at_any_byte_gives_a_true_prefix_and_names_the_place(tmp_path: Path, kind: str) -> None:
    records = [{"id": f"{n}", "task": f"t{n}", "x_note": f"{n * 7919:x}" * (n % 9)} for n in range(40)]
    whole = compressed("".join(json.dumps(record) + "\n" for record in records).encode(), kind)
    path = tmp_path / ("runs.tar" if kind == "tar" else f"runs.jsonl.{kind[-2:]}")
    path.write_bytes(whole)
    ids = [str(record["id"]) for record in records]
    assert [item.run.id for item in gather([path]) if isinstance(item, PlacedRun)] == ids
    most = 0
    seam = whole.find(whole[:3], 3)  # of two compressed files in a row, the first is whole by itself
    end_marks = 10_240 if kind == "tar" else 100 if kind == "two gz" else 0  # what may be lost without loss
    for end in [*range(12, len(whole), max(1, len(whole) // 80)), *range(len(whole) - 9, len(whole))]:
        path.write_bytes(whole[:end])
        items = list(gather([path], workers=1))
        found = [item.run.id for item in items if isinstance(item, PlacedRun)]
        assert found == ids[: len(found)], end
        rejected = [item for item in items if isinstance(item, Rejected)]
        assert rejected or end == seam or (found == ids and end >= len(whole) - end_marks), end
        assert all(path.name in one.path for one in rejected)
        assert not any("expands" in one.reason for one in rejected)
        most = max(most, len(found))
    assert most >= (30 if "zst" not in kind or "zeros" in kind else 0)  # a block of zst is whole or lost


def test_a_cut_table_in_a_packed_file_gives_no_short_cell(tmp_path: Path) -> None:
    rows = "task,cost_usd\n" + "".join(f"t{n},0.{n:04}\n" for n in range(3000))
    data = gzip.compress(rows.encode())
    path = tmp_path / "runs.csv.gz"
    path.write_bytes(data[: len(data) // 2])
    items = list(gather([path]))
    costs = [item.run.cost_usd for item in items if isinstance(item, PlacedRun)]
    assert len(costs) > 100
    assert costs == [n / 10_000 for n in range(len(costs))]
    (place,) = [item for item in items if isinstance(item, Rejected)]
    assert (place.path, place.line, place.code) == (f"{path}!/runs.csv", len(costs) + 2, "cut_off")


def test_measure_reads_the_whole_lines_of_a_cut_packed_file_and_exits_1(tmp_path: Path) -> None:
    data = gzip.compress(b"".join(b'{"id": "%d", "task": "t", "passed": true}\n' % n for n in range(5000)))
    path = tmp_path / "runs.jsonl.gz"
    path.write_bytes(data[: len(data) // 2])
    result = sy.measure(path)
    assert 1000 < result.n < 5000
    rejected = [place.where for finding in result.findings if finding.severity == "error" for place in finding.places]
    assert rejected == [f"{path}!/runs.jsonl:{result.n + 1}"]


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("size", [10, 3 << 20], ids=["small", "large"])
def test_an_entry_of_a_zip_is_whole_or_refused(tmp_path: Path, method: int, size: int) -> None:
    path = tmp_path / "log.zip"
    content = random.Random(7).randbytes(size)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a", content)
    with ZipLog(path) as log:
        assert log.read("a") == content
    compressed = bytearray(path.read_bytes())
    compressed[31 + size // 2] ^= 1  # within the entry: its header takes 31 bytes
    path.write_bytes(compressed)
    with ZipLog(path) as log, pytest.raises(UnreadableFileError, match=r"log\.zip!/a: entry cannot be decompressed"):
        log.read("a")


def test_a_packed_file_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    data = bytearray(gzip.compress(ROLLOUT))
    data[-6] ^= 0xFF
    (tmp_path / "a.jsonl.gz").write_bytes(bytes(data))
    assert "incorrect data check" in refused(tmp_path / "a.jsonl.gz")


def test_a_packed_file_that_the_user_named_and_nobody_knows_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "odd.gz").write_bytes(gzip.compress(b"nothing that anyone knows"))
    assert "unknown format" in refused(tmp_path / "odd.gz")


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
        "from steelyard.cli import run\n"
        f"status = run(['read', {str(tmp_path)!r}, '--quiet', '--json'])\n"
        # the peak that getrusage gives begins with that of the process that started this one
        "peak = re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]\n"
        "print(status, int(peak) // 1024, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    status, megabytes = done.stderr.split()[-2:]
    assert status == "1"
    assert int(megabytes) < 300


@pytest.mark.parametrize(
    ("name", "archives"), [("a.tar", 1), ("a.tgz", 1), ("a.tar.zst", 1), ("a.gz", 1), ("a.zip", 2)]
)
def test_a_tar_and_its_packing_are_one_archive(tmp_path: Path, name: str, archives: int) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        entry = tarfile.TarInfo("rollout.jsonl")
        entry.size = len(ROLLOUT)
        tar.addfile(entry, io.BytesIO(ROLLOUT))
    content = {
        "a.tar": made.getvalue(),
        "a.tgz": gzip.compress(made.getvalue()),
        "a.tar.zst": zstandard.compress(made.getvalue()),
        "a.gz": gzip.compress(ROLLOUT),
    }
    path = tmp_path / name
    if name == "a.zip":
        zipped(path, **{"inner.tgz": content["a.tgz"]})
    else:
        path.write_bytes(content[name])
    reading = RunReading([path])
    assert len(list(reading)) == 1
    assert reading.summary.archives == archives


def test_packings_in_packings_are_bounded_too(tmp_path: Path) -> None:
    content = ROLLOUT
    for _ in range(3):
        content = gzip.compress(content)
    (tmp_path / "deep.gz").write_bytes(content)
    assert "in more than 2 archives" in refused(tmp_path / "deep.gz")


def test_the_work_for_many_entries_of_one_size_is_linear(tmp_path: Path) -> None:
    def opened(entries: int) -> int:
        """How many files are opened to read the archive."""
        path, count = tmp_path / f"{entries}.zip", 0
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(entries):
                archive.writestr(f"{number}.jsonl", f'{{"task": "t", "id": "{number:05}"}}\n')

        def counting(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            count += is_on and event == "open" and str(arguments[0]).endswith(".jsonl")

        is_on = True
        sys.addaudithook(counting)
        runs = [item for item in gather([path], workers=1) if isinstance(item, PlacedRun)]
        is_on = False
        assert len(runs) == entries
        return count

    assert opened(400) < 2.5 * opened(200)


READ = """
import sys
from pathlib import Path
from steelyard.sources import gather
print(sum(1 for _ in gather([Path(sys.argv[1])], workers=1)))
"""


@pytest.mark.long
@pytest.mark.parametrize("ending", ["jsonl", "bin"])
def test_the_instructions_for_many_entries_are_linear(tmp_path: Path, ending: str) -> None:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        pytest.skip("valgrind is not on PATH")

    def instructions(entries: int) -> int:
        path = tmp_path / f"{entries}.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for number in range(entries):
                archive.writestr(f"{number}.{ending}", f'{{"task": "t", "id": "{number:05}"}}\n')
        counting = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        done = subprocess.run(
            [*counting, sys.executable, "-c", READ, str(path)],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            capture_output=True,
            text=True,
            check=True,
        )
        (count,) = re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)
        return int(count.replace(",", ""))

    few, more, most = (instructions(entries) for entries in (500, 1_000, 2_000))
    assert most - more < 2.2 * (more - few)  # linear: twice as many
