"""The columns of the table of runs."""

from __future__ import annotations

import polars as pl

from steelyard.records import FACTS, Kind

TYPES: dict[Kind, type[pl.DataType]] = {
    "text": pl.String,
    "flag": pl.Boolean,
    "count": pl.Int64,
    "amount": pl.Float64,
}

PATH = "_path"
LINE = "_line"
CONTENT_HASH = "_content_hash"
ID_GIVEN = "_id_given"
NO_PRICE = "_no_price"
"""Why the run has no cost by the price book, or only a lower bound: a number that `Unpriced` knows the words for."""

PLACE_COLUMNS: dict[str, type[pl.DataType]] = {
    PATH: pl.String,
    LINE: pl.Int64,
    CONTENT_HASH: pl.UInt64,
    ID_GIVEN: pl.Boolean,
}


def column_type(fact: str) -> type[pl.DataType]:
    """The type of a fact's column."""
    return TYPES[FACTS[fact].kind]
