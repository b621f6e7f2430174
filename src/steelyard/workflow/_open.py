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
from steelyard.sources._base import Entry
from steelyard.sources._catalog import source_for

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
    for given in inputs:
        if isinstance(given, Run):
            records.append(given)
            continue
        path = Path(given)
        try:
            if not path.is_file():
                raise UnreadableFile(str(path), "it is a folder" if path.is_dir() else "there is no such file")
            builder.add_file(path, source_for(path))
        except UnreadableFile as error:
            builder.reject(Rejected(path=str(path), reason=error.message, hint=error.hint, code="unreadable_file"))
        except OSError as error:
            builder.reject(Rejected(path=str(path), reason=error.strerror or str(error), code="unreadable_file"))
    builder.add_entries((Entry(run, "records", number) for number, run in enumerate(records, 1)), name="records")
    return builder.finish()
