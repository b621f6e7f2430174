"""Steps of the sample of each format, compared with counts made by hand in the raw files.

A row has the roles in order (u user, s system, r reasoning, a assistant, c call, t result of a tool), the tools, and
the first and the last text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.records import SessionStep
from steelyard.sources import PlacedRun, gather, log_formats

SAMPLES = Path(__file__).parent / "samples" / "formats"
EXPECTED = {
    "asciinema/v2.cast": ("tutu", "", "$ ", "exit"),
    "atif/trajectory.json": ("uca", "bash", "go", "done"),
    "claude-code/session.jsonl": ("uactctsa", "Write Bash", "write the parcel counter", "Prints 1."),
    "claude-json/result.json": ("a", "", "done", "done"),
    "claude-stream-json/stream.jsonl": ("cta", "Bash", "ls", "one file"),
    "cline/session.messages.json": ("ucta", "run_commands", "sort", "Sorted."),
    "codex/legacy.jsonl": ("uct", "shell", "hello", "ok"),
    "codex/rollout.jsonl": ("cc", "exec_command apply_patch", "*** Begin", "*** Begin"),
    "codex-exec/stream.jsonl": ("ctcta", "command_execution file_change", "ls", "done"),
    "copilot-cli/events.jsonl": ("uacta", "bash", "count the parcels", "Two parcels."),
    "gemini-cli/session.json": ("uca", "read_file", "add a line", "a"),
    "gemini-cli/stream.jsonl": ("uc", "ls", "x", "x"),
    "goose/sessions.db": ("uca", "tool", "sort", "Sorted."),
    "mini-swe-agent/v2.traj.json": ("sacac", "bash bash", "s", "echo"),
    "opencode/export.json": ("ucta", "read", "go", "done"),
    "openhands/events.json": ("uc", "run", "m", "m"),
    "otel/messages.json": ("surcta", "bash", "You fold.", "It is folded."),
    "qwen-code/chat.jsonl": ("ucta", "run_shell_command", "sort the letters", "Sorted."),
    "swe-agent/demo__parcels-1.traj": ("actacts", "command command", "r", "submitted (exit_cost)"),
}
RUNS = {
    "inspect/log.json": ("Ev1/1/1", ("uac", "bash", "q", "a")),
    "inspect/log.eval": ("Ev2/1/1", ("uac", "bash", "q", "a")),
    "promptfoo/results.json": (
        "00000000-0000-4000-8000-000000000001",
        ("uas", "", "Fold a letter", 'Expected output to contain "folded"'),
    ),
    "openhands/output-v1.jsonl": (None, ("suctc", "terminal finish", "s", "done")),
}
"""One of several runs in a file, by its id; None for the first."""
LETTERS = {"user": "u", "system": "s", "reasoning": "r", "assistant": "a", "tool": "t"}


def counts(steps: list[SessionStep]) -> tuple[str, str, str, str]:
    texts = [text for step in steps for text in step.content]
    roles = "".join("c" if step.kind in ("tool_call", "subagent") else LETTERS[step.role] for step in steps)
    return roles, " ".join(step.tool for step in steps if step.tool and step.kind != "tool_result"), texts[0], texts[-1]


@pytest.mark.parametrize("name", EXPECTED)
def test_steps_are_those_counted_by_hand(name: str) -> None:
    assert counts(list(sy.steps(SAMPLES / name))) == EXPECTED[name]


@pytest.mark.parametrize("name", RUNS)
def test_steps_of_one_of_several_runs_are_those_counted_by_hand(name: str) -> None:
    id_, expected = RUNS[name]
    first = next(entry for entry in gather([SAMPLES / name], workers=1) if isinstance(entry, PlacedRun))
    chosen = id_ or first.run.id or sy.find(SAMPLES / name, pattern=expected[2]).matches[0].run
    assert counts(list(sy.steps(SAMPLES / name, run=chosen))) == expected


def test_every_format_with_steps_is_counted() -> None:
    counted = {name.partition("/")[0] for name in (*EXPECTED, *RUNS)}
    others = {"aider", "terminal-bench"}  # their messages are in files beside: test_transcripts
    declared = {name for name, each in log_formats().items() if each.steps is not None}
    assert declared == counted | others
