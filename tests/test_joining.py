"""A run that several files tell of: what is added up, and what is then only a lower bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from steelyard.records import Run, Usage
from steelyard.sources import PlacedRun, RunPart, gather, run_from
from steelyard.sources.tables._join import assemble

SAMPLES = Path(__file__).parent / "samples" / "formats"


def session(name: str, *, cost_usd: float | None, parent: str | None = None) -> RunPart:
    path = f"logs/{name}.json"
    run = run_from(
        format="opencode", path=path, id=name, task="t", cost_usd=cost_usd, usage=Usage(input_tokens=7), tool_calls=2
    )
    return RunPart(run=run, path=path, role="session", parent=parent)


@pytest.mark.parametrize(
    ("helper_cost", "cost", "how"),
    [(0.25, 1.25, None), (None, 1.0, "lower_bound")],  # 1.0 + 0.25; the helper's is not known
)
def test_a_subagent_is_part_of_its_session_and_its_unknown_cost_leaves_a_lower_bound(
    helper_cost: float | None, cost: float, how: str | None
) -> None:
    parts = [session("main", cost_usd=1.0), session("helper", cost_usd=helper_cost, parent="main")]
    (placed,) = [item for item in assemble(parts) if isinstance(item, PlacedRun)]
    run = placed.run
    assert (run.id, run.cost_usd, run.tool_calls) == ("main", cost, 4)
    assert run.usage == Usage(input_tokens=14)
    assert (run.provenance or {}).get("cost_usd") == how


def read_from(folder: Path) -> Run:
    (placed,) = [item for item in gather([folder]) if isinstance(item, PlacedRun)]
    return placed.run


def broken(sample: str, line: int) -> bytes:
    """The sample with that line cut in half."""
    lines = (SAMPLES / sample).read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1][: len(lines[line - 1]) // 2] + b"\n"
    return b"".join(lines)


def test_a_session_that_lost_a_line_has_at_least_what_the_others_tell(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(broken("claude-code/session.jsonl", 6))
    run = read_from(tmp_path)
    assert run.total_usage is not None
    assert run.total_usage.output_tokens == 68  # of 93
    words = run.provenance or {}
    assert {words[name] for name in ("usage", "tool_calls", "iterations")} == {"lower_bound"}
    assert run.cost_is_lower_bound


@pytest.mark.parametrize("lost", ["session", "subagent"])
def test_a_line_lost_in_one_of_a_sessions_files_makes_the_whole_a_lower_bound(lost: str, tmp_path: Path) -> None:
    for name in ("session", "subagent"):
        whole = (SAMPLES / "claude-code" / f"{name}.jsonl").read_bytes()
        data = broken(f"claude-code/{name}.jsonl", 1) if name == lost else whole
        (tmp_path / f"{name}.jsonl").write_bytes(data)
    assert (read_from(tmp_path).provenance or {})["usage"] == "lower_bound"


def test_a_total_that_the_tool_states_stands_when_another_line_is_lost(tmp_path: Path) -> None:
    (tmp_path / "stream.jsonl").write_bytes(broken("claude-stream-json/stream.jsonl", 2))
    run = read_from(tmp_path)
    assert run.total_usage is not None
    assert (run.total_usage.total, (run.provenance or {})["usage"], run.cost_is_lower_bound) == (361, "reported", False)


def test_a_record_that_is_whole_lacks_nothing_when_another_line_of_its_file_is_lost(tmp_path: Path) -> None:
    (tmp_path / "output.jsonl").write_bytes(broken("openhands/output.jsonl", 1))
    assert (read_from(tmp_path).provenance or {})["usage"] == "reported"
