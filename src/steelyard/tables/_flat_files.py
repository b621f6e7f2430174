"""Flat Parquet files go to the table as columns, without a record for each row: ten million runs fit and are fast.

A row that any check finds suspicious is read again as a record, so that it is judged, and if need be refused, by the
same code as every other record.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from steelyard.formats import ALIASES
from steelyard.records import DEFAULT_SCHEME, TOKEN_KINDS, tier_problem

_TEXT = ("id", "experiment", "task", "agent", "model", "tier", "tier_scheme", "outcome")
_FLAGS = ("passed", "success")
_COUNTS = ("attempt", "tool_calls", "iterations", "tests.passed", "tests.failed", "tests.errors")
_TOKENS = tuple(f"usage.{kind}" for kind in TOKEN_KINDS)
_AMOUNTS = ("impl_rate", "cost_usd")
_TIMES = ("started_at", "ended_at")
_OUTCOMES = ("passed", "failed", "errored", "not_scored")
_MAX_NAME = 1024
_WRONG_TIERS_NAMED = 50
"""With more wrong tiers than this, every row with a tier is looked at as a record."""


def flat_frame(path: Path) -> pl.LazyFrame | None:
    """The file as a frame of record columns with a row number, if all its columns are of the flat kind; else None."""
    frame = pl.scan_parquet(path)
    schema = frame.collect_schema()
    renamed = {name: ALIASES[name] for name in schema.names() if name in ALIASES}
    for name, type_ in schema.items():
        if not _is_flat(ALIASES.get(name, name), type_):
            return None
    return frame.rename(renamed).with_row_index("_row")


def _is_flat(name: str, type_: pl.DataType) -> bool:
    if name in _TEXT:
        return type_ in (pl.String, pl.Categorical) or isinstance(type_, pl.Enum)
    if name in _FLAGS:
        return type_ == pl.Boolean
    if name in _COUNTS or name in _TOKENS:
        return type_.is_integer()
    if name in _AMOUNTS:
        return type_.is_numeric()
    return name in _TIMES and isinstance(type_, pl.Datetime)


def suspicious(frame: pl.LazyFrame) -> pl.Expr:
    """True for the rows that a record reader must look at."""
    names = frame.collect_schema().names()
    checks = [pl.col("task").is_null()]
    for name in names:
        column = pl.col(name)
        if name in _TEXT:
            length = column.cast(pl.String).str.len_bytes()
            checks.append((length < 1) | (length > _MAX_NAME))
        elif name in _COUNTS or name in _TOKENS:
            checks.append(column < (1 if name == "iterations" else 0))
        elif name in _AMOUNTS:
            checks.append(
                ~(column.cast(pl.Float64).is_between(0, 1 if name == "impl_rate" else float("inf"), closed="both"))
            )
            checks.append(column.cast(pl.Float64).is_infinite())
    if "outcome" in names:
        checks.append(~pl.col("outcome").cast(pl.String).is_in(_OUTCOMES))
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


def facts_of(frame: pl.LazyFrame) -> pl.LazyFrame:
    """The facts that flat columns give, by the same rules as `records/_facts.py`."""
    names = set(frame.collect_schema().names())
    made: dict[str, pl.Expr] = {}
    for name in (*_TEXT, "attempt", "tool_calls", "iterations", "success"):
        if name in names:
            made[name] = pl.col(name).cast(pl.String) if name in _TEXT else pl.col(name)
    made["tier_scheme"] = (
        pl.col("tier_scheme").cast(pl.String).fill_null(DEFAULT_SCHEME)
        if "tier_scheme" in names
        else pl.lit(DEFAULT_SCHEME, pl.String)
    )
    made |= _verdict(names) | _tests(names) | _times(names) | _tokens(names)
    if "impl_rate" in names:
        made["stated_impl_rate"] = pl.col("impl_rate").cast(pl.Float64)
    if "cost_usd" in names:
        made["reported_cost_usd"] = pl.col("cost_usd").cast(pl.Float64)
    wanted_int = {"attempt", "tool_calls", "iterations"} & set(made)
    return frame.select(
        *(expr.alias(name) for name, expr in made.items()), (pl.col("_row").cast(pl.Int64) + 1).alias("_line")
    ).with_columns(pl.col(sorted(wanted_int)).cast(pl.Int64))


def _verdict(names: set[str]) -> dict[str, pl.Expr]:
    stated = []
    if "passed" in names:
        stated.append(pl.col("passed"))
    if "outcome" in names:
        outcome = pl.col("outcome").cast(pl.String)
        stated.append(pl.when(outcome.is_in(["passed", "failed"])).then(outcome == "passed"))
    return {"passed": pl.coalesce(stated)} if stated else {}


def _tests(names: set[str]) -> dict[str, pl.Expr]:
    columns = [name for name in ("tests.passed", "tests.failed", "tests.errors") if name in names]
    if not columns:
        return {}
    known = pl.any_horizontal([pl.col(name).is_not_null() for name in columns])
    bad = [name for name in columns if name != "tests.passed"]
    return {
        "tests_run": pl.when(known).then(_sum(columns)),
        "tests_not_passed": pl.when(known).then(_sum(bad) if bad else pl.lit(0, pl.Int64)),
    }


def _sum(names: Sequence[str]) -> pl.Expr:
    return pl.sum_horizontal([pl.col(name).cast(pl.Int64).fill_null(0) for name in names])


def _times(names: set[str]) -> dict[str, pl.Expr]:
    made: dict[str, pl.Expr] = {}
    if "started_at" in names:
        made["start_time"] = _utc("started_at") / 1_000_000
    if "ended_at" in names:
        made["end_time"] = _utc("ended_at") / 1_000_000
    if len(made) == 2:
        made["elapsed_seconds"] = (_utc("ended_at") - _utc("started_at")) / 1_000_000
    return made


def _tokens(names: set[str]) -> dict[str, pl.Expr]:
    columns = [name for name in _TOKENS if name in names]
    if not columns:
        return {}
    made = {name.removeprefix("usage."): pl.col(name).cast(pl.Int64) for name in columns}
    known = pl.any_horizontal([pl.col(name).is_not_null() for name in columns])
    made["total_tokens"] = pl.when(known).then(_sum(columns))
    return made
