"""What every command prints fits the terminal: no line is too long, no word or number is cut, nothing is lost."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli import _print, command_names, run
from steelyard.demo import demo_files
from steelyard.pages import Page, StyledText, TextTable, TextTree, add_row, plain_table, wrapped
from steelyard.pages._text import cell_len, text_table
from test_every_family import CELLS, places as family_places  # noqa: F401  # a fixture, asked for by its name

WIDTHS = (60, 80, 120, 200)
BRANCHES = "─├└│"
SAMPLES = Path(__file__).parent / "samples"
STORE = ("--store", "sqlite:///arena.db")
RUNS = "few.jsonl"
CASES: dict[str, list[list[str]]] = {
    "arena": [
        ["arena", "leaderboard", *STORE],
        ["arena", "leaderboard", "fix-race", *STORE],
        ["arena", "leaderboard", "fix-race", "--score", "cost", *STORE],
        ["arena", "leaderboard", "bare", *STORE],
        ["arena", "show", "demo-fix-race-ant-1", *STORE],
        ["arena", "task", "list", *STORE],
        ["arena", "task", "show", "fix-race", *STORE],
        ["arena", "review", "list", *STORE],
        ["arena", "history", "--task", "fix-race", *STORE],
        ["arena", "changes", "--since", "2026-01-01", *STORE],
        ["arena", "bias", *STORE],
        ["arena", "compare-profiles", "arena-1", "arena-1", *STORE],
        ["arena", "submit", "submissions.jsonl", *STORE],
        ["arena", "rescore", *STORE],
    ],
    "compare": [["compare", RUNS, "-a", "tier=T0", "-b", "tier=T6", "-b", "tier=T2"]],
    "demo": [["demo"], ["demo", "--write", "written"]],
    "doctor": [["doctor"]],
    "explain": [
        ["explain", RUNS, "composite_score", "--run", "demo-T3-fix-race-01"],
        ["explain", RUNS, "cost_of_pass", "--by", "tier"],
        ["explain", RUNS, "tier_uplift", "--by", "tier"],
        ["explain", RUNS, "component_token_fraction", "--by", "tier"],
    ],
    "formats": [["formats"]],
    "gate": [["gate", RUNS, "--rule", "pass_rate >= 0.9", "--rule", "cost_usd <= 5"]],
    "judges": [["judges", RUNS, "--by", "tier"]],
    "find": [["find", "a", "formats/claude-code"]],
    "integrity": [["integrity", RUNS], ["integrity", "formats/claude-code"]],
    "mapping": [["mapping", "list"]],
    "matrix": [["matrix", RUNS, "--by", "tier"], ["matrix", RUNS, "--by", "agent"]],
    "measure": [
        ["measure", RUNS],
        ["measure", RUNS, "--by", "tier", "--interval", "auto"],
        ["measure", RUNS, "--by", "tier,task"],
        ["measure", RUNS, "--by", "agent,model", "--all"],
        ["measure", "formats", "--by", "agent,model"],
    ],
    "metrics": [["metrics"], ["metrics", "cost_of_pass"]],
    "power": [["power", "--pass-rate", "0.6", "--icc", "0.3"]],
    "prices": [["prices"], ["prices", "claude-opus-4-6"]],
    "profiles": [["profiles"]],
    "rank": [["rank", RUNS, "--by", "tier"], ["rank", RUNS, "--by", "tier", "--order", "bradley-terry"]],
    "read": [["read", RUNS], ["read", "formats"], ["read", "bad.jsonl"]],
    "repeatability": [
        ["repeatability", "outputs", "--contract", "contract.toml"],
        ["repeatability", RUNS, "--no-repair"],
        ["repeatability", "canon", "list", *STORE],
    ],
    "report": [["report", RUNS, "--by", "tier", "--sections", "rank", "--out", "report.md"]],
    "run": [["run", "plans/tiers.toml", "--dry-run"]],
    "schema": [],
    "serve": [["serve", "token", "list", *STORE]],
    "show": [
        ["show", RUNS, "--run", "demo-T3-fix-race-01"],
        ["show", RUNS, "--run", "demo-T3-fix-race-01", "--diff", "demo-T0-fix-race-01"],
        ["show", "formats/claude-code/session.jsonl", "--steps", "1:9"],
    ],
    "speedup": [["speedup", "timings"], ["speedup", "fceval-results.json"], ["speedup", "timings/speed-up-join"]],
}
"""What is asked of each command; one that is not listed is asked for the runs."""
Item = str | TextTable | TextTree


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data of all families under short names, and an arena."""
    folder = tmp_path_factory.mktemp("families")
    for name, content in demo_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    tasks = (b'"fix-race"', b'"add-flag"', b'"parse-csv"', b'"prove-invariant"')
    (folder / RUNS).write_bytes(b"".join(line for line in lines if any(task in line for task in tasks)))
    (folder / "bad.jsonl").write_bytes(lines[0] + b'{"task": 3}\n{"task": "t", "usge": {}}\n')
    (folder / "formats").symlink_to(SAMPLES / "formats")
    (folder / "fceval-results.json").symlink_to(SAMPLES / "speedup" / "fceval-results.json")
    before = Path.cwd()
    os.chdir(folder)
    try:
        (folder / "bare.toml").write_text('[[tasks]]\nid = "bare"\n', encoding="utf-8")
        sparse = '{"id": "sparse", "task_id": "bare", "total_tokens": 900, "tool_calls": 3, "agent": "速い"}\n'
        (folder / "sparse.jsonl").write_text(sparse, encoding="utf-8")
        for words in (["init"], ["task", "add", "tasks.toml", "bare.toml"], ["submit", "submissions.jsonl"]):
            assert run(["arena", *words, *STORE]) == 0
        assert run(["arena", "submit", "sparse.jsonl", *STORE]) == 0
    finally:
        os.chdir(before)
    return folder


def printed(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[Item]:
    """What a command hands to the terminal, before it is laid out."""
    items: list[Item] = []

    def keep(_terminal: object, item: Item = "", **_: Any) -> None:
        items.append(item)

    def keep_page(_terminal: object, page: Page, *, everything: bool = False) -> None:
        shown = [table for table in page.tables if (everything or not table.is_folded) and table.rows]
        items.extend([page.answer, *page.notes, *(text_table(table, everything=everything) for table in shown)])
        items.extend([*page.legend, *page.details])

    with monkeypatch.context() as patched:
        patched.setattr(_print.Terminal, "print", keep)
        patched.setattr(_print.Terminal, "print_page", keep_page)
        status = run(words)
    assert status in (0, 1, 3, 4), f"{words} ends with {status}"
    return items


def laid_out(items: list[Item], width: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with monkeypatch.context() as patched:
        patched.setenv("COLUMNS", str(width))
        stream = io.StringIO()
        terminal = _print.Terminal(stream)
        for item in items:
            terminal.print(item)
    return stream.getvalue().split("\n")


def words_of(item: Item, hidden: frozenset[int] = frozenset()) -> Iterator[str]:
    """Every word and number that the item holds, save in hidden columns."""
    if isinstance(item, str):
        yield from item.split()
    elif isinstance(item, TextTree):
        yield from item.text.split()
        yield from [item.bar.text] if item.bar else []
        for branch in item.branches:
            yield from words_of(branch)
    else:
        yield from item.title.split()
        yield from (word for number in hidden for word in item.columns[number].instead.split())
        for number in set(range(len(item.columns))) - hidden:
            yield from item.columns[number].heading.split()
            yield from item.columns[number].legend.split()
            for row in item.rows:
                cell = row[number]
                yield from (cell.text if isinstance(cell, StyledText) else cell).split()


def breaches(item: Item, width: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Lines that are too long, pieces of words, and words that are gone. Only a word wider than a line may be cut."""
    lines = laid_out([item], width, monkeypatch)
    yield from (f"too long at {width}: {line}" for line in lines if cell_len(line) > width)
    shown = {word for line in lines for word in line.split() if word.strip(BRANCHES)}
    known = {piece for word in words_of(item) for piece in (word, f"{word},", *pieces(word, width))}
    known |= {word for column in getattr(item, "columns", ()) for word in column.instead.split()}
    known |= {"Not", "shown", "at", str(width), "columns:", "──"}
    yield from (f"cut at {width}: {word}" for word in sorted(shown - known))
    hidden: frozenset[int] = frozenset()
    if isinstance(item, TextTable):
        fitting, _ = item._fitting(width)  # none where the table turns, and then every column is there
        empty = set(range(len(item.columns))) - set(item._filled)
        hidden = frozenset(set(range(len(item.columns))) - set(fitting) if fitting else empty)
        named = {word for number in hidden - empty for word in item.columns[number].heading.split()}
        yield from (f"not named at {width}: {word}" for word in named if not {word, f"{word},"} & shown)
    words = {word for word in words_of(item, hidden) if word.strip(BRANCHES)}
    gone = {word for word in words if not {word, f"{word},", *pieces(word, width)} & shown}
    yield from (f"gone at {width}: {word}" for word in sorted(gone))


def pieces(word: str, width: int) -> set[str]:
    """All that a word may be cut into where it is wider than a line."""
    ends = range(len(word) + 1)
    return {word[start:end] for start in ends for end in ends[start + 1 :]} if cell_len(word) > width - 4 else set()


@pytest.mark.parametrize("verb", command_names())
def test_every_command_says_a_sentence_and_then_tables_that_fit(
    verb: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    for words in CASES.get(verb, [[verb, RUNS]]):
        items = printed(words, monkeypatch)
        assert isinstance(next(item for item in items if item), str), f"{words} begins with a table"
        found = [told for width in WIDTHS for item in items for told in breaches(item, width, monkeypatch)]
        assert not found, words


@pytest.mark.long
@pytest.mark.parametrize(
    "command", [command for _, command, reason in CELLS if not reason], ids=lambda command: command[:40]
)
def test_every_verb_over_every_family_fits(
    command: str,
    family_places: dict[str, str],  # noqa: F811  # the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = [family_places.get(word, word).strip('"') for word in re.findall(r'"[^"]*"|\S+', command)]
    items = printed(words, monkeypatch)
    assert isinstance(next(item for item in items if item), str)
    assert not [told for width in WIDTHS for item in items for told in breaches(item, width, monkeypatch)]


def test_the_law_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    table = plain_table("figures")
    table.add_column("name")
    table.add_column("value", justify="right")
    add_row(table, "pass rate", "48.3%")
    assert not list(breaches(table, 60, monkeypatch))
    with monkeypatch.context() as patched:
        patched.setattr(
            TextTable, "lines", lambda *_, **__: iter(["figures", "name value pass rate 48.", "3%", "x" * 61])
        )
        assert {told.split(" at ")[0] for told in breaches(table, 60, monkeypatch)} == {"too long", "cut", "gone"}


def wide_table(spare: int) -> TextTable:
    table = plain_table()
    table.add_column("agent")
    for number in range(12):
        table.add_column(f"metric {number}", justify="right", spare=spare if number else 0)
    add_row(table, "ant", *[f"{number}.125" for number in range(12)])
    return table


def test_columns_that_can_be_spared_leave_and_are_named() -> None:
    shown = list(wide_table(spare=1).lines(80))
    assert len(shown[-3]) <= 80
    assert "Not shown at 80 columns: " in "\n".join(shown)
    assert "metric 11" in " ".join(shown)


def test_a_table_without_columns_to_spare_turns_to_a_block_for_each_row() -> None:
    shown = list(wide_table(spare=0).lines(60))
    assert shown[0].split() == ["agent", "ant"]
    assert shown[12].split() == ["metric", "11", "11.125"]


def test_a_pipe_without_a_width_gets_every_column_and_whole_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    terminal = _print.Terminal(stream := io.StringIO())
    terminal.print("word " * 80)
    terminal.print(wide_table(spare=1))
    assert stream.getvalue().splitlines()[0] == "word " * 80
    assert "11.125" in stream.getvalue()


def test_a_terminal_without_arrows_and_lines_gets_what_it_can_show() -> None:
    written = io.BytesIO()
    terminal = _print.Terminal(io.TextIOWrapper(written, encoding="ascii", write_through=True))
    table = plain_table()
    table.add_column("cost ↓")
    add_row(table, "∞ 速い")
    terminal.print(table)
    assert written.getvalue().decode().splitlines() == ["cost v", "------", "inf ??", ""]


def test_wide_characters_take_two_cells() -> None:
    assert wrapped("速い 速い", 5) == ["速い", "速い"]  # four cells each
    assert [cell_len(part) for part in wrapped("速" * 30, 10)] == [10] * 6


def in_a_terminal(*words: str, width: int, cwd: Path, **environment: str) -> str:
    """What a command prints in a terminal of this width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    command = subprocess.Popen(
        [sys.executable, "-m", "steelyard", *words],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env={**inherited, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65_536):
            seen += piece
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(ours)
    command.wait(timeout=60)
    return seen.decode()


FAILING = ("gate", RUNS, "--rule", "pass_rate >= 0.9")


def test_a_failed_gate_is_red_in_a_terminal_and_fits_it(place: Path) -> None:
    shown = in_a_terminal(*FAILING, width=70, cwd=place)
    assert shown.startswith("\x1b[31mGate failed (1/1 rules)")
    plain = shown.replace("\x1b[31m", "").replace("\x1b[1m", "").replace("\x1b[2m", "").replace("\x1b[0m", "")
    assert "\x1b" not in plain
    assert max(map(cell_len, plain.splitlines())) <= 70


def test_no_color_and_pipes_stay_plain(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = in_a_terminal(*FAILING, width=70, cwd=place, NO_COLOR="1")
    assert shown.startswith("Gate failed (1/1 rules)")
    assert "\x1b" not in shown
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "stdout", stream := io.StringIO())
    assert run(list(FAILING)) == 3
    assert "\x1b" not in stream.getvalue()


def test_the_demonstration_has_no_finding_about_its_own_data(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    for words in (
        ["demo"],
        ["measure", "runs.jsonl", "--by", "tier"],
        ["repeatability", "outputs", "--contract", "contract.toml"],
        ["speedup", "timings"],
        ["arena", "task", "add", "tasks.toml", *STORE],
        ["arena", "submit", "submissions.jsonl", *STORE],
    ):
        assert run(words) == 0
        assert capsys.readouterr().err == "", words


def test_a_folder_that_holds_files_is_left_alone(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    assert run(["demo", "--write", "outputs"]) == 2
    assert len(list((place / "outputs").iterdir())) == 10


def test_a_task_without_criteria_and_an_unstated_cost_say_so(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    without = "no criteria: correctness is 100 by the specification"
    for words in (["leaderboard", "bare"], ["task", "list"], ["task", "show", "bare"], ["show", "sparse"]):
        assert run(["arena", *words, *STORE]) == 0
        assert without in capsys.readouterr().out.lower(), words
    assert run(["arena", "leaderboard", "bare", *STORE]) == 0
    shown = capsys.readouterr().out
    *_, row = (line for line in shown.splitlines() if "sparse" in line)
    assert row.count("50.00 *") == 2  # cost and time
    assert "cost not reported: default 50 *" in " ".join(shown.split())
    assert run(["arena", "leaderboard", "fix-race", *STORE]) == 0
    assert without not in capsys.readouterr().out
