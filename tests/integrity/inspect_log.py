"""Inspect logs with a verdict and commands per sample."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class LoggedRun(NamedTuple):
    """One sample: its task, verdict and commands."""

    task: str
    passed: bool
    commands: Sequence[str]
    last_words: str = "Done."


def write_log(path: Path, model: str, runs: Sequence[LoggedRun]) -> Path:
    """Write a log of one model."""
    samples = []
    for number, run in enumerate(runs):
        messages: list[dict[str, object]] = [{"role": "user", "content": "Fix the bug."}]
        for place, command in enumerate(run.commands):
            call = {"id": f"c{number}-{place}", "function": "bash", "arguments": {"cmd": command}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "ok"})
        messages.append({"role": "assistant", "content": run.last_words})
        score = {"match": {"value": "C" if run.passed else "I", "answer": "a"}}
        samples.append(
            {
                "id": run.task,
                "epoch": 1,
                "input": "Fix the bug.",
                "target": "a",
                "messages": messages,
                "output": {"model": model},
                "scores": score,
            }
        )
    evaluated = {"eval_id": model, "run_id": model, "task": "bugs", "task_id": "T", "model": model, "config": {}}
    log = {
        "version": 2,
        "status": "success",
        "eval": {**evaluated, "created": "2026-01-05T10:00:00+00:00", "dataset": {"name": "bugs"}},
        "plan": {"name": "plan", "steps": []},
        "stats": {"started_at": "2026-01-05T10:00:00+00:00"},
        "samples": samples,
    }
    path.write_text(json.dumps(log), "utf-8")
    return path
