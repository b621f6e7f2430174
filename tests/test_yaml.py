"""YAML documents are read as JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

import steelyard as sy
from commands import steelyard
from steelyard.files._yaml_documents import yaml_as_json

RUNS = """\
- task: a
  agent: no
  passed: true
  cost_usd: 0.5
- task: b
  agent: no
  passed: false
  cost_usd: 1
"""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", b'{"a":"no"}'),
        ("a: 2026-01-02", b'{"a":"2026-01-02"}'),
        ("a: 1:30", b'{"a":"1:30"}'),
        ("a: 007", b'{"a":"007"}'),
        ("a: 12", b'{"a":12}'),
        ("a: 1.5e3", b'{"a":1500.0}'),
        ("a: true", b'{"a":true}'),
        ("a: ~", b'{"a":null}'),
        ("a:", b'{"a":null}'),
        ("a: '12'\nb: !!str 12\nc: !!float 12", b'{"a":"12","b":"12","c":12.0}'),
        ("12: a\ntrue: b", b'{"12":"a","true":"b"}'),
        ("- - 1\n  - [a, {b: c}]\n- |\n  text\n- {}", b'[[1,["a",{"b":"c"}]],"text\\n",{}]'),
        ("", b"[]"),
        ("---\na: 1\n---\na: 2\n", b'[{"a":1},{"a":2}]'),
    ],
)
def test_scalars_are_those_of_yaml_1_2(tmp_path: Path, text: str, value: bytes) -> None:
    (tmp_path / "a.yml").write_text(text)
    assert yaml_as_json(tmp_path / "a.yml", "a.yml") == value


def test_records_in_yaml_need_no_mapping(tmp_path: Path) -> None:
    (tmp_path / "runs.yaml").write_text(RUNS)
    (group,) = sy.measure(tmp_path / "runs.yaml", by=["agent"]).groups
    assert (group.key, group.metrics["pass_rate"].mean, group.metrics["cost_usd"].mean) == ({"agent": "no"}, 0.5, 0.75)


def test_leaderboard_in_yaml_is_suggested_as_a_summary(tmp_path: Path) -> None:
    (tmp_path / "board.yml").write_text("- model: gpt-5\n  solved: 71.5\n- model: claude-x\n  solved: 68\n")
    suggestion = sy.suggest_mapping(tmp_path / "board.yml")
    assert suggestion.questions[0] == "Is each row the summary of many runs? Uncomment one `task` line."
    text = suggestion.text.replace('# task = { value = "board" }', 'task = { value = "board" }')
    (tmp_path / "m.toml").write_text(text)
    measured = sy.measure(tmp_path / "board.yml", map=tmp_path / "m.toml", by=["model"], metrics=["solved"])
    assert {group.key["model"]: group.metrics["x_solved"].mean for group in measured.groups} == {
        "gpt-5": 71.5,
        "claude-x": 68,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x [1]\nb: *x\n", "YAML aliases are not supported"),
        ("a: [1\n", "runs.yml: not YAML in line 2"),
        ("a: !!python/x 1", "not YAML: unknown tag 'tag:yaml.org,2002:python/x' in line 1"),
        ("[1]: a", "not YAML: a key in line 1 is a list or mapping"),
        ("a: !!int x", "not YAML: 'x' on line 1 does not have the type of its tag"),
    ],
)
def test_yaml_that_cannot_be_read_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "runs.yml").write_text(text)
    done = steelyard("measure", "runs.yml", cwd=tmp_path)
    assert done.status == 1
    assert message in done.stderr


def test_yaml_in_a_directory_is_read_only_by_a_mapping(tmp_path: Path) -> None:
    (tmp_path / "runs.yml").write_text(RUNS)
    (tmp_path / "runs.jsonl").write_text('{"task": "c", "agent": "y", "passed": true}\n')
    assert sy.read(tmp_path).n == 1
    mapping = {"mapping": 1, "name": "m", "rows": {"format": "json"}, "run": {"task": "task", "passed": "passed"}}
    assert sy.read(tmp_path, map=mapping).n == 2


def test_rows_with_a_pass_rate_may_be_summaries(tmp_path: Path) -> None:
    path = tmp_path / "board.yml"
    rows = [("a", "diff", 20.5), ("a", "whole", 30.5), ("b", "diff", 40.5)]
    path.write_text(
        "".join(
            f"- dirname: x-{model}-{form}\n  model: {model}\n  edit_format: {form}\n  pass_rate_1: {rate}\n"
            "  syntax_errors: 0\n"
            for model, form, rate in rows
        )
    )
    (question,) = sy.suggest_mapping(path).questions
    assert question.endswith("? Is each row the summary of many runs? Uncomment one `task` line.")
