"""The table of runs: one row per run, one column per fact. Building it from files and records, and choosing runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from steelyard.errors import MissingExtraError, UnreadableFileError
from steelyard.files import check_texts
from steelyard.option_names import option
from steelyard.plain_text import clean
from steelyard.prices import PricedColumn, PriceTable, price_run_columns
from steelyard.records import (
    NO_LABELS,
    TOKEN_KINDS,
    DecodeError,
    Finding,
    KeyCondition,
    Labeler,
    Labels,
    Rejected,
    Run,
    RunChoice,
    SetAside,
    is_storable,
    microseconds_of,
    none_together,
    one_a_kind,
    outside_findings,
    pooled_schemes,
    unmet,
)
from steelyard.settings import INPUT_KEY
from steelyard.sources.formats._log_format import LogFormat, PlacedRun, ReadItem
from steelyard.sources.formats._run_records import column_problem, run_of_row
from steelyard.sources.tables._duplicates import without_duplicates
from steelyard.sources.tables._flat_files import derived_columns, flat_frame, suspicious
from steelyard.sources.tables._row_batches import (
    BATCH_ROWS,
    NO_PRICE,
    PATH,
    CustomFields,
    Mask,
    UnpricedReasons,
    batch_frame,
)
from steelyard.sources.tables._spool import SpillFolder, Spool, free_bytes

if TYPE_CHECKING:
    import pandas as pd

    from steelyard.sources.mappings._mapping import Mapping as MappingOfFiles

SHOWN_ROWS = 20
"""Runs that a notebook shows."""

IN_MEMORY_ROWS = 20_000_000
"""Rows of flat files that are read into memory once, if it has room; of further files columns are read as needed."""
FLAT_BATCH_ROWS = 1_000_000
"""Rows of a larger file that are priced at a time."""
COPIES = 4
"""How often a row is held while its facts are made and priced."""

Progress = Callable[[str, int], None]
"""Called with the file and how many more records were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSource:
    """Source and options of a table, to read the whole records of its runs."""

    inputs: Any  # Any: what `read` takes
    """Paths, records or data frames, which are read again."""
    format: str | None
    labels: Labels
    mapping: MappingOfFiles | None
    prices: str
    choices: tuple[RunChoice, ...] = ()
    """Which of the runs are in the table: those that every choice keeps."""


@dataclass(frozen=True, slots=True, repr=False)
class RunTable:
    """Runs as facts, ready to be measured: one row a run, one column a fact."""

    frame: pl.LazyFrame
    n: int
    price_table: str
    rejected: Sequence[Rejected] = ()
    notes: tuple[Finding, ...] = ()
    """What reading found besides runs without a price."""
    rejected_elsewhere: int = 0
    """Records that were rejected before and are only counted."""
    rows: str = "run"
    """What a row is: a run, or a prompt, an attempt, a benchmark, a submission."""
    basis: frozenset[str] = frozenset()
    """What its numbers depend on, where those of another basis cannot be compared with them."""
    unpriced: UnpricedReasons | None = None
    source: TableSource | None = None
    """What it was read from; None where that cannot be read again."""
    folders: tuple[SpillFolder, ...] = ()
    """Hold spilled rows; they must live as long as the frame does."""
    engine: object = "auto"
    """What evaluates metrics over it: the name or address of an engine, or a session of Spark."""
    kept: dict[object, Any] = field(default_factory=dict, compare=False)  # Any: what an engine needs
    """What an engine keeps of the frame between two questions."""

    @property
    def rejected_count(self) -> int:
        """Number of rejected records."""
        return len(self.rejected) + self.rejected_elsewhere

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found while reading."""
        return self.findings_of(None)

    def findings_of(self, rows: Mask | None) -> tuple[Finding, ...]:
        """The same, where costs are concerned of these rows alone."""
        priced = () if self.unpriced is None else self.unpriced.findings(self.frame, rows)
        return one_a_kind((*priced, *self.notes))

    def tier_schemes(self, rows: Mask | None = None) -> list[str]:
        """The schemes that the runs, or those in these rows, name their tiers by."""
        if "tier" not in self.frame.collect_schema().names():
            return []
        chosen = self.frame if rows is None else self.frame.filter(pl.Series(rows))
        tiers = chosen.filter(pl.col("tier").is_not_null()).select(pl.col("tier_scheme").unique())
        return sorted(tiers.collect(engine="streaming").to_series().to_list())

    def __len__(self) -> int:
        return self.n

    def to_polars(self) -> pl.DataFrame:
        """The runs as a Polars frame."""
        return self._facts(self.n)

    def to_pandas(self) -> pd.DataFrame:
        """The runs as a pandas frame."""
        try:
            import pandas as pd  # heavy and optional
        except ImportError as error:
            raise MissingExtraError("pandas", extra="pandas", purpose="to_pandas()") from error
        return pd.DataFrame(self.to_polars().to_dict(as_series=False))

    def _facts(self, most: int) -> pl.DataFrame:
        """Return the first rows, without the columns that only identify runs."""
        names = [name for name in self.frame.collect_schema().names() if not name.startswith("_")]
        return self.frame.select(names).head(most).collect()

    def _repr_html_(self) -> str:
        texts = self._facts(SHOWN_ROWS).with_columns(pl.col(pl.String).map_elements(clean, return_dtype=pl.String))
        more = f"; the first {SHOWN_ROWS} of them" if self.n > SHOWN_ROWS else ""
        return f"<p>{escape(repr(self))}{more}</p>{texts._repr_html_()}"

    def __repr__(self) -> str:
        runs = "1 run" if self.n == 1 else f"{self.n:,} runs"
        aside = f", {self.rejected_count:,} rejected" if self.rejected_count else ""
        return f"RunTable({runs}{aside}, prices {clean(self.price_table)})"


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
    if not is_storable(condition.value):  # no text column contains it
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


class TableBuilder:
    """Takes files and records one after another and makes a RunTable of them."""

    def __init__(
        self,
        price_table: PriceTable,
        *,
        labels: Labels = NO_LABELS,
        progress: Progress | None = None,
        holds_files: bool = True,
    ) -> None:
        """Without `holds_files`, flat files stay on disk, whatever their size: for engines that work beyond memory."""
        self._price_table = price_table
        self._rows_to_hold = IN_MEMORY_ROWS if holds_files else 0
        self._labeler = Labeler(labels)
        self._progress = progress
        self._spool = Spool()
        self._waiting: list[PlacedRun] = []
        self._set_aside = SetAside()
        self._unpriced = UnpricedReasons(price_table.name)
        self._own = CustomFields()
        self._notes: list[Finding] = []
        self._input: str | None = None
        self._inputs: list[pl.LazyFrame] = []
        self._folders: list[SpillFolder] = []

    def begin_input(self, name: str) -> None:
        """Take what follows as an input of its own: its name is a key of its runs; ids of other inputs may recur."""
        self._close_input()
        self._input = name

    def _close_input(self) -> None:
        """Finish what was added since the last input began."""
        spooled = self._spool.frame()
        if spooled is None:
            return
        deduplicated = without_duplicates(spooled, self._labeler.labels)
        for rejected in deduplicated.rejected:
            self.reject(rejected)
        self._notes += deduplicated.findings
        frame = deduplicated.frame
        if self._input is not None:
            frame = frame.with_columns(pl.lit(self._input).alias(INPUT_KEY))
        self._inputs.append(frame)
        if self._spool.keeps is not None:
            self._folders.append(self._spool.keeps)
        self._spool = Spool()

    def add_file(self, path: Path, log_format: LogFormat) -> None:
        """Read one file by its format; what is wrong with it as a whole is listed."""
        self._flush(str(path))  # what came before stays before: of two records with the same id the first counts
        try:
            self._add_file(path, log_format)
        except UnreadableFileError as error:
            self.reject(Rejected(path=str(path), reason=error.message, hint=error.hint, code="unreadable_file"))
        except OSError as error:
            self.reject(Rejected(path=str(path), reason=error.strerror or str(error), code="unreadable_file"))

    def _add_file(self, path: Path, log_format: LogFormat) -> None:
        if log_format.name == "runs-parquet" and self._added_flat(path):
            return
        self.add_entries(log_format.read(path), name=str(path))

    def add_entries(self, entries: Iterable[ReadItem], *, name: str) -> None:
        """Read records; rejected ones are listed and counted, findings are kept."""
        for entry in entries:
            if isinstance(entry, Rejected):
                self.reject(entry)
            elif isinstance(entry, Finding):
                self.note(entry)
            else:
                assert isinstance(entry, PlacedRun), "parts of runs must be merged first"
                self._waiting.append(entry)
                if len(self._waiting) >= BATCH_ROWS:
                    self._flush(name)
        self._flush(name)

    def _flush(self, name: str) -> None:
        if not self._waiting:
            return
        batch: list[PlacedRun] = []
        runs: list[Run] = []
        for entry in self._waiting:
            labeled = self._labeler.label(entry.run, entry.path, entry.line)
            if isinstance(labeled, Rejected):
                self.reject(labeled)
            else:
                batch.append(entry)
                runs.append(labeled)
        if batch:
            self._spool.add(batch_frame(batch, runs, self._price_table, self._unpriced, self._own))
        if self._progress:
            self._progress(name, len(self._waiting))
        self._waiting = []

    def note(self, finding: Finding) -> None:
        """Keep one finding."""
        self._notes.append(finding)

    def reject(self, rejected: Rejected) -> None:
        """List and count one record that was rejected."""
        self._set_aside.add(rejected)

    def _added_flat(self, path: Path) -> bool:
        """Whether the file could be taken as columns."""
        try:
            frame = flat_frame(path)
            names = [] if frame is None else frame.drop("_row").collect_schema().names()
            labels = self._flat_labels(path, names)
            if frame is None or labels is None or column_problem(names) is not None:
                return False
            self._add_flat(path, frame, labels)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:  # a broken file makes Polars panic
            raise UnreadableFileError(str(path), f"not a readable Parquet file: {error}") from error
        return True

    def _flat_labels(self, path: Path, names: Sequence[str]) -> dict[str, object] | None:
        """The columns that labels add; None where one must be compared with each record."""
        try:
            labels = self._labeler.values(str(path))
        except DecodeError:
            return None
        return None if {"tier", "tier_scheme", *names} & labels.keys() else labels

    def _add_flat(self, path: Path, frame: pl.LazyFrame, labels: Mapping[str, object]) -> None:
        """Take a flat file: as a whole while it is small; priced piece by piece, or read again as needed, where not."""
        rows = int(frame.select(pl.len()).collect().item())
        if rows <= self._rows_to_hold and rows * _bytes_a_row(frame) <= free_bytes() // 2:
            self._rows_to_hold -= rows
            self._spool.add_lazy(self._flat_facts(path, frame.collect().lazy(), labels))
        elif not _stated_tokens(derived_columns(frame).collect_schema().names()):
            self._spool.add_lazy(self._flat_facts(path, frame, labels))
        else:
            for start in range(0, rows, FLAT_BATCH_ROWS):
                batch = frame.slice(start, FLAT_BATCH_ROWS).collect().lazy()
                self._spool.add(self._flat_facts(path, batch, labels).collect())

    def _flat_facts(self, path: Path, frame: pl.LazyFrame, labels: Mapping[str, object]) -> pl.LazyFrame:
        """The facts of rows of a flat file; what a check finds suspicious goes the way of records."""
        bad = frame.filter(suspicious(frame)).collect()
        if bad.height:
            check_texts(path, bad)
            self.add_entries(_as_entries(bad, str(path)), name=str(path))
            frame = frame.filter(~suspicious(frame))
        frame = frame.with_columns(pl.lit(value).alias(key) for key, value in labels.items() if key != "extra")
        written = frame.select("model") if "model" in frame.collect_schema().names() else None
        own = self._own.columns([labels["extra"]]) if isinstance(labels.get("extra"), dict) else []  # type: ignore[list-item] # a label's own values
        facts = self._priced(derived_columns(frame), written).with_columns(
            pl.lit(str(path)).alias(PATH), *(pl.lit(series[0], series.dtype).alias(series.name) for series in own)
        )
        if self._progress:
            self._progress(str(path), int(facts.select(pl.len()).collect().item()))
        return facts

    def _priced(self, facts: pl.LazyFrame, written: pl.LazyFrame | None) -> pl.LazyFrame:
        """The facts with what the tokens cost, by the models as they were written."""
        names = facts.collect_schema().names()
        kinds = [kind for kind in TOKEN_KINDS if kind in names]
        stated = _stated_tokens(names)
        if not stated:
            return facts
        wanted = [name for name in ("start_time", "reported_cost_usd", *stated) if name in names]
        columns = facts.select(wanted).collect()
        models = [None] * columns.height if written is None else written.collect().to_series().to_list()
        moments = _moments(columns["start_time"]) if "start_time" in names else None
        tokens = {kind: columns[kind].to_numpy() for kind in kinds}
        priced = price_run_columns(self._price_table, models=models, at=moments, tokens=tokens)
        asked = columns.select(pl.any_horizontal([pl.col(name).is_not_null() for name in stated])).to_series()
        if "reported_cost_usd" in names:
            asked &= columns["reported_cost_usd"].is_null()
        doubtful = priced.reason_of >= 0
        usd = np.where(doubtful & ~asked.to_numpy(), np.nan, priced.cost_usd)
        short = np.flatnonzero(doubtful & asked.to_numpy())
        bound = short[~np.isnan(usd[short])]
        costs = pl.Series("priced_cost_usd", usd).fill_nan(None)
        made = [] if costs.null_count() == len(costs) else [costs]
        if len(short):
            made.append(self._reasons(priced, bound, short[np.isnan(usd[short])]))
        if not made:
            return facts
        frame = facts.collect().with_columns(made)
        if len(bound):
            flags = pl.Series(np.isin(np.arange(len(usd)), bound))
            frame = frame.with_columns(pl.when(flags).then(flags).alias("cost_is_lower_bound"))
        return frame.lazy()

    def _reasons(self, priced: PricedColumn, bound: NDArray[np.intp], missing: NDArray[np.intp]) -> pl.Series:
        """For each row the number of why it has no price, or only a lower bound of one."""
        numbers = np.full(len(priced.reason_of), -1, dtype=np.int32)
        for rows, least in ((bound, True), (missing, False)):
            reasons = priced.reason_of[rows]
            known = np.zeros(len(priced.reasons), dtype=np.int32)
            for at in np.unique(reasons).tolist():
                known[at] = self._unpriced.number(priced.reasons[at], least=least)
            numbers[rows] = known[reasons]
        return pl.select(pl.when(pl.lit(numbers >= 0)).then(pl.lit(numbers)).alias(NO_PRICE)).to_series()

    def finish(self) -> RunTable:
        """The table of all that was added, each run once."""
        self._close_input()
        findings = [*self._notes, *self._labeler.findings(), *self._own.findings()]
        frame = _together(self._inputs)
        return RunTable(
            frame=frame,
            n=int(frame.select(pl.len()).collect().item()),
            price_table=self._price_table.label,
            rejected=self._set_aside,
            notes=tuple(findings),
            unpriced=self._unpriced,
            folders=tuple(self._folders),
        )


def _together(inputs: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
    """All inputs as one frame; an id that recurs in another input is that of another run."""
    if not inputs:
        return pl.LazyFrame(schema={"task": pl.String, "tier_scheme": pl.String})
    if len(inputs) == 1:
        return inputs[0]
    frame = pl.concat(inputs, how="diagonal_relaxed")
    if "id" not in frame.collect_schema().names():
        return frame
    named = pl.concat_str([pl.col(INPUT_KEY), pl.lit(":"), pl.col("id")])
    return frame.with_columns(pl.when(pl.col("id").is_duplicated()).then(named).otherwise("id").alias("id"))


def _stated_tokens(names: Sequence[str]) -> list[str]:
    """The facts that make a run one to price."""
    return [name for name in (*TOKEN_KINDS, "stated_total_tokens") if name in names]


def _bytes_a_row(frame: pl.LazyFrame) -> int:
    """The memory that a row takes while it is priced, measured on the first rows."""
    head = frame.head(10_000).collect()
    return COPIES * int(-(-head.estimated_size() // max(head.height, 1)))


def _moments(seconds: pl.Series) -> NDArray[np.datetime64]:
    return (seconds * 1_000_000).round().cast(pl.Int64).cast(pl.Datetime("us")).to_numpy()


def _as_entries(rows: pl.DataFrame, path: str) -> Iterator[PlacedRun | Rejected]:
    for row in rows.iter_rows(named=True):
        line = int(row.pop("_row")) + 1
        try:
            yield PlacedRun(run_of_row(row, from_text=False), path, line)
        except DecodeError as error:
            yield Rejected(path=path, line=line, reason=error.reason, hint=error.hint)
