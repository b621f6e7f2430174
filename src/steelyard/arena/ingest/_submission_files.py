"""Tasks and submissions from files, with their locations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from steelyard.errors import UnreadableFileError, UsageError
from steelyard.files import (
    ONE_FILE,
    SHORT_OR_LONG,
    Budget,
    Row,
    csv_rows,
    extract,
    numbered_lines,
    packing,
    parquet_rows,
    piped,
    toml_or_json,
    too_long,
)
from steelyard.records import (
    JSON_ERRORS,
    DecodeError,
    Rejected,
    Submission,
    Task,
    convert_submission,
    convert_task,
    decode_submission,
)
from steelyard.scratch import scratch_folder
from steelyard.settings import FILE_BYTES, PIPED, SHORT_ROWS, is_stdin, shown_path

TO_SUBMIT = "this is a submission; use: steelyard arena submit"
FROM_RUNS = "this is a run record, not a submission; submit it as a run"


class LocatedSubmission(NamedTuple):
    """A submission with its location."""

    path: str
    line: int | None
    submission: Submission
    item: int | None = None
    """Its number where lines have no meaning."""


def read_tasks(path: Path) -> Iterator[Task | Rejected]:
    """The tasks in a TOML or JSON file: one task, or several under `tasks`."""
    if path.suffix in READERS.keys() - {".json"}:
        hint = "for submissions, use: steelyard arena submit"
        raise UnreadableFileError(
            str(path), f"unsupported file type {path.suffix}: tasks must be TOML or JSON", hint=hint
        )
    values = toml_or_json(path, limit=FILE_BYTES, hint="tasks must be TOML or JSON")
    for number, record in enumerate(_listed(path, values, "tasks"), 1):
        try:
            yield convert_task(record)
        except ValueError as error:
            name = record.get("id") if isinstance(record, dict) else None
            shown = f"task {str(name)[:200]!r}" if name else f"task {number}"
            way = TO_SUBMIT if isinstance(record, dict) and "task_id" in record else None
            yield Rejected(path=str(shown_path(path)), reason=f"{shown}: {error}", hint=way, code="bad_task")


def _listed(path: Path, values: Any, name: str) -> list[Any]:  # Any: JSON or TOML values
    """Return the entries of a document: itself, or the list under `name`, which must be the only key."""
    listed = values
    if isinstance(values, dict) and name in values:
        listed = values[name]
        others = sorted(values.keys() - {name})
        if others:
            reason = f"unknown key {others[0][:200]!r} next to {name!r}"
            raise UnreadableFileError(str(path), reason, hint=f"move it into an entry of {name}, or remove it")
    return listed if isinstance(listed, list) else [listed]


def read_task_map(path: Path) -> dict[str, str]:
    """Which task of the arena a run's task is: a table of names in a TOML or JSON file."""
    task_map = toml_or_json(path, hint="a task map must be TOML or JSON")
    if not isinstance(task_map, dict) or not all(isinstance(value, str) for value in task_map.values()):
        raise UsageError(
            "a task map must be a table of names", where=str(path), hint='"task of the run" = "task of the arena"'
        )
    return task_map


def read_submissions(path: Path) -> Iterator[LocatedSubmission | Rejected]:
    """Read submissions from JSON Lines, JSON, CSV or Parquet, also compressed, by suffix; from stdin, by content."""
    budget = Budget()
    if not is_stdin(path):
        yield from _submissions(path, budget)
        return
    with scratch_folder() as folder:
        kept = piped(folder / PIPED, budget)
        if isinstance(kept, Rejected):
            yield kept
            return
        named = kept.path.rename(kept.path.with_suffix(_ending(kept.path)))
        yield from _shown_as(PIPED, _submissions(named, budget))


def _shown_as(shown: str, records: Iterator[LocatedSubmission | Rejected]) -> Iterator[LocatedSubmission | Rejected]:
    """The same under the name that the user knows the file by."""
    try:
        for record in records:
            if isinstance(record, LocatedSubmission):
                yield record._replace(path=shown)
            else:
                yield msgspec.structs.replace(record, path=shown)
    except UnreadableFileError as error:
        error.where = shown
        raise


def _ending(path: Path) -> str:
    """The ending of the format that the file begins like."""
    compressed = packing(path)
    if compressed in ONE_FILE:
        return f".{compressed}"
    _, first = next(numbered_lines(path), (1, b""))
    if first.startswith(b"PAR1"):
        return ".parquet"
    if not first.lstrip(b" \t").startswith((b"{", b"[")):
        return ".csv"
    try:
        values = msgspec.json.decode(first)
    except JSON_ERRORS:
        return ".json"  # one document over many lines
    return ".jsonl" if isinstance(values, dict) and "submissions" not in values else ".json"


def _submissions(path: Path, budget: Budget) -> Iterator[LocatedSubmission | Rejected]:
    if path.suffix.removeprefix(".") in ONE_FILE:
        yield from _decompressed(path, budget)
        return
    if path.suffix not in READERS:
        raise UnreadableFileError(
            str(path), "submissions must be .jsonl, .json, .csv or .parquet, optionally compressed"
        )
    try:
        yield from READERS[path.suffix](path)
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFileError(str(path), f"cannot read the file: {error}") from error


def _decompressed(path: Path, budget: Budget) -> Iterator[LocatedSubmission | Rejected]:
    """Return the submissions in a compressed file; if it is truncated, those before the end."""
    with scratch_folder() as folder:
        try:
            if packing(path) not in ONE_FILE:
                raise UnreadableFileError(str(path), "the file is not compressed, although its name says so")
            broken = extract(path, str(path), folder, budget=budget.for_compressed(path.stat().st_size))
        except OSError as error:
            raise UnreadableFileError(str(path), f"cannot read the file: {error}") from error
        (inside,) = folder.iterdir()
        if not inside.suffix:
            inside = inside.rename(inside.with_suffix(_ending(inside)))
        if inside.suffix.removeprefix(".") in ONE_FILE:
            raise UnreadableFileError(
                str(path), "the compressed file contains another compressed file", hint="decompress it once"
            )
        yield from _shown_as(str(path), _submissions(inside, budget))
        if broken is not None:
            yield broken


def _placed(
    path: Path, line: int | None, make: Callable[[], Submission], *, record: Any = None, item: int | None = None
) -> LocatedSubmission | Rejected:  # Any: what the submission is made from
    try:
        return LocatedSubmission(str(path), line, make(), item)
    except DecodeError as error:
        hint = FROM_RUNS if _is_run(record) else error.hint
        return Rejected(path=str(path), line=line, item=item, reason=error.reason, hint=hint, code="bad_submission")


def _is_run(record: Any) -> bool:  # Any: as above
    """Whether it is a run and no submission: a run names its `task`, a submission its `task_id`."""
    if isinstance(record, bytes):
        try:
            record = msgspec.json.decode(record)
        except JSON_ERRORS:
            return False
    return isinstance(record, Mapping) and "task" in record and "task_id" not in record


def _jsonl(path: Path) -> Iterator[LocatedSubmission | Rejected]:
    for number, line in numbered_lines(path, SHORT_ROWS):
        placed = _placed(path, number, partial(decode_submission, line), record=line)
        if isinstance(placed, Rejected) and (rejected := too_long(path, number, line)) is not None:
            placed = msgspec.structs.replace(rejected, code=placed.code)
        yield placed


def _json(path: Path) -> Iterator[LocatedSubmission | Rejected]:
    values = toml_or_json(path, limit=FILE_BYTES, hint="for one submission per line, use .jsonl")
    for number, record in enumerate(_listed(path, values, "submissions"), 1):
        yield _placed(path, None, partial(convert_submission, record), record=record, item=number)


def _csv(path: Path) -> Iterator[LocatedSubmission | Rejected]:
    rows = csv_rows(path, column="task_id")
    header = next(rows)
    assert isinstance(header, Row)  # a broken header is an error
    for row in rows:
        if isinstance(row, Rejected):
            yield msgspec.structs.replace(row, code="bad_submission")
            continue
        problem = row.problem(header)
        if problem is not None:
            yield Rejected(path=str(path), line=row.line, reason=problem, hint=SHORT_OR_LONG, code="bad_submission")
            continue
        cells = dict(zip(header.cells, row.cells, strict=True))
        yield _placed(path, row.line, partial(_from_cells, cells), record=cells)


def _from_cells(row: Mapping[str, str]) -> Submission:
    values: dict[str, Any] = {name: value for name, value in row.items() if value != ""}  # Any: text, and JSON values
    for name in ("files_created", "judgments", "lower_bounds"):
        if name in values:
            try:
                values[name] = json.loads(values[name])
            except (ValueError, RecursionError) as error:
                raise DecodeError(f"{name} is not valid JSON", "write lists as JSON in the cell") from error
    return convert_submission(values, from_text=True)


def _parquet(path: Path) -> Iterator[LocatedSubmission | Rejected]:
    for number, row in parquet_rows(path):
        values = {name: value for name, value in row.items() if value is not None}
        yield _placed(path, None, partial(convert_submission, values), record=values, item=number)


READERS: dict[str, Callable[[Path], Iterator[LocatedSubmission | Rejected]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
"""What reads submissions, by the file's ending."""
