"""From paths, records or frames to a table of runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.errors import UnreadableFile
from steelyard.prices import DEFAULT_BOOK, open_book
from steelyard.records.finding import Rejected
from steelyard.records.run import Run
from steelyard.sources._base import Entry, Source, head_of
from steelyard.sources._catalog import source_named
from steelyard.sources._gather import gather
from steelyard.sources._read import recognised

if TYPE_CHECKING:
    from steelyard.tables.build import RunTable

PathInput = str | PathLike[str]
Progress = Callable[[str, int], None]


def open_runs(
    inputs: PathInput | Sequence[PathInput] | Iterable[Run] | RunTable,
    *,
    prices: str = DEFAULT_BOOK,
    progress: Progress | None = None,
) -> RunTable:
    """The table of runs in the files, or of the records given. A table is given back as it is."""
    from steelyard.tables.build import RunTable, TableBuilder  # tables bring numpy and Polars

    if isinstance(inputs, RunTable):
        return inputs
    builder = TableBuilder(open_book(prices), progress=progress)
    if isinstance(inputs, (str, PathLike)):
        inputs = [inputs]
    records: list[Run] = []
    logs: list[Path] = []
    for given in inputs:
        if isinstance(given, Run):
            records.append(given)
            continue
        path = Path(given)
        try:
            if path.is_file() and (source := own_records_source(path)) is not None:
                builder.add_file(path, source)
            else:
                logs.append(path)
        except UnreadableFile as error:
            builder.reject(Rejected(path=str(path), reason=error.message, hint=error.hint, code="unreadable_file"))
        except OSError as error:
            builder.reject(Rejected(path=str(path), reason=error.strerror or str(error), code="unreadable_file"))
    if logs:
        gathered = gather(logs, own_records=lambda path, name: builder.add_file(path, source_named(name)))
        builder.add_entries(gathered, name=str(logs[0]))
    builder.add_entries((Entry(run, "records", number) for number, run in enumerate(records, 1)), name="records")
    return builder.finish()


def own_records_source(path: Path) -> Source | None:
    """The source of a file of our own records; None for the logs and archives of others."""
    source = recognised(head_of(path))
    return source if source is not None and source.priority == "last" else None
