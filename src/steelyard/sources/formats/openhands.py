"""OpenHands: rows of output.jsonl, event lists, and the conversations that its CLI keeps.

A conversation is a folder: base_state.json holds what each use of a model came to, events/ a file for each event. A
cost of 0 with tokens means that no price was known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import HEAD_BYTES, document, label, records
from steelyard.records import (
    Amount,
    Call,
    Conditions,
    Count,
    DecodeError,
    Failure,
    Rejected,
    SessionStep,
    StepRole,
    Usage,
    add_usage,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import (
    conditions_from,
    disjoint_usage,
    error_text,
    failure_of,
    folder_name,
    outcome_of,
    run_from,
    span_of,
    stated_cost,
    token_contradiction,
)
from steelyard.sources.formats._step_values import (
    StepItem,
    arguments_of,
    chat_steps,
    decoded_lines,
    first_with_usage,
    flat_text,
)

NAME = "openhands"


class Tokens(msgspec.Struct):
    """Tokens of one answer or of all; the prompt includes cached ones."""

    model: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    cache_write_tokens: Count | None = None
    reasoning_tokens: Count | None = None
    response_id: str | None = None

    def disjoint(self) -> Usage:
        """Disjoint kinds."""
        return disjoint_usage(
            input_with_cache=self.prompt_tokens,
            cache_read=self.cache_read_tokens,
            cache_write=self.cache_write_tokens,
            output_with_reasoning=self.completion_tokens,
            reasoning=self.reasoning_tokens or None,  # 0 is also written where nothing was counted
        )


class Metrics(msgspec.Struct):
    """What the run used."""

    accumulated_cost: Amount | None = None
    accumulated_token_usage: Tokens | None = None
    token_usages: list[Tokens] | None = None


class ToolCall(msgspec.Struct):
    """Which tool call an event belongs to."""

    tool_call_id: str | None = None


class Event(ToolCall):
    """Something that happened; version 1 names kinds of event and writes actions as objects."""

    timestamp: Any = None  # Any: ISO text, or seconds
    source: str | None = None
    kind: str | None = None
    action: Any = None  # Any: a word, or an object
    llm_response_id: str | None = None
    tool: ToolCall | None = msgspec.field(name="tool_call_metadata", default=None)
    detail: Any = None  # Any: text, of an error
    llm_metrics: Metrics | None = None

    @property
    def call(self) -> str | None:
        """The tool call that it belongs to."""
        return self.tool.tool_call_id if self.tool else self.tool_call_id

    @property
    def acts(self) -> bool:
        """Whether the agent does something with a tool here."""
        return self.source == "agent" and (
            self.kind == "ActionEvent"
            or (isinstance(self.action, str) and bool(self.action) and self.action not in IDLE)
        )


class Llm(msgspec.Struct):
    """The model."""

    model: str | None = None
    base_url: Any = None  # Any: text, and scalars from here on
    temperature: Any = None
    top_p: Any = None
    reasoning_effort: Any = None


class Agent(msgspec.Struct):
    """The agent of a conversation."""

    llm: Llm | None = None


class Workspace(msgspec.Struct):
    """Where a conversation works."""

    working_dir: str | None = None


class Stats(msgspec.Struct):
    """What each use of a model came to: the agent's, the condenser's."""

    usage_to_metrics: dict[str, Metrics] = {}


class Conversation(msgspec.Struct):
    """The state that the CLI keeps of a conversation."""

    id: str
    agent: Agent | None = None
    workspace: Workspace | None = None
    execution_status: str | None = None
    stats: Stats = msgspec.field(default_factory=Stats)


class Metadata(msgspec.Struct):
    """What was evaluated."""

    llm_config: Llm | None = None
    llm: Llm | None = None
    dataset: str | None = None
    max_iterations: Any = None  # Any: a count


class Report(msgspec.Struct):
    """The harness's verdict."""

    resolved: bool | None = None


class TestResult(msgspec.Struct):
    """What the run left."""

    __test__ = False

    report: Report | None = None


class Row(msgspec.Struct, kw_only=True):
    """One instance of an evaluation."""

    instance_id: str
    attempt: int | None = None
    metadata: Metadata | None = None
    history: list[Event | list[Event | msgspec.Raw]] | None = None
    metrics: Metrics | None = None
    test_result: TestResult | None = None
    error: Any = None  # Any: text, or null


_ROW = msgspec.json.Decoder(Row)
_EVENTS = msgspec.json.Decoder(list[Event])
_EVENT = msgspec.json.Decoder(Event)
_CONVERSATION = msgspec.json.Decoder(Conversation)
EVENTS = "events"
"""The folder of a conversation with a file for each event."""
MAX_EVENTS = 100_000
"""Maximum number of event files read per conversation."""
IDLE = frozenset({"message", "system", "change_agent_state", "recall", "null", "think", "finish"})
"""Actions that call no tool."""


def recognizes(head: Head) -> bool:
    """Rows with an instance, a history and metrics, or a list of events with their sources."""
    if head.has("instance_id", "instruction") and (head.has("metadata") or head.has("history")):
        return True
    if head.has("id", "agent.llm"):  # fields after the agent may be outside the part that is looked at
        return "stats.usage_to_metrics" in head.shape or len(head.start) >= HEAD_BYTES
    return head.has("[].source", "[].timestamp") and (head.has("[].action") or head.has("[].observation"))


def holds_no_run(head: Head) -> bool:
    """Whether the file is an event of a conversation, which is read with the conversation's state."""
    return head.path.parent.name == EVENTS and head.has("id", "timestamp", "source")


def read(path: Path) -> Iterator[ReadItem]:
    """Yield one part per row, or the one of a list of events or a conversation."""
    head = head_of(path)
    if "agent.llm" in head.shape:
        yield _conversation(document(path, _CONVERSATION), path)
        return
    if head.text.startswith(b"["):
        events = document(path, _EVENTS)
        metrics = next((event.llm_metrics for event in reversed(events) if event.llm_metrics), None)
        task = path.name.removesuffix(".json")
        yield _part(Row(instance_id=task or NAME, history=list(events), metrics=metrics), path, 1)
        return
    for item in records(path, _ROW):
        if not isinstance(item, tuple):
            yield item
            continue
        try:
            yield _part(item[1], path, item[0])
        except DecodeError as error:
            yield Rejected(path=str(path), line=item[0], reason=error.reason, hint=error.hint)


def _conversation(state: Conversation, path: Path) -> RunPart:
    uses = list(state.stats.usage_to_metrics.values())
    totals = [use.accumulated_token_usage for use in uses if use.accumulated_token_usage]
    costs = [use.accumulated_cost for use in uses if use.accumulated_cost is not None]
    metrics = Metrics(
        accumulated_cost=sum_in_order(costs) if costs else None,
        accumulated_token_usage=_added(totals) if totals else None,
        token_usages=[used for use in uses for used in use.token_usages or ()],
    )
    events = list(_events(path))
    trouble: Any = None  # Any: text
    if state.execution_status in ("error", "stuck"):
        texts = [event.detail for event in events if event.kind == "ConversationErrorEvent" and event.detail]
        trouble = (
            "Stuck" if state.execution_status == "stuck" else texts[-1] if texts else "the conversation was interrupted"
        )
    llm = state.agent.llm if state.agent else None
    row = Row(
        instance_id=state.id, history=list(events) or None, metrics=metrics, metadata=Metadata(llm=llm), error=trouble
    )
    part = _part(row, path, 1)
    run = msgspec.structs.replace(
        part.run,
        id=label(state.id),
        experiment=folder_name(state.workspace.working_dir if state.workspace else None),
        success=True if state.execution_status == "finished" else None,
    )
    return msgspec.structs.replace(part, run=run, line=None, unfinished=state.execution_status == "running")


def _added(totals: list[Tokens]) -> Tokens:
    names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
    known = {name: [n for total in totals if (n := getattr(total, name)) is not None] for name in names}
    return Tokens(**{name: sum(counts) if counts else None for name, counts in known.items()})


def _events(path: Path) -> Iterator[Event]:
    """The conversation's events, those that can be read; no token hangs on one of them."""
    files = sorted(path.parent.joinpath(EVENTS).glob("event-*.json"))
    for file in files[:MAX_EVENTS]:
        try:
            if file.is_file() and not file.is_symlink():
                yield document(file, _EVENT)
        except UnreadableFileError:
            continue


def _part(row: Row, path: Path, line: int) -> RunPart:
    metrics = row.metrics or Metrics()
    about = (row.metadata.llm_config or row.metadata.llm) if row.metadata else None
    model = about.model if about else None
    calls = tuple(
        Call(id=label(used.response_id), model=label(used.model) or label(model), usage=used.disjoint())
        for used in metrics.token_usages or ()
    )
    total = metrics.accumulated_token_usage
    usage = total.disjoint() if total else add_usage(call.usage for call in calls)
    where = f"{path}:{line}"
    notes = token_contradiction(where, usage, stated_input=total.prompt_tokens) if total and usage else ()
    cost, sure = stated_cost(metrics.accumulated_cost, usage)
    events = [event for item in row.history or () for event in _flat(item)]
    started, ended = span_of(event.timestamp for event in events)
    tools = {event.call for event in events if event.call}
    acts = [event for event in events if event.acts]
    answers = {event.llm_response_id for event in events if event.llm_response_id}
    resolved = row.test_result.report.resolved if row.test_result and row.test_result.report else None
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "lower_bound" if notes else "reported" if usage else "unknown",
            "cost_usd": sure,
            "tool_calls": "counted" if events else None,
            "passed": "unknown" if resolved is None else "reported",
        },
        task=label(row.instance_id),
        experiment=label(row.metadata.dataset) if row.metadata else None,
        agent=NAME,
        model=label(model),
        conditions=_conditions(row.metadata, about),
        attempt=row.attempt if row.attempt is not None and row.attempt >= 0 else None,
        started_at=started,
        ended_at=ended,
        passed=resolved,
        outcome=outcome_of(resolved, errored=bool(row.error)),
        failure=_failure(row.error),
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=(len(tools) or len(acts)) if events else None,
        iterations=len(calls) or len(answers) or len(acts) or None,
    )
    return RunPart(run=run, path=str(path), line=line, role="session", notes=notes, is_one_record=True)


def _conditions(metadata: Metadata | None, llm: Llm | None) -> Conditions | None:
    settings = {name: getattr(llm, name, None) for name in ("temperature", "top_p", "reasoning_effort")}
    settings["max_iterations"] = metadata.max_iterations if metadata else None
    return conditions_from(endpoint=llm.base_url if llm else None, settings=settings)


class StepRow(msgspec.Struct, kw_only=True):
    """What a row shows of its steps."""

    history: list[Any] | None = None  # Any: JSON values
    metrics: Metrics | None = None


_STEP_ROW = msgspec.json.Decoder(StepRow)
_STEP_EVENTS = msgspec.json.Decoder(list[Any])
_STEP_EVENT = msgspec.json.Decoder(dict[str, Any])


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a row, of a list of events, or of a conversation's events."""
    head = head_of(path)
    if "agent.llm" in head.shape:
        state = document(path, _CONVERSATION)
        answers = _Answers(used for use in state.stats.usage_to_metrics.values() for used in use.token_usages or ())
        for file in sorted(path.parent.joinpath(EVENTS).glob("event-*.json"))[:MAX_EVENTS]:
            if file.is_file() and not file.is_symlink():
                with suppress(UnreadableFileError):
                    yield from answers.steps(document(file, _STEP_EVENT), None)
    elif head.text.startswith(b"["):
        answers = _Answers(())
        for event in document(path, _STEP_EVENTS):
            yield from answers.steps(event, None)
    else:
        for item in decoded_lines(path, _STEP_ROW):
            if isinstance(item, Rejected):
                yield item
            elif session in (None, f"#{item[0]}"):
                metrics = item[1].metrics or Metrics()
                answers = _Answers(metrics.token_usages or ())
                for event in item[1].history or ():
                    for each in event if isinstance(event, list) else [event]:
                        yield from answers.steps(each, item[0])


class _Answers:
    """Tokens of answers by their ids, which the first event of each takes."""

    def __init__(self, used: Iterable[Tokens]) -> None:
        self._used = {each.response_id: each for each in used if each.response_id}

    def steps(self, event: Any, number: int | None) -> list[SessionStep]:  # Any: a JSON value
        """Return the steps of an event."""
        if not isinstance(event, dict):
            return []
        metadata = event.get("tool_call_metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        response = metadata.get("model_response")
        response = response if isinstance(response, dict) else {}
        used = self._used.pop(label(event.get("llm_response_id")) or label(response.get("id")) or "", None)
        known: dict[str, Any] = {"at": moment(event.get("timestamp")), "source_line": number}  # Any: fields of a step
        made = list(_newer_steps(event, known) if "kind" in event else _older_steps(event, metadata, known))
        model = label(used.model) if used is not None else label(response.get("model"))
        for step in made:
            if model is not None and step.role in ("assistant", "reasoning"):
                msgspec.structs.force_setattr(step, "model", model)
        return first_with_usage(made, used.disjoint() if used is not None else None, **known)


ROLES: dict[Any, StepRole] = {"user": "user", "agent": "assistant"}  # Any: a JSON value


def _older_steps(
    event: dict[str, Any], metadata: dict[str, Any], known: dict[str, Any]
) -> Iterator[SessionStep]:  # Any: JSON values, fields of a step
    """Yield the steps of an event before version 1: an action with its thought, or an observation."""
    call = label(metadata.get("tool_call_id")) or label(event.get("tool_call_id"))
    stated = event.get("args")
    args: dict[str, Any] = stated if isinstance(stated, dict) else {}
    action, role = event.get("action"), ROLES.get(event.get("source"), "system")
    text = flat_text(args.get("content")) or flat_text(event.get("message"))
    if "observation" in event:
        extras = event.get("extras")
        code = extras.get("exit_code") if isinstance(extras, dict) else None
        failed = event["observation"] == "error" or (isinstance(code, int) and code != 0)
        result = flat_text(event.get("content"))
        yield SessionStep(kind="tool_result", role="tool", call=call, result=result, is_error=failed, **known)
    elif action == "system":
        yield SessionStep(kind="message", role="system", text=text, **known)
    elif action in ("message", "think", "finish"):
        thought = flat_text(args.get("thought")) or flat_text(args.get("final_thought"))
        shown = thought or text if action != "message" else text
        role = "reasoning" if action == "think" else role
        if shown is not None:
            yield SessionStep(kind="message", role=role, text=shown, **known)
    elif action == "condensation":
        yield SessionStep(kind="compaction", role="system", text=flat_text(args.get("summary")), **known)
    elif isinstance(action, str) and action not in IDLE:
        if (thought := flat_text(args.get("thought"))) is not None:
            yield SessionStep(kind="message", role="assistant", text=thought, **known)
        kept = {key: value for key, value in args.items() if key != "thought" and value not in (None, "")}
        tool = label(metadata.get("function_name")) or action
        kind: Any = "subagent" if action == "delegate" else "tool_call"
        yield SessionStep(kind=kind, role="assistant", tool=tool, call=call, arguments=kept or None, **known)


def _newer_steps(event: dict[str, Any], known: dict[str, Any]) -> Iterator[SessionStep]:  # Any: as above
    """Yield the steps of an event of version 1."""
    kind, call = event.get("kind"), label(event.get("tool_call_id"))
    if kind == "ActionEvent":
        if (reasoning := flat_text(event.get("reasoning_content"))) is not None:
            yield SessionStep(kind="message", role="reasoning", text=reasoning, **known)
        if (thought := flat_text(event.get("thought"))) is not None:
            yield SessionStep(kind="message", role="assistant", text=thought, **known)
        asked = event.get("tool_call")
        given = asked.get("arguments") if isinstance(asked, dict) else None
        arguments = arguments_of(given) or arguments_of(event.get("action"))
        tool = label(event.get("tool_name")) or "tool"
        yield SessionStep(kind="tool_call", role="assistant", tool=tool, call=call, arguments=arguments, **known)
    elif kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        stated = event.get("observation")
        failed = kind != "ObservationEvent" or (isinstance(stated, dict) and stated.get("is_error") is True)
        result = flat_text(stated) if stated is not None else flat_text(event.get("error"))
        yield SessionStep(kind="tool_result", role="tool", call=call, result=result, is_error=failed, **known)
    elif kind == "MessageEvent" and isinstance(event.get("llm_message"), dict):
        yield from chat_steps(event["llm_message"], **known)
    elif kind == "SystemPromptEvent":
        yield SessionStep(kind="message", role="system", text=flat_text(event.get("system_prompt")), **known)
    elif kind == "ConversationErrorEvent":
        yield SessionStep(kind="error", role="system", text=flat_text(event.get("detail")), **known)
    elif kind in ("Condensation", "CondensationSummaryEvent"):
        yield SessionStep(kind="compaction", role="system", text=flat_text(event.get("summary")), **known)


def _flat(item: Event | list[Event | msgspec.Raw]) -> Iterator[Event]:
    """Older histories hold pairs of action and observation."""
    if isinstance(item, Event):
        yield item
    else:
        yield from (event for event in item if isinstance(event, Event))


def _failure(error: Any) -> Failure | None:  # Any: text, or null
    if not error:
        return None
    agents = "maximum iteration" in str(error) or "Stuck" in str(error)
    return Failure(cause="agent", message=error_text(error)) if agents else failure_of(error)


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    return [Path(environment.get("OPENHANDS_PERSISTENCE_DIR") or home / ".openhands") / "conversations"]


FORMAT = LogFormat(
    name=NAME,
    title="OpenHands evaluation output (output.jsonl), event lists and CLI conversations (base_state.json)",
    kind="sessions",
    yields=(
        "calls",
        "usage by kind",
        "cost_usd",
        "tool_calls",
        "iterations",
        "times",
        "failure",
        "passed if reported",
    ),
    recognizes=recognizes,
    read=read,
    steps=steps,
    holds_no_run=holds_no_run,
    kept_by=LogLocations("OpenHands CLI", _places),
)
