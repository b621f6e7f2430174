"""The structure of help: groups, their order and options, examples, summaries and width."""

from __future__ import annotations

import re

import pytest

from command_cases import APPS
from steelyard.cli import build_app, command_names, run
from steelyard.cli._help import COMMAND_GROUPS

TOP = {
    "Get started": ["demo", "doctor"],
    "Load data": ["read", "usage", "completeness", "mapping"],
    "Analyze": ["measure", "compare", "power", "rank", "matrix", "failures", "judges", "repeatability", "speedup"],
    "Inspect and share": ["explain", "show", "find", "integrity", "report", "gate", "serve"],
    "Run and compete": ["run", "arena"],
    "Reference": ["formats", "metrics", "prices", "profiles", "schema"],
    "Options": ["--help", "--version", "--install-completion"],
}
COMPARE = {
    "Examples": [],
    "Arguments": ["FILES"],
    "Options": ["--baseline", "--candidate"],
    "Metrics and statistics": [
        "--metrics",
        "--confidence",
        "--correction",
        "--interval",
        "--cluster",
        "--ignore-conditions",
        "--effect-size",
        "--margin",
        "--sequential",
        "--weight-by",
        "--unscored",
        "--seed",
        "--resamples",
    ],
    "Select runs": ["--where", "--since", "--until", "--tasks"],
    "Read input": ["--map", "--set", "--prices", "--profile", "--engine"],
    "Output": ["--json", "--csv", "--out", "--figure", "--no-csv-escape", "--allow-rejected", "--quiet"],
}
SHARED = ["Metrics and statistics", "Select runs", "Read input", "Output"]
ORDER = ["Examples", "Commands", "Arguments", "Required", "Options", *SHARED]
MAX_WORDS = 9
NEGATIVES = {"--no-csv-escape", "--no-sandbox", "--no-repair", "--no-redact"}
"""Flags that switch something off that is on by default."""
ARENA = {
    "Set up": ["init", "upgrade", "task", "user"],
    "Submit": ["submit", "withdraw", "show", "watch"],
    "Leaderboard": ["leaderboard", "history", "changes", "rescore", "compare-profiles", "bias"],
    "Moderate": ["review"],
    "Peer review": ["rating"],
    "Models": ["model"],
    "Seasons": ["season"],
    "Notify": ["notify"],
}
NOUNS = (
    "task add|list|show",
    "user add|list",
    "review list|accept|exclude|reinstate|log",
    "rating assign|pending|add|list",
    "model fit|abilities|predict|correctness|weights",
    "season create|list|show|verify",
)


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> object:
    """Returns the help of a command, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")

    def text(*words: str) -> str:
        assert run([*words, "--help"]) == 0
        return capsys.readouterr().out

    return text


def groups_of(text: str) -> dict[str, list[str]]:
    """The names in each group of a help: the last name of each option, or the first word."""
    groups: dict[str, list[str]] = {}
    title = ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][\w ]+:?", line):
            title = line.rstrip(":")
            groups[title] = []
        elif not line:
            title = ""
        elif title not in ("", "Examples") and (row := re.match(r"  (?:-\w, )?(--[\w-]+|[A-Z_]+|[a-z-]+)", line)):
            groups[title].append(row[1])
    return groups


def test_top_level_help_matches_the_model(shown) -> None:  # type: ignore[no-untyped-def]
    text = shown()
    assert groups_of(text) == TOP
    assert list(groups_of(text)) == list(TOP)
    assert text.startswith("Usage: steelyard [OPTIONS] COMMAND\n\nStatistics for AI coding-agent evaluations.\n")
    assert {name for names in COMMAND_GROUPS.values() for name in names} == set(command_names())


def test_compare_help_matches_the_model(shown) -> None:  # type: ignore[no-untyped-def]
    text = shown("compare")
    assert groups_of(text) == COMPARE
    assert list(groups_of(text)) == list(COMPARE)
    assert text.startswith("Usage: steelyard compare FILES [OPTIONS]\n")
    for label in ("-a, --baseline FILTER", "-b, --candidate FILTER", "-o, --out FILE", "-q, --quiet"):
        assert f"\n  {label} " in text


def test_arena_help_matches_the_model(shown) -> None:  # type: ignore[no-untyped-def]
    text = shown("arena")
    assert groups_of(text) == ARENA
    assert list(groups_of(text)) == list(ARENA)
    for noun in NOUNS:
        assert f"\n  {noun}" in text


@pytest.mark.parametrize("command", ["", *APPS])
def test_help_fits_80_columns_without_default_false(shown, command: str) -> None:  # type: ignore[no-untyped-def]
    text = shown(*command.split())
    assert max(map(len, text.splitlines())) <= 80
    assert "default: False" not in text
    assert not re.search(r"\[default|\[required|--empty-", text)
    assert not set(re.findall(r"--no-[a-z-]+", text)) - NEGATIVES


@pytest.mark.parametrize("command", APPS)
def test_help_has_examples_and_ordered_groups(shown, command: str) -> None:  # type: ignore[no-untyped-def]
    text = shown(*command.split())
    assert f"\nExamples:\n  steelyard {command}" in text
    titles = [title for title in groups_of(text) if title in ORDER]
    assert titles == sorted(titles, key=ORDER.index)


def test_help_lists_the_figures_of_each_command(shown) -> None:  # type: ignore[no-untyped-def]
    assert "Figure to write to .svg or .png: dots, strip (default: dots)." in " ".join(
        shown("arena", "leaderboard").split()
    )
    text = " ".join(shown("rank").split())
    assert "--figure NAME Figure to write to .svg or .png: dots, pareto (default: dots). --no-csv-escape" in text
    assert "Figure to write to .svg or .png: heatmap. --no" in " ".join(shown("matrix").split())


def summaries() -> dict[str, str]:
    """The first line of help of every command and group of commands."""
    found, waiting = {}, [(build_app(), "")]
    while waiting:
        app, words = waiting.pop()
        for name in app:
            if not name.startswith("-"):
                found[f"{words} {name}".strip()] = app[name].help.split("\n")[0]
                waiting.append((app[name], f"{words} {name}".strip()))
    return found


@pytest.mark.parametrize(("command", "summary"), summaries().items())
def test_command_summary_is_one_short_sentence(command: str, summary: str) -> None:
    assert len(summary.split()) <= MAX_WORDS, command
    assert re.fullmatch(r"[A-Z][^.]*(?:\.[a-z][^.]*)*\.", summary), command


def test_boolean_flags_have_no_negative(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["measure", "runs.jsonl", "--no-json"]) == 2
    assert "unknown option '--no-json'" in capsys.readouterr().err


def test_help_of_an_unknown_command_suggests_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["comapre", "--help"]) == 2
    assert "did you mean 'compare'?" in capsys.readouterr().err
