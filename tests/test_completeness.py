"""Completeness: of each field in how many runs it is known, and how it came."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from matchups import write
from steelyard.questions.completeness import FIELDS, CompletenessSummary, FieldCompleteness
from steelyard.records import Call, Judgment, Run, TestResults, Usage

SAMPLES = Path(__file__).parent / "samples" / "formats"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def field(name: str, **parts: object) -> FieldCompleteness:
    result: CompletenessSummary = sy.completeness([Run(task="t", **parts)], prices="spec")  # type: ignore[arg-type]
    return result.total.fields[name]


@pytest.mark.parametrize(
    ("name", "way", "parts"),
    [
        ("verdict", "unknown", {}),
        ("verdict", "reported", {"passed": False}),
        ("verdict", "counted", {"tests": TestResults(passed=3)}),
        ("verdict", "unknown", {"outcome": "errored"}),
        ("verdict", "counted", {"judgments": (Judgment(weighted_score=0.5, passed=True),)}),
        ("impl_rate", "reported", {"impl_rate": 0.5}),
        ("impl_rate", "counted", {"judgments": (Judgment(weighted_score=0.5),)}),
        ("duration_seconds", "reported", {"duration_seconds": 3.0}),
        ("duration_seconds", "counted", {"started_at": NOON, "ended_at": NOON + timedelta(seconds=3)}),
        ("duration_seconds", "unknown", {"started_at": NOON}),
        ("cost_usd", "reported", {"cost_usd": 0.0}),
        ("cost_usd", "lower_bound", {"cost_usd": 1.0, "provenance": {"cost_usd": "lower_bound"}}),
        ("cost_usd", "priced", {"model": "gpt-4o", "usage": Usage(input_tokens=1, output_tokens=1)}),
        ("cost_usd", "unknown", {"model": "no-such", "usage": Usage(input_tokens=1, output_tokens=1)}),
        ("usage", "reported", {"usage": Usage(input_tokens=1)}),
        ("usage", "counted", {"calls": (Call(usage=Usage(input_tokens=1)),)}),
        ("usage", "unknown", {"calls": (Call(),)}),
        ("input_tokens", "reported", {"usage": Usage(input_tokens=0)}),
        ("output_tokens", "unknown", {"usage": Usage(input_tokens=0)}),
        ("tool_calls", "reported", {"tool_calls": 0}),
        ("tool_calls", "counted", {"tool_calls": 2, "provenance": {"tool_calls": "counted"}}),
        ("tool_calls", "unknown", {"provenance": {"tool_calls": "unknown"}}),
    ],
)
def test_each_field_says_how_it_came(name: str, way: str, parts: dict[str, object]) -> None:
    assert field(name, **parts) == FieldCompleteness(known=int(way != "unknown"), **{way: 1})


def test_only_the_kind_of_tokens_that_is_too_low_is_a_lower_bound() -> None:
    told = {"usage": "lower_bound", "usage.output_tokens": "lower_bound"}
    parts = {"usage": Usage(input_tokens=5, output_tokens=1), "provenance": told}
    assert field("output_tokens", **parts).lower_bound == 1
    assert field("input_tokens", **parts).counted == 1


def test_every_way_together_is_every_run_in_every_group() -> None:
    result = sy.completeness(SAMPLES, by=["agent"])
    assert sum(group.n for group in result.groups) == result.total.n
    for group in (*result.groups, result.total):
        assert tuple(group.fields) == FIELDS
        assert all(counts.known + counts.unknown == group.n for counts in group.fields.values())
    for name in FIELDS:
        assert sum(group.fields[name].known for group in result.groups) == result.total.fields[name].known
    assert set(result.reported_fields) | set(result.absent_fields) == set(FIELDS)


def test_every_field_of_a_record_is_counted_or_is_bookkeeping() -> None:
    left_out = set(Run.__struct_fields__) - set(FIELDS)
    assert left_out == {"id", "task", "tier_scheme", "provenance", "source", "extra", "passed", "outcome"}


def test_it_agrees_with_reading(tmp_path: Path) -> None:
    read = json.loads(steelyard("read", str(SAMPLES), "--json", "--quiet").stdout)["total"]
    said = json.loads(steelyard("completeness", str(SAMPLES), "--json", "--quiet").stdout)["total"]
    cost = said["fields"]["cost_usd"]
    assert said["n"] == read["runs"]
    assert (cost["unknown"], cost["lower_bound"]) == (read["cost_unknown_runs"], read["cost_lower_bound_runs"])
    assert cost["reported"] + cost["priced"] == read["cost_known_runs"]
    assert said["fields"]["usage"]["known"] == read["tokens_known_runs"]


def test_the_command_shows_what_is_known_and_names_what_is_not(tmp_path: Path) -> None:
    file = write(tmp_path / "runs.jsonl", [Run(id="a", task="t", passed=True, cost_usd=1.0), Run(id="b", task="t")])
    shown = steelyard("completeness", file).stdout
    assert shown.startswith("Of 2 runs, 1 has a verdict, 1 has a cost, 0 have tokens.")
    assert "Never reported: " in shown
    assert "verdict" not in shown.split("Never reported: ")[1]
    svg = tmp_path / "fields.svg"
    assert steelyard("completeness", file, "--out", str(svg)).status == 0
    assert "Completeness of the runs" in svg.read_text(encoding="utf-8")
