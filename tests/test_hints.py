"""What is said to who mistypes a command: what is wrong, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import NoValidInputError, UnknownNameError

RECORD = '{"task": "a", "agent": "ant", "passed": true}\n{"task": "a", "agent": "bee", "passed": false}\n'


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["gate", "runs.jsonl"],
            "missing option --rule",
            "steelyard gate new.jsonl --baseline main.jsonl --rule 'pass_rate >= baseline - 0.02'",
        ),
        (["compare"], "missing argument FILES", "steelyard compare runs.jsonl --baseline tier=T0 --candidate tier=T6"),
        (["compare", "runs.jsonl", "-a"], "--baseline requires a value", "steelyard compare --help"),
        (["measure", "--bogus"], "unknown option '--bogus'", "steelyard measure --help"),
        (["usage", "--month", "2026-10"], "unknown option '--month'", "--since: A month (2026-10) selects"),
        (["speedup", "--expert", "x.json"], "unknown option '--expert'", "steelyard speedup --help"),
        (
            ["measure", "runs.jsonl", "--metrics", "pass_rate", "cost_usd"],
            "names must be comma-separated",
            "--metrics pass_rate,cost_usd",
        ),
        (
            ["usage", "runs.jsonl", "--by=day", "model", "task"],
            "names must be comma-separated",
            "--by day,model,task",
        ),
        (["measure", "runs.jsonl", "--prices", "spec", "other"], "unexpected argument 'other'", "steelyard measure"),
        (["arena", "leaderboard", "--bogus"], "unknown option '--bogus'", "steelyard arena leaderboard --help"),
        (["comapre"], "unknown command 'comapre'", "did you mean 'compare'?"),
        (["usage", "--montn"], "unknown option '--montn'", "steelyard usage --help"),
        (
            ["gate", "runs.jsonl", "--rule", "pass_rate > 0.5"],
            "invalid rule 'pass_rate > 0.5': write >= instead of >",
            "--rule",
        ),
        (["gate", "runs.jsonl", "--rule", "pass_rate == 1"], "write >= or <= instead of ==", "--rule"),
        (["gate", "runs.jsonl", "--rule", "pass_rate"], "missing >= or <=", "--rule"),
        (["gate", "runs.jsonl", "--rule", "pass_rate >="], "no limit after >=", "--rule"),
        (["gate", "runs.jsonl", "--rule", "pass_rate >= high"], "'high' is neither a number nor", "--rule"),
        (["gate", "runs.jsonl", "--rule", ">= 0.5"], "no metric before >=", "--rule"),
        (
            ["gate", "runs.jsonl", "--rule", "pass rate >= 60"],
            "unknown metric 'pass rate'",
            'did you mean \'pass_rate\'? "pass_rate >= 0.6" or "pass_rate >= 60%"',
        ),
        (
            ["gate", "runs.jsonl", "--rule", "cost <= 0.2"],
            "unknown metric 'cost'",
            'did you mean "cost_usd <= 0.2"?',
        ),
        (["serve"], "nothing to serve", "steelyard serve runs/, or steelyard arena init"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_wrong_usage_is_answered_with_what_to_write(
    words: list[str],
    message: str,
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    assert run(words) == 2
    said, tried = capsys.readouterr().err.splitlines()
    assert message in said
    assert tried.startswith(f"  hint: {hint}")


def test_help_is_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["help"], ["help", "arena", "submit"], ["help", "gate"]):
        assert run(words) == 0
        told = capsys.readouterr().out
        assert run([*words[1:], "--help"]) == 0
        assert told == capsys.readouterr().out
        assert told.startswith(" ".join(["Usage: steelyard", *words[1:]]))


@pytest.mark.parametrize(
    "words",
    [["compare", "-a", "LLM=gpt", "-b", "LLM=claude"], ["rank", "--by", "LLM"], ["measure", "--where", "LLM=gpt"]],
)
def test_an_unknown_key_of_an_unknown_file_is_answered_with_a_mapping(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "team.csv").write_text("LLM,job,ok\ngpt,1,yes\nclaude,1,no\n", encoding="utf-8")
    verb, *options = words
    assert run([verb, "team.csv", *options]) == 1
    told = capsys.readouterr().err
    assert "team.csv:1: unknown format" in told
    assert "steelyard mapping suggest team.csv" in told
    (tmp_path / "runs.jsonl").write_text(RECORD, encoding="utf-8")
    assert run([verb, "runs.jsonl", *options]) == 2
    assert "unknown custom field 'x_LLM'" in capsys.readouterr().err


def test_an_unknown_key_in_python_is_told_from_an_unknown_file(tmp_path: Path) -> None:
    other = tmp_path / "team.csv"
    other.write_text("LLM,job,ok\ngpt,1,yes\n", encoding="utf-8")
    with pytest.raises(NoValidInputError, match="unknown format"):
        sy.measure(other, by="LLM")
    rows = {"format": "csv", "files": "team.csv"}
    mapping = {"mapping": 1, "name": "m", "rows": rows, "run": {"task": "job", "passed": "ok"}}
    with pytest.raises(UnknownNameError, match="LLM"):
        sy.measure(other, by="LLM", map=mapping)
    with pytest.raises(UnknownNameError, match="LLM"):
        sy.measure([{"task": "a", "passed": True}], by="LLM")
