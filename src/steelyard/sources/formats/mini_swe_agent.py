"""mini-swe-agent's trajectories: bare messages (version 0), totals (1), and the provider's usage per message (2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label
from steelyard.records import Amount, Call, Conditions, Count, Failure, add_usage, moment
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._provider_usage import ProviderUsage
from steelyard.sources.formats._run_values import conditions_from, failure_of, run_from, span_of, stated_cost

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
)
