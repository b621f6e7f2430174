"""The examples of the contributor guides (docs/project/guides/agents.md and others) run, and their tables match."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from scripts.quick import Nearest, declared_names, recipes, related_tests

from commands import steelyard
from runner.execution import needs_bubblewrap
from steelyard import metrics
from steelyard.records import Run, Usage, decode_run

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent
PROJECT = ROOT / "docs" / "project"
GUIDES = "\n".join(page.read_text(encoding="utf-8") for page in sorted((PROJECT / "guides").glob("*.md")))
ARCHITECTURE = (PROJECT / "architecture.md").read_text(encoding="utf-8")
MAX_LINES = 150


def block(section: str, language: str, place: int = 0) -> str:
    """A code block of that language in the section."""
    _, _, rest = GUIDES.partition(f"## {section}")
    code = re.findall(rf"```{language}\n(.*?)```", re.split("\n##? ", rest)[0], re.DOTALL)[place]
    assert "._" not in code  # public names only
    return code


def test_the_example_of_a_metric_measures(tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    for place in range(2):
        (tmp_path / "metrics" / f"ours{place}.py").write_text(block("Add a metric", "python", place))
    runs = tmp_path / "runs.jsonl"
    run = '"task": "t", "tool_calls": 4, "usage": {"input_tokens": 100, "output_tokens": 20}, "passed"'
    times = '"started_at": "2026-01-01T00:00:00Z", "ended_at": "2026-01-01T00:00:09Z"'
    runs.write_text(f'{{"id": "r", {run}: true, {times}}}\n{{"id": "s", {run}: false, {times}}}\n')
    done = steelyard("measure", str(runs), "--json", STEELYARD_METRICS=str(tmp_path / "metrics"))
    metrics = json.loads(done.stdout)["groups"][0]["metrics"]
    assert metrics["tokens_per_call"]["median"] == 30.0  # 120 / 4
    assert metrics["time_of_pass"]["value"] == 18.0  # 9 / 0.5


def read_as_my_agent(tmp_path: Path, lines: str) -> Run:
    """The one run that the example of a format reads from the lines."""
    (tmp_path / "formats").mkdir(exist_ok=True)
    (tmp_path / "formats" / "ours.py").write_text(block("Add a log format", "python"))
    sample, out = tmp_path / "session.jsonl", tmp_path / "runs.jsonl"
    sample.write_text(lines)
    done = steelyard("read", str(sample), "--out", str(out), STEELYARD_FORMATS=str(tmp_path / "formats"))
    assert done.status == 0, done.stderr
    return decode_run(out.read_bytes())


def test_the_example_of_a_format_gives_what_the_example_of_its_test_states(tmp_path: Path) -> None:
    run = read_as_my_agent(tmp_path, block("Add a log format", "json"))
    assert run.source is not None
    assert (run.source.format, run.task) == ("my-agent", "fix-it")
    names = {"only": lambda _: run, "SAMPLES": tmp_path, "Usage": Usage}
    exec(block("Add a log format", "python", 1), names)  # noqa: S102 - our own page
    names["test_my_agent_adds_up_its_steps"]()  # type: ignore[operator] # the page defines it


@pytest.mark.parametrize(
    ("answer", "usage", "known"),
    [
        ('"answer_tokens": 70', Usage(output_tokens=140), "counted"),
        ('"answer_tokens": null', None, "unknown"),
    ],
)
def test_what_no_step_of_the_example_states_stays_unknown(
    answer: str, usage: Usage | None, known: str, tmp_path: Path
) -> None:
    run = read_as_my_agent(tmp_path, f'{{"session_id": "s-1", {answer}}}\n' * 2)
    assert run.usage == usage
    assert (run.provenance or {})["usage"] == known


@needs_bubblewrap
def test_the_example_of_an_agent_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plans" / "agents").mkdir(parents=True)
    (tmp_path / "plans" / "agents" / "mine.toml").write_text(block("Add an agent", "toml"))
    (tmp_path / "plans" / "mine.toml").write_text(block("Add an agent", "toml", 1))
    monkeypatch.chdir(tmp_path)
    shown = block("Add an agent", "console", 1)
    for command in re.findall(r"^\$ steelyard (.+)$", shown, re.MULTILINE):
        done = steelyard(*command.split())
        assert done.status == 0, done.stderr
        assert done.stdout.startswith("mine: 1 ")


def test_contributing_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_architecture_lists_every_package() -> None:
    table = ARCHITECTURE.partition("| package |")[2].partition("\n\n")[0]
    for folder in (ROOT / "src" / "steelyard").iterdir():
        if (folder / "__init__.py").exists():
            assert re.search(rf"`{folder.name}[/`]", table), folder.name


def test_the_functions_of_formulas_have_the_parameters_that_the_page_shows() -> None:
    table = GUIDES.partition("| function |")[2].partition("\n\n")[0]
    shown = re.findall(r"`(\w+)\((.+?)\)`", table)
    assert len(shown) == 8
    for name, parameters in shown:
        signature = inspect.signature(getattr(metrics, name))
        plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
        assert str(inspect.Signature(plain)) == f"({parameters})"


def test_the_walks_meet_every_file_that_they_name() -> None:
    command = [sys.executable, "scripts/walk.py"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    walks = ARCHITECTURE.partition("## From a Claude Code log")[2].split("## From an arena")
    for walk, met in zip(walks, listed.split("an arena submission"), strict=True):
        for name in re.findall(r"`([\w/]+/\w+\.py)`", walk):
            assert f"  {name}\n" in met or name == "scripts/walk.py", name


@pytest.mark.parametrize(
    ("path", "test"),
    [
        ("src/steelyard/records/_derived_fields.py", "tests/test_derived_fields.py"),
        ("src/steelyard/metrics/planted.py", "tests/test_every_metric.py"),
        ("src/steelyard/sources/formats/planted.py", "tests/test_every_format.py"),
        ("tests/samples/formats/planted/session.jsonl", "tests/test_every_format.py"),
        ("src/steelyard/questions/planted.py", "tests/test_every_question.py"),
        ("src/steelyard/cli/planted.py", "tests/test_every_command.py"),
        ("src/steelyard/questions/_figure_options.py", "tests/test_adding_an_option.py"),
        ("src/steelyard/questions/_options.py", "tests/test_adding_an_option.py"),
        ("src/steelyard/store/migrations/m9999_planted.py", "tests/arena/test_schema.py"),
        ("src/steelyard/figures/_planted.py", "tests/test_every_figure.py"),
        ("src/steelyard/questions/report/_sections.py", "tests/test_report.py"),
        ("src/steelyard/runner/agents/planted.toml", "tests/runner/test_adapters.py"),
        ("docs/planted.md", "tests/test_every_block.py"),
    ],
)
def test_quick_begins_with_the_test_of_the_recipe(path: str, test: str) -> None:
    assert related_tests([path])[0] == test
    assert related_tests(["CHANGELOG.md", "docs/metrics.md", "docs/index.md", path])[0] == test


def test_quick_knows_the_files_and_tests_of_every_recipe() -> None:
    rows = GUIDES.partition("| add | files |")[2].partition("\n\n")[0].splitlines()[2:]
    assert len({" ".join(recipe.tests) for recipe in recipes()}) == len(rows)
    assert all((ROOT / test).exists() for recipe in recipes() for test in recipe.tests)


def test_quick_knows_formats_and_metrics_by_the_names_in_test_ids() -> None:
    assert "planted-agent" in declared_names(["src/steelyard/sources/formats/planted_agent.py"])
    assert "planted" in declared_names(["tests/samples/formats/planted/session.jsonl"])
    assert "inspect" in declared_names(["src/steelyard/sources/formats/inspect_ai.py"])
    assert "pass_rate" in declared_names(["src/steelyard/metrics/outcome.py"])
    assert declared_names(["docs/formats.md"]) == {"docs/formats.md"}  # and not the tests of the folder `formats`
    assert not declared_names(["src/steelyard/sources/formats/_file_reader.py"])


def test_quick_runs_what_is_named_before_other_files_and_the_rest_of_its_own_after_them() -> None:
    ids = ["a.py::test[runs/x.json]", "a.py::test[codex/x.json]", "a.py::test[codex-exec/x.json]", "b.py::test"]
    items = [SimpleNamespace(nodeid=name, path=ROOT / name[:4]) for name in ids]
    nearest = Nearest([], {"codex"}, until=0.0)
    nearest.pytest_collection_modifyitems(items)  # type: ignore[arg-type] # all it looks at
    assert [ids.index(item.nodeid) for item in items] == [1, 3, 0, 2]
    nearest.pytest_collection_finish(SimpleNamespace(items=items))  # type: ignore[arg-type] # all it looks at
    assert nearest.about_names() == "ran for codex: nothing; not reached: a.py"
    nearest.pytest_runtest_logfinish(ids[1])
    assert nearest.about_names() == "ran for codex: a.py"
