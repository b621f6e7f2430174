"""Files below 5 MB that are made to take memory: dense, wide, deep, compressed, or much of one thing.

python tests/support/hostile_files.py [NAME ...]
"""

from __future__ import annotations

import argparse
import gzip
import io
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

sys.path.insert(0, str(Path(__file__).parent))

from growing_inputs import grown

SAMPLES = Path(__file__).parents[1] / "samples"
FORMATS = SAMPLES / "formats"
MAX_FILE_BYTES = 5_000_000
SIZE = 4_900_000
BOMB = 16_000_000
"""Of a small compressed file: more it may not expand to."""
MAX_BYTES = 300 << 20
"""Of the process, with Python and all libraries in it."""
MAX_SECONDS = 900


class Hostile(NamedTuple):
    """A file and what is to read it."""

    name: str
    """Of the file; its ending matters."""
    make: Callable[[], bytes]
    words: tuple[str, ...] = ("read", "--json")
    """The command, before the file."""


def _filled(start: str, piece: str, end: str = "", size: int = SIZE) -> bytes:
    """The piece between start and end, as often as fits."""
    return (start + piece * ((size - len(start) - len(end)) // len(piece)) + end).encode()


def _numbered(start: str, piece: str, end: str = "", size: int = SIZE) -> bytes:
    """As `_filled`, with a number in each piece."""
    count = size // (len(piece) + 4)
    return (start + "".join(piece.format(number) for number in range(count)) + end).encode()[:size]


def _dense_json(start: str, end: str) -> dict[str, Callable[[], bytes]]:
    """A document with a list of a kind that takes much more memory than text."""
    return {
        "objects": lambda: _filled(start + "[{}", ",{}", "]" + end),
        "lists": lambda: _filled(start + "[[]", ",[]", "]" + end),
        "numbers": lambda: _filled(start + "[1", ",1.5", "]" + end),
        "one key": lambda: _filled(start + "[{}", ',{"a":1}', "]" + end),
        "keys": lambda: (
            _numbered(start + '{"a":1', ',"a{}":1', "", SIZE - 100).rsplit(b",", 1)[0] + b"}" + end.encode()
        ),
    }


def _zip(files: Iterator[tuple[str, bytes]] | list[tuple[str, bytes]]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return made.getvalue()


def _parquet(**columns: object) -> bytes:
    import polars as pl

    made = io.BytesIO()
    pl.DataFrame(columns).write_parquet(made)
    return made.getvalue()


def _constants(value: float | str | None, rows: int, columns: int) -> bytes:
    import polars as pl

    return _parquet(
        **{f"column{n}": pl.repeat(value, rows, eager=True) for n in range(columns)},
        task=pl.repeat("t", rows, eager=True),
    )


def _workbook(shared: list[str], rows: int, columns: int) -> bytes:
    schemas = "http://schemas.openxmlformats.org"
    names, relations = f"{schemas}/spreadsheetml/2006/main", f"{schemas}/officeDocument/2006/relationships"
    cells = "".join(f'<c t="s"><v>{n % len(shared)}</v></c>' for n in range(columns))
    lines, package = f"<row>{cells}</row>" * rows, f"{schemas}/package/2006/relationships"
    sheet = '<sheet name="a" sheetId="1" r:id="r1"/>'
    targets = {"worksheet": "worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml"}
    links = "".join(
        f'<Relationship Id="r{number}" Type="{relations}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets.items(), 1)
    )
    parts = {
        "workbook.xml": f'<workbook xmlns="{names}" xmlns:r="{relations}"><sheets>{sheet}</sheets></workbook>',
        "_rels/workbook.xml.rels": f'<Relationships xmlns="{package}">{links}</Relationships>',
        "worksheets/sheet1.xml": f'<worksheet xmlns="{names}"><sheetData>{lines}</sheetData></worksheet>',
        "sharedStrings.xml": f'<sst xmlns="{names}">{"".join(f"<si><t>{text}</t></si>" for text in shared)}</sst>',
    }
    return _zip(
        [("[Content_Types].xml", b"<Types/>"), *((f"xl/{name}", text.encode()) for name, text in parts.items())]
    )


def _store(statements: Sequence[str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "opencode.db")
        with closing(sqlite3.connect(path)) as store:
            for statement in statements:
                store.execute(statement)
            store.commit()
        return path.read_bytes()


def _grown(path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, path.name)
        grown(path, 4_500_000, place)
        return place.read_bytes()[:SIZE] if path.suffix == ".jsonl" else place.read_bytes()


def _with_dense(path: Path) -> bytes:
    """The JSON document with a list of millions of empty lists in it, under a name that nobody knows."""
    text = path.read_text("utf-8").strip()
    return _filled('{"x_dense":[[]', ",[]", "],", SIZE - len(text)) + text[1:].encode()


def _with_empty_lines(path: Path) -> bytes:
    text = path.read_text("utf-8")
    return _filled(text if text.endswith("\n") else text + "\n", "{}\n")


def _widened(path: Path) -> bytes:
    """The JSON document with its longest list full of empty objects."""
    from growing_inputs import _lists

    whole = msgspec.json.decode(path.read_bytes())
    longest = max(_lists(whole), key=lambda found: len(msgspec.json.encode(found)))
    longest.append("@@")
    text = msgspec.json.encode(whole).decode()
    before, after = text.split('"@@"')
    return _filled(before + "{}", ",{}", after)


def _of_formats() -> Iterator[tuple[str, Hostile]]:
    """Per sample: grown, and with what is dense in it."""
    for folder in sorted(FORMATS.iterdir()):
        seen: set[str] = set()
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if not path.is_file() or path.name == "ORIGIN.md" or path.stat().st_size > 200_000 or path.suffix in seen:
                continue
            seen.add(path.suffix)
            name = f"{folder.name} {path.suffix}"
            if path.suffix in (".json", ".jsonl", ".parquet", ".xml", ".traj", ".eval"):
                yield f"{name}, grown", Hostile(path.name, partial(_grown, path))
            if path.suffix == ".jsonl":
                yield f"{name}, empty lines", Hostile(path.name, partial(_with_empty_lines, path))
            if path.suffix in (".json", ".traj"):
                try:
                    whole = msgspec.json.decode(path.read_bytes())
                except msgspec.DecodeError:
                    continue
                if isinstance(whole, dict):
                    yield f"{name}, dense", Hostile(path.name, partial(_with_dense, path))
                    try:
                        _widened(path)
                    except ValueError:
                        continue
                    yield f"{name}, wide", Hostile(path.name, partial(_widened, path))


MEASURE = ("measure",)
SPEEDUP = ("speedup", "--agent", "a:m={}", "--oracle", "{}", "--nop")
RECORDS = '{{"task":"t{0}","id":"{0}","agent":"a{0}","passed":true}}\n'


TABLES = (
    "CREATE TABLE session (id text, parent_id text, directory text)",
    "CREATE TABLE part (id text, message_id text, session_id text, time_created int, data text)",
)
ENDLESS = (
    "CREATE VIEW message AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    "SELECT 'm' || i AS id, 's' AS session_id, i AS time_created, '{}' AS data FROM n"
)
HUGE = (
    "CREATE TABLE message (id text, session_id text, time_created int, data text AS (hex(zeroblob(300000000))))",
    "INSERT INTO message VALUES ('m', 's', 1)",
)


OF_TASKS = '{{"task":"t{0}","agent":"a{0}","passed":true,"cost_usd":1}}\n'
"""A task and an agent of its own in each record."""
OF_MANY_TASKS = (
    (*MEASURE, "--by", "task"),
    ("usage", "--by", "task", "--json"),
    ("completeness", "--by", "task"),
    ("integrity",),
    ("failures", "--json"),
    ("read", "--json"),
    ("matrix",),
)
OF_FULL_ROWS = (
    (*MEASURE, "--by", "task", "--json"),
    (*MEASURE, "--by", "task", "--interval", "auto", "--json"),
    (*MEASURE, "--by", "task", "--out", "{}.csv"),
    (*MEASURE, "--by", "task", "--out", "{}.parquet"),
    (*MEASURE, "--by", "task", "--out", "{}.html"),
)


def _full_rows(rows: int) -> bytes:
    """A task per row, with a value of its own in each column."""
    header = "task,agent,passed,cost_usd,input_tokens,output_tokens,duration_seconds,tool_calls\n"
    lines = (
        f"t{n},a{n % 2},{n % 2},{n / 7:.4f},{n * 7919 % 999983},{n * 31},{n / 3:.2f},{n % 997}\n" for n in range(rows)
    )
    return (header + "".join(lines)).encode()


def _ranked(agents: int, tasks: int) -> bytes:
    """A run of every agent at every task."""
    pairs = ((agent, task) for agent in range(agents) for task in range(tasks))
    return "".join(
        f'{{"task":"t{task}","agent":"a{agent}","passed":{("true", "false")[(agent + task) % 3 // 2]},"cost_usd":1}}\n'
        for agent, task in pairs
    ).encode()


def _equal_costs(agents: int) -> bytes:
    rows = (f"t{task},a{agent},1,1.2345\n" for task in range(2) for agent in range(agents))
    return ("task,agent,passed,cost_usd\n" + "".join(rows)).encode()


def _benchmarks(count: int) -> bytes:
    return ("{" + ",".join(f'"m{n % 7}.C.f({n})":[0.5,0.6,0.{n + 1}]' for n in range(count)) + "}").encode()


def hostile_files() -> dict[str, Hostile]:
    made: dict[str, Hostile] = {}
    for shape, make in _dense_json("", "").items():
        made[f"JSON of {shape}"] = Hostile("runs.json", make)
    for shape, make in _dense_json('{"sessionId":"s","projectHash":"p","messages":', "}").items():
        made[f"log of {shape}"] = Hostile("log.json", make)
    for shape, make in _dense_json('{"task":"t","x_own":', "}").items():
        made[f"record of {shape}"] = Hostile("runs.jsonl", make)
    for shape, make in _dense_json('{"id":"s","task_id":"t","total_tokens":1,"tool_calls":1,"judgments":', "}").items():
        made[f"submission of {shape}"] = Hostile("made.jsonl", make, ("arena", "submit"))
    made |= {
        "records": Hostile("runs.jsonl", lambda: _numbered("", RECORDS)),
        "records, usage by agent": Hostile("runs.jsonl", lambda: _numbered("", RECORDS), ("usage", "--by", "agent")),
        "records, measure": Hostile("runs.jsonl", lambda: _numbered("", RECORDS), MEASURE),
        "records, measure by agent": Hostile(
            "runs.jsonl", lambda: _numbered("", RECORDS, size=100_000), (*MEASURE, "--by", "agent")
        ),
        **{
            f"records of many tasks, {' '.join(words)}": Hostile("runs.jsonl", lambda: _numbered("", OF_TASKS), words)
            for words in OF_MANY_TASKS
        },
        **{
            f"full rows, {' '.join(words)}": Hostile("runs.csv", lambda: _full_rows(3_200), words)
            for words in OF_FULL_ROWS
        },
        "ranked groups": Hostile("runs.jsonl", lambda: _ranked(1_000, 70), ("rank",)),
        "ranked tasks": Hostile("runs.jsonl", lambda: _ranked(2, 35_000), ("rank",)),
        "agents of equal cost": Hostile("runs.csv", lambda: _equal_costs(60_000), MEASURE),
        "speedup in JSON": Hostile("timings.json", lambda: _benchmarks(49_000), ("speedup", "--json", *SPEEDUP[1:])),
        "records, matrix": Hostile("runs.jsonl", lambda: _numbered("", RECORDS, size=300_000), ("matrix",)),
        "records, completeness": Hostile("runs.jsonl", lambda: _numbered("", RECORDS), ("completeness",)),
        "records, many own fields": Hostile("runs.jsonl", lambda: _numbered("", '{{"task":"t","x_{0}":1}}\n'), MEASURE),
        "records, empty lines": Hostile("runs.jsonl", lambda: _filled('{"task":"t"}\n', "{}\n"), MEASURE),
        "record of a long text": Hostile(
            "runs.jsonl", lambda: _filled('{"task":"t","output":{"text":"', "\\u0001", '"}}'), MEASURE
        ),
        "outputs that differ": Hostile(
            "runs.jsonl",
            lambda: (
                _filled('{"task":"t","id":"a","output":{"text":"', "a\\n", '"}}\n', SIZE // 2)
                + _filled('{"task":"t","id":"b","output":{"text":"', "b\\n", '"}}\n', SIZE // 2)
            ),
            ("show", "--run", "a", "--diff", "b"),
        ),
        "CSV of columns": Hostile("runs.csv", lambda: b"task," + b"a," * 1_000_000 + b"b\nt\n"),
        "CSV of numbered columns": Hostile("runs.csv", lambda: _numbered("task", ",a{}") + b"\nt\n"),
        "CSV of empty cells": Hostile("runs.csv", lambda: _filled("task,agent\n", "t," + "," * 1000 + "\n")),
        "CSV of rows": Hostile("runs.csv", lambda: _numbered("task,agent,passed\n", "task-{0},agent,1\n"), MEASURE),
        "CSV of equal rows": Hostile("runs.csv", lambda: _filled("task\n", "1\n"), MEASURE),
        "CSV of equal rows, not short": Hostile(
            "runs.csv", lambda: _filled("task,x_a\n", "1,abcdefghijklmnopq\n"), MEASURE
        ),
        "records of few bytes": Hostile("runs.jsonl", lambda: _filled("", '{"task":"a"}\n'), MEASURE),
        "records of the fewest bytes": Hostile("runs.jsonl", lambda: _filled("", "{}\n"), MEASURE),
        "CSV of quotes": Hostile("runs.csv", lambda: _filled('task,agent\n"', '""', '"\n')),
        "XML of elements": Hostile("report.xml", lambda: _filled("<testsuite>", "<a/>", "</testsuite>")),
        "XML of cases": Hostile("report.xml", lambda: _filled("<testsuite>", "<testcase/>", "</testsuite>")),
        "XML of named cases": Hostile("report.xml", lambda: _numbered("<testsuite>", '<testcase name="{}"/>')),
        "XML of attributes": Hostile(
            "report.xml", lambda: _numbered("<testsuite><testcase", ' a{0}=""', size=4_000_000) + b"/></testsuite>"
        ),
        "XML of texts": Hostile(
            "report.xml", lambda: _filled("<testsuite><testcase><failure>", "&lt;", "</failure></testcase></testsuite>")
        ),
        "gzip": Hostile("runs.jsonl.gz", lambda: gzip.compress(b" " * (500 << 20))),
        "gzip of records": Hostile(
            "runs.jsonl.gz", lambda: gzip.compress(_filled("", '{"task":"t"}\n', size=400_000_000)), MEASURE
        ),
        "gzip of one line": Hostile(
            "runs.jsonl.gz", lambda: gzip.compress(_filled('{"task":"t","x_a":"', "a", '"}', size=60_000_000))
        ),
        "gzip of a dense log": Hostile(
            "log.json.gz",
            lambda: gzip.compress(_filled('{"sessionId":"s","projectHash":"p","messages":[{}', ",{}", "]}", size=BOMB)),
        ),
        "gzip of a dense line": Hostile(
            "runs.jsonl.gz", lambda: gzip.compress(_filled('{"task":"t","x_a":[[]', ",[]", "]}", size=BOMB))
        ),
        "gzip of a line of numbers": Hostile(
            "runs.jsonl.gz", lambda: gzip.compress(_filled('{"task":"t","x_a":[1', ",1.5", "]}", size=BOMB))
        ),
        "gzip of a wide XML": Hostile(
            "report.xml.gz",
            lambda: gzip.compress(_filled("<testsuite>", "<testcase/>", "</testsuite>", size=BOMB)),
        ),
        "zip of many entries": Hostile("all.zip", lambda: _zip([(f"{n}", b"a") for n in range(43_000)])),
        "zip of many logs": Hostile(
            "all.zip", lambda: _zip([(f"{n}.jsonl", b'{"task":"t","id":"%d"}\n' % n) for n in range(35_000)])
        ),
        "zip of long names": Hostile("all.zip", lambda: _zip([(f"{'d/' * 90}{n}", b"a") for n in range(8_000)])),
        "Parquet of constant texts": Hostile("runs.parquet", lambda: _constants("a" * 1000, 1_000_000, 3), MEASURE),
        "Parquet of constant columns": Hostile("runs.parquet", lambda: _constants(1.0, 190_000, 10), MEASURE),
        "Parquet of columns": Hostile("runs.parquet", lambda: _constants(1.0, 2, 14_000), MEASURE),
        "Parquet of rows": Hostile("runs.parquet", lambda: _constants("a", 900_000, 0), MEASURE),
        "Parquet of nothing": Hostile("runs.parquet", lambda: _constants(None, 900_000, 1), MEASURE),
        "Parquet of submissions": Hostile(
            "made.parquet", lambda: _constants("a" * 100, 150_000, 0), ("arena", "submit")
        ),
        "workbook of long texts": Hostile("runs.xlsx", lambda: _workbook(["a" * 30_000], 100_000, 2)),
        "workbook of cells": Hostile("runs.xlsx", lambda: _workbook(["a"], 20_000, 40)),
        "workbook of strings": Hostile("runs.xlsx", lambda: _workbook([f"{n}" for n in range(400_000)], 10, 2)),
        "store with an endless view": Hostile("opencode.db", lambda: _store([*TABLES, ENDLESS])),
        "store with huge values": Hostile("opencode.db", lambda: _store([*TABLES, *HUGE])),
        "TOML of keys": Hostile("plan.toml", lambda: _numbered("", "a{} = 1\n"), ("run", "--dry-run")),
        "TOML of tables": Hostile("plan.toml", lambda: _numbered("", "[a{}]\n"), ("run", "--dry-run")),
        "TOML of lists": Hostile("plan.toml", lambda: _filled("a = [", "[],", "]"), ("run", "--dry-run")),
        "profile of keys": Hostile(
            "mine.toml",
            lambda: _numbered("", "a{} = 1\n", size=4_000_000),
            ("measure", str(SAMPLES / "outcome" / "example-3.jsonl"), "--profile"),
        ),
        "YAML of records": Hostile("runs.yaml", lambda: _filled("", "- task: a\n  passed: true\n")),
        "YAML of anchors": Hostile("runs.yaml", lambda: _filled("", "- &a 1\n")),
        "YAML of brackets": Hostile("runs.yaml", lambda: b"[" * 200_000 + b"]" * 200_000),
        "YAML of lists": Hostile(
            "runs.yaml", lambda: _filled("- a: [", "[],", "]\n"), ("read", "--map", "livecodebench")
        ),
        "timings of numbers": Hostile(
            "timings.json", lambda: _filled('{"parse": [0.5', ",1", "]}", SIZE // 3), SPEEDUP
        ),
        "timings of benchmarks": Hostile(
            "timings.json",
            lambda: _numbered('{"a": 0.5', ',"b{}": 0.5', size=SIZE // 3).rsplit(b",", 1)[0] + b"}",
            SPEEDUP,
        ),
        "answer of sums": Hostile(
            "answer_1.py", lambda: _filled("x = 1", "+1", "\n", size=1_000_000), ("repeatability",)
        ),
        "answer of lines": Hostile("answer_1.py", lambda: _filled("", "x=1\n"), ("repeatability",)),
        "answer of lists": Hostile("answer_1.py", lambda: _filled("x = [", "[],", "]\n"), ("repeatability",)),
        "tasks of objects": Hostile(
            "tasks.json", lambda: _filled('[{"id":"t"}', ',{"id":"t"}', "]"), ("arena", "task", "import")
        ),
        "submissions": Hostile(
            "made.jsonl",
            lambda: _numbered("", '{{"id":"{0}","task_id":"t","total_tokens":1,"tool_calls":1}}\n'),
            ("arena", "submit"),
        ),
        "submissions, few bytes": Hostile("made.jsonl", lambda: _filled("", "{}\n"), ("arena", "submit")),
        "submissions in CSV": Hostile(
            "made.csv", lambda: _filled("id,task_id,total_tokens,tool_calls\n", ",,,\n"), ("arena", "submit")
        ),
        "cast of events": Hostile(
            "session.cast", lambda: _filled('{"version":2,"width":80,"height":24}\n', '[0,"o","a"]\n')
        ),
    }
    return made | dict(_of_formats())


_RUN = """
import resource, sys
from steelyard.cli import run
status = 99
try:
    status = run(sys.argv[1:])
finally:
    held = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
    others = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    seconds = sum(sum(resource.getrusage(each)[:2]) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"\\n@@ {status} {max(held, others)} {seconds:.1f}", file=sys.stderr)
"""
"""What getrusage says of a process itself includes that which started it; the kernel's own count does not."""


class Taken(NamedTuple):
    """What a command took for a file."""

    status: int
    bytes: int
    """The most memory of the process, or of one that it started."""
    cpu_seconds: float
    said: str


def taken(hostile: Hostile, folder: Path) -> Taken:
    """Write the file into the folder and give it to its command."""
    content = hostile.make()
    assert 0 < len(content) < MAX_FILE_BYTES, len(content)
    path = folder / hostile.name
    path.write_bytes(content)
    words = [*(word.format(path) for word in hostile.words), str(path)]
    if words[0] == "arena":
        store = ["--store", f"sqlite:///{folder / 'arena.db'}"]
        subprocess.run(
            [sys.executable, "-m", "steelyard", "arena", "init", *store], check=True, stdout=subprocess.DEVNULL
        )
        words += store
    with (folder / "stdout").open("wb") as out:
        command = [sys.executable, "-c", _RUN, *words]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False, timeout=MAX_SECONDS)
    said, mark, figures = done.stderr.rpartition("\n@@ ")
    assert mark, f"exit status {done.returncode}: {done.stderr[-500:]}"
    status, held, seconds = figures.split()
    return Taken(int(status), int(held) << 10, float(seconds), said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="words in the names of those to try; all where there is none")
    asked = parser.parse_args()
    for name, hostile in hostile_files().items():
        if not asked.names or any(wanted in name for wanted in asked.names):
            with tempfile.TemporaryDirectory() as folder:
                done = taken(hostile, Path(folder))
            figures = f"{done.bytes >> 20:5} MB {done.cpu_seconds:6.1f} s  status {done.status}  {name}"
            print(figures, " ".join(done.said.split())[:120], sep="  ", flush=True)


if __name__ == "__main__":
    main()
