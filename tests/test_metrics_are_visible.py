"""Every metric of the catalog can be seen in `measure`, in `report` and on the dashboard, with a number."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from arena_results import filled
from matchups import write
from serving import serving
from steelyard.demo import demo_files
from steelyard.errors import UsageError
from steelyard.metrics import Metric, catalog
from steelyard.questions import ArenaSource, RunsSource
from steelyard.records import TaskCounts

EXPERIMENT = Path(__file__).parent / "samples" / "repeatability" / "clamp_experiment.json"
NO_VALUES = ("count", "reason", "formula", "inputs")
"""Columns with numbers that are not the value of a metric."""
every_metric = pytest.mark.parametrize("declared", catalog().values(), ids=lambda one: one.name)


@dataclass
class Table:
    """A table of a page, as a reader with JavaScript sees it."""

    names: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)

    def shows(self, declared: Metric) -> bool:
        """Return whether a column or a row of the metric has a number."""
        columns = [place for place, name in enumerate(self.names) if name == declared.name]
        if any(_has_number(row[place]) for row in self.rows for place in columns):
            return True
        values = [place for place, name in enumerate(self.names) if name not in NO_VALUES]
        return any(
            _is_label(label, declared) and _has_number(*(row[place] for place in values if row[place] != label))
            for row in self.rows
            for label in row
        )


def _has_number(*cells: str) -> bool:
    return any(cell in ("yes", "no") or char.isdigit() or char == "∞" for cell in cells for char in cell)


def _is_label(cell: str, declared: Metric) -> bool:
    label = cell.rstrip(" ↑↓").lower()
    title = declared.title.lower()
    return label in (declared.name, title, f"{title} {declared.unit.lower()}") or label.startswith(f"{title} of ")


class Tables(HTMLParser):
    """The tables of a document, with the rows that it contains compressed."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Table] = []
        self._into = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "table":
            self.tables.append(Table())
        elif tag == "th":
            self.tables[-1].names.append(given.get("data-name") or "")
        elif tag == "tr":
            self.tables[-1].rows.append([])
        elif tag == "td":
            self.tables[-1].rows[-1].append("")
        self._into = "script" if given.get("type") == "application/octet-stream" else tag if tag == "td" else self._into

    def handle_endtag(self, tag: str) -> None:
        if tag == self._into:
            self._into = ""

    def handle_data(self, data: str) -> None:
        if self._into == "td":
            self.tables[-1].rows[-1][-1] += data
        elif self._into == "script":
            packed = json.loads(gzip.decompress(base64.b64decode(data)))
            columns = [_texts(column, packed["count"]) for column in packed["columns"]]
            self.tables[-1].rows = [list(row) for row in zip(*columns, strict=True)]


def _texts(column: dict[str, Any], count: int) -> list[str]:  # Any: JSON values
    if "words" not in column:
        return ["" if number is None else str(number) for number in column["scaled"]]
    places = column.get("rows", range(count))
    return ["" if place < 0 else column["words"][place] for place in places]


def tables_of(*documents: str) -> list[Table]:
    parser = Tables()
    for document in documents:
        parser.feed(document)
    for table in parser.tables:
        table.rows = [row for row in table.rows if row]  # without the headings
    return parser.tables


def is_seen(declared: Metric, tables: list[Table]) -> bool:
    return any(table.shows(declared) for table in tables)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo runs and timings, an experiment with a canon and repairs, and an arena."""
    folder = tmp_path_factory.mktemp("visible")
    for name, content in demo_files():
        if name.startswith("timings/"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    summary = sy.Run(task="board", tier="T0", task_counts=TaskCounts(total=20, passed=5))
    write(folder / "runs.jsonl", [*islice(sy.demo_runs(), 0, None, 10), summary])
    shutil.copy(EXPERIMENT, folder)
    for task in (folder / "timings").iterdir():
        shutil.copy(task / "nop.json", task / "nop-repeat.json")  # measured twice, for the noise floor
    filled(folder)
    return folder


def inputs(folder: Path) -> list[Path]:
    return [folder / "runs.jsonl", folder / EXPERIMENT.name, folder / "timings"]


def store(folder: Path) -> str:
    return f"sqlite:///{folder / 'arena.db'}"


@pytest.fixture(scope="module")
def measured(folder: Path) -> list[Table]:
    asked = [
        sy.measure(folder / "runs.jsonl", by=["tier"]),
        sy.measure(store(folder), by=["agent"], metrics=["all"]),
        sy.measure(sy.repeatability([folder / EXPERIMENT.name], repair=False), metrics=["r_raw", "all"]),
        sy.measure(folder / "timings", by=["agent"], metrics=["task_speedup", "all"]),
        sy.measure(folder / "timings", by=["agent"], metrics=["agent_speedup", "all"]),
    ]
    return tables_of(*(answer.document() for answer in asked))


@pytest.fixture(scope="module")
def reported(folder: Path) -> list[Table]:
    return tables_of(*(sy.report(source, resamples=100).document() for source in (inputs(folder), store(folder))))


@pytest.fixture(scope="module")
def dashboard(folder: Path) -> list[Table]:
    arena = filled(folder)
    pages = []
    with serving(RunsSource(inputs(folder))) as served:
        pages += [
            served.ask(path) for path in ("/measure?by=tier", "/repeatability", "/speedup", "/speedup/speed-up-parse")
        ]
    with serving(ArenaSource(arena)) as served:
        pages += [served.ask(path) for path in ("/tasks/fix-race", "/submissions/ant-1")]
    assert [page.status for page in pages] == [200] * len(pages)
    return tables_of(*(page.body.decode() for page in pages))


@every_metric
def test_every_metric_can_be_seen_in_measure(declared: Metric, measured: list[Table], folder: Path) -> None:
    if declared.level == "tasks" and not declared.is_of_rows:
        # it has no value per group of rows: curves over k and p, and comparisons of all agents
        with pytest.raises(UsageError, match=f"{declared.name} is a single value over all tasks") as raised:
            sy.measure(folder / "timings", metrics=[declared.name])
        assert raised.value.hint == "use steelyard speedup"
        measured = tables_of(sy.speedup(folder / "timings").document())
    assert is_seen(declared, measured)


@every_metric
def test_every_metric_can_be_seen_in_a_report(declared: Metric, reported: list[Table]) -> None:
    assert is_seen(declared, reported)


@every_metric
def test_every_metric_can_be_seen_on_the_dashboard(declared: Metric, dashboard: list[Table]) -> None:
    assert is_seen(declared, dashboard)


def test_a_metric_without_a_number_is_not_seen(measured: list[Table]) -> None:
    assert not is_seen(replace(catalog()["r_prog"], name="r_new", title="New rate"), measured)
    bare = tables_of(sy.measure([sy.Run(task="t", passed=True)]).document())
    assert is_seen(catalog()["pass_rate"], bare)
    assert not is_seen(catalog()["r_prog"], bare)  # its row says why it is missing
