"""Inputs of questions: paths, records, dicts or data frames, to whole records or a table of runs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping as AbstractMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeGuard, cast

import msgspec

from steelyard import metrics, sources
from steelyard.errors import NoValidInputError, RecordError, UsageError
from steelyard.files import SeenFiles, beginning_of, file_repeated
from steelyard.option_names import option
from steelyard.prices import DEFAULT_PRICE_TABLE, open_price_table
from steelyard.records import (
    GROUP_KEYS,
    NO_LABELS,
    DecodeError,
    Finding,
    Labels,
    Rejected,
    Run,
    RunChoice,
    RunChooser,
    SetAside,
    checked_run,
    is_custom_field,
    set_aside_findings,
    unknown_custom_field,
)
from steelyard.settings import GIVEN_RECORDS, is_stdin, named_path
from steelyard.sources import (
    GIVEN_FRAME,
    LogFormat,
    NamedRun,
    PlacedRun,
    each_once,
    frame_cells,
    frame_runs,
    gather,
    head_of,
    is_frame,
    log_format_named,
    log_formats,
    recognized,
    without_collection,
)

if TYPE_CHECKING:
    from steelyard.arena import Arena
    from steelyard.metrics import SparkName
    from steelyard.questions.repeatability import Repeatability
    from steelyard.questions.speedup import SpeedupResult
    from steelyard.sources import Cluster, Mapping, RunTable, TableBuilder, TableSource


PathInput = str | PathLike[str]
RecordInput: TypeAlias = Run | AbstractMapping[str, Any]  # Any: values of a record's fields
"""A run, or a dict with the fields of one."""
RunsInput: TypeAlias = PathInput | RecordInput | Sequence[PathInput] | Iterable[RecordInput]
"""What holds runs: paths of files and folders, records, or data frames of pandas or Polars."""
EVERY_RUN = RunChoice()
Progress = Callable[[str, int], None]
_progress: ContextVar[Progress | None] = ContextVar("progress", default=None)


def current_progress() -> Progress | None:
    """Return the callback that the caller gave for reading progress."""
    return _progress.get()


@contextmanager
def reporting(progress: Progress | None) -> Iterator[None]:
    """Report the progress of questions asked in the block."""
    token = _progress.set(progress)
    try:
        yield
    finally:
        _progress.reset(token)


if TYPE_CHECKING:
    Runs: TypeAlias = RunsInput | RunTable
    """What commands take: what holds runs, or the table that `read` made of it."""
    EngineName: TypeAlias = SparkName
    """Who does the work: a name, an address, or a session of Spark."""
    Measurable: TypeAlias = Runs | Repeatability | SpeedupResult | Arena
    """The same, and what `repeatability`, `speedup` or an arena measured."""
else:
    Runs = Measurable = RunsInput  # the classes bring numpy, Polars and SQLAlchemy
    EngineName = Annotated[object, "an engine"]  # and pyspark


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How inputs become runs, and which of the runs count; every command's options make one."""

    choice: RunChoice = EVERY_RUN
    labels: Labels = NO_LABELS
    """What is set in every run that is read."""
    mapping: Mapping | None = None
    """How files of no known format become runs."""
    prices: str = DEFAULT_PRICE_TABLE
    progress: Progress | None = None
    """Callback for reading progress."""
    engine: object = None
    """What evaluates metrics over the runs; None where nothing does, or where the table knows."""
    by_input: bool = False
    """Whether each path is an input of its own: its name is the key `file` of its runs, and ids may recur."""


def open_runs(inputs: Runs, reading: Reading, *, where: str = option("where")) -> RunTable:
    """Return the table of the chosen runs in the files or records; raise if there are none."""
    if is_table(inputs):
        reject_labels(reading.labels)
        table = inputs
    else:
        table = table_of(each_input(cast("RunsInput", inputs), reading.mapping), reading)
    chosen = sources.choose(table, reading.choice, where=where)
    if chosen.n == 0:
        raise outside_time(table.n) if table.n else nothing_read(table.rejected, table.notes)
    return evaluated_by(chosen, reading.engine)


def evaluated_by(table: RunTable, engine: object) -> RunTable:
    """Return the table with its engine and a note about it; None leaves it unchanged."""
    if engine is None:
        return table

    return metrics.choose_engine(replace(table, engine=engine))


def is_table(runs: Runs | None) -> TypeGuard[RunTable]:
    """Return whether it is a `RunTable`, without importing numpy and Polars for other types."""
    if runs is None or isinstance(runs, (str, PathLike, Run, AbstractMapping, list, tuple)):
        return False

    return isinstance(runs, sources.RunTable)


def prices_of(runs: Runs | None, asked: str, *, is_named: bool) -> str:
    """Return the requested price table, or that of a run table; raise if they differ."""
    if not is_table(runs):
        return asked
    known = None if runs.source is None else runs.source.prices
    if is_named and asked != known:
        hint = f"omit prices, or set the price table when reading: sy.read(path, prices={asked!r})"
        raise UsageError(f"the run table is already priced with {runs.price_table}", hint=hint)
    return asked if known is None else known


def reject_labels(labels: Labels) -> None:
    """Reject labels for a table: its runs are priced and their paths are not stored."""
    if labels:
        raise UsageError("labels cannot be set on a run table", hint="set them when reading: sy.read(path, set=...)")


def open_mapping(given: PathInput | AbstractMapping[str, Any]) -> Mapping:  # Any: TOML values
    """The mapping of a name, of a TOML file, or of values as TOML has them."""
    return sources.mapping_of(given) if isinstance(given, AbstractMapping) else sources.load_mapping(named_path(given))


def reading_cluster(engine: EngineName) -> Cluster | None:
    """Where files are read; None for `local`."""
    if engine == "local":
        return None

    if not metrics.is_spark(engine):
        hint = "use local, spark, spark://HOST:PORT, sc://HOST:PORT, or, in Python, a Spark session"
        raise UsageError(f"engine {engine!r} cannot read files", hint=hint)
    return metrics.SparkCluster(metrics.spark_session(engine))


def nothing_read(rejected: Sequence[Rejected], notes: Sequence[Finding] = ()) -> NoValidInputError:
    """The error of a command that could use nothing of its input; it names the first problem, or the unused files."""
    if rejected:
        first = rejected[0]
        more = f" (and {len(rejected) - 1:,} more); no valid runs" if len(rejected) > 1 else ""
        return NoValidInputError(f"{first.reason}{more}", where=first.where, hint=first.hint)
    unused = next((note for note in notes if note.code == "not_used"), None)
    if unused is None:
        return NoValidInputError("the input contains no runs", hint="see: steelyard schema run")
    path = str(unused.places[0].where)
    whole = path.partition("!/")[0]  # an archive, of a file in one
    hint = f"`steelyard mapping suggest {shlex.quote(whole)}` suggests a mapping; see also: steelyard formats"
    return NoValidInputError(f"the input contains no runs; {unused.message}", where=path, hint=hint)


def reject_unrecognized(inputs: object) -> None:
    """Raise the reading error of a named file that no format recognizes: an unknown key may be its column."""
    for given in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
        path = named_path(given) if isinstance(given, (str, PathLike)) else None
        if path is not None and path.is_file():
            first = next(gather([path], own_records=lambda *_: None), None)
            if isinstance(first, Rejected) and first.code == "unreadable_file":
                raise nothing_read([first])


def outside_time(count: int) -> NoValidInputError:
    """The error of limits of time that leave no run."""
    runs = "the only run is" if count == 1 else f"all {count:,} runs are"
    return NoValidInputError(
        f"{runs} outside the requested time range or without a timestamp",
        hint=f"check {option('since')} and {option('until')}",
    )


def table_of(
    inputs: Iterable[Path | PlacedRun],
    reading: Reading,
    *,
    format: str | None = None,  # noqa: A002 # the user's word for it
    cluster: Cluster | None = None,
) -> RunTable:
    """The table of all runs in the files and records; with `format`, files of other formats are not read."""
    builder = sources.TableBuilder(
        open_price_table(reading.prices),
        labels=reading.labels,
        progress=reading.progress,
        holds_files=reading.engine in (None, "auto", "local"),
    )
    paths: list[Path] = []
    records: list[PlacedRun] = []
    for given in inputs:
        if isinstance(given, Path):
            paths.append(given)
        else:
            records.append(given)
    if reading.by_input:
        if records or not paths:
            message = "grouping by 'file' requires files or directories, but the input contains records"
            raise UsageError(message, hint="pass paths")
        for name, path in input_names(paths).items():
            builder.begin_input(name)
            _add_paths(builder, [path], format, reading)
    elif cluster is not None and paths:
        gathered = gather(paths, format=format, mapping=reading.mapping, labels=reading.labels, cluster=cluster)
        builder.add_entries(gathered, name=str(paths[0]))
    else:
        _add_paths(builder, paths, format, reading)
    builder.add_entries(records, name=GIVEN_RECORDS)
    return builder.finish()


def _ending(path: Path) -> str:
    """The suffix of a file, with that of its packing."""
    packed = path.suffix in (".gz", ".zst", ".bz2", ".xz")
    return "".join(path.suffixes[-2:]) if packed else path.suffix


def input_names(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the paths by the shortest names that tell them apart: `main` for `main.jsonl`, else `a/runs`, `b/runs`.

    >>> list(input_names([Path("main.jsonl"), Path("branch.jsonl")]))
    ['main', 'branch']
    >>> list(input_names([Path("a/runs.jsonl"), Path("b/runs.jsonl")]))
    ['a/runs', 'b/runs']
    """
    whole = [path.absolute() for path in paths]
    if len(set(whole)) < len(whole):
        twice = next(path for path in paths if whole.count(path.absolute()) > 1)
        raise UsageError("the same input is given twice", where=str(twice))
    endings = ["" if path.is_dir() else _ending(path) for path in paths]
    names: list[str] = []
    for parts in range(1, max(len(path.parts) for path in whole) + 1):
        full = ["/".join(path.parts[-parts:]) for path in whole]
        names = [name.removesuffix(ending) or name for name, ending in zip(full, endings, strict=True)]
        for known in (names, full):
            if len(set(known)) == len(known):
                return dict(zip(known, paths, strict=True))
    raise AssertionError("different paths have different names")


def each_input(
    inputs: RunsInput | Iterable[PathInput | RecordInput], mapping: Mapping | None = None
) -> Iterator[Path | PlacedRun]:
    """The paths and the records that were given, each record checked as one that is read would be.

    With a mapping, data frames and dicts are rows as those of a file are.
    """
    is_single = isinstance(inputs, (str, PathLike, Run, AbstractMapping)) or is_frame(inputs)
    several: object = [inputs] if is_single else inputs
    if not isinstance(several, Iterable):
        raise _no_runs(several)
    rows: list[AbstractMapping[str, Any]] = []  # Any: cells of any type
    for number, given in enumerate(several, 1):
        if isinstance(given, (str, PathLike)):
            yield named_path(given)
        elif is_frame(given):
            yield from frame_runs(given) if mapping is None else _mapped(_rows_of(given), mapping, GIVEN_FRAME)
        elif mapping is not None and isinstance(given, AbstractMapping):
            rows.append(given)
        elif isinstance(given, (Run, AbstractMapping)):
            try:
                yield PlacedRun(checked_run(given), GIVEN_RECORDS, number)
            except DecodeError as error:
                raise RecordError(error.reason, path=GIVEN_RECORDS, line=number, hint=error.hint) from error
        else:
            raise _no_runs(given)
    if mapping is not None and rows:
        yield from _mapped(rows, mapping, GIVEN_RECORDS)


def _rows_of(frame: object) -> list[dict[str, Any]]:  # Any: cells of any type
    cells = frame_cells(frame)
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _mapped(
    rows: Sequence[AbstractMapping[str, Any]], mapping: Mapping, name: str
) -> Iterator[PlacedRun]:  # Any: as above
    """The runs in the rows; the first row that is none is an error that names it, as without a mapping."""
    for item in sources.read_rows(rows, mapping, shown=name):
        if isinstance(item, Rejected):
            raise RecordError(item.reason, path=name, line=item.line, hint=item.hint)
        if isinstance(item, sources.MappedRun):
            yield PlacedRun(item.run, name, item.line, mapping.format_name)


def _no_runs(given: object) -> UsageError:
    hint = "pass paths, Run records, data frames, or dicts (see: steelyard schema run)"
    return UsageError(f"cannot read runs from type {type(given).__name__}", hint=hint)


def _add_paths(builder: TableBuilder, paths: Sequence[Path], format_name: str | None, reading: Reading) -> None:
    """All files in the order given. Files of our own records need no gathering, which is for logs and folders."""
    path_sources = [(path, None if reading.mapping else _own_source(path)) for path in paths]
    if format_name is not None or any(source is None for _, source in path_sources):
        gathered = gather(
            paths,
            format=format_name,
            mapping=reading.mapping,
            labels=reading.labels,
            own_records=lambda path, name: builder.add_file(path, log_format_named(name)),
        )
        builder.add_entries(gathered, name=str(paths[0]))
        return
    seen = SeenFiles()
    for path, source in path_sources:
        assert source is not None
        if seen.again(path, reading.labels.key(str(path))):
            builder.note(file_repeated(str(path)))
        else:
            builder.add_file(path, source)


def _own_source(path: Path) -> LogFormat | None:
    """The source of a file of our own records; None for folders, logs, archives and what cannot be read."""
    try:
        source = recognized(head_of(path)) if path.is_file() else None
    except OSError:
        return None
    return source if source is not None and source.priority == "last" else None


class LogLocation(msgspec.Struct, frozen=True, kw_only=True):
    """A path where an installed agent would store its logs."""

    tool: str
    path: str
    exists: bool


def runs_or_logs(runs: Runs | None) -> tuple[Runs, tuple[LogLocation, ...]]:
    """Return the input, or without one the logs of installed agents, with the searched locations."""
    places = log_places() if runs is None else ()
    return [Path(place.path) for place in places if place.exists] if runs is None else runs, places


def log_places() -> tuple[LogLocation, ...]:
    """Return where installed agents store their logs; at least one location exists."""
    places = tuple(
        LogLocation(tool=declared.kept_by.tool, path=str(path), exists=path.exists())
        for declared in log_formats().values()
        if declared.kept_by is not None
        for path in declared.kept_by.paths(Path.home(), os.environ)
    )
    if not any(place.exists for place in places):
        raise UsageError(
            f"no agent logs found; searched: {places_text(places)}",
            hint="pass a file or directory",
        )
    return places


def places_text(places: Iterable[LogLocation]) -> str:
    """Return the locations in one line, by tool."""
    return ", ".join(f"{place.tool} {place.path}" for place in places)


def _searched_findings(places: Sequence[LogLocation]) -> Iterator[Finding]:
    for each in places:
        if each.exists:
            yield Finding(
                code="searched", severity="info", message="searched for logs", where=f"{each.tool}: {each.path}"
            )
    without = {each.tool for each in places} - {each.tool for each in places if each.exists}
    if without:
        agents = "1 other agent" if len(without) == 1 else f"{len(without)} other agents"
        yield Finding(code="no_logs", severity="info", message=f"no logs found for {agents}")


class RecordReader:
    """Reader of whole records, each run once; rejected records are listed and counted."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._chooser = RunChooser(reading.choice)
        self._notes: list[Finding] = []
        self.set_aside = SetAside()
        self.read_count = 0
        """How many runs were chosen."""

    def read(self, runs: Runs) -> Iterator[NamedRun]:
        """Each chosen run under its id."""
        reading, source = self._reading, None
        if is_table(runs):
            reject_labels(reading.labels)
            source = runs.source
            if source is None:
                message = "the run table has no full records, and its input cannot be read again"
                raise UsageError(message, hint="pass the path or the records")
            reading, runs = replace(reading, labels=source.labels, mapping=source.mapping), source.inputs
        given = list(each_input(cast("RunsInput", runs), reading.mapping))
        with without_collection():
            yield from self._read(given, reading, source)

    def _read(
        self, given: Sequence[Path | PlacedRun], reading: Reading, source: TableSource | None
    ) -> Iterator[NamedRun]:
        paths = [path for path in given if isinstance(path, Path)]
        gathered = gather(
            paths, format=source.format if source else None, mapping=reading.mapping, labels=reading.labels
        )
        records = (entry for entry in given if isinstance(entry, PlacedRun))
        in_table = [RunChooser(choice) for choice in source.choices] if source else []
        for item in each_once(chain(gathered, records), reading.labels):
            if isinstance(item, NamedRun):
                entry = item.entry
                if in_table and not all(chooser.keeps(entry.run) for chooser in in_table):
                    continue
                if reading.progress:
                    reading.progress(entry.path, 1)
                if self._chooser.keeps(entry.run):
                    self.read_count += 1
                    yield item
            elif isinstance(item, Rejected):
                self.set_aside.add(item)
            else:
                self._notes.append(item)

    def finish(self, searched: Sequence[LogLocation] = ()) -> list[Finding]:
        """Return the findings of reading, with rejected records and searched locations; no run at all is an error."""
        try:
            if not self._chooser.seen:
                raise nothing_read(self.set_aside, self._notes)
            chosen = self._chooser.findings()
            if self.read_count == 0:
                raise outside_time(self._chooser.outside)
        except NoValidInputError as error:
            if searched:
                error.message += f"; searched {places_text(place for place in searched if place.exists)}"
            raise
        return [*set_aside_findings(self.set_aside), *self._notes, *chosen, *_searched_findings(searched)]


class CustomFieldCheck:
    """Whether some run has each of custom fields that were asked for."""

    def __init__(self, keys: Iterable[str], *, known: Collection[str] = GROUP_KEYS) -> None:
        self._asked = [key for key in keys if is_custom_field(key)]
        self._known = known
        self._seen: set[str] = set()

    def add(self, run: Run) -> None:
        """One more run."""
        if self._asked:
            self._seen |= (run.extra or {}).keys()

    def check(self) -> None:
        """Reject a key that no run has, suggesting the nearest."""
        for key in self._asked:
            if key not in self._seen:
                raise unknown_custom_field(key, self._seen, known=self._known)


@dataclass(frozen=True, slots=True)
class InputsByKind:
    """Inputs by content; a file may contain both runs and timings."""

    runs: tuple[Path | PlacedRun, ...]
    experiments: tuple[Path, ...]
    """Experiment files with answers, canon and repairs."""
    timings: tuple[Path, ...]


def looks_like_experiment(path: Path) -> bool:
    """Return whether the file's beginning is that of a SKYT experiment or sweep."""
    if path.suffix.lower() != ".json":
        return False
    head = beginning_of(path)[:4096]
    return b'"experiment_id"' in head or b'"sweep_id"' in head


def sort_inputs(given: Iterable[Path | PlacedRun], *, mapped: bool) -> InputsByKind:
    """Sort the inputs by content; unrecognized ones are left to the reader of runs.

    What a mapping reads are runs.
    """
    if mapped:
        return InputsByKind(tuple(given), (), ())
    from steelyard.questions.speedup._task_timings import timings_in  # brings numpy and SciPy

    runs: list[Path | PlacedRun] = []
    experiments: list[Path] = []
    timings: list[Path] = []
    for each in given:
        if isinstance(each, PlacedRun) or is_stdin(each) or not each.exists():
            runs.append(each)
        elif each.is_file() and looks_like_experiment(each):
            experiments.append(each)
        else:
            if each.is_dir():
                experiments += sorted(file for file in each.rglob("*.json") if looks_like_experiment(file))
            found = timings_in(each)
            timings += [each] if found else []
            runs += [each] if found != "alone" else []
    return InputsByKind(tuple(runs), tuple(experiments), tuple(timings))
