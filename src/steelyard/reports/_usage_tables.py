"""What runs used, and what is known of them, as tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.formatting import table_format
from steelyard.pages import TextTable, add_row, plain_table
from steelyard.records import key_label, key_text
from steelyard.results import CompletenessSummary, UsageCount, UsageSummary

DASH = "-"
COLUMNS: dict[str, tuple[str, ...]] = {
    "input": ("input_tokens",),
    "output + reasoning": ("output_tokens", "reasoning_tokens"),
    "cache write": ("cache_write_5m_tokens", "cache_write_1h_tokens"),
    "cache read": ("cache_read_tokens",),
}
"""Kinds of tokens as a table has room for them; `--json` and `--csv` have each of its own."""
SPARED = {"input": 5, "output + reasoning": 4, "cache write": 7, "cache read": 6}
"""Which of them leave a narrow table, the highest first."""
WAYS = ("reported", "counted", "priced", "lower_bound", "unknown")


def usage_table(result: UsageSummary) -> TextTable:
    """A row for each group, and one for all."""
    table = plain_table(f"Usage{' by ' if result.by else ''}{', '.join(result.by)}, prices {result.prices}")
    for key in result.by:
        table.add_column(key)
    for heading, spare in {"cost": 0, "tokens": 1, **SPARED, "calls": 2, "runs": 3}.items():
        table.add_column(heading, justify="right", spare=spare)
    *costs, of_all = cost_texts([*(group.used for group in result.groups), result.total])
    for group, cost in zip(result.groups, costs, strict=True):
        add_row(table, *(key_text(value) for value in group.key.values()), *_cells(group.used, cost))
    if len(result.groups) > 1:
        add_row(table, *("all", *[""] * (len(result.by) - 1))[: len(result.by)], *_cells(result.total, of_all))
    return table


def cost_texts(used: Sequence[UsageCount]) -> list[str]:
    """Return a column of costs; ≥ marks a lower bound.

    >>> cost_texts([UsageCount(cost_usd=2.5, lower_bound=True), UsageCount(cost_usd=12.0), UsageCount()])
    ['≥ $2.50', '$12.00', '-']
    """
    column = table_format((each.cost_usd for each in used), "USD")
    texts = [column.text(each.cost_usd) for each in used]
    return [f"≥ {text}" if each.lower_bound and text != DASH else text for each, text in zip(used, texts, strict=True)]


def _cells(used: UsageCount, cost: str) -> list[str]:
    return [
        cost,
        _count(used.total_tokens),
        *(_count(kind_sum(used, kinds)) for kinds in COLUMNS.values()),
        _count(used.calls),
        f"{used.runs:,}",
    ]


def kind_sum(used: UsageCount, kinds: tuple[str, ...]) -> int | None:
    """The tokens of several kinds; None where none of them is stated."""
    known = [count for kind in kinds if (count := used.tokens[kind]) is not None]
    return sum(known) if known else None


def _count(value: int | None) -> str:
    return DASH if value is None else f"{value:,}"


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
