"""What holds of every mapping and every suggestion, whatever the file."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings, strategies as st

from steelyard.errors import UnreadableFileError
from steelyard.records import Rejected
from steelyard.sources import MappedRun, mapping_of, read_mapped, suggest

_CELLS = """|  |n/a|-|pass|FAIL|✓|timeout|1|0|1.0|12,5|1,234.50|$3|2 €|87 %|45k|1:30|1:02:03|3 min 20s|90s|2026-03-01|
2026-03-01T10:00:00Z|1767323045|01.03.2026 10:00|model-a|NaN|inf|-5|1e999|true|{|#|"quoted"|a
b"""
_NAMES = """Task ID|task|Model|Agent|Result|Score %|Cost ($)|Duration (min)|Tokens in|Started|tokens_out|latencyMs|id|
Comment|odd "name"|a.b|$ cost|$cost|a b|a_b|Run 1|Run 2|A run 1|A run 2|B try 1|B try 2|x
y|passed|Attempt"""
_KEYS = "id task model resolved score cost usage prompt_tokens latencyMs a.b $x"
CELLS = st.one_of(
    st.sampled_from([*_CELLS.split("|"), "a" * 2000, "\x7f", "\u2028"]),
    st.text(max_size=12),
    st.integers(-10, 10**6).map(str),
    st.floats(0, 100, allow_nan=False).map(str),
)
HEADERS = st.lists(st.sampled_from(_NAMES.split("|")), min_size=2, max_size=8, unique=True)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 10**7), st.floats(0, 2, allow_nan=False), CELLS)
KEYS = st.sampled_from(_KEYS.split())
OBJECTS = st.dictionaries(KEYS, st.one_of(SCALARS, st.dictionaries(KEYS, SCALARS, max_size=3)), max_size=6)


@st.composite
def tables(draw: st.DrawFn) -> str:
    header = draw(HEADERS)
    rows = draw(st.lists(st.lists(CELLS, min_size=len(header), max_size=len(header)), min_size=1, max_size=12))
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", delimiter=draw(st.sampled_from([",", ";"]))).writerows([header, *rows])
    return text.getvalue()


@st.composite
def documents(draw: st.DrawFn) -> str:
    rows = draw(st.lists(OBJECTS, min_size=1, max_size=8))
    shape = draw(st.sampled_from(["list", "nested", "entries", "lines"]))
    if shape == "lines":
        return "".join(json.dumps(row) + "\n" for row in rows)
    entries = {f"key-{number}": row for number, row in enumerate(rows)}
    whole: Any = {"list": rows, "nested": {"meta": 1, "results": {"rows": rows}}, "entries": entries}[shape]
    return json.dumps(whole, indent=draw(st.sampled_from([None, 1])))


@st.composite
def event_logs(draw: st.DrawFn) -> str:
    """Some lines of three kinds for each job."""
    more = st.fixed_dictionaries({"start": OBJECTS, "call": OBJECTS, "end": OBJECTS})
    jobs = draw(st.lists(more, min_size=2, max_size=4))
    lines = [
        {"job": f"J-{number}", "event": kind, **cells}
        for number, job in enumerate(jobs)
        for kind, cells in [*job.items(), ("call", job["end"])]
    ]
    return "".join(json.dumps(line) + "\n" for line in lines)


EVERYTHING = {
    "mapping": 1,
    "name": "law",
    "rows": {"format": "csv", "where": {"Model": "*"}},
    "run": {
        "task": {"first_of": ["Task ID", "Model"]},
        "model": "Model",
        "outcome": {"from": "Result", "words": {"pass": "passed", "fail": "failed", "✓": "passed", "*": "errored"}},
        "passed": {"from": "Passed", "default": False},
        "impl_rate": {"from": "Score", "unit": "percent"},
        "cost_usd": {"from": "Cost", "zero": "unknown", "plus": "Extra"},
        "duration_seconds": {"from": "Duration", "unit": "min", "clock": "m:ss", "when": {"Result": ["pass", "✓"]}},
        "started_at": {"from": "Started"},
        "usage": {"input_tokens": {"from": "Tokens", "over": 2}, "output_tokens": "Tokens"},
        "benchmarks": [{"name": {"value": "b"}, "seconds": {"from": "Extra", "times": "Cost"}}],
        "x_part": {"from": "Comment", "pattern": ["(\\d+)", "^(a)"], "else": "absent"},
        "x_number": {"from": "Extra", "as": "float"},
    },
}
COLUMNS = ("Task ID", "Model", "Result", "Passed", "Score", "Cost", "Extra", "Duration", "Started", "Tokens", "Comment")


def read(text: str, mapping: Any, *, batch_rows: int, ending: str = "csv") -> list[tuple[Any, ...]]:  # Any: TOML, items
    with tempfile.TemporaryDirectory() as folder, patch("steelyard.sources.mappings._batches.BATCH_ROWS", batch_rows):
        path = Path(folder, f"file.{ending}")
        path.write_text(text, encoding="utf-8", newline="")
        items = list(read_mapped(path, mapping, shown="file"))
    told = [(item.line, item.run) for item in items if isinstance(item, MappedRun)]
    return [*told, *((item.line, item.reason) for item in items if isinstance(item, Rejected))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=len(COLUMNS), max_size=len(COLUMNS)), min_size=1, max_size=30))
def test_a_column_converted_at_once_gives_what_each_row_alone_gives(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    mapping = mapping_of(EVERYTHING)
    at_once = read(text.getvalue(), mapping, batch_rows=5000)
    assert sorted(at_once, key=repr) == sorted(read(text.getvalue(), mapping, batch_rows=1), key=repr)


@settings(max_examples=60, deadline=None)
@given(st.one_of(tables(), documents()))
def test_a_proposal_reads_what_it_claims_and_is_the_same_twice(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.txt")
        path.write_text(text, encoding="utf-8", newline="")
        try:
            suggestion = suggest([path])
        except UnreadableFileError:  # nothing in it looks like rows
            return
        assert suggest([path]) == suggestion
        has_task = re.search(r"^task =", suggestion.text, re.MULTILINE)
        text_in_use = suggestion.text if has_task else suggestion.text.replace("# task =", "task =", 1)
        try:
            items = list(read_mapped(path, mapping_of(tomllib.loads(text_in_use))))
        except UnreadableFileError:
            assert (suggestion.runs, len(suggestion.set_aside)) == (0, 1)
            return
        assert sum(isinstance(item, MappedRun) for item in items) == suggestion.runs
        assert [item for item in items if isinstance(item, Rejected)] == list(suggestion.set_aside)


OFFERED = re.compile(r"^# (?=[a-z_]+(?:\.[a-z_]+)? = )", re.MULTILINE)
"""What begins a line of the mapping that is commented out; remarks have no name and equals sign in front."""


def rejected(path: Path, text: str) -> int:
    items = read_mapped(path, mapping_of(tomllib.loads(text)))
    return sum(isinstance(item, Rejected) for item in items)


LOG = [{"job": f"J-{n}", "event": kind, "note": kind} for n in range(3) for kind in ("start", "call", "call", "end")]
TWO_MODELS = "Task,Old model,A run 1,A run 2\nt,x,pass,fail\nu,y,fail,pass\n"


@settings(max_examples=60, deadline=None)
@given(st.one_of(tables(), documents(), event_logs()))
@example("".join(json.dumps(line) + "\n" for line in LOG))
@example(TWO_MODELS)
@example("Task,$cost,a b,a_b\nt,1,2,3\nu,1,2,3\n")
@example('Task,"odd ""name""",Result\nt,1,pass\nu,2,fail\n')
@example('{"a": {"id": 1, "case count": 2}, "b": {"id": 2, "case count": 3}}')
def test_every_line_that_is_offered_as_a_comment_can_be_used(text: str) -> None:
    """Each alone and all at once, save that one line is the task; columns of no known field reject no row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.txt")
        path.write_text(text, encoding="utf-8", newline="")
        try:
            suggested = suggest([path]).text
        except UnreadableFileError:  # nothing in it looks like rows
            return
        has_task = re.search(r"^task =", suggested, re.MULTILINE) is not None
        tasks = [] if has_task else re.findall(r"^# (task = .*)$", suggested, re.MULTILINE)
        for task in tasks:
            mapping_of(tomllib.loads(suggested.replace(f"# {task}", task, 1)))
        used = suggested.replace("# task =", "task =", 1) if tasks else suggested
        used = re.sub(r"^# task = .*$", "#", used, flags=re.MULTILINE) if tasks else used
        try:
            before = rejected(path, used)
        except UnreadableFileError:  # no row has the task
            return
        rejected(path, OFFERED.sub("", used))
        for offered in OFFERED.finditer(used):
            after = rejected(path, used[: offered.start()] + used[offered.end() :])
            assert after == before or not used.startswith("x_", offered.end())


@settings(max_examples=40, deadline=None)
@given(documents(), st.sampled_from(["[*]", "results.rows[*]", "[*][*]", "", "results[*]"]))
def test_json_of_any_shape_is_read_or_refused(text: str, at: str) -> None:
    fields = {"task": {"first_of": ["id", "task", "$stem"]}, "cost_usd": "cost", "passed": "resolved"}
    nested = {"usage": {"input_tokens": {"from": "usage.prompt_tokens", "zero": "unknown"}}}
    rows = {"format": "json", "at": at}
    mapping = mapping_of({"mapping": 1, "name": "any", "rows": rows, "run": {**fields, **nested}})
    try:
        read(text, mapping, batch_rows=3, ending="json")
    except UnreadableFileError as error:
        refusal = error
        assert refusal.where == "file"
