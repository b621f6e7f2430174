"""Aider: its analytics log (a run per launch), the benchmark's results, and records of its SWE-bench instances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import astuple

from steelyard.files import document, label, numbered_lines, records
from steelyard.records import (
    Amount,
    Call,
    Count,
    DecodeError,
    Failure,
    Finding,
    Rejected,
    SessionStep,
    StepRole,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import busiest_model, failure_of, outcome_of, run_from, span_of, stated_cost

NAME = "aider"
_COUNTS = "when streaming, aider logs estimated tokens, and calls of its weak model are not logged"
BROKEN_IN = b"run_test_real"
"""The benchmark's own function, named in the traceback of an exercise that broke off."""


class Properties(msgspec.Struct):
    """Content of an event; only `message_send` has tokens, and `message_send_exception` an exception."""

    main_model: str | None = None
    exception: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cost: Amount | None = None
    reason: str | None = None


class Event(msgspec.Struct):
    """One line of the analytics log."""

    event: str
    properties: Properties | None = None
    time: float | None = None


class Result(msgspec.Struct):
    """A benchmark exercise; one that broke off has nothing but its exception."""

    testcase: str | None = None
    testdir: str | None = None
    exception: str | None = None
    model: str | None = None
    tests_outcomes: list[bool] = []
    cost: Amount | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    num_error_outputs: Count | None = None
    test_timeouts: Count | None = None
    duration: Amount | None = None


class Instance(msgspec.Struct):
    """One instance of its SWE-bench runs."""

    instance_id: str
    model: str | None = None
    model_name_or_path: str | None = None
    cost: Amount | None = None
    resolved: bool | None = None
    attempt: Any = msgspec.field(name="try", default=None)  # Any: a count; absent in some
    test_outcome: bool | None = None


_EVENT = msgspec.json.Decoder(Event)
_RESULT = msgspec.json.Decoder(Result)
_INSTANCE = msgspec.json.Decoder(Instance)


def recognizes(head: Head) -> bool:
    """Events with properties and a user, an exercise with its tries, or an instance with its edit's outcome."""
    if head.has("event", "properties", "user_id", "time"):
        return True
    if head.shape.keys() == {"exception"}:
        return BROKEN_IN in head.text
    return head.has("testcase", "tests_outcomes") or head.has("instance_id", "edit_outcome")


def read(path: Path) -> Iterator[ReadItem]:
    """The runs of the file."""
    shape = head_of(path).shape
    if "testcase" in shape or "exception" in shape:
        yield _exercise(document(path, _RESULT), str(path))
    elif "instance_id" in shape:
        yield _instance(document(path, _INSTANCE), str(path))
    else:
        yield from _launches(path)


HISTORY = ".aider.chat.history.md"
"""What aider keeps of a chat, next to the results of an exercise."""
_ASKED, _SHOWN = "#### ", "> "
"""What lines of the user and of aider itself begin with; all others are the model's."""


def steps(path: Path, session: str | None) -> Iterator[SessionStep]:  # noqa: ARG001 # a file holds one
    """Yield the steps of an exercise from the chat history next to its results; other files contain no messages."""
    history = path.with_name(HISTORY)
    if "testcase" not in head_of(path).shape or history.is_symlink() or not history.is_file():
        return
    kind, first, held, size = "", 1, list[str](), 0
    for number, raw in numbered_lines(history):
        line = raw.decode("utf-8", "replace").rstrip()
        if line.startswith("# aider chat started"):
            continue
        now = next((mark for mark in (_ASKED, _SHOWN) if line.startswith(mark.rstrip())), "")
        if (now != kind and line) or size > MAX_TEXT:
            yield from _history_step(kind, held, history, first)
            kind, first, held, size = now, number, [], 0
        held.append(line[len(now) :] if now else line)
        size += len(line)
    yield from _history_step(kind, held, history, first)


MAX_TEXT = 64_000
"""Characters of one step."""


def _history_step(kind: str, held: list[str], history: Path, line: int) -> Iterator[SessionStep]:
    text = "\n".join(held).strip()
    if not text:
        return
    if kind == _SHOWN:
        yield SessionStep(kind="tool_result", role="tool", result=text, source_path=str(history), source_line=line)
    else:
        role: StepRole = "user" if kind == _ASKED else "assistant"
        yield SessionStep(kind="message", role=role, text=text, source_path=str(history), source_line=line)


def _launches(path: Path) -> Iterator[ReadItem]:
    events: list[Event] = []
    sent: set[tuple[Any, ...]] = set()  # Any: a time and properties
    start = 1
    for item in records(path, _EVENT):
        if not isinstance(item, tuple):
            yield item
            continue
        if item[1].event == "message_send" and item[1].properties:
            key = (item[1].time, *astuple(item[1].properties))
            if key in sent:
                continue  # a line may be written twice
            sent.add(key)
        if item[1].event == "launched" and events:
            yield from _launch(events, path, start)
            events, start = [], item[0]
        events.append(item[1])
    yield from _launch(events, path, start)


def _launch(events: list[Event], path: Path, line: int) -> Iterator[ReadItem]:
    sends = [(event, event.properties) for event in events if event.event == "message_send" and event.properties]
    if not sends and not any(event.event.startswith("message_send") for event in events):
        return  # nothing was asked of a model
    calls = tuple(
        Call(
            model=_model(sent.main_model),
            at=moment(event.time),
            usage=Usage(input_tokens=sent.prompt_tokens, output_tokens=sent.completion_tokens),
            cost_usd=sent.cost or None,
        )
        for event, sent in sends
    )
    stated = [sent.cost for _, sent in sends if sent.cost]
    usage = add_usage(call.usage for call in calls)
    started, ended = span_of(event.time for event in events)
    trouble = None if sends else _unanswered(events)
    try:
        run = run_from(
            format=NAME,
            path=str(path),
            how={
                "usage": "lower_bound" if sends else "unknown",
                "cost_usd": "lower_bound" if stated else "unknown",
            },
            task=f"session of {started:%Y-%m-%dT%H:%M:%SZ}" if started else f"session at line {line}",
            agent=NAME,
            model=busiest_model(calls),
            started_at=started,
            ended_at=ended,
            outcome="errored" if trouble else "not_scored",
            failure=trouble,
            usage=usage,
            calls=calls,
            cost_usd=sum_in_order(stated) if stated else None,
            iterations=len(calls) or None,
        )
    except DecodeError as error:
        yield Rejected(path=str(path), line=line, reason=error.reason, hint=error.hint)
        return
    note = Finding(code="aider_counts", severity="info", message=_COUNTS, where=f"{path}:{line}")
    yield RunPart(run=run, path=str(path), line=line, role="session", notes=(note,) if sends else ())


def _model(name: str | None) -> str | None:
    """The model's name; aider writes `None` and `provider/REDACTED` for one that it does not know."""
    return None if name is None or name == "None" or name.endswith("REDACTED") else label(name)


def _unanswered(events: list[Event]) -> Failure:
    exception = next(
        (event.properties.exception for event in events if event.properties and event.properties.exception), None
    )
    return failure_of(exception or "the model returned no answer; aider's log does not report a reason")


def _exercise(result: Result, path: str) -> RunPart:
    usage = None
    if result.prompt_tokens or result.completion_tokens:
        usage = Usage(input_tokens=result.prompt_tokens, output_tokens=result.completion_tokens)
    cost, sure = stated_cost(result.cost or None, usage)
    passed = result.tests_outcomes[-1] if result.tests_outcomes else None
    failure = None
    if result.exception is not None:
        failure = failure_of(result.exception.strip().rpartition("\n")[2] or None)
    elif result.test_timeouts and not passed:
        failure = Failure(cause="agent", message="the tests timed out")
    experiment, task = _place(result, path)
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": sure,
            "passed": "unknown" if passed is None else "reported",
        },
        experiment=label(experiment),
        task=label(task) or NAME,
        agent=NAME,
        model=label(result.model),
        duration_seconds=result.duration,
        passed=passed,
        outcome="errored" if result.exception else outcome_of(passed),
        failure=failure,
        usage=usage,
        cost_usd=cost,
        iterations=len(result.tests_outcomes) or None,
        extra={"error_outputs": result.num_error_outputs},
    )
    return RunPart(run=run, path=path, role="session")


def _place(result: Result, path: str) -> tuple[str | None, str | None]:
    """The benchmark run and the exercise; the same exercise in two languages is two tasks."""
    parent = PurePath(path).parent.as_posix()
    for folder in (result.testdir or "", parent):
        *_, run, language, exercises, practice, _name = ("",) * 5 + PurePosixPath(folder.replace("\\", "/")).parts
        if (exercises, practice) == ("exercises", "practice"):
            return run, f"{language}/{result.testcase or _name}"
    return None, result.testcase or PurePosixPath(parent).name


def _instance(instance: Instance, path: str) -> RunPart:
    cost = instance.cost or None
    tries = instance.attempt if isinstance(instance.attempt, int) and instance.attempt >= 1 else None
    run = run_from(
        format=NAME,
        path=path,
        how={
            "usage": "unknown",
            "cost_usd": "reported" if cost else "unknown",
            "passed": "unknown" if instance.resolved is None else "reported",
        },
        task=label(instance.instance_id),
        experiment=label(instance.model_name_or_path),
        agent=NAME,
        model=label(instance.model),
        passed=instance.resolved,
        outcome=outcome_of(instance.resolved),
        cost_usd=cost,
        iterations=tries,
        success=instance.test_outcome,
    )
    return RunPart(run=run, path=path, role="session")


FORMAT = LogFormat(
    name=NAME,
    title="Aider analytics logs, benchmark results and per-instance records",
    kind="sessions",
    yields=("calls", "usage", "cost_usd", "passed", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
)
