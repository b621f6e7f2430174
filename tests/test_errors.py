"""Error messages and the names they suggest."""

from __future__ import annotations

import pytest

from steelyard.errors import NoValidInputError, UnknownNameError, UnknownValueError
from steelyard.metrics import catalog
from steelyard.suggestions import nearest

OPTIONS = ["out", "by", "since", "until", "map", "set", "prices", "where", "json"]


@pytest.mark.parametrize(
    ("name", "known", "close"),
    [
        ("passrate", ["pass_rate", "pass_at_k"], "pass_rate"),
        ("pass rate", ["pass_rate"], "pass_rate"),
        ("TASK", ["task"], "task"),
        ("Prompt A", ["Prompt A (current)", "Prompt B (new)"], "Prompt A (current)"),
        ("Prompt C", ["Prompt A (current)", "Prompt B (new)"], None),
        ("tokens", ["total_tokens", "tool_calls"], "total_tokens"),
        ("score", ["weighted_score", "scope"], "weighted_score"),
        ("ome", ["one", "two"], "one"),
        ("csot", ["cost"], "cost"),
        ("ts", ["task"], None),
        ("month", OPTIONS, None),
        ("expert", OPTIONS, None),
        ("nope", ["r_anchor_pre"], None),
        ("", ["task"], None),
        ("x", [], None),
    ],
)
def test_nearest_suggests_close_names_only(name: str, known: list[str], close: str | None) -> None:
    assert nearest(name, known) == close


def test_nearest_suggests_no_metric_for_nope() -> None:
    with pytest.raises(UnknownNameError) as raised:
        catalog()["nope"]
    assert raised.value.message == "unknown metric 'nope'"
    assert "did you mean" not in str(raised.value.hint)


def test_unknown_name_error_message_and_hint() -> None:
    error = UnknownNameError("metric", "passrate", ["pass_rate"])
    assert str(error) == "unknown metric 'passrate' (did you mean 'pass_rate'?)"
    assert UnknownNameError("tier", "T9", ["T0", "T1"]).hint == "known: T0, T1"


def test_unknown_value_error_without_values() -> None:
    error = UnknownValueError("model", "gpt", [])
    assert error.message == "no run has a value for model"
    assert error.hint == "add model = \"COLUMN\" to a mapping, or use set='model=NAME' for all runs"


def test_error_text_has_location_and_hint() -> None:
    assert str(NoValidInputError("no runs", where="runs.jsonl", hint="check the path")) == (
        "runs.jsonl: no runs (check the path)"
    )
