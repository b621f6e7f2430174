"""Stores of agents, made by us in the shape that the tools give them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any


def opencode_store(path: Path, *, first: Sequence[str] = (), then: Sequence[str] = ()) -> Path:
    """A store in opencode's layout: ids in columns, the rest as JSON. `first` and `then` are statements around it."""
    start = 1772323200000  # 2026-03-01

    def answer(seconds: int, tokens: dict[str, Any], **more: Any) -> str:
        times = {"created": start + seconds * 1000, "completed": start + seconds * 1000 + 5000}
        said = {"role": "assistant", "modelID": "claude-sonnet-4-5", "time": times, "tokens": tokens}
        return json.dumps(said | more)

    cache = {"read": 50, "write": 7}
    messages = [
        ("msg_0", "ses_1", 0, json.dumps({"role": "user", "time": {"created": start}})),
        ("msg_1", "ses_1", 1, answer(0, {"input": 100, "output": 10, "reasoning": 2, "cache": cache}, cost=0.01)),
        ("msg_2", "ses_1", 2, answer(25, {"input": 200, "output": 20}, cost=0.015)),
        ("msg_3", "ses_2", 3, answer(10, {"input": 5, "output": 1}, cost=0.005, modelID="haiku")),
        ("msg_4", "ses_3", 4, answer(60, {"input": 9, "output": 1}, cost=0, error={"name": "APIError"})),
        ("msg_bad", "ses_3", 5, "oops"),
    ]
    parts = [
        ("prt_1", "msg_1", "ses_1", 1, json.dumps({"type": "tool", "callID": "c1", "tool": "bash"})),
        ("prt_2", "msg_2", "ses_1", 2, json.dumps({"type": "text", "text": "done"})),
        ("prt_3", "msg_3", "ses_2", 3, json.dumps({"type": "tool", "callID": "c2"})),
    ]
    sessions = [
        ("ses_1", None, "/work/parcels"),
        ("ses_2", "ses_1", "/work/parcels"),
        ("ses_3", None, "/work/letters/"),
    ]
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("PRAGMA page_size = 4096")
        for statement in first:
            store.execute(statement)
        store.execute("CREATE TABLE `session` (`id` text PRIMARY KEY, `parent_id` text, `directory` text NOT NULL)")
        store.execute(
            "CREATE TABLE `message` (`id` text PRIMARY KEY, session_id text, time_created integer, data text)"
        )
        columns = "`id` text PRIMARY KEY, message_id text, session_id text, time_created integer, data text"
        store.execute(f"CREATE TABLE `part` ({columns})")
        store.executemany("INSERT INTO session VALUES (?, ?, ?)", sessions)
        store.executemany("INSERT INTO message VALUES (?, ?, ?, ?)", messages)
        store.executemany("INSERT INTO part VALUES (?, ?, ?, ?, ?)", parts)
        for statement in then:
            store.execute(statement)
    return path


def goose_store(path: Path, *, leave_out: Sequence[str] = ()) -> Path:
    """A store in Goose's published layout, without the columns that an older schema does not have."""
    session: dict[str, Any] = {
        "id": "20260601_1",
        "name": "sort",
        "working_dir": "/work/letters",
        "created_at": "2026-06-01 08:00:00",
        "updated_at": "2026-06-01 08:02:00",
        "total_tokens": 1040,
        "input_tokens": 1000,
        "output_tokens": 40,
        "accumulated_total_tokens": 1990,
        "accumulated_input_tokens": 1900,
        "accumulated_output_tokens": 90,
        "accumulated_cache_read_tokens": 1400,
        "accumulated_cache_write_tokens": 0,
        "accumulated_cost": 0.0123,
        "provider_name": "openai",
        "model_config_json": json.dumps({"model_name": "gpt-5.1"}),
    }
    unused = {name: None for name in session if "tokens" in name or "cost" in name}
    sessions = [session, session | unused | {"id": "20260601_2"}]
    columns = [name for name in session if name not in leave_out]
    contents: list[tuple[str, dict[str, Any]]] = [
        ("user", {"type": "text", "text": "sort"}),
        ("assistant", {"type": "toolRequest", "id": "call-1", "toolCall": {}}),
        ("assistant", {"type": "text", "text": "Sorted."}),
    ]
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("PRAGMA page_size = 512")
        store.execute("CREATE TABLE schema_version (version INTEGER PRIMARY KEY)")
        store.execute(f"CREATE TABLE sessions ({', '.join(columns)})")
        store.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id, role, content_json)")
        marks = ", ".join("?" * len(columns))
        for row in sessions:
            store.execute(f"INSERT INTO sessions VALUES ({marks})", [row[name] for name in columns])  # noqa: S608
        for role, content in contents:
            values = (session["id"], role, json.dumps([content]))
            store.execute("INSERT INTO messages (session_id, role, content_json) VALUES (?, ?, ?)", values)
    return path
