"""The same run read twice counts once; an id that comes back with other content is refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.records.decode import content_digest, content_id
from steelyard.records.finding import Rejected
from steelyard.sources._flat import run_of_row
from steelyard.tables._columns import CONTENT_HASH, ID_GIVEN, LINE, PATH, PLACE_COLUMNS

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
    rows = given.filter(pl.col("id").is_duplicated())["_row"]
    again = _with_content(numbered.filter(pl.col("_row").is_in(rows.implode())).collect())
    position = pl.int_range(pl.len()).over("id", ID_GIVEN)
    again = again.with_columns(pl.when(ID_GIVEN).then(0).otherwise(position).alias(_OCCURRENCE))
    repeats = again.with_columns(
        pl.struct("id", _OCCURRENCE).is_first_distinct().alias("_first"),
        pl.col(CONTENT_HASH).first().over("id", _OCCURRENCE).alias("_kept_content"),
    )
    dropped = repeats.filter(~pl.col("_first"))
    conflicts = dropped.filter(pl.col(CONTENT_HASH) != pl.col("_kept_content"))
    renamed = repeats.filter(pl.col("_first") & (pl.col(_OCCURRENCE) > 0)).select("_row", "id", _OCCURRENCE)
    kept = _with_new_ids(numbered, renamed).filter(~pl.col("_row").is_in(dropped["_row"].implode()))
    return Duplicates(kept.drop("_row"), dropped.height - conflicts.height, _refusals(conflicts), renamed.height)


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
    found: list[pl.DataFrame] = []
    for (path,), part in unread.group_by(PATH, maintain_order=True):
        held = (
            pl.scan_parquet(str(path))
            .with_row_index("_line", offset=1)
            .filter(pl.col("_line").is_in(part[LINE].implode()))
        )
        hashes = [
            (path, line, int.from_bytes(content_digest(run_of_row(row, from_text=False))[:8], "big"))
            for row in held.collect().iter_rows(named=True)
            if (line := row.pop("_line")) is not None
        ]
        schema = {PATH: pl.String, LINE: pl.Int64, "_read_content": pl.UInt64}
        found.append(pl.DataFrame(hashes, schema=schema, orient="row"))
    if not found:
        return rows
    filled = rows.join(pl.concat(found), on=[PATH, LINE], how="left", maintain_order="left")
    return filled.with_columns(
        pl.coalesce(CONTENT_HASH, "_read_content").alias(CONTENT_HASH), pl.col(ID_GIVEN).fill_null(value=True)
    ).drop("_read_content")


def _refusals(conflicts: pl.DataFrame) -> tuple[Rejected, ...]:
    return tuple(
        Rejected(
            path=path,
            line=line,
            reason=f"id {id_!r} was seen before with other content",
            hint="an id names one run: give this one its own",
            code="id_conflict",
        )
        for id_, path, line in conflicts.select("id", PATH, LINE).iter_rows()
    )


def _with_new_ids(frame: pl.LazyFrame, renamed: pl.DataFrame) -> pl.LazyFrame:
    if renamed.is_empty():
        return frame
    ids = [content_id(bytes.fromhex(id_), occurrence) for _, id_, occurrence in renamed.iter_rows()]
    new = renamed.select("_row", pl.Series("_new_id", ids))
    joined = frame.join(new.lazy(), on="_row", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("_new_id", "id").alias("id")).drop("_new_id")
