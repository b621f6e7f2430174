"""Labels: what `--set` puts on runs, from a value or from a part of the path, on every verb that reads runs."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from commands import steelyard
from steelyard.cli import run
from steelyard.errors import UnknownNameError, UsageError

LINE = '{"task": "%s", "passed": true, "usage": {"input_tokens": 1000000, "output_tokens": 0}}\n'


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("first", "second"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        (tmp_path / "logs" / name / "runs-7.jsonl").write_text(LINE % name)
    return tmp_path / "logs"


def written(folder: Path, *options: str) -> list[dict[str, Any]]:
    out = folder.parent / "out.jsonl"
    assert run(["read", str(folder), "--out", str(out), "--quiet", *options]) == 0
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize(
    ("text", "experiments"),
    [
        ("{folder}", ["first", "second"]),
        ("{folder[1]}/{folder}", ["logs/first", "logs/second"]),
        ("{file}", ["runs-7.jsonl", "runs-7.jsonl"]),
        ("{stem}", ["runs-7", "runs-7"]),
        ("week 45", ["week 45", "week 45"]),
    ],
)
def test_a_label_is_a_value_or_a_part_of_the_path(text: str, experiments: list[str], folders: Path) -> None:
    runs = written(folders, "--set", f"experiment={text}")
    assert [run["experiment"] for run in runs] == experiments
    assert sorted(sy.read(folders, set={"experiment": text}).frame.collect()["experiment"]) == experiments


def test_the_folder_of_a_path_as_typed_is_the_folder_on_disk(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders / "first")
    assert sy.read("runs-7.jsonl", set="experiment={folder}").frame.collect()["experiment"].to_list() == ["first"]


def test_what_an_archive_holds_lies_in_the_archive(folders: Path, tmp_path: Path) -> None:
    packed = tmp_path / "week.tar"
    with tarfile.open(packed, "w") as archive:
        archive.add(folders / "first", "first")
    runs = written(packed, "--set", "experiment={folder},x_from={folder[1]}")
    assert [(run["experiment"], run["x_from"]) for run in runs] == [("first", "week.tar")]


def test_a_model_that_is_set_prices_tokens(folders: Path) -> None:
    priced = sy.read(folders, set="model=claude-sonnet-4-5").frame.collect()["priced_cost_usd"].to_list()
    assert priced == [3.0, 3.0]  # a million input tokens at $3 a million
    (first, _) = written(folders, "--set", "model=claude-sonnet-4-5,attempt=2,x_seed=7,x_note=007")
    assert (first["model"], first["attempt"], first["x_seed"], first["x_note"]) == ("claude-sonnet-4-5", 2, 7, "007")


def test_labels_do_not_change_which_run_it_is(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "runs.jsonl").write_text('{"id": "same", "task": "t"}\n' + LINE % name)
    plain, labeled = written(tmp_path / "in"), written(tmp_path / "in", "--set", "experiment=e")
    assert [run["id"] for run in labeled] == [run["id"] for run in plain]
    assert [run["id"] for run in plain].count("same") == 1
    assert sy.read(tmp_path / "in", set="experiment=e").n == len(plain)


def test_labels_tell_runs_with_one_id_apart(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "in" / name).mkdir(parents=True)
        (tmp_path / "in" / name / "runs.jsonl").write_text('{"id": "same", "task": "t"}\n' + LINE % name)
    labeled = written(tmp_path / "in", "--set", "experiment={folder}")
    assert {run["experiment"]: run["id"] for run in labeled if run["task"] == "t"} == {"a": "same", "b": "same#2"}
    assert len(labeled) == sy.read(tmp_path / "in", set="experiment={folder}").n == 4


def test_flat_parquet_takes_labels_as_records_do(tmp_path: Path) -> None:
    (tmp_path / "in" / "exp").mkdir(parents=True)
    rows = {"task": ["a", "b"], "agent": ["x", None], "usage.input_tokens": [1_000_000, 2_000_000]}
    pl.DataFrame(rows).write_parquet(tmp_path / "in" / "exp" / "runs.parquet")
    pl.DataFrame(rows).write_csv(tmp_path / "in" / "exp" / "runs.csv")
    for label in ({"experiment": "{folder}", "model": "claude-sonnet-4-5"}, {"agent": "y", "tier": "T1"}):
        tables = [sy.read(tmp_path / "in" / "exp" / f"runs.{ending}", set=label) for ending in ("parquet", "csv")]
        shown = [table.frame.collect().select(pl.exclude("^_.*$", "id")) for table in tables]
        assert shown[0].select(sorted(shown[0].columns)).equals(shown[1].select(sorted(shown[1].columns)))
        assert [finding.code for finding in tables[0].findings] == [finding.code for finding in tables[1].findings]


def test_a_label_that_replaces_another_value_is_told(tmp_path: Path) -> None:
    (tmp_path / "runs.jsonl").write_text('{"task": "t", "agent": "x"}\n{"task": "u", "agent": "y"}\n{"task": "v"}\n')
    table = sy.read(tmp_path / "runs.jsonl", set="agent=y")
    assert table.frame.collect()["agent"].to_list() == ["y", "y", "y"]
    (told,) = [finding for finding in table.findings if finding.code == "label_replaced"]
    assert (told.count, told.message) == (1, "the label replaces agent 'x' with 'y'")


@pytest.mark.parametrize("verb", ["measure", "compare", "rank", "gate", "judges", "explain", "report", "repeatability"])
def test_every_verb_over_runs_takes_labels(verb: str, tmp_path: Path) -> None:
    output = {"language": "python", "text": "x = 1"}
    judgments = [{"judge": "j", "weighted_score": 0.5}, {"judge": "k", "weighted_score": 0.6}]
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        records = [
            {"id": f"{folder}{number}", "task": f"t{number}", "passed": number % 2 == 0, "output": output}
            for number in range(6)
        ]
        lines = [json.dumps(record | {"judgments": judgments}) for record in records]
        (tmp_path / folder / "runs.jsonl").write_text("\n".join(lines))
    wanted: dict[str, dict[str, Any]] = {
        "compare": {"baseline": "agent=a", "candidate": "agent=a"},
        "gate": {"baseline": str(tmp_path / "a"), "rule": ["pass_rate >= -0.9"]},
        "explain": {"metric": "pass_rate", "by": ["agent"]},
        "repeatability": {"by": ["agent"], "repair": False},
    }
    if verb == "repeatability":
        prompts = sy.repeatability(str(tmp_path), set="agent={folder}", **wanted[verb]).to_dict()["prompts"]
        assert [prompt["prompt"] for prompt in prompts] == ["a", "b"]
        return
    chosen = {"where": "agent=a", **wanted.get(verb, {})}
    with pytest.raises(UnknownNameError, match="agent"):  # no run has one unless it is set
        getattr(sy, verb)(str(tmp_path), **chosen)
    assert getattr(sy, verb)(str(tmp_path), **chosen, set="agent={folder}").to_dict()["schema_version"]


def test_the_arena_takes_labels_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.toml").write_text('[[tasks]]\nid = "t"')
    record = {"task": "t", "passed": True, "tool_calls": 2, "usage": {"input_tokens": 9, "output_tokens": 1}}
    (tmp_path / "runs.jsonl").write_text(json.dumps(record))
    store = ["--store", "sqlite:///arena.db"]
    assert run(["arena", "init", *store]) == 0
    assert run(["arena", "task", "add", "tasks.toml", *store]) == 0
    assert run(["arena", "submit", "--from-runs", "runs.jsonl", "--set", "agent=zed", *store]) == 0
    capsys.readouterr()
    assert run(["arena", "leaderboard", "t", *store, "--json"]) == 0
    assert '"zed' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("modle=x", "unknown label 'modle'"),
        ("cost_usd=3", "unknown label 'cost_usd'"),
        ("passed=true", "unknown label 'passed'"),
        ("model={fodler}", "unknown path variable 'fodler'"),
        ("model", "is not KEY=VALUE"),
        ("model!=x", "is not an assignment"),
        ("model=x,model=y", "duplicate key 'model'"),
    ],
)
def test_a_wrong_label_is_refused_before_anything_is_read(label: str, sentence: str) -> None:
    for verb in (sy.read, sy.measure):
        with pytest.raises((UsageError, UnknownNameError), match=sentence):
            verb("nowhere", set=label)


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("tier={folder}", "first"),
        ("attempt={stem}", "'runs-7' is not an integer"),
        ("experiment={folder[99]}", "no {folder[99]} in"),
    ],
)
def test_a_part_of_a_path_that_does_not_fit_sets_the_runs_aside(
    label: str, sentence: str, folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["read", str(folders / "first"), "--set", label, "--json"]) == 1
    answer = capsys.readouterr()
    assert json.loads(answer.out)["total"]["runs"] == 0
    assert sentence in answer.out
    assert sy.read(folders / "first", set=label).rejected_count == 1


def test_what_has_no_path_has_no_parts_of_one(tmp_path: Path) -> None:
    table = sy.read([{"task": "t"}], set="experiment={folder}")
    assert [(rejected.path, rejected.reason) for rejected in table.rejected] == [
        ("records", "label experiment: no {folder} in records")
    ]
    assert sy.read([{"task": "t"}], set="experiment=e").frame.collect()["experiment"].to_list() == ["e"]
    piped = steelyard("read", "-", "--set", "experiment={stem}", stdin='{"task": "t"}')
    assert (piped.status, "no {stem} in stdin" in piped.stdout) == (1, True)


def test_a_table_that_was_read_takes_no_labels(folders: Path) -> None:
    table = sy.read(folders)
    for verb in (sy.read, sy.measure, sy.report):
        with pytest.raises(UsageError, match="labels cannot be set"):
            verb(table, set="model=x")


def test_several_reports_in_one_folder_are_several_experiments(tmp_path: Path) -> None:
    for name, resolved in (("gpt-5.first", ["a"]), ("gpt-5.second", ["a", "b"])):
        report = {
            "total_instances": 2,
            "resolved_ids": resolved,
            "unresolved_ids": [task for task in ("a", "b") if task not in resolved],
        }
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    rates = {
        group.key["experiment"]: (group.n, group.metrics["pass_rate"].mean)
        for group in sy.measure(str(tmp_path), by=["experiment"]).groups
    }
    assert rates == {"gpt-5.first": (2, 0.5), "gpt-5.second": (2, 1.0)}
