"""The sources over real files, where they are at hand: the numbers that the tools' own results state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.prices import open_price_table, price_run
from steelyard.records import Finding, Rejected, Run
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).resolve().parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="../shared/samples is not here")


def runs(*parts: str) -> list[Run]:
    return [item.run for item in gather([SAMPLES.joinpath(*parts)]) if isinstance(item, PlacedRun)]


def lines(path: Path) -> list[dict[str, Any]]:
    """JSON objects of a file read the slow way: all that the standard library can make of each line."""
    decoder = json.JSONDecoder()
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        at = 0
        while at < len(line.strip()):
            try:
                value, at = decoder.raw_decode(line.strip(), at)
            except ValueError:
                break
            if isinstance(value, dict):
                found.append(value)
    return found


def sessions() -> list[Path]:
    return sorted((SAMPLES / "claude-code").glob("*.jsonl"))


@pytest.mark.parametrize("path", sessions(), ids=lambda path: path.name[:12])
def test_claude_tokens_are_the_last_usage_of_each_message_id(path: Path) -> None:
    usages: dict[str, dict[str, Any]] = {}
    for line in lines(path):
        message = line.get("message")
        if line.get("type") == "assistant" and isinstance(message, dict) and message.get("model") != "<synthetic>":
            usages[message["id"]] = message["usage"]
    (run,) = runs("claude-code", path.name)
    assert run.usage is not None
    assert len(run.calls or ()) == len(usages)
    assert run.usage.input_tokens == sum(usage["input_tokens"] for usage in usages.values())
    assert run.usage.output_tokens == sum(usage["output_tokens"] for usage in usages.values())
    assert run.usage.cache_read_tokens == sum(usage["cache_read_input_tokens"] for usage in usages.values())
    written = (run.usage.cache_write_5m_tokens or 0) + (run.usage.cache_write_1h_tokens or 0)
    assert written == sum(usage["cache_creation_input_tokens"] for usage in usages.values())


def test_claude_sessions_with_placeholders_are_lower_bounds() -> None:
    how = {run.id: (run.provenance or {})["usage"] for run in runs("claude-code")}
    assert how["2577a596-e227-47e1-bea8-752f792cbc24"] == "lower_bound"  # 60 tokens for 18 answers
    assert how["cef3602b-e191-46fd-aa56-68c030df67e5"] == "lower_bound"  # follows a line that the file lacks


def test_scylla_states_its_cost_and_every_model() -> None:
    by_tier = {run.tier: run for run in runs("scylla")}
    assert len(by_tier) == 7
    assert by_tier["T0"].cost_usd == 0.1351093
    for tier, folder in (("T0", "00"), ("T1", "01"), ("T4", "01"), ("T6", "01")):
        log = SAMPLES / "scylla" / "raw" / tier / folder / "run_01" / "agent" / "stdout.log"
        result = json.loads(log.read_text(encoding="utf-8"))
        run = by_tier[tier]
        assert run.cost_usd == result["total_cost_usd"]
        assert sorted(call.model or "" for call in run.calls or ()) == sorted(result["modelUsage"])
        assert run.usage is not None
        assert run.usage.output_tokens == sum(model["outputTokens"] for model in result["modelUsage"].values())


def test_codex_takes_the_last_cumulative_total() -> None:
    for path in sorted((SAMPLES / "codex").glob("rollout-*.jsonl")):
        totals = [
            line["payload"]["info"]["total_token_usage"]
            for line in lines(path)
            if line.get("type") == "event_msg"
            and line["payload"].get("type") == "token_count"
            and line["payload"]["info"]
        ]
        (run,) = runs("codex", path.name)
        assert run.usage is not None
        assert run.usage.cache_read_tokens == totals[-1]["cached_input_tokens"]
        assert (run.usage.input_tokens or 0) + totals[-1]["cached_input_tokens"] == totals[-1]["input_tokens"]
        assert (run.usage.output_tokens or 0) + (run.usage.reasoning_tokens or 0) == totals[-1]["output_tokens"]


@pytest.mark.parametrize("name", ["openhands-sonnet", "openhands-sonnet2", "orchestrator-qwen-3-coder"])
def test_terminal_bench_accuracy_as_stated_and_over_the_scored(name: str) -> None:
    stated = json.loads((SAMPLES / "terminal-bench" / name / "results.json").read_text(encoding="utf-8"))
    found = runs("terminal-bench", name)
    passed = sum(run.passed is True for run in found)
    scored = sum(run.passed is not None for run in found)
    assert len(found) == len(stated["results"])
    assert passed / len(found) == stated["accuracy"]
    messages = [item.message for item in gather([SAMPLES / "terminal-bench" / name]) if isinstance(item, Finding)]
    assert any(f"over {len(found)} trials" in text and f"{passed} of {scored} scored" in text for text in messages)


def test_harbor_costs_as_recorded_and_as_priced_agree() -> None:
    price_table = open_price_table("genai-prices")
    costed = [run for run in runs("harbor", "claude-opus-4.6") if run.cost_usd is not None]
    assert len(costed) == 4
    for run in costed:
        assert price_run(run, price_table) == pytest.approx(run.cost_usd, abs=1e-9)


def test_harbor_trials_with_an_exception_and_a_reward_keep_both() -> None:
    both = [run for run in runs("harbor") if run.failure is not None and run.passed is not None]
    assert {run.task for run in both} == {"break-filter-js-from-html", "configure-git-webserver"}


def test_every_real_file_of_a_format_we_read_gives_something() -> None:
    set_aside = [item for item in gather([SAMPLES]) if isinstance(item, Rejected)]
    assert [Path(item.path).name for item in set_aside] == ["corrupt-xml.xml"]
