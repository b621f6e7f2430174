"""Logs in the formats of Claude Code and Codex, and two builds of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import msgspec

from steelyard.demo._runs import SEED, START, demo_runs
from steelyard.records import encode_run

PROJECTS = ("parcel", "ledger")
CLAUDE_MODELS = ("claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929")
CODEX_MODEL = "gpt-5.3-codex"
SESSIONS = 12
BUILDS = {"main": "T3", "branch": "T4"}
"""Tier whose runs represent a build."""


def log_files() -> Iterator[tuple[str, bytes]]:
    """Twelve sessions of Claude Code and four of Codex, over thirty days."""
    chance = Random(SEED)  # noqa: S311  # synthetic data, not a secret
    for number in range(SESSIONS):
        project, started = PROJECTS[number % 2], START + timedelta(days=2.5 * number)
        session = f"5e55a0aa-0000-4000-8000-{number:012}"
        lines = _claude_session(chance, session, f"/home/ada/{project}", started, CLAUDE_MODELS[number % 3 == 0])
        yield f"logs/claude-code/{project}/{session}.jsonl", _lines(lines)
    for number in range(SESSIONS // 3):
        session, started = f"019c0000-0000-7000-8000-{number:012}", START + timedelta(days=7 * number, hours=3)
        lines = _codex_session(chance, session, f"/home/ada/{PROJECTS[number % 2]}", started)
        yield f"logs/codex/rollout-{session}.jsonl", _lines(lines)


def build_files() -> Iterator[tuple[str, bytes]]:
    """The runs of one agent before and after a change: main.jsonl and branch.jsonl."""
    runs = list(demo_runs())
    for build, tier in BUILDS.items():
        chosen = (run for run in runs if run.tier == tier)
        renamed = (
            msgspec.structs.replace(run, id=f"{build}-{number}", tier=None, extra={"x_build": build})
            for number, run in enumerate(chosen)
        )
        yield f"{build}.jsonl", b"".join(encode_run(run) + b"\n" for run in renamed)


def results_table() -> bytes:
    """Return a table as a custom script may write it, with its own column names."""
    lines = ["case,llm,status,seconds,prompt_tokens,completion_tokens"]
    for number, run in enumerate(run for run in demo_runs() if run.tier in ("T0", "T1") and run.attempt == 1):
        model = "small" if run.tier == "T0" else "large"
        status = "pass" if run.passed else "fail"
        lines.append(f"{run.task},{model},{status},{40 + number},{1000 + 10 * number},{200 + number}")
    return "\n".join([*lines, ""]).encode()


def _claude_session(
    chance: Random, session: str, folder: str, started: datetime, model: str
) -> Iterator[dict[str, Any]]:  # Any: JSON values
    shared = {
        "parentUuid": None,
        "userType": "external",
        "cwd": folder,
        "sessionId": session,
        "version": "2.1.5",
        "gitBranch": "main",
        "isSidechain": False,
    }
    asked = {"role": "user", "content": "make the failing test pass"}
    yield {**shared, "type": "user", "message": asked, "uuid": f"{session}-0", "timestamp": _time(started)}
    read = 0
    for number in range(1, 4 + int(5 * chance.random())):
        written = 800 + int(4_000 * chance.random())
        usage = {
            "input_tokens": 4 + int(20 * chance.random()),
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": read,
            "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 100 + int(900 * chance.random()),
        }
        read += written
        content = [
            {"type": "tool_use", "id": f"toolu_{number}", "name": "Edit", "input": {"file_path": f"{folder}/a.py"}}
        ]
        message: dict[str, Any] = {
            "model": model,
            "id": f"msg_{session[-2:]}_{number}",
            "type": "message",
            "role": "assistant",
        }
        message |= {"content": content, "stop_reason": "tool_use", "usage": usage}
        at = _time(started + timedelta(seconds=20 * number))
        yield {**shared, "type": "assistant", "message": message, "uuid": f"{session}-{number}", "timestamp": at}


def _codex_session(
    chance: Random, session: str, folder: str, started: datetime
) -> Iterator[dict[str, Any]]:  # Any: JSON values
    meta = {
        "id": session,
        "timestamp": _time(started),
        "cwd": folder,
        "cli_version": "0.104.0",
        "model_provider": "openai",
    }
    yield {"timestamp": _time(started), "type": "session_meta", "payload": meta}
    context = {"model": CODEX_MODEL, "effort": "high", "cwd": folder}
    yield {"timestamp": _time(started), "type": "turn_context", "payload": context}
    total = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"), 0)
    for number in range(1, 4):
        more = 3_000 + int(9_000 * chance.random())
        last = {
            "input_tokens": more,
            "cached_input_tokens": more // 2,
            "output_tokens": 400,
            "reasoning_output_tokens": 150,
        }
        total = {kind: count + last[kind] for kind, count in total.items()}
        counts = {
            "total_token_usage": {**total, "total_tokens": total["input_tokens"] + total["output_tokens"]},
            "last_token_usage": {**last, "total_tokens": last["input_tokens"] + last["output_tokens"]},
        }
        payload = {"type": "token_count", "info": counts}
        yield {"timestamp": _time(started + timedelta(seconds=30 * number)), "type": "event_msg", "payload": payload}


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}.000Z"


def _lines(documents: Iterator[dict[str, Any]]) -> bytes:  # Any: JSON values
    return b"".join(msgspec.json.encode(document) + b"\n" for document in documents)
