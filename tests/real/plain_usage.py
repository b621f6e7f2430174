"""Every call of real logs with its moment, model, tokens and cost, found the slow way.

Nothing here is shared with the package: files are read with the standard library, tokens are priced call by call by the
library genai-prices itself, and days are those of `zoneinfo`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import genai_prices

from real.plain_counts import claude, document, lines, openai


class PlainCall(NamedTuple):
    """One call."""

    at: datetime
    model: str | None
    tokens: dict[str, int]
    stated: float | None = None
    """What the tool says that it cost, where it says it."""

    @property
    def cost(self) -> Decimal:
        """As stated, else as genai-prices prices it."""
        if self.stated is not None or self.model is None:
            return Decimal(self.stated or 0)
        kinds = Counter(self.tokens)
        written = kinds["cache_write_5m"] + kinds["cache_write_1h"]
        usage = genai_prices.Usage(
            input_tokens=kinds["input"] + kinds["cache_read"] + written,
            cache_read_tokens=kinds["cache_read"],
            cache_write_tokens=written,
            cache_write_5m_tokens=kinds["cache_write_5m"],
            cache_write_1h_tokens=kinds["cache_write_1h"],
            output_tokens=kinds["output"] + kinds["reasoning"],
        )
        return genai_prices.calc_price(usage, self.model, genai_request_timestamp=self.at).total_price


def by_day_and_model(calls: list[PlainCall], zone: str) -> dict[tuple[str, str | None], tuple[Counter[str], Decimal]]:
    """Tokens by kind and dollars of each day in the zone and each model."""
    sums: dict[tuple[str, str | None], tuple[Counter[str], Decimal]] = {}
    for call in calls:
        key = (call.at.astimezone(ZoneInfo(zone)).date().isoformat(), call.model)
        tokens, cost = sums.get(key, (Counter(), Decimal(0)))
        tokens.update(call.tokens)  # a kind of which there were none stays one that is known
        sums[key] = tokens, cost + call.cost
    return sums


def claude_calls(folder: Path) -> list[PlainCall]:
    """A message's first line has its moment, its last one its usage; a message in two files is one call."""
    firsts: dict[str, datetime] = {}
    lasts: dict[str, tuple[str, dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in lines(path):
            message = line.get("message")
            if line.get("type") == "assistant" and isinstance(message, dict) and message["model"] != "<synthetic>":
                at = datetime.fromisoformat(line["timestamp"])
                firsts[message["id"]] = min(firsts.get(message["id"], at), at)
                lasts[message["id"]] = message["model"], message["usage"]
    return [PlainCall(firsts[id_], model, claude(usage)) for id_, (model, usage) in lasts.items()]


def codex_calls(folder: Path) -> list[PlainCall]:
    """Counters are cumulative: what one has more than the one before is a call of the model named last."""
    return [call for path in sorted(folder.glob("*.jsonl")) for call in _codex_session(path)]


def _codex_session(path: Path) -> Iterator[PlainCall]:
    model, before = None, Counter[str]()
    for line in lines(path):
        payload = line.get("payload") or {}
        if line.get("type") == "turn_context":
            model = payload.get("model") or model
        info = payload.get("info") if payload.get("type") == "token_count" else None
        if not info:
            continue
        now = Counter(info["total_token_usage"])
        if now["total_tokens"] <= before["total_tokens"]:
            continue
        more = {name: now[name] - before[name] for name in now}
        kinds = openai(
            more["input_tokens"], more["cached_input_tokens"], more["output_tokens"], more["reasoning_output_tokens"]
        )
        if "cache_write_input_tokens" in more:
            kinds["cache_write_5m"] = more["cache_write_input_tokens"]
        yield PlainCall(datetime.fromisoformat(line["timestamp"]), model, kinds)
        before = now


def gemini_calls(folder: Path) -> list[PlainCall]:
    """Messages by id, the last version of each."""
    messages: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".jsonl"):
            continue
        values = list(lines(path)) if path.suffix == ".jsonl" else document(path)["messages"]
        for value in values:
            for message in [value, *(value.get("$set") or {}).get("messages", [])]:
                if message.get("tokens"):
                    messages[message["id"]] = message
    return [
        PlainCall(
            datetime.fromisoformat(message["timestamp"]),
            message["model"],
            {
                "input": message["tokens"]["input"] - message["tokens"]["cached"],
                "cache_read": message["tokens"]["cached"],
                "output": message["tokens"]["output"],
                "reasoning": message["tokens"]["thoughts"],
            },
        )
        for message in messages.values()
    ]


def opencode_calls(folder: Path) -> list[PlainCall]:
    """Every finished step with the cost that it states; the same step in two files is one call. No model is named."""
    steps: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.jsonl")):
        for line in lines(path):
            if line.get("type") == "step_finish":
                known = steps.get(line["part"]["id"])
                # a step that was printed before its price was known states 0
                if known is None or (line["part"].get("cost") or 0) > (known["part"].get("cost") or 0):
                    steps[line["part"]["id"]] = line
    return [
        PlainCall(
            datetime.fromtimestamp(step["timestamp"] / 1000, UTC),
            None,
            {
                "input": step["part"]["tokens"]["input"],
                "output": step["part"]["tokens"]["output"],
                "reasoning": step["part"]["tokens"]["reasoning"],
                "cache_read": step["part"]["tokens"]["cache"]["read"],
                "cache_write_5m": step["part"]["tokens"]["cache"]["write"],
            },
            step["part"].get("cost"),
        )
        for step in steps.values()
    ]


COUNTED: dict[str, Callable[[Path], list[PlainCall]]] = {
    "claude-code": claude_calls,
    "codex": codex_calls,
    "gemini-cli": gemini_calls,
    "opencode": opencode_calls,
}
"""Who counts which folder of samples."""
