"""Whatever a user hands in is read within one budget, through one folder, and what is too much is refused alike."""

from __future__ import annotations

import ast
import gzip
import io
import json
import shutil
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steelyard.arena import read_submissions, read_targets, read_task_map, read_tasks
from steelyard.errors import NESTED_TOO_DEEPLY, InputLimitError, UsageError
from steelyard.files import Budget
from steelyard.prices import open_price_table
from steelyard.profiles import load_profile
from steelyard.questions import TaskFiles
from steelyard.questions.repeatability._prompts import Contracts, read_prompts
from steelyard.questions.speedup._task_timings import TimingReading, read_task
from steelyard.records import Rejected
from steelyard.settings import (
    EXPANSION,
    FILE_BYTES,
    FREE_BYTES,
    INPUT_BYTES,
    INPUT_ENTRIES,
    LINE_BYTES,
    TEXT_BYTES,
    Limit,
)
from steelyard.sources import PlacedRun, gather, read_timings, trajectory_of

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).parent.parent / "src" / "steelyard"
SAMPLES = Path(__file__).parent / "samples"
DEEP = "[" * 100_000 + "]" * 100_000
DEEP_TOML = "deep = " + "[\n" * 100_000 + "]\n" * 100_000


def prompts_of(path: Path) -> list[Rejected]:
    contracts = Contracts(None)
    return read_prompts([path], by=["task"], contracts=contracts, language=None, needs_contract=False)[1]


def task_with_tests(path: Path) -> None:
    pyperf = SAMPLES / "speedup" / "pyperf.json"
    read_task(TaskFiles(nop=pyperf, oracle=pyperf, agents={"a:m": pyperf}, tests=path), TimingReading())


class Door(NamedTuple):
    """One way for a user's file to get in."""

    file: str
    read: Callable[[Path], Any]  # Any: what it gives when nothing is wrong
    limit: Limit
    deep: str | None
    """The file nested too deeply; None where nothing is parsed."""


DOORS = {
    "a log": Door(
        "log.json", lambda path: gather([path]), FILE_BYTES, '{"sessionId":"s","messages":[],"projectHash":' + DEEP
    ),
    "run records": Door("runs.json", lambda path: gather([path]), FILE_BYTES, '[{"task":"t","x_a":' + DEEP),
    "a line of run records": Door("runs.jsonl", lambda path: gather([path]), LINE_BYTES, '{"task":"t","x_a":' + DEEP),
    "a row of run records": Door("runs.csv", lambda path: gather([path]), LINE_BYTES, None),
    "a test report": Door(
        "junit.xml", lambda path: gather([path]), FILE_BYTES, "<testsuite>" + "<a>" * 300 + "</a>" * 300
    ),
    "timings": Door("timings.json", read_timings, FILE_BYTES, '{"benchmarks":' + DEEP),
    "a trajectory": Door("agent.json", lambda path: trajectory_of([path]), FILE_BYTES, DEEP),
    "what is known of agents": Door("tests.json", task_with_tests, FILE_BYTES, '{"a:m":' + DEEP),
    "tasks": Door("tasks.toml", read_tasks, FILE_BYTES, DEEP_TOML),
    "tasks in JSON": Door("tasks.json", read_tasks, FILE_BYTES, '{"id": ' + DEEP),
    "a task map": Door("map.toml", read_task_map, TEXT_BYTES, DEEP_TOML),
    "submissions": Door("made.json", read_submissions, FILE_BYTES, '{"id": ' + DEEP),
    "a line of submissions": Door("made.jsonl", read_submissions, LINE_BYTES, '{"id": null, "judgments": ' + DEEP),
    "a row of submissions": Door("made.csv", read_submissions, LINE_BYTES, None),
    "targets": Door("targets.toml", read_targets, TEXT_BYTES, DEEP_TOML),
    "a contract": Door("contract.toml", Contracts, TEXT_BYTES, DEEP_TOML),
    "a contract in JSON": Door("contract.json", Contracts, TEXT_BYTES, '{"id": ' + DEEP),
    "an answer": Door("answer.py", prompts_of, TEXT_BYTES, None),
    "an experiment": Door("experiment.json", prompts_of, FILE_BYTES, '{"experiment_id": "e", "a": ' + DEEP),
    "a profile": Door("mine.toml", lambda path: load_profile(str(path)), TEXT_BYTES, DEEP_TOML),
    "a profile of dotted keys": Door(
        "mine.toml", lambda path: load_profile(str(path)), TEXT_BYTES, "constants." + "a." * 100_000 + "a = 1"
    ),
    "a price table": Door("prices.toml", lambda path: open_price_table(str(path)), TEXT_BYTES, DEEP_TOML),
}
OPENINGS = {
    "log.json": '{"sessionId":"s","projectHash":"p","messages":[]}',
    "runs.json": '[{"task":"t","agent":"a"}]',
    "runs.jsonl": '{"task":"t","agent":"a"',
    "runs.csv": "task,agent\nt,a\nt,",
    "made.jsonl": '{"id":"s"',
    "made.csv": "id,task_id,total_tokens,tool_calls\ns,t,1,1\n",
    "junit.xml": "<testsuite></testsuite>",
    "experiment.json": '{"experiment_id": "e"}',
}
"""What a file begins with to get in at its door; others need not begin with anything."""
MAX_VALUE = 99_999


def refusal(result: Callable[[], Any]) -> tuple[str, str | None, str]:
    """What is said of the one file that is refused, whether it is raised or rejected."""
    try:
        made = result()
        items = list(made) if isinstance(made, Iterable) else []
    except InputLimitError as error:
        return error.message, error.hint, str(error.where)
    (rejected,) = [item for item in items if isinstance(item, Rejected)]
    return rejected.reason, rejected.hint, rejected.path


@pytest.mark.parametrize("name", DOORS)
def test_what_is_too_large_is_refused_with_one_sentence_at_every_door(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = DOORS[name]
    path = tmp_path / door.file
    path.write_text(OPENINGS.get(door.file, "") + ("a" if path.suffix == ".csv" else " ") * (MAX_VALUE + 1) + "\n")
    monkeypatch.setenv(door.limit.setting, str(MAX_VALUE))
    reason, hint, where = refusal(lambda: door.read(path))
    assert reason.removesuffix("; the rest was not read") == door.limit.excess.format(MAX_VALUE)
    assert hint == f"if you trust the input, set {door.limit.setting} to a larger number"
    assert where == str(path)


@pytest.mark.parametrize("name", [name for name, door in DOORS.items() if door.deep is not None])
def test_what_is_nested_too_deeply_is_refused_with_one_sentence_at_every_door(name: str, tmp_path: Path) -> None:
    door = DOORS[name]
    path = tmp_path / door.file
    path.write_text(str(door.deep))
    reason, _, where = refusal(lambda: door.read(path))
    assert (reason, where) == (NESTED_TOO_DEEPLY, str(path))


def test_a_limit_that_is_no_number_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("many", "-1", "1.5", "9" * 19):
        monkeypatch.setenv(FILE_BYTES.setting, given)
        with pytest.raises(UsageError, match=FILE_BYTES.setting):
            _ = FILE_BYTES.most
    monkeypatch.setenv(FILE_BYTES.setting, "")
    assert FILE_BYTES.most == FILE_BYTES.default


def test_every_limit_is_set_by_a_variable_of_its_own_and_stands_in_the_documentation() -> None:
    from steelyard import settings

    limits = [limit for limit in vars(settings).values() if isinstance(limit, Limit)]
    names = [limit.setting for limit in limits if limit.setting]
    assert len(names) > 8
    assert len(set(names)) == len(names)
    assert all(name.startswith("STEELYARD_MAX_") for name in names)
    page = (ROOT.parents[1] / "docs" / "reading.md").read_text(encoding="utf-8")
    for limit in limits:
        assert not limit.setting or f"| {limit.default:,} | `{limit.setting}` |" in page


def test_a_budget_is_shared_by_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INPUT_BYTES.setting, "100")
    whole = Budget()
    first, second = whole.for_compressed(10), whole.for_compressed(10)
    assert first.for_compressed(1) is first  # what is compressed within draws on the same part
    first.take("a", size=60)
    with pytest.raises(InputLimitError, match="b: the input is larger than 100 bytes"):
        second.take("b", size=41)
    second.take("b", size=40)  # the refused bytes were not counted
    with pytest.raises(InputLimitError, match="larger than 100 bytes"):
        whole.expect("c", size=1)


def runs_of(items: Iterable[object]) -> list[str | None]:
    return [item.run.id for item in items if isinstance(item, PlacedRun)]


def record(name: str, *, padding: int = 0) -> bytes:
    return json.dumps({"id": name, "task": "t"}).encode() + b"\n" + b" " * padding + b"\n"


def zip_of(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def test_archives_within_one_archive_share_what_it_may_expand_to(tmp_path: Path) -> None:
    inner = {f"{n}.zip": zip_of({"runs.jsonl": record(f"r{n}", padding=FREE_BYTES // 5)}) for n in range(10)}
    (tmp_path / "all.zip").write_bytes(zip_of(inner))
    (tmp_path / "alone.zip").write_bytes(inner["9.zip"])
    (tmp_path / "other.jsonl").write_bytes(record("other"))
    items = list(gather([tmp_path / "all.zip", tmp_path / "alone.zip", tmp_path / "other.jsonl"]))
    # Each is a fifth of what is free, so four and their records fit, and the fifth does not.
    assert sorted(runs_of(items)) == ["other", "r0", "r1", "r2", "r3", "r9"]
    refused = [item for item in items if isinstance(item, Rejected)]
    assert [item.path for item in refused] == [f"{(tmp_path / 'all.zip').as_posix()}!/{n}.zip" for n in range(4, 10)]
    assert {(item.reason, item.hint) for item in refused} == {(EXPANSION.reason, EXPANSION.hint)}


def test_a_folder_of_archives_is_one_input_and_another_path_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(record("a0"))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        for number in range(3):
            content = gzip.compress(record(f"{folder}{number}"))
            (tmp_path / folder / f"{number}.jsonl.gz").write_bytes(content)
        (tmp_path / folder / "plain.jsonl").write_bytes(record(f"{folder}-plain"))
    monkeypatch.setenv(INPUT_BYTES.setting, str(2 * size))
    items = list(gather([tmp_path / "a", tmp_path / "b"]))
    assert sorted(map(str, runs_of(items))) == ["a-plain", "a0", "a1", "b-plain", "b0", "b1"]
    refused = [item for item in items if isinstance(item, Rejected)]
    assert [item.path for item in refused] == [(tmp_path / f / "2.jsonl.gz").as_posix() for f in "ab"]
    assert {item.reason for item in refused} == {INPUT_BYTES.excess.format(2 * size)}


def test_the_entries_of_a_folder_of_archives_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.zip").write_bytes(zip_of({f"{n}.jsonl": record(f"{number}-{n}") for n in range(4)}))
    monkeypatch.setenv(INPUT_ENTRIES.setting, "9")
    items = list(gather([tmp_path]))
    assert len(runs_of(items)) == 8
    assert [item.reason for item in items if isinstance(item, Rejected)] == [INPUT_ENTRIES.excess.format(9)]


def test_an_archive_that_holds_another_counts_by_what_is_in_the_end_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = record("r")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo("runs.jsonl")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    (tmp_path / "runs.tar.gz").write_bytes(gzip.compress(made.getvalue()))
    monkeypatch.setenv(INPUT_BYTES.setting, str(len(made.getvalue())))  # the tar alone is as much
    assert runs_of(gather([tmp_path / "runs.tar.gz"])) == ["r"]


@pytest.mark.parametrize(("levels", "limit"), [(0, EXPANSION), (1, EXPANSION), (2, EXPANSION)])
def test_a_bomb_within_archives_is_refused(tmp_path: Path, levels: int, limit: Limit) -> None:
    bomb = zip_of({f"{n}.json": bytes(FREE_BYTES // 2) for n in range(3)})
    for level in range(levels):
        bomb = zip_of({f"{level}-{n}.zip": bomb for n in range(3)})
    (tmp_path / "bomb.zip").write_bytes(bomb)
    items = list(gather([tmp_path / "bomb.zip"]))
    assert [item.reason for item in items if isinstance(item, Rejected)] == [limit.reason] * 3**levels


@pytest.mark.parametrize("verb", ["read", "submit"])
def test_a_gzip_bomb_that_is_piped_in_is_refused(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(bytes(FREE_BYTES + 1))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(bomb)))
    reason, hint, where = refusal(lambda: gather([Path("-")]) if verb == "read" else read_submissions(Path("-")))
    assert (reason, hint, where) == (EXPANSION.reason, EXPANSION.hint, "stdin")


def test_too_much_that_is_piped_in_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(record("a", padding=100))))
    monkeypatch.setenv(INPUT_BYTES.setting, "100")
    reason, _, where = refusal(lambda: gather([Path("-")]))
    assert (reason, where) == (INPUT_BYTES.excess.format(100), "stdin")


OPENERS = frozenset({"open", "fdopen", "read_bytes", "read_text", "read_parquet", "scan_parquet", "read_csv"})
UNPACKERS = frozenset({"gzip", "zipfile", "tarfile", "bz2", "lzma"})
ELSEWHERE = {
    "grading/_artifacts.py": "copies by what is open, on a budget, and reads its own copy",
    "grading/_task_files.py": "follows no link, on a budget",
    "grading/_criteria.py": "tests in its own copy",
    "grading/_shared.py": "the task's tests",
    "grading/_split.py": "its own source",
    "grading/_tests.py": "the task's tests",
    "grading/_candidate_process.py": "runs in the sandbox",
    "grading/_test_process.py": "runs in the sandbox",
    "grading/_timing_process.py": "runs in the sandbox",
    "lazy_exports.py": "the stubs of our own packages",
    "metrics/engines/_duckdb.py": "facts in Parquet files of our own",
    "metrics/engines/_spark.py": "facts in a scratch folder of our own",
    "plugins.py": "lists of installed packages",
    "profiles/_profile_files.py": "profiles that ship",
    "questions/failures": "categories that ship",
    "questions/integrity/_rules.py": "rules that ship",
    "questions/repeatability/_oracle.py": "its own source",
    "pages/_html.py": "the style sheet and the script that ship",
    "scratch.py": "folders of our own",
    "runner/_call_transcript.py": "compresses what it writes",
    "runner/_plan_folder.py": "claims, under a lock, and the system's own files",
    "runner/_metering_proxy.py": "a folder of its own, for the name of a socket",
    "runner/_programs.py": "the first line of a program that is to be run",
    "runner/_execution.py": "the end of its own copy of what an agent wrote",
    "sandbox": "the box and the system's own files",
    "cli/serve.py": "opens the dashboard in a browser",
    "sources/tables/_spool.py": "the system's own files, and columns of run records in Parquet files of our own",
}
"""Who else opens files to read them, and what they are."""


def readers(root: Path) -> dict[str, list[str]]:
    """Calls that open or decompress files, by module; `files/` is excluded."""
    sources = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.py")}
    found = {path: _reading_in(text) for path, text in sources.items() if not path.startswith("files/")}
    return {path: calls for path, calls in found.items() if calls}


@cache
def _reading_in(source: str) -> list[str]:
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Call) and _reads(node))
        or (isinstance(node, ast.Import | ast.ImportFrom) and UNPACKERS & set(ast.unparse(node).split()))
    ]


def _reads(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        if call.func.id != "open":
            return False
        modes = call.args[1:2]
    elif not isinstance(call.func, ast.Attribute) or call.func.attr not in OPENERS:
        return False
    elif ast.unparse(call.func) == "os.open":
        return "O_WRONLY" not in ast.unparse(call) and "O_CREAT" not in ast.unparse(call)
    else:
        modes = call.args[:1]
    mode = modes[0] if modes else None
    return not (isinstance(mode, ast.Constant) and str(mode.value).startswith(("w", "a", "x")))


def unnamed(root: Path) -> dict[str, list[str]]:
    return {
        path: calls for path, calls in readers(root).items() if not any(Path(path).is_relative_to(p) for p in ELSEWHERE)
    }


def test_nobody_else_opens_what_a_user_hands_in() -> None:
    assert unnamed(ROOT) == {}
    found = readers(ROOT)
    assert [place for place in ELSEWHERE if not any(Path(path).is_relative_to(place) for path in found)] == []


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("prices/_price_files.py", "Path('prices.toml').read_text()"),
        ("sources/formats/codex.py", "import gzip"),
        ("questions/measure/__init__.py", "open('runs.jsonl')"),
        ("sources/formats/codex.py", "Path('x').open('rb')"),
        ("questions/speedup/_benchmark_table.py", "from zipfile import ZipFile"),
    ],
)
def test_a_copy_that_opens_a_file_by_itself_is_noticed(tmp_path: Path, file: str, line: str) -> None:
    copy = tmp_path / "steelyard"
    shutil.copytree(ROOT, copy)
    (copy / file).write_text((copy / file).read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")
    assert list(unnamed(copy)) == [file]


def test_the_sentence_for_what_is_too_deep_stands_once() -> None:
    places = [path for path in ROOT.rglob("*.py") if NESTED_TOO_DEEPLY in path.read_text(encoding="utf-8")]
    assert [path.name for path in places] == ["errors.py"]
