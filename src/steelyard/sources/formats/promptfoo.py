"""promptfoo results: the JSON document, the summary of earlier versions, or the same rows as a list or as JSON Lines.

A row is a run of a provider on a test.

Repetitions (`--repeat`) are tests of their own that nothing ties together, so rows with the same prompt, provider,
variables and assertions are attempts, numbered in the order of the tests. `tokenUsage.cached` counts answers from
promptfoo's own cache on disk; the provider's cache is in `completionDetails`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import amount, decoded, document, label, problem, records
from steelyard.records import (
    JSON_ERRORS,
    Amount,
    CheckMessage,
    Count,
    DecodeError,
    Failure,
    Finding,
    Outcome,
    Rejected,
    Run,
    SessionStep,
    Usage,
    bounded_check_text,
    moment,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import conditions_from, disjoint_usage, failure_of, run_from
from steelyard.sources.formats._stated_figures import stated_count
from steelyard.sources.formats._step_values import chat_steps, decoded_lines, first_with_usage, flat_text

NAME = "promptfoo"
MAX_TASK_LENGTH = 200
"""Variables that are longer than this are shortened to name a task, and distinguished by a digest."""
_OUTCOMES: dict[int, Outcome] = {0: "passed", 1: "failed", 2: "errored"}
_MODES = frozenset({"assistant", "chat", "completion", "embedding", "embeddings", "messages", "realtime", "responses"})
_NO_MODELS = frozenset({"browser", "exec", "file", "golang", "http", "https", "package", "python", "ruby", "webhook"})
"""What provider ids begin with that name a program or an address."""


class Details(msgspec.Struct, rename="camel"):
    """Parts of prompt and completion; 0 where the provider reports none."""

    reasoning: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None


class Tokens(msgspec.Struct, rename="camel"):
    """What the provider counted: prompt includes the provider's cache, completion includes reasoning."""

    prompt: Count | None = None
    completion: Count | None = None
    cached: Count | None = None
    total: Count | None = None
    completion_details: Details | None = None


class Provider(msgspec.Struct):
    """Who answered."""

    id: str | None = None
    label: str | None = None


class TestCase(msgspec.Struct):
    """The test, as configured."""

    __test__ = False  # pytest must not take this for a test class

    description: str | None = None
    assertions: Any = msgspec.field(name="assert", default=None)  # Any: compared, never looked into


class Prompt(msgspec.Struct):
    """The prompt, with its variables filled in."""

    label: str | None = None
    raw: Any = None  # Any: text, or messages


class Response(msgspec.Struct, rename="camel"):
    """The answer, with its origin and its tokens."""

    cached: bool | None = None
    output: Any = None  # Any: text, or a value of the provider's
    token_usage: Tokens | None = None


class Row(msgspec.Struct, rename="camel"):
    """One test with one prompt and provider."""

    id: str | None = None
    test_idx: int | None = None
    prompt_idx: int | None = None
    failure_reason: int | None = None
    success: bool | None = None
    score: float | None = None
    named_scores: dict[str, Any] | None = None  # Any: numbers by the user's own names
    cost: Amount | None = None
    latency_ms: Amount | None = None
    token_usage: Tokens | None = None
    error: Any = None  # Any: text, also of an assertion that did not hold
    grading_result: Any = None  # Any: an object with a reason
    provider: Provider | str | None = None
    prompt: Prompt | None = None
    vars: dict[str, Any] | None = None  # Any: the user's own values
    test_case: TestCase | None = None
    response: Response | None = None

    @property
    def outcome(self) -> Outcome:
        """How the row ended. `error` also contains assertion messages, so it decides only in older files."""
        if self.failure_reason in _OUTCOMES:
            return _OUTCOMES[self.failure_reason]
        if self.success is None:
            return "not_scored"
        return "passed" if self.success else "failed" if self.grading_result or not self.error else "errored"

    @property
    def is_cached(self) -> bool:
        """Whether the answer came from promptfoo's cache."""
        return bool(self.response and self.response.cached)


class Stats(msgspec.Struct, rename="camel"):
    """promptfoo's own summary."""

    successes: int | None = None
    failures: int | None = None
    errors: int | None = None
    token_usage: Tokens | None = None


class Results(msgspec.Struct):
    """The rows, decoded one by one so that a broken one is rejected alone."""

    results: list[msgspec.Raw] = []
    timestamp: Any = None  # Any: ISO text
    stats: Stats | None = None


class Metadata(msgspec.Struct, rename="camel"):
    """What wrote the document."""

    promptfoo_version: Any = None  # Any: text


class Evaluation(msgspec.Struct, rename="camel"):
    """The document."""

    results: Results
    eval_id: str | None = None
    metadata: Metadata | None = None


_DOCUMENT = msgspec.json.Decoder(Evaluation)
_SUMMARY = msgspec.json.Decoder(Results)
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_ROW_KEYS = ("vars", "success", "provider")
"""What every version writes of a row."""
_ROW = msgspec.json.Decoder(Row)


def recognizes(head: Head) -> bool:
    """A document with an `evalId` and versioned results, or lines that number their test and prompt."""
    return _layout(head) is not None


def _layout(head: Head) -> str | None:
    """How the rows are stored."""
    shape = head.shape
    if "results.version" in shape and ("results.prompts" in shape or "results.results" in shape):
        is_tool = "evalId" in shape or all(f"results.results[].{key}" in shape for key in _ROW_KEYS)
        return "document" if is_tool else None
    if all(f"results[].{key}" in shape for key in _ROW_KEYS) and (
        "results[].gradingResult" in shape or "results[].latencyMs" in shape
    ):
        return "summary"
    if all(f"[].{key}" in shape for key in (*_ROW_KEYS, "prompt")) and (
        "[].gradingResult" in shape or "[].latencyMs" in shape
    ):
        return "list"
    return "lines" if head.has("promptIdx", "promptId", "provider", "latencyMs") else None


def read(path: Path) -> Iterator[ReadItem]:
    """One part per row, and what the file states of them."""
    evaluation = Evaluation(Results())
    rows: list[tuple[int | None, Row]] = []
    layout = _layout(head_of(path))
    if layout != "lines":
        if layout == "list":
            evaluation = Evaluation(Results(results=document(path, _LIST)))
        else:
            is_summary = layout == "summary"
            evaluation = Evaluation(document(path, _SUMMARY)) if is_summary else document(path, _DOCUMENT)
        for number, raw in enumerate(evaluation.results.results, 1):
            try:
                rows.append((None, decoded(bytes(raw), _ROW)))
            except JSON_ERRORS as error:
                yield Rejected(path=str(path), reason=f"result {number}: {problem(error)}")
    else:
        for item in records(path, _ROW):
            if isinstance(item, tuple):
                rows.append(item)
            else:
                yield item
    attempts = _attempts([row for _, row in rows])
    for (line, row), attempt in zip(rows, attempts, strict=True):
        try:
            yield RunPart(run=_run(row, attempt, evaluation, path), path=str(path), line=line, role="owner")
        except DecodeError as error:
            yield Rejected(path=str(path), line=line, reason=error.reason, hint=error.hint)
    yield from _findings([row for _, row in rows], evaluation.results.stats, str(path))


def steps(path: Path, session: str | None) -> Iterator[SessionStep | Rejected]:
    """Yield the steps of a row: its prompt, its answer or error, and the assertions that failed."""
    for item in _chosen_rows(path, session):
        yield from [item] if isinstance(item, Rejected) else _row_steps(item[1], item[0])


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:
    """Yield the reasons of the assertions of a row."""
    for item in _chosen_rows(path, session):
        graded = None if isinstance(item, Rejected) else item[1].grading_result
        if isinstance(graded, dict):
            parts = graded.get("componentResults")
            own = [each for each in parts if isinstance(each, dict)] if isinstance(parts, list) else []
            for number, each in enumerate(own or [graded], start=1):
                assertion, reason, score = each.get("assertion"), each.get("reason"), amount(each.get("score"))
                kind = assertion.get("type") if isinstance(assertion, dict) else None
                if isinstance(reason, str) and reason.strip():
                    yield CheckMessage(
                        name=label(kind) or f"assertion {number}",
                        kind="grader",
                        passed=each["pass"] if isinstance(each.get("pass"), bool) else None,
                        score=score if score is not None and 0 <= score <= 1 else None,
                        text=bounded_check_text(reason),
                        source_line=item[0] if isinstance(item, tuple) else None,
                    )


def _chosen_rows(path: Path, session: str | None) -> Iterator[tuple[int | None, Row] | Rejected]:
    """The rows with this id, each with its line."""
    layout = _layout(head_of(path))
    if layout == "lines":
        for item in decoded_lines(path, _ROW):
            if isinstance(item, Rejected) or session in (None, item[1].id, f"#{item[0]}"):
                yield item
        return
    if layout == "list":
        rows = document(path, _LIST)
    else:
        rows = (document(path, _SUMMARY) if layout == "summary" else document(path, _DOCUMENT).results).results
    for raw in rows:
        try:
            row = decoded(bytes(raw), _ROW)
        except JSON_ERRORS:
            continue  # `read` reports it
        if session in (None, row.id):
            yield None, row


def _row_steps(row: Row, number: int | None) -> Iterator[SessionStep]:
    prompt = row.prompt.raw if row.prompt else None
    for message in _messages(prompt):
        yield from chat_steps(message, source_line=number)
    provider = row.provider.id if isinstance(row.provider, Provider) else row.provider
    answer = flat_text(row.response.output) if row.response else None
    if answer is not None:
        made = [SessionStep(kind="message", role="assistant", text=answer, model=provider, source_line=number)]
        yield from first_with_usage(made, None if row.is_cached else _usage(row))
    if row.error:
        yield SessionStep(kind="error", role="system", text=flat_text(row.error), source_line=number)


def _messages(prompt: Any) -> list[dict[str, Any]]:  # Any: text, or messages
    """Return the messages of a prompt; a text may be the JSON of some."""
    if isinstance(prompt, str) and prompt.lstrip().startswith("["):
        try:
            prompt = msgspec.json.decode(prompt)
        except JSON_ERRORS:
            return [{"role": "user", "content": prompt}]
    if isinstance(prompt, list) and all(isinstance(each, dict) and "role" in each for each in prompt):
        return prompt
    return [] if prompt is None else [{"role": "user", "content": flat_text(prompt)}]


def _attempts(rows: Sequence[Row]) -> list[int]:
    """Which attempt at its test each row is, by the number of the test: rows are in the order in which they ended."""
    groups: dict[bytes, list[int]] = {}
    for at, row in enumerate(rows):
        test = row.test_case or TestCase()
        same = (row.prompt_idx, _names(row.provider), row.vars, test.description, test.assertions)
        groups.setdefault(msgspec.json.encode(same, order="deterministic"), []).append(at)
    attempts = [1] * len(rows)
    for group in groups.values():
        group.sort(key=lambda at: (rows[at].test_idx or 0, at))
        for attempt, at in enumerate(group, 1):
            attempts[at] = attempt
    return attempts


def _run(row: Row, attempt: int, evaluation: Evaluation, path: Path) -> Run:
    outcome = row.outcome
    scored = outcome in ("passed", "failed")
    usage = _usage(row)
    provider, name = _names(row.provider)
    started = moment(evaluation.results.timestamp)
    return run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": "reported" if row.cost else "unknown",
            "passed": "reported" if scored else "unknown",
            "started_at": "lower_bound" if started else None,  # when the evaluation began
        },
        id=label(row.id),
        experiment=label(evaluation.eval_id),
        task=_task(row),
        agent=label(name) or label(provider) or NAME,
        model=label(_model(provider)),
        conditions=conditions_from(
            harness=NAME, harness_version=evaluation.metadata.promptfoo_version if evaluation.metadata else None
        ),
        attempt=attempt,
        started_at=started,
        duration_seconds=None if row.latency_ms is None else row.latency_ms / 1000,
        passed=outcome == "passed" if scored else None,
        outcome=outcome,
        failure=_failure(row) if outcome == "errored" else None,
        impl_rate=row.score if scored and row.score is not None and 0 <= row.score <= 1 else None,
        usage=usage,
        cost_usd=row.cost or None,  # 0 where promptfoo knows no price
        extra={
            "prompt": label(row.prompt.label if row.prompt else None),
            "cached": True if row.is_cached else None,
            "named_scores": row.named_scores or None,
        },
    )


def _failure(row: Row) -> Failure:
    """What broke, without the stack: an assertion that could not be evaluated is no fault of the agent."""
    text = row.error if isinstance(row.error, str) else ""
    broken_assertion = "at runAssertion " in text
    return failure_of(text.strip().partition("\n")[0], otherwise="infrastructure" if broken_assertion else "unknown")


def _usage(row: Row) -> Usage | None:
    """The tokens; all zeros mean that nothing was counted, or that a broken assertion took the counts with it."""
    used = row.token_usage or Tokens()
    answered = row.response.token_usage if row.response else None
    if answered is not None and not used.total and not used.prompt and not used.completion:
        used = answered  # earlier versions state them with the answer alone, later ones after a broken assertion
    if not used.prompt and not used.completion:
        total = used.total or used.cached
        return Usage(total_tokens=total) if total else None
    details = used.completion_details or Details()
    usage = disjoint_usage(
        input_with_cache=used.prompt,
        cache_read=details.cache_read_input_tokens or None,
        cache_write=details.cache_creation_input_tokens or None,
        output_with_reasoning=used.completion,
        reasoning=details.reasoning or None,
    )
    differs = used.total is not None and used.total != usage.total
    return msgspec.structs.replace(usage, total_tokens=used.total) if differs else usage


def _task(row: Row) -> str:
    """The test's description, else its variables."""
    described = label(row.test_case.description if row.test_case else None)
    if described is not None:
        return described
    text = ", ".join(f"{key}={value}" for key, value in sorted((row.vars or {}).items())).strip()
    if not text:
        return label(row.prompt.label if row.prompt else None) or "test"
    if len(text) <= MAX_TASK_LENGTH:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{text[:MAX_TASK_LENGTH].rstrip()}... {digest}"


def _names(provider: Provider | str | None) -> tuple[str, str]:
    """The provider's id and label."""
    if isinstance(provider, Provider):
        return provider.id or "", provider.label or ""
    return provider or "", ""


def _model(provider: str) -> str | None:
    """The model in a provider's id.

    >>> [_model(id_) for id_ in ("openai:chat:gpt-5", "bedrock:anthropic.claude-v1:0", "echo", "file://agent.py")]
    ['gpt-5', 'anthropic.claude-v1:0', None, None]
    """
    vendor, *rest = provider.split(":")
    if vendor in _NO_MODELS or not rest:
        return None
    return ":".join(rest[1:] if rest[0] in _MODES else rest) or None


def _findings(rows: Sequence[Row], stats: Stats | None, where: str) -> Iterator[Finding]:
    """What a reader of the numbers should know."""
    outcomes = [row.outcome for row in rows]
    if stats is not None:
        for outcome, stated in (("passed", stats.successes), ("failed", stats.failures), ("errored", stats.errors)):
            listed = sum(1 for word in outcomes if word == outcome)
            yield from stated_count(where, f"tests that {outcome}", stated=stated, listed=listed)
    lost = sum(1 for row, outcome in zip(rows, outcomes, strict=True) if outcome == "errored" and _usage(row) is None)
    if lost:
        message = (
            f"{lost:,} of {len(rows):,} results ended in an error and report no tokens; a failing assertion discards "
            "the tokens of a paid call, so totals are lower bounds"
        )
        yield Finding(code="tokens_lost", message=message, where=where, count=lost)
    cached = sum(1 for row in rows if row.is_cached)
    if cached:
        message = (
            f"{cached:,} of {len(rows):,} answers came from promptfoo's cache; their latency is from the first "
            "call, and only the total of their tokens is known (promptfoo eval --no-cache repeats the calls)"
        )
        yield Finding(code="cached_answers", message=message, where=where, count=cached)
    prompts = {row.prompt.label for row in rows if row.prompt and row.prompt.label}
    if len(prompts) > 1:
        message = f"the evaluation has {len(prompts):,} prompts; x_prompt contains the prompt of each run"
        yield Finding(code="several_prompts", severity="info", message=message, where=where)


FORMAT = LogFormat(
    name=NAME,
    title="promptfoo results (JSON and JSON Lines)",
    kind="trials",
    yields=("passed", "outcome", "impl_rate", "usage by kind", "cost_usd", "duration_seconds", "failure"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    check_messages=check_messages,
)
