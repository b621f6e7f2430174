"""Costs that real tools recorded, against the price table."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from steelyard.prices import open_price_table, price_run
from steelyard.records import Missing, Run, Usage

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
TRIALS = SAMPLES / "harbor" / "claude-opus-4.6"
SESSIONS = SAMPLES / "scylla" / "raw"

pytestmark = pytest.mark.skipif(not TRIALS.is_dir(), reason="the real samples are not beside this checkout")


def trials_with_cost() -> list[Run]:
    runs = []
    for path in sorted(TRIALS.glob("*/result.json")):
        trial = json.loads(path.read_text(encoding="utf-8"))
        result = trial.get("agent_result") or {}
        if result.get("cost_usd") is None:
            continue
        cached = result["n_cache_tokens"] or 0
        usage = Usage(
            input_tokens=result["n_input_tokens"] - cached,
            cache_read_tokens=cached,
            output_tokens=result["n_output_tokens"],
        )
        runs.append(
            Run(
                task=trial["task_name"],
                model=trial["agent_info"]["model_info"]["name"],
                started_at=datetime.fromisoformat(trial["started_at"]),
                usage=usage,
                cost_usd=result["cost_usd"],
            )
        )
    return runs


def test_harbor_trials_cost_what_they_recorded_where_prices_are_flat() -> None:
    price_table = open_price_table("genai-prices")
    compared = 0
    for run in trials_with_cost():
        cost = price_run(run, price_table)
        if not isinstance(cost, Missing):  # before 2026-03-13 the model had a context tier
            assert cost == pytest.approx(run.cost_usd, rel=0, abs=1e-9), run.task
            compared += 1
    assert compared, "no trial with a recorded cost"


def models_with_cost() -> list[tuple[str, Usage, float]]:
    found = []
    for path in sorted(SESSIONS.glob("*/*/*/agent/stdout.log")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if '"modelUsage"' not in line:
                continue
            result = json.loads(line)
            if result["usage"].get("cache_creation", {}).get("ephemeral_1h_input_tokens"):
                continue  # the split by model does not say which writes were for an hour
            for model, spent in result["modelUsage"].items():
                usage = Usage(
                    input_tokens=spent["inputTokens"],
                    output_tokens=spent["outputTokens"],
                    cache_read_tokens=spent["cacheReadInputTokens"],
                    cache_write_5m_tokens=spent["cacheCreationInputTokens"],
                )
                found.append((model, usage, spent["costUSD"]))
    return found


def test_claude_code_sessions_cost_what_they_recorded_or_are_known_to_be_in_doubt() -> None:
    price_table = open_price_table("genai-prices")
    at = datetime(2026, 1, 10, tzinfo=UTC)
    priced, in_doubt = 0, 0
    for model, usage, recorded in models_with_cost():
        cost = price_table.price(usage, model=model, at=at, span="run")
        if isinstance(cost, Missing):
            as_one_call = price_table.price(usage, model=model, at=at)
            assert not isinstance(as_one_call, Missing)
            assert as_one_call > recorded  # the calls were below the context tier that their sum is above
            in_doubt += 1
        else:
            assert cost == pytest.approx(recorded, rel=0, abs=1e-9)
            priced += 1
    assert priced > in_doubt
