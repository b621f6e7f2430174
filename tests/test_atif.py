"""Trajectories that `read --out atif/` writes: valid, complete, and without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steelyard.cli import run
from steelyard.records import Missing, SessionStep
from steelyard.sources import PlacedRun, atif_trajectory, gather, log_format_named, log_formats, transcript_of

SAMPLES = Path(__file__).parent / "samples" / "formats"
FILES = sorted(
    path
    for name, declared in log_formats().items()
    if declared.steps is not None
    for path in (SAMPLES / name).rglob("*")
    if path.is_file() and path.name != "ORIGIN.md"
)
AGENT_ONLY = ("model_name", "reasoning_content", "tool_calls", "metrics")
KEY = "sk-abcdefghijklmnopqrstuvwx0123456789"
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SAMPLES).as_posix())


def trajectories(path: Path) -> list[tuple[list[SessionStep], dict[str, Any]]]:  # Any: JSON values
    """The steps of each run of a file, and its trajectory."""
    made = []
    for entry in gather([path], workers=1):
        if isinstance(entry, PlacedRun):
            transcript = transcript_of(entry, None)
            assert not isinstance(transcript, Missing)
            made.append((list(transcript), atif_trajectory(entry.run, transcript)))
    return made


def unplaced(step: SessionStep) -> SessionStep:
    return msgspec.structs.replace(step, index=0, source_path=None, source_line=None)


@every_file
def test_atif_read_back_gives_the_same_steps(path: Path, tmp_path: Path) -> None:
    read_steps = log_format_named("atif").steps
    assert read_steps is not None
    for steps, trajectory in trajectories(path):
        if steps:
            file = tmp_path / "trajectory.json"
            file.write_bytes(msgspec.json.encode(trajectory))
            again = [step for step in read_steps(file, None) if isinstance(step, SessionStep)]
            assert [unplaced(step) for step in again] == [unplaced(step) for step in steps]


@every_file
def test_atif_obeys_the_rules_of_its_specification(path: Path) -> None:
    for _, trajectory in trajectories(path):
        assert {"schema_version", "agent", "steps"} <= trajectory.keys()
        assert {"name", "version"} <= trajectory["agent"].keys()
        assert [step["step_id"] for step in trajectory["steps"]] == list(range(1, len(trajectory["steps"]) + 1))
        for step in trajectory["steps"]:
            assert step["source"] in ("system", "user", "agent")
            assert isinstance(step["message"], str)
            assert step["source"] == "agent" or not step.keys() & set(AGENT_ONLY)
            ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
            assert all(isinstance(call["arguments"], dict) for call in step.get("tool_calls", ()))
            for result in step.get("observation", {}).get("results", ()):
                assert result.get("source_call_id") in (None, *ids)


@pytest.mark.long
@every_file
def test_atif_is_valid_for_the_models_of_harbor(path: Path) -> None:
    models = pytest.importorskip("harbor.models.trajectories")
    for _, trajectory in trajectories(path):
        models.Trajectory.model_validate_json(msgspec.json.encode(trajectory))


def test_read_writes_a_trajectory_per_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "atif"
    assert run(["read", str(SAMPLES / "claude-code"), "--out", f"{out}/"]) == 0
    names = sorted(path.name for path in out.iterdir())
    assert len(names) == 4  # sessions of the samples; the subagents' files are part of theirs
    capsys.readouterr()
    assert run(["read", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["runs"] == 4


def test_trajectories_contain_no_secrets(tmp_path: Path) -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": f"x {KEY}", "password": "hunter2-3"}}
    message = {"id": "m1", "role": "assistant", "model": "m", "content": [call, {"type": "text", "text": KEY}]}
    line = {"uuid": "u", "parentUuid": None, "sessionId": f"s {KEY}", "type": "assistant", "message": message}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    out = tmp_path / "atif"
    assert run(["read", str(tmp_path / "log.jsonl"), "--out", f"{out}/"]) == 0
    for path in out.iterdir():
        text = path.name + path.read_text("utf-8")
        assert "[API key 1]" in text
        assert KEY not in text
        assert "hunter2-3" not in text


def test_runs_without_messages_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "runs.jsonl").write_text('{"id": "a", "task": "t"}\n', "utf-8")
    assert run(["read", str(tmp_path / "runs.jsonl"), "--out", f"{tmp_path / 'atif'}/"]) == 0
    assert "1 run not written: the record contains no messages" in capsys.readouterr().err
