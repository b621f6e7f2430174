"""What a narrow terminal keeps: the columns that a reader came for, and no legend of a column that had to leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.cli import run
from steelyard.demo import demo_files
from steelyard.pages import TextTable, add_row, plain_table

Headed = Callable[[int, list[str]], tuple[str, str]]
STORE = ("--store", "sqlite:///arena.db")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's data, and 40 runs of two tiers."""
    folder = tmp_path_factory.mktemp("narrow")
    for name, content in demo_files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    lines = (folder / "runs.jsonl").read_bytes().splitlines(keepends=True)
    few = [line for line in lines if b'"fix-race"' in line or b'"add-flag"' in line]
    (folder / "few.jsonl").write_bytes(b"".join(few))
    for tier in ("T0", "T2"):
        of_tier = [line.replace(b'"tier":"%b",' % tier.encode(), b"") for line in few if tier.encode() in line]
        (folder / f"{tier}.jsonl").write_bytes(b"".join(of_tier))
    return folder


@pytest.fixture
def heading(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Headed:
    """The heading of the first table that a command prints at a width, and all it prints."""

    def headed(width: int, words: list[str]) -> tuple[str, str]:
        monkeypatch.chdir(place)
        monkeypatch.setenv("COLUMNS", str(width))
        assert run(words) in (0, 3, 4)
        text = capsys.readouterr().out
        above = text.split("──")[0].split("\n\n")[-1]
        return " ".join(above.split()), text

    return headed


def test_standings_keep_scores_and_say_notes_below(
    heading: Headed, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    for words in (["init"], ["task", "add", "tasks.toml"], ["submit", "submissions.jsonl"]):
        assert run(["arena", *words, *STORE]) == 0
    capsys.readouterr()
    above, text = heading(80, ["arena", "leaderboard", "fix-race", *STORE])
    assert above.endswith("rank submission agent model overall speed cost correctness")
    assert "Notes: unverified: file_exists, no_errors (12 rows)" in text.splitlines()
    assert text.count("unverified: ") == 1
    above, text = heading(160, ["arena", "leaderboard", "fix-race", *STORE])
    assert above.endswith("correctness adjusted notes")
    assert text.count("unverified:") == 12


@pytest.mark.parametrize("width", [40, 60, 64, 68, 72, 76, 80])
def test_a_comparison_never_shows_one_side_without_the_other(heading: Headed, width: int) -> None:
    above, text = heading(width, ["compare", "few.jsonl", "-a", "tier=T0", "-b", "tier=T2"])
    left = text.split("Not shown at")[1].split("\n\n")[0].split() if "Not shown at" in text else []
    assert not {"A,", "A", "B,", "B"} & set(left)
    # the heading of the interval takes two lines
    assert ("simultaneous 95%" in above and "metric A B B - A CI" in above) or "\nA  " in text


def test_a_gate_keeps_baseline_and_candidate(heading: Headed) -> None:
    rules = ["--rule", "pass_rate >= baseline - 0.02", "--rule", "cost_usd <= baseline * 1.1"]
    above, _ = heading(80, ["gate", "T2.jsonl", "--baseline", "T0.jsonl", *rules])
    assert "rule baseline candidate" in above


def test_a_speedup_keeps_regressions_and_lets_an_unknown_cost_go(heading: Headed, place: Path) -> None:
    task = place / "timings" / "speed-up-join"
    agent = (task / "agents" / "ant" / "large.json").read_text(encoding="utf-8")
    (place / "ant.json").write_text(agent.replace('"cost_usd":0.278,', ""), encoding="utf-8")
    files = ["--nop", f"{task}/nop.json", "--oracle", f"{task}/oracle.json", "--agent", "ant:large=ant.json"]
    above, text = heading(100, ["speedup", *files])
    assert "regressions" in above
    assert "cost" not in above
    assert "Class advantage" in " ".join(text.split("Not shown at 100 columns:")[1].split())


def test_a_ranking_explains_the_front_only_where_it_is_shown(heading: Headed) -> None:
    words = ["rank", "few.jsonl", "--by", "tier"]
    assert "Pareto:" in heading(80, words)[1]
    narrow = heading(60, words)[1]
    assert "Not shown at 60 columns: cost of pass, Pareto, runs" in narrow
    assert "Pareto:" not in narrow


def test_repeatability_keeps_its_interval_longer_than_the_hash_of_the_canon(heading: Headed) -> None:
    above, text = heading(120, ["repeatability", "outputs", "--contract", "contract.toml"])
    assert {"95%", "CI"} <= set(above.split())
    assert "canon" in text.split("Not shown at 120 columns:")[1].split("\n\n")[0].split()


def test_a_short_table_turns_before_it_loses_most_of_its_columns(heading: Headed) -> None:
    _, text = heading(80, ["repeatability", "outputs", "--contract", "contract.toml"])
    assert "Not shown" not in text
    assert any(line.split() == ["95%", "CI", "28.0", "to", "93.3"] for line in text.splitlines())
    table = plain_table()
    for name in ("task", "first", "second"):
        table.add_column(name, spare=0 if name == "task" else 1)
    for number in range(13):
        add_row(table, f"{number:08}", *["x" * 15] * 2)
    assert next(iter(table.lines(16))) == "task"  # 13 rows would fill the screen
    table.rows.pop()
    assert next(iter(table.lines(16))).split() == ["task", "00000000"]


def test_a_table_whose_rows_fit_side_by_side_turns_before_it_loses_a_third_of_its_columns() -> None:
    table = plain_table()
    for number in range(6):
        table.add_column(f"c{number}", justify="right", spare=number)
    for _ in range(3):
        add_row(table, *["1" * 10] * 6)
    # five columns take 5 * 10 + 4 * 2 = 58 cells, four take 46
    assert next(iter(table.lines(58))).split() == ["c0", "c1", "c2", "c3", "c4"]
    assert next(iter(table.lines(57))).split() == ["c0", *["1" * 10] * 3]
    for _ in range(3):
        add_row(table, *["1" * 10] * 6)  # six rows do not fit side by side
    assert next(iter(table.lines(57))).split() == ["c0", "c1", "c2", "c3"]


def test_rows_of_a_table_that_turns_stand_side_by_side(heading: Headed) -> None:
    _, text = heading(80, ["matrix", "runs.jsonl", "--by", "tier"])
    bands = text.split("weighted by tasks\n")[1].split("\n\n")
    assert bands[0].splitlines()[0].split() == ["task", "prove-invariant", "port-parser", "fix-race", "parallel-build"]
    assert bands[0].splitlines()[1].split() == ["T0", "vanilla", "1/10", "2/10", "2/10", "1/10"]
    assert sum(band.startswith("task ") for band in bands) < 21 / 3  # 20 tasks and the line over all of them


def test_bars_of_distances_stay_aligned(heading: Headed) -> None:
    _, text = heading(60, ["repeatability", "outputs", "--contract", "contract.toml"])
    heads, _, *bars = text[text.index("distance  before repair") :].rstrip().splitlines()
    assert len(bars) == 4
    left, right = heads.index("before"), heads.index("after")
    assert {line[left - 1] + line[right - 1] for line in bars} == {"  "}
    assert all(line[left] == "░" for line in bars)


def table_with_dashes() -> TextTable:
    table = plain_table()
    table.add_column("agent")
    table.add_column("first", justify="right", spare=1, legend="first: before all others")
    table.add_column("unknown", justify="right", instead="unknown: of nobody")
    add_row(table, "ant" * 5, "1" * 12, "-")
    add_row(table, "bee" * 5, "2" * 12, "-")
    return table


def test_a_column_of_dashes_leaves_before_one_that_can_be_spared() -> None:
    shown = list(table_with_dashes().lines(36))
    assert shown[0].split() == ["agent", "first"]
    assert shown[-4:] == ["Not shown at 36 columns: unknown", "unknown: of nobody", "first: before all others", ""]
    assert list(table_with_dashes().lines(60))[-2:] == ["first: before all others", ""]
