"""Columns of the kinds that several pages have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from steelyard.errors import UsageError
from steelyard.formatting import bounds_text, exact_percent, number_format, quantity_column
from steelyard.pages._page import DASH, Column, Facts, Page
from steelyard.plain_text import clean
from steelyard.records import key_text, tier_text

if TYPE_CHECKING:
    from steelyard.figures import Figure

ALONE, PAIRED, PHONE = 880, 580, 350
"""Width of a figure alone, next to another one, and on a phone."""
TALLEST = 1_500
"""Maximum height of a figure on a phone; a taller one is a list rather than a picture."""


class Drawable(Protocol):
    """A result with figures."""

    def figure(self, name: str | None = None, *, width: int | None = None) -> Figure: ...


class Limits(Protocol):
    """An interval, as far as a table shows it."""

    @property
    def low(self) -> float | None: ...

    @property
    def high(self) -> float | None: ...

    @property
    def method(self) -> str: ...

    @property
    def mark(self) -> str: ...

    @property
    def approx_coverage(self) -> float | None: ...

    @property
    def assumes(self) -> str | None: ...


def text_column(
    name: str, title: str, values: Sequence[str | None], *, links: Sequence[str | None] | None = None
) -> Column:
    """A column of text, each with the page of the dashboard that it leads to."""
    return Column(name=name, title=title, values=values, links=links)


def reason_columns(reasons: Sequence[str | None]) -> list[Column]:
    """Return a column of reasons for missing values, if there is any."""
    texts = [reason or "" for reason in reasons]
    return [text_column("reason", "why missing", texts)] if any(texts) else []


def id_path(folder: str, id_: str) -> str:
    """The path of a page about one of many: an id is one part of it, whatever it holds.

    >>> id_path("tasks", "../a b")
    '/tasks/..%2Fa%20b'
    """
    return f"/{folder}/{quote(id_, safe='', errors='replace')}"


def id_column(name: str, title: str, folder: str, ids: Sequence[str]) -> Column:
    """A column of ids, each of which leads to its page below the folder."""
    return text_column(name, title, ids, links=[id_path(folder, id_) for id_ in ids])


def time_column(name: str, title: str, moments: Sequence[str | None]) -> Column:
    """A column of moments in UTC, to the minute."""
    return text_column(name, title, [None if each is None else minute_of(each) for each in moments])


def minute_of(moment: str) -> str:
    """A moment to the minute.

    >>> minute_of("2026-11-01T09:00:00+00:00")
    '2026-11-01 09:00'
    """
    return moment[:16].replace("T", " ")


def count_column(name: str, title: str, values: Sequence[int | None]) -> Column:
    """A column of whole numbers."""
    return Column(name=name, title=title, values=values, decimals=0)


def level_column(name: str, title: str, values: Sequence[float | None], unit: str) -> Column:
    """A column of figures in a unit, as sentences write them."""
    texts = quantity_column(values, unit, in_table=False)
    return Column(name=name, title=title, values=values, decimals=6, texts=texts)


def number_column(name: str, title: str, values: Sequence[float | None], *, places: int = 3, sign: str = "") -> Column:
    """A column of bare numbers."""
    # adding 0 turns -0.0 into 0.0
    texts = [DASH if value is None else f"{round(value, places) + 0.0:{sign},.{places}f}" for value in values]
    return Column(name=name, title=title, values=values, decimals=6, texts=texts)


def interval_column(name: str, title: str, intervals: Sequence[Limits], unit: str) -> Column:
    """A column of intervals; their lower ends order it."""
    column = number_format((end for each in intervals for end in (each.low, each.high)), unit)
    texts = [
        DASH
        if each.low is None or each.high is None
        else f"{column.text(each.low, bare=True)} to {column.text(each.high, bare=True)}"
        + (f", {each.mark}" if each.mark else "")
        for each in intervals
    ]
    return Column(
        name=name,
        title=title,
        values=[each.low for each in intervals],
        decimals=6,
        texts=texts,
        legend=interval_legend(intervals),
    )


def interval_text(
    low: float | None,
    high: float | None,
    unit: str,
    label: str = "",
    *,
    separator: str = ", ",
    excludes_0: bool = False,
) -> str:
    """Return the bounds of an interval without the unit, and the label of its actual coverage."""
    if low is None or high is None:
        return DASH
    bounds = bounds_text(low, high, unit, of_difference=True, excludes_0=excludes_0)
    return bounds + (f"{separator}{label}" if label else "")


def range_text(low: float | None, high: float | None, unit: str, label: str = "", *, excludes_0: bool = False) -> str:
    """Return the bounds of an interval without the unit, with the label on the next line."""
    return interval_text(low, high, unit, label, separator="\n", excludes_0=excludes_0)


def interval_legend(intervals: Sequence[Limits]) -> str:
    """Return what the marks below intervals mean; empty if no interval has one."""
    marked = [interval for interval in intervals if interval.mark]
    if not marked:
        return ""
    meaning = "\u2265N%: lowest actual coverage. " if any(each.approx_coverage is not None for each in marked) else ""
    meaning += "*: assumption only. " if any(each.mark == "*" for each in marked) else ""
    assumed = dict.fromkeys(part for each in marked for part in (each.assumes or "").split(", ") if part)
    return f"{meaning}Assumed: {', '.join(assumed)}." if assumed else meaning.strip()


def key_columns(
    by: Sequence[str], keys: Sequence[Mapping[str, str | int | None]], tier_scheme: str | None
) -> list[Column]:
    """Return one column per part of a group's key; a tier has its meaning appended."""
    return [text_column(name, name, [key_cell(key, name, tier_scheme) for key in keys]) for name in by]


def key_cell(key: Mapping[str, str | int | None], name: str, tier_scheme: str | None) -> str:
    """Return a value of a group's key; a tier has its meaning appended, from the key's own scheme or the common one."""
    value = key[name]
    if name != "tier" or value is None:
        return clean(key_text(value))
    scheme = key.get("tier_scheme", tier_scheme)
    return clean(tier_text(str(value), None if scheme is None else str(scheme)))


def counting_facts(result: Any) -> Facts:  # Any: a ranking, a comparison or a measurement
    """How runs were weighed and what those without a verdict count as."""
    unscored = "counted as failed" if result.unscored == "fail" else "left out"
    return (
        ("profile", result.profile),
        ("weighted by", result.weight_by),
        ("runs without a verdict", unscored),
    )


def weighting(result: Any) -> str:  # Any: as above
    """Return what counts once in means and shares, and whether runs without a verdict count as failed."""
    failed = ", runs without a verdict counted as failed" if result.unscored == "fail" else ""
    return f"weighted by {result.weight_by}{failed}"


def drawn_facts(*, confidence: float, resamples: int, seed: int) -> Facts:
    """Return the confidence level and the number of resamples."""
    return (("confidence level", exact_percent(confidence)), ("resamples", f"{resamples:,}, seed {seed}"))


def methods_of(intervals: Sequence[Limits]) -> str:
    """The methods of the intervals, each once."""
    return ", ".join(sorted({each.method for each in intervals if each.low is not None})) or "none"


def with_figures(page: Page, result: Drawable, names: Sequence[str], *, tall: bool = True) -> Page:
    """The page with those of the named figures that the result can draw, for a desk and for a phone.

    With `tall`, the first keeps its full height, because it shows more than the table.
    """
    if page.table is not None and not page.table.rows:
        return page

    @cache
    def draw() -> tuple[tuple[Figure, ...], tuple[Figure, ...]]:
        drawn: list[tuple[str, Figure]] = []
        for name in names:
            with suppress(UsageError):  # the result has not what the figure shows
                figure = result.figure(name, width=PHONE)
                drawn += [(name, figure)] if figure.height <= TALLEST or (tall and not drawn) else []
        width = PAIRED if len(drawn) > 1 else ALONE
        wide = tuple(result.figure(name, width=width) for name, _ in drawn)
        return wide, tuple(figure for _, figure in drawn)

    return replace(page, draw=draw)


DECIMALS = {"USD": 4, "s": 1, "tokens": 0, "tool calls": 0, "iterations": 0, "fraction": 3, "ratio": 3}
COUNTS = {"attempt": "attempt", "total_tokens": "tokens"}
DIGEST = re.compile(r"[0-9a-f]{40,}\Z")
MIN_ID_LENGTH = 12


class ListedMetric(Protocol):
    """A metric, as far as a column shows it."""

    @property
    def title(self) -> str: ...

    @property
    def unit(self) -> str: ...


def run_column(name: str, values: Sequence[str | float | None], metrics: Mapping[str, ListedMetric]) -> Column:
    """Return a column of a list of runs: a metric, a count or text."""
    if name in COUNTS:
        return Column(name=name, title=COUNTS[name], values=values, decimals=0)
    if name not in metrics:
        shown = [value if value is None else str(value) for value in values]
        return text_column(name, name.replace("_", " "), _short_ids(shown) if name == "run" else shown)
    metric = metrics[name]
    unit = "" if metric.unit in ("fraction", "ratio") else f", {metric.unit}"
    return Column(name=name, title=metric.title.lower() + unit, values=values, decimals=DECIMALS.get(metric.unit, 3))


def _short_ids(ids: Sequence[str | None]) -> list[str | None]:
    """Return the ids, with content hashes cut to the shortest distinct prefix, which commands accept."""
    digests = [id_ for id_ in ids if id_ is not None and DIGEST.match(id_)]
    length = MIN_ID_LENGTH
    while length < 40 and len({id_[:length] for id_ in digests}) < len(set(digests)):
        length += 4
    return [id_[:length] if id_ is not None and DIGEST.match(id_) else id_ for id_ in ids]
