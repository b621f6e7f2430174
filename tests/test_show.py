"""One run shown: every number with its way, the output in pieces, and the difference from another run, however long."""

from __future__ import annotations

import difflib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import steelyard as sy
from report_makers import HOSTILE, planted
from steelyard.cli import run
from steelyard.errors import UnknownNameError, UsageError
from steelyard.questions.show import PIECE_CHARACTERS, RunDetail, _text_difference
from steelyard.questions.show._text_difference import text_difference

KEY = "sk-abcdefghijklmnopqrstuvwx0123456789"


def record(id_: str, **values: Any) -> dict[str, Any]:  # Any: JSON values
    return {"id": id_, "task": "fix", "agent": "ant", "model": "claude-sonnet-4-5"} | values


def output(text: str) -> dict[str, Any]:  # Any: JSON values
    return {"text": text}


def test_every_number_is_the_one_that_explain_gives() -> None:
    runs = list(sy.demo_runs())[:3]
    detail = sy.show(runs, run=runs[1].id or "")
    assert detail.position.number == 2
    assert (detail.position.previous, detail.position.next) == (runs[0].id, runs[2].id)
    for number in detail.numbers:
        if number.name not in ("total_tokens", "tool_calls", "iterations"):
            told = sy.explain(runs, number.name.removesuffix("_per_run"), run=runs[1].id)
            assert told.explanation == number


def test_the_page_shows_every_number_and_why_one_is_missing() -> None:
    detail = sy.show([record("a", passed=True)], run="a")
    table = detail.page().table
    assert table is not None
    shown = dict(zip(table.columns[0].values, table.columns[2].values, strict=True))
    for number in detail.numbers:
        assert number.name in shown
        if number.reason:
            assert shown[number.name] == f"missing: {number.reason}"
    assert detail.number("cost_usd") is None
    assert "0.00" not in detail.page().answer, "an unknown cost is not free"


def test_a_number_that_others_are_made_from_is_taken_apart_once() -> None:
    table = sy.show(list(sy.demo_runs())[:1], run="demo").page().table
    assert table is not None
    assert list(table.columns[0].values).count("└ tests_run") == 1
    assert list(table.columns[0].values).count("└└ tests_run") == 0


def test_tests_judgments_and_steps_stand_in_tables_of_their_own() -> None:
    tests = {"passed": ["t1", "t2"], "failed": ["t3"], "errors": []}
    steps = {"expected": [{"id": "read"}, {"id": "edit"}], "achieved": ["edit", "dance"]}
    judgments = [{"judge": "j", "passed": True, "criteria": [{"name": "clear", "achieved": 3, "max": 4}]}]
    page = sy.show([record("a", tests=tests, steps=steps, judgments=judgments)], run="a").page()
    tables = {table.caption: table for table in page.also}
    assert list(tables) == ["Tests (3)", "Judgments (1)", "Steps (3)"]
    assert list(tables["Tests (3)"].columns[0].values) == ["failed", "passed", "passed"]
    assert list(tables["Judgments (1)"].columns[2].values) == [0.75, 0.75]  # 3 of 4
    assert list(tables["Steps (3)"].columns[1].values) == ["no", "yes", "yes"]
    assert "2 of 3 tests passed" in page.answer


def test_calls_are_placed_in_time_and_priced_one_by_one() -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 0}
    calls = [
        {"at": "2026-01-01T00:00:05Z", "usage": usage},
        {"at": "2026-01-01T00:01:00Z", "model": "unheard-of", "usage": usage},
    ]
    detail = sy.show([record("a", started_at="2026-01-01T00:00:00Z", calls=calls)], run="a")
    assert [(call.seconds, call.cost_usd) for call in detail.calls] == [(5.0, 0.3), (60.0, None)]  # $3 a million
    assert "1 unknown" in detail.figure("calls").svg
    assert "200,000" in detail.page().answer


def test_a_long_output_comes_in_pieces_that_add_up() -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    runs, start, joined = [record("a", output=output(text))], 0, ""
    while True:
        piece = sy.show(runs, run="a", offset=start).output
        assert piece is not None
        assert len(piece.text) <= PIECE_CHARACTERS
        joined += piece.text
        if piece.next_offset is None:
            break
        start = piece.next_offset
    assert joined == text
    assert piece.previous_offset == piece.offset - PIECE_CHARACTERS
    beyond = sy.show(runs, run="a", offset=10**9).output
    assert beyond is not None
    assert beyond.text == ""


def test_a_secret_across_two_pieces_is_taken_out_of_both() -> None:
    text = "x " * (PIECE_CHARACTERS // 2 - 5) + KEY + " rest"
    runs = [record("a", output=output(text), x_note=KEY)]
    shown = json.dumps([sy.show(runs, run="a", offset=start).to_dict() for start in (0, PIECE_CHARACTERS)])
    assert "[API key 1]" in shown
    assert all(KEY[at : at + 12] not in shown for at in range(len(KEY) - 12))
    assert KEY in json.dumps(sy.show(runs, run="a", redact=False).to_dict())


def test_the_difference_is_complete_and_names_the_other_run() -> None:
    runs = [record("a", output=output("one\ntwo\nthree\n")), record("b", output=output("one\n2\nthree\nfour\n"))]
    difference = sy.show(runs, run="b", diff="a").difference
    assert difference is not None
    assert difference.output is not None
    assert (difference.base, difference.output.added, difference.output.removed) == ("a", 2, 1)
    assert difference.output.changes.text == "@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four"
    same = sy.show(runs, run="a", diff="a").page()
    assert "Diff with a: identical output." in same.notes


def test_what_cannot_be_shown_says_what_to_do() -> None:
    runs = [record("run-1"), record("run-2", output=output("x"))]
    with pytest.raises(UnknownNameError, match="run-3"):
        sy.show(runs, run="run-3")
    with pytest.raises(UsageError, match="ambiguous run id 'run-'"):
        sy.show(runs, run="run-")
    with pytest.raises(UnknownNameError, match="run-3"):
        sy.show(runs, run="run-1", diff="run-3")
    with pytest.raises(UsageError, match="cannot be combined"):
        sy.show(runs, run="run-1", tests=True, numbers=True)


def test_the_command_gives_the_same_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text("".join(json.dumps(record(f"r {number}")) + "\n" for number in range(3)))
    detail = sy.show("runs.jsonl", run="r 1", where="agent=ant")
    assert run(["show", "runs.jsonl", "--run", "r 1", "--where", "agent=ant", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(detail.to_dict()))
    assert run(["show", "runs.jsonl", "--run", "r 1", "--numbers"]) == 0
    assert "Metrics and their inputs" in capsys.readouterr().out


def test_a_hostile_run_is_shown_as_text() -> None:
    runs = planted(HOSTILE, count=2)
    html = sy.show(runs, run=runs[0]["id"], diff=runs[1]["id"], redact=False).document()
    assert "<img" not in html
    assert html.count("<script") == 1 + html.count('<script type="application/octet-stream"')
    assert "\u202e" not in html
    assert "\x1b" not in html


def applied(a: str, unified: str) -> str:
    """The second text, made from the first by the changes, as `patch` would."""
    lines, made, at = a.splitlines(), [], 0
    for line in unified.split("\n") if unified else ():
        if line.startswith("@@ "):
            start, count = (int(part) for part in line.split(" ")[1][1:].split(","))
            begin = start - 1 if count else start
            made += lines[at:begin]
            at = begin
        elif line[:1] in " -":
            assert lines[at] == line[1:]
            at += 1
            made += [line[1:]] if line[:1] == " " else []
        else:
            made.append(line[1:])
    return "\n".join([*made, *lines[at:]])


def ended(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "-", "+x", "@@ -1,1 +1,1 @@"]), max_size=30)


@settings(max_examples=150, deadline=None)
@given(a=LINES, b=LINES, at_once=st.sampled_from([4, 8, 4_000]))
def test_the_changes_make_the_second_text_of_the_first(a: list[str], b: list[str], at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_text_difference, "AT_ONCE", at_once)
        difference = text_difference(ended(a), ended(b))
    assert applied(ended(a), difference.unified) == "\n".join(b)
    if difference.is_shortest:
        matcher = difflib.SequenceMatcher(None, a, b, autojunk=False)
        equal = sum(block.size for block in matcher.get_matching_blocks())
        assert difference.added <= len(b) - equal, "no more changes than the standard library finds"


@pytest.mark.parametrize("shape", ["nothing in common", "all alike", "every line moved"])
def test_a_difference_of_long_texts_takes_no_longer_than_their_length_asks(shape: str) -> None:
    count = 60_000
    a = [f"{number}" if shape != "all alike" else "x" for number in range(count)]
    b = {
        "nothing in common": [f"b{line}" for line in a],
        "all alike": a[:-1],
        "every line moved": [*a[1_000:], *a[:1_000]],
    }
    start = time.process_time()
    difference = text_difference("\n".join(a), "\n".join(b[shape]))
    assert time.process_time() - start < 5
    assert not difference.is_shortest
    expected = {"nothing in common": (count, count), "all alike": (0, 1), "every line moved": (1_000, 1_000)}
    assert (difference.added, difference.removed) == expected[shape]


def test_a_run_is_a_result_with_figures() -> None:
    detail = sy.show(list(sy.demo_runs())[:1], run="demo")
    assert isinstance(detail, RunDetail)
    assert "cache read" in detail.figure("tokens").svg
    assert {row["name"] for row in detail.to_dicts()} >= {"cost_usd", "priced_cost_usd", "tests_run"}


SAMPLES = Path(__file__).parent / "samples" / "formats"
REPORT = """<testsuite name="s" tests="2" failures="1"><testcase classname="t" name="ok"/>
<testcase classname="t" name="bad"><failure message="AssertionError: assert 1 == 2">def test_bad():
E   assert 1 == 2
key KEY</failure></testcase></testsuite>"""


def test_show_begins_with_the_verdict_and_the_failing_assertion(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.xml"
    path.write_text(REPORT.replace("KEY", KEY))
    assert run(["show", str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[:2] == [
        "Failed: report, an unnamed agent, 1 of 2 tests passed.",
        "Failed: t::bad: assert 1 == 2",
    ]
    assert "def test_bad" in shown
    assert KEY not in shown
    (check,) = sy.show(path).failures
    assert (check.name, check.kind, check.where) == ("t::bad", "test", f"{path}:2")
    assert run(["show", str(path), "--tests"]) == 0
    assert "t::ok" in capsys.readouterr().out


def test_show_gives_the_messages_of_each_kind_of_report(tmp_path: Path) -> None:
    call = {"crash": {"message": "assert 3"}, "longrepr": "E  assert 3"}
    tests = [{"nodeid": "t.py::a", "outcome": "failed", "call": call}, {"nodeid": "t.py::b", "outcome": "passed"}]
    reports = {
        "pytest.json": {"created": 1.0, "duration": 0.5, "exitcode": 1, "summary": {"failed": 1}, "tests": tests},
        "ctrf.json": {
            "reportFormat": "CTRF",
            "results": {
                "tool": {"name": "t"},
                "summary": {"tests": 1, "failed": 1},
                "tests": [{"name": "c", "status": "failed", "message": "no", "trace": "at c"}],
            },
        },
    }
    texts = {}
    for name, report in reports.items():
        (tmp_path / name).write_text(json.dumps(report))
        texts |= {check.name: check.text for check in sy.show(tmp_path / name).failures}
    assert texts == {"t.py::a": "E  assert 3", "c": "no\nat c"}


def test_judges_are_shown_with_their_reasoning(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    judgment = {"judge": "j", "weighted_score": 0.5, "reasoning": "It folds the letter, not the parcel."}
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(record("a", judgments=[judgment])))
    assert run(["show", str(path), "--judges"]) == 0
    assert "not the parcel" in capsys.readouterr().out
    graded = sy.show(SAMPLES / "promptfoo" / "results.json", run="00000000-0000-4000-8000-000000000001")
    assert [(each.passed, each.text) for each in graded.failures] == [(False, 'Expected output to contain "folded"')]


def test_steps_of_a_run_that_is_shown() -> None:
    shown = sy.show(SAMPLES / "codex" / "rollout.jsonl")
    assert [step.index for step in shown.steps()] == [
        step.index for step in sy.steps(SAMPLES / "codex" / "rollout.jsonl")
    ]
    assert list(sy.show([record("a")]).steps()) == []


def test_diff_aligns_steps_and_finds_the_first_divergence(tmp_path: Path) -> None:
    source = (SAMPLES / "claude-code" / "session.jsonl").read_text().replace("5e55a0aa", "5e55a0ff")
    other = tmp_path / "other.jsonl"
    other.write_text(source.replace("python count.py", "python3 count.py"))
    difference = sy.show(SAMPLES / "claude-code" / "session.jsonl", diff=str(other)).difference
    assert difference is not None
    steps = difference.steps
    assert steps is not None
    assert (steps.count, steps.base_count, steps.same, steps.first_divergence) == (8, 8, 7, 5)
    first = steps.pairs[0]
    assert (first.relation, first.step, first.base_step, first.tool) == ("changed", 5, 5, "Bash")
    assert (first.content, first.base_content) == ("command: python count.py", "command: python3 count.py")
    assert all(each.value == each.base_value for each in difference.numbers)
    same = sy.show(SAMPLES / "claude-code" / "session.jsonl", diff="5e55a0aa").difference
    assert same is not None
    assert same.steps is not None
    assert (same.steps.first_divergence, same.steps.pairs) == (None, ())
