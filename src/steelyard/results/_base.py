"""Base class of results: JSON, rows, data frames, files, text, a notebook's table."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, ClassVar, Never

from steelyard.errors import MissingExtraError
from steelyard.plain_text import clean
from steelyard.records import Finding, one_a_kind

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from steelyard.figures import Figure


def json_number(value: float | None) -> float | str | None:
    """Return a number as strict JSON, with infinity as a string."""
    if value is None or math.isfinite(value):
        return value
    assert not math.isnan(value), "a missing value is None, never NaN"
    return "Infinity" if value > 0 else "-Infinity"


def json_values(value: Any) -> Any:  # Any: JSON values
    """Return the value with infinity as a string, because JSON has no such number."""
    if isinstance(value, float):
        return json_number(value)
    if isinstance(value, dict):
        return {key: json_values(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(each) for each in value]
    return value


Row = dict[str, Any]  # Any: cells of any type

SCHEMA_VERSION = 1
"""Version of every JSON answer; renaming a field increments it."""

MAX_REPR_LENGTH = 110
USUAL_WIDTH, MIN_WIDTH = 80, 40
"""Columns of a text without COLUMNS or a terminal, and the minimum."""


def versioned(shape: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """Return the JSON object, preceded by its schema version."""
    return {"schema_version": SCHEMA_VERSION, **shape}


def polars_frame(rows: Sequence[Row], **types: Any) -> pl.DataFrame:  # Any: Polars types, by column
    """The rows as a Polars frame; `types` of columns that may hold nothing in all rows."""
    import polars as pl  # heavy: not every caller wants a frame

    return pl.DataFrame(rows, schema_overrides=types, infer_schema_length=None)


def pandas_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a pandas frame."""
    try:
        import pandas as pd  # heavy and optional
    except ImportError as error:
        raise MissingExtraError("pandas", extra="pandas", purpose="to_pandas()") from error
    return pd.DataFrame(rows)


class Result(ABC):
    """Result of a command. Subclasses are frozen records that define their JSON shape, rows and summary."""

    is_shared: ClassVar[bool] = False
    """Whether it contains input from several people; if so, keys and tokens are redacted in all its files."""

    def __post_init__(self) -> None:
        """Merge findings of the same kind."""
        for name in (field.name for field in fields(self)):  # type: ignore[arg-type] # every result is a dataclass
            value = getattr(self, name)
            if isinstance(value, (tuple, list)) and value and isinstance(value[0], Finding):
                object.__setattr__(self, name, one_a_kind(value))

    @abstractmethod
    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape, without its version."""

    @abstractmethod
    def _about(self) -> str:
        """Short summary of the result."""

    @abstractmethod
    def to_dicts(self) -> list[dict[str, Any]]:  # Any: cells of any type
        """Flat rows, all with the same keys."""

    def to_dict(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape; infinity is the string "Infinity"."""
        return versioned(self._shape())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return polars_frame(self.to_dicts())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return pandas_frame(self.to_dicts())

    def figure(self, name: str | None = None, *, width: int | None = None, **unknown: Never) -> Figure:
        """Return the figure of that name, or the default one. Notebooks display it; `save("x.svg")` writes it."""
        from steelyard.results._drawing import check_keywords, draw  # names every kind of result

        check_keywords(type(self), unknown)
        return draw(self, name, width=width)

    def save(self, path: Path | str, *, no_csv_escape: bool = False) -> None:
        """Write the result to a file in the format of its extension: .json, .csv, .parquet, .svg or .png.

        In CSV, a string that looks like a spreadsheet formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
        return) is prefixed with a quote, unless `no_csv_escape` is set.
        """
        from steelyard.pages import write_result  # a higher layer

        write_result(self, Path(path), no_csv_escape=no_csv_escape)

    def document(self) -> str:
        """The result as one HTML file."""
        from steelyard.reports import result_document  # a higher layer

        return result_document(self)

    def markdown(self) -> str:
        """The result as Markdown."""
        from steelyard.reports import result_markdown  # a higher layer

        return result_markdown(self)

    def _repr_html_(self) -> str:
        from steelyard.reports import result_html  # a higher layer

        return result_html(self)

    def __str__(self) -> str:
        from steelyard.reports import result_text  # a higher layer

        return result_text(self, width=max(get_terminal_size((USUAL_WIDTH, 24)).columns, MIN_WIDTH))

    def __repr__(self) -> str:
        # names come from logs: they must not break the line or drive the terminal
        text = clean(self._about())
        name = type(self).__name__
        room = MAX_REPR_LENGTH - len(name)
        return f"{name}({text if len(text) <= room else text[: room - 3] + '...'})"
