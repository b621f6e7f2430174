"""The same run read twice counts once; an id that comes back with other content is rejected.

The rule is `RunIds`; here only the rows are looked for that it must see, those whose name occurs more than once.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from steelyard.files import parquet_frame
from steelyard.records import CONTENT_BYTES, NO_LABELS, Finding, Labels, Rejected, RunIds, content_digest
from steelyard.sources.formats._run_records import run_of_row
from steelyard.sources.tables._row_batches import CONTENT_HASH, ID_GIVEN, LINE, PATH, PLACE_COLUMNS

ROW = "_row"
HASHES_AT_ONCE = 25_000_000
"""Names that are looked through at a time: 16 bytes each while they are sorted."""
NAMES_AT_ONCE = 50_000
_MADE_FROM_CONTENT = "^[0-9a-f]{64}$"


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Frame with each run once, rejected records and findings."""

    frame: pl.LazyFrame
    rejected: tuple[Rejected, ...] = ()
    findings: tuple[Finding, ...] = ()


def without_duplicates(frame: pl.LazyFrame, labels: Labels = NO_LABELS) -> Duplicates:
    """The frame with each run once. The first of two records with the same id stays."""
    schema = frame.collect_schema()
    if "id" not in schema:
        return Duplicates(frame)
    absent = [pl.lit(None, type_).alias(name) for name, type_ in PLACE_COLUMNS.items() if name not in schema]
    numbered = frame.with_row_index(ROW).with_columns(absent)
    nameless = _nameless_digests(numbered)
    twice = _hashes_twice(frame)
    if not nameless and not len(twice):
        return Duplicates(frame)
    names = _names(numbered, nameless, twice)
    wanted = names.filter(pl.col("id").is_duplicated())[ROW]
    admitted = _Admission(numbered, wanted, nameless, labels)
    taken = _named(numbered, list(admitted.renamed.values()))
    if not taken.is_in(wanted.implode()).all():  # a record was given the very id that the next of equal ones gets
        admitted = _Admission(numbered, pl.concat([wanted, taken]).unique(), nameless, labels)
    kept = _with_new_ids(frame.with_row_index(ROW), admitted.renamed)
    kept = kept.filter(~pl.col(ROW).is_in(pl.Series(admitted.dropped, dtype=pl.UInt32).implode()))
    return Duplicates(kept.drop(ROW), tuple(admitted.rejected), tuple(admitted.ids.findings()))


class _Admission:
    """Answers of `RunIds` for some rows, asked in their order."""

    def __init__(
        self, numbered: pl.LazyFrame, wanted: pl.Series, nameless: dict[int, bytes], labels: Labels = NO_LABELS
    ) -> None:
        self.ids = RunIds(labels.key if labels else None)
        self.renamed: dict[int, str] = {}
        self.dropped: list[int] = []
        self.rejected: list[Rejected] = []
        rows = numbered.filter(pl.col(ROW).is_in(wanted.implode())).select(ROW, "id", *PLACE_COLUMNS).collect()
        flat = _digests(rows.filter(pl.col(CONTENT_HASH).is_null() & pl.col("id").is_not_null()))
        for row, name, path, line, content, id_given in rows.iter_rows():
            if id_given is False:
                id_, digest = None, bytes.fromhex(name)
            elif name is None:
                id_, digest = None, nameless[row]
            else:
                id_, digest = name, flat[row] if content is None else content.to_bytes(CONTENT_BYTES, "big")
            answer = self.ids.admit_digest(id_, digest, path=path, line=line)
            if not isinstance(answer, str):
                self.dropped.append(row)
                self.rejected += [answer] if answer is not None else []
            elif answer != name:
                self.renamed[row] = answer


def _names(numbered: pl.LazyFrame, nameless: dict[int, bytes], twice: pl.Series) -> pl.DataFrame:
    """Return the rows whose name may occur more than once, with their names."""
    known = pl.col("id").is_not_null()
    if not nameless:
        known = known & pl.col("id").hash().is_in(twice.implode())
    given = numbered.filter(known).select(ROW, "id").collect()
    made = {ROW: list(nameless), "id": [digest.hex() for digest in nameless.values()]}
    return pl.concat([given, pl.DataFrame(made, schema=given.schema)])


def _nameless_digests(numbered: pl.LazyFrame) -> dict[int, bytes]:
    """Digests of the rows of flat files without an id, if a record was given an id such as their content makes.

    Otherwise each of them counts by itself, whatever its content, and need not be read as a record.
    """
    nameless = pl.col("id").is_null()
    if not numbered.select(nameless.any()).collect().item():
        return {}
    looks_made = pl.col("id").str.contains(_MADE_FROM_CONTENT) & pl.col(ID_GIVEN).fill_null(value=True)
    if not numbered.select(looks_made.any()).collect().item():
        return {}
    return _digests(numbered.filter(nameless).select(ROW, PATH, LINE).collect())


def _digests(rows: pl.DataFrame) -> dict[int, bytes]:
    """Digests of rows of flat files, which were read without making records."""
    digests: dict[int, bytes] = {}
    for (path,), part in rows.group_by(PATH, maintain_order=True):
        at = dict(part.select(LINE, ROW).iter_rows())
        lines = parquet_frame(Path(str(path))).with_row_index(LINE, offset=1).filter(pl.col(LINE).is_in(list(at)))
        for row in lines.collect().iter_rows(named=True):
            number = at[row.pop(LINE)]
            digests[number] = content_digest(run_of_row(row, from_text=False))
    return digests


def _named(numbered: pl.LazyFrame, names: list[str]) -> pl.Series:
    """The rows that were given these names."""
    if not names:
        return pl.Series(ROW, [], pl.UInt32)
    found = [
        numbered.filter(pl.col("id").is_in(part)).select(ROW).collect().to_series()
        for part in (names[start : start + NAMES_AT_ONCE] for start in range(0, len(names), NAMES_AT_ONCE))
    ]
    return pl.concat(found).unique().sort()


def _hashes_twice(frame: pl.LazyFrame) -> pl.Series:
    """Return the hashes of names that occur more than once, a part of all hashes at a time.

    Sorting numbers is ten times faster than grouping them.
    """
    rows = int(frame.select(pl.len()).collect().item())
    parts = -(-rows // HASHES_AT_ONCE) or 1
    found: list[pl.Series] = []
    for part in range(parts):
        hashes = frame.select(pl.col("id").drop_nulls().hash())
        own = hashes if parts == 1 else hashes.filter(pl.col("id") % parts == part)
        ordered = own.collect(engine="streaming").to_series().sort().to_numpy()  # a quarter of NumPy's time
        found.append(pl.Series(np.unique(ordered[1:][ordered[1:] == ordered[:-1]]), dtype=pl.UInt64))
    return pl.concat(found)


def _with_new_ids(frame: pl.LazyFrame, renamed: dict[int, str]) -> pl.LazyFrame:
    if not renamed:
        return frame
    new = pl.LazyFrame(
        {ROW: list(renamed), "_new_id": list(renamed.values())}, schema={ROW: pl.UInt32, "_new_id": pl.String}
    )
    joined = frame.join(new, on=ROW, how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("_new_id", "id").alias("id")).drop("_new_id")
