"""Laws that hold for every format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from format_laws import (
    check_counts,
    check_cut_anywhere,
    check_kind,
    check_lost_lines,
    check_reading,
    check_recognized,
    check_run,
    check_same_twice,
    check_says_how,
    check_step_usage,
    check_steps,
    check_steps_cut_anywhere,
    check_valid_and_placed,
    mutated,
    outcome,
)
from steelyard.records import Call, DecodeError, Finding, Rejected, Run, Usage, encode_run
from steelyard.sources import PlacedRun, gather, log_formats
from steelyard.sources.formats import _file_reader

SAMPLES = Path(__file__).parent / "samples" / "formats"
FILES = sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.name != "ORIGIN.md")

every_sample = pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SAMPLES).as_posix())


def format_of(path: Path) -> str:
    return path.relative_to(SAMPLES).parts[0]


OURS = sorted(name for name, declared in log_formats().items() if declared.priority != "plugin")


@pytest.mark.parametrize("name", OURS)
def test_every_format_has_a_sample_of_ours(name: str) -> None:
    assert (SAMPLES / name).is_dir()


@every_sample
def test_every_sample_is_recognized_by_its_format_and_by_no_other(path: Path) -> None:
    check_recognized(format_of(path), path)


@every_sample
def test_every_sample_tells_of_what_its_format_declares(path: Path) -> None:
    check_kind(log_formats()[format_of(path)], path)


@every_sample
def test_every_run_is_valid_and_says_where_it_is_from(path: Path) -> None:
    check_valid_and_placed(path)


@pytest.mark.parametrize("path", [path for path in FILES if not path.parts[-2].startswith("runs-")], ids=str)
def test_every_read_run_says_how_its_tokens_and_cost_came(path: Path) -> None:
    check_says_how(format_of(path), path)


@every_sample
def test_a_file_cut_at_any_byte_gives_a_true_prefix_or_an_error(path: Path, tmp_path: Path) -> None:
    check_cut_anywhere(path, tmp_path)


SESSION_LOGS = [path for path in FILES if log_formats()[format_of(path)].kind == "sessions"]


STEP_LOGS = [path for path in FILES if log_formats()[format_of(path)].steps is not None]
every_step_log = pytest.mark.parametrize("path", STEP_LOGS, ids=lambda path: path.relative_to(SAMPLES).as_posix())


@every_step_log
def test_steps_are_numbered_placed_and_named(path: Path) -> None:
    check_steps(path)


@every_step_log
def test_step_usage_adds_up_to_the_run(path: Path) -> None:
    check_step_usage(path)


@every_step_log
def test_steps_of_a_cut_log_are_a_prefix(path: Path, tmp_path: Path) -> None:
    check_steps_cut_anywhere(path, tmp_path)


@pytest.mark.parametrize("path", SESSION_LOGS, ids=lambda path: path.relative_to(SAMPLES).as_posix())
def test_tokens_of_a_session_that_lost_a_line_are_never_sure(path: Path, tmp_path: Path) -> None:
    check_lost_lines(path, tmp_path)


@every_sample
def test_reading_twice_gives_the_same(path: Path) -> None:
    check_same_twice(path)


def test_the_order_of_paths_does_not_matter() -> None:
    folders = sorted(path for path in SAMPLES.iterdir() if path.is_dir())
    once = sorted(encode_run(item.run) for item in gather(folders) if isinstance(item, PlacedRun))
    again = sorted(encode_run(item.run) for item in gather(folders[::-1]) if isinstance(item, PlacedRun))
    assert once == again
    assert len(once) > 40


def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [repr(item) for item in gather([SAMPLES], workers=1)]
    monkeypatch.setattr(_file_reader, "WORTH_IT_BYTES", 0)
    monkeypatch.setattr(_file_reader, "BATCH_BYTES", 3_000)
    assert [repr(item) for item in gather([SAMPLES], workers=2)] == alone


def test_what_a_worker_leaves_undone_when_it_dies_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [repr(item) for item in gather([SAMPLES], workers=1)]
    monkeypatch.setattr(_file_reader, "WORTH_IT_BYTES", 0)
    monkeypatch.setattr(_file_reader, "BATCH_BYTES", 3_000)
    once_only = "from steelyard.sources.formats import _file_reader as w; f = w._receive; left = [1, 1]"
    dies = f"{once_only}; w._receive = lambda pipe: f(pipe) if left and left.pop() else exit(9); w.work()"
    monkeypatch.setattr(_file_reader, "COMMAND", ("-c", dies))
    assert [repr(item) for item in gather([SAMPLES], workers=3)] == alone


@pytest.mark.parametrize(
    "run",
    [
        Run(task="t", usage=Usage(input_tokens=-1)),
        Run(task="t", calls=(Call(usage=Usage(output_tokens=-1)),)),
        Run(task="t", cost_usd=-0.5),
        Run(task=""),
    ],
)
def test_the_law_of_valid_runs_can_fail(run: Run) -> None:
    with pytest.raises((AssertionError, DecodeError)):
        check_run(run)


def test_the_laws_of_recognition_and_of_what_is_told_can_fail() -> None:
    path = SAMPLES / "codex-exec" / "stream.jsonl"
    with pytest.raises(AssertionError):
        check_recognized("codex", path)
    for change in ({"kind": "trials"}, {"name": "codex"}):
        with pytest.raises(AssertionError):
            check_kind(replace(log_formats()["codex-exec"], **change), path)


def test_the_law_of_cut_files_catches_a_format_that_passes_over_a_line_that_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = next(path for path in FILES if format_of(path) == "codex-exec")

    def silent(path: Path) -> tuple[list[Run], list[Rejected], list[Finding]]:
        runs, rejected, findings = outcome(path)
        return (runs, [], []) if runs else (runs, rejected, findings)

    monkeypatch.setattr("format_laws.outcome", silent)
    with pytest.raises(AssertionError, match="does not say so"):
        check_cut_anywhere(path, tmp_path)


def test_the_law_of_lost_lines_can_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = SAMPLES / "claude-code" / "session.jsonl"
    assert check_lost_lines(path, tmp_path) == 3  # one for each call

    def sure(path: Path) -> tuple[list[Run], list[Rejected], list[Finding]]:
        runs, rejected, findings = outcome(path)
        return [msgspec.structs.replace(run, provenance={"usage": "counted"}) for run in runs], rejected, findings

    monkeypatch.setattr("format_laws.outcome", sure)
    with pytest.raises(AssertionError, match="the tokens are counted"):
        check_lost_lines(path, tmp_path)


def test_the_law_of_counts_can_fail() -> None:
    check_counts([Run(task="t")], b"{}")
    with pytest.raises(AssertionError):
        check_counts([Run(task="t", calls=(Call(),) * 3)], b"{}")
    with pytest.raises(AssertionError):
        check_counts([Run(task="t")] * 3, b"{}")


BROKEN = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


STARTS = (
    b"",
    b"<",
    b"<?xml ",
    b"<!--",
    b"{",
    b"[",
    b'{"type":',
    b"task,",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
)
"""What makes a source or an decompressor look further."""


@given(start=st.sampled_from(STARTS), data=st.binary(max_size=400))
@BROKEN
def test_random_bytes_keep_the_laws(tmp_path: Path, start: bytes, data: bytes) -> None:
    path = tmp_path / "random"
    path.write_bytes(start + data)
    check_reading(path)


@pytest.mark.parametrize("name", OURS)
@given(data=st.data())
@settings(BROKEN, max_examples=5)
def test_mutated_samples_keep_the_laws(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / "mutated"
    path.write_bytes(data.draw(mutated([path for path in FILES if format_of(path) == name])))
    check_reading(path)


@pytest.mark.long
@given(data=mutated(FILES))
@settings(BROKEN, max_examples=20_000)
def test_many_mutated_samples_keep_the_laws(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mutated"
    path.write_bytes(data)
    check_reading(path)
