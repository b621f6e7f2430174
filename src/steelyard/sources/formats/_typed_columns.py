"""Run records from the typed columns of a table, a batch at once: the runs that `run_of_row` makes of each row.

Only what needs no look at single cells is done here. For any other batch the answer is None, and its rows are read one
by one, so that there is one judge of what is wrong with a row.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat
from math import isfinite
from operator import setitem
from typing import Any

import msgspec
import polars as pl

from steelyard.records import DEFAULT_SCHEME, Run, as_utc
from steelyard.sources.formats._run_records import ALIASES, SCALARS

Column = list[Any]  # Any: cells of one column
CHUNK_ROWS = 2_000
"""Few enough to stay in the processor's cache while they become records."""


def runs_of_frame(frame: pl.DataFrame) -> list[Run] | None:
    """The runs of these rows, `CHUNK_ROWS` at most; None for rows that must be looked at one by one."""
    try:
        return msgspec.convert(_rows(_columns_of(frame)), list[Run])
    except (_UntypedColumnError, msgspec.DecodeError, msgspec.ValidationError):
        return None


def _columns_of(frame: pl.DataFrame) -> dict[str, Column]:
    """The cells of each field of the record."""
    columns: dict[str, Column] = {}
    parts: dict[str, dict[str, Column]] = {}
    for series in frame:
        name = ALIASES.get(series.name, series.name)
        part, _, leaf = name.partition(".")
        if name.startswith("x_"):
            parts.setdefault("x_", {})[name] = _plain(series)
        elif leaf:
            parts.setdefault(part, {})[leaf] = _plain(series)
        else:
            columns[name] = _field(name, series)
    if columns.keys() & parts.keys() or "x_" in parts.get("x_", ()):
        raise _UntypedColumnError
    return columns | {part: [_part(row, own=part == "x_") for row in _rows(cells)] for part, cells in parts.items()}


class _UntypedColumnError(Exception):
    """A cell must be looked at by itself."""


def _field(name: str, series: pl.Series) -> Column:
    """The cells of a field of the record; where that is no single value, its text is JSON."""
    if name == "tier_scheme":
        series = series.fill_null(DEFAULT_SCHEME)
    cells = _plain(series)
    return cells if name in SCALARS or series.dtype != pl.String else [_json(cell) for cell in cells]


def _json(cell: str | None) -> Any:  # Any: JSON values
    if cell is None:
        return None
    if cell[:1] not in ("[", "{"):
        raise _UntypedColumnError
    return msgspec.json.decode(cell)


def _plain(series: pl.Series) -> Column:
    """The cells of text, flags, finite numbers or moments."""
    if series.dtype in (pl.String, pl.Boolean) or series.dtype.is_integer():
        return series.to_list()
    if series.dtype.is_float() and isfinite(series.sum()):  # asking each number costs a query; a sum does not
        return series.to_list()
    if series.dtype == pl.Datetime("us") and not series.name.startswith("x_"):
        cells: Column = series.to_numpy().tolist()  # four times faster than to_list()
        return cells
    if series.dtype == pl.Datetime("us", "UTC") and not series.name.startswith("x_"):
        return [cell and as_utc(cell) for cell in series.dt.replace_time_zone(None).to_numpy().tolist()]
    raise _UntypedColumnError


def _part(row: dict[str, Any], *, own: bool) -> dict[str, Any] | None:  # Any: cells
    """The part of one row; None where the row has nothing of it. An own key without a value is not there."""
    if None not in row.values():
        return row
    known = {name: cell for name, cell in row.items() if cell is not None}
    return (known if own else row) if known else None


def _rows(columns: dict[str, Column]) -> list[dict[str, Any]]:  # Any: cells
    """A dictionary a row; filled column by column, since that takes half the time of making each from its items."""
    size = len(next(iter(columns.values())))
    rows = list(map(dict.copy, repeat(dict.fromkeys(columns), size)))
    for name, cells in columns.items():
        deque(map(setitem, rows, repeat(name), cells), maxlen=0)
    return rows
