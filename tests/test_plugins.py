"""Metrics and formats of others: from installed packages and from folders, with public names only."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from commands import Done, steelyard

TESTS = Path(__file__).parent
SUPPORT = TESTS / "support"
PLUGIN = TESTS / "plugin"
CODE = PLUGIN / "src" / "steelyard_acme"
SAMPLE = PLUGIN / "samples" / "session.jsonl"
OWN_RECORD = '{"id": "r", "task": "t", "usage": {"input_tokens": 90, "output_tokens": 30}}\n'
CHECKED = {"SAMPLES": str(TESTS / "samples" / "formats"), "PYTHONDONTWRITEBYTECODE": "1"}


def run(*command: str | Path, cwd: Path | None = None, **environment: str) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **environment}, timeout=900
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def install(python: Path | str, project: Path, scratch: Path, *options: str | Path) -> None:
    """Installs a copy, so that building leaves nothing in the checkout."""
    copy = scratch / f"build-{project.name}"
    left_out = shutil.ignore_patterns(".*", "build", "dist", "tests", "benchmarks", "__pycache__")
    shutil.copytree(project, copy, ignore=left_out)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, copy)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the plug-in as an installer leaves it."""
    scratch = tmp_path_factory.mktemp("plugin")
    target = scratch / "site"
    install(sys.executable, PLUGIN, scratch, "--no-deps", "--no-build-isolation", "--target", target)
    return target


def with_path(*folders: Path) -> str:
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def check_used(answers: dict[str, str]) -> None:
    """Listed, read and measured, as the answers of the four commands say."""
    assert "output_fraction" in answers["metrics"]
    formats = {declared["name"]: declared for declared in json.loads(answers["formats"])["formats"]}
    assert formats["acme"] | {"title": ""} == {
        "name": "acme",
        "title": "",
        "kind": "sessions",
        "family": "acme",
        "yields": ["calls", "usage"],
    }
    assert json.loads(answers["read"])["formats"]["acme"]["runs"] == 1
    share = json.loads(answers["measure"])["groups"][0]["metrics"]["output_fraction"]
    assert share["median"] == 0.2  # 40 + 40 of 120 + 40 + 200 + 40


COMMANDS = {
    "metrics": ("metrics", "--json"),
    "formats": ("formats", "--json"),
    "read": ("read", str(SAMPLE), "--json"),
    "measure": ("measure", str(SAMPLE), "--metrics", "output_fraction", "--json"),
}


def test_an_installed_plug_in_is_listed_and_used(installed: Path) -> None:
    path = with_path(installed)
    check_used({name: steelyard(*command, PYTHONPATH=path).stdout for name, command in COMMANDS.items()})


def test_an_installed_plug_in_is_covered_by_the_laws(installed: Path, tmp_path: Path) -> None:
    laws = shutil.copytree(PLUGIN / "tests", tmp_path / "plugin" / "tests")
    shutil.copytree(PLUGIN / "samples", tmp_path / "plugin" / "samples")
    shown = run(sys.executable, "-m", "pytest", "-q", laws, PYTHONPATH=with_path(installed, SUPPORT), **CHECKED)
    assert "6 passed" in shown


@pytest.mark.long
def test_a_plug_in_works_in_a_clean_environment(tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=True)
    python = tmp_path / "clean" / "bin" / "python"
    install(python, TESTS.parent, tmp_path)
    install(python, PLUGIN, tmp_path)
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "pytest", "hypothesis")
    here = {"PYTHONPATH": "", "cwd": tmp_path}
    check_used({name: run(python, "-m", "steelyard", *command, **here) for name, command in COMMANDS.items()})
    shutil.copytree(PLUGIN / "tests", tmp_path / "plugin" / "tests")
    shutil.copytree(PLUGIN / "samples", tmp_path / "plugin" / "samples")
    laws = run(python, "-m", "pytest", "-q", tmp_path / "plugin" / "tests", PYTHONPATH=str(SUPPORT), **CHECKED)
    assert "6 passed" in laws


def test_the_plug_in_is_short_and_uses_public_names_only() -> None:
    for name, most in (("metrics.py", 15), ("session_log.py", 40)):
        text = (CODE / name).read_text(encoding="utf-8")
        assert len([line for line in text.splitlines() if line.strip()]) <= most
        modules = [node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        assert any(module.startswith("steelyard.") for module in modules)
        assert not any("._" in module for module in modules)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ours").mkdir()
    return tmp_path / "ours"


def test_folders_named_in_settings_are_plug_ins(folder: Path, tmp_path: Path) -> None:
    shutil.copy(CODE / "session_log.py", folder)
    (tmp_path / "metrics").mkdir()
    shutil.copy(CODE / "metrics.py", tmp_path / "metrics")
    here = {"STEELYARD_FORMATS": str(folder), "STEELYARD_METRICS": str(tmp_path / "metrics")}
    check_used({name: steelyard(*command, **here).stdout for name, command in COMMANDS.items()})
    doctor = steelyard("doctor", "--json", **here).stdout
    assert all(setting in doctor for setting in here)


def test_an_entry_point_may_name_the_object_itself(folder: Path) -> None:
    shutil.copytree(CODE, folder / "steelyard_acme")
    info = folder / "named-2.0.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: named\nVersion: 2.0\n")
    points = "[steelyard.metrics]\na = steelyard_acme.metrics:output_fraction\n"
    points += "[steelyard.formats]\na = steelyard_acme.session_log:FORMAT\n"
    info.joinpath("entry_points.txt").write_text(points)
    path = with_path(folder)
    check_used({name: steelyard(*command, PYTHONPATH=path).stdout for name, command in COMMANDS.items()})


STOPWATCH = """
from steelyard.sources import OpenedFile, TimingFile, TimingFormat, collected
from steelyard.records import Timing, TimingSummary, place_of


def read(opened: OpenedFile) -> TimingFile:
    timings = (
        Timing(name=name, function=place_of(name).function, summary=TimingSummary(median=seconds))
        for name, seconds in opened.values["stopwatch"].items()
    )
    return collected(opened.path, "stopwatch", timings)


FORMAT = TimingFormat(
    name="stopwatch",
    title="Times by hand",
    yields=("benchmarks",),
    recognizes=lambda opened: isinstance(opened.values, dict) and "stopwatch" in opened.values,
    read=read,
)
"""


def test_a_format_of_timings_plugs_in_too(folder: Path, tmp_path: Path) -> None:
    (folder / "stopwatch.py").write_text(STOPWATCH)
    (tmp_path / "times.json").write_text('{"stopwatch": {"time_sort": 1.5}}')
    here = {"STEELYARD_FORMATS": str(folder)}
    listed = json.loads(steelyard("formats", "--json", **here).stdout)["formats"]
    assert ("stopwatch", "timings") in [(declared["name"], declared["kind"]) for declared in listed]
    code = "import sys; from pathlib import Path; from steelyard.sources import read_timings as read"
    shown = run(sys.executable, "-c", f"{code}; print(read(Path(sys.argv[1])))", tmp_path / "times.json", **here)
    assert "format='stopwatch'" in shown
    assert "median=1.5" in shown


def test_processes_that_share_the_reading_know_the_formats_of_plug_ins(folder: Path, tmp_path: Path) -> None:
    shutil.copy(CODE / "session_log.py", folder)
    for number in range(40):
        text = SAMPLE.read_text(encoding="utf-8").replace("s-1", f"s-{number}").replace('"c-', f'"{number}-')
        (tmp_path / f"{number}.jsonl").write_text(text)
    code = (
        "from steelyard.sources import PlacedRun\nfrom steelyard.sources.formats import _file_reader\n"
        "from steelyard.sources import gather\n"
        "from pathlib import Path\n_file_reader.WORTH_IT_BYTES = 0\n_file_reader.BATCH_BYTES = 300\n"
        f"items = list(gather([Path({str(tmp_path)!r})], workers=3))\n"
        "print(sum(isinstance(item, PlacedRun) for item in items))"
    )
    assert run(sys.executable, "-c", code, STEELYARD_FORMATS=str(folder)).strip() == "40"


def test_formats_of_ours_are_asked_first_and_our_own_records_last(folder: Path, tmp_path: Path) -> None:
    text = (CODE / "session_log.py").read_text(encoding="utf-8")
    (folder / "greedy.py").write_text(text.replace('head.has("acme_session")', "True").replace('"acme"', '"greedy"'))
    (tmp_path / "own.jsonl").write_text(OWN_RECORD)
    claude = TESTS / "samples" / "formats" / "claude-json"
    for path, name in ((claude, "claude-json"), (tmp_path / "own.jsonl", "greedy")):
        answer = json.loads(steelyard("read", str(path), "--json", STEELYARD_FORMATS=str(folder)).stdout)
        assert list(answer["formats"]) == [name]


def test_a_broken_plug_in_does_not_touch_files_of_our_formats(folder: Path) -> None:
    (folder / "broken.py").write_text("1 / 0\n")
    claude = TESTS / "samples" / "formats" / "claude-json"
    assert steelyard("read", str(claude), "--json", STEELYARD_FORMATS=str(folder)).status == 0


METRIC = (CODE / "metrics.py").read_text(encoding="utf-8")
FORMAT = (CODE / "session_log.py").read_text(encoding="utf-8")
WRONG = {
    "METRICS taken": (METRIC.replace("output_fraction", "cost_of_pass"), "duplicate metric name 'cost_of_pass'"),
    "METRICS circle": (
        METRIC.replace("output_tokens: R", "output_fraction: R"),
        "unknown field or metric 'output_fraction'",
    ),
    "METRICS syntax": ("def broken(:\n", "cannot be imported: SyntaxError"),
    "METRICS raises": ("1 / 0\n", "cannot be imported: ZeroDivisionError: division by zero"),
    "METRICS none": ("x = 1\n", "plug-in declares no metric"),
    "METRICS declared": (METRIC.replace("metric(\n", "metric(\n    per_run=True,\n"), "per_run is for group metrics"),
    "FORMATS taken": (FORMAT.replace('"acme"', '"codex"'), "duplicate format name 'codex'"),
    "FORMATS native": (FORMAT.replace('"acme"', '"runs-csv"'), "duplicate format name 'runs-csv'"),
    "FORMATS import": ("import no_such_module\n", "cannot be imported: ModuleNotFoundError"),
    "FORMATS field": (FORMAT.replace("kind=", "kidn="), "cannot be imported: TypeError"),
    "FORMATS none": ("FORMATS = 1\n", "no FORMAT defined"),
}


def check_error(done: Done, where: str, said: str) -> None:
    assert done.status in (1, 2)
    assert "Traceback" not in done.stderr
    assert where in done.stderr.replace("\n", "")
    assert said in " ".join(done.stderr.split())


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_plug_in_is_an_error_that_names_its_file(case: str, folder: Path) -> None:
    kind = case.split(maxsplit=1)[0]
    text, said = WRONG[case]
    (folder / "wrong.py").write_text(text)
    done = steelyard(kind.lower(), **{f"STEELYARD_{kind}": str(folder)})
    check_error(done, str(folder / "wrong.py"), said)


@pytest.mark.parametrize("kind", ["metrics", "formats"])
def test_a_folder_that_is_not_there_is_an_error(kind: str, tmp_path: Path) -> None:
    done = steelyard(kind, **{f"STEELYARD_{kind.upper()}": str(tmp_path / "nowhere")})
    check_error(done, str(tmp_path / "nowhere"), "no such directory")
    assert done.status == 2


@pytest.mark.parametrize("kind", ["metrics", "formats"])
def test_two_plug_ins_of_one_name_are_an_error_that_names_the_second(kind: str, folder: Path) -> None:
    for name in ("first.py", "second.py"):
        (folder / name).write_text(METRIC if kind == "metrics" else FORMAT)
    check_error(steelyard(kind, **{f"STEELYARD_{kind.upper()}": str(folder)}), "second.py", "duplicate")


@pytest.mark.parametrize("kind", ["metrics", "formats"])
def test_a_broken_package_is_an_error_that_names_its_distribution(kind: str, folder: Path) -> None:
    info = folder / "broken_one-3.1.dist-info"
    info.mkdir()
    info.joinpath("METADATA").write_text("Metadata-Version: 2.1\nName: broken-one\nVersion: 3.1\n")
    info.joinpath("entry_points.txt").write_text(f"[steelyard.{kind}]\nx = no_such_module\n")
    check_error(steelyard(kind, PYTHONPATH=with_path(folder)), "broken-one 3.1", "ModuleNotFoundError")


def test_a_format_whose_runs_name_another_as_their_origin_is_an_error(folder: Path) -> None:
    (folder / "wrong.py").write_text(FORMAT.replace('format="acme"', 'format="acne"'))
    done = steelyard("read", str(SAMPLE), STEELYARD_FORMATS=str(folder))
    check_error(done, "acme", "with a different origin")
