"""Base class of results: JSON, rows, data frames, files, text, a notebook's table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Never

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UsageError
from steelyard.records import Finding, one_a_kind

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


Row = pages.Row


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
        return pages.versioned(self._shape())

    def to_polars(self) -> pl.DataFrame:
        """The rows as a Polars frame."""
        return pages.polars_frame(self.to_dicts())

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return pages.pandas_frame(self.to_dicts())

    @classmethod
    def figure_names(cls) -> tuple[str, ...]:
        """Return the names of its figures: none."""
        return ()

    def figure(self, _name: str | None = None, *, width: int | None = None) -> Never:  # noqa: ARG002 # as of an answer
        """Raise the error that it has no figure."""
        raise UsageError(f"{type(self).__name__} has no figure")

    def save(self, path: Path | str, *, no_csv_escape: bool = False) -> None:
        """Write the result to a file in the format of its extension: .json, .csv, .parquet, .svg or .png.

        In CSV, a string that looks like a spreadsheet formula (it begins with `=`, `+`, `-`, `@`, a tab or a carriage
        return) is prefixed with a quote, unless `no_csv_escape` is set.
        """
        pages.write_result(self, Path(path), no_csv_escape=no_csv_escape)

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

        return result_text(self, width=pages.text_width())

    def __repr__(self) -> str:
        return pages.short_repr(type(self), self._about())
