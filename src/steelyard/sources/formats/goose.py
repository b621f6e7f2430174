"""Goose's store, sessions.db, by its published schema: no real file was seen.

`accumulated_*` are the session's totals; the columns without that word are of the last turn. Input includes cached
input. Newer schemas have columns for cached input and cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from steelyard import sources
from steelyard.files import amount, count, label
from steelyard.records import JSON_ERRORS, Call, DecodeError, Rejected, SessionStep, StepRole, moment
from steelyard.sources.formats._log_format import Head, LogFormat, LogLocations, ReadItem, RunPart
from steelyard.sources.formats._run_values import (
    disjoint_usage,
    folder_name,
    run_from,
    stated_cost,
    token_contradiction,
)
from steelyard.sources.formats._step_values import ABSENT, StepItem, arguments_of, flat_text, raw_text, value_of

NAME = "goose"
TOTALS = (
    "accumulated_input_tokens",
    "accumulated_output_tokens",
    "accumulated_cache_read_tokens",
    "accumulated_cache_write_tokens",
)
COLUMNS = ("id", "working_dir", "created_at", "updated_at", "model_config_json", "accumulated_cost", *TOTALS)


class ModelConfig(msgspec.Struct):
    """Which model the session used last."""

    model_name: str | None = None


class Content(msgspec.Struct):
    """A piece of a message."""

    type: str | None = None
    id: str | None = None
    text: msgspec.Raw = ABSENT
    thinking: msgspec.Raw = ABSENT
    msg: msgspec.Raw = ABSENT
    tool_call: msgspec.Raw = msgspec.field(name="toolCall", default=ABSENT)
    tool_result: msgspec.Raw = msgspec.field(name="toolResult", default=ABSENT)


_MODEL = msgspec.json.Decoder(ModelConfig)
_CONTENT = msgspec.json.Decoder(list[Content])


def recognizes(head: Head) -> bool:
    """A store with sessions, their accumulated tokens, and messages."""
    sessions, messages = (head.tables.get(name, frozenset()) for name in ("sessions", "messages"))
    return {"working_dir", TOTALS[0], TOTALS[1]} <= sessions and {"session_id", "content_json"} <= messages


def read(path: Path) -> Iterator[ReadItem]:
    """One part per session in the store that asked a model anything."""
    with closing(sources.SqliteStore(path)) as store:
        answers: dict[str, int] = {}
        tools: dict[str, dict[str, None]] = {}
        for row in store.rows("messages", ("session_id", "role", "content_json"), order=("session_id", "id")):
            session, role, content = map(_text, row)
            if role == "assistant":
                answers[session] = answers.get(session, 0) + 1
                tools.setdefault(session, {}).update(dict.fromkeys(_tools(content)))
        for row in store.rows("sessions", COLUMNS, order=("id",)):
            fields = dict(zip(COLUMNS, row, strict=True))
            session = _text(fields["id"])
            try:
                part = _part(fields, path, answers=answers.get(session, 0), tools=tuple(tools.get(session, ())))
            except DecodeError as error:
                reason = f"session {session[:200]!r}: {error.reason}"
                yield Rejected(path=str(path), reason=reason, hint=error.hint)
                continue
            if part is not None:
                yield part


def _text(cell: object) -> str:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else ""


def _tools(content: str) -> list[str]:
    try:
        return [piece.id for piece in _CONTENT.decode(content) if piece.type == "toolRequest" and piece.id]
    except JSON_ERRORS:
        return []  # no number of tokens hangs on it


def _part(fields: Mapping[str, object], path: Path, *, answers: int, tools: tuple[str, ...]) -> RunPart | None:
    stated, written, cached, kept = (count(fields[name]) for name in TOTALS)
    if stated is None and written is None and not answers:
        return None
    usage = None
    if stated or written:
        usage = disjoint_usage(
            input_with_cache=stated, cache_read=cached, cache_write=kept, output_with_reasoning=written
        )
    id_, folder = label(_text(fields["id"])), _text(fields["working_dir"])
    notes = token_contradiction(f"{path}: session {id_}", usage, stated_input=stated) if usage else ()
    cost, sure = stated_cost(amount(fields["accumulated_cost"]), usage)
    try:
        model = label(_MODEL.decode(_text(fields["model_config_json"]) or "{}").model_name)
    except JSON_ERRORS:
        model = None
    started, ended = moment(_text(fields["created_at"])), moment(_text(fields["updated_at"]))
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "unknown" if usage is None else "lower_bound" if notes else "reported",
            "cost_usd": sure,
            "tool_calls": "counted",
        },
        id=id_,
        task=id_ or NAME,
        experiment=folder_name(folder),
        agent=NAME,
        model=model,
        started_at=started,
        ended_at=ended if started is None or ended is None or ended >= started else None,
        outcome="not_scored",
        usage=usage,
        calls=(Call(model=model, usage=usage, summed=True),) if usage else (),
        cost_usd=cost,
        tool_calls=len(tools),
        iterations=answers or None,
    )
    return RunPart(run=run, path=str(path), role="session", tool_ids=tools, notes=notes)


SUMMARIES = frozenset({"summarizationRequested", "conversationCompacted", "contextLengthExceeded"})


def steps(path: Path, session: str | None) -> Iterator[StepItem]:
    """Yield the steps of a session of the store, which has no tokens of single messages."""
    columns = ("session_id", "role", "content_json", "created_timestamp")
    with closing(sources.SqliteStore(path)) as store:
        for row in store.rows("messages", columns, order=("session_id", "id")):
            owner, role, content, at = row
            if session not in (None, _text(owner)):
                continue
            try:
                pieces = _CONTENT.decode(_text(content))
            except JSON_ERRORS:
                yield Rejected(path=str(path), reason=f"session {_text(owner)[:200]!r}: a message is not JSON")
                continue
            author: StepRole = "assistant" if _text(role) == "assistant" else "user"
            for piece in pieces:
                if (step := _step(piece, author, moment(at))) is not None:
                    yield step


def _step(piece: Content, author: StepRole, at: datetime | None) -> SessionStep | None:
    """Return the step of a piece of a message; None if it shows nothing."""
    if piece.type == "toolRequest":
        value = _inner(value_of(piece.tool_call))
        call: dict[str, Any] = value if isinstance(value, dict) else {}  # Any: JSON values
        return SessionStep(
            kind="tool_call",
            role="assistant",
            tool=label(call.get("name")) or "tool",
            call=piece.id,
            arguments=arguments_of(call.get("arguments")),
            at=at,
        )
    if piece.type == "toolResponse":
        stated = value_of(piece.tool_result)
        failed = isinstance(stated, dict) and stated.get("status") == "error"
        text = flat_text(_inner(stated)) if not failed else flat_text(stated.get("error"))
        return SessionStep(kind="tool_result", role="tool", call=piece.id, result=text, is_error=failed, at=at)
    text = raw_text(piece.thinking) or raw_text(piece.text) or raw_text(piece.msg)
    if text is None:
        return None
    if piece.type in SUMMARIES:
        return SessionStep(kind="compaction", role="system", text=text, at=at)
    role: StepRole = "reasoning" if piece.type in ("thinking", "redactedThinking") else author
    return SessionStep(kind="message", role=role, text=text, at=at)


def _inner(value: Any) -> Any:  # Any: JSON values
    """Return what a result of Goose contains: it wraps values with a status."""
    return value["value"] if isinstance(value, dict) and "value" in value else value


def _places(home: Path, environment: Mapping[str, str]) -> list[Path]:
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    return [
        *([Path(root) / "data" / "sessions" / "sessions.db"] if (root := environment.get("GOOSE_PATH_ROOT")) else []),
        data / "goose" / "sessions" / "sessions.db",
        home / "Library" / "Application Support" / "Block.goose" / "sessions" / "sessions.db",
    ]


FORMAT = LogFormat(
    name=NAME,
    title="Goose session database (sessions.db)",
    kind="sessions",
    yields=("usage by kind", "cost_usd", "tool_calls", "iterations", "times"),
    recognizes=recognizes,
    read=read,
    steps=steps,
    precedence="first",
    shows_every_tool_call=True,
    seen=False,
    kept_by=LogLocations("Goose", _places),
)
