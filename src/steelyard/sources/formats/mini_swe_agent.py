"""mini-swe-agent's trajectories: bare messages (version 0), totals (1), and the provider's usage per message (2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label
from steelyard.records import Amount, Call, Conditions, Count, Failure, SessionStep, add_usage, moment
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._provider_usage import ProviderUsage
from steelyard.sources.formats._run_values import conditions_from, failure_of, run_from, span_of, stated_cost
from steelyard.sources.formats._step_values import chat_steps, first_with_usage, flat_text

NAME = "mini-swe-agent"
_COMMAND = re.compile(r"```(?:bash|mswea_bash_command)\s*\n")


class Response(msgspec.Struct):
    """The provider's answer."""

    id: str | None = None
    model: str | None = None
    usage: ProviderUsage | None = None


class Extra(msgspec.Struct):
    """What version 2 keeps with a message."""

    response: Response | str | None = None  # text where the answer could not be written as it was
    cost: Amount | None = None
    timestamp: Any = None  # Any: seconds, or ISO text
    actions: list[Any] | None = None  # Any: commands in the agent's own shape


class Message(Response):
    """A message of the conversation; one of OpenAI's newer interface is itself the provider's answer."""

    object: str | None = None
    role: str | None = None
    content: Any = None  # Any: text, or parts
    extra: Extra | None = None


class Stats(msgspec.Struct):
    """Totals."""

    instance_cost: Amount | None = None
    api_calls: Count | None = None


class Info(msgspec.Struct):
    """How it ended."""

    exit_status: str | None = None
    model_stats: Stats | None = None
    mini_version: str | None = None
    config: Any = None  # Any: the agent's configuration


class Trajectory(msgspec.Struct):
    """The file, from version 1 on."""

    info: Info
    messages: list[Message]
    instance_id: str | None = None


_TRAJECTORY = msgspec.json.Decoder(Trajectory)
_MESSAGES = msgspec.json.Decoder(list[Message])


def recognizes(head: Head) -> bool:
    """Messages with the agent's own info, or a bare conversation whose assistant answers with bash blocks."""
    if head.has("info", "info.mini_version") or str(head.shape.get("trajectory_format", "")).startswith(NAME):
        return True
    return (
        head.shape.get("[].role") == "system"
        and "[].content" in head.shape
        and (b"```bash" in head.start or b"mswea_bash_command" in head.start)
    )


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the run of the trajectory."""
    bare = head_of(path).text.startswith(b"[")
    log = Trajectory(Info(), document(path, _MESSAGES)) if bare else document(path, _TRAJECTORY)
    answers = [message for message in log.messages if message.role == "assistant" or message.object == "response"]
    calls = tuple(call for call in map(_call, log.messages) if call is not None)  # a misshapen answer was paid for too
    usage = add_usage(call.usage for call in calls)
    stats = log.info.model_stats or Stats()
    cost, sure = stated_cost(stats.instance_cost, usage)
    if not bare and not cost and stats.api_calls:
        cost, sure = None, "unknown"
    started, ended = span_of(message.extra.timestamp for message in log.messages if message.extra)
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "unknown" if not usage else "lower_bound" if len(calls) < (stats.api_calls or 0) else "reported",
            "cost_usd": sure,
            "tool_calls": "counted",
            "iterations": "reported" if stats.api_calls else "counted",
        },
        task=label(log.instance_id) or label(path.name.removesuffix(".json").removesuffix(".traj")) or NAME,
        agent=NAME,
        model=_model(log, calls),
        started_at=started,
        ended_at=ended,
        outcome="not_scored" if bare or log.info.exit_status == "Submitted" else "errored",
        failure=_failure(log.info) if not bare else None,
        usage=usage,
        calls=calls,
        cost_usd=cost,
        tool_calls=sum(_commands(message) for message in answers),
        iterations=stats.api_calls or len(answers) or None,
        conditions=_conditions(log.info),
        extra={"exit_status": log.info.exit_status},
    )
    yield RunPart(run=run, path=str(path), role="session")


class StepLog(msgspec.Struct):
    """What the file shows of its steps."""

    messages: list[dict[str, Any]]  # Any: JSON values


_STEP_LOG = msgspec.json.Decoder(StepLog)
_STEP_MESSAGES = msgspec.json.Decoder(list[dict[str, Any]])
_BLOCK = re.compile(r"```(?:bash|mswea_bash_command)\s*\n(.*?)(?:```|\Z)", re.DOTALL)
SHELL = "bash"


def steps(path: Path, session: str | None) -> Iterator[SessionStep]:  # noqa: ARG001 # a file holds one
    """Yield the steps: a command that the answer contains as text is a call, and the message after it its result."""
    is_bare = head_of(path).text.startswith(b"[")
    messages = document(path, _STEP_MESSAGES) if is_bare else document(path, _STEP_LOG).messages
    call: str | None = None
    for number, message in enumerate(messages, 1):
        try:
            known = msgspec.convert(message, Message)
        except msgspec.ValidationError:
            known = Message()
        stated = _call(known)
        fields = {"at": moment(known.extra.timestamp) if known.extra else None}
        if message.get("object") == "response" and isinstance(message.get("output"), list):
            each = ({"role": item.get("role", "assistant"), "content": [item]} for item in message["output"])
            flat = [item.get("content") if item.get("type") == "message" else None for item in message["output"]]
            made = [
                step
                for whole, content in zip(each, flat, strict=True)
                for step in chat_steps(whole | ({"content": content} if content else {}), **fields)
            ]
        elif call is not None and message.get("role") == "user":
            made = [SessionStep(kind="tool_result", role="tool", call=call, result=flat_text(message.get("content")))]
        elif message.get("type") == "function_call_output":
            made = list(chat_steps({"role": "tool", "content": [message]}, **fields))
        else:
            made = list(chat_steps(message, **fields))
        call = None
        if message.get("role") == "assistant" and not message.get("tool_calls"):
            for at, given in enumerate(_commands_in(message.get("content"), known)):
                call = f"{number}.{at}"
                made.append(SessionStep(kind="tool_call", role="assistant", tool=SHELL, call=call, arguments=given))
        if stated is not None:
            for step in made:
                msgspec.structs.force_setattr(step, "model", stated.model)
        yield from first_with_usage(made, stated.usage if stated is not None else None)


def _commands_in(text: Any, message: Message) -> list[dict[str, Any]]:  # Any: JSON values
    """Return the commands of an answer: those that the agent took from it, else the blocks of its text."""
    actions = message.extra.actions if message.extra else None
    if actions:
        return [each if isinstance(each, dict) else {"command": flat_text(each)} for each in actions]
    return [{"command": each.rstrip("\n")} for each in _BLOCK.findall(text)] if isinstance(text, str) else []


def _call(message: Message) -> Call | None:
    response = message.extra.response if message.extra else None
    answer = response if isinstance(response, Response) else message
    if answer.usage is None:
        return None
    return Call(
        id=label(answer.id),
        model=label(answer.model),
        at=moment(message.extra.timestamp) if message.extra else None,
        usage=answer.usage.disjoint(),
    )


def _commands(message: Message) -> int:
    if message.extra and message.extra.actions is not None:
        return len(message.extra.actions)
    return len(_COMMAND.findall(message.content)) if isinstance(message.content, str) else 0


def _model(log: Trajectory, calls: tuple[Call, ...]) -> str | None:
    return label(_part(log.info.config, "model").get("model_name")) or next(
        (call.model for call in calls if call.model), None
    )


def _conditions(info: Info) -> Conditions | None:
    agent, model = _part(info.config, "agent"), _part(info.config, "model")
    chosen = _part(model, "model_kwargs")
    settings = {name: chosen.get(name) for name in ("temperature", "top_p")}
    settings |= {name: agent.get(name) for name in ("step_limit", "cost_limit")}
    return conditions_from(agent_version=info.mini_version, endpoint=chosen.get("api_base"), settings=settings)


def _part(config: Any, name: str) -> dict[str, Any]:  # Any: nested JSON
    part = config.get(name) if isinstance(config, dict) else None
    return part if isinstance(part, dict) else {}


def _failure(info: Info) -> Failure | None:
    status = info.exit_status
    if status == "Submitted":
        return None
    if not status:
        return Failure(cause="unknown", message="no exit status")
    agents = any(word in status for word in ("LimitsExceeded", "Format", "TimeExceeded"))
    return Failure(cause="agent", message=status[:500]) if agents else failure_of(status)


FORMAT = LogFormat(
    name=NAME,
    title="mini-swe-agent trajectories, versions 0 to 2",
    kind="sessions",
    yields=("cost_usd", "usage by call (version 2)", "tool_calls", "iterations", "failure"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    quotes_texts=True,
)
