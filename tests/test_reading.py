"""Bad records are named and rejected; good ones go on; nothing is counted twice."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import steelyard as sy
from commands import steelyard
from steelyard.records import (
    RUN_FIELDS,
    DecodeError,
    Missing,
    Rejected,
    content_digest,
    decode_run,
    derived_fields,
    encode_run,
)
from steelyard.sources import LogFormat, head_of, recognized, run_of_row
from steelyard.sources.formats.native_jsonl import read
from steelyard.sources.tables._flat_files import derived_columns
from strategies import run_lists


def write(path: Path, *records: dict[str, Any] | str) -> Path:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def source_of(path: Path) -> LogFormat:
    source = recognized(head_of(path))
    assert source is not None
    return source


GOOD = {"task": "t", "passed": True}


@pytest.mark.parametrize(
    ("record", "reason", "hint"),
    [
        ('{"task": "t", "usge": {}}', "unknown key 'usge'", "'usage'"),
        ('{"task": "t", "usage": {"inptu_tokens": 1}}', "unknown key 'inptu_tokens' in usage", "'input_tokens'"),
        ('{"task": "t", "judgments": [{"judge": "j", "weighted_scor": 1}]}', "in judgments[...]", "weighted_score"),
        ('{"task": "t", "usage": {"input_tokens": -1}}', "usage.input_tokens: expected int >= 0", None),
        ('{"task": "t", "judgments": [{"weighted_score": 1.5}]}', "expected float <= 1.0", None),
        ('{"task": "t", "tier": "T9"}', "tier 'T9' is not in scheme 'spec'", None),
        ('{"task": "t", "components": [{"type": "TOOL_SCHEME"}]}', "TOOL_SCHEME", "'TOOL_SCHEMA'"),
        ('{"task": "t", "outcome": "won"}', "won", "not_scored"),
        ('{"task": "t", "usage": {"x_a": 1}}', "unknown key 'x_a' in usage", "top-level"),
        ('{"task": "t", "started_at": "2026-01-02T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z"}', "before", None),
        ('{"passed": true}', "key 'task' is missing", "'task'"),
        ('{"task": "t", "cost_usd": NaN}', "not JSON", None),
        ('{"task": "t", "cost_usd": 1e999}', "cost_usd", None),
        ('{"task": "t"', "not JSON", None),
        ("[1]", "expected object", None),
        ('{"task": "t", "steps": {"expected": [{"id": "a"}, {"id": "a"}]}}', "duplicate expected step", None),
        (
            '{"task": "t", "judgments": [{"criteria": [{"name": "c", "achieved": 6, "max": 5}]}]}',
            "achieved (6.0) exceeds max (5.0)",
            None,
        ),
    ],
)
def test_a_bad_record_is_named_with_line_reason_and_advice(
    tmp_path: Path, record: str, reason: str, hint: str | None
) -> None:
    path = write(tmp_path / "runs.jsonl", GOOD, record, {"task": "t2"})
    found = list(read(path))
    rejected = [entry for entry in found if isinstance(entry, Rejected)]
    assert len(found) == 3
    assert len(rejected) == 1
    assert rejected[0].line == 2
    assert rejected[0].where == f"{path}:2"
    normal = rejected[0].reason.replace("[0]", "[...]")
    assert reason in normal
    assert hint is None or hint in (rejected[0].hint or "")


def test_good_records_go_on_and_the_exit_status_tells(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", GOOD, '{"task": "t", "usage": {"input_tokens": -5}}', {"task": "u"})
    done = steelyard("measure", str(path), "--json")
    assert done.status == 1
    assert json.loads(done.stdout)["n"] == 2
    assert f"{path}:2" in done.stderr
    assert steelyard("measure", str(path), "--json", "--allow-rejected").status == 0


def test_a_file_of_which_nothing_can_be_used_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", '{"task": 1}')
    done = steelyard("measure", str(path), "--json", "--allow-rejected")
    assert done.status == 1
    error = json.loads(done.stdout)["error"]
    assert error["kind"] == "no_valid_input"
    assert error["where"] == f"{path}:1"


@pytest.mark.parametrize(
    ("column", "cell", "sentence", "hint"),
    [
        ("passed", "yes", "passed: 'yes' is not a boolean", "write true or false (or 1 and 0)"),
        ("success", "ja", "success: 'ja' is not a boolean", "true or false"),
        ("cost_usd", '"0,5"', "cost_usd: '0,5' is not a number", "0.5"),
        ("input_tokens", "1.5", "usage.input_tokens: '1.5' is not an integer", "digits"),
    ],
)
def test_a_cell_that_is_no_flag_or_number_is_shown_with_what_may_stand_there(
    tmp_path: Path, column: str, cell: str, sentence: str, hint: str
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"task,{column}\nt,{cell}\n", encoding="utf-8")
    (rejected,) = sy.read(path).rejected
    assert rejected.reason == sentence
    assert hint in (rejected.hint or "")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_are_separated_as_spreadsheets_write_them(tmp_path: Path, separator: str) -> None:
    rows = [["id", "task", "passed", "impl_rate"], ["a", "t", "true", "0.5"], ["b", f'"one{separator}two"', "0", ""]]
    path = tmp_path / "runs.csv"
    path.write_text("".join(separator.join(row) + "\n" for row in rows), encoding="utf-8")
    table = sy.read(path)
    assert not table.rejected
    assert table.frame.collect().select("id", "task", "passed", "stated_impl_rate").rows() == [
        ("a", "t", True, 0.5),
        ("b", f"one{separator}two", False, None),
    ]


def test_a_json_array_of_records_reads_as_its_lines_would(tmp_path: Path) -> None:
    records = [{**GOOD, "id": "a"}, {"id": "b"}, {"task": "u", "id": "c", "x_mine": [1]}]
    array = tmp_path / "arr.json"
    array.write_text(json.dumps(records, indent=2), encoding="utf-8")
    table = sy.read(array)
    assert table.frame.collect()["id"].to_list() == ["a", "c"]
    assert [(one.where, one.reason) for one in table.rejected] == [(f"{array}:2", "key 'task' is missing")]
    array.write_text(json.dumps(records, indent=2)[:-9], encoding="utf-8")
    (cut,) = sy.read(array).rejected
    assert "not JSON" in cut.reason
    assert "one record per line" in (cut.hint or "")


@pytest.mark.parametrize("command", [["measure"], ["read"], ["rank", "--by", "agent"], ["judges"]])
def test_a_dash_reads_what_is_piped_in(command: list[str]) -> None:
    judged = [{"judge": name, "weighted_score": 0.5} for name in "jk"]
    good = [
        {"id": f"{n}", "task": f"t{n // 2}", "agent": f"{n % 2}", "passed": True, "judgments": judged} for n in range(8)
    ]
    text = "".join(json.dumps(record) + "\n" for record in good) + '{"task": 7}\n'
    done = steelyard(*command, "-", "--json", stdin=text)
    assert done.status == 1, done.stderr
    assert "stdin:9" in done.stdout
    assert "expected str" in done.stdout
    assert "error" not in json.loads(done.stdout)


def test_nothing_piped_in_is_an_error() -> None:
    done = steelyard("measure", "-", stdin="")
    assert done.status == 1
    assert "stdin: the file is empty" in done.stderr


def test_a_truncated_last_line_is_detected(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"task": "t"}\n{"task": "t", "cost_us')
    rejected = [entry for entry in read(path) if isinstance(entry, Rejected)]
    assert [entry.reason for entry in rejected] == ["the file ends within this record"]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(made=run_lists, data=st.data())
def test_a_file_cut_at_any_byte_gives_a_true_prefix(made: list[sy.Run], data: st.DataObject, tmp_path: Path) -> None:
    whole = b"".join(encode_run(run) + b"\n" for run in made)
    path = tmp_path / "cut.jsonl"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    found = list(read(path))
    accepted = [entry.run for entry in found if not isinstance(entry, Rejected)]
    assert accepted == made[: len(accepted)]
    assert len(found) - len(accepted) <= 1


@given(made=run_lists)
@settings(max_examples=40, deadline=None)
def test_writing_and_reading_a_run_gives_it_back(made: list[sy.Run]) -> None:
    for run in made:
        assert decode_run(encode_run(run)) == run


def test_keys_of_the_users_own_are_kept() -> None:
    run = decode_run(b'{"task": "t", "x_team": {"a": [1]}, "x_note": "hi"}')
    assert run.extra == {"x_team": {"a": [1]}, "x_note": "hi"}
    assert json.loads(encode_run(run)) == {"task": "t", "x_team": {"a": [1]}, "x_note": "hi"}
    with pytest.raises(DecodeError):
        decode_run(b'{"task": "t", "x_": {}}')


def test_the_same_id_with_the_same_content_counts_once(tmp_path: Path) -> None:
    record = {"id": "a", "task": "t", "passed": True}
    result = sy.measure(write(tmp_path / "runs.jsonl", record, record, {"id": "b", "task": "t"}))
    assert result.n == 2
    assert [finding.code for finding in result.findings if finding.code == "repeated"] == ["repeated"]
    assert result.rejected_count == 0


def test_the_same_id_with_other_content_is_refused(tmp_path: Path) -> None:
    path = write(
        tmp_path / "runs.jsonl", {"id": "a", "task": "t", "passed": True}, {"id": "a", "task": "t", "passed": False}
    )
    result = sy.measure(path)
    assert result.n == 1
    assert result.groups[0].metrics["pass_rate"].mean == 1.0  # type: ignore[union-attr]
    assert [finding.where for finding in result.findings if finding.severity == "error"] == [f"{path}:2"]
    assert steelyard("measure", str(path)).status == 1


def test_records_without_an_id_get_one_from_their_content(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", GOOD, {"task": "u"})
    ids = [sy.read(path).frame.collect()["id"].to_list() for _ in range(2)]
    assert ids[0] == ids[1]
    assert ids[0][0] == content_digest(decode_run(json.dumps(GOOD).encode())).hex()


def test_equal_records_without_an_id_are_attempts_of_their_own(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", *[GOOD] * 8, *[{"task": "t", "passed": False}] * 2)
    table = sy.read(path)
    assert table.n == 10
    assert table.frame.collect()["id"].n_unique() == 10


def test_splitting_records_without_an_id_over_files_does_not_matter(tmp_path: Path) -> None:
    together = write(tmp_path / "all.jsonl", GOOD, {"task": "u", "passed": False}, GOOD)
    apart = [write(tmp_path / "1.jsonl", GOOD, {"task": "u", "passed": False}), write(tmp_path / "2.jsonl", GOOD)]
    assert sy.read(together).n == sy.read(apart).n == 3
    assert sorted(sy.read(together).frame.collect()["id"]) == sorted(sy.read(apart).frame.collect()["id"])


def test_a_record_and_its_copy_with_the_id_it_got_are_the_same_run(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", GOOD, {"task": "u"})
    for name in ("copy.jsonl", "copy.csv", "copy.parquet"):
        copy = tmp_path / name
        assert steelyard("read", str(path), "--out", str(copy), "--quiet").status == 0
        table = sy.read([path, copy])
        assert (table.n, table.rejected_count) == (2, 0)


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "nan"])
def test_a_number_that_is_not_finite_is_refused(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(f"task,cost_usd\nt,{cell}\nt,1\n", encoding="utf-8")
    assert (sy.read(path).n, sy.read(path).rejected_count) == (1, 1)
    flat = tmp_path / "runs.parquet"
    pl.DataFrame({"task": ["t", "t"], "cost_usd": [float(cell), 1.0]}).write_parquet(flat)
    assert (sy.read(flat).n, sy.read(flat).rejected_count) == (1, 1)


def test_the_same_file_given_twice_counts_once(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", GOOD, GOOD)
    copy = write(tmp_path / "copy.jsonl", GOOD, GOOD)
    assert sy.read([path, copy]).n == 2


def test_csv_reads_like_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(
        "id,task,tier,passed,cost_usd,input_tokens,usage.output_tokens,tests.failed,judgments,x_team\n"
        'a,t,T1,true,0.5,10,20,0,"[{""judge"": ""j"", ""weighted_score"": 0.5}]",blue\n'
        "b,t,T1,,,,,,,\n",
        encoding="utf-8",
    )
    assert source_of(path).name == "runs-csv"
    first, second = (entry.run for entry in source_of(path).read(path))  # type: ignore[union-attr]
    expected = (
        b'{"id":"a","task":"t","tier":"T1","passed":true,"cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":20},'
        b'"tests":{"failed":0},"judgments":[{"judge":"j","weighted_score":0.5}],"x_team":"blue"}'
    )
    assert first == decode_run(expected)
    assert second == sy.Run(id="b", task="t", tier="T1")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("task,tire\nt,T0\n", "unknown column 'tire'"),
        ("task,passed\nt\n", "the row has 1 cells"),
        ("task,cost_usd\nt,-1\n", "cost_usd"),
        ("task,task\nt,t\n", "duplicate column"),
    ],
)
def test_bad_csv_is_named(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text, encoding="utf-8")
    table = sy.read(path)
    assert table.n == 0
    assert reason in table.rejected[0].reason


FLAT = {
    "id": ["a", "b", "c", "d"],
    "task": ["t", "t", "u", "u"],
    "tier": ["T0", "T1", "T0", "T1"],
    "model": ["claude-sonnet-4-20250514"] * 4,
    "passed": [True, False, None, None],
    "outcome": [None, None, "passed", "errored"],
    "impl_rate": [0.5, 1.0, None, 0.25],
    "cost_usd": [0.5, None, None, 0.0],
    "started_at": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z", None, "2026-01-01T00:00:00Z"],
    "ended_at": ["2026-01-01T00:01:00Z", "2026-01-01T00:00:01Z", "2026-01-01T00:00:00Z", None],
    "input_tokens": [10, 20, None, 40],
    "output_tokens": [1, 2, None, None],
    "tests.passed": [3, None, None, 1],
    "tests.failed": [0, None, None, 2],
}


def flat_frame() -> pl.DataFrame:
    times = [pl.col(name).str.to_datetime(time_unit="us", time_zone="UTC") for name in ("started_at", "ended_at")]
    return pl.DataFrame(FLAT).with_columns(times)


def test_flat_parquet_and_json_lines_give_the_same_numbers(tmp_path: Path) -> None:
    flat = tmp_path / "runs.parquet"
    flat_frame().write_parquet(flat)
    source = source_of(flat)
    lines = [encode_run(entry.run) for entry in source.read(flat)]  # type: ignore[union-attr]
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    from_columns, from_records = sy.measure(flat, by=["tier"]).to_dict(), sy.measure(path, by=["tier"]).to_dict()
    assert from_columns == from_records


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _declared_type(column: str) -> type[pl.DataType]:
    kinds = {name: fact.kind for fact in RUN_FIELDS.values() if fact.flat for name in fact.flat.columns}
    kinds |= {"passed": "bool", "outcome": "str"}
    return {"str": pl.String, "bool": pl.Boolean, "int": pl.Int64, "float": pl.Float64}[kinds[column]]


def flat_values(column: str) -> st.SearchStrategy[Any]:
    known = {
        "tier": st.just("T1"),
        "tier_scheme": st.just("spec"),
        "outcome": st.sampled_from(["passed", "failed", "errored", "not_scored"]),
        "started_at": st.integers(-(10**15), 0).map(lambda n: EPOCH + timedelta(microseconds=n)),
        "ended_at": st.integers(0, 10**15).map(lambda n: EPOCH + timedelta(microseconds=n)),
        "passed": st.booleans(),
        "success": st.booleans(),
        "weak_check": st.booleans(),
        "weak_timing": st.booleans(),
        "impl_rate": st.floats(0, 1),
        "cost_usd": st.floats(0, 1e6),
    }
    is_text = _declared_type(column) is pl.String
    return known.get(column, st.text("abc", min_size=1) if is_text else st.integers(1, 10**9))


FLAT_COLUMNS = sorted({name for fact in RUN_FIELDS.values() if fact.flat for name in (*fact.flat.columns, "task")})


def with_valid_counts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with both counts of tasks, the smaller one as passed, or with neither."""
    names = [name for name in ("task_counts.passed", "task_counts.total") if name in row]
    counts = [row[name] for name in names]
    valid = sorted(counts) if len(counts) == 2 and None not in counts else [None] * len(counts)
    return row | dict(zip(names, valid, strict=True))


@given(
    rows=st.lists(
        st.fixed_dictionaries({name: st.none() | flat_values(name) for name in FLAT_COLUMNS if name != "task"}),
        min_size=1,
        max_size=4,
    ),
    left_out=st.sets(st.sampled_from([name for name in FLAT_COLUMNS if name != "task"])),
)
@settings(max_examples=80)
def test_every_fact_of_flat_columns_is_that_of_the_record(rows: list[dict[str, Any]], left_out: set[str]) -> None:
    stated = [{name: value for name, value in row.items() if name not in left_out} for row in rows]
    rows = [{"task": "t", **with_valid_counts(row)} for row in stated]
    moments = {name: pl.Datetime("us", "UTC") for name in ("started_at", "ended_at") if name not in left_out}
    types = {name: moments.get(name) or _declared_type(name) for name in rows[0]}
    found = derived_columns(pl.DataFrame(rows, schema=types).lazy().with_row_index("_row")).collect()
    for row, told in zip(rows, found.iter_rows(named=True), strict=True):
        expected = derived_fields(run_of_row(row, from_text=False))
        for name, fact in RUN_FIELDS.items():
            if fact.flat is not None:
                value = expected[name]
                assert told.get(name) == (None if isinstance(value, Missing) else value), name


def test_a_bad_row_of_a_flat_file_is_set_aside_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    bad = flat_frame().with_columns(pl.Series("impl_rate", [0.5, 7.0, float("nan"), -0.1]))
    bad.write_parquet(path)
    table = sy.read(path)
    assert table.n == 1
    assert sorted(rejected.line or 0 for rejected in table.rejected) == [2, 3, 4]


@pytest.mark.parametrize("schemes", [None, ["spec", "ours", None]])
def test_a_wrong_tier_of_a_flat_file_is_set_aside(tmp_path: Path, schemes: list[str | None] | None) -> None:
    path = tmp_path / "runs.parquet"
    frame = pl.DataFrame({"task": ["t", "u", "v"], "tier": ["T9", "gold" if schemes else "T1", "T0"]})
    if schemes:
        frame = frame.with_columns(pl.Series("tier_scheme", schemes))
    frame.write_parquet(path)
    table = sy.read(path)
    assert table.n == 2
    assert [(rejected.line, rejected.reason) for rejected in table.rejected] == [
        (1, "tier 'T9' is not in scheme 'spec' (T0 to T6)")
    ]


def test_ids_are_unique_across_formats(tmp_path: Path) -> None:
    flat = tmp_path / "runs.parquet"
    pl.DataFrame({"id": ["a", "b"], "task": ["t", "t"], "passed": [True, True]}).write_parquet(flat)
    lines = write(
        tmp_path / "runs.jsonl", {"id": "a", "task": "t", "passed": True}, {"id": "b", "task": "t", "passed": False}
    )
    table = sy.read([flat, lines])
    assert table.n == 2
    assert [rejected.where for rejected in table.rejected] == [f"{flat}:2"] or [
        rejected.where for rejected in table.rejected
    ] == [f"{lines}:2"]


@pytest.mark.parametrize("place", [4, 40, 200, -9, -40, -200])
def test_a_broken_parquet_file_is_refused_by_name_or_read(tmp_path: Path, place: int) -> None:
    path = tmp_path / "runs.parquet"
    flat_frame().write_parquet(path)
    broken = bytearray(path.read_bytes())
    broken[place] ^= 0xFF
    path.write_bytes(bytes(broken))
    table = sy.read(path)
    assert table.n == 4 or table.rejected[0].path == str(path)


def test_nested_parquet_reads_as_records(tmp_path: Path) -> None:
    path = tmp_path / "runs.parquet"
    nested = [{"task": "t", "judgments": [{"judge": "j", "weighted_score": 0.5}], "steps": {"achieved": ["a"]}}]
    pl.DataFrame(nested).write_parquet(path)
    table = sy.read(path)
    assert table.frame.collect()["weighted_score"].to_list() == [0.5]


def test_files_that_are_no_runs_are_refused_by_name(tmp_path: Path) -> None:
    strange, empty = tmp_path / "strange.bin", tmp_path / "empty"
    strange.write_bytes(b"\x00\x01\x02")
    empty.write_bytes(b"")
    table = sy.read([strange, empty, tmp_path])  # the folder holds nothing else
    assert table.n == 0
    assert [Path(rejected.path).name for rejected in table.rejected] == [
        "strange.bin",
        "empty",
    ]


def test_many_rows_spill_to_disk_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.sources.tables._spool.SPILL_ROWS", 40)
    monkeypatch.setattr("steelyard.sources.tables._run_table.BATCH_ROWS", 15)
    path = write(
        tmp_path / "runs.jsonl",
        *[{"id": f"{n}", "task": "t", "tier": f"T{n % 7}", "passed": n % 3 == 0} for n in range(100)],
    )
    table = sy.read(path)
    assert table.folders
    assert table.n == 100
    assert sum(group.n for group in sy.measure(table, by=["tier"]).groups) == 100


@pytest.mark.long
def test_a_million_lines_with_three_bad_ones(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1_000_000):
            if number == 10:
                file.write('{"task": broken}\n')
            elif number == 500_000:
                file.write('{"task": "t", "usage": {"input_tokens": -1}}\n')
            elif number == 999_998:
                file.write('{"task": "t", "costt_usd": 1}\n')
            else:
                passed = "true" if number % 3 else "false"
                file.write(
                    f'{{"id": "r{number}", "task": "t{number % 50}", "tier": "T{number % 7}", "passed": {passed}, '
                    f'"impl_rate": 0.{number % 10}, "cost_usd": 0.{number % 97}, '
                    f'"usage": {{"input_tokens": {number}, "output_tokens": {number % 1000}}}}}\n'
                )
    done = steelyard("measure", str(path), "--by", "tier", "--json")
    assert done.status == 1
    result = json.loads(done.stdout)
    assert result["n"] == 999_997
    (finding,) = [one for one in result["findings"] if one["code"] == "invalid_record"]
    bad = {place["where"]: place.get("message", finding["message"]) for place in finding["places"]}
    assert set(bad) == {f"{path}:{line}" for line in (11, 500_001, 999_999)}
    assert "not JSON" in bad[f"{path}:11"]
    assert "input_tokens" in bad[f"{path}:500001"]
    assert "cost_usd" in bad[f"{path}:999999"]


@pytest.mark.parametrize("folder", [".git", ".hg", "node_modules", "__pycache__", ".venv"])
def test_what_tools_keep_for_themselves_in_a_folder_is_not_read(folder: str, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / folder, tmp_path / "logs"):
        place.mkdir(exist_ok=True)
        (place / "runs.jsonl").write_text(json.dumps({"task": str(place)}) + "\n", encoding="utf-8")
    assert sy.read(tmp_path).n == 2
