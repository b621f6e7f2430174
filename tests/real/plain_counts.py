"""Tokens and runs of real files counted the slow way, with the standard library alone.

Nothing here is shared with the package: each function follows what the format's own tool documents or what its files
were seen to mean, so that a table that both agree on is not one program's opinion of itself. Kinds do not overlap:
input is without cache, output without reasoning; a kind that a file does not state is absent.
"""

from __future__ import annotations

import csv
import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

Count = tuple[int, dict[str, int]]
"""How many runs, and tokens by kind."""


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every JSON object of a file of lines; what is broken or glued on is passed over."""
    decoder = json.JSONDecoder()
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        text, at = line.strip(), 0
        while at < len(text):
            try:
                value, at = decoder.raw_decode(text, at)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value


def document(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def added(counts: list[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return {kind: total[kind] for count in counts for kind in count}


def openai(prompt: int, cached: int, completion: int, reasoned: int | None = None) -> dict[str, int]:
    """OpenAI's way: the prompt includes what was cached, the completion what was reasoned."""
    kinds = {"input": prompt - cached, "cache_read": cached, "output": completion - (reasoned or 0)}
    return kinds if reasoned is None else {**kinds, "reasoning": reasoned}


def claude(usage: dict[str, Any]) -> dict[str, int]:
    """Anthropic's way: kinds that do not overlap; writes that no split covers are kept for five minutes."""
    split = usage.get("cache_creation") or {}
    long = split.get("ephemeral_1h_input_tokens") or 0
    return {
        "input": usage["input_tokens"],
        "cache_read": usage["cache_read_input_tokens"],
        "cache_write_5m": usage["cache_creation_input_tokens"] - long,
        "cache_write_1h": long,
        "output": usage["output_tokens"],
    }


def claude_session(path: Path) -> Count:
    """One call is every line with its message id; the last line of an id has its usage."""
    calls: dict[str, dict[str, Any]] = {}
    for line in lines(path):
        message = line.get("message")
        if line.get("type") == "assistant" and isinstance(message, dict) and message.get("model") != "<synthetic>":
            calls[message["id"]] = message["usage"]
    return 1, added([claude(usage) for usage in calls.values()])


def claude_result(path: Path) -> Count:
    """What the result says of each model; how long writes are kept it says for all of them together."""
    told = list(lines(path)) if _is_lines(path) else [document(path)]
    (result,) = (value for value in told if value.get("type") == "result")
    models = result["modelUsage"].values()
    written = sum(model["cacheCreationInputTokens"] for model in models)
    long = result["usage"].get("cache_creation", {}).get("ephemeral_1h_input_tokens", 0)
    return 1, {
        "input": sum(model["inputTokens"] for model in models),
        "cache_read": sum(model["cacheReadInputTokens"] for model in models),
        "cache_write_5m": written - long,
        "cache_write_1h": long,
        "output": sum(model["outputTokens"] for model in models),
    }


def _is_lines(path: Path) -> bool:
    return path.suffix == ".jsonl"


def claude_events(path: Path) -> Count:
    """Claude Code's log events: one `api_request` a call."""
    calls = []
    for export in lines(path):
        for resource in export["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    facts = _attributes(record)
                    if facts.get("event.name") == "api_request":
                        calls.append(facts)
    return 1, {
        "input": sum(int(call["input_tokens"]) for call in calls),
        "cache_read": sum(int(call["cache_read_tokens"]) for call in calls),
        "cache_write_5m": sum(int(call["cache_creation_tokens"]) for call in calls),
        "output": sum(int(call["output_tokens"]) for call in calls),
    }


def claude_metrics(path: Path) -> Count:
    """Claude Code's metrics: points are differences, so they are added over all exports."""
    names = {"input": "input", "output": "output", "cacheRead": "cache_read", "cacheCreation": "cache_write_5m"}
    total: Counter[str] = Counter()
    for export in lines(path):
        for resource in export["resourceMetrics"]:
            for scope in resource["scopeMetrics"]:
                for metric in scope["metrics"]:
                    if metric["name"] == "claude_code.token.usage":
                        for point in metric["sum"]["dataPoints"]:
                            total[names[_attributes(point)["type"]]] += int(point.get("asInt") or point["asDouble"])
    return 1, dict(total)


def _attributes(record: dict[str, Any]) -> dict[str, Any]:
    return {pair["key"]: next(iter(pair["value"].values())) for pair in record["attributes"]}


def codex_rollout(path: Path) -> Count:
    """Counters are cumulative: the largest one is the session's."""
    infos = [line["payload"].get("info") for line in lines(path) if line.get("type") == "event_msg"]
    most = max((info["total_token_usage"] for info in infos if info), key=lambda usage: usage["total_tokens"])
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens")
    written = {"cache_write_5m": most["cache_write_input_tokens"]} if "cache_write_input_tokens" in most else {}
    return 1, openai(*(most[name] for name in names)) | written


def codex_exec(path: Path) -> Count:
    """The last turn states the whole thread."""
    last = [line["usage"] for line in lines(path) if line.get("type") == "turn.completed"][-1]
    return 1, openai(last["input_tokens"], last["cached_input_tokens"], last["output_tokens"])


def gemini_session(path: Path) -> Count:
    """Messages by id, the last version of each; thoughts stand beside the output."""
    values = list(lines(path)) if _is_lines(path) else document(path)["messages"]
    messages: dict[str, dict[str, Any]] = {}
    for value in values:
        for message in [value, *(value.get("$set") or {}).get("messages", [])]:
            if message.get("tokens"):
                messages[message["id"]] = message["tokens"]
    return 1, added(
        [
            {
                "input": tokens["input"] - tokens["cached"],
                "cache_read": tokens["cached"],
                "output": tokens["output"],
                "reasoning": tokens["thoughts"],
            }
            for tokens in messages.values()
        ]
    )


def opencode_stream(path: Path) -> Count:
    """Every finished step states its own tokens, in kinds that do not overlap."""
    steps = [line["part"]["tokens"] for line in lines(path) if line.get("type") == "step_finish"]
    return 1, added(
        [
            {
                "input": step["input"],
                "cache_read": step["cache"]["read"],
                "cache_write_5m": step["cache"]["write"],
                "output": step["output"],
                "reasoning": step["reasoning"],
            }
            for step in steps
        ]
    )


def copilot_events(path: Path) -> Count:
    """One usage record a call; input includes cache reads and writes, output reasoning."""
    calls = [line["data"]["usage"] for line in lines(path) if line["type"] == "session.usage_record"]
    told = []
    for call in calls:
        kinds = openai(call["inputTokens"], call["cacheReadTokens"], call["outputTokens"], call.get("reasoningTokens"))
        kinds["input"] -= call["cacheWriteTokens"]
        told.append({**kinds, "cache_write_5m": call["cacheWriteTokens"]})
    return 1, added(told)


def copilot_spans(path: Path) -> Count:
    """`chat` spans alone: their parent states the same again."""
    spans = [line["attributes"] for line in lines(path) if line["type"] == "span"]
    calls = [facts for facts in spans if facts["gen_ai.operation.name"] == "chat"]
    names = ("input_tokens", "cache_read.input_tokens", "output_tokens", "reasoning.output_tokens")
    return 1, added([openai(*(call[f"gen_ai.usage.{name}"] for name in names)) for call in calls])


def without_tokens(path: Path) -> Count:
    """One run of which nothing is stated."""
    return 1, {}


def qwen_chat(path: Path) -> Count:
    """The envelope is Claude's, the numbers are OpenAI's."""
    answers = [line for line in lines(path) if line.get("type") == "assistant"]
    calls = [answer["usageMetadata"] for answer in answers if "usageMetadata" in answer]
    names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    return 1, added([openai(*(call[name] for name in names)) for call in calls])


def qwen_result(path: Path) -> Count:
    """The result's own statistics of each model."""
    models = document(path)[-1]["stats"]["models"].values()
    names = ("prompt", "cached", "candidates", "thoughts")
    return 1, added([openai(*(model["tokens"][name] for name in names)) for model in models])


def cline_messages(path: Path) -> Count:
    """What each answer cost; with a provider of OpenAI's kind the input includes what was cached."""
    messages = document(path.parent / f"{path.name.split('.')[0]}.messages.json")["messages"]
    return 1, _cline([message["metrics"] for message in messages if message.get("metrics")])


def cline_stream(path: Path) -> Count:
    """The result at the end of the stream."""
    return 1, _cline([line["usage"] for line in lines(path) if line["type"] == "run_result"])


def _cline(usages: list[dict[str, int]]) -> dict[str, int]:
    return added(
        [
            openai(usage["inputTokens"], usage["cacheReadTokens"], usage["outputTokens"])
            | {"cache_write_5m": usage["cacheWriteTokens"]}
            for usage in usages
        ]
    )


def aider_analytics(path: Path) -> Count:
    """A session lasts from one launch to the next; those in which the model was asked something are runs."""
    sessions: list[list[dict[str, Any]]] = [[]]
    for line in lines(path):
        if line["event"] == "launched":
            sessions.append([])
        sessions[-1].append(line)
    asked = [
        [line["properties"] for line in session if line["event"] == "message_send"]
        for session in sessions
        if any(line["event"].startswith("message_send") for line in session)
    ]
    sent = [properties for session in asked for properties in session]
    return len(asked), {
        "input": sum(properties["prompt_tokens"] for properties in sent),
        "output": sum(properties["completion_tokens"] for properties in sent),
    }


def swe_agent(path: Path) -> Count:
    stats = document(path)["info"]["model_stats"]
    return 1, {"input": stats["tokens_sent"], "output": stats["tokens_received"]}


def openhands_output(path: Path) -> Count:
    """Each row states what all its calls used."""
    used = [row["metrics"]["accumulated_token_usage"] for row in lines(path)]
    return len(used), added(
        [
            openai(usage["prompt_tokens"], usage["cache_read_tokens"], usage["completion_tokens"])
            | {"cache_write_5m": usage["cache_write_tokens"]}
            for usage in used
        ]
    )


def inspect_log(path: Path) -> Count:
    """Samples, in a document or in an archive; with a total of input and output alone the input includes the cache.

    Of a header alone, the samples that it names.
    """
    if path.suffix == ".eval":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            samples = [json.loads(archive.read(name)) for name in names]
    else:
        log = document(path)
        samples = log.get("samples") or []
        if not samples and log["results"]["completed_samples"]:
            return len(log["eval"]["dataset"]["sample_ids"]) * log["eval"]["config"]["epochs"], {}
    by_model = [sample.get("model_usage") or {"": sample.get("output", {}).get("usage")} for sample in samples]
    used = [usage for models in by_model for usage in models.values() if usage]
    told = []
    for usage in used:
        kinds = {"input": usage["input_tokens"], "output": usage["output_tokens"]}
        if usage.get("input_tokens_cache_read") is not None:
            kinds["cache_read"] = usage["input_tokens_cache_read"]
        if usage.get("reasoning_tokens") is not None:
            kinds["reasoning"] = usage["reasoning_tokens"]
        told.append(kinds)
    return len(samples), added(told)


def harbor_trial(path: Path) -> Count:
    """Input includes the cache; where more was cached than sent, the input is not known."""
    used = document(path).get("agent_result") or {}
    return 1, _prompted(used.get("n_input_tokens"), used.get("n_cache_tokens"), used.get("n_output_tokens"))


def atif_trajectory(path: Path) -> Count:
    """The same by step: one that contradicts itself leaves the whole input unknown."""
    steps = [step["metrics"] for step in document(path)["steps"] if step.get("metrics")]
    names = ("prompt_tokens", "cached_tokens", "completion_tokens")
    told = [_prompted(*(step[name] for name in names)) for step in steps]
    common = set.intersection(*(set(kinds) for kinds in told))
    return 1, {kind: tokens for kind, tokens in added(told).items() if kind in common}


def _prompted(prompt: int | None, cached: int | None, completion: int | None) -> dict[str, int]:
    kinds = {"output": completion, "cache_read": cached}
    if prompt is not None and prompt >= (cached or 0):
        kinds["input"] = prompt - (cached or 0)
    return {kind: tokens for kind, tokens in kinds.items() if tokens is not None}


def terminal_bench(path: Path) -> Count:
    """Trials; zero tokens mean that the agent does not count."""
    trials = document(path).get("results") or [document(path)]
    pairs = [(trial.get("total_input_tokens"), trial.get("total_output_tokens")) for trial in trials]
    return len(trials), added([{"input": sent, "output": got} for sent, got in pairs if sent and got])


def scylla_table(path: Path) -> Count:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = {
        "input": "input_tokens",
        "output": "output_tokens",
        "cache_read": "cache_read_tokens",
        "cache_write_5m": "cache_creation_tokens",
    }
    return len(rows), {kind: sum(int(row[column]) for row in rows) for kind, column in names.items()}


def scylla_result(path: Path) -> Count:
    """A run's record, or an experiment's with the tiers' runs."""
    record = document(path)
    tiers = record.get("tier_results", {}).values()
    runs = [run for tier in tiers for subtest in tier["subtest_results"].values() for run in subtest["runs"]]
    runs = runs or [record]
    used = [run["token_stats"] for run in runs]
    return len(runs), {
        "input": sum(stats["input_tokens"] for stats in used),
        "cache_read": sum(stats["cache_read_tokens"] for stats in used),
        "cache_write_5m": sum(stats["cache_creation_tokens"] for stats in used),
        "output": sum(stats["output_tokens"] for stats in used),
    }


def promptfoo(path: Path) -> Count:
    """Rows; only those that really asked a model, and still hold what it answered, state tokens."""
    rows = list(lines(path)) if _is_lines(path) else document(path)["results"]["results"]
    used = [row["tokenUsage"] for row in rows if row["tokenUsage"]["prompt"]]
    return len(rows), added(
        [
            openai(
                usage["prompt"],
                usage["completionDetails"]["cacheReadInputTokens"],
                usage["completion"],
                usage["completionDetails"]["reasoning"],
            )
            for usage in used
        ]
    )


def lm_eval_samples(path: Path) -> Count:
    """One line a question and filter; the questions are the runs."""
    return len({line["doc_id"] for line in lines(path)}), {}


def junit(path: Path) -> Count:
    """One run for a report that holds a test suite."""
    root = ET.parse(path).getroot()  # noqa: S314 # files that lie beside this repository, not a stranger's
    return int(root.tag in ("testsuite", "testsuites")), {}


COUNTERS: dict[str, Callable[[Path], Count]] = {
    function.__name__: function
    for function in (
        claude_session, claude_result, claude_events, claude_metrics, codex_rollout, codex_exec, gemini_session,
        opencode_stream, copilot_events, copilot_spans, without_tokens, qwen_chat, qwen_result, cline_messages,
        cline_stream, aider_analytics, swe_agent, openhands_output, inspect_log, harbor_trial, atif_trajectory,
        terminal_bench, scylla_table, scylla_result, promptfoo, lm_eval_samples, junit,
    )
}  # fmt: skip
"""The ways to count, by the name that the table of samples gives."""
