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
    """A number as strict JSON holds it: infinity is a string."""
    if value is None or math.isfinite(value):
        return value
    assert not math.isnan(value), "a missing value is None, never NaN"
    return "Infinity" if value > 0 else "-Infinity"


def json_numbers(shape: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """The mapping with each number as strict JSON holds it."""
    return {name: json_number(value) if isinstance(value, float) else value for name, value in shape.items()}


Row = dict[str, Any]  # Any: cells of any type

SCHEMA_VERSION = 1
"""Version of every JSON answer; renaming a field increments it."""

MAX_REPR_LENGTH = 110
USUAL_WIDTH, MIN_WIDTH = 80, 40
"""Columns of a text where neither COLUMNS nor a terminal says, and at least."""


def versioned(shape: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON values
    """The JSON object with its schema version in front."""
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
    """What a command gives. Subclasses are frozen records that state their JSON shape, their rows and a summary."""

    is_shared: ClassVar[bool] = False
    """Whether it shows what several people brought: keys and tokens are taken out of every file of it."""

    def __post_init__(self) -> None:
        """Put findings of one kind together, whoever found them."""
        for name in (field.name for field in fields(self)):  # type: ignore[arg-type] # every result is a dataclass
            value = getattr(self, name)
            if isinstance(value, (tuple, list)) and value and isinstance(value[0], Finding):
                object.__setattr__(self, name, one_a_kind(value))

    @abstractmethod
    def _shape(self) -> dict[str, Any]:  # Any: JSON values
        """The documented JSON shape, without its version."""

    @abstractmethod
    def _about(self) -> str:
        """What the result holds, in a few words."""

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
        """The figure of that name, or the main one; it shows itself in a notebook and has `save("x.svg")`."""
        from steelyard.results._drawing import check_keywords, draw  # names every kind of result

        check_keywords(type(self), unknown)
        return draw(self, name, width=width)

    def save(self, path: Path | str, *, no_csv_escape: bool = False) -> None:
        """Write the result to a file; its ending decides the format: .json, .csv, .parquet, or .svg and .png.

        In CSV, a text that a spreadsheet would run as a formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
        return) gets a quote before it; with `no_csv_escape` it stays as it is.
        """
        from steelyard.reports import write_result  # renders, and stands above results

        write_result(self, Path(path), no_csv_escape=no_csv_escape)

    def _repr_html_(self) -> str:
        from steelyard.reports import result_html  # renders, and stands above results

        return result_html(self)

    def __str__(self) -> str:
        from steelyard.reports import result_text  # renders, and stands above results

        return result_text(self, width=max(get_terminal_size((USUAL_WIDTH, 24)).columns, MIN_WIDTH))

    def __repr__(self) -> str:
        # names come from logs: they must not break the line or drive the terminal
        text = clean(self._about())
        name = type(self).__name__
        room = MAX_REPR_LENGTH - len(name)
        return f"{name}({text if len(text) <= room else text[: room - 3] + '...'})"
