"""Reports: every number is that of its verb, nothing secret or foreign gets out, the same runs give the same bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from arena_results import filled
from commands import steelyard
from matchups import made_runs, write
from report_makers import HOSTILE, REPORTS, flat_runs, planted
from steelyard.errors import UnknownNameError, UsageError
from steelyard.metrics import catalog
from steelyard.pages import DASH, Column, number_shown
from test_results import MADE

SRC = Path(__file__).parent.parent / "src" / "steelyard"


def numbers_in(shape: Any) -> Iterator[float]:  # Any: JSON values
    """Every number of a JSON answer."""
    if isinstance(shape, dict):
        for value in shape.values():
            yield from numbers_in(value)
    elif isinstance(shape, list):
        for value in shape:
            yield from numbers_in(value)
    elif isinstance(shape, (int, float)) and not isinstance(shape, bool):
        yield float(shape)
    elif shape in ("Infinity", "-Infinity"):
        yield float(shape.replace("Infinity", "inf"))


def agrees(shown: str, value: float) -> bool:
    """Whether the cell's first number is the value, as exactly as it is written."""
    if shown in ("yes", "no"):
        return value == (shown == "yes")
    if math.isinf(value) or "∞" in shown:
        return math.isinf(value) and "∞" in shown
    if shown == DASH:  # in tables of counts, where it is easier to skip than 0
        return value == 0
    if share := re.fullmatch(r"(\d+)/(\d+)", shown):
        return math.isclose(int(share[1]) / int(share[2]), value)
    if shown.startswith("< "):
        return 0 <= value < float(shown[2:])
    if shown.endswith(" ms"):
        value *= 1_000
    first = re.search(r"[-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?", shown.replace("$", ""))
    assert first is not None, shown
    digits = first[0].replace(",", "")
    if "e" in digits:
        return math.isclose(float(digits), value, rel_tol=0.005)
    scale = 100 if re.search(r"%| pp", shown) else 1
    within = 0.5001 * 10.0 ** -len(digits.partition(".")[2])
    return abs(float(digits) - scale * value) <= within or abs(float(digits) - 100 * value) <= within


def strange_cells(column: Column, known: set[float]) -> Iterator[str]:
    """The cells whose number is not among the known ones, or that show another number than they hold."""
    for row, value in enumerate(column.values):
        shown = column.shown(row)
        if value is None:
            if column.is_number and any(char.isdigit() for char in shown):
                yield f"{column.name}: {shown} is shown for what is missing"
        elif isinstance(value, (int, float)):
            if value not in known:
                yield f"{column.name}: {value} is not in the JSON"
            is_range = column.name == "interval" or re.fullmatch(r"\d+-\d+", shown)
            if not is_range and not agrees(shown.removeprefix("* "), value):
                yield f"{column.name}: {shown} is shown for {value}"


@pytest.mark.parametrize("name", MADE)
def test_every_number_of_a_page_is_in_the_json_of_its_verb(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    told = result.to_dict()
    known = set(numbers_in(told))
    columns = [column for table in result.page().tables for column in table.columns]
    assert [cell for column in columns for cell in strange_cells(column, known)] == []


def test_the_law_can_fail() -> None:
    column = Column(name="x", title="x", values=[0.5, 0.25, None], decimals=6, texts=["50.0%", "26.0%", "0"])
    assert [cell.split(":")[1] for cell in strange_cells(column, {0.25})] == [
        " 0.5 is not in the JSON",
        " 26.0% is shown for 0.25",
        " 0 is shown for what is missing",
    ]


def test_the_sections_of_a_report_are_the_results_of_their_verbs(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", sy.demo_runs())
    report = sy.report([path])
    assert report.ranking is not None
    assert report.ranking.to_dict() == sy.rank([path], by=["tier"]).to_dict()
    assert report.comparison is not None
    assert report.comparison.to_dict() == sy.compare([path], baseline="tier=T5", candidate="tier=T6").to_dict()
    assert report.judges is not None
    assert report.judges.to_dict() == sy.judges([path], by=["tier"]).to_dict()
    shown = {row["run"]: row for row in report.to_dicts()}
    for metric in ("cost_usd", "impl_rate", "duration_seconds"):
        explained = sy.explain([path], metric, run="demo-T3-fix-race-01").to_dict()
        assert shown["demo-T3-fix-race-01"][metric] == explained["explanation"]["value"]


def test_report_shows_the_requested_metrics() -> None:
    runs = [run for run in sy.demo_runs() if run.task in ("fix-race", "parse-csv")]
    report = sy.report(runs, metrics=["composite_score", "r_prog", "sub_agent_fraction", "tier_uplift"])
    assert report.ranking is not None
    assert report.ranking.metrics == ("composite_score", "r_prog", "sub_agent_fraction")
    assert report.measurement is not None
    page = report.measurement.page()
    names = [column.name for column in page.tables[0].columns]
    assert names == ["tier", "runs", "composite_score", "r_prog", "sub_agent_fraction", "grade"]
    assert [table.name for table in page.tables[:3]] == ["table", "tiers", "components"]
    folded = [table.columns[0].shown(row).split()[0] for table in page.tables[3:4] for row in range(table.rows)]
    assert {"cfp", "pr_revert_rate", "strategic_drift", "total_cost_usd"} < {*folded}


def test_report_ranks_by_a_metric_with_a_better_direction() -> None:
    runs = [run for run in sy.demo_runs() if run.task in ("fix-race", "parse-csv")]
    for asked, ranked in (
        (["total_cost_usd", "sub_agent_fraction", "cfp"], ("cfp", "sub_agent_fraction")),
        (["sub_agent_fraction"], ("composite_score",)),
    ):
        ranking = sy.report(runs, metrics=asked, sections=["rank", "measure"]).ranking
        assert ranking is not None
        assert ranking.metrics == ranked


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"metrics": "agent_advantage"}, "cannot show agent_advantage: no input contains timings"),
        ({"metrics": "r_raw"}, "cannot show r_raw: no task has two outputs"),
        ({"metrics": "tier_uplift"}, "tier_uplift compares tiers"),
        ({"metrics": "total_cost_usd", "sections": "rank"}, "total_cost_usd is in section measure"),
    ],
)
def test_report_rejects_a_metric_that_it_cannot_show(asked: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sy.report(made_runs({"a": 0.9, "b": 0.1}, tasks=5), **asked)  # type: ignore[arg-type] # as on the command line


def test_report_on_an_arena_has_every_score(tmp_path: Path) -> None:
    report = sy.report(filled(tmp_path))
    assert set(report.results) == {"rank", "measure", "compare"}
    assert report.measurement is not None
    assert report.measurement.groups[0].metrics.keys() == {each.name for each in catalog().at("submission")}
    assert report.sentence == "6 submissions on 1 task."
    for section, result in report.results.items():
        assert json.loads(_shell(report.commands[section])) == json.loads(json.dumps(result.to_dict()))


def test_the_commands_of_a_report_give_its_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "runs.jsonl", made_runs({"it's, b": 0.9, "b c": 0.2}, tasks=12))
    report = sy.report([path], where="model=m", confidence=0.9, weight_by="runs", metrics=["pass_rate"])
    for section, result in report.results.items():
        command = report.commands[section]
        done = _shell(command)
        assert json.loads(done) == json.loads(json.dumps(result.to_dict())), command


def _shell(command: str) -> str:
    import shlex

    program, *words = shlex.split(command)
    assert program == "steelyard"
    return steelyard(*words).stdout


class Checked(HTMLParser):
    """What a browser would make of the page, and what is wrong with it."""

    EMPTY = ("meta", "link", "br", "path", "circle", "rect", "line", "col", "hr", "input", "use")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.ids: Counter[str] = Counter()
        self.tags: Counter[str] = Counter()
        self.content: dict[str, list[str]] = {"style": [], "script": [], "title": []}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        for name, value in attrs:
            self.ids[value or ""] += name == "id"
            if name == "style" or name.startswith("on"):
                self.wrong.append(f"<{tag} {name}>")
            if name in ("href", "src", "xlink:href", "action") and not (value or "").startswith(("#", "data:")):
                self.wrong.append(f"<{tag} {name}={value}>")
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.EMPTY:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in self.content:
            self.content[self.open[-1]].append(data)


@pytest.mark.parametrize("name", REPORTS)
def test_the_page_is_sound_html_under_a_strict_policy(name: str, tmp_path: Path) -> None:
    html = REPORTS[name](tmp_path).document()
    page = Checked()
    page.feed(html)
    assert page.wrong == []
    assert page.open == []
    assert [id_ for id_, count in page.ids.items() if id_ and count > 1] == []
    assert (page.tags["h1"], page.tags["main"], page.tags["style"]) == (1, 1, 1)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    script = page.content["script"][-1]
    for content in (page.content["style"][0], script):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy[1]
    assert "unsafe" not in policy[1]


@pytest.mark.checkout
def test_no_code_of_a_page_takes_text_for_markup() -> None:
    for path in [*SRC.glob("pages/**/*.[pj]*"), *SRC.glob("server/*.py")]:
        if path.suffix not in (".py", ".js"):
            continue
        source = path.read_text(encoding="utf-8")
        for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "|safe", "Markup("):
            assert sink not in source, f"{path.name} has {sink}"


@pytest.mark.parametrize("name", ["speedup", "repeatability", "hostile names", "250 runs, some without a cost"])
def test_the_same_runs_give_the_same_bytes(name: str, tmp_path: Path) -> None:
    first, second = (REPORTS[name](tmp_path) for _ in range(2))
    assert first.document() == second.document()
    assert first.markdown() == second.markdown()


def test_the_order_of_rows_does_not_matter() -> None:
    runs = made_runs({"a": 0.9, "b": 0.4}, tasks=10, attempts=3)
    pages = [sy.report(several).page().parts for several in (runs, runs[::-1])]
    assert pages[0] == pages[1]


def unpacked(html: str) -> str:
    """The page with the rows that it holds compressed, as escaped text too."""
    packed = re.findall(r'<script type="application/octet-stream">([^<]*)<', html)
    rows = "".join(gzip.decompress(base64.b64decode(each)).decode() for each in packed)
    scaled = re.findall(r'"decimals":(\d+),"scaled":\[([^\]]*)\]', rows)
    numbers = [
        number_shown(int(number) / 10 ** int(decimals), int(decimals))
        for decimals, listed in scaled
        for number in listed.split(",")
        if number.lstrip("-").isdigit()
    ]
    return html + rows + escape(rows.replace('\\"', '"')) + " ".join(numbers)


def test_no_key_gets_out_of_any_field_and_the_foot_counts_them(tmp_path: Path) -> None:
    body = "Zx9Qw7Er5Ty3Ui1Op0As2Df4Gh6Jk8Lz"
    runs = planted(f" sk-{body} ", count=120)
    report = sy.report(runs, with_outputs=True, title=f"ghp_{body}")
    assert body in json.dumps(report.to_dict())
    html = unpacked(report.document())
    assert report.outputs
    assert "octet-stream" in html
    assert body not in html
    assert body not in report.markdown()
    assert "[API key 1]" in html
    assert "1 API key, 1 GitHub token" in html
    left = sy.report(runs, redact=False)
    assert body in left.document()
    assert "no: keys and tokens are not redacted" in left.document()
    result = sy.rank(runs, by=["agent"])
    result.save(tmp_path / "board.html")
    assert body not in (tmp_path / "board.html").read_text(encoding="utf-8")


def test_outputs_are_shown_only_when_asked_for_and_cut() -> None:
    runs = [sy.Run(task="t", agent="a", attempt=n, output={"text": f"mark{n} " + "x" * 70_000}) for n in (1, 2)]  # type: ignore[arg-type]
    assert "mark1" not in sy.report(runs).document()
    shown = sy.report(runs, with_outputs=True)
    assert "mark1" in shown.document()
    assert [len(output.text) for output in shown.outputs] == [64_000, 64_000]
    assert "... 6,006 more characters" in shown.document()


@pytest.mark.parametrize(
    ("count", "most"), [(10_000, 550_000), pytest.param(50_000, 1_400_000, marks=pytest.mark.long)]
)
def test_a_report_stays_small(count: int, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the report contains the path, whose length varies
    report = sy.report([flat_runs(tmp_path, count).relative_to(tmp_path)], resamples=100)
    html = report.document()
    print(f"{count:,} runs: {len(html.encode()):,} bytes")
    assert len(html.encode()) <= most
    assert len(report.runs) == count


def test_what_a_page_does_not_hold_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.questions._run_rows.MAX_ROWS", 150)
    html = sy.report([flat_runs(tmp_path, 250)]).document()
    assert "100 of 250 rows are not in this file." in html
    assert "The first 100 of 150 rows" in html


def test_a_section_that_is_not_there_says_why() -> None:
    report = sy.report(made_runs({"a": 0.9, "b": 0.1}, tasks=5))
    assert set(report.results) == {"rank", "measure", "compare", "usage", "completeness"}
    assert report.omitted.keys() >= {"judges", "repeatability", "speedup"}
    assert report.omitted == {
        "judges": "no run has judgments",
        "repeatability": "no task has two outputs of the same configuration",
        "speedup": "no input contains timings",
    }
    assert "no judges section" in report.document()
    alone = sy.report(made_runs({"a": 0.9}, tasks=5))
    assert alone.omitted["compare"] == "a comparison needs at least two ranked groups"


def test_what_is_odd_about_runs_is_told_once_however_many_verbs_tell_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    write(path, made_runs({"a": 0.9, "b": 0.1}, tasks=5))
    odd = {
        "id": "odd",
        "task": "task-000",
        "agent": "a",
        "model": "m",
        "tests": {"passed": 1, "failed": 1},
        "passed": True,
    }
    path.write_text(path.read_text() + json.dumps(odd) + '\n{"task": 1}\n', encoding="utf-8")
    measured = {finding.code: finding.count for finding in sy.measure([path], by=["agent"]).findings}
    told = {finding.code: finding.count for finding in sy.report([path]).findings}
    assert {"invalid_record", "verdict_contradicts_tests"} & set(measured)
    assert {code: told.get(code) for code in measured} == measured


def test_sections_are_chosen_by_name() -> None:
    runs = made_runs({"a": 0.9, "b": 0.1}, tasks=5)
    assert [page.name for page in sy.report(runs, sections=["runs", "compare"]).page().parts] == ["compare", "runs"]
    with pytest.raises(UnknownNameError, match="did you mean 'rank'"):
        sy.report(runs, sections=["rnk"])


def test_who_is_compared_by_default_is_what_differs() -> None:
    runs = made_runs({"a": 0.9, "b": 0.1}, tasks=5)
    assert sy.report(runs).ranking.by == ("agent",)  # type: ignore[union-attr]
    assert sy.report(list(sy.demo_runs())).ranking.by == ("tier",)  # type: ignore[union-attr]
    alone = sy.report(runs, by=["model"])
    assert alone.ranking is None
    assert alone.omitted["rank"] == "fewer than two groups to rank"
    assert alone.measurement is not None
    assert alone.measurement.by == ("model",)


def test_a_comparison_names_its_sides_with_their_letters() -> None:
    # names that begin with the other side's letter, so that a letter could mislead
    runs = made_runs({"B-large": 0.2, "A-large": 0.9, "C": 0.5}, tasks=8)
    page = sy.compare(
        runs, baseline="agent=B-large", candidate="agent=A-large", metrics=["pass_rate"], resamples=100
    ).page()
    assert page.table is not None
    assert page.table.caption == "A-large (B) vs. B-large (A), weighted by tasks"
    titles = [column.title for column in page.table.columns]
    assert titles[:4] == ["metric", "A", "B", "B - A"]
    assert titles[-1] == "verdict"
    assert "A-large (B) vs. B-large (A): " in page.also[0].caption
    tasks = {column.name: column for column in page.also[0].columns}
    assert (tasks["baseline"].title, tasks["candidate"].title) == ("A", "B")
    assert set(tasks["solved"].values) <= {"only A", "only B", "both", "neither"}
    others = ["agent=A-large", "agent=C"]
    several = sy.compare(runs, baseline="agent=B-large", candidate=others, metrics=["pass_rate"], resamples=100).page()
    captions = [table.caption for table in several.tables if table.name.startswith("table")]
    assert captions == [
        "A-large (B) vs. B-large (A), weighted by tasks",
        "C (B) vs. B-large (A), weighted by tasks",
    ]


def test_runs_without_a_score_of_judges_are_ranked_by_what_they_have() -> None:
    runs = [sy.Run(id=f"{agent}{n}", task=f"t{n}", agent=agent, passed=n % 2 == 0) for agent in "ab" for n in range(6)]
    assert sy.report(runs).ranking.metrics[0] == "pass_rate"  # type: ignore[union-attr]
    assert sy.report(list(sy.demo_runs())).ranking.metrics[0] == "composite_score"  # type: ignore[union-attr]


def test_a_table_of_runs_gives_what_it_holds() -> None:
    table = sy.read(list(sy.demo_runs()))
    report = sy.report(table)
    assert set(report.results) == {"rank", "measure", "compare"}
    assert report.title == "Report on a table of runs"


def test_markdown_is_for_a_pull_request() -> None:
    text = sy.report(planted(HOSTILE), redact=False).markdown()
    assert text.startswith("# Report on 12 records\n\n**")
    assert "| rank |" in text
    assert not re.search(r"<(?!/?details>|/?summary>)", text)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "](" not in text.replace("\\](", "")


def test_the_command_writes_a_file_and_says_which(tmp_path: Path) -> None:
    write(tmp_path / "runs.jsonl", (run for run in sy.demo_runs() if run.task in ("fix-race", "parse-csv")))
    done = steelyard("report", "runs.jsonl", cwd=tmp_path)
    assert (done.status, done.stdout.splitlines()[-1]) == (0, "wrote report.html")
    assert "T6 hybrid" in done.stdout
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "steelyard rank runs.jsonl --by tier" in html
    assert hashlib.sha256((tmp_path / "runs.jsonl").read_bytes()).hexdigest() in html
    piped = steelyard("report", "-", "--out", "piped.html", cwd=tmp_path, stdin=(tmp_path / "runs.jsonl").read_text())
    assert piped.status == 0
    for section in ("rank", "compare", "judges", "repeatability", "findings", "runs"):
        assert f'<section id="{section}"' in html
        assert f'<section id="{section}"' in (tmp_path / "piped.html").read_text(encoding="utf-8")
    wrong = steelyard("report", "runs.jsonl", "--out", "report.docx", cwd=tmp_path)
    assert wrong.status == 2
    assert ".html" in wrong.stderr


def test_nothing_usable_is_told_in_the_report_and_by_the_status(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"task": 1}\n', encoding="utf-8")
    done = steelyard("report", "bad.jsonl", cwd=tmp_path)
    assert done.status == 1
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "There are no runs." in html
    assert "bad.jsonl:1" in html
    assert steelyard("report", "bad.jsonl", "--json", cwd=tmp_path).status == 1
    assert json.loads(steelyard("report", "bad.jsonl", "--json", cwd=tmp_path).stdout)["run_count"] == 0


def test_a_folder_of_experiments_is_a_report_on_repeated_answers(tmp_path: Path) -> None:
    experiment = Path(__file__).parent / "samples" / "repeatability" / "clamp_experiment.json"
    write_to = tmp_path / "experiments" / "clamp.json"
    write_to.parent.mkdir()
    write_to.write_bytes(experiment.read_bytes())
    done = steelyard("report", "experiments", cwd=tmp_path)
    assert done.status == 0
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<section id="repeatability"' in html
    assert "There are no runs." not in html
