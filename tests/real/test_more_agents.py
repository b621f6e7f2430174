"""Real logs of agents that asked a scripted model twice: its 3,120 tokens come back kind by kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.records import Run
from steelyard.sources import PlacedRun, gather

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the real files are not beside this checkout")

OPENAI = {"input_tokens": 1000, "cache_read_tokens": 2000, "output_tokens": 80, "reasoning_tokens": 40}
"""Twice 1,500 in, of which 1,000 cached, and 60 out, of which 20 reasoning."""
ANTHROPIC = {"input_tokens": 1000, "cache_read_tokens": 1600, "cache_write_5m_tokens": 400, "output_tokens": 120}
"""Twice 500 in, 800 read and 200 written, 60 out."""
NO_REASONING = OPENAI | {"output_tokens": 120, "reasoning_tokens": None}


def only(*names: str) -> Run:
    (run,) = [item.run for item in gather([SAMPLES / name for name in names]) if isinstance(item, PlacedRun)]
    return run


@pytest.mark.parametrize(
    ("names", "agent", "tokens"),
    [
        (["copilot-cli/events.jsonl"], "copilot-cli", OPENAI),
        (["copilot-cli/events.jsonl", "copilot-cli/output-json.jsonl"], "copilot-cli", OPENAI),
        (["copilot-cli/events.jsonl", "copilot-cli/otel-file.jsonl"], "copilot-cli", OPENAI),
        (["copilot-cli/otel-file.jsonl"], "copilot-cli", OPENAI),
        (["copilot-cli/events-anthropic.jsonl"], "copilot-cli", ANTHROPIC),
        (["claude-code-otel/logs.otlp.jsonl"], "claude-code", ANTHROPIC),
        (["claude-code-otel/metrics.otlp.jsonl"], "claude-code", ANTHROPIC),
        (["claude-code-otel/result.json"], "claude-code", ANTHROPIC),
        (["claude-code-otel"], "claude-code", ANTHROPIC),
        (["qwen-code/chat.jsonl"], "qwen-code", OPENAI),
        (["qwen-code/output-json.json"], "qwen-code", OPENAI),
        (["qwen-code/chat.jsonl", "qwen-code/output-json.json"], "qwen-code", OPENAI),
        (["cline/1794783380414_x6d9s.json"], "cline", NO_REASONING),
        (["cline/1794783380414_x6d9s.messages.json"], "cline", NO_REASONING),
        (["cline/output-json.jsonl"], "cline", NO_REASONING),
        (["cline"], "cline", NO_REASONING),
        (["kilo"], "kilo", OPENAI),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else "",
)
def test_the_tokens_that_the_model_stated_come_back(
    names: list[str], agent: str, tokens: dict[str, int | None]
) -> None:
    run = only(*names)
    assert run.usage is not None
    assert (run.agent, run.usage.total) == (agent, 3120)
    assert {kind: getattr(run.usage, kind) for kind in tokens} == tokens


@pytest.mark.parametrize("name", ["qwen-code/chat-apierror.jsonl", "qwen-code/output-json-apierror.json"])
def test_a_run_whose_every_request_failed_is_errored_and_has_no_tokens(name: str) -> None:
    run = only(name)
    assert run.failure is not None
    assert (run.outcome, run.failure.cause, run.usage) == ("errored", "infrastructure", None)
