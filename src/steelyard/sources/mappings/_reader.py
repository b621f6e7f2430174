"""Read a file by a mapping into runs, each checked like every run record.

Columns of values become the nested values of records: parts, lists of parts, and several lines that are one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping as AbstractMapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from steelyard.errors import UnreadableFileError
from steelyard.records import DecodeError, Finding, Origin, Provenance, Rejected, Run, convert_run
from steelyard.sources.mappings._batches import BATCH_ROWS, COLUMN, Batch, MappedFile, batches, given_rows
from steelyard.sources.mappings._conversions import Problem, shown, shown as shown_value
from steelyard.sources.mappings._mapping import Field, FieldSpec, Mapping, listed, load_mapping, shipped_mappings
from steelyard.sources.mappings._paths import Several
from steelyard.sources.mappings._templates import Branch, Column, Leaf, Template, compiled, taken
from steelyard.suggestions import nearest

ENDINGS = {"csv": ("*.csv", "*.tsv"), "json": ("*.json",), "jsonl": ("*.jsonl", "*.ndjson")}
"""What files of a format are usually called."""
NAMED_ROWS = 100
"""Rows of a batch whose keys are kept, to suggest the nearest key."""
_FIGURES = "passed outcome impl_rate usage cost_usd duration_seconds tool_calls iterations tests judgments calls"
FIGURES = frozenset(_FIGURES.split())
"""The fields with a provenance in the run."""


class MappedRun(NamedTuple):
    """A run and the line of its (first) row; of a document, the number of the row."""

    run: Run
    line: int


def takes(mapping: Mapping, name: str) -> bool:
    """Whether a file of that name in a folder is one that the mapping reads."""
    extra = {PurePath(place).name for place in mapping.extra_files.values()}
    patterns = listed(mapping.rows.files) or ENDINGS[mapping.rows.format]
    return name not in extra and any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)


def shipped_for(name: str) -> list[str]:
    """The shipped mappings for files of that name."""
    return [shipped for shipped in shipped_mappings() if takes(load_mapping(shipped), name)]


def read_mapped(
    path: Path, mapping: Mapping, *, shown: str | None = None, root: Path | None = None
) -> Iterator[MappedRun | Rejected | Finding]:
    """The runs of the file; a row that cannot be one is rejected with its line, column and value.

    `shown` is the name that the user knows the file by; with `root`, files next to it must be in that folder.
    """
    file = MappedFile(path, shown or str(path), root)
    reader = _Reader(mapping, compiled(mapping), Origin(format=mapping.format_name, path=file.shown))
    try:
        for batch in batches(file, mapping):
            if isinstance(batch, Batch):
                yield from reader.read(batch)
            else:
                yield batch
    except UnreadableFileError as error:
        error.where = file.shown if error.where is None else error.where.replace(str(path), file.shown)
        raise
    yield from reader.finish()


def read_rows(
    rows: Sequence[AbstractMapping[str, Any]],  # Any: cells of any type
    mapping: Mapping,
    *,
    shown: str,
) -> Iterator[MappedRun | Rejected | Finding]:
    """The runs of rows that are in memory, such as those of a data frame."""
    reader = _Reader(mapping, compiled(mapping), Origin(format=mapping.format_name, path=shown))
    for batch in given_rows(rows, mapping, shown):
        yield from reader.read(batch)
    yield from reader.finish()


@dataclass(slots=True)
class _Reader:
    mapping: Mapping
    template: Template
    origin: Origin
    cells: tuple[str, ...] = ()
    """Where columns are runs, the paths to the cells of one run."""
    groups: Groups | None = None
    left_out: list[int] = field(default_factory=list)
    """Lines that do not meet `rows.where`."""
    unmet: list[str] = field(default_factory=list)
    """Paths of the mapping that led to nothing so far."""
    names: set[str] = field(default_factory=set)
    """Keys of the rows."""

    def __post_init__(self) -> None:
        paths = (_plain_path(spec) for spec in _specs(self.mapping.run))
        self.unmet = [path for path in paths if path is not None]
        used = [path for spec in _specs(self.mapping.run) if isinstance(spec, Field) for path in spec.paths]
        used += [spec for spec in _specs(self.mapping.run) if isinstance(spec, str)]
        beside = [path for path in used if path.startswith(COLUMN) and path != COLUMN]
        self.cells = tuple(dict.fromkeys(beside)) if beside and "$cell" not in used else ("$cell",)
        if self.mapping.group is not None:
            self.groups = Groups(self.template, listed(self.mapping.group.by))

    def read(self, batch: Batch) -> Iterator[MappedRun | Rejected]:
        """The runs of a batch; where several lines are one run, they are kept for the end."""
        wanted = batch.meets(self.mapping.rows.where)
        for path, values in self.mapping.rows.unless.items():
            excluded = batch.meets({path: values})
            wanted = [is_wanted and not is_out for is_wanted, is_out in zip(wanted, excluded, strict=True)]
        self.left_out += [line for line, is_wanted in zip(batch.lines, wanted, strict=True) if not is_wanted]
        chosen = batch.only(wanted)
        if self.mapping.rows.columns:
            cells = [chosen.values(path) for path in self.cells]
            chosen = chosen.only([any(cell is not None for cell in row) for row in zip(*cells, strict=True)])
        if not len(chosen):
            return
        self._look_for_paths(chosen)
        if self.groups is not None:
            self.groups.add(chosen)
        else:
            yield from self._runs(evaluated(self.template, chosen))

    def _look_for_paths(self, batch: Batch) -> None:
        """Note which paths lead to something; a JSON file in which no row has the task is rejected as a table is."""
        if batch.facts.header is not None:
            return
        self.unmet = [path for path in self.unmet if all(value is None for value in batch.values(path))]
        self.names.update(key for row in batch.rows[:NAMED_ROWS] if isinstance(row, dict) for key in row)
        task = _plain_path(self.mapping.run.task)
        if task in self.unmet and len(batch) < BATCH_ROWS and self.groups is None:  # all rows of most files
            hint = self._did_you_mean(task) or "see run.task in the mapping"
            raise UnreadableFileError(batch.facts.shown, f"no row has {task!r} (mapped to task)", hint=hint)

    def _did_you_mean(self, path: str) -> str | None:
        """The nearest key of the rows that the mapping does not use."""
        close = nearest(path, self.names - {_plain_path(spec) for spec in _specs(self.mapping.run)})
        return f"did you mean {close!r}?" if close else None

    def finish(self) -> Iterator[MappedRun | Rejected | Finding]:
        """The runs of grouped lines, and how many rows the mapping left out."""
        path = str(self.origin.path)
        if self.groups is not None:
            yield from self._runs(self.groups.finish())
            reason = "the line has no value for group.by"
            hint = f"group.by is {', '.join(self.groups.by)}"
            yield from (Rejected(path=path, line=line, reason=reason, hint=hint) for line in self.groups.nameless)
        for name in self.unmet if self.names else ():
            if meant := self._did_you_mean(name):  # many files lack a field that others of their kind have
                yield Finding(code="mapping_unmet", message=f"no row has {name!r}; {meant}", where=path)
        if self.left_out:
            count = len(self.left_out)
            rows = "row is" if count == 1 else "rows are"
            message = f"{count:,} {rows} excluded by rows.where or rows.unless of the mapping"
            yield Finding(code="rows_left_out", severity="info", message=message, where=f"{path}:{self.left_out[0]}")

    def _runs(self, made: Evaluation) -> Iterator[MappedRun | Rejected]:
        wrong, figures, path = made.problems(), _figures(self.template), str(self.origin.path)
        is_complete = _is_complete(made, figures)
        for row, values in enumerate(made.assembled()):
            line = made.lines[row]
            if row in wrong:
                label, problem = wrong[row]
                yield Rejected(path=path, line=line, reason=f"{label}: {problem.reason}", hint=problem.hint)
                continue
            if figures:
                values["provenance"] = figures if is_complete else _of_known(figures, values)
            values["source"] = self.origin
            try:
                yield MappedRun(convert_run(values), line)
            except DecodeError as error:
                yield Rejected(path=path, line=line, reason=self._with_value(error, values), hint=error.hint)

    def _with_value(self, error: DecodeError, values: Values) -> str:
        """Return the error's reason with its column and value."""
        name = error.reason.partition(":")[0]
        leaf = next((leaf for leaf in self.template.leaves if ".".join(leaf.place) == name), None)
        if leaf is None:
            return error.reason
        value: Any = values  # Any: a field's value, at the end of the way
        for step in leaf.place:
            value = value.get(step) if isinstance(value, dict) else None
        return f"{error.reason} ({leaf.label}: {shown_value(value)})"


def _specs(fields: Any) -> Iterator[FieldSpec]:  # Any: made from the run record
    """The run's own fields, those of its parts that are no lists included."""
    for name in fields.__struct_fields__:
        spec = getattr(fields, name)
        if isinstance(spec, (str, Field)):
            yield spec
        elif isinstance(spec, dict):
            yield from spec.values()
        elif spec is not None and not isinstance(spec, tuple):
            yield from _specs(spec)


def _plain_path(spec: FieldSpec | None) -> str | None:
    """The path of a field that comes from one path of the row; None for all others."""
    path = spec if not isinstance(spec, Field) else spec.from_ if spec.default is None else None
    return None if path is None or path.startswith("$") else path


def _is_complete(made: Evaluation, figures: dict[str, Provenance]) -> bool:
    """Whether every row has all the figures, so that none needs to be checked."""
    leaves = zip(made.template.leaves, made.columns, strict=True)
    branched = any(branch.place[0] in figures for branch in made.template.branches)
    return not branched and not any(None in column for leaf, column in leaves if leaf.place[0] in figures)


def _of_known(figures: dict[str, Provenance], values: Values) -> dict[str, Provenance]:
    return {name: how if name in values else "unknown" for name, how in figures.items()}


def _figures(template: Template) -> dict[str, Provenance]:
    """The figures that the mapping gives, and how they come."""
    how: dict[str, Provenance] = {}
    for leaf in template.leaves:
        if leaf.place[0] in FIGURES and (leaf.is_counted or leaf.place[0] not in how):
            how[leaf.place[0]] = "counted" if leaf.is_counted else "reported"
    for branch in template.branches:
        if branch.place[0] in FIGURES:
            how.setdefault(branch.place[0], "reported")
    return how


Values = dict[str, Any]  # Any: values of a record's fields


class Evaluation(NamedTuple):
    """The columns of some rows: one for each leaf, and for each branch the parts of each row."""

    template: Template
    lines: Sequence[int]
    columns: list[Column]
    parts: list[Column]

    def problems(self) -> dict[int, tuple[str, Problem]]:
        """The first problem of each row that has one, with the column that it is in."""
        wrong: dict[int, tuple[str, Problem]] = {}
        labels = [leaf.label for leaf in self.template.leaves]
        labels += [".".join(branch.place) for branch in self.template.branches]
        for label, column in zip(labels, (*self.columns, *self.parts), strict=True):
            if Problem in set(map(type, column)):
                for row, value in enumerate(column):
                    if isinstance(value, Problem):
                        wrong.setdefault(row, (label, value))
        return wrong

    def assembled(self) -> list[Values]:
        """Each row's values as a record has them; a part of constants alone is left out."""
        by_part: dict[tuple[str, ...], list[tuple[Leaf, Column]]] = {(): []}
        for leaf, column in zip(self.template.leaves, self.columns, strict=True):
            by_part.setdefault(leaf.place[:-1], []).append((leaf, column))
        made: list[Values] = _rows_of(by_part.pop(()), len(self.lines))
        for part, fields in by_part.items():
            varying = [leaf.place[-1] for leaf, _ in fields if not leaf.is_constant]
            for whole, inner in zip(made, _rows_of(fields, len(self.lines)), strict=True):
                if inner and (not varying or any(name in inner for name in varying)):
                    _put(whole, part, inner)
        for branch, column in zip(self.template.branches, self.parts, strict=True):
            for whole, parts in zip(made, column, strict=True):
                if parts and not isinstance(parts, Problem):
                    _put(whole, branch.place, parts)
        return made


def _rows_of(fields: list[tuple[Leaf, Column]], count: int) -> list[Values]:
    if not fields:
        return [{} for _ in range(count)]
    names = [leaf.place[-1] for leaf, _ in fields]
    rows = zip(*(column for _, column in fields), strict=True)
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]


def _put(whole: Values, place: tuple[str, ...], value: Any) -> None:  # Any: a part, or a list of parts
    for name in place[:-1]:
        whole = whole.setdefault(name, {})
    whole[place[-1]] = value


def evaluated(template: Template, batch: Batch) -> Evaluation:
    """The columns of a batch."""
    columns = [leaf.column(batch) for leaf in template.leaves]
    return Evaluation(template, batch.lines, columns, [_parts(branch, batch) for branch in template.branches])


def _parts(branch: Branch, batch: Batch) -> Column:
    """The parts of each row, by all templates in turn."""
    parts: Column = [[] for _ in range(len(batch))]
    for template in branch.templates:
        inner, owners = _inner(template, batch)
        if template.when:
            met = inner.meets(template.when)
            inner, owners = inner.only(met), [owner for owner, is_met in zip(owners, met, strict=True) if is_met]
        made = evaluated(template, inner)
        wrong = made.problems()
        is_there = _is_there(made)
        for row, part in enumerate(made.assembled()):
            owner = owners[row]
            if row in wrong:
                parts[owner] = Problem(f"{wrong[row][0]}: {wrong[row][1].reason}", wrong[row][1].hint)
            elif is_there[row] and not isinstance(parts[owner], Problem):
                parts[owner].append(part)
    return parts


def _is_there(made: Evaluation) -> list[bool]:
    """Return which rows have more than constants, where the template has more than constants."""
    leaves = zip(made.template.leaves, made.columns, strict=True)
    varying = [column for leaf, column in leaves if not leaf.is_constant] + made.parts
    if not varying:
        return [True] * len(made.lines)
    return [any(value is not None and value != [] for value in row) for row in zip(*varying, strict=True)]


def _inner(template: Template, batch: Batch) -> tuple[Batch, Sequence[int]]:
    """The rows that parts are made of, each with the row that it belongs to."""
    if template.each is None:
        return batch, range(len(batch))
    values: list[Any] = []  # Any: JSON
    owners: list[int] = []
    for owner, reached in enumerate(batch.values(template.each)):
        several = reached if isinstance(reached, (Several, list)) else [] if reached is None else [reached]
        values += several
        owners += [owner] * len(several)
    inner = Batch(
        replace(batch.facts, header=None),  # parts of rows are no tables
        values,
        [batch.lines[owner] for owner in owners],
        [(at,) for at in range(len(values))],
        [batch.rows[owner] for owner in owners],
    )
    return inner, owners


@dataclass(slots=True)
class Groups:
    """Lines that are one run, kept until all are there."""

    template: Template
    by: Sequence[str]
    _rows: dict[tuple[str, ...], list[tuple[int, list[Any]]]] = field(default_factory=dict)  # Any: values of a row
    nameless: list[int] = field(default_factory=list)
    """Lines without the key of their run."""

    def add(self, batch: Batch) -> None:
        """Keep the values of these lines."""
        made = evaluated(self.template, batch)
        rows = list(zip(*made.columns, *made.parts, strict=True))
        for at, key in enumerate(zip(*map(batch.values, listed(tuple(self.by))), strict=True)):
            if any(value is None for value in key):
                self.nameless.append(batch.lines[at])
            else:
                self._rows.setdefault(tuple(map(repr, key)), []).append((batch.lines[at], list(rows[at])))

    def finish(self) -> Evaluation:
        """One row for each run."""
        groups = list(self._rows.values())
        leaves = self.template.leaves
        columns = [[_agreed(leaf, [row[at] for _, row in rows]) for rows in groups] for at, leaf in enumerate(leaves)]
        places = range(len(leaves), len(leaves) + len(self.template.branches))
        parts = [[_joined([row[at] for _, row in rows]) for rows in groups] for at in places]
        return Evaluation(self.template, [rows[0][0] for rows in groups], columns, parts)


def _agreed(leaf: Leaf, values: list[Any]) -> Any:  # Any: values of a field
    """Return the value of a run with several lines: by `take`, else the one that all of them give."""
    if leaf.take is not None:
        return taken(values, leaf.take)
    known = [value for value in values if value is not None]
    other = next((value for value in known if value != known[0] or isinstance(value, Problem)), None)
    if other is None or isinstance(other, Problem):
        return other if other is not None else known[0] if known else None
    hint = 'set take to "first", "last", "sum", "max", ...'
    return Problem(f"the lines of the run have different values: {shown(known[0])}, {shown(other)}", hint)


def _joined(values: list[Any]) -> Any:  # Any: lists of parts, or a Problem
    problem = next((value for value in values if isinstance(value, Problem)), None)
    return problem if problem is not None else [part for parts in values for part in parts]
