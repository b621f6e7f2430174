"""Samples and files made longer, for laws about how work grows: what a list holds comes again under other names."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

import steelyard as sy
from served_arenas import submission

NAMED = re.compile(r"(?:^|_|[a-z])(?:id|Id|ID|uuid)$")
"""Keys whose texts name something. Sessions keep their names: many messages are of one."""


def grown(sample: Path, size: int, place: Path) -> None:
    """Write the sample with at least so many bytes of what it holds most."""
    ending = sample.suffix
    if ending == ".parquet":
        rows = pl.read_parquet(sample)
        parts = [rows.with_columns(pl.col("id") + f"-{number}") for number in range(max(1, size // 300 // len(rows)))]
        pl.concat(parts).write_parquet(place)
    elif ending == ".db":
        shutil.copy(sample, place)
        _grow_tables(place, size // 500)
    elif ending == ".eval":
        _grow_archive(sample, size, place)
    elif ending == ".xml":
        text = sample.read_text("utf-8")
        cases = re.search(r"<testcase\b.*(?:</testcase>|/>)(?=\s*</testsuite>)", text, re.DOTALL)
        assert cases is not None
        again = "".join(
            re.sub(r'\bname="', f'name="n{number}-', cases[0]) for number in range(max(1, size // len(cases[0])))
        )
        place.write_text(text[: cases.end()] + again + text[cases.end() :], "utf-8")
    else:
        data = sample.read_bytes()
        place.write_bytes(_grown_json(data, size) or _grown_lines(data, size))


def _grown_json(data: bytes, size: int) -> bytes | None:
    """The document with its longest list repeated; None where it is none, or has no list."""
    try:
        whole = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None
    lists = sorted(_lists(whole), key=lambda found: len(msgspec.json.encode(found)))
    if not lists:
        return None
    longest = lists[-1]
    piece = list(longest)
    for number in range(max(1, size // max(1, len(msgspec.json.encode(piece))))):
        longest.extend(_renamed(item, number) for item in piece)
    return msgspec.json.encode(whole)


def _lists(value: Any) -> Iterator[list[Any]]:  # Any: JSON values
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, list) and any(isinstance(part, (dict, list, str)) for part in value):
        yield value
    for part in parts:
        yield from _lists(part)


def _renamed(value: Any, number: int, key: str = "") -> Any:  # Any: as above
    if isinstance(value, dict):
        return {name: _renamed(part, number, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_renamed(part, number) for part in value]
    is_name = isinstance(value, str) and NAMED.search(key) and "session" not in key.lower()
    return f"{value}-{number}" if is_name else value


def _grown_lines(data: bytes, size: int) -> bytes:
    """All lines but the first again and again."""
    first, *lines = data.decode("utf-8").splitlines(keepends=True)
    lines = lines or [first]
    if not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    made = [first if first.endswith("\n") else f"{first}\n"]
    total = 0
    number = 0
    while total < size:
        for line in lines:
            made.append(_renamed_line(line, number))
            total += len(line)
        number += 1
    return "".join(made).encode()


def _renamed_line(line: str, number: int) -> str:
    try:
        told = json.loads(line)
    except ValueError:
        return line
    return json.dumps(_renamed(told, number)) + "\n" if isinstance(told, dict) else line


def _grow_tables(place: Path, rows: int) -> None:
    """Every row of the database again under another name until it has so many more."""
    with closing(sqlite3.connect(place)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in (name for name in tables if not name.startswith("sqlite_")):
            columns = list(connection.execute(f"PRAGMA table_info({table})"))
            own = [name for _, name, kind, _, _, key in columns if not (key and kind.upper() == "INTEGER")]
            keys = {name for _, name, kind, _, _, key in columns if key and kind.upper() != "INTEGER"}
            there = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - our own sample
            for number in range(rows // there if there else 0):
                chosen = ", ".join(f"{name} || '-{number}'" if name in keys else name for name in own)
                words = f"INSERT INTO {table} ({', '.join(own)}) SELECT {chosen} FROM {table} LIMIT {there}"  # noqa: S608
                connection.execute(words)
        connection.commit()


def _grow_archive(sample: Path, size: int, place: Path) -> None:
    """A log that is a zip, with its samples again under other names."""
    made = io.BytesIO()
    with zipfile.ZipFile(sample) as given, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        content = {name: given.read(name) for name in given.namelist()}
        for name, data in content.items():
            archive.writestr(name, data)
        samples = {name: data for name, data in content.items() if name.startswith("samples/")}
        for number in range(max(1, size // sum(map(len, samples.values())))):
            for name, data in samples.items():
                told = _renamed(msgspec.json.decode(data), number)
                archive.writestr(name.replace(".json", f"-{number}.json"), msgspec.json.encode(told))
    place.write_bytes(made.getvalue())


CODE = "def f(x):\n    total = 0\n    for value in x:\n        total += value * {0}\n    return total\n"


def _runs(count: int) -> Iterator[dict[str, Any]]:
    for number, run in zip(range(count), _demo(), strict=False):
        yield run | {"id": f"r{number}", "task": f"t{number // 8}", "attempt": number % 8 + 1}


def _demo() -> Iterator[dict[str, Any]]:
    while True:
        for run in sy.demo_runs():
            yield msgspec.to_builtins(run)


def _written(path: Path, records: Iterator[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


def growing_files(folder: Path, count: int, run: Callable[[list[str]], int]) -> dict[str, str]:
    """What `command_cases.made_files` makes, with so many runs, rows, submissions, outputs and timings."""
    draw = random.Random(3)
    store = f"sqlite:///{folder}/arena.db"
    plain = {
        "tasks.toml": "".join(f'[[tasks]]\nid = "t{number}"\n' for number in range(count // 10))
        + '[[tasks]]\nid = "t"\n',
        "targets.toml": '[[targets]]\nname = "a"\nnetwork = "loopback"\nurl = "http://127.0.0.1:9/"\nseconds = 1\n',
        "table.csv": "job,ok,cost\n"
        + "".join(f"j{number},{'yes' if number % 3 else 'no'},0.1\n" for number in range(count)),
        "times.csv": "name,seconds\n"
        + "".join(
            f"m{number // 50}.time_f{number},{0.1 + number % 7 / 50}\n" for number in range(count) for _ in (1, 2)
        ),
    }
    for name, content in plain.items():
        (folder / name).write_text(content, "utf-8")
    made = (msgspec.to_builtins(submission(draw, number, "t")) | {"id": f"s{number or ''}"} for number in range(count))
    outputs = (
        {"id": f"o{number}", "task": f"t{number // 5}", "agent": "a", "output": {"text": CODE.format(number % 3)}}
        for number in range(count)
    )
    files = {
        "runs": _written(folder / "runs.jsonl", _runs(count)),
        "tasks": str(folder / "tasks.toml"),
        "submissions": _written(folder / "submissions.jsonl", made),
        "targets": str(folder / "targets.toml"),
        "table": str(folder / "table.csv"),
        "timings": str(folder / "times.csv"),
        "outputs": _written(folder / "outputs.jsonl", outputs),
        "folder": str(folder),
        "store": store,
    }
    for words in (["init"], ["task", "add", files["tasks"]], ["submit", files["submissions"]]):
        assert run(["arena", *words, "--store", store]) == 0
    return files
