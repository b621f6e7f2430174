"""The same logs through every door that takes them: which runs there are, their tokens by kind, and what they cost."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import steelyard as sy
from steelyard.prices import cost_of, open_price_table
from steelyard.questions import TaskFiles, init_arena, open_arena
from steelyard.questions._run_input import Reading, RecordReader
from steelyard.questions.arena.submit_runs import FromRuns, arena_submit_runs, submissions_from_runs
from steelyard.questions.read import RunReading
from steelyard.records import TOKEN_KINDS, Finding, Missing, Rejected, Run, Task, Usage, decode_run
from steelyard.sources import usage_of
from steelyard.sources.tables import _file_runs

SAMPLES = Path(__file__).parent / "samples" / "formats"
FORMATS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
PRICES = open_price_table()


class Weighed(NamedTuple):
    """What a door says of one run."""

    tokens: tuple[int | None, ...]
    cost_usd: float | None
    lower_bound: bool


Door = Callable[[Sequence[Path]], dict[str, Weighed]]


def by_read(paths: Sequence[Path]) -> dict[str, Weighed]:
    return {str(run.id): weighed(run) for run in RunReading(paths)}


def by_records(paths: Sequence[Path]) -> dict[str, Weighed]:
    """As `judges`, `explain` read."""
    return {named.id: weighed(named.run) for named in RecordReader(Reading()).read(list(paths))}


def weighed(run: Run) -> Weighed:
    usage = run.total_usage or Usage()
    cost = cost_of(run, PRICES)
    return Weighed(tuple(getattr(usage, kind) for kind in TOKEN_KINDS), cost.usd, cost.how == "lower_bound")


def by_measure(paths: Sequence[Path]) -> dict[str, Weighed]:
    """The table that `measure`, `compare`, `rank` and `gate` work on."""
    frame = sy.read(list(paths)).frame.collect()
    wanted = ("id", "reported_cost_usd", "priced_cost_usd", "cost_is_lower_bound", *TOKEN_KINDS)
    absent = [pl.lit(None).alias(name) for name in wanted if name not in frame.columns]
    found = {}
    for row in frame.with_columns(absent).select(wanted).iter_rows(named=True):
        cost = row["priced_cost_usd"] if row["reported_cost_usd"] is None else row["reported_cost_usd"]
        bound = cost is not None and bool(row["cost_is_lower_bound"])
        found[row["id"]] = Weighed(tuple(row[kind] for kind in TOKEN_KINDS), cost, bound)
    return found


def by_arena(paths: Sequence[Path]) -> tuple[dict[str, tuple[int, float | None]], int]:
    """Tokens and cost by id of what `arena submit --from-runs` submits, and how many runs it refuses."""
    items = list(submissions_from_runs(paths, FromRuns(None, PRICES, None)))
    refused = sum(isinstance(item, Rejected) and item.code == "bad_submission" for item in items)
    placed = [item.submission for item in items if not isinstance(item, (Rejected, Finding))]
    return {one.id: (one.total_tokens, one.estimated_cost) for one in placed}, refused


@pytest.mark.parametrize("name", FORMATS)
def test_every_door_tells_the_same_runs_tokens_and_costs(name: str) -> None:
    expected = by_read([SAMPLES / name])
    assert by_records([SAMPLES / name]) == expected
    assert by_measure([SAMPLES / name]) == expected
    submitted, refused = by_arena([SAMPLES / name])
    assert set(submitted) <= set(expected)
    assert len(submitted) + refused == len(expected)
    for id_, (total, cost) in submitted.items():
        run = expected[id_]
        assert total == sum(filter(None, run.tokens))
        assert cost == (None if run.lower_bound else run.cost_usd)


def test_the_law_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = by_measure([SAMPLES / "openhands"])
    assert honest == by_read([SAMPLES / "openhands"])

    def forgetful(gathered: Any, labels: Any) -> Any:
        """Calls every run by its place: what a door does that has a rule of its own."""
        for item in gathered:
            yield _file_runs.NamedRun(item.path, item) if isinstance(item, _file_runs.PlacedRun) else item

    monkeypatch.setattr("steelyard.questions.read.each_once", forgetful)
    assert honest != by_read([SAMPLES / "openhands"])


OUTPUT = {"output": {"text": "print(1)"}}
USED = {"model": "gpt-4o", "usage": {"input_tokens": 1000, "output_tokens": 10}, "tool_calls": 1}
NAMELESS = {"task": "t", **USED, **OUTPUT}
RECORDS: list[dict[str, Any]] = [
    NAMELESS,
    {"task": "t", "model": "gemini-2.5-pro", "usage": {"input_tokens": 300_000, "output_tokens": 9}, **OUTPUT},
    {"id": "a", **NAMELESS},
    {"id": "b", **NAMELESS, "cost_usd": 0.5, "provenance": {"cost_usd": "lower_bound"}},
    {"id": "c", **NAMELESS, "provenance": {"usage": "lower_bound"}},
    {"id": "c", "task": "other", **USED, **OUTPUT},
]


def write(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def by_repeat(paths: Sequence[Path]) -> Counter[tuple[str, int]]:
    found = sy.repeatability(list(paths), repair=False, store=None)
    return Counter((prompt.prompt, prompt.n) for prompt in found.prompts)


@given(
    records=st.lists(st.sampled_from(RECORDS), min_size=1, max_size=8),
    cuts=st.lists(st.integers(0, 8), max_size=2),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_splitting_a_file_changes_nothing_anywhere(
    tmp_path: Path, records: list[dict[str, Any]], cuts: list[int]
) -> None:
    whole = [write(tmp_path / "whole.jsonl", records)]
    edges = [0, *sorted(min(cut, len(records)) for cut in cuts), len(records)]
    pieces = [records[start:end] for start, end in pairwise(edges) if end > start]
    split = [write(tmp_path / f"{number}.jsonl", piece) for number, piece in enumerate(pieces)]
    if len({path.read_bytes() for path in split}) < len(split):
        return  # a file that comes again is another matter: it counts once
    expected = by_read(whole)
    for door in (by_read, by_records, by_measure):
        assert door(split) == door(whole) == expected
    assert by_arena(split) == by_arena(whole)
    assert by_repeat(split) == by_repeat(whole)
    assert sum(n for (_, n), count in by_repeat(whole).items() for _ in range(count)) == len(expected)


def test_a_record_without_an_id_in_two_files_is_two_submissions(tmp_path: Path) -> None:
    init_arena(f"sqlite:///{tmp_path}/arena.db")
    arena = open_arena(f"sqlite:///{tmp_path}/arena.db")
    arena.add_task(Task(id="t"))
    first = write(tmp_path / "first.jsonl", [NAMELESS])
    second = write(tmp_path / "second.jsonl", [NAMELESS, {**NAMELESS, "agent": "other"}])
    done = arena_submit_runs(arena, [first, second])
    assert [receipt.status for receipt in done.receipts] == ["accepted"] * 3
    assert {receipt.submission_id for receipt in done.receipts} == set(by_read([first, second]))
    again = arena_submit_runs(arena, [write(tmp_path / "both.jsonl", [NAMELESS, NAMELESS])])
    assert "accepted" not in {receipt.status for receipt in again.receipts}  # the same two runs, in one file


def test_a_file_given_twice_is_one_file_to_every_door(tmp_path: Path) -> None:
    own = write(tmp_path / "own.jsonl", [NAMELESS, NAMELESS])
    log = tmp_path / "output.jsonl"  # its runs have no ids either
    shutil.copy(SAMPLES / "openhands" / "output.jsonl", log)
    for path in (own, log):
        copy = path.with_name(f"copy-{path.name}")
        shutil.copy(path, copy)
        expected = by_read([path])
        for door in (by_read, by_records, by_measure):
            assert door([path, copy]) == expected
        assert by_arena([path, copy]) == by_arena([path])


def test_a_log_split_in_two_tells_the_same_runs(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (SAMPLES / "openhands" / "output.jsonl").read_text().splitlines()]
    for row in rows:
        row["metrics"].pop("token_usages", None)  # neither the run nor its calls have ids
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    whole, first, second = (tmp_path / name for name in ("whole.jsonl", "first.jsonl", "second.jsonl"))
    whole.write_bytes(b"".join([*lines, lines[0]]))  # one run twice: no id, so two attempts
    first.write_bytes(b"".join(lines))
    second.write_bytes(lines[0])
    assert len(by_read([whole])) == len(lines) + 1
    for door in (by_read, by_records, by_measure):
        assert door([first, second]) == by_read([whole])
    assert by_arena([first, second]) == by_arena([whole])


@pytest.mark.parametrize(
    "used",
    [
        {"input_tokens": 1000, "output_tokens": 10},
        {"input_tokens": 300_000, "output_tokens": 10},  # above a context tier: priced at least
        {"output_tokens": 10},
    ],
)
def test_speedup_takes_the_cost_that_every_door_tells(tmp_path: Path, used: dict[str, int]) -> None:
    timed = {"task": "t", "agent": "tool", "benchmarks": [{"name": "m.time_f", "samples": [1.0, 1.0, 1.0]}]}
    for side in ("nop", "oracle"):
        write(tmp_path / f"{side}.json", [timed])
    agent = write(tmp_path / "agent.json", [{**timed, "model": "gemini-2.5-pro", "usage": used}])
    files = TaskFiles(
        task="t", nop=tmp_path / "nop.json", oracle=tmp_path / "oracle.json", agents={"tool:gemini-2.5-pro": agent}
    )
    result = sy.speedup(files, interval="none")
    run = decode_run(agent.read_bytes())
    expected = cost_of(run, PRICES)
    (summary,) = result.to_dict()["summary"].values()
    assert summary["total_cost"] == expected.usd
    codes = {finding.code for finding in result.findings}
    assert ("cost_lower_bound" in codes) == (expected.how == "lower_bound")


@pytest.mark.parametrize("cached", [0, 100, 5000])
def test_a_trajectory_and_a_log_count_cached_tokens_alike(tmp_path: Path, cached: int) -> None:
    tokens = {"prompt_tokens": 1000, "completion_tokens": 20, "cache_read_tokens": cached}
    metrics = {"accumulated_token_usage": tokens}
    events = json.loads((SAMPLES / "openhands" / "events.json").read_text())
    log = tmp_path / "events.json"
    log.write_text(json.dumps([*events, {"source": "agent", "action": "run", "llm_metrics": metrics}]))
    logged = usage_of([log])
    assert not isinstance(logged, Missing)
    reading = RunReading([log])
    (run,) = reading
    assert run.usage == logged.usage
    assert logged.usage.input_tokens == (1000 - cached if cached <= 1000 else None)  # more than the whole is no part
    told = [finding.code for finding in reading.summary.findings if finding.code == "token_contradiction"]
    assert told == [finding.code for finding in logged.findings]
