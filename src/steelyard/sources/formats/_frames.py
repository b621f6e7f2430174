"""Run records in a pandas, Polars or Spark data frame: columns as CSV has them, with the types that the frame has.

A cell that is NaN, NA or NaT is missing. Text is read as a CSV cell would be; numbers where text belongs (task 7) are
written out. Neither library is imported here: a caller that passes a frame has imported it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import cache
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from steelyard.errors import RecordError, UsageError
from steelyard.records import DecodeError, Run
from steelyard.sources.formats._log_format import PlacedRun
from steelyard.sources.formats._run_records import ALIASES, NESTED, column_problem, named_columns, run_of_row

if TYPE_CHECKING:
    import polars as pl

GIVEN_FRAME = "data frame"
"""How messages name it."""
_LIBRARIES = ("pandas", "polars", "pyspark")
Cells = dict[str, list[Any]]  # Any: cells of any type


def is_frame(given: object) -> bool:
    """Whether it is a data frame of pandas, Polars or Spark."""
    return any(
        base.__name__ in ("DataFrame", "LazyFrame") and base.__module__.partition(".")[0] in _LIBRARIES
        for base in type(given).__mro__
    )


def frame_runs(frame: Any) -> Iterator[PlacedRun]:  # Any: a frame of either library
    """The run in each row; the first row that is none is an error that names it."""
    from steelyard.sources.formats._typed_columns import CHUNK_ROWS, runs_of_frame  # brings Polars

    given = frame_cells(frame)
    cells = dict(zip(named_columns(list(given)), given.values(), strict=True))
    _check_columns(list(cells))
    typed = _typed(cells)
    for start in range(0, len(cells["task"]), CHUNK_ROWS):
        runs = None if typed is None else runs_of_frame(typed.slice(start, CHUNK_ROWS))
        if runs is None:
            yield from _one_by_one({name: column[start : start + CHUNK_ROWS] for name, column in cells.items()}, start)
        else:
            yield from (PlacedRun(run, GIVEN_FRAME, number) for number, run in enumerate(runs, start + 1))


def _typed(cells: Cells) -> pl.DataFrame | None:
    """The cells as columns of one type each; None where a column has several."""
    import polars as pl  # heavy: paths and records do not need it

    try:
        return pl.DataFrame(cells, infer_schema_length=None)
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError):
        return None


def _one_by_one(cells: Cells, start: int) -> Iterator[PlacedRun]:
    for number, row in enumerate(zip(*cells.values(), strict=True), start + 1):
        try:
            values = {name: _fitted(name, cell) for name, cell in zip(cells, row, strict=True)}
            yield PlacedRun(run_of_row(values, from_text=True, own_typed=True), GIVEN_FRAME, number)
        except DecodeError as error:
            raise RecordError(error.reason, path=GIVEN_FRAME, line=number, hint=error.hint) from error


def frame_cells(frame: Any) -> Cells:  # Any: a frame of either library
    """The cells of each column as plain values, None where they are missing."""
    if type(frame).__name__ == "LazyFrame":
        frame = frame.collect()
    if hasattr(frame, "toArrow"):  # Spark; its rows come here, where runs are priced and repeated ones found
        import polars as pl  # heavy: paths and records do not need it

        frame = pl.from_arrow(frame.toArrow())
    if hasattr(frame, "iloc"):  # pandas; rows may be known by an index that is a column of the records
        frame = frame if None in frame.index.names else frame.reset_index()
        columns = [(name, frame.iloc[:, place].astype(object)) for place, name in enumerate(frame.columns)]
    else:
        columns = [(series.name, series) for series in frame]
    names = [".".join(map(str, name)) if isinstance(name, tuple) else str(name) for name, _ in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"duplicate column {twice!r}", where=GIVEN_FRAME, hint="use unique names")
    return {name: [_plain(cell) for cell in series.to_list()] for name, (_, series) in zip(names, columns, strict=True)}


def _check_columns(names: list[str]) -> None:
    """Reject columns that are no fields of a run, or lack the task."""
    problem = column_problem(names)
    if problem is not None:
        hint = (problem.hint or "").partition("; `steelyard mapping suggest")[0]
        renamed = "rename columns with frame.rename(columns=...), or pass map=..."
        raise UsageError(
            problem.reason, where=GIVEN_FRAME, hint=f"{hint}; {renamed}" if "olumn" in problem.reason else hint
        )


def _plain(cell: Any) -> Any:  # Any: a cell of any type, and its plain value
    """The value as JSON or a record has it; None where it is missing."""
    if cell is None or isinstance(cell, (str, bool, int)):
        return None if cell == "" else cell
    if isinstance(cell, float):
        return None if cell != cell else float(cell)  # noqa: PLR0124 # NaN
    if type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(cell, Mapping):
        return {str(key): _plain(value) for key, value in cell.items()}
    if isinstance(cell, (list, tuple, set, frozenset)):
        return [_plain(value) for value in cell]
    for listed in ("tolist", "to_list"):  # a number or an array of numpy, a list of Polars
        if hasattr(cell, listed):
            return _plain(getattr(cell, listed)())
    return _plain_amount(cell)


def _plain_amount(cell: Any) -> Any:  # Any: as above
    """Moments in UTC where their zone is known, durations in seconds, exact decimals as numbers."""
    if isinstance(cell, datetime):
        whole = cell.to_pydatetime(warn=False) if hasattr(cell, "to_pydatetime") else cell
        return whole if whole.tzinfo is None else whole.astimezone(UTC)
    if isinstance(cell, timedelta):
        return cell.total_seconds()
    if isinstance(cell, Decimal):
        return None if cell.is_nan() else int(cell) if cell == cell.to_integral_value() else float(cell)
    return cell


def _fitted(name: str, cell: Any) -> Any:  # Any: a plain cell, and what the field takes
    """The cell as its field takes it, where a frame has another type for the same value."""
    if cell is None or isinstance(cell, str) or name.startswith("x_"):
        return cell
    kinds = _kinds().get(ALIASES.get(name, name), frozenset())
    is_whole = isinstance(cell, float) and cell.is_integer()
    if str in kinds:
        if isinstance(cell, (dict, list)):
            return cell
        return cell.isoformat() if isinstance(cell, date) else str(int(cell) if is_whole else cell)
    if bool in kinds and not isinstance(cell, bool) and cell in (0, 1):
        return bool(cell)  # a column of flags with gaps is one of numbers in pandas
    if int in kinds and is_whole:
        return int(cell)  # so is a column of whole numbers
    if datetime in kinds and isinstance(cell, date) and not isinstance(cell, datetime):
        return datetime.combine(cell, time())
    return cell


@cache
def _kinds() -> dict[str, frozenset[type]]:
    """The types that each column may hold."""
    kinds = {name: _types(hint) for name, hint in get_type_hints(Run, include_extras=True).items()}
    for part, record in NESTED.items():
        hints = get_type_hints(record, include_extras=True)
        kinds |= {f"{part}.{name}": _types(hint) for name, hint in hints.items()}
    return kinds


def _types(hint: Any) -> frozenset[type]:  # Any: a type as it is written
    if get_origin(hint) is Annotated:
        return _types(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return frozenset().union(*map(_types, get_args(hint)))
    if get_origin(hint) is Literal:
        return frozenset(map(type, get_args(hint)))
    return frozenset({get_origin(hint) or hint})
