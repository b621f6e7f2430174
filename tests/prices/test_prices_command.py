"""`steelyard prices`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from steelyard.cli import run


def test_without_a_model_the_books_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "--json"]) == 0
    price_tables = json.loads(capsys.readouterr().out)["price_tables"]
    assert [(price_table["name"], price_table["default"]) for price_table in price_tables] == [
        ("genai-prices", True),
        ("spec", False),
    ]
    assert price_tables[0]["version"][0].isdigit()
    assert price_tables[0]["model_count"] > 2_000
    assert run(["prices"]) == 0
    shown = capsys.readouterr().out
    assert "genai-prices" in shown
    assert "default" in shown


def test_a_model_has_a_line_for_each_day_and_context_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "claude-opus-4.6", "--json"]) == 0
    (answer,) = json.loads(capsys.readouterr().out)["models"]
    assert (answer["id"], answer["provider"]) == ("claude-opus-4-6", "anthropic")
    places = [(line["since"], line["above_input_tokens"]) for line in answer["prices"]]
    assert places == [(None, None), (None, 200_000), ("2026-03-13", None)]
    assert answer["prices"][1]["usd_per_million"]["cache_write_1h_tokens"] == 20.0


def test_on_a_day_only_its_prices_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "o3", "--on", "2025-06-09", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["models"][0]["prices"]
    assert line["usd_per_million"]["input_tokens"] == 10.0
    assert run(["prices", "o3", "--on", "2025-06-10", "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["models"][0]["prices"]
    assert line["usd_per_million"]["input_tokens"] == 2.0


def test_prices_by_time_of_day_are_all_shown_for_a_day(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "deepseek-chat", "--on", "2026-01-01", "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["models"][0]["prices"]
    assert [line["between"] for line in lines] == [None, ["00:30", "16:30"]]
    assert run(["prices", "deepseek-chat"]) == 0
    assert "00:30-16:30" in capsys.readouterr().out


def test_a_book_of_ones_own_can_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('format = 1\nversion = "7"\n[models.m]\nusd_per_million = { input = 0.1, output = 2 }\n')
    assert run(["prices", "m", "--prices", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "$0.10" in shown
    assert "$2 " in shown
    assert "ours (7)" in shown


def test_an_unknown_model_is_wrong_usage_and_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prices", "claude-opus-45", "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["kind"] == "unknown_name"
    assert error["hint"] == "did you mean 'claude-opus-4-5'?"


@pytest.mark.parametrize(
    "arguments", [["--on", "2026-01-01"], ["gpt-4o", "--on", "soon"], ["gpt-4o", "--prices", "sed"]]
)
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    assert run(["prices", *arguments]) == 2


def test_importing_prices_stays_light() -> None:
    heavy = ["numpy", "polars", "genai_prices", "pydantic", "rapidfuzz", "rich"]
    code = f"import sys, steelyard.questions.prices; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
