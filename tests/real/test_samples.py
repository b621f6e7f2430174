"""The table of all real samples: every folder and every file gives what `samples.toml` says."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from real.plain_counts import COUNTERS, added
from steelyard.cli import run

HERE = Path(__file__).resolve().parent
SAMPLES = HERE.parents[2] / "shared" / "samples"
TABLE = tomllib.loads((HERE / "samples.toml").read_text(encoding="utf-8"))
ROWS: dict[str, dict[str, Any]] = TABLE["rows"]
COSTS = ("known", "lower_bound", "unknown")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="../shared/samples is not here")


def read(place: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command makes of a path, in the words of the table."""
    status = run(["read", str(SAMPLES / place), "--json", "--quiet"])
    summary = json.loads(capsys.readouterr().out)
    total = summary["total"]
    tokens = {kind.removesuffix("_tokens"): count for kind, count in total["tokens"].items() if count is not None}
    costs = {name: total[f"cost_{name}_runs"] for name in COSTS}
    return {
        "exit": status,
        "runs": total["runs"],
        "tokens": tokens,
        "cost": {name: count for name, count in costs.items() if count},
        "rejected": summary["rejected_count"],
    }


def expected(row: dict[str, Any]) -> dict[str, Any]:
    stated = {"exit": 0, "tokens": {}, "cost": {}, "rejected": 0, **row}
    return {name: stated[name] for name in ("exit", "runs", "tokens", "cost", "rejected")}


@pytest.mark.parametrize("place", ROWS)
def test_every_sample_gives_what_the_table_says(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert read(place, capsys) == expected(ROWS[place])


@pytest.mark.parametrize("place", TABLE["unrecognized"])
def test_a_file_that_no_format_recognizes_is_an_error_when_named(
    place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert read(place, capsys) == expected({"exit": 1, "runs": 0, "rejected": 1})


@pytest.mark.parametrize("place", [place for place, row in ROWS.items() if "counted" in row])
def test_plain_counting_gives_what_the_table_says(place: str) -> None:
    assert COUNTERS[ROWS[place]["counted"]](SAMPLES / place) == (ROWS[place]["runs"], ROWS[place].get("tokens", {}))


@pytest.mark.parametrize("folder", [place for place, row in ROWS.items() if "again" in row])
def test_the_files_of_a_folder_add_up(folder: str) -> None:
    told_again = {f"{folder}/{name}" for name in ROWS[folder]["again"]}
    files = [place for place in ROWS if place.startswith(f"{folder}/") and place not in told_again]
    assert told_again <= ROWS.keys()
    assert sum(ROWS[place]["runs"] for place in files) == ROWS[folder]["runs"]
    assert added([ROWS[place].get("tokens", {}) for place in files]) == ROWS[folder].get("tokens", {})


def test_no_sample_is_missing_from_the_table() -> None:
    folders = {path.name for path in SAMPLES.iterdir() if path.is_dir()}
    files = {path.relative_to(SAMPLES).as_posix() for path in SAMPLES.rglob("*") if path.is_file()} - {"ORIGIN.md"}
    assert folders | files == {*ROWS, *TABLE["unrecognized"]}
