"""`steelyard read` and `steelyard formats` as a user runs them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from commands import steelyard
from steelyard.cli import run
from steelyard.pages import write_runs
from steelyard.records import decode_run
from steelyard.sources import PlacedRun, all_formats, gather

SAMPLES = Path(__file__).parent / "samples" / "formats"


def test_read_counts_files_runs_tokens_and_cost_by_format() -> None:
    done = steelyard("read", str(SAMPLES / "claude-code"), str(SAMPLES / "claude-json"), "--json")
    report = json.loads(done.stdout)
    assert done.status == 0
    sessions = report["formats"]["claude-code"]
    # Calls: 4 with a subagent, 1 with placeholders, 6 with a subagent; the 2 of the compacted session have their ids.
    assert (sessions["files"], sessions["runs"], sessions["calls"]) == (6, 4, 4 + 1 + 6)
    assert sessions["cost_lower_bound_runs"] == 2  # placeholders, and a subagent whose last answer calls a tool
    assert report["total"]["cost_known_runs"] == 2 + 2
    assert report["formats"]["claude-json"]["cost_known_usd"] == pytest.approx(0.0842)


def test_read_ends_with_a_table_and_says_what_was_set_aside(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "codex" / "rollout.jsonl", tmp_path / "a.jsonl")
    *lines, last = (SAMPLES / "codex" / "fork.jsonl").read_bytes().splitlines()
    (tmp_path / "b.jsonl").write_bytes(b"\n".join([*lines, last[:-30]]))
    cut_last = steelyard("read", str(tmp_path))
    assert cut_last.status == 0
    assert "the log ends within this line" in cut_last.stderr
    (tmp_path / "b.jsonl").write_bytes(b"\n".join([*lines[:-1], lines[-1][:-30], last]) + b"\n")
    done = steelyard("read", str(tmp_path))
    assert done.status == 1
    assert "codex" in done.stdout
    assert f"b.jsonl:{len(lines)}  fix or remove the record" in done.stdout
    assert steelyard("read", str(tmp_path), "--allow-rejected").status == 0


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_written_reads_back_the_same(tmp_path: Path, ending: str) -> None:
    wanted = [item.run for item in gather([SAMPLES]) if isinstance(item, PlacedRun)]
    path = tmp_path / f"runs.{ending}"
    assert write_runs(wanted, path) == len(wanted)
    found = [item.run for item in gather([path]) if isinstance(item, PlacedRun)]
    assert len(found) == len(wanted)
    for expected, again in zip(wanted, found, strict=True):
        for name in ("id", "task", "usage", "calls", "cost_usd", "tests", "started_at", "provenance", "judgments"):
            assert getattr(again, name) == getattr(expected, name), name


def test_read_writes_runs_that_measure_takes(tmp_path: Path) -> None:
    out = tmp_path / "runs.jsonl"
    assert steelyard("read", str(SAMPLES / "terminal-bench"), "--out", str(out), "--quiet").status == 0
    assert [decode_run(line).outcome for line in out.read_bytes().splitlines()] == ["passed", "failed", "errored"]
    measured = json.loads(steelyard("measure", str(out), "--json", "--quiet").stdout)
    straight = json.loads(steelyard("measure", str(SAMPLES / "terminal-bench"), "--json", "--quiet").stdout)
    assert measured["groups"] == straight["groups"]
    assert measured["groups"][0]["n"] == 3


def test_tokens_that_no_run_states_are_missing_and_not_zero(tmp_path: Path) -> None:
    silent = '{"id": "a", "task": "t", "passed": true}\n{"id": "b", "task": "t"}\n'
    (tmp_path / "runs.jsonl").write_text(silent, encoding="utf-8")
    report = json.loads(steelyard("read", "runs.jsonl", "--json", cwd=tmp_path).stdout)
    for count in (report["formats"]["runs-jsonl"], report["total"]):
        assert (count["runs"], count["tokens_known_runs"], count["tokens_unknown_runs"]) == (2, 0, 2)
        assert count["total_tokens"] is None
        assert set(count["tokens"].values()) == {None}
        assert (count["calls"], count["cost_known_usd"], count["cost_lower_bound_usd"]) == (None, None, None)
        assert count["reason"] == "no run reports tokens"
    told, _, _, _, _, row, *_ = steelyard("read", "runs.jsonl", cwd=tmp_path).stdout.splitlines()
    assert told == "2 runs from 1 file in 1 format; cost unknown."
    assert row.split() == [
        *("runs-jsonl", "1", "2"),
        *("-", "-"),  # calls, tokens
        *("-", "-", "2"),  # cost known, lower bound, unknown
    ]


def test_a_known_total_says_how_many_runs_it_covers(tmp_path: Path) -> None:
    stated = '{"id": "c", "task": "t", "usage": {"input_tokens": 1200, "output_tokens": 0}}\n'
    (tmp_path / "runs.jsonl").write_text('{"id": "a", "task": "t"}\n' + stated, encoding="utf-8")
    report = json.loads(steelyard("read", "runs.jsonl", "--json", cwd=tmp_path).stdout)
    assert report["total"]["tokens"]["output_tokens"] == 0  # stated as 0
    assert report["total"]["tokens"]["reasoning_tokens"] is None
    assert (report["total"]["total_tokens"], report["total"]["tokens_known_runs"]) == (1200, 1)
    assert "1,200 (1 of 2)" in steelyard("read", "runs.jsonl", cwd=tmp_path).stdout


def test_a_file_of_our_records_is_one_row_whatever_its_runs_came_from(tmp_path: Path) -> None:
    steelyard("demo", "--write", "demo.jsonl", cwd=tmp_path)
    formats = json.loads(steelyard("read", "demo.jsonl", "--json", cwd=tmp_path).stdout)["formats"]
    assert {name: (one["files"], one["runs"] > 0) for name, one in formats.items()} == {"runs-jsonl": (1, True)}


GOOD = '{"task": "t"}'
"""A file in which no record is good is not taken for one of run records."""


def test_each_reason_comes_with_what_to_do(tmp_path: Path) -> None:
    bad = ['{"task": "t", "usge": {}}', '{"task": "t", "cost_usd": -1}', '{"task": "t"', "[1]"]
    (tmp_path / "runs.jsonl").write_text("".join(line + "\n" for line in [*bad, GOOD]), encoding="utf-8")
    (tmp_path / "odd.bin").write_bytes(b"\x00\x01")
    done = steelyard("read", ".", cwd=tmp_path)
    assert "hint" in done.stdout
    assert "did you mean 'usage'?" in done.stdout
    assert "steelyard schema run" in done.stdout
    assert "1 file was not recognized." in done.stdout
    aside = json.loads(steelyard("read", ".", "--json", cwd=tmp_path).stdout)["rejected"]
    assert len(aside) == 4
    assert all(one["hint"] and one["hint"] in one["message"] and one["where"] for one in aside)


def test_every_record_set_aside_is_in_the_table_however_many_they_are(tmp_path: Path) -> None:
    bad = ['{"task": "t", "cost_usd": -1}\n'] * 1500 + ['{"task": "t", "usge": {}}\n'] * 20
    (tmp_path / "runs.jsonl").write_text("".join([GOOD, "\n", *bad]), encoding="utf-8")
    shown = [line.split() for line in steelyard("read", "runs.jsonl", cwd=tmp_path).stdout.splitlines()]
    assert [words[0] for words in shown if words][-2:] == ["1,500", "20"]
    (tmp_path / "good.jsonl").write_text('{"task": "t", "passed": true}\n', encoding="utf-8")
    told = steelyard("measure", "runs.jsonl", "good.jsonl", cwd=tmp_path).stderr
    assert "; 1,519 more (see --json)" in told  # 1,500 and 20, of which the first is shown
    aside = json.loads(steelyard("read", "runs.jsonl", "--json", cwd=tmp_path).stdout)["rejected"]
    assert [one["where"] for one in aside] == [f"runs.jsonl:{line}" for line in range(2, 1522)]


def test_reasons_beyond_those_shown_are_counted(tmp_path: Path) -> None:
    bad = [f'{{"task": "t", "odd{number}": 1}}\n' for number in range(15)]
    (tmp_path / "runs.jsonl").write_text("".join([*bad, GOOD]), encoding="utf-8")
    printed = steelyard("read", "runs.jsonl", cwd=tmp_path).stdout
    assert printed.rstrip().splitlines()[-1].split() == ["...", "3", "more", "rows"]
    reasons = json.loads(steelyard("read", "runs.jsonl", "--json", cwd=tmp_path).stdout)["reasons"]
    assert [each["records"] for each in reasons] == [1] * 15


def test_a_sum_over_calls_does_not_say_how_many_there_were() -> None:
    folders = [str(SAMPLES / name) for name in ("claude-code", "claude-json", "inspect")]
    report = json.loads(steelyard("read", *folders, "--json").stdout)
    assert [report["formats"][name]["calls"] for name in ("claude-code", "claude-json", "inspect")] == [11, None, None]
    assert report["formats"]["claude-json"]["calls_reason"] == "no run reports its calls"
    assert (report["total"]["calls"], report["total"]["calls_known_runs"]) == (11, 3)


def test_since_and_until_keep_what_started_between() -> None:
    folder = str(SAMPLES / "claude-code")
    first = json.loads(steelyard("read", folder, "--until", "2026-03-01", "--json").stdout)
    second = json.loads(steelyard("read", folder, "--since", "2026-03-02", "--json").stdout)
    assert (first["total"]["runs"], second["total"]["runs"]) == (1, 3)
    assert (first["left_out_by_time"], second["left_out_by_time"]) == (3, 1)
    assert steelyard("read", folder, "--since", "tomorrow").status == 2
    assert steelyard("read", folder, "--since", "2026-03-02", "--until", "2026-03-01").status == 2


def test_a_format_can_be_asked_for() -> None:
    report = json.loads(steelyard("read", str(SAMPLES), "--format", "codex", "--json").stdout)
    assert set(report["formats"]) == {"codex"}
    wrong = steelyard("read", str(SAMPLES), "--format", "codeks")
    assert wrong.status == 2
    assert "did you mean 'codex'" in wrong.stderr


def test_without_a_path_it_looks_where_agents_keep_their_logs(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects" / "-work"
    projects.mkdir(parents=True)
    shutil.copy(SAMPLES / "claude-code" / "session.jsonl", projects / "s.jsonl")
    day = tmp_path / ".codex" / "sessions" / "2026" / "02" / "23"
    day.mkdir(parents=True)
    shutil.copy(SAMPLES / "codex" / "rollout.jsonl", day / "rollout-1.jsonl")
    done = steelyard("read", HOME=str(tmp_path), CLAUDE_CONFIG_DIR="", CODEX_HOME="", XDG_DATA_HOME="")
    assert done.status == 0
    assert f"searching Claude Code: {tmp_path}" in done.stderr
    assert f"searching Codex: {tmp_path}" in done.stderr
    empty = tmp_path / "empty"
    empty.mkdir()
    nothing = steelyard("read", HOME=str(empty), CLAUDE_CONFIG_DIR="", CODEX_HOME="", XDG_DATA_HOME="")
    assert nothing.status == 2


def test_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    done = steelyard("read", str(tmp_path))
    assert (done.status, done.stdout.splitlines()[-1]) == (1, "No files found.")
    assert steelyard("read", str(tmp_path / "nowhere")).status == 1


def test_formats_lists_every_format_with_what_it_tells_and_yields() -> None:
    answer = json.loads(steelyard("formats", "--json").stdout)
    assert answer["schema_version"] == 1
    listed = {declared["name"]: declared for declared in answer["formats"]}
    assert set(listed) == set(all_formats())
    assert all(declared["yields"] and declared["title"] for declared in listed.values())
    assert listed["claude-json"]["family"] == listed["claude-code"]["family"] == "claude"
    assert (listed["codex"]["kind"], listed["junit"]["kind"], listed["asv"]["kind"]) == (
        "sessions",
        "tests",
        "timings",
    )
    shown = steelyard("formats").stdout
    assert all(name in shown for name in all_formats())


def test_what_was_written_is_told_after_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "runs.jsonl", tmp_path / "out.csv"
    path.write_text('{"task": "t"}\n', "utf-8")
    assert run(["read", str(path), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("1 run from 1 file")
    assert told.splitlines()[-1] == f"wrote {out}"
    assert run(["read", str(path), "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema_version"] == 1


def test_formats_shows_one_format() -> None:
    [shown] = json.loads(steelyard("formats", "codex", "--json").stdout)["formats"]
    assert (shown["name"], shown["kind"]) == ("codex", "sessions")
    assert "Codex rollout logs" in steelyard("formats", "codex").stdout
    assert "did you mean 'codex'" in steelyard("formats", "codexx").stderr
