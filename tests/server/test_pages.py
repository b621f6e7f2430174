"""The dashboard over HTTP: every page has the numbers of its command, in a sound frame, whatever the view."""

from __future__ import annotations

import json
import random
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

import steelyard as sy
from arena_makers import random_submission
from arena_results import frozen, measured
from matchups import made_runs, write
from serving import Answer, Served, serving
from steelyard import questions
from steelyard.cli import run
from steelyard.questions import ArenaSource, RunsSource
from steelyard.questions.arena.task_add import arena_task_add
from steelyard.records import Judgment
from steelyard.server import ROUTES, Route, ServeOptions
from test_report import agrees, numbers_in

SAMPLES = Path(__file__).parent.parent / "samples"
NAMES = {
    "task": "fix-race",
    "submission": "ant-1",
    "season": "2026-11",
    "agent": "ant",
    "prompt": "clamp_temp0.5_20260101_000000",
    "run": "ant-0-1",
}
SPEEDUP_TASK = "t1"
SESSION = "5e55a0aa-0000-4000-8000-000000000001"
QUERIES = {
    "/history": "submitter=ada",
    "/changes": "since=2026-01-01",
    "/find": "pattern=a",
    "/rank": "by=agent",
    "/compare": "baseline=agent%3Dbee&candidate=agent%3Dant",
    "/gate": "rule=pass_rate+%3E%3D+0.3",
    "/judges": "by=agent",
    "/matrix": "by=agent&order=discrimination",
    "/usage": "by=model&tz=UTC",
}
NOT_THE_COMMAND = ("/runs", "/routes")
"""Routes whose command tells more or less than they: their numbers are held against their own JSON."""
PAGES = [route for route in ROUTES if route.page_path is not None and route.respond is None]
KINDS = [(kind, route) for route in PAGES for kind in ("arena", "runs") if route.builder(kind) is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("board")


@pytest.fixture(scope="module")
def boards(folder: Path) -> Iterator[dict[str, Served]]:
    """A dashboard over an arena and one over runs, outputs and timings."""
    runs = [
        sy.Run(**{**_fields(each), "judgments": (Judgment(judge=judge, weighted_score=0.5 + place % 5 / 10),)})
        for place, each in enumerate(made_runs({"ant": 0.9, "bee": 0.4}, tasks=12, attempts=2))
        for judge in ("j1",)
    ]
    write(folder / "runs.jsonl", runs)
    files = [Path("runs.jsonl")]
    for sample in (
        SAMPLES / "repeatability" / "clamp_experiment.json",
        SAMPLES / "speedup" / "fceval-results.json",
        SAMPLES / "formats" / "claude-code" / "session.jsonl",
    ):
        files.append(Path(sample.name))
        (folder / sample.name).write_bytes(sample.read_bytes())
    # a command names files as the page does; some formats take the name of a file's folder for the experiment
    source = ArenaSource(measured(frozen(folder), folder))
    with chdir(folder), serving(source) as arena, serving(RunsSource(files)) as over_runs:
        yield {"arena": arena, "runs": over_runs}


def _fields(run: sy.Run) -> dict[str, object]:
    return {name: getattr(run, name) for name in run.__struct_fields__}


def path_of(route: Route, path: str) -> str:
    names = {**NAMES, "task": SPEEDUP_TASK} if route.path.startswith("/speedup") else NAMES
    if route.path.endswith("/steps"):
        names = {**NAMES, "run": SESSION}
    filled_in = re.sub(r"\{(\w+)\}", lambda match: quote(names[match[1]], safe=""), path)
    return f"{filled_in}?{QUERIES[route.path]}" if route.path in QUERIES else filled_in


class Cells(HTMLParser):
    """The cells of a page's tables, those of numbers apart, and its command."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: list[str] = []
        self.command = ""
        self._into: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag == "td" and "n" in classes and "missing" not in classes:
            self._into = "cell"
            self.numbers.append("")
        elif tag == "code":
            self._into = "code"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "code"):
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._into == "cell":
            self.numbers[-1] += data
        elif self._into == "code":
            self.command += data


def seen(answer: Answer) -> Cells:
    assert answer.status == 200, answer.body
    assert answer.headers["content-type"].startswith("text/html")
    cells = Cells()
    cells.feed(answer.body.decode())
    return cells


def strangers(cells: Cells, told: object) -> list[str]:
    """The cells whose number the JSON does not have."""
    known = sorted(set(numbers_in(told)))
    firsts = [cell.removeprefix("* ").partition(" to ")[0] for cell in cells.numbers]
    return [cell for cell in firsts if not any(agrees(cell, number) for number in known)]


@pytest.mark.parametrize(("kind", "route"), KINDS, ids=[f"{kind} {route.path}" for kind, route in KINDS])
def test_the_numbers_of_every_page_are_those_of_its_route_and_its_command(
    kind: str,
    route: Route,
    boards: dict[str, Served],
    capsys: pytest.CaptureFixture[str],
) -> None:
    board = boards[kind]
    assert route.page_path is not None
    cells = seen(board.ask(path_of(route, route.page_path)))
    told = board.api(path_of(route, route.path))
    assert strangers(cells, told) == []
    if route.path in NOT_THE_COMMAND:
        return
    program, *words = shlex.split(unescape(cells.command))
    assert program == "steelyard"
    capsys.readouterr()
    run(words)
    printed = json.loads(capsys.readouterr().out)
    assert "error" not in printed, f"{cells.command}: {printed}"
    if route.rows is not None:
        assert told["items"] == printed[route.rows]
    else:
        assert told == printed


def test_the_law_can_fail() -> None:
    cells = Cells()
    cells.feed('<table><tr><td class="n">1.50</td><td class="n">2.50</td><td class="n missing">-</td></tr></table>')
    assert strangers(cells, {"a": 1.5, "b": [2.6]}) == ["2.50"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A task with 250 submissions, below a path of a proxy."""
    folder = tmp_path_factory.mktemp("many")
    arena = questions.init_arena(f"sqlite:///{folder}/arena.db")
    rng = random.Random(5)
    (folder / "tasks.json").write_text(json.dumps([{"id": "a/b c", "category": "debugging"}]))
    made = [random_submission(rng, f"s-{number:03}", "a/b c", number) for number in range(250)]
    (folder / "made.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in made))
    arena_task_add(arena, [folder / "tasks.json"])
    arena.submit_files([folder / "made.jsonl"])
    with serving(ArenaSource(arena), ServeOptions(root_path="/dashboard")) as served:
        yield served


def rows_of(answer: Answer) -> list[str]:
    """The ids of the submissions on a page, in its order."""
    assert answer.status == 200, answer.body
    return re.findall(r'<a href="/dashboard/submissions/[^"]*">(s-\d+)(?: !)?</a>', answer.body.decode())


def next_page(answer: Answer) -> str | None:
    link = re.search(r'<a rel="next" href="([^"]*)"', answer.body.decode())
    return None if link is None else unescape(link[1])


@pytest.mark.parametrize("query", ["", "sort=-cost_score", "sort=submission_id&find=bee", "agent=ant"])
def test_without_javascript_links_lead_through_every_row_once(query: str, many: Served) -> None:
    path: str | None = f"/dashboard/tasks/a%2Fb%20c?{query}"
    listed: list[str] = []
    while path is not None:
        answer = many.ask(path)
        page = rows_of(answer)
        assert len(page) <= 100
        listed += page
        path = next_page(answer)
    items = many.ask(f"/dashboard/api/v1/tasks/a%2Fb%20c/leaderboard?{query}&limit=1000").json["items"]
    assert listed == [item["submission_id"] for item in items]
    assert len(set(listed)) == len(listed) > 60


def test_a_form_that_leaves_fields_empty_asks_for_the_defaults(many: Served) -> None:
    empty = many.ask("/dashboard/tasks/a%2Fb%20c?agent=&model=&policy=&confidence=&sort=&find=&limit=")
    assert rows_of(empty) == rows_of(many.ask("/dashboard/tasks/a%2Fb%20c"))


def test_every_link_of_a_page_stays_below_the_path_of_a_proxy(many: Served) -> None:
    for path in ("/", "/tasks", "/tasks/a%2Fb%20c", "/submissions/s-001", "/review", "/nowhere"):
        html = many.ask(f"/dashboard{path}").body.decode()
        addresses = re.findall(r'(?:href|src|action)="([^"]*)"', html)
        assert addresses
        assert [address for address in addresses if not address.startswith(("/dashboard/", "data:"))] == []
        for address in {unescape(address) for address in addresses if address.endswith((".css", ".js"))}:
            assert many.ask(address).status == 200


def test_what_goes_wrong_is_told_on_a_page_that_leads_on(many: Served) -> None:
    answer = many.ask("/dashboard/tasks/nothing")
    assert answer.status == 404
    assert b">404 Not Found</h1>" in answer.body
    assert b'<a href="/dashboard/tasks"' in answer.body
