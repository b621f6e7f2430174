"""`anthropic/claude-x` and `claude-x` are one model wherever runs are grouped or chosen; what was written is kept."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, strategies as st

import steelyard as sy
from steelyard.records import PROVIDED_MODEL, Run, Usage, encode_run, model_group

WRITTEN = ["anthropic/claude-sonnet-4-5", "claude-sonnet-4-5", "OpenRouter/anthropic/claude-sonnet-4-5"]
RUNS = [
    Run(id=f"r{number}", task="t", model=name, passed=True, usage=Usage(input_tokens=1000, output_tokens=10))
    for number, name in enumerate(WRITTEN)
]


def models(measured: sy.Measurement) -> list[tuple[object, int]]:
    return [(group["key"]["model"], group["n"]) for group in measured.to_dict()["groups"]]


def test_runs_of_one_model_are_one_group_and_keep_what_was_written() -> None:
    assert models(sy.measure(RUNS, by=["model"])) == [("claude-sonnet-4-5", 3)]
    assert [run.model for run in RUNS] == WRITTEN


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_files_of_every_kind_group_alike_and_are_priced_as_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"runs.{ending}"
    _save(path)
    measured = sy.measure(path, by=["model"])
    assert models(measured) == [("claude-sonnet-4-5", 3)]
    cost = measured.to_dict()["groups"][0]["metrics"]["total_cost_usd"]
    # $3 and $15 a million under the first two names; the price table does not know the third
    assert cost["value"] == pytest.approx(2 * (1000 * 3 + 10 * 15) / 1e6)


def _save(path: Path) -> None:
    rows = [
        {"id": run.id, "task": run.task, "model": run.model, "passed": True, "input_tokens": 1000, "output_tokens": 10}
        for run in RUNS
    ]
    frame = pl.DataFrame(rows)
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        path.write_bytes(b"".join(encode_run(run) + b"\n" for run in RUNS))


@pytest.mark.parametrize("asked", ["claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"])
def test_a_model_is_chosen_however_it_is_written(asked: str) -> None:
    assert models(sy.measure([*RUNS, Run(id="x", task="t", model="gpt-5")], by=["model"], where=f"model={asked}")) == [
        ("claude-sonnet-4-5", 3)
    ]


@pytest.mark.parametrize(
    ("name", "group"),
    [
        (None, None),
        ("openai/", "openai/"),
        ("vertex_ai/gemini-2.5-pro", "gemini-2.5-pro"),
        ("me/my-model", "me/my-model"),
        ("/models/a/checkpoint", "/models/a/checkpoint"),
        ("anthropic/me/x", "me/x"),
        ("openai", "openai"),
    ],
)
def test_only_providers_are_left_out(name: str | None, group: str | None) -> None:
    assert (model_group(name) if name is not None else None) == group


@given(st.lists(st.sampled_from(["openai/", "OpenAI/", "azure/", "me/", "/", "x", "openai", "é\n", " "]), max_size=6))
def test_columns_and_records_agree(parts: list[str]) -> None:
    name = "".join(parts)
    column = pl.DataFrame({"model": [name]}).select(pl.col("model").str.replace(PROVIDED_MODEL, "$1"))
    assert column.item() == model_group(name)
