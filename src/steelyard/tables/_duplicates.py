"""The same run read twice counts once; an id that comes back with other content is refused.

The rule is that of `records/identity.py`, found over whole columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.formats import run_of_row
from steelyard.records import Rejected, content_digest, content_id, id_conflict
from steelyard.tables._record_batches import CONTENT_HASH, ID_GIVEN, LINE, PATH, PLACE_COLUMNS

_OCCURRENCE = "_occurrence"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """What was found: the frame without them, how many were counted once, and those that were refused."""

    frame: pl.LazyFrame
    counted_once: int
    refused: tuple[Rejected, ...]
    alike: int
    """Records without an id whose content another such record has too: kept as attempts of their own."""


def without_duplicates(frame: pl.LazyFrame) -> Duplicates:
    """The frame with each run once. The first of two records with the same id stays."""
    names = frame.collect_schema().names()
    if "id" not in names:
        return Duplicates(frame, 0, (), 0)
    numbered = frame.with_row_index("_row")
    hashes = frame.select(pl.col("id").drop_nulls().hash()).collect().to_series()
    if not _any_twice(hashes):
        return Duplicates(frame, 0, (), 0)
    given = numbered.filter(pl.col("id").is_not_null()).select("_row", "id").collect()
    again = _rows(numbered, given.filter(pl.col("id").is_duplicated())["_row"])
    position = pl.int_range(pl.len()).over("id", ID_GIVEN)
    again = again.with_columns(pl.when(ID_GIVEN).then(0).otherwise(position).alias(_OCCURRENCE))
    renamed = _new_ids(again.filter(pl.col(_OCCURRENCE) > 0).select("_row", "id", _OCCURRENCE))
    same_name = given.filter(pl.col("id").is_in(renamed["_new_id"].implode()))
    taken = same_name.filter(~pl.col("_row").is_in(again["_row"].implode()))
    if taken.height:  # a record was given the very id that the next of equal ones gets
        again = pl.concat([again, _rows(numbered, taken["_row"])], how="diagonal").sort("_row")
    dropped = _dropped(again.join(renamed, on="_row", how="left", maintain_order="left"))
    conflicts = dropped.filter(pl.col(CONTENT_HASH) != pl.col("_kept_content"))
    alike = renamed.filter(~pl.col("_row").is_in(dropped["_row"].implode())).height
    kept = _with_new_ids(numbered, renamed).filter(~pl.col("_row").is_in(dropped["_row"].implode()))
    return Duplicates(kept.drop("_row"), dropped.height - conflicts.height, _refusals(conflicts), alike)


def _rows(numbered: pl.LazyFrame, rows: pl.Series) -> pl.DataFrame:
    return _with_content(numbered.filter(pl.col("_row").is_in(rows.implode())).collect())


def _new_ids(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows' ids as records of their own: equal ones without an id are told apart by their order."""
    ids = [content_id(bytes.fromhex(id_), occurrence) for _, id_, occurrence in rows.iter_rows()]
    return rows.select("_row", pl.Series("_new_id", ids, dtype=pl.String))


def _dropped(rows: pl.DataFrame) -> pl.DataFrame:
    """All but the first of the rows with the same id, with the content of the first."""
    named = rows.with_columns(pl.coalesce("_new_id", "id").alias("id"))
    told = named.with_columns(
        pl.col("id").is_first_distinct().alias("_first"),
        pl.col(CONTENT_HASH).first().over("id").alias("_kept_content"),
    )
    return told.filter(~pl.col("_first"))


def _any_twice(hashes: pl.Series) -> bool:
    """Whether a value stands twice; sorting numbers tells it ten times faster than grouping them."""
    ordered = np.sort(hashes.to_numpy())
    return bool((ordered[1:] == ordered[:-1]).any())


def _with_content(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with the digest of their content also where a flat file was read without making records."""
    for name, type_ in PLACE_COLUMNS.items():
        if name not in rows.columns:
            rows = rows.with_columns(pl.lit(None, type_).alias(name))
    unread = rows.filter(pl.col(CONTENT_HASH).is_null())
    hashed: list[pl.DataFrame] = []
    for (path,), part in unread.group_by(PATH, maintain_order=True):
        lines = (
            pl.scan_parquet(str(path))
            .with_row_index("_line", offset=1)
            .filter(pl.col("_line").is_in(part[LINE].implode()))
        )
        hashes = [
            (path, line, int.from_bytes(content_digest(run_of_row(row, from_text=False))[:8], "big"))
            for row in lines.collect().iter_rows(named=True)
            if (line := row.pop("_line")) is not None
        ]
        schema = {PATH: pl.String, LINE: pl.Int64, "_read_content": pl.UInt64}
        hashed.append(pl.DataFrame(hashes, schema=schema, orient="row"))
    if not hashed:
        return rows
    filled = rows.join(pl.concat(hashed), on=[PATH, LINE], how="left", maintain_order="left")
    return filled.with_columns(
        pl.coalesce(CONTENT_HASH, "_read_content").alias(CONTENT_HASH), pl.col(ID_GIVEN).fill_null(value=True)
    ).drop("_read_content")


def _refusals(conflicts: pl.DataFrame) -> tuple[Rejected, ...]:
    return tuple(
        id_conflict(id_, path=path, line=line) for id_, path, line in conflicts.select("id", PATH, LINE).iter_rows()
    )


def _with_new_ids(frame: pl.LazyFrame, renamed: pl.DataFrame) -> pl.LazyFrame:
    if renamed.is_empty():
        return frame
    joined = frame.join(renamed.lazy(), on="_row", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("_new_id", "id").alias("id")).drop("_new_id")
