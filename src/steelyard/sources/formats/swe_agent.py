"""SWE-agent's trajectories (`.traj`). Its tokens are counted locally; the cost comes from the provider's usage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from steelyard.files import document, label
from steelyard.records import Amount, Conditions, Count, Failure, FailureCause, SessionStep, Usage
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart
from steelyard.sources.formats._run_values import conditions_from, failure_of, run_from
from steelyard.sources.formats._step_values import arguments_of, chat_steps, flat_text

NAME = "swe-agent"
CAUSES: dict[str, FailureCause] = {
    "exit_cost": "agent",
    "exit_context": "agent",
    "exit_format": "agent",
    "exit_forfeit": "agent",
    "exit_command_timeout": "agent",
    "exit_total_execution_time": "agent",
    "exit_api": "infrastructure",
    "exit_environment_error": "infrastructure",
    "exit_error": "unknown",
    "early_exit": "unknown",
}
SETTINGS = ("temperature", "top_p", "per_instance_cost_limit", "per_instance_call_limit")
"""Settings of the model that decide what a run can reach."""


class Stats(msgspec.Struct):
    """What the model used."""

    instance_cost: Amount | None = None
    tokens_sent: Count | None = None
    tokens_received: Count | None = None
    api_calls: Count | None = None


class Info(msgspec.Struct):
    """How it ended."""

    exit_status: str | None = None
    model_stats: Stats | None = None
    swe_agent_version: str | None = None


class Step(msgspec.Struct):
    """One step."""

    action: Any = None  # Any: the command; absent in steps that only think


class Trajectory(msgspec.Struct):
    """The file."""

    trajectory: list[Step]
    info: Info
    replay_config: Any = None  # Any: an object, or the same as a JSON string


_TRAJECTORY = msgspec.json.Decoder(Trajectory)


def recognizes(head: Head) -> bool:
    """A trajectory of actions and observations."""
    return head.has("trajectory", "trajectory[].action", "trajectory[].observation")


def read(path: Path) -> Iterator[ReadItem]:
    """Yield the run of the trajectory."""
    trajectory = document(path, _TRAJECTORY)
    stats = trajectory.info.model_stats or Stats()
    config = _config(trajectory.replay_config)
    usage = None
    if stats.tokens_sent or stats.tokens_received:
        usage = Usage(input_tokens=stats.tokens_sent, output_tokens=stats.tokens_received)
    cost = stats.instance_cost or None  # demonstrations and replays state 0
    failure = _failure(trajectory.info.exit_status)
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "counted" if usage else "unknown",
            "cost_usd": "reported" if cost else "unknown",
            "tool_calls": "counted",
            "iterations": "reported" if stats.api_calls else "counted",
        },
        task=label(_at(config, "problem_statement", "id")) or label(path.name.removesuffix(".traj")) or NAME,
        agent=NAME,
        model=label(_at(config, "agent", "model", "name")),
        outcome="errored" if failure and not str(trajectory.info.exit_status).startswith("submitted") else "not_scored",
        failure=failure,
        usage=usage,
        cost_usd=cost,
        tool_calls=sum(1 for step in trajectory.trajectory if step.action),
        iterations=stats.api_calls or len(trajectory.trajectory) or None,
        conditions=_conditions(config, trajectory.info),
        extra={"exit_status": trajectory.info.exit_status},
    )
    yield RunPart(run=run, path=str(path), role="session")


class StepTrajectory(msgspec.Struct):
    """What the file shows of its steps."""

    trajectory: list[dict[str, Any]]  # Any: JSON values
    history: list[dict[str, Any]] = []  # Any: JSON values
    info: Info = msgspec.field(default_factory=Info)


_STEP_TRAJECTORY = msgspec.json.Decoder(StepTrajectory)


def steps(path: Path, session: str | None) -> Iterator[SessionStep]:  # noqa: ARG001 # a file holds one
    """Yield the steps: the prompt, then the answer, the command and the observation of each step."""
    kept = document(path, _STEP_TRAJECTORY)
    for message in kept.history:
        if message.get("role") not in ("system", "user"):
            break
        yield from chat_steps(message)
    for number, step in enumerate(kept.trajectory, 1):
        answer = flat_text(step.get("response")) or flat_text(step.get("thought"))
        if answer is not None:
            yield SessionStep(kind="message", role="assistant", text=answer)
        action, calls = step.get("action"), step.get("tool_calls")
        if not action:
            continue
        asked = calls[0] if isinstance(calls, list) and len(calls) == 1 and isinstance(calls[0], dict) else {}
        named = asked.get("function")
        function: dict[str, Any] = named if isinstance(named, dict) else {}  # Any: JSON values
        call = label(asked.get("id")) or f"step {number}"
        yield SessionStep(
            kind="tool_call",
            role="assistant",
            tool=label(function.get("name")) or COMMAND,
            call=call,
            arguments=arguments_of(function.get("arguments")) or {COMMAND: flat_text(action)},
        )
        yield SessionStep(kind="tool_result", role="tool", call=call, result=flat_text(step.get("observation")))
    failure = _failure(kept.info.exit_status)
    if failure is not None:
        yield SessionStep(kind="error", role="system", text=failure.message)


COMMAND = "command"
"""Tool of a step whose action is a command of the shell."""


def _config(value: Any) -> Any:  # Any: an object, or the same as a JSON string
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None


def _at(value: Any, *keys: str) -> Any:  # Any: nested JSON
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _conditions(config: Any, info: Info) -> Conditions | None:  # Any: as above
    model = _at(config, "agent", "model")
    return conditions_from(
        agent_version=info.swe_agent_version,
        endpoint=_at(model, "api_base"),
        settings={name: _at(model, name) for name in SETTINGS},
    )


def _failure(status: str | None) -> Failure | None:
    if status is None:
        return Failure(cause="unknown", message="no exit status")
    word = status.removeprefix("submitted").strip(" ()")
    return failure_of(status, otherwise=CAUSES.get(word, "unknown")) if word else None


FORMAT = LogFormat(
    name=NAME,
    title="SWE-agent trajectories",
    kind="sessions",
    yields=("cost_usd", "usage (counted locally)", "tool_calls", "iterations", "failure"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    quotes_texts=True,
)
