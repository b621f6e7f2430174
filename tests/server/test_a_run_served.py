"""A run over HTTP: the numbers of `show`, no path of the machine, keys taken out, output in pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

import steelyard as sy
from report_makers import HOSTILE, planted
from serving import Served, serving
from steelyard.questions import RunsSource
from steelyard.questions.show import PIECE_CHARACTERS

KEY = "sk-abcdefghijklmnopqrstuvwx0123456789"
LONG = "".join(f"line {number}\n" for number in range(20_000))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("runs")
    records = [
        {"id": "a/b c", "task": "fix", "passed": True, "output": {"text": f"print(1)\n# {KEY}\n"}},
        {"id": "long", "task": "fix", "output": {"text": LONG}, "source": {"path": "/home/somebody/logs/x.json"}},
        {"id": "silent", "task": "fix"},
        *planted(HOSTILE, count=2),
    ]
    (folder / "runs.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    with serving(RunsSource([folder / "runs.jsonl"])) as answering:
        yield answering


def test_the_answer_is_that_of_show(served: Served) -> None:
    told = served.api(f"/runs/{quote('a/b c', safe='')}")
    path = next(iter(served.site.source.paths))  # type: ignore[union-attr] # it serves runs
    own = json.loads(json.dumps(sy.show(str(path), run="a/b c").to_dict()))
    assert told["numbers"] == own["numbers"]
    assert told["position"] == own["position"] == {"number": 1, "count": 5, "previous": None, "next": "long"}
    assert told["where"] == "runs.jsonl:1"
    assert KEY not in json.dumps(told)


def test_neither_the_servers_paths_nor_those_of_a_record_are_told(served: Served) -> None:
    for path in ("/api/v1/runs/long", "/runs/long"):
        body = served.ask(path).body.decode()
        assert "/home/somebody" not in body
        assert str(Path(next(iter(served.site.source.paths))).parent) not in body  # type: ignore[union-attr]


def test_an_output_comes_in_pieces_that_add_up(served: Served) -> None:
    joined, start = "", 0
    while start is not None:
        piece = served.api(f"/runs/long/output?offset={start}")["output"]
        assert len(piece["text"]) <= PIECE_CHARACTERS
        joined += piece["text"]
        start = piece["next_offset"]
    assert joined == LONG
    assert served.ask("/api/v1/runs/silent/output").status == 404
    assert served.ask("/api/v1/runs/long/output?offset=-1").status == 400


def test_two_outputs_are_compared_in_the_page(served: Served) -> None:
    told = served.api("/runs/long?diff=a%2Fb%20c")["difference"]
    assert (told["base"], told["output"]["added"], told["output"]["removed"]) == ("a/b c", 20_000, 2)
    assert served.ask("/api/v1/runs/long?diff=silent").status == 400
    assert served.ask("/api/v1/runs/nobody").status == 404
    body = served.ask("/runs/long?diff=a%2Fb%20c").body.decode()
    assert "Diff with a/b c, characters 1 to 64,000 of" in body


def test_a_hostile_run_is_inert_on_its_page(served: Served) -> None:
    hostile = planted(HOSTILE, count=2)
    first, second = (quote(run["id"], safe="") for run in hostile)
    answer = served.ask(f"/runs/{first}?diff={second}")
    assert answer.status == 200
    body = answer.body.decode()
    assert "<img" not in body
    assert "<base" not in body
    assert "\u202e" not in body
