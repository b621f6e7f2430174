"""What a mapping makes of cells and values, and what it says of those that it cannot use."""

from __future__ import annotations

import json
import re
import time
import tomllib
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import MappingError, UnreadableFileError
from steelyard.records import Finding, Rejected, Run
from steelyard.sources import (
    MappedRun,
    PlacedRun,
    gather,
    load_mapping,
    mapping_of,
    mapping_schema,
    read_mapped,
    shipped_mappings,
)


def mapping(run: dict[str, Any], **parts: Any) -> Any:  # Any: TOML values
    rows = {"format": "csv", **parts.pop("rows", {})}
    return mapping_of({"mapping": 1, "name": "m", "rows": rows, "run": {"task": {"value": "t"}, **run}, **parts})


def items(path: Path, *args: Any, **parts: Any) -> list[Any]:  # Any: TOML values, what reading gives
    return list(read_mapped(path, mapping(*args, **parts)))


def of_cell(tmp_path: Path, cell: str, field: str, spec: Any, **numbers: str) -> Any:  # Any: TOML values
    """What a cell becomes: the field's value, or the reason why the row is rejected."""
    path = tmp_path / "cell.csv"
    quoted = cell.replace('"', '""')
    path.write_text(f'c,other\n"{quoted}",x\n', encoding="utf-8")
    given = {"from": "c", **spec} if isinstance(spec, dict) else spec
    (item,) = items(path, {field: given}, numbers=numbers)
    if isinstance(item, Rejected):
        return item.reason
    return item.run.extra[field] if field.startswith("x_") else getattr(item.run, field)


NUMBERS = [
    ("1234.5", {}, 1234.5),
    ("1,234.50", {}, 1234.5),
    ("$1,234.50", {}, 1234.5),
    ("1234,5", {"decimal": ",", "thousands": "."}, 1234.5),
    ("1.234,50 USD", {"decimal": ",", "thousands": "."}, 1234.5),
    ("1 234,50", {"decimal": ",", "thousands": " "}, 1234.5),
    ("45k", {}, 45_000.0),
    ("1.2M", {}, 1_200_000.0),
    ("1e-3", {}, 0.001),
    ("−3", {}, "cost_usd: expected float >= 0.0 (c: '-3')"),  # noqa: RUF001 # a minus as sheets have it
    ("12,5", {}, "c: '12,5' is not a number"),  # groups of digits are of three, so this is another decimal sign
    ("0,109", {}, "c: '0,109' is not a number"),  # nor does a group begin with 0
    ("3 €", {}, "c: '3 €' is not in USD"),
    ("many", {}, "c: 'many' is not a number"),
    ("inf", {}, "c: 'inf' is not a number"),
    ("1e999", {}, "c: the number is too large"),
    ("n/a", {}, None),
    ("", {}, None),
]


@pytest.mark.parametrize(("cell", "numbers", "expected"), NUMBERS)
def test_numbers_are_read_as_people_write_them(
    tmp_path: Path, cell: str, numbers: dict[str, str], expected: Any
) -> None:
    value = of_cell(tmp_path, cell, "cost_usd", {}, **numbers)
    assert value == expected or (isinstance(expected, str) and str(value).startswith(expected[:20]))


@pytest.mark.parametrize(
    ("cell", "spec", "seconds"),
    [
        ("90", {}, 90.0),
        ("1.5", {"unit": "min"}, 90.0),
        ("250", {"unit": "ms"}, 0.25),
        ("3 min 20s", {"unit": "h"}, 200.0),  # the unit in the cell wins
        ("1h 2m", {}, 3720.0),
        ("90 s", {}, 90.0),
        ("250ms", {}, 0.25),
        ("1:02:03", {}, 3723.0),
        ("1:30", {"clock": "m:ss"}, 90.0),
        ("1:30", {"clock": "h:mm"}, 5400.0),
        ("1:30", {}, "c: '1:30' is ambiguous"),
    ],
)
def test_durations(tmp_path: Path, cell: str, spec: dict[str, str], seconds: Any) -> None:
    assert of_cell(tmp_path, cell, "duration_seconds", spec) == seconds


def test_a_rate_makes_dollars_of_other_money(tmp_path: Path) -> None:
    assert of_cell(tmp_path, "3 €", "cost_usd", {"times": 1.5}) == 4.5


def test_percent_is_rounded_once(tmp_path: Path) -> None:
    assert of_cell(tmp_path, "87.3", "impl_rate", {"unit": "percent"}) == 0.873  # 87.3 * 0.01 is 0.8730000000000001
    assert of_cell(tmp_path, "7 %", "impl_rate", {}) == 0.07
    assert "impl_rate: expected float <= 1.0 (c: '87.3')" in of_cell(tmp_path, "87.3", "impl_rate", {})


@pytest.mark.parametrize(
    ("cell", "spec", "expected"),
    [
        ("2026-03-01T10:00:00+02:00", {}, datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01 10:00", {"zone": "Europe/Berlin"}, datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("01.03.2026", {"format": "%d.%m.%Y"}, datetime(2026, 3, 1, tzinfo=UTC)),
        ("1767323045", {}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("1767323045000", {}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("1767323045000000", {}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("1767323045000000000", {}, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("tomorrow", {}, "c: 'tomorrow' is not a time in a known format"),
    ],
)
def test_times(tmp_path: Path, cell: str, spec: dict[str, str], expected: Any) -> None:
    assert of_cell(tmp_path, cell, "started_at", spec) == expected


@pytest.mark.parametrize(
    ("cell", "spec", "expected"),
    [
        ("Pass", {}, True),
        ("✗", {}, False),
        ("0", {}, False),
        ("maybe", {}, "c: 'maybe' is not a boolean"),
        ("maybe", {"words": {"maybe": False}}, False),
        ("other", {"words": {"maybe": False}}, "c: 'other' is not in words"),
        ("other", {"words": {"maybe": False, "*": True}}, True),
        ("0.7", {"at_least": 0.5}, True),
        ("", {"default": True}, True),
    ],
)
def test_flags(tmp_path: Path, cell: str, spec: dict[str, Any], expected: Any) -> None:
    assert of_cell(tmp_path, cell, "passed", spec) == expected


def test_own_fields_have_the_kind_that_is_asked_for(tmp_path: Path) -> None:
    assert of_cell(tmp_path, "007", "x_n", {}) == "007"
    assert of_cell(tmp_path, "007", "x_n", {"as": "int"}) == 7
    assert of_cell(tmp_path, "yes", "x_n", {"as": "bool"}) is True
    assert of_cell(tmp_path, '[1, "a"]', "x_n", {"as": "json"}) == [1, "a"]


def test_a_word_for_missing_is_a_value_in_json(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"m": "none"}\n{"m": ""}\n{"m": null}\n', encoding="utf-8")
    models = [item.run.model for item in items(path, {"model": "m"}, rows={"format": "jsonl"})]
    assert models == ["none", None, None]


def test_paths_lead_through_lists_keys_with_dots_and_indices(tmp_path: Path) -> None:
    path = tmp_path / "row.json"
    path.write_text('{"a.b": {"c": ["x", "y"]}, "t": [{"n": 1}, {"n": 2}, {}], "f": ["p", "q"]}', encoding="utf-8")
    fields = {
        "model": '"a.b".c[-1]',
        "tool_calls": {"from": "t[*].n", "take": "sum"},
        "files_created": "f[*]",
        "tests": {"passed": "f[*]", "failed": "t[0].n"},
        "x_mean": {"from": "t[*].n", "take": "mean", "as": "float"},
        "x_count": {"from": "t[*].n", "take": "count", "as": "int"},
        "x_first": "t[0]",
    }
    (item,) = items(path, fields, rows={"format": "json", "at": ""})
    run: Run = item.run
    assert (run.model, run.tool_calls, run.files_created) == ("y", 3, ("p", "q"))
    assert run.tests is not None
    assert (run.tests.passed, run.tests.failed) == (("p", "q"), 1)
    assert run.extra == {"x_mean": 1.5, "x_count": 2, "x_first": {"n": 1}}


def test_what_is_set_aside_names_line_column_and_value_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("Task,Cost\na,1\nb,much\nc,2,3\n\nd,4\n", encoding="utf-8")
    read = items(path, {"task": "Task", "cost_usd": "Cost"})
    assert [item.run.task for item in read if isinstance(item, MappedRun)] == ["a", "d"]
    reasons = {item.where: item.reason for item in read if isinstance(item, Rejected)}
    assert reasons == {
        f"{path}:3": "Cost: 'much' is not a number",
        f"{path}:4": "the row has 3 cells, but the header has 2",
    }


def test_a_row_without_a_task_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("Task,Cost\n,1\n", encoding="utf-8")
    (rejected,) = items(path, {"task": "Task"})
    assert rejected.reason == "key 'task' is missing"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"run": {"tsk": "a"}}, "unknown field 'tsk' in run"),
    ({"run": {"task": "a", "passed": {"form": "x"}}}, "unknown field 'form'"),
    ({"rows": {"format": "xlsx"}}, "Invalid enum value 'xlsx'"),
    ({"run": {"task": {"from": "a", "value": "b"}}}, "got from and value"),
    ({"run": {"task": {"words": {"a": "b"}}}}, "got none"),
    ({"numbers": {"decimal": ",", "thousands": ","}}, "decimal and thousands must differ (both are ',')"),
    ({"mapping": 2}, "Invalid enum value 2"),
    ({"name": "two words"}, "regex"),
    ({"extra_files": {"doc": "x.json"}}, "'doc' is not a valid name"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD)
def test_a_mapping_that_cannot_be_used_says_what_is_wrong(wrong: dict[str, Any], message: str) -> None:
    right = {"mapping": 1, "name": "m", "rows": {"format": "csv"}, "run": {"task": "a"}}
    with pytest.raises(MappingError, match=message.replace("(", ".").replace(")", ".").replace("[", ".")):
        mapping_of({**right, **wrong})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "$stam"}, r"starts with the unknown variable \$stam"),
        ({"model": "$column"}, r"\$column needs rows.columns"),
        ({"model": {"from": "a", "pattern": "("}}, "not a valid regular expression"),
        ({"started_at": {"from": "a", "zone": "Mars/North"}}, "unknown time zone"),
        ({"cost_usd": {"from": "a", "take": "sum"}}, "take needs several values"),
        ({"cost_usd": {"from": "a", "as": "float"}}, "only for custom fields"),
        ({"attempt": "$index"}, r"\$index is not available here"),
        ({"judgments": [{"each": "a[*]", "judge": "b"}]}, "is only for JSON: a CSV cell has one value"),
    ],
)
def test_fields_that_cannot_be_read_are_refused_before_the_file_is(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(MappingError, match=message):
        items(tmp_path / "not-there.csv", fields)


@pytest.mark.parametrize("path", ["a[", "a..b", "a[x]", ".a", 'a"b', "a." * 60 + "a"])
def test_what_is_no_path_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(MappingError, match="is not a path"):
        items(tmp_path / "not-there.json", {"model": path}, rows={"format": "json"})


def test_several_values_without_a_way_to_make_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MappingError, match=r"\[\*\] selects several values"):
        items(tmp_path / "not-there.json", {"cost_usd": "calls[*].cost"}, rows={"format": "json"})


def test_a_column_that_is_not_there_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("Task,Cost USD,Cost USD\na,1,2\n", encoding="utf-8")
    with pytest.raises(UnreadableFileError, match="unknown column 'Tsk'") as refused:
        items(path, {"task": "Tsk"})
    assert refused.value.hint == "did you mean 'Task'?"
    with pytest.raises(UnreadableFileError, match="duplicate column 'Cost USD'"):
        items(path, {"cost_usd": "Cost USD"})


def json_lines(path: Path, rows: list[dict[str, Any]]) -> Path:  # Any: JSON
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


JSON_LINES = {"rows": {"format": "jsonl"}}


def test_a_task_that_no_row_has_is_named_with_the_nearest(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "runs.jsonl", [{"job": "a", "cost": 1}, {"job": "b", "cost": 2}])
    with pytest.raises(UnreadableFileError, match=r"no row has 'jobb' \(mapped to task\)") as told:
        items(path, {"task": "jobb"}, **JSON_LINES)
    assert told.value.hint == "did you mean 'job'?"


def test_another_path_that_no_row_has_is_told_where_a_key_is_near(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "runs.jsonl", [{"job": "a", "cost": 1}, {"job": "b", "cost": 2}])
    read = items(path, {"task": "job", "cost_usd": "csot", "model": "llm"}, **JSON_LINES)
    assert [item.message for item in read if isinstance(item, Finding)] == ["no row has 'csot'; did you mean 'cost'?"]
    later = json_lines(tmp_path / "later.jsonl", [{"job": "a", "cost": 1}, {"job": "b", "cost": 2, "csot": 3}])
    assert not [
        item for item in items(later, {"task": "job", "cost_usd": "csot"}, **JSON_LINES) if isinstance(item, Finding)
    ]


def test_parts_of_a_list_are_only_those_that_meet_when(tmp_path: Path) -> None:
    steps = [{"kind": "llm", "in": 5, "out": 7}, {"kind": "tool", "in": "none"}, {"kind": "llm", "in": 1, "out": 2}]
    path = json_lines(tmp_path / "runs.jsonl", [{"job": "a", "steps": steps}, {"job": "b", "steps": []}])
    tokens = {"input_tokens": "in", "output_tokens": "out"}
    calls = [{"each": "steps[*]", "when": {"kind": "llm"}, "usage": tokens}]
    first, second = items(path, {"task": "job", "calls": calls}, **JSON_LINES)
    assert [call.usage.input_tokens for call in first.run.calls] == [5, 1]
    assert second.run.calls is None


def test_a_mapping_without_a_task_is_refused(tmp_path: Path) -> None:
    bare = mapping_of({"mapping": 1, "name": "m", "rows": {"format": "csv"}, "run": {"model": "a"}})
    with pytest.raises(MappingError, match=r"run\.task is missing"):
        list(read_mapped(tmp_path / "x.csv", bare))


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(Exception, match="did you mean 'evalplus'"):
        load_mapping("evalpuls")


def test_a_pattern_is_never_tried_on_a_long_cell(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "a" * 100_000 + "!\n", encoding="utf-8")
    started = time.process_time()
    (rejected,) = items(path, {"model": {"from": "a", "pattern": ".*a.*a.*a.*a.*b"}})  # n to the fifth steps
    assert "not a string of at most 1,024 characters" in rejected.reason
    assert time.process_time() - started < 5


@pytest.mark.parametrize("pattern", ["(a+)+b", "(?:a*)*$", "((a+))*", "(x(a+)y)+", "(?P<n>a+)+", "(a{2,})+", "([+]+)*"])
def test_a_pattern_that_some_texts_make_endless_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(MappingError, match="nested repetition"):
        items(tmp_path / "not-there.csv", {"model": {"from": "a", "pattern": pattern}})


@pytest.mark.parametrize(
    "pattern", ["(a+)b", "(a++)+b", "(?>a+)*", "([+*]*)", r"\(a+\)+", "(ab)+c+", "(a|b)+", "[]+]+(a)*", "(a{2})+"]
)
def test_harmless_patterns_are_taken(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(FileNotFoundError):
        items(tmp_path / "not-there.csv", {"model": {"from": "a", "pattern": pattern}})


def test_deep_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" * 100_000 + "]" * 100_000, encoding="utf-8")
    with pytest.raises(UnreadableFileError, match="nested too deeply"):
        items(path, {}, rows={"format": "json"})


def test_a_file_larger_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_MAX_FILE_BYTES", "10")
    for name, rows in (("rows.json", {"format": "json"}), ("rows.jsonl", {"format": "jsonl"})):
        path = tmp_path / name
        path.write_text('[{"a": "0123456789"}]', encoding="utf-8")
        with pytest.raises(UnreadableFileError, match="larger than 10 bytes"):
            items(path, {}, rows=rows, group={"by": "a"})  # lines that are grouped are kept, so they are bounded too


def test_a_file_beside_is_never_looked_for_outside_an_archive(tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text('{"model": "stolen"}', encoding="utf-8")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("results/x.json", '[{"task": "t"}]')
        archive.writestr("meta.json", '{"model": "inside"}')
    for place, expected, reason in (
        ("../meta.json", "inside", ""),
        ("../../secret.json", None, "extra file '../../secret.json' is outside the archive"),
        ("/etc/hostname", None, "extra file '/etc/hostname' is an absolute path"),
    ):
        given = mapping({"model": "$m.model"}, rows={"format": "json", "files": "x.json"}, extra_files={"m": place})
        read = list(gather([tmp_path / "a.zip"], mapping=given))
        models = [item.run.model for item in read if isinstance(item, PlacedRun)]
        assert models == ([expected] if expected else [])
        assert expected or reason in read[0].reason


DOCS = Path(__file__).parent.parent / "docs" / "mappings.md"
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_mapping_in_the_documentation_can_be_used(tmp_path: Path, example: str) -> None:
    given = mapping_of(tomllib.loads(example))
    with pytest.raises((FileNotFoundError, UnreadableFileError)):  # the mapping is fine, the file is not there
        list(read_mapped(tmp_path / "not-there", given))


@pytest.mark.checkout
def test_the_documentation_names_every_key_and_every_shipped_mapping() -> None:
    text = DOCS.read_text(encoding="utf-8")
    definitions = mapping_schema()["$defs"]
    keys = [key for name in ("Field", "Rows", "Numbers") for key in definitions[name]["properties"]]
    assert [key for key in (*keys, *shipped_mappings()) if f"`{key}`" not in text] == []


def test_the_schema_has_every_field_of_a_run_with_its_meaning() -> None:
    definitions = mapping_schema()["$defs"]
    fields = definitions["RunFields"]["properties"]
    missing = set(Run.__struct_encode_fields__) - set(fields)
    assert missing == {"x_", "source", "provenance"}
    assert fields["cost_usd"]["description"].startswith("Cost reported by the tool")
    assert all("description" in part for part in definitions["Field"]["properties"].values())
    assert definitions["RunFields"]["patternProperties"].keys() == {"^x_.+"}
