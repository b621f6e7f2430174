"""Laws of sessions: what a log that ends early, or only a part of the logs, gives is a lower bound of the whole."""

from __future__ import annotations

import shutil
from itertools import zip_longest
from pathlib import Path

import pytest

from commands import steelyard
from format_laws import check_cut_records, cut_records, outcome_of_paths, tokens_by_kind
from steelyard.records import Rejected, Run
from steelyard.sources import gather, log_formats

SAMPLES = Path(__file__).parent / "samples" / "formats"
SESSIONS = sorted(
    path
    for name, declared in log_formats().items()
    if declared.kind == "sessions" and (SAMPLES / name).is_dir()
    for path in (SAMPLES / name).rglob("*")
    if path.is_file() and path.suffix not in (".db", ".md")
)
PARTS = {
    "claude-code": ("claude-code/subagent", "claude-stream-json/subagent.jsonl"),
    "cline": ("cline/subagent",),
    "codex": ("codex/subagent", "codex-exec/subagent.jsonl"),
    "copilot-cli": ("copilot-cli/subagent",),
    "gemini-cli": ("gemini-cli/subagent",),
    "qwen-code": ("qwen-code/subagent",),
}
"""Sessions with a subagent, in all the files that the tool writes of one."""
TURNS = {"claude-code/compacted.jsonl": {4, 5}, "codex-exec/stream.jsonl": {6}}
"""Records after which a turn is over: a log that is cut there is that of a shorter session."""
UNLINKED = ("aider", "cline", "gemini-cli", "openhands", "codex/answers.jsonl")
"""Logs whose lines neither name the line that they follow nor state a running total: a lost line does not show."""
CALLS = {"claude-code": 6, "cline": 5, "codex": 6, "copilot-cli": 5, "gemini-cli": 5, "qwen-code": 6}
"""How many calls the model answered."""
INPUT = {name: 12_000 * calls + 2**calls - 1 for name, calls in CALLS.items()}
"""The input tokens that it stated: 12,000 a call, and each call's own bit."""


def files_of(name: str, folder: Path | None = None) -> list[Path]:
    """The files of the session, in a copy where a folder is given."""
    found = []
    for part in PARTS[name]:
        for path in [SAMPLES / part] if part.endswith(".jsonl") else sorted((SAMPLES / part).rglob("*.json*")):
            if folder is not None:
                copy = folder / path.relative_to(SAMPLES)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)
                path = copy  # noqa: PLW2901 # the same file
            found.append(path)
    return found


def is_printed(path: Path) -> bool:
    return path.name == "stdout.jsonl" or "stream" in path.parts[-2] or "exec" in path.parts[-2]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_a_log_cut_after_any_record_is_a_lower_bound(path: Path, tmp_path: Path) -> None:
    check_cut_records(path, [path], tmp_path, turns=TURNS.get(path.relative_to(SAMPLES).as_posix(), set()))


@pytest.mark.parametrize("name", PARTS)
def test_a_session_is_one_run_in_however_many_files(name: str) -> None:
    (run,) = outcome_of_paths(files_of(name))
    assert tokens_by_kind(run)["input_tokens"] == INPUT[name]
    assert (run.provenance or {})["usage"] in ("counted", "reported")
    assert len([call for call in run.calls or () if not call.summed]) == CALLS[name]


@pytest.mark.parametrize("name", PARTS)
def test_printed_output_next_to_the_log_adds_nothing(name: str) -> None:
    kept = [path for path in files_of(name) if not is_printed(path)]
    assert kept != files_of(name)
    (alone,) = outcome_of_paths(kept)
    (both,) = outcome_of_paths(files_of(name))
    assert tokens_by_kind(alone) == tokens_by_kind(both)
    assert (alone.tool_calls, alone.iterations) == (both.tool_calls, both.iterations)


@pytest.mark.parametrize("name", PARTS)
def test_any_part_of_a_session_is_a_lower_bound(name: str, tmp_path: Path) -> None:
    (whole,) = outcome_of_paths(files_of(name))
    for missing in files_of(name):
        rest = [path for path in files_of(name) if path != missing]
        for run in outcome_of_paths(rest) if rest else ():
            check_bound(run, whole)
    for path in files_of(name, tmp_path):
        check_cut_records(path, files_of(name, tmp_path), tmp_path / "cut")


LINES = [path for path in SESSIONS if path.suffix == ".jsonl"]
by_lines = pytest.mark.parametrize("path", LINES, ids=lambda path: path.relative_to(SAMPLES).as_posix())


@by_lines
def test_a_line_written_twice_is_counted_once(path: Path, tmp_path: Path) -> None:
    if path.relative_to(SAMPLES).parts[0] == "openhands":
        pytest.skip("each line is an attempt; a finding names those that are alike")
    lines = path.read_bytes().splitlines(keepends=True)
    written_twice = [[*lines[:-1], lines[-1].rstrip(b"\n") + b"\n", line] for line in lines]
    written_twice.append([line for each in lines for line in (each.rstrip(b"\n") + b"\n",) * 2])
    for changed in written_twice:
        check_changed(path, changed, tmp_path)


@by_lines
def test_a_lost_line_is_a_lower_bound(path: Path, tmp_path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    linked = not path.relative_to(SAMPLES).as_posix().startswith(UNLINKED)
    for number in range(1, len(lines) - 1):
        check_changed(path, [*lines[:number], *lines[number + 1 :]], tmp_path, shows=linked)


def check_changed(path: Path, lines: list[bytes], folder: Path, *, shows: bool = True) -> None:
    """A log of which lines were changed has no more tokens than the whole, and fewer are not called known."""
    whole = outcome_of_paths([path])
    changed = folder / path.relative_to(SAMPLES)
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_bytes(b"".join(lines))
    runs = outcome_of_paths([changed])
    read, most = (_read_and_written(each) for each in (runs, whole))
    assert read[0] <= most[0], (read, most)
    assert read[1] <= most[1], (read, most)
    words = {(run.provenance or {})["usage"] for run in runs}
    assert read == most or not shows or words <= {"lower_bound", "unknown"}, (words, read, most)


def _read_and_written(runs: list[Run]) -> tuple[int, int]:
    """What the model read, cached or not, and what it wrote."""
    tokens = [tokens_by_kind(run) for run in runs]
    written = sum(each["output_tokens"] for each in tokens)
    return sum(sum(each.values()) for each in tokens) - written, written


TOGETHER = {
    "claude-code": ("session.jsonl", "compacted.jsonl"),
    "codex": ("rollout.jsonl", "fork.jsonl"),
    "codex-exec": ("stream.jsonl", "subagent.jsonl"),
    "copilot-cli": ("events.jsonl", "subagent/events.jsonl"),
    "gemini-cli": ("session.jsonl", "subagent/chats/session-2026-11-19T04-42-9e310000.jsonl"),
    "qwen-code": ("chat.jsonl", "compression.jsonl"),
}
"""Two sessions of a format."""


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("order", [1, -1])
def test_two_logs_in_one_file_are_two_sessions(name: str, order: int, tmp_path: Path) -> None:
    paths = [SAMPLES / name / part for part in TOGETHER[name]][::order]
    together = tmp_path / "together.jsonl"
    together.write_bytes(b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in paths))
    expected = {run.id: tokens_by_kind(run) for run in outcome_of_paths(paths)}
    assert {run.id: tokens_by_kind(run) for run in outcome_of_paths([together])} == expected


def test_lines_of_two_codex_threads_are_lower_bounds(tmp_path: Path) -> None:
    for name, parts in {"codex": TOGETHER["codex"], "codex-exec": TOGETHER["codex-exec"]}.items():
        paths = [SAMPLES / name / part for part in parts]
        mixed = tmp_path / name
        lines = zip_longest(*(path.read_bytes().splitlines() for path in paths), fillvalue=b"")
        mixed.write_bytes(b"\n".join(line for pair in lines for line in pair if line) + b"\n")
        most = sum(sum(tokens_by_kind(run).values()) for run in outcome_of_paths(paths))
        runs = outcome_of_paths([mixed])
        assert sum(sum(tokens_by_kind(run).values()) for run in runs) <= most
        assert {(run.provenance or {})["usage"] for run in runs} <= {"lower_bound", "unknown"}


def test_output_of_a_killed_copilot_belongs_to_its_session(tmp_path: Path) -> None:
    paths = files_of("copilot-cli", tmp_path)
    for path, kept in zip(paths, (4, 12), strict=True):
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
    (run,) = outcome_of_paths(paths)
    assert run.id is not None
    assert (run.provenance or {})["usage"] in ("lower_bound", "unknown")


def check_bound(run: Run, whole: Run) -> None:
    """The run has no more tokens than the whole, and if it has fewer, they are not called known."""
    tokens, all_tokens = sum(tokens_by_kind(run).values()), sum(tokens_by_kind(whole).values())
    assert tokens <= all_tokens
    assert tokens == all_tokens or (run.provenance or {})["usage"] in ("lower_bound", "unknown")


def test_the_law_of_cut_records_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES / "codex" / "rollout.jsonl"
    monkeypatch.setattr("steelyard.sources.formats.codex.Thread.unfinished", False)
    with pytest.raises(AssertionError, match="is called reported"):
        check_cut_records(path, [path], tmp_path)


def test_records_of_documents_are_elements_of_their_lists() -> None:
    assert len(list(cut_records(b'{"id": 1, "messages": [{"a": 1}, {"b": 2}], "n": [1, 2]}'))) == 2
    assert len(list(cut_records(b'{"id": 1}\n{"id": 2}\n{"id": 3}\n'))) == 2


@pytest.mark.parametrize("name", ["claude-code/session.jsonl", "codex/rollout.jsonl", "qwen-code/chat.jsonl"])
def test_a_log_whose_last_line_is_being_written_is_noted(name: str, tmp_path: Path) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join([*lines[:-2], lines[-2][: len(lines[-2]) // 2]]))
    for command in ("read", "usage"):
        done = steelyard(command, str(path))
        assert done.status == 0, done.stderr
        assert "the log ends within this line" in done.stderr
    (run,) = outcome_of_paths([path])
    assert (run.provenance or {})["usage"] == "lower_bound"
    path.write_bytes(b"".join([*lines[:-2], lines[-2][: len(lines[-2]) // 2] + b"\n", lines[-1]]))
    assert steelyard("read", str(path)).status == 1  # a line in the middle was lost


def test_event_files_of_openhands_belong_to_their_conversation(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "openhands" / "base_state.json", tmp_path)
    (tmp_path / "events").mkdir()
    paths = [tmp_path / "base_state.json"]
    for number in range(3):
        paths.append(tmp_path / "events" / f"event-0000{number}-x.json")
        paths[-1].write_text(
            f'{{"id": "e{number}", "timestamp": "2026-06-01T08:00:0{number}", "source": "agent", "kind": "ActionEvent",'
            f' "tool_call_id": "c{number}"}}',
            encoding="utf-8",
        )
    items = list(gather(paths, workers=1))
    assert not [item for item in items if isinstance(item, Rejected)]
    (run,) = outcome_of_paths(paths)
    assert run.tool_calls == 3
