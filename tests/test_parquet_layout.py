"""A Parquet file that contradicts itself is refused before Polars allocates memory by what it states."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl
import pytest

from commands import steelyard
from steelyard.errors import InputLimitError, UnreadableFileError
from steelyard.files import parquet_frame, parquet_rows
from steelyard.settings import EXPANSION, FREE_BYTES

ROWS = 3
CALLS = [[{"id": "a", "tokens": [1, 2]}, {"id": "b", "tokens": []}], [], None]
FRAME = pl.DataFrame({"task": ["a", "b", "b"], "passed": [True, None, False], "cost_usd": [0.5, None, 1.0]})


def written(frame: pl.DataFrame = FRAME, **options: object) -> bytes:
    file = io.BytesIO()
    frame.write_parquet(file, **options)  # type: ignore[arg-type] # any of its options
    return file.getvalue()


def with_footer(footer: bytes) -> bytes:
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


@pytest.mark.parametrize("compression", ["zstd", "lz4", "snappy", "uncompressed"])
@pytest.mark.parametrize("rows", [0, 1, ROWS, 1_000 * ROWS])
def test_what_polars_writes_is_read(rows: int, compression: str, tmp_path: Path) -> None:
    frame = FRAME.with_columns(calls=pl.Series(CALLS), agent=pl.Series(["x"] * ROWS, dtype=pl.Categorical))
    frame = pl.concat([frame] * (rows // ROWS + 1)).head(rows)
    path = tmp_path / "runs.parquet"
    path.write_bytes(written(frame, compression=compression, row_group_size=1_000, data_page_size=500))
    assert parquet_frame(path).collect().equals(frame)


def test_what_duckdb_writes_is_read(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    for version in ("v1", "v2"):
        path = tmp_path / f"{version}.parquet"
        rows = "select range as n, [range, 1] as both, 'a' as task from range(5000)"
        duckdb.sql(f"copy ({rows}) to '{path}' (format parquet, parquet_version {version}, row_group_size 2048)")
        assert parquet_frame(path).select(pl.len()).collect().item() == 5_000


PAGE_OF_3 = b"\x2c\x15\x06"  # field 5 is a struct, whose field 1 is the number 3
CHUNK_OF_3 = b"\x15\x0c\x16\x06\x16"  # in the footer: a column is compressed by zstd, has 3 values, and goes on


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (PAGE_OF_3, b"\x2c\x15\x05", "sizes or value counts of a page and its column differ"),  # -3 values
        (PAGE_OF_3, b"\x2c\x15\x08", "sizes or value counts of a page and its column differ"),  # 4
        (PAGE_OF_3, b"\x2c\x15\x04", "fewer values than it states"),  # 2
        (PAGE_OF_3, b"\x2c\x18\x06", "a value has the wrong type"),  # a text
        (PAGE_OF_3, b"\x2c\x19\xf5", "a value has the wrong type"),  # a list
        (CHUNK_OF_3, b"\x15\x0c\x16\x08\x16", "a column and its row group differ"),
        (b"PAR1", b"PAR2", "the footer is missing"),
    ],
)
def test_a_number_that_contradicts_another_is_refused(old: bytes, new: bytes, problem: str, tmp_path: Path) -> None:
    path, good = tmp_path / "runs.parquet", written()
    assert old in good
    path.write_bytes(good.replace(old, new))
    with pytest.raises(UnreadableFileError, match=problem):
        parquet_frame(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"PAR1PAR1", "too short"),
        (b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1", "the footer is missing"),
        (with_footer(b""), "a value is longer than the file"),
        (with_footer(b"\x29\xfc\xff\xff\xff\xff\x07\x00"), "a list is longer than the file"),
        (with_footer(b"\x59\xf1\xff\xff\xff\xff\x07\x00"), "a list is longer than the file"),  # in what is passed over
        (with_footer(b"\x5b\xff\xff\xff\xff\x07\x11\x00"), "a value is longer than the file"),
        (with_footer(b"\x16" + b"\xff" * 20), "a number is too long"),
        (with_footer(b"\x1c" * 100), "nested too deeply"),
        (with_footer(b"\x19" * 100), "nested too deeply"),
        (
            with_footer(b"\x29\xfc\xac\x02" + b"\x55\x02\x00" * 300 + b"\x00"),
            "not a tree of columns",
        ),  # each has one child
    ],
)
def test_a_footer_that_is_none_is_refused(content: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(content)
    with pytest.raises(UnreadableFileError, match=problem):
        parquet_frame(tmp_path / "runs.parquet")


def test_a_page_that_expands_without_measure_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    path.write_bytes(written(pl.DataFrame({"task": ["a" * (FREE_BYTES + 1)]})))
    with pytest.raises(InputLimitError, match=EXPANSION.reason):
        parquet_frame(path)


def check_is_too_large(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    with pytest.raises(InputLimitError, match=EXPANSION.reason):
        parquet_frame(path)


def test_values_that_cost_no_bytes_are_refused_by_metadata(tmp_path: Path) -> None:
    for value in ("a", 1.0, None, [], [None]):
        content = written(pl.DataFrame({f"column{n}": pl.repeat([value], 1_200_000, eager=True) for n in range(15)}))
        assert len(content) < 600_000
        check_is_too_large(content, tmp_path / "runs.parquet")


def test_pages_share_what_the_file_may_expand_to(tmp_path: Path) -> None:
    text = "a" * (FREE_BYTES // 4)  # each page alone is small enough
    check_is_too_large(written(pl.DataFrame({f"column{n}": [text] for n in range(5)})), tmp_path / "runs.parquet")


def test_rows_without_columns_are_refused(tmp_path: Path) -> None:
    # root without children, 2^31 rows in one row group without columns
    rows = b"\xff\xff\xff\xff\x1f"
    footer = b"\x29\x1c\x48\x01r\x15\x00\x00" + b"\x16" + rows + b"\x19\x1c\x19\x0c\x26" + rows + b"\x00\x00"
    (tmp_path / "runs.parquet").write_bytes(with_footer(footer))
    with pytest.raises(UnreadableFileError, match="a row group lacks columns or rows"):
        parquet_frame(tmp_path / "runs.parquet")


@pytest.mark.parametrize(
    "column",
    [
        pl.Series(["a" * 10_000] * 3_000),
        pl.Series(["a" * 10_000] * 3_000, dtype=pl.Categorical),
        pl.Series([b"a" * 10_000] * 3_000),
        pl.Series([["a" * 10_000]] * 3_000),
        pl.Series([{"text": [["a" * 10_000]]}] * 3_000),
    ],
    ids=["text", "category", "bytes", "list", "struct"],
)
def test_a_text_that_all_rows_share_counts_for_each(column: pl.Series, tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    path.write_bytes(written(pl.DataFrame({"task": column})))
    assert path.stat().st_size < 20_000
    with pytest.raises(InputLimitError, match=EXPANSION.reason):
        list(parquet_rows(path))


@pytest.mark.parametrize(
    ("command", "name"),
    [("read --json", "task"), ("measure", "task"), ("usage", "task"), ("arena submit", "task")],
)
def test_no_command_reads_a_parquet_bomb(command: str, name: str, tmp_path: Path) -> None:
    path, at = tmp_path / "runs.parquet", []
    path.write_bytes(written(pl.DataFrame({name: pl.repeat("a" * 2_000, 600_000, eager=True)})))
    assert path.stat().st_size < 20_000
    if command.startswith("arena"):
        at = ["--store", f"sqlite:///{tmp_path / 'arena.db'}"]
        assert steelyard("arena", "init", *at).status == 0
    done = steelyard(*command.split(), str(path), *at)
    assert done.status == 1
    assert EXPANSION.reason in done.stdout + done.stderr
