"""From paths, records or plain values to a table of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from steelyard.errors import BadRecord, UnreadableFile, UsageError
from steelyard.files import SeenFiles, file_repeated
from steelyard.formats import LogFormat, PlacedRun, head_of, log_format_named, recognized
from steelyard.prices import DEFAULT_BOOK, open_book
from steelyard.records import Refused, Run, checked_run
from steelyard.settings import is_stdin, named_path
from steelyard.tables import gather

if TYPE_CHECKING:
    from steelyard.tables import RunTable, TableBuilder

PathInput = str | PathLike[str]
RecordInput: TypeAlias = Run | Mapping[str, Any]  # Any: values of a record's fields
"""A run, or a dict with the fields of one."""
RunsInput: TypeAlias = PathInput | RecordInput | Sequence[PathInput] | Iterable[RecordInput]
"""What holds runs: paths of files and folders, or records."""
Progress = Callable[[str, int], None]


def open_runs(
    inputs: RunsInput | RunTable, *, prices: str = DEFAULT_BOOK, progress: Progress | None = None
) -> RunTable:
    """The table of runs in the files, or of the records given. A table is given back as it is."""
    from steelyard.tables import RunTable  # tables bring numpy and Polars

    return inputs if isinstance(inputs, RunTable) else _table(each_input(inputs), prices, progress)


def read(inputs: RunsInput | RunTable, *, prices: str = DEFAULT_BOOK, progress: Progress | None = None) -> RunTable:
    """The same for a caller who expects every path to be there: one that is not is an error."""
    from steelyard.tables import RunTable  # tables bring numpy and Polars

    if isinstance(inputs, RunTable):
        return inputs
    paths_or_records = list(each_input(inputs))
    if not paths_or_records:
        raise UsageError("there is nothing to read: no path and no record is given", hint="give paths or run records")
    for given in paths_or_records:
        if isinstance(given, Path) and not given.exists() and not is_stdin(given):
            raise UnreadableFile(str(given), "there is no such file or folder", hint="check the path for a slip")
    return _table(paths_or_records, prices, progress)


def _table(inputs: Iterable[Path | PlacedRun], prices: str, progress: Progress | None) -> RunTable:
    from steelyard.tables import TableBuilder  # tables bring numpy and Polars

    builder = TableBuilder(open_book(prices), progress=progress)
    paths: list[Path] = []
    records: list[PlacedRun] = []
    for given in inputs:
        if isinstance(given, Path):
            paths.append(given)
        else:
            records.append(given)
    _add_paths(builder, paths)
    builder.add_entries(records, name="records")
    return builder.finish()


def each_input(inputs: RunsInput | Iterable[PathInput | RecordInput]) -> Iterator[Path | PlacedRun]:
    """The paths and the records that were given, each record checked as one that is read would be."""
    several: object = [inputs] if isinstance(inputs, (str, PathLike, Run, Mapping)) else inputs
    if not isinstance(several, Iterable):
        raise _no_runs(several)
    for number, given in enumerate(several, 1):
        if isinstance(given, (str, PathLike)):
            yield named_path(given)
        elif isinstance(given, (Run, Mapping)):
            try:
                yield PlacedRun(checked_run(given), "records", number)
            except Refused as refused:
                raise BadRecord(refused.reason, path="records", line=number, hint=refused.hint) from refused
        else:
            raise _no_runs(given)


def _no_runs(given: object) -> UsageError:
    hint = "give paths, Run records, or dicts with the fields of a run record (steelyard schema run)"
    return UsageError(f"runs cannot be had from a value of type {type(given).__name__}", hint=hint)


def _add_paths(builder: TableBuilder, paths: Sequence[Path]) -> None:
    """All files in the order given. Files of our own records need no gathering, which is for logs and folders."""
    path_sources = [(path, _own_source(path)) for path in paths]
    if any(source is None for _, source in path_sources):
        gathered = gather(paths, own_records=lambda path, name: builder.add_file(path, log_format_named(name)))
        builder.add_entries(gathered, name=str(paths[0]))
        return
    seen = SeenFiles()
    for path, source in path_sources:
        assert source is not None
        if seen.again(path):
            builder.note(file_repeated(str(path)))
        else:
            builder.add_file(path, source)


def _own_source(path: Path) -> LogFormat | None:
    """The source of a file of our own records; None for folders, logs, archives and what cannot be read."""
    try:
        source = recognized(head_of(path)) if path.is_file() else None
    except OSError:
        return None
    return source if source is not None and source.priority == "last" else None
