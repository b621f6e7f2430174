"""Flat Parquet files go to the table as columns, without a record for each row: ten million runs fit and are fast.

A row that any check finds suspicious is read again as a record, so that it is judged, and if need be rejected, by the
same code as every other record.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Any, assert_never

import msgspec
import polars as pl

from steelyard.files import parquet_frame
from steelyard.records import DEFAULT_SCHEME, PROVIDED_MODEL, RUN_FIELDS, VERDICTS, FromColumns, Run, tier_problem
from steelyard.sources.formats._run_records import ALIASES
from steelyard.sources.tables._row_batches import LINE, column_type

_FLAT_FIELDS = {name: fact.flat for name, fact in RUN_FIELDS.items() if fact.flat is not None}


@cache
def _column_types() -> dict[str, Any]:  # Any: types as msgspec describes them, each of its own class
    """What the record declares of each column that facts are had from: its type and its limits."""
    record = msgspec.inspect.type_info(Run)
    return {
        column: _declared(record, column)
        for flat in _FLAT_FIELDS.values()
        for column in (*flat.columns, *flat.known_by)
    }


def _declared(record: Any, column: str) -> Any:  # Any: as above
    declared = record
    for name in column.split("."):
        (field,) = (field for field in declared.fields if field.encode_name == name)
        choices = field.type.types if isinstance(field.type, msgspec.inspect.UnionType) else (field.type,)
        # Names of tests may replace their number; a flat file has numbers.
        (declared,) = (
            choice
            for choice in choices
            if not isinstance(choice, (msgspec.inspect.NoneType, msgspec.inspect.VarTupleType))
        )
    return declared


_WRONG_TIERS_NAMED = 50
"""With more wrong tiers than this, every row with a tier is looked at as a record."""


def flat_frame(path: Path) -> pl.LazyFrame | None:
    """The file as a frame of record columns with a row number, if all its columns are of the flat kind; else None."""
    frame = parquet_frame(path)
    schema = frame.collect_schema()
    renamed = {name: ALIASES[name] for name in schema.names() if name in ALIASES}
    for name, type_ in schema.items():
        if not _is_flat(ALIASES.get(name, name), type_):
            return None
    return frame.rename(renamed).with_row_index("_row")


def _is_flat(name: str, type_: pl.DataType) -> bool:
    match _column_types().get(name):
        case msgspec.inspect.StrType() | msgspec.inspect.LiteralType():
            return type_ in (pl.String, pl.Categorical) or isinstance(type_, pl.Enum)
        case msgspec.inspect.BoolType():
            return type_ == pl.Boolean
        case msgspec.inspect.IntType():
            return type_.is_integer()
        case msgspec.inspect.FloatType():
            return type_.is_numeric()
        case msgspec.inspect.DateTimeType():
            return isinstance(type_, pl.Datetime)
    return False


def suspicious(frame: pl.LazyFrame) -> pl.Expr:
    """True for the rows that a record reader must look at."""
    names = [name for name in frame.collect_schema().names() if name != "_row"]
    checks = [pl.col("task").is_null()]
    for name in names:
        column = pl.col(name)
        match declared := _column_types()[name]:
            case msgspec.inspect.StrType():
                length = column.cast(pl.String).str.len_bytes()
                checks.append((length < declared.min_length) | (length > declared.max_length))
            case msgspec.inspect.LiteralType():
                checks.append(~column.cast(pl.String).is_in(declared.values))
            case msgspec.inspect.IntType():
                checks.append((column < declared.ge) | (column > declared.le))
            case msgspec.inspect.FloatType():
                number, most = column.cast(pl.Float64), float("inf") if declared.le is None else declared.le
                checks.append(~number.is_between(declared.ge, most, closed="both") | number.is_infinite())
    if {"started_at", "ended_at"} <= set(names):
        checks.append(_utc("ended_at") < _utc("started_at"))
    if "tier" in names:
        checks += _wrong_tiers(frame, scheme_given="tier_scheme" in names)
    return pl.any_horizontal([check.fill_null(value=False) for check in checks])


def _wrong_tiers(frame: pl.LazyFrame, *, scheme_given: bool) -> list[pl.Expr]:
    """Checks for the tiers that are not in their scheme; few pairs are looked at instead of all rows."""
    scheme = pl.col("tier_scheme").cast(pl.String).fill_null(DEFAULT_SCHEME) if scheme_given else pl.lit(DEFAULT_SCHEME)
    tier = pl.col("tier").cast(pl.String)
    pairs = frame.select(tier.alias("tier"), *([scheme.alias("scheme")] if scheme_given else [])).unique().collect()
    wrong = [
        (name, row.get("scheme", DEFAULT_SCHEME))
        for row in pairs.iter_rows(named=True)
        if (name := row["tier"]) is not None and tier_problem(name, row.get("scheme", DEFAULT_SCHEME))
    ]
    return [(tier == name) & (scheme == of) for name, of in wrong[:_WRONG_TIERS_NAMED]] + (
        [tier.is_not_null()] if len(wrong) > _WRONG_TIERS_NAMED else []
    )


def _utc(name: str) -> pl.Expr:
    """The moment as microseconds since 1970; a time without a zone is UTC."""
    return pl.col(name).dt.epoch("us")


def _seconds(microseconds: pl.Expr) -> pl.Expr:
    """The same digits as a record's: Polars divides by a constant through its reciprocal, and rounds twice."""
    return microseconds / (microseconds * 0 + 1_000_000)


def derived_columns(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The facts that flat columns give, as each declares it, and the line of each row."""
    names = set(frame.collect_schema().names())
    made = {name: _fact(flat, names) for name, flat in _FLAT_FIELDS.items()}
    facts = (expr.cast(column_type(name)).alias(name) for name, expr in made.items() if expr is not None)
    return frame.select(*facts, (pl.col("_row").cast(pl.Int64) + 1).alias(LINE))


def _known_sum(columns: Sequence[str], known_by: Sequence[str]) -> pl.Expr | None:
    """The sum of the columns where one of the others is known; None when the file has none of these."""
    known = [pl.col(name).is_not_null() for name in known_by]
    added = [pl.col(name).cast(pl.Int64).fill_null(0) for name in columns] or [pl.lit(0, pl.Int64)]
    return pl.when(pl.any_horizontal(known)).then(pl.sum_horizontal(added)) if known else None


def _total(kinds: Sequence[str], stated: str, names: AbstractSet[str]) -> pl.Expr | None:
    """`Usage.total` as an expression."""
    present = [name for name in kinds if name in names]
    added = _known_sum(present, present)
    if stated not in names or added is None:
        return pl.col(stated) if stated in names else added
    larger = pl.max_horizontal(added, pl.col(stated).cast(pl.Int64))
    if len(present) < len(kinds):
        return larger
    all_known = pl.all_horizontal([pl.col(name).is_not_null() for name in kinds])
    return pl.when(all_known).then(added).otherwise(larger)


def _fact(flat: FromColumns, names: AbstractSet[str]) -> pl.Expr | None:
    """The fact as an expression; None when the file does not have the columns."""
    columns = [name for name in flat.columns if name in names]
    match flat.way:
        case "value" if flat.otherwise is not None:
            stated = [pl.col(name).cast(pl.String) for name in columns]
            return pl.coalesce(*stated, pl.lit(flat.otherwise, pl.String))
        case "value":
            return pl.col(columns[0]) if columns else None
        case "model":
            return pl.col(columns[0]).cast(pl.String).str.replace(PROVIDED_MODEL, "$1") if columns else None
        case "sum":
            return _known_sum(columns, [name for name in flat.known_by or flat.columns if name in names])
        case "total":
            return _total(flat.columns[:-1], flat.columns[-1], names)
        case "seconds":
            return _seconds(_utc(columns[0])) if columns else None
        case "between":
            return _seconds(_utc(columns[1]) - _utc(columns[0])) if len(columns) == 2 else None
        case "verdict":
            flag, word = flat.columns
            stated = [pl.col(flag)] if flag in names else []
            if word in names:
                words = pl.col(word).cast(pl.String)
                stated.append(words.replace_strict(VERDICTS, default=None, return_dtype=pl.Boolean))
            return pl.coalesce(stated) if stated else None
    assert_never(flat.way)
