"""What the Python API takes: paths, records and dicts, each checked at the door as a file's records are."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import steelyard as sy
from steelyard.demo import demo_files
from steelyard.errors import NoValidInputError, RecordError, UnknownNameError, UnreadableFileError, UsageError
from steelyard.records import Call, Judgment, Output, Usage, checked_run
from strategies import run_lists

RECORDS: list[dict[str, Any]] = [
    {"id": f"{agent}{n}", "task": f"t{n}", "agent": agent, "passed": n % 2 == 0, "cost_usd": 0.25, "impl_rate": 0.5}
    for agent in ("a", "b")
    for n in range(4)
]


def test_dicts_are_runs() -> None:
    assert sy.measure(RECORDS).to_dict() == sy.measure([sy.Run(**record) for record in RECORDS]).to_dict()
    assert sy.measure(RECORDS[0]).n == 1
    assert sy.measure(sy.Run(task="t", passed=True)).n == 1


def test_an_option_that_names_a_file_may_be_text(tmp_path: Path) -> None:
    for name, content in demo_files():
        if name.startswith(("outputs/", "contract")):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(content)
    [prompt] = sy.repeatability(
        str(tmp_path / "outputs"), contract=str(tmp_path / "contract.toml"), repair=False
    ).prompts  # type: ignore[arg-type] # text works too
    assert prompt.n == 10


def test_sides_may_be_chosen_by_dicts() -> None:
    by_text = sy.compare(RECORDS, baseline="agent=a", candidate="agent=b")
    by_dict = sy.compare(RECORDS, baseline={"agent": "a"}, candidate={"agent": "b"})
    assert by_dict == by_text
    assert (
        sy.compare(RECORDS, baseline={"agent": "a"}, candidate=[{"agent": "b"}, "agent=b,model=-"][:1]).pairs
        == by_text.pairs
    )
    with pytest.raises(UnknownNameError, match="agnet"):
        sy.compare(RECORDS, baseline={"agnet": "a"}, candidate={"agent": "b"})
    rule = ["pass_rate >= -0.5"]
    gate = sy.gate(RECORDS, baseline=RECORDS, rule=rule, where={"agent": "a"})
    assert gate.rules == sy.gate(RECORDS, baseline=RECORDS, rule=rule, where="agent=a").rules


BAD: list[tuple[Any, str]] = [
    (sy.Run(task="t", usage=Usage(input_tokens=-5)), "usage.input_tokens: expected int >= 0"),
    (sy.Run(task="t", iterations=0), "iterations: expected int >= 1"),
    (sy.Run(task="t", attempt=-1), "attempt: expected int >= 0"),
    (sy.Run(task="t", cost_usd=float("nan")), "cost_usd: must be a finite number (got nan)"),
    (sy.Run(task="t", cost_usd=float("inf")), "cost_usd: must be a finite number (got inf)"),
    (sy.Run(task="t", impl_rate=1.5), "impl_rate: expected float <= 1.0"),
    (sy.Run(task=""), "task: expected str of length >= 1"),
    (sy.Run(task="t", judgments=(Judgment(weighted_score=7.0),)), "judgments[0].weighted_score"),
    (sy.Run(task="t", outcome="won"), "won"),  # type: ignore[arg-type]
    (sy.Run(task="t", tests=object()), "invalid value in the record"),  # type: ignore[arg-type]
    (sy.Run(task="t", extra={"mine": 1}), "unknown key 'mine'"),
    ({"task": "t", "usage": {"input_tokens": -5}}, "usage.input_tokens: expected int >= 0"),
    ({"task": "t", "usage": Usage(input_tokens=-5)}, "usage.input_tokens: expected int >= 0"),
    ({"task": "t", "usge": {}}, "unknown key 'usge'"),
    ({"passed": True}, "key 'task' is missing"),
    ({"task": "t", "started_at": "2026-01-02T00:00:00Z", "ended_at": "2026-01-01T00:00:00Z"}, "before started_at"),
    ({"task": "t", "cost_usd": float("inf")}, "cost_usd: must be a finite number (got inf)"),
]


@pytest.mark.parametrize(("record", "said"), BAD, ids=[said for _, said in BAD])
def test_a_record_made_in_python_is_checked_as_one_that_is_read(record: Any, said: str) -> None:
    with pytest.raises(RecordError) as error:
        sy.measure([{"task": "t"}, record])
    assert said in error.value.message
    assert error.value.where == "records:2"
    assert error.value.hint


@pytest.mark.parametrize(
    "verb",
    [
        sy.read,
        sy.measure,
        sy.rank,
        sy.judges,
        sy.repeatability,
        lambda runs: sy.compare(runs, baseline="agent=a", candidate="agent=b"),
        lambda runs: sy.gate(runs, baseline=RECORDS, rule=["pass_rate >= baseline"]),
    ],
)
def test_every_verb_checks_at_the_door(verb: Callable[[Any], object]) -> None:
    with pytest.raises(RecordError, match="tool_calls"):
        verb([sy.Run(task="t", tool_calls=-1)])
    for nothing in (7, None, [object()], [["a"]]):
        with pytest.raises(UsageError, match="cannot read runs from type"):
            verb(nothing)


@given(made=run_lists)
@settings(max_examples=30, deadline=None)
def test_a_good_run_passes_the_door_unchanged(made: list[sy.Run]) -> None:
    assert [checked_run(run) for run in made] == made


def test_values_of_python_become_those_of_a_record() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    made = checked_run({"task": "t", "started_at": moment, "calls": [Call(model="m")], "x_mine": {"a": 1}})
    assert made == sy.Run(task="t", started_at=moment, calls=(Call(model="m"),), extra={"x_mine": {"a": 1}})
    assert checked_run(sy.Run(task="t", output=Output(text="x"))).output == Output(text="x")


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    absent = tmp_path / "nofile.jsonl"
    with pytest.raises(UnreadableFileError, match="no such file or directory"):
        sy.read(absent)
    with pytest.raises(UnreadableFileError):
        sy.read([tmp_path, str(absent)])
    with pytest.raises(NoValidInputError, match="no such file or directory"):
        sy.measure(absent)


def test_a_table_has_a_length() -> None:
    table = sy.read(RECORDS)
    assert len(table) == table.n == 8
    assert sy.read(table) is table


WHOLE: dict[str, Callable[..., Any]] = {  # Any: each verb gives its own result
    "usage": lambda runs, **options: sy.usage(runs, by=["model"], **options),
    "completeness": sy.completeness,
    "judges": lambda runs, **options: sy.judges(runs, **{key: options[key] for key in options.keys() - {"prices"}}),
    "show": lambda runs, **options: sy.show(runs, run="a0", **options),
    "explain": lambda runs, **options: sy.explain(runs, "cost_usd", run="a0", **options),
}
PRICED: list[dict[str, Any]] = [
    {**record, "cost_usd": None, "model": "gpt-4o", "started_at": "2026-01-02T03:04:05Z"}
    | {"usage": {"input_tokens": 900, "output_tokens": 100}, "judgments": [{"judge": "j", "weighted_score": 0.5}] * 2}
    for record in RECORDS
]


@pytest.mark.parametrize("verb", WHOLE)
def test_a_table_is_runs_for_verbs_over_whole_records_too(verb: str) -> None:
    work, chosen = WHOLE[verb], {"where": "agent=a", "prices": "spec"}
    table = sy.read(PRICED, **chosen)
    assert work(table).to_dict() == work(PRICED, **chosen).to_dict()
    assert work(sy.read(sy.read(PRICED, prices="spec"), where="agent=a")).to_dict() == work(table).to_dict()


@pytest.mark.parametrize("verb", [*sorted(WHOLE.keys() - {"judges"}), "measure", "read"])
def test_a_table_is_priced_once_and_naming_another_book_is_refused(verb: str) -> None:
    work = WHOLE.get(verb) or getattr(sy, verb)
    table = sy.read(PRICED, prices="spec")
    work(table, prices="spec")
    with pytest.raises(UsageError, match=r"already priced with spec .*sy\.read\(path, prices='genai-prices'\)"):
        work(table, prices="genai-prices")


def test_a_baseline_that_is_a_table_prices_the_runs_too() -> None:
    table = sy.read(PRICED, prices="spec")
    (check,) = sy.gate(PRICED, baseline=table, rule="cost_usd <= baseline * 1.1").rules
    assert check.candidate == check.baseline is not None
    with pytest.raises(UsageError, match=r"already priced with spec .*sy\.read\(path, prices='genai-prices'\)"):
        sy.gate(PRICED, baseline=table, rule="cost_usd <= baseline * 1.1", prices="genai-prices")


def test_a_table_of_what_cannot_be_read_again_is_refused_where_records_are_needed() -> None:
    table = sy.read(record for record in RECORDS)
    assert sy.measure(table).n == len(RECORDS)
    with pytest.raises(UsageError, match="cannot be read again"):
        sy.completeness(table)
    with pytest.raises(UsageError, match="labels cannot be set"):
        sy.completeness(sy.read(RECORDS), set="agent=c")
