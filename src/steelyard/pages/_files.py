"""Results as files: pages for people, CSV with `inf` and empty cells, strict JSON, Parquet with IEEE values."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from steelyard.errors import MissingExtraError, UsageError
from steelyard.records import FORMULA_SIGNS, Redaction
from steelyard.settings import FIGURE_ENDINGS

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from steelyard.figures import Figure


def check_file(path: Path, *, endings: Collection[str] = ()) -> None:
    """Reject a file with an unknown extension or in a folder that does not exist."""
    if endings and path.suffix.lower() not in endings:
        *most, last = (f".{ending.removeprefix('.')}" for ending in endings)
        hint = f"use the extension {', '.join(most)} or {last}"
        raise UsageError(f"unsupported file type: {path.name!r}", hint=hint)
    if path.is_dir():
        raise UsageError(f"{path} is a directory", hint="specify a file in it")
    _check_place(path)


def check_folder(path: Path) -> None:
    """Reject a folder that can be neither written to nor created."""
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file", hint="specify a directory")
    _check_place(path)


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise UsageError(
            f"no such directory: {path.parent}", where=str(path), hint=f"create it: mkdir -p {path.parent}"
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied", hint="choose another path")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """What goes wrong with the file while it is written, as one kind of error."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


Row = dict[str, Any]  # Any: cells of any type

RESULT_ENDINGS = (".json", ".csv", ".parquet", ".html", ".md")


def csv_cell(cell: Any, *, raw: bool = False) -> Any:  # Any: what a CSV cell can hold
    """The cell; a text that a spreadsheet would run as a formula begins with a quote, unless it is asked for raw.

    >>> csv_cell("=1+1"), csv_cell(-1.5), csv_cell("=1+1", raw=True)
    ("'=1+1", -1.5, '=1+1')
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_SIGNS) and not raw else cell


def csv_text(rows: Sequence[Row], *, raw: bool = False) -> str:
    """One line a row; full precision, infinity as `inf`, missing as an empty cell, no cell a formula."""
    text = io.StringIO()
    if rows:
        names = {name: csv_cell(name, raw=raw) for name in rows[0]}
        writer = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
        writer.writerow(names)
        writer.writerows({name: csv_cell(cell, raw=raw) for name, cell in row.items()} for row in rows)
    return text.getvalue()


def polars_frame(rows: Sequence[Row], **types: Any) -> pl.DataFrame:  # Any: Polars types, by column
    """Return the rows as a Polars frame; `types` of columns that may be empty in all rows."""
    import polars as pl  # heavy: not every caller wants a frame

    names = list(dict.fromkeys(name for row in rows for name in row))
    known = {
        name: pl.Series(name, [row.get(name) for row in rows], dtype=types[name], strict=False)
        for name in names
        if name in types
    }
    others = [name for name in names if name not in known]
    frame = pl.DataFrame([{name: row.get(name) for name in others} for row in rows], infer_schema_length=None)
    return frame.with_columns(**known).select(names)


def pandas_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """Return the rows as a pandas frame."""
    try:
        import pandas as pd  # heavy and optional
    except ImportError as error:
        raise MissingExtraError("pandas", extra="pandas", purpose="to_pandas()") from error
    return pd.DataFrame(rows)


class Writable(Protocol):
    """A result that can be written to a file."""

    @property
    def is_shared(self) -> bool:
        """Whether it contains input from several people; if so, secrets are redacted in all its files."""

    def json_pieces(self) -> Iterator[str]: ...

    def to_dicts(self) -> list[Row]: ...

    def to_polars(self) -> pl.DataFrame: ...

    def figure(self, name: str | None = None, *, width: int | None = None) -> Figure: ...

    def document(self) -> str:
        """Return the result as one HTML file."""

    def markdown(self) -> str:
        """Return the result as Markdown."""


def write_result(result: Writable, path: Path, *, figure: str | None = None, no_csv_escape: bool = False) -> str:
    """Write the result, or a figure of it, in the format that the file's ending names.

    Return how many keys and tokens of each kind were redacted; pages report this themselves.
    """
    ending = path.suffix.lower()
    redaction = Redaction()
    if result.is_shared and ending not in (".html", ".md"):
        result = redaction.tree(result)
    if ending in FIGURE_ENDINGS:
        result.figure(figure).save(path)
    else:
        check_file(path, endings=RESULT_ENDINGS)
        _write(result, path, ending, no_csv_escape=no_csv_escape)
    return redaction.summary


def _write(result: Writable, path: Path, ending: str, *, no_csv_escape: bool) -> None:
    with writing(path):
        if ending == ".json":
            with path.open("w", encoding="utf-8") as file:
                file.writelines(result.json_pieces())
                file.write("\n")
        elif ending == ".csv":
            path.write_text(csv_text(result.to_dicts(), raw=no_csv_escape), "utf-8")
        elif ending in (".html", ".md"):
            # file names may contain lone surrogates, which HTML cannot
            made = result.document() if ending == ".html" else result.markdown()
            path.write_bytes(made.encode("utf-8", "replace"))
        else:
            with path.open("wb") as file:  # Polars itself does not take every name that a file may have
                result.to_polars().write_parquet(file)
