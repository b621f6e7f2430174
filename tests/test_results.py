"""Every verb's result has the same manners: frozen, JSON with its version, rows, data frames, one line as text."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, ClassVar

import msgspec
import polars as pl
import pytest

import steelyard as sy
from arena_results import ARENA_RESULTS
from steelyard.cli import run
from steelyard.errors import MissingExtraError, UsageError
from steelyard.pages import Page, cell_len, json_text
from steelyard.profiles import DEFAULT, load_profile
from steelyard.questions import Answer, Rows, list_runs, question_named, question_names
from steelyard.questions.canon import Canons, StoredCanon
from steelyard.questions.doctor import doctor
from steelyard.questions.explain import Explanation
from steelyard.questions.formats import formats
from steelyard.questions.mapping_list import mapping_list
from steelyard.questions.metrics import metrics
from steelyard.questions.prices import prices
from steelyard.questions.profiles import profiles
from steelyard.questions.read import RunReading
from steelyard.questions.run import export_plan
from steelyard.questions.show import RunOutput, piece_of
from steelyard.questions.show_steps import show_steps
from steelyard.records import encode_run
from steelyard.server import routes_listed

SAMPLES = Path(__file__).parent / "samples"
SESSION = SAMPLES / "formats" / "claude-code" / "session.jsonl"


def written_runs(folder: Path) -> Path:
    path = folder / "runs.jsonl"
    path.write_bytes(b"".join(encode_run(record) + b"\n" for record in sy.demo_runs()))
    return path


def read_summary(folder: Path) -> Answer:
    reading = RunReading([SAMPLES / "formats", written_runs(folder)])
    list(reading)
    return reading.summary


def repeatability(_folder: Path) -> Answer:
    experiment = SAMPLES / "repeatability" / "clamp_experiment.json"
    return sy.repeatability([experiment], options=sy.RepeatabilityOptions(repair=False))


def one_task(_folder: Path) -> Answer:
    timings = SAMPLES / "speedup" / "pyperf.json"
    return sy.speedup(sy.TaskFiles(task="t", nop=timings, oracle=timings, agents={"tool:model": timings}))


def canons(prompt: str = "clamp") -> Canons:
    canon = StoredCanon(
        prompt=prompt,
        code="x = 1",
        normalized="x=1",
        signature="ab",
        contract={"id": "clamp"},
        normalization_version="ast-1",
        oracle_version="oracle-1",
        distance_version="distance-1",
        origin=None,
        set_at="2026-01-05T08:00:00+00:00",
        retired_at=None,
    )
    return Canons(canons=(canon,))


def written_plan(folder: Path) -> Path:
    path = folder / "plan.toml"
    path.write_text('[plan]\nname = "p"\n[[tasks]]\nid = "t"\nprompt = "Do it."\n[[agents]]\nuse = "nop"\n')
    return path


def plan_results(folder: Path) -> Path:
    sy.run(written_plan(folder), out=folder / "runs")
    return folder / "runs"


def groups(metric: str) -> Callable[[Path], Explanation]:
    return lambda folder: sy.explain(written_runs(folder), metric, by=["tier"])


MADE: dict[str, Callable[[Path], Answer]] = {
    "Measurement": lambda _: sy.measure(sy.demo_runs(), by=["tier"]),
    "Measurement with intervals": lambda _: sy.measure(sy.demo_runs(), by=["tier", "task"], interval="auto"),
    "Explanation": groups("cost_of_pass"),
    "Explanation of runs": groups("composite_score"),
    "Explanation of components": groups("component_tokens"),
    "Explanation across tiers": groups("tier_uplift"),
    "Explanation of all tiers": groups("cost_variance"),
    "Explanation of one run": lambda folder: sy.explain(
        written_runs(folder), "composite_score", run="demo-T3-fix-race-01"
    ),
    "RunOutput": lambda _: RunOutput(run="a", output=piece_of("print(1)")),
    "RunDetail": lambda folder: sy.show(written_runs(folder), run="demo-T3-fix-race-01"),
    "RunSteps": lambda _: show_steps(SESSION),
    "IntegritySummary": lambda _: sy.integrity(SESSION),
    "FailureSummary": lambda _: sy.failures(sy.demo_runs(), by=["tier"]),
    "Matches": lambda _: sy.find(SESSION, pattern="a"),
    "ReadSummary": read_summary,
    "Repeatability": repeatability,
    "Comparison": lambda _: sy.compare(sy.demo_runs(), baseline="tier=T0", candidate=["tier=T1", "tier=T2"]),
    "Gate": lambda _: sy.gate(sy.demo_runs(), baseline=sy.demo_runs(), rule=["pass_rate >= -0.02", "cost_usd <= +10%"]),
    "Matrix": lambda _: sy.matrix(sy.demo_runs(), by=["tier"]),
    "Ranking": lambda _: sy.rank(sy.demo_runs(), by=["tier"]),
    "Judges": lambda _: sy.judges(sy.demo_runs()),
    "RunList": lambda _: list_runs(sy.read(sy.demo_runs()), load_profile(DEFAULT)),
    "MappingList": lambda _: mapping_list(),
    "Formats": lambda _: formats(),
    "Metrics": lambda _: metrics(),
    "Profiles": lambda _: profiles(),
    "Prices": lambda _: prices("claude-opus-4-6"),
    "ApiRoutes": lambda _: routes_listed(),
    "Report": lambda _: sy.report(sy.demo_runs(), with_outputs=True),
    "SpeedupResult": lambda _: sy.speedup(SAMPLES / "speedup" / "fceval-results.json"),
    "SpeedupResult of one task": one_task,
    "Doctor": lambda _: doctor(),
    "PlannedComparison": lambda _: sy.power(pass_rate=0.6, effect_size=0.2),
    "UsageSummary": lambda _: sy.usage(sy.demo_runs(), tz="UTC"),
    "UsageSummary of sessions": lambda _: sy.usage(SAMPLES / "formats", by=["session"], tz="UTC", budget=1),
    "CompletenessSummary": lambda _: sy.completeness(SAMPLES / "formats", by=["agent"]),
    "PlanRun": lambda folder: sy.run(written_plan(folder), out=folder / "runs"),
    "PlanOutlook": lambda folder: sy.run(written_plan(folder), out=folder / "runs", dry_run=True),
    "PlanExport": lambda folder: export_plan(written_plan(folder), out=folder / "job"),
    "PlanTrials": lambda folder: sy.run_list(plan_results(folder)),
    "TrialDetail": lambda folder: sy.run_show(plan_results(folder), trial=""),
    "Canons": lambda _: canons(),
    "Canons without any": lambda _: Canons(canons=()),
    **ARENA_RESULTS,
}


def breaches(result: Answer) -> list[str]:
    """The manners that the result does not keep."""
    kept = {
        "it is frozen, and so is all it holds": not list(thawed(result)),
        "its JSON begins with the version": next(iter(result.to_dict().items())) == ("schema_version", 1),
        "its JSON is strict": strict(result.to_dict()),
        "its rows have the same keys": len({tuple(row) for row in result.to_dicts()}) <= 1,
        "its rows are flat": not any(
            isinstance(cell, (list, tuple, dict)) for row in result.to_dicts() for cell in row.values()
        ),
        "its frame holds its rows": result.to_polars().height == len(result.to_dicts()),
        "its pandas frame holds its rows": result.to_pandas().shape[0] == len(result.to_dicts()),
        "it is one short line as text": repr(result).isprintable() and len(repr(result)) < 120,
        "it is named as text": repr(result).startswith(f"{type(result).__name__}("),
        "it prints in lines that fit": is_printed(result),
        "it is a page in a notebook": result._repr_html_().startswith("<section><h3>"),
        "it is a page": result.document().count("<h1") == 1,
        "it is text for a pull request": "# " in result.markdown(),
    }
    return [manner for manner, holds in kept.items() if not holds]


def is_printed(result: Answer) -> bool:
    """Whether its text has an answer and lines of printable characters, none too wide."""
    lines, width = str(result).split("\n"), max(get_terminal_size((80, 24)).columns, 40)
    return bool(lines[0]) and all(line.isprintable() and cell_len(line) <= width for line in lines)


def strict(shape: dict[str, Any]) -> bool:
    try:
        return bool(json.loads(json.dumps(shape, allow_nan=False)) == shape)
    except (TypeError, ValueError):
        return False


def thawed(value: object) -> Iterator[str]:
    """The records and lists inside the value that could be changed; the JSON values of a mapping may hold lists."""
    parts: list[object] = []
    if isinstance(value, list | set):
        yield f"a {type(value).__name__}"
    elif isinstance(value, tuple):
        parts = list(value)
    elif isinstance(value, Mapping):
        parts = [part for part in value.values() if not isinstance(part, list)]
    elif isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            yield type(value).__name__
        parts = [getattr(value, name) for name in value.__struct_fields__]
    elif dataclasses.is_dataclass(value):
        if not value.__dataclass_params__.frozen:  # type: ignore[attr-defined] # typeshed does not know it
            yield type(value).__name__
        parts = [getattr(value, field.name) for field in dataclasses.fields(value)]
    for part in parts:
        yield from thawed(part)


@pytest.mark.parametrize("name", MADE)
def test_every_result_has_the_manners(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    assert type(result).__name__ == name.split(maxsplit=1)[0]
    assert breaches(result) == []
    assert list(result.to_dict())[1:]


@pytest.mark.parametrize("name", MADE)
def test_json_in_pieces_is_the_json_of_the_answer(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    assert "".join(result.json_pieces()) == json_text(result.to_dict())


def _kinds(kind: type[Any]) -> Iterator[type[Any]]:  # Any: results and answers
    for below in kind.__subclasses__():
        yield below
        yield from _kinds(below)


def test_every_kind_of_result_stands_in_the_law() -> None:
    kinds = {question_named(name).answer.__name__ for name in question_names()}
    answers = {kind for kind in _kinds(Answer) if hasattr(kind, "rows")}  # some routes are no questions
    kinds |= {kind.__name__ for kind in answers if kind.__module__.startswith("steelyard.")}
    assert kinds == {name.split(maxsplit=1)[0] for name in MADE}


class Entry(msgspec.Struct, frozen=True):
    row: int


class Polite(Answer, frozen=True, kw_only=True, tag=1):
    rows: ClassVar[Rows] = Rows("entries")
    entries: tuple[Entry, ...] = (Entry(1), Entry(2))

    @property
    def about(self) -> str:
        return f"{len(self.entries)} entries"

    def page(self) -> Page:
        return Page(name="polite", title="Polite", answer=self.about)


class Unversioned(Polite):
    def to_dict(self) -> dict[str, Any]:
        return {"rows": [], "schema_version": 1}


class NotStrict(Polite):
    def to_dict(self) -> dict[str, Any]:
        return {"schema_version": 1, "fraction": float("nan")}


class TwoLines(Polite):
    def __repr__(self) -> str:
        return "TwoLines(\n)"


class Endless(Polite):
    def __repr__(self) -> str:
        return f"Endless({'x' * 120})"


class Uneven(Polite):
    def to_dicts(self) -> list[dict[str, Any]]:
        return [{"a": 1}, {"b": [2]}]


class Headless(Polite):
    def to_polars(self) -> pl.DataFrame:
        return pl.DataFrame()


class Holding(Polite, frozen=True, kw_only=True):
    part: Any = msgspec.field(default_factory=list)


@dataclasses.dataclass
class Loose:
    count: int = 0


@pytest.mark.parametrize(
    ("rude", "broken"),
    [
        (Unversioned(), ["its JSON begins with the version"]),
        (NotStrict(), ["its JSON is strict"]),
        (TwoLines(), ["it is one short line as text"]),
        (Endless(), ["it is one short line as text"]),
        (Uneven(), ["its rows have the same keys", "its rows are flat"]),
        (Headless(), ["its frame holds its rows"]),
        (Holding(), ["it is frozen, and so is all it holds"]),
        (Holding(part=(Loose(),)), ["it is frozen, and so is all it holds"]),
        (Holding(part={"a": Loose()}), ["it is frozen, and so is all it holds"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_the_law_can_fail(rude: Answer, broken: list[str]) -> None:
    assert breaches(Polite()) == []
    assert breaches(rude) == broken


def test_a_result_cannot_be_changed() -> None:
    comparison = sy.compare(sy.demo_runs(), baseline="tier=T0", candidate="tier=T2")
    with pytest.raises(AttributeError, match="immutable"):
        comparison.profile = "mine"  # type: ignore[misc] # that is the point
    assert repr(comparison) == "Comparison(B tier=T2 vs A tier=T0: 6 metrics, 20 common tasks)"


def test_a_printed_result_says_what_the_command_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    runs = written_runs(tmp_path)
    assert run(["measure", str(runs), "--by", "tier"]) == 0
    assert capsys.readouterr().out.rstrip() == str(sy.measure(runs, by=["tier"]))
    assert run(["compare", str(runs), "-a", "tier=T0", "-b", "tier=T1", "--resamples", "100"]) == 0
    compared = str(sy.compare(runs, baseline="tier=T0", candidate="tier=T1", resamples=100))
    assert capsys.readouterr().out.split() == compared.split()  # a terminal indents long lines
    assert run(["gate", str(runs), "--rule", "pass_rate >= 0.9"]) == 3
    assert capsys.readouterr().out.rstrip() == str(sy.gate(runs, rule=["pass_rate >= 0.9"]))
    many = str(sy.completeness(runs, by=["task"]))
    assert max(map(len, many.splitlines())) <= 100


def test_names_from_logs_do_not_break_the_line() -> None:
    class Named(Polite):
        @property
        def about(self) -> str:
            return "two\nlines \x1b[31m" + "x" * 300

    assert repr(Named()).startswith("Named(two lines xxx")
    assert repr(Named()).endswith("...)")
    assert breaches(Named()) == []
    assert "&lt;b&gt;" in canons("<b>")._repr_html_()


def test_a_result_saves_itself_by_the_ending(tmp_path: Path) -> None:
    result = sy.rank(sy.demo_runs(), by=["tier"])
    for ending in ("json", "csv", "parquet"):
        result.save(tmp_path / f"rank.{ending}")
    assert json.loads((tmp_path / "rank.json").read_text("utf-8")) == result.to_dict()
    assert pl.read_csv(tmp_path / "rank.csv")["rank"].to_list() == [row["rank"] for row in result.to_dicts()]
    assert pl.read_parquet(tmp_path / "rank.parquet").equals(result.to_polars())
    with pytest.raises(UsageError, match="unsupported file type"):
        result.save(str(tmp_path / "rank.docx"))


@pytest.mark.parametrize("made", [Polite(), MADE["SpeedupResult"](Path())], ids=lambda made: type(made).__name__)
def test_without_pandas_the_error_names_the_extra(made: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="to_pandas"):
        made.to_pandas()


@pytest.mark.parametrize(
    ("command", "listed"),
    [
        ("metrics", "metrics"),
        ("metrics cost_of_pass", "metrics"),
        ("prices", "price_tables"),
        ("prices o3", "models"),
        ("profiles", "profiles"),
        ("profiles outcome-1", "profiles"),
        ("doctor", "checks"),
        ("demo", "groups"),
    ],
)
def test_every_json_answer_is_an_object_with_its_version(
    command: str, listed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert next(iter(answer)) == "schema_version"
    assert answer[listed]


HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e'


@pytest.mark.parametrize(
    "verb", ["measure", "rank", "matrix", "completeness", "usage", "judges", "compare", "gate", "report"]
)
def test_names_from_data_are_escaped_in_a_notebook(verb: str) -> None:
    judged = [{"judge": f"{HOSTILE}{n}", "weighted_score": 0.5} for n in range(2)]
    runs: list[dict[str, Any]] = [
        {
            "task": f"{HOSTILE}{n}",
            "agent": f"{HOSTILE}{n % 2}",
            "model": HOSTILE,
            "passed": n % 3 == 0,
            "judgments": judged,
        }
        for n in range(6)
    ]
    asked: dict[str, dict[str, Any]] = {
        "rank": {"by": ["agent"], "metrics": ["pass_rate"], "min_task_coverage": 0.0},
        "measure": {"by": ["agent", "task"]},
        "compare": {"baseline": {"agent": f"{HOSTILE}0"}, "candidate": {"model": HOSTILE}},
        "gate": {"rule": ["pass_rate >= 0.2"]},
    }
    if verb == "rank":  # ranks stand on the tasks that all tried
        runs = [{**run, "task": HOSTILE, "attempt": n} for n, run in enumerate(runs, 1)]
    shown = getattr(sy, verb)(runs, **asked.get(verb, {}))._repr_html_()
    assert "<script" not in shown
    assert not {"\x1b", "\u202e"} & set(shown)
