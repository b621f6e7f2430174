"""Inspect's evaluation logs: a JSON document, or a zip (`.eval`) with a file a sample. A sample is a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import ZipLog, amount, beginning_of, count, decoded, document, label, number, problem, unreadable
from steelyard.records import (
    JSON_ERRORS,
    Amount,
    Call,
    CheckMessage,
    Conditions,
    Count,
    Failure,
    Finding,
    Rejected,
    SessionStep,
    Usage,
    add_usage,
    bounded_check_text,
    first_and_last,
    moment,
    sum_of_known,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import (
    conditions_from,
    disjoint_usage,
    failure_of,
    outcome_of,
    run_from,
    stated_cost,
)
from steelyard.sources.formats._stated_figures import stated_accuracy
from steelyard.sources.formats._step_values import StepItem, chat_steps, with_usage

NAME = "inspect"
HEADERS = ("header.json", "_journal/start.json")
"""The header is written last; a log that broke off has only the journal's start."""
MAX_EPOCHS = 1000
PASSES = {"C": True, "I": False, "P": False, "N": False, "correct": True, "incorrect": False}


class ModelUsage(msgspec.Struct):
    """What one model used; the total shows whether input includes cached input."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    total_tokens: Count | None = None
    input_tokens_cache_read: Count | None = None
    input_tokens_cache_write: Count | None = None
    reasoning_tokens: Count | None = None
    total_cost: Amount | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds."""
        cached = (self.input_tokens_cache_read or 0) + (self.input_tokens_cache_write or 0)
        apart = self.total_tokens == (self.input_tokens or 0) + (self.output_tokens or 0) + cached
        return disjoint_usage(
            input_with_cache=None if self.input_tokens is None else self.input_tokens + (cached if apart else 0),
            cache_read=self.input_tokens_cache_read,
            cache_write=self.input_tokens_cache_write,
            output_with_reasoning=self.output_tokens,
            reasoning=self.reasoning_tokens,
        )


class Score(msgspec.Struct):
    """A scorer's verdict."""

    value: Any = None  # Any: a letter, a flag, a number or an object
    explanation: Any = None  # Any: text


class ToolCall(msgspec.Struct):
    """A tool that the model called."""

    id: str | None = None


class Message(msgspec.Struct):
    """A message of the conversation."""

    role: str | None = None
    tool_calls: list[ToolCall] | None = None


class Event(msgspec.Struct):
    """Something that happened; only its time is used."""

    timestamp: Any = None  # Any: ISO text


class Transcript(msgspec.Struct):
    """Where logs of before November 2024 keep the events."""

    events: list[Event] = []


class ErrorInfo(msgspec.Struct):
    """Why a sample broke off."""

    message: str | None = None
    type: str | None = None


class Output(msgspec.Struct):
    """The model's last answer."""

    usage: ModelUsage | None = None


class Sample(msgspec.Struct, kw_only=True):
    """One attempt at one sample."""

    id: int | str
    epoch: int = 1
    uuid: str | None = None
    messages: list[Message] = []
    scores: dict[str, Score] | None = None
    model_usage: dict[str, ModelUsage] | None = None
    events: list[Event] = []
    transcript: Transcript | None = None
    output: Output | None = None
    error: ErrorInfo | None = None
    limit: ErrorInfo | None = None
    started_at: str | None = None
    completed_at: str | None = None
    total_time: float | None = None
    working_time: float | None = None


class Eval(msgspec.Struct, kw_only=True):
    """What was evaluated."""

    task: str
    model: str | None = None
    eval_id: str | None = None
    run_id: str | None = None
    solver: str | None = None
    model_base_url: str | None = None
    config: Any = None  # Any: limits of the evaluation
    dataset: Any = None  # Any: what was evaluated
    model_generate_config: Any = None  # Any: sampling settings
    packages: Any = None  # Any: versions by package


class Metric(msgspec.Struct):
    """One metric of a scorer."""

    value: Any = None  # Any: a number, or null where it could not be had


class ScoreSummary(msgspec.Struct):
    """A scorer's metrics over the samples."""

    name: str | None = None
    metrics: dict[str, Metric] = {}
    scored_samples: int | None = None
    """What the metrics divide by: epochs taken together, broken samples left out. Older logs lack it."""


class Results(msgspec.Struct):
    """The log's own summary."""

    total_samples: int | None = None
    completed_samples: int | None = None
    scores: list[ScoreSummary] = []


class Log(msgspec.Struct, kw_only=True):
    """The document, or the header of the zip."""

    eval: Eval
    plan: Any = None  # Any: the solvers, and settings of their model
    status: str | None = None
    results: Results | None = None
    samples: list[Sample] | None = None


_LOG = msgspec.json.Decoder(Log)
_SAMPLE = msgspec.json.Decoder(Sample)


def recognizes(head: Head) -> bool:
    """A document with an `eval` and its task, or a zip that begins with Inspect's journal."""
    if head.start.startswith(b"PK\x03\x04"):
        return any(name.encode() in head.start for name in (*HEADERS, "samples/")) and b"_journal/" in head.start
    return head.has("version", "eval", "eval.task", "eval.model")


def read(path: Path) -> Iterator[ReadItem]:
    """One part per sample, and what the log states of them."""
    if not beginning_of(path).startswith(b"PK"):
        log = document(path, _LOG)
        yield from _items(log, log.samples or (), str(path))
        return
    with ZipLog(path) as archive:
        names = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        # one sample at a time: many of them would not fit into the processor's cache, or into memory
        yield from _items(_header(archive, path), (_sample(archive, name, path) for name in names), str(path))


def _conditions(log: Log) -> Conditions | None:
    """Limits and settings of all samples."""
    config, packages, plan = (
        value if isinstance(value, dict) else {} for value in (log.eval.config, log.eval.packages, log.plan)
    )
    limits = [each for name in ("time_limit", "working_limit") if (each := number(config.get(name))) is not None]
    sampling = {**_object(plan.get("config")), **_object(log.eval.model_generate_config)}
    others = {name: config[name] for name in ("message_limit", "token_limit", "cost_limit") if name in config}
    return conditions_from(
        time_limit_seconds=min(limits, default=None),
        harness=NAME,
        harness_version=packages.get("inspect_ai"),
        endpoint=log.eval.model_base_url,
        settings={**sampling, **others},
    )


def _object(value: Any) -> dict[str, Any]:  # Any: a JSON value
    return value if isinstance(value, dict) else {}


def _items(log: Log, samples: Iterable[Sample | Rejected], path: str) -> Iterator[ReadItem]:
    about = {
        "experiment": label(log.eval.task),
        "agent": label(log.eval.solver) or NAME,
        "model": label(log.eval.model),
        "conditions": _conditions(log),
    }
    verdicts: list[bool | None] = []
    for sample in samples:
        if isinstance(sample, Rejected):
            yield sample
            continue
        part = _part(log, sample, path, about)
        verdicts.append(part.run.passed)
        yield part
    if not verdicts:
        for run in _unrecorded(log, path, about):
            verdicts.append(None)
            yield run
        yield from _summary(log, [], path)
        return
    yield from _summary(log, verdicts, path)


def _unrecorded(log: Log, path: str, about: dict[str, Any]) -> Iterator[RunPart]:
    """The runs of a log that has only its header: which samples were evaluated is known, their results are not."""
    dataset, config = (_object(value) for value in (log.eval.dataset, log.eval.config))
    samples = dataset.get("sample_ids")
    epochs = count(config.get("epochs")) or 1
    done = log.results is not None and bool(log.results.completed_samples)
    named = [each for each in samples if isinstance(each, (int, str))] if isinstance(samples, list) and done else []
    for sample in named:
        for epoch in range(1, min(epochs, MAX_EPOCHS) + 1):
            run = run_from(
                format=NAME,
                path=path,
                how={"usage": "unknown", "cost_usd": "unknown", "passed": "unknown"},
                id=label(f"{_group(log)}/{sample}/{epoch}"),
                **about,
                task=label(f"{log.eval.task}/{sample}"),
                attempt=epoch,
                outcome="not_scored",
            )
            yield RunPart(run=run, path=path, role="owner")


def _group(log: Log | StepLog) -> str:
    return log.eval.eval_id or log.eval.run_id or log.eval.task


def _header(archive: ZipLog, path: Path) -> Log:
    for name in HEADERS:
        if name in archive.names:
            try:
                return decoded(archive.read(name), _LOG)
            except JSON_ERRORS as error:
                raise unreadable(f"{path}!/{name}", error) from error
    raise UnreadableFileError(str(path), "the archive has neither a header nor a journal")


def _sample(archive: ZipLog, name: str, path: Path) -> Sample | Rejected:
    try:
        return decoded(archive.read(name), _SAMPLE)
    except JSON_ERRORS as error:
        return Rejected(path=f"{path}!/{name}", reason=problem(error))


def _part(log: Log, sample: Sample, path: str, about: dict[str, Any]) -> RunPart:
    used_by_model = sample.model_usage or {}
    calls = tuple(
        [Call(model=label(model), usage=used.disjoint(), summed=True) for model, used in sorted(used_by_model.items())]
    )
    usage = add_usage([call.usage for call in calls])
    last = sample.output.usage if sample.output and not calls else None  # older logs count the last answer alone
    if last is not None:
        usage = last.disjoint()
    cost, sure = stated_cost(sum_of_known([used.total_cost for used in used_by_model.values()]), usage)
    passed, rate = _verdict(sample.scores)
    trouble = sample.error or sample.limit
    tools = {call.id for message in sample.messages if message.tool_calls for call in message.tool_calls if call.id}
    started, ended = moment(sample.started_at), moment(sample.completed_at)
    if started is None or ended is None:
        events = sample.events or (sample.transcript.events if sample.transcript else [])
        earliest, latest = first_and_last([event.timestamp for event in events])
        started, ended = started or earliest, ended or latest
    group = _group(log)
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": "lower_bound" if last else "reported" if usage else "unknown",
            "cost_usd": sure,
            "tool_calls": "counted" if sample.messages else None,
            "passed": "unknown" if passed is None else "reported",
        },
        id=label(f"{group}/{sample.id}/{sample.epoch}"),
        **about,
        task=label(f"{log.eval.task}/{sample.id}"),
        attempt=max(sample.epoch, 0),
        started_at=started,
        ended_at=ended if started is None or ended is None or ended >= started else None,
        passed=passed,
        impl_rate=rate,
        outcome="errored" if sample.error else outcome_of(passed),
        failure=_failure(sample) if trouble else None,
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=len(tools) if sample.messages else None,
        iterations=sum([message.role == "assistant" for message in sample.messages]) or None,
        duration_seconds=amount(sample.total_time),
        extra={"working_seconds": sample.working_time},
    )
    return RunPart(run=run, path=path, role="owner")


class StepSample(msgspec.Struct, kw_only=True):
    """What a sample shows of its steps."""

    id: int | str
    epoch: int = 1
    messages: list[dict[str, Any]] = []  # Any: JSON values
    events: list[dict[str, Any]] = []  # Any: JSON values
    error: ErrorInfo | None = None
    limit: ErrorInfo | None = None
    scores: dict[str, Score] | None = None


class StepLog(msgspec.Struct, kw_only=True):
    """The document with its samples not yet decoded."""

    eval: Eval
    samples: list[msgspec.Raw] = []


_STEP_SAMPLE = msgspec.json.Decoder(StepSample)
_STEP_LOG = msgspec.json.Decoder(StepLog)


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a sample: its messages, with the times and tokens that the events state of them."""
    for sample in _step_samples(path, session):
        yield from [sample] if isinstance(sample, Rejected) else _sample_steps(sample)


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:
    """Yield the explanations of the scorers."""
    for sample in _step_samples(path, session):
        scores = {} if isinstance(sample, Rejected) else sample.scores or {}
        for at, (scorer, score) in enumerate(scores.items()):
            passed, rate = _verdict({scorer: score})
            if isinstance(score.explanation, str) and score.explanation.strip():
                yield CheckMessage(
                    name=scorer,
                    kind="grader",
                    passed=passed if at == 0 else None,  # the first one decides
                    score=rate,
                    text=bounded_check_text(score.explanation),
                )


def _step_samples(path: Path, session: str | None) -> Iterator[StepSample | Rejected]:
    if not beginning_of(path).startswith(b"PK"):
        log = document(path, _STEP_LOG)
        for raw in log.samples:
            named = decoded(raw, _SAMPLE_NAME)
            if session in (None, f"{_group(log)}/{named.id}/{named.epoch}"):
                yield decoded(raw, _STEP_SAMPLE)
        return
    with ZipLog(path) as archive:
        group = _group(_header(archive, path))
        for name in archive.names:
            if name.startswith("samples/") and name.endswith(".json") and _may_be(name, group, session):
                try:
                    sample = decoded(archive.read(name), _STEP_SAMPLE)
                except JSON_ERRORS as error:
                    yield Rejected(path=f"{path}!/{name}", reason=problem(error))
                    continue
                if session in (None, f"{group}/{sample.id}/{sample.epoch}"):
                    yield sample


class SampleName(msgspec.Struct):
    """Which sample it is."""

    id: int | str
    epoch: int = 1


_SAMPLE_NAME = msgspec.json.Decoder(SampleName)


def _may_be(name: str, group: str, session: str | None) -> bool:
    """Whether a file can be the sample's: files are named by id and epoch; ids with signs are written otherwise."""
    id_, _, epoch = (session or "").removeprefix(f"{group}/").rpartition("/")
    return session is None or not id_.isalnum() or name == f"samples/{id_}_epoch_{epoch}.json"


def _sample_steps(sample: StepSample) -> Iterator[SessionStep]:
    stated = _stated_answers(sample.events)
    for message in sample.messages:
        at, usage = stated.pop(str(message.get("id")), (None, None))
        model = label(message.get("model"))
        made = list(chat_steps(message, at=moment(at)))
        for step in made:
            if step.role in ("assistant", "reasoning") and model is not None:
                msgspec.structs.force_setattr(step, "model", model)
        if made and usage is not None:
            with_usage(made[0], usage)
        yield from made
    if sample.error is not None:
        yield SessionStep(kind="error", role="system", text=sample.error.message)
    elif sample.limit is not None:
        yield SessionStep(kind="error", role="system", text=f"limit: {sample.limit.type}")


def _stated_answers(events: list[dict[str, Any]]) -> dict[str, tuple[Any, Usage | None]]:  # Any: JSON values
    """Return the time and tokens of each answer, by the id of its message."""
    found: dict[str, tuple[Any, Usage | None]] = {}
    for event in events:
        output = _object(event.get("output")) if event.get("event") == "model" else {}
        choices = output.get("choices")
        message = _object(_object(choices[0]).get("message")) if isinstance(choices, list) and choices else {}
        if "id" in message:
            try:
                used = msgspec.convert(output.get("usage"), ModelUsage | None)
            except msgspec.ValidationError:
                used = None
            found[str(message["id"])] = event.get("timestamp"), used.disjoint() if used else None
    return found


def _failure(sample: Sample) -> Failure:
    if sample.error is not None:
        return failure_of(sample.error.message)
    return Failure(
        cause="agent", message=f"limit: {sample.limit.type}" if sample.limit and sample.limit.type else "limit"
    )


def _verdict(scores: dict[str, Score] | None) -> tuple[bool | None, float | None]:
    """The first scorer's verdict and, where it is a share, the share."""
    value = next(iter(scores.values())).value if scores else None
    if isinstance(value, bool):
        return value, None
    if isinstance(value, str):
        return PASSES.get(value), 0.5 if value == "P" else None
    if isinstance(value, int | float) and 0 <= value <= 1:
        return value >= 1, None if value in (0, 1) else float(value)
    return None, None


def _summary(log: Log, verdicts: list[bool | None], path: str) -> Iterator[Finding]:
    total = log.results.total_samples if log.results else None
    if log.status not in (None, "success") or (total is not None and total != len(verdicts)):
        of = f" of {total}" if total is not None else ""
        message = f"evaluation status: {log.status}; {len(verdicts)}{of} samples recorded"
        yield Finding(code="incomplete_log", message=message, where=path)
    for summary in log.results.scores[:1] if log.results else ():
        accuracy = summary.metrics.get("accuracy")
        divisor = summary.scored_samples or total
        if accuracy is not None and isinstance(accuracy.value, int | float) and divisor:
            how = "samples scored by Inspect, all epochs" if summary.scored_samples else "epochs reduced by Inspect"
            yield stated_accuracy(path, stated=float(accuracy.value), of=divisor, how=how, verdicts=verdicts)


FORMAT = LogFormat(
    name=NAME,
    title="Inspect logs (.eval and .json)",
    kind="trials",
    yields=(
        "passed",
        "impl_rate",
        "usage by model",
        "tool_calls",
        "iterations",
        "times",
        "duration_seconds",
        "failure",
        "reported accuracy",
    ),
    recognizes=recognizes,
    read=read,
    steps=steps,
    check_messages=check_messages,
)
