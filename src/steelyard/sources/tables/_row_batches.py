"""From Run records to columns, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.prices import PriceTable, price_component, token_cost
from steelyard.records import (
    CONTENT_BYTES,
    KEY_PARTS,
    RUN_FIELDS,
    VALUE_PARTS,
    ComponentType,
    FieldGroup,
    Finding,
    Kind,
    Missing,
    Run,
    component_column,
    content_digest,
    custom_inputs,
    custom_text,
    is_custom_input,
)
from steelyard.sources.formats._log_format import PlacedRun

TYPES: dict[Kind, type[pl.DataType]] = {
    "str": pl.String,
    "bool": pl.Boolean,
    "int": pl.Int64,
    "float": pl.Float64,
}

PATH = "_path"
LINE = "_line"
CONTENT_HASH = "_content_hash"
ID_GIVEN = "_id_given"
NO_PRICE = "_no_price"
"""Why the run has no cost by the price table, or only a lower bound: its number in `UnpricedReasons`."""

PLACE_COLUMNS: dict[str, type[pl.DataType]] = {
    PATH: pl.String,
    LINE: pl.Int64,
    CONTENT_HASH: pl.UInt64,
    ID_GIVEN: pl.Boolean,
}


def column_type(fact: str) -> type[pl.DataType]:
    """The type of a fact's column."""
    return TYPES[RUN_FIELDS[fact].kind]


Mask = NDArray[np.bool_]


@dataclass(slots=True)
class UnpricedReasons:
    """The reasons that were met, each under a number: a column of numbers is small, and its rows can be chosen."""

    price_table: str
    _numbers: dict[tuple[str, bool], int] = field(default_factory=dict)

    def number(self, reason: str, *, least: bool) -> int:
        """The number of a reason; with `least` the run still has a lower bound of its cost."""
        return self._numbers.setdefault((reason, least), len(self._numbers))

    def findings(self, frame: pl.LazyFrame, rows: Mask | None = None) -> list[Finding]:
        """One finding for each reason that holds of the rows, with how many runs it holds of."""
        if NO_PRICE not in frame.collect_schema().names():
            return []
        chosen = frame if rows is None else frame.filter(pl.Series(rows))
        numbers = chosen.filter(pl.col(NO_PRICE).is_not_null()).group_by(NO_PRICE).len()
        counts = dict(numbers.collect(engine="streaming").iter_rows())
        reasons = sorted((least, reason, counts[at]) for (reason, least), at in self._numbers.items() if at in counts)
        return [self._finding(reason, count, least=least) for least, reason, count in reasons]

    def _finding(self, reason: str, count: int, *, least: bool) -> Finding:
        where = f"price table {self.price_table}"
        if least:
            runs = "1 run is" if count == 1 else f"{count:,} runs are"
            message = f"{runs} priced at the minimum, so the cost is a lower bound: {reason}"
            return Finding(code="priced_at_least", message=message, where=where, count=count)
        runs = "1 run has" if count == 1 else f"{count:,} runs have"
        return Finding(code="unpriced", message=f"{runs} no cost: {reason}", where=where, count=count)


MAX_CUSTOM_FIELDS = 200
"""The `x_` keys of one table that runs can be grouped by: each is a column, and logs may bring any number."""


@dataclass(slots=True)
class CustomFields:
    """Custom fields as columns: each as text to group and choose by, its numbers and flags as facts."""

    _kept: dict[str, None] = field(default_factory=dict)
    _left_out: dict[str, None] = field(default_factory=dict)

    def columns(self, rows: Sequence[Mapping[str, Any]]) -> list[pl.Series]:  # Any: the user's own values
        """The columns of a batch; keys that no row of it has are left out."""
        texts: dict[str, dict[int, str | None]] = {}
        facts: dict[str, dict[int, float | bool]] = {}
        for place, values in enumerate(rows):
            kept = {key: values[key] for key in values if self._keeps(key)}
            for key, value in kept.items():
                texts.setdefault(key, {})[place] = custom_text(value)
            for name, fact in custom_inputs(kept).items():
                facts.setdefault(name, {})[place] = fact
        places = range(len(rows))
        return [
            *(pl.Series(key, [cells.get(place) for place in places], dtype=pl.String) for key, cells in texts.items()),
            *(
                pl.Series(
                    name,
                    [own.get(place) for place in places],
                    dtype=pl.Boolean if name.endswith(" as bool") else pl.Float64,
                )
                for name, own in facts.items()
            ),
        ]

    def _keeps(self, key: str) -> bool:
        if key in self._kept:
            return True
        if len(self._kept) >= MAX_CUSTOM_FIELDS or is_custom_input(key):
            self._left_out[key] = None
            return False
        self._kept[key] = None
        return True

    def findings(self) -> list[Finding]:
        """That there were more keys than columns."""
        if not self._left_out:
            return []
        count = len(self._left_out)
        message = f"{count:,} custom fields beyond the first {MAX_CUSTOM_FIELDS} are stored, but runs cannot be "
        return [Finding(code="custom_fields", message=f"{message}grouped by them", count=count)]


BATCH_ROWS = 20_000
"""Lists of this size are cheap to make columns from."""


def batch_frame(
    batch: Sequence[PlacedRun],
    runs: Sequence[Run],
    price_table: PriceTable,
    unpriced: UnpricedReasons,
    own: CustomFields,
) -> pl.DataFrame:
    """One row a run, with its labels in `runs` and as it was read in `batch`.

    Facts that no run of the batch has are left out; reasons for costs not found are numbered, custom fields collected.
    """
    columns: list[pl.Series] = []
    for part in (*KEY_PARTS, *VALUE_PARTS):
        if part.fields[0].name != "id":  # the place columns hold it, made from the content where the record has none
            columns += _part_columns(part, runs)
    columns += own.columns([run.extra or {} for run in runs])
    columns += _place_columns(batch)
    return pl.DataFrame(columns).with_columns(_priced_columns(runs, price_table, unpriced))


def _part_columns(part: FieldGroup, runs: Sequence[Run]) -> list[pl.Series]:
    contents = [part.get(run) for run in runs]
    if all(value is None for value in contents):
        return []
    if part.whole:
        return [pl.Series(part.fields[0].name, contents, dtype=column_type(part.fields[0].name), strict=False)]
    empty = part.empty
    read = part.read
    rows = [empty if value is None else read(value) for value in contents]
    columns = []
    for fact, values in zip(part.fields, zip(*rows, strict=True), strict=True):
        series = pl.Series(fact.name, values, dtype=column_type(fact.name), strict=False)
        if series.null_count() < len(series):
            columns.append(series)
    return columns


def _priced_columns(runs: Sequence[Run], price_table: PriceTable, unpriced: UnpricedReasons) -> list[pl.Series]:
    if all(run.usage is None and run.calls is None and run.components is None for run in runs):
        return []
    columns = _component_costs(runs, price_table)
    costs = [token_cost(run, price_table) for run in runs]
    numbers = [
        unpriced.number(cost.reason, least=cost.usd is not None)
        if cost.reason is not None and run.cost_usd is None and run.total_usage is not None
        else None
        for run, cost in zip(runs, costs, strict=True)
    ]
    if any(number is not None for number in numbers):
        columns.append(pl.Series(NO_PRICE, numbers, dtype=pl.Int32))
    priced = pl.Series("priced_cost_usd", [cost.usd for cost in costs], dtype=pl.Float64)
    if priced.null_count() < len(priced):
        columns.append(priced)
    if any(cost.how == "lower_bound" for cost in costs):
        pairs = zip(runs, costs, strict=True)
        flags = [True if cost.how == "lower_bound" else run.cost_is_lower_bound for run, cost in pairs]
        columns.append(pl.Series("cost_is_lower_bound", flags, dtype=pl.Boolean))
    return columns


def _component_costs(runs: Sequence[Run], price_table: PriceTable) -> list[pl.Series]:
    if all(not run.components for run in runs):
        return []
    columns: dict[ComponentType, list[float | None]] = {type_: [] for type_ in ComponentType}
    for run in runs:
        costs = component_costs(run, price_table)
        for type_, values in columns.items():
            cost = costs[type_]
            values.append(None if isinstance(cost, Missing) else cost)
    return [
        pl.Series(component_column(type_, "cost_usd"), values, dtype=pl.Float64) for type_, values in columns.items()
    ]


def component_costs(run: Run, price_table: PriceTable) -> dict[ComponentType, float | Missing]:
    """What each component's tokens cost; a type the run does not list took nothing and cost nothing."""
    if not run.components:
        return dict.fromkeys(ComponentType, Missing("the record has no components"))
    costs: dict[ComponentType, float | Missing] = dict.fromkeys(ComponentType, 0.0)
    for component in run.components:
        cost = price_component(component, price_table, model=run.model, at=run.started_at)
        so_far = costs[component.type]
        costs[component.type] = cost if isinstance(cost, Missing) else so_far + cost
    return costs


def _place_columns(batch: Sequence[PlacedRun]) -> list[pl.Series]:
    digests = [content_digest(entry.run) for entry in batch]
    ids = [entry.run.id for entry in batch]
    values: dict[str, list[Any]] = {  # Any: one list a column, each of its own type
        # a file's name may hold bytes that are no text, and a column of text cannot
        PATH: [entry.path.encode("utf-8", "backslashreplace").decode() for entry in batch],
        LINE: [entry.line for entry in batch],
        CONTENT_HASH: [int.from_bytes(digest[:CONTENT_BYTES], "big") for digest in digests],
        ID_GIVEN: [id_ is not None for id_ in ids],
    }
    shown = pl.Series(
        "id", [id_ if id_ is not None else digest.hex() for id_, digest in zip(ids, digests, strict=True)]
    )
    return [shown, *(pl.Series(name, values[name], dtype=type_) for name, type_ in PLACE_COLUMNS.items())]
