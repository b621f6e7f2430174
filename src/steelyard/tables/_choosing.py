"""Which runs of a table count: those with these keys, in this time."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from steelyard.option_names import option
from steelyard.records import (
    Finding,
    KeyCondition,
    RunChoice,
    is_storable,
    microseconds_of,
    none_together,
    outside_findings,
    pooled_schemes,
    unmet,
)
from steelyard.tables._run_table import RunTable


def choose(table: RunTable, choice: RunChoice, *, where: str = option("where")) -> RunTable:
    """The table with the chosen runs alone; what the choice met with is among its findings."""
    if not choice or table.n == 0:
        return table
    rows = pl.lit(value=True)
    findings: list[Finding] = []
    for condition in choice.conditions:
        same = _same(table, condition)
        if not _count(table, same):
            texts = table.frame.select(_text(table, condition.key).unique()).collect().to_series()
            findings.append(unmet(condition, texts.drop_nulls().sort().to_list(), where=where))
        rows = rows & (same if condition.equal else ~same)
    kept = _count(table, rows) if choice.conditions else table.n
    if not kept:
        raise none_together(choice, where=where)
    if choice.timed:
        rows = rows & _within(table, choice)
        met, kept = kept, _count(table, rows)
        findings += outside_findings(met - kept)
    source = table.source and replace(table.source, choices=(*table.source.choices, choice))
    chosen = replace(table, frame=table.frame.filter(rows), n=kept, source=source)
    if any(condition.key == "tier" for condition in choice.conditions):
        findings += pooled_schemes(choice, chosen.tier_schemes())
    return replace(chosen, notes=(*table.notes, *findings))


def _count(table: RunTable, rows: pl.Expr) -> int:
    """Of how many runs the condition holds."""
    return int(table.frame.select(rows.sum()).collect().item()) if table.n else 0


def _text(table: RunTable, key: str) -> pl.Expr:
    present = key in table.frame.collect_schema().names()
    return pl.col(key).cast(pl.String) if present else pl.lit(None, pl.String)


def _same(table: RunTable, condition: KeyCondition) -> pl.Expr:
    if not is_storable(condition.value):  # no column of text holds it
        return _none(table)
    return _in_every_row(table, _text(table, condition.key) == condition.value)


def _none(table: RunTable) -> pl.Expr:
    return _in_every_row(table, pl.lit(value=False))


def _in_every_row(table: RunTable, condition: pl.Expr) -> pl.Expr:
    """The condition as a column, also where it is the same in every row; unknown is false."""
    first = table.frame.collect_schema().names()[0]
    return condition.fill_null(value=False) & (pl.col(first).is_null() | pl.col(first).is_not_null())


def _within(table: RunTable, choice: RunChoice) -> pl.Expr:
    known = [name for name in ("start_time", "end_time") if name in table.frame.collect_schema().names()]
    if not known:
        return _none(table)
    seconds = pl.coalesce(known)
    inside = seconds.is_not_null()
    if choice.since is not None:
        inside = inside & (seconds >= microseconds_of(choice.since) / 1_000_000).fill_null(value=False)
    if choice.until is not None:
        inside = inside & (seconds < microseconds_of(choice.until) / 1_000_000).fill_null(value=False)
    return inside
