"""Completeness as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.pages import DASH, TextTable, add_row, plain_table
from steelyard.records import key_label
from steelyard.results import CompletenessSummary

WAYS = ("reported", "counted", "priced", "lower_bound", "unknown")


def completeness_tables(result: CompletenessSummary) -> Iterator[TextTable]:
    """For each group a row a field that some run has."""
    for group in result.groups:
        name = key_label(group.key, group.key.values())
        table = plain_table(f"Completeness of {group.n:,} runs{f', {name}' if name else ''}")
        table.add_column("field")
        for way in WAYS:
            table.add_column(way.replace("_", " "), justify="right")
        for field in result.stated:
            counts = group.fields[field]
            add_row(table, field, *(f"{count:,}" if (count := getattr(counts, way)) else DASH for way in WAYS))
        yield table
