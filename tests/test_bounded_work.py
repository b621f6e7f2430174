"""What is read costs no more work than its size allows: bytes decompressed, files made, tokens held, digits counted."""

from __future__ import annotations

import gzip
import io
import re
import struct
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.arena import read_submissions
from steelyard.errors import InputLimitError, UsageError
from steelyard.files import ZipLog, file_chunks, parse_toml
from steelyard.files._archives import Extraction
from steelyard.records import MAX_VALUE, NO_LABELS, Rejected, Run
from steelyard.settings import EXPANSION, FREE_BYTES, SHORT_EVENTS, SHORT_ROWS, XML_TOKEN_BYTES, ShortLines
from steelyard.sources import PlacedRun, RunPart, gather, read_timings
from steelyard.sources.tables import _join
from steelyard.statistics import coincidences

SAMPLES = Path(__file__).parent / "samples" / "formats"


@pytest.fixture
def decompressed(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Bytes that came out of archives onto the disk, and files that were made, kept or not."""
    counts = {"bytes": 0, "files": 0}
    take, open_ = Extraction.take, Path.open

    def counted_take(extraction: Extraction, *, size: int = 0, entries: int = 0) -> None:
        take(extraction, size=size, entries=entries)
        counts["bytes"] += size

    def counted_open(path: Path, mode: str = "r", *others: Any, **more: Any) -> Any:
        counts["files"] += mode == "wb"
        return open_(path, mode, *others, **more)

    monkeypatch.setattr(Extraction, "take", counted_take)
    monkeypatch.setattr(Path, "open", counted_open)
    return counts


def zip_of(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tar_of(name: str, content: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return made.getvalue()


def reasons(path: Path) -> list[str]:
    return [item.reason for item in gather([path]) if isinstance(item, Rejected)]


BOMB = bytes(FREE_BYTES + (1 << 20))
"""More than one archive may hold, whatever its size; that shows when all but the last bytes are out."""
INNER = {
    "zips": lambda: zip_of({"a.jsonl": BOMB}),
    "compressed files, whose size nobody states": lambda: gzip.compress(BOMB),
    "compressed tars": lambda: gzip.compress(tar_of("a.jsonl", BOMB)),
    "compressed files that hold one thing twice": lambda: gzip.compress(gzip.compress(BOMB)),
    "compressed archives of nothing": lambda: gzip.compress(b"PK\x03\x04" + BOMB + zip_of({})),
    "compressed tars that break off": lambda: gzip.compress(tar_of("a.jsonl", BOMB)[:-20_000]),
}


@pytest.mark.parametrize("deep", [1, 2])
@pytest.mark.parametrize("name", INNER)
def test_archives_in_archives_unpack_no_more_than_the_whole_may(
    name: str, deep: int, tmp_path: Path, decompressed: dict[str, int]
) -> None:
    archive = INNER[name]()
    for level in range(deep):
        archive = zip_of({f"{level}-{number}.gz": archive for number in range(40 if level == deep - 1 else 2)})
    path = tmp_path / "all.zip"
    path.write_bytes(archive)
    assert reasons(path)
    budget = max(FREE_BYTES, len(archive) * EXPANSION.default)
    # Each level below the first may take the place of the one above it, once.
    assert decompressed["bytes"] <= (deep + 2) * budget
    assert len(BOMB) * 40 > 9 * (deep + 2) * budget


def test_logs_that_are_zips_count_among_what_their_archive_holds(tmp_path: Path) -> None:
    eval_log = zip_of({"_journal/start.json": b"{}", "header.json": b" " * (FREE_BYTES - (1 << 20))})
    path = tmp_path / "logs.zip"
    path.write_bytes(zip_of({f"{number}.eval": eval_log for number in range(30)}))
    told = reasons(path)
    assert told.count(EXPANSION.reason) == 29  # the first is read, and is no log
    assert len(told) == 30


def test_the_entries_of_a_log_share_what_it_may_expand_to(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(zip_of({f"samples/{number}.json": BOMB[: 10 << 20] for number in range(3)}))
    with ZipLog(path) as log:
        log.read("samples/0.json")
        with pytest.raises(InputLimitError, match="expands to more than"):
            log.read("samples/1.json")


def test_an_entry_that_holds_more_than_it_states_is_refused(tmp_path: Path) -> None:
    content = zip_of({"a": b"x" * 1000})
    at = content.rfind(b"PK\x01\x02") + 24
    (tmp_path / "log.eval").write_bytes(content[:at] + struct.pack("<L", 10) + content[at + 4 :])
    with ZipLog(tmp_path / "log.eval") as log, pytest.raises(Exception, match="the size exceeds the stated 10 bytes"):
        log.read("a")


def test_entries_that_share_their_bytes_are_refused_unread(tmp_path: Path) -> None:
    content = zip_of({str(number): b"x" * 100 for number in range(50)}, zipfile.ZIP_STORED)
    listing = content.find(b"PK\x01\x02")
    sizes = struct.pack("<LL", 4000, 100)  # compressed, decompressed: each claims those of its neighbors too
    entries = bytearray(content[listing:])
    at = 0
    while (at := entries.find(b"PK\x01\x02", at)) >= 0:
        entries[at + 20 : at + 28] = sizes
        at += 4
    (tmp_path / "all.zip").write_bytes(content[:listing] + entries)
    (told,) = reasons(tmp_path / "all.zip")
    assert told == "archive rejected: the entries claim 200,000 bytes, more than the file size"


def test_a_name_that_is_listed_many_times_is_read_once(tmp_path: Path) -> None:
    content = zip_of({f"samples/{number}.json": b"{}" for number in range(3)})
    content = content.replace(b"samples/0", b"samples/2").replace(b"samples/1", b"samples/2")
    (tmp_path / "log.eval").write_bytes(content)
    with ZipLog(tmp_path / "log.eval") as log:
        assert log.names == ["samples/2.json"]


def test_empty_entries_of_an_archive_are_not_made(tmp_path: Path, decompressed: dict[str, int]) -> None:
    empty = {f"logs/{number}.jsonl": b"" for number in range(2_000)}
    (tmp_path / "all.zip").write_bytes(zip_of({**empty, "logs/runs.jsonl": b'{"id": "r", "task": "t"}\n'}))
    assert [item.run.id for item in gather([tmp_path / "all.zip"]) if isinstance(item, PlacedRun)] == ["r"]
    assert decompressed["files"] == 2  # the test's archive and the records


@pytest.mark.parametrize("start", [b'<testsuite name="', b"<testsuite><!--", b"<testsuite><?", b"<testsuite>&"])
def test_a_token_of_xml_that_does_not_end_is_refused_after_a_few_mebibytes(
    start: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = 0

    def counted(path: Path) -> Iterator[bytes]:
        nonlocal parsed
        for chunk in file_chunks(path):
            parsed += len(chunk)
            yield chunk

    monkeypatch.setattr("steelyard.sources.formats.junit.file_chunks", counted)
    path = tmp_path / "report.xml"
    path.write_bytes(start + b"a" * (16 << 20))
    (item,) = gather([path])
    assert isinstance(item, Rejected)
    assert (item.line, item.reason) == (1, XML_TOKEN_BYTES.reason)
    assert parsed < 2 * XML_TOKEN_BYTES.most


def test_long_texts_in_xml_are_read(tmp_path: Path) -> None:
    said = b"a" * (XML_TOKEN_BYTES.most * 2)
    report = b'<testsuite><testcase name="t"><failure>%b<![CDATA[%b]]></failure></testcase></testsuite>' % (said, said)
    (tmp_path / "report.xml").write_bytes(report)
    (item,) = gather([tmp_path / "report.xml"])
    assert isinstance(item, PlacedRun)
    assert item.run.passed is False


@pytest.mark.parametrize("name", ["runs.jsonl", "made.jsonl"])
def test_of_a_line_without_end_no_more_is_held_than_the_limit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 8 << 20
    monkeypatch.setenv("STEELYARD_MAX_LINE_BYTES", str(most))
    path = tmp_path / name
    with path.open("wb") as file:
        file.write(b'{"id": "s", "task": "' if name == "runs.jsonl" else b'{"id": "s", "task_id": "t", "agent": "')
        file.truncate(10 * most)
    tracemalloc.start()
    try:
        items = list(gather([path], workers=1) if name == "runs.jsonl" else read_submissions(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [type(item) for item in items] == [Rejected]
    assert peak < 2.6 * most  # read in pieces that are then joined; it was four times the limit


DIGITS = "1" + "0" * 400


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("runs.jsonl", '{"task": "t", "usage": {"input_tokens": %s}}\n'),
        ("runs.jsonl", '{"task": "t", "tool_calls": %s}\n'),
        ("runs.jsonl", '{"task": "t", "iterations": %s}\n'),
        ("runs.jsonl", '{"task": "t", "tests": {"passed": %s}}\n'),
        ("runs.json", '[{"task": "t", "calls": [{"usage": {"total_tokens": %s}}]}]'),
        ("runs.csv", "task,input_tokens\nt,%s\n"),
        ("runs.csv", "task,tool_calls\nt,%s\n"),
    ],
)
@pytest.mark.parametrize("digits", [DIGITS, str(MAX_VALUE + 1)])
def test_a_count_that_nothing_can_have_is_refused(name: str, content: str, digits: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content % digits)
    (told,) = reasons(tmp_path / name)
    assert f"<= {MAX_VALUE}" in told
    (tmp_path / name).write_text(content % MAX_VALUE)
    assert reasons(tmp_path / name) == []


def test_calls_that_add_up_to_more_than_a_count_can_be_are_refused(tmp_path: Path) -> None:
    log = (SAMPLES / "claude-code" / "session.jsonl").read_text()
    counts = sorted(set(re.findall(r'"output_tokens":\s*(\d+)', log)))
    for count in counts:
        log = re.sub(rf'("output_tokens":\s*){count}\b', rf"\g<1>{MAX_VALUE - 1}", log)
    (tmp_path / "session.jsonl").write_text(log)
    assert f"the total of its calls exceeds {MAX_VALUE:,} tokens" in reasons(tmp_path / "session.jsonl")


@pytest.mark.parametrize("digits", [DIGITS, str(MAX_VALUE + 1)])
def test_a_call_of_telemetry_has_the_same_bound(digits: str, tmp_path: Path) -> None:
    log = next(
        path for path in sorted((SAMPLES / "otel").iterdir()) if b"gen_ai.usage.input_tokens" in path.read_bytes()
    )
    text = re.sub(r'("gen_ai.usage.input_tokens":\s*)\d+', rf"\g<1>{digits}", log.read_text())
    assert digits in text
    (tmp_path / log.name).write_text(text)
    assert f"the total of its calls exceeds {MAX_VALUE:,} tokens" in reasons(tmp_path / log.name)


def test_verdicts_look_at_few_runs_of_their_task(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def counted(*given: Any) -> bool:
        nonlocal looked
        looked += 1
        return may_be_of(*given)

    may_be_of = _join._may_be_of
    monkeypatch.setattr(_join, "_may_be_of", counted)
    made = [Run(task=f"t{number % 7}", agent=f"a{number}", experiment="e", passed=True) for number in range(2_000)]
    parts = [RunPart(run=run, path=f"{number}.json", role="verdict") for number, run in enumerate(made)]
    judged = _join._judged([], [], [*parts, *parts], NO_LABELS)
    assert (len(judged), looked) == (2_000, 2_000)  # the second on each looks at the first; it was at all of them


def test_columns_of_counts_have_the_same_bound(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    counts = pl.Series("tool_calls", [1, MAX_VALUE, MAX_VALUE + 1, 2**64 - 1], dtype=pl.UInt64)
    pl.DataFrame([pl.Series("task", ["t"] * 4), counts]).write_parquet(path)
    result = sy.measure(path)
    rejected = [place.where for finding in result.findings if finding.severity == "error" for place in finding.places]
    assert (result.n, rejected) == (2, [f"{path}:3", f"{path}:4"])
    pl.DataFrame({"task": ["t"], "tool_calls": pl.Series([7], dtype=pl.Int8)}).write_parquet(path)
    assert sy.measure(path).n == 1


DENSE = "[{}" + ",{}" * 400_000 + "]"
DENSE_FILES = {
    "log.json": '{"sessionId":"s","projectHash":"p","messages":%s}',
    "runs.jsonl": '{"task":"t","x_a":%s}\n',
}


@pytest.mark.parametrize("name", DENSE_FILES)
def test_a_text_of_little_but_empty_objects_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(DENSE_FILES[name] % DENSE)
    assert [reason.partition(": ")[2] or reason for reason in reasons(tmp_path / name)] == [
        "more than one object or list per 10 bytes"
    ]
    (tmp_path / name).write_text(DENSE_FILES[name] % f'[{{"content":"{"[{" * 400_000}"}}]')  # in a text they count not
    assert reasons(tmp_path / name) == []


@pytest.mark.parametrize("key", ["a." * 300 + "a", 'a . "b.c".' * 150 + "a", "[" + "'a'\t.\t" * 300 + "a]\nb"])
def test_a_dotted_key_of_many_parts_is_refused_unparsed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    monkeypatch.setattr("tomllib.loads", lambda text, **_: parsed.append(text))
    with pytest.raises(InputLimitError, match="nested too deeply"):
        parse_toml(f"{key} = 1\n", Path("a.toml"))
    assert parsed == []


def test_a_toml_text_of_little_but_keys_is_refused() -> None:
    with pytest.raises(InputLimitError, match="more than one key or table per 16 characters"):
        parse_toml("".join(f"a{number}=1\n" for number in range(210_000)), Path("a.toml"))
    assert len(parse_toml(f"a = '{'=[' * 110_000}'", Path("a.toml"))["a"]) == 220_000


@pytest.mark.parametrize("quotes", ['"', "'", '"""', "'''"])
def test_dots_in_texts_and_comments_are_no_keys(quotes: str) -> None:
    text = f"a = {quotes}{'b.' * 999}{quotes} # {'c.' * 999}\nd = [{'1.5, ' * 999}]\n"
    assert parse_toml(text, Path("a.toml")) == {"a": "b." * 999, "d": [1.5] * 999}


EVENT = '{"event":"message_send","properties":{"main_model":"m","cost":0.1,"prompt_tokens":1},"user_id":"u","time":1}\n'


@pytest.mark.parametrize(
    ("name", "start", "line", "short"),
    [
        ("runs.csv", "task,agent\n", "t,{}a\n", SHORT_ROWS),
        ("runs.jsonl", "", '{{"task":"t"{}}}\n', SHORT_ROWS),
        ("analytics.jsonl", EVENT, "{{{}}}\n", SHORT_EVENTS),
    ],
)
def test_many_short_lines_are_rejected(
    name: str, start: str, line: str, short: ShortLines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name

    def rejects(padding: str, most: int) -> bool:
        path.write_text(start + line.format(padding) * 400)
        monkeypatch.setenv(short.limit.setting, str(most))
        return any(isinstance(item, Rejected) and short.limit.reason in item.reason for item in gather([path]))

    assert rejects("", 300)
    assert not rejects("", 500)
    assert not rejects(" " * 40, 300)


def test_too_many_groups_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_MAX_GROUP_VALUES", "8")
    runs = [Run(task=f"t{number}", passed=True, cost_usd=1.0) for number in range(5)]
    assert len(sy.measure(runs, by=["task"], metrics=["pass_rate"]).groups) == 5
    assert sy.measure(runs).n == 5  # one group has no bound
    with pytest.raises(UsageError, match="5 groups x 2 metrics"):  # 10 values
        sy.measure(runs, by=["task"], metrics=["pass_rate", "cost_usd"])
    with pytest.raises(UsageError, match="too many groups"):
        sy.completeness(runs, by=["task"])


def test_too_many_benchmarks_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "timings.json"
    path.write_text('{"a": 0.5, "b": 0.5, "c": 0.5}')
    monkeypatch.setenv("STEELYARD_MAX_BENCHMARKS", "3")
    assert len(read_timings(path).timings) == 3
    monkeypatch.setenv("STEELYARD_MAX_BENCHMARKS", "2")
    with pytest.raises(InputLimitError, match="more than 2 benchmarks"):
        read_timings(path)


def test_agreement_of_many_agents_takes_little_memory() -> None:
    agents = np.arange(20_000)
    prices = np.round(agents / 7 + 1.2345, 4)
    apart = (agents, agents, prices)  # 400,000,000 cells of tasks and agents, were all of them made
    common = (agents % 2, agents // 2, np.full(20_000, 1.2345))  # 100,000,000 pairs of agents agree
    tracemalloc.start()
    try:
        found = [coincidences(*results, only_fine=True) for results in (apart, common)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [[], []]
    assert peak < 50_000_000
