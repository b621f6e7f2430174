"""Suggest a mapping for a file: uncertain lines are commented out, and nothing is applied.

A log with several lines per run is detected by an id that recurs with kinds of events that change.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path, PurePath
from statistics import median_low
from typing import Any, NamedTuple

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import FoundFile, files_below, files_in, packing
from steelyard.formatting import counted
from steelyard.records import Rejected, Run
from steelyard.scratch import scratch_folder
from steelyard.settings import MAX_ARCHIVE_DEPTH
from steelyard.sources.mappings._conversions import Problem, plain_text, shown, to_number
from steelyard.sources.mappings._field_matches import (
    COMMENT_WORDS,
    DISTINCT_WORDS,
    HEADERS,
    SURE,
    WEAK_TASK_WORDS,
    Match,
    answers_any_question,
    header_words,
    is_arm_name,
    is_called_task,
    is_called_verdict,
    matches,
    may_be_task,
    meaning_of,
    number_signs,
    plain_letters,
)
from steelyard.sources.mappings._layouts import EMPTY_LAYOUT, MAX_ROWS, Column, Layout, layout_of
from steelyard.sources.mappings._mapping import VERSION, Field, Kind, Mapping, Numbers, Take, parse_mapping
from steelyard.sources.mappings._reader import MappedRun, read_mapped
from steelyard.sources.mappings._summaries import SummaryColumns, summary_columns

SAMPLES = 3
LINE_CHARACTERS = 300
"""Up to this length a run is shown."""
MAX_TABLES = 20
"""How many files of a directory are listed."""
KEPT_CHARACTERS = 100
"""Longer cells are texts, which nobody groups runs by."""
FIELDS = ("model", "agent", "attempt", "passed", "impl_rate", "cost_usd", "started_at", "duration_seconds")
"""The fields of a run that most people look for."""
OWN_FIELDS = 40
"""Columns that no field is known for are listed up to this number."""


@dataclass(frozen=True, slots=True, repr=False)
class SuggestedMapping:
    """A suggested mapping, and what it reads of the file as is."""

    text: str
    """The mapping as TOML, with comments."""
    runs: int
    """Runs that it reads of the rows that were looked at."""
    set_aside: tuple[Rejected, ...]
    """Rows among them that it rejects, and why."""
    questions: tuple[str, ...] = ()
    """What the sheet does not decide, for the user to answer in the mapping."""
    first: tuple[str, ...] = ()
    """The first runs as the mapping reads them, a line each."""

    @property
    def mapping(self) -> Mapping:
        """The mapping itself."""
        return parse_mapping(self.text, "suggestion")

    def __repr__(self) -> str:
        rows = counted(len(self.set_aside), "row")
        return f"SuggestedMapping({self.mapping.name!r}: {counted(self.runs, 'run')} read, {rows} rejected)"


class _Table(NamedTuple):
    """A file whose rows were looked at, and how it is named to the user."""

    path: Path
    shown: str
    layout: Layout


def suggest(paths: Sequence[Path]) -> SuggestedMapping:
    """A mapping for the first file, and what it reads of the first rows of each.

    Of a directory, a workbook or an archive, the tables with the same columns that have the most rows are taken.
    """
    with scratch_folder() as scratch:
        return _suggested(*_tables(paths, scratch))


def _suggested(tables: Sequence[_Table], ignored: Sequence[str], is_whole: bool) -> SuggestedMapping:
    first = tables[0]
    layout = first.layout
    numbers = number_signs(layout.columns) if layout.rows.format == "csv" else Numbers()
    draft = _draft(_name(PurePath(first.shown.partition("!/")[0])), layout, numbers)
    if is_whole:
        files = tuple(dict.fromkeys(PurePath(table.shown).name for table in tables)) if ignored else None
        draft = replace(draft, files=files, by_file=len(tables) > 1 and not draft.has("experiment"))
    questions = tuple(dict.fromkeys(draft.questions()))
    body = "\n".join(draft.lines())
    # where no column is surely the task, the first that may be is tried out
    mapping = parse_mapping(body if draft.has_task else body.replace(f"# {TASK}", TASK, 1), "suggestion")
    claims = [_claim(each, mapping, draft.missing_verdict) for each in tables]
    looked = f"the first {MAX_ROWS:,} rows" if layout.count >= MAX_ROWS else f"{layout.count:,} rows"
    head = [f"Suggested for {shown(first.shown)} from {looked}. Check every line before you use it:"]
    head.append("  steelyard read FILE --map THIS.toml")
    if draft.summary is not None:
        head.append("Each row is the summary of many tasks. For a table with their rates and intervals:")
        key = "model" if draft.has("model") else "agent"
        shown_metrics = "--metrics summary_pass_rate,total_cost_usd --interval auto"
        head.append(f"  steelyard measure FILE --map THIS.toml --by {key} {shown_metrics}")
    if draft.lines_of_run is not None:
        head += draft.lines_of_run.notes()
    if not draft.has_task:
        head.append("The task column, which every run needs, is uncertain: uncomment one `task` line below.")
    opening = "As is," if draft.has_task else "With the first of these lines,"
    head += [line for claim in claims[:MAX_TABLES] for line in claim.lines(opening)]
    head += [f"Not used: {line}" for line in ignored[:MAX_TABLES]]
    if claims[0].first:
        head += ["The first runs:", *(f"  {line}" for line in claims[0].first)]
    if questions:
        head.append("Questions:" if len(questions) > 1 else "A question:")
        head += [f"  {number}. {question}" for number, question in enumerate(questions, 1)]
    comments = [_CONTROL.sub(" ", f"# {line}") for line in head]
    return SuggestedMapping(
        text="\n".join([*comments, "", body, ""]),
        runs=sum(claim.runs for claim in claims),
        set_aside=tuple(rejected for claim in claims for rejected in claim.set_aside),
        questions=questions,
        first=claims[0].first,
    )


def _tables(paths: Sequence[Path], scratch: Path) -> tuple[list[_Table], list[str], bool]:
    """The tables to suggest a mapping for, what else there is and why it is not used, and whether they are searched."""
    is_whole = any(path.is_dir() or packing(path) for path in paths)
    if not is_whole:
        return (
            [_Table(path, str(path), layout_of(path)) for path in paths[:1]]
            + [_Table(path, str(path), EMPTY_LAYOUT) for path in paths[1:]],
            [],
            False,
        )
    found: list[_Table] = []
    ignored: list[str] = []
    waiting = [*files_below(paths, scratch)]
    for round_number in range(MAX_ARCHIVE_DEPTH.most + 1):
        archives: list[FoundFile] = []
        for item in waiting:
            if isinstance(item, Rejected):
                ignored.append(f"{item.path}: {item.reason}")
            elif isinstance(item, FoundFile) and packing(item.path):
                archives.append(item)
            elif isinstance(item, FoundFile):
                try:
                    found.append(_Table(item.path, item.shown, layout_of(item.path)))
                except UnreadableFileError as error:
                    ignored.append(f"{item.shown}: {error.message}")
        waiting = [
            each
            for number, archive in enumerate(archives)
            for each in files_in(archive, scratch / f"suggest-{round_number}-{number}")
        ]
    if not found:
        hint = "supported: CSV with a header, Excel workbooks, JSON documents and JSON Lines"
        reason = "no rows found" if len(ignored) != 1 else f"no rows found: {ignored[0]}"
        raise UnreadableFileError(str(paths[0]), reason, hint=hint)
    rows: Counter[tuple[str, ...]] = Counter()
    for table in found:
        rows[table.layout.names] += table.layout.count
    names = max(rows, key=lambda each: (rows[each], each))
    ignored += [f"{table.shown}: other columns" for table in found if table.layout.names != names]
    return [table for table in found if table.layout.names == names], ignored, True


def _draft(name: str, layout: Layout, numbers: Numbers) -> _Draft:
    draft = _Draft(name, layout, numbers, _with_doubtful_task(layout, matches(layout.columns, numbers)))
    summary = _with_summary(draft)
    if summary is not None:
        return summary
    lines_of_run = None if draft.has_rates else event_lines(layout, draft.found)
    if lines_of_run is None:
        steps = _steps_of_runs(layout)
        draft = replace(draft, found=tuple(_doubtful_if_changing(match, steps) for match in draft.found))
    if lines_of_run is not None:
        # what distinguishes runs is their task only where nothing else is
        others = [column for column in layout.columns if column is not lines_of_run.key]
        without_key = replace(draft, found=tuple(matches(others, numbers)))
        found = lines_of_run.with_id(without_key.found) if without_key.has("task") else draft.found
        return replace(draft, found=lines_of_run.of_runs(found), lines_of_run=lines_of_run)
    columns = columns_by_model(layout, numbers)
    if columns is not None:
        others = [column for column in layout.columns if column.name not in columns.names]
        found = _with_doubtful_task(layout, matches(others, numbers))
        return replace(draft, found=found, by_model=columns)
    asked, columns_of_runs = draft.columns_of_runs()
    remark = f"one value for {len(columns_of_runs)} runs; use it only if it applies to each of them"
    weighed = (
        replace(match, score=SURE / 2, remark=remark) if columns_of_runs and match.field.startswith(ADDED) else match
        for match in draft.found
    )
    return replace(draft, found=tuple(weighed), unpivoted=tuple(columns_of_runs), asked=asked)


SAME_MODEL = 3
"""Maximum average number of rows per model of a leaderboard."""


def _with_summary(draft: _Draft) -> _Draft | None:
    """Return the draft with the counts of tasks, if each row of a model or agent states them; otherwise None."""
    named = [match for match in draft.found if match.field in ("model", "agent") and match.score >= SURE]
    if not named or draft.has("task") or draft.has("verdict") or draft.layout.keys:
        return None
    values = set(zip(*(map(plain_text, match.column.cells) for match in named), strict=True))
    taken = {match.column.name for match in draft.found if match.score >= SURE and match.field != "impl_rate"}
    columns = [column for column in draft.layout.columns if column.name not in taken]
    summary = summary_columns(columns, draft.numbers) if len(values) * SAME_MODEL >= draft.layout.count else None
    if summary is None:
        return None
    counted_in = {summary.total.name, *(each.column.name for each in summary.passed)}
    remark = "may be a limit and not a count"
    found = (
        replace(match, score=SURE / 2, remark=remark) if match.field == "usage.reasoning_tokens" else match
        for match in draft.found
        if match.field != "verdict" and match.column.name not in counted_in
    )
    return replace(draft, found=tuple(found), summary=summary)


def _doubtful_if_changing(match: Match, steps: Column | None) -> Match:
    """The match, doubtful as the id of several runs or as an agent that changes from step to step of a run."""
    cells = list(map(plain_text, match.column.present))
    is_repeated = match.field == "id" and len(set(cells)) < len(cells)
    is_changing = match.field in SAME and steps is not None and _varies_within(match.column, steps)
    return replace(match, score=SURE / 2) if is_repeated or is_changing else match


def _with_doubtful_task(layout: Layout, found: Sequence[Match]) -> tuple[Match, ...]:
    """The matches, with the task doubtful where another column fits as well.

    A prompt or a question may be what is compared: then another column has more values, each with several prompts.
    Of two columns that are both called like a task, the one that is not a second name of the other may be meant.
    """
    task = next((match for match in found if match.field == "task" and match.score >= SURE), None)
    if task is None or layout.keys:
        return tuple(found)
    taken = {match.column.name for match in found if match.score >= SURE}
    rivals = [column for column in layout.columns if column.name not in taken and _may_name_runs(column, layout)]
    is_weak = bool(WEAK_TASK_WORDS & set(header_words(task.column.name)))
    if is_weak:
        values = len(set(map(plain_text, task.column.present)))
        has_output = any(match.field == "output.text" and match.score >= SURE for match in found)
        is_doubtful = any(_varies_within(task.column, rival) for rival in rivals) or (
            1 < values * 3 <= layout.count and not has_output
        )
    else:
        named = [column for column in rivals if is_called_task(column)]
        is_doubtful = any(not _names_the_same(task.column, column) for column in named)
    if not is_doubtful:
        return tuple(found)
    return tuple(replace(match, score=SURE / 2) if match is task else match for match in found)


def _may_name_runs(column: Column, layout: Layout) -> bool:
    """Whether nearly all rows have it, and its cells can be names."""
    is_filled = len(column.present) * 10 >= layout.count * 9
    are_names = all(isinstance(cell, str) and _NAME.search(cell) for cell in column.present)
    return is_filled and are_names and may_be_task(column)


def _varies_within(arm: Column, task: Column) -> bool:
    """Whether most values of the second column occur with several values of the first, which has fewer."""
    by_task: dict[str | None, set[str | None]] = defaultdict(set)
    for one, other in zip(task.cells, arm.cells, strict=True):
        if one is not None and other is not None:
            by_task[plain_text(one)].add(plain_text(other))
    values = {value for each in by_task.values() for value in each}
    several = sum(len(each) > 1 for each in by_task.values())
    return len(by_task) >= len(values) > 1 and several * 2 > len(by_task)


def _names_the_same(one: Column, other: Column) -> bool:
    """Whether each value of one column goes with one value of the other."""
    pairs = {(plain_text(a), plain_text(b)) for a, b in zip(one.cells, other.cells, strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


class _Claim(NamedTuple):
    """What the suggestion reads of the first rows of a file."""

    name: str
    runs: int
    set_aside: tuple[Rejected, ...]
    with_verdict: int = 0
    missing: str = ""
    """What to edit if no run has a verdict."""
    first: tuple[str, ...] = ()
    """The first runs, a line each."""

    def lines(self, opening: str) -> Iterator[str]:
        """Yield the suggestion's comments on the file."""
        read = f"{opening} the mapping reads {counted(self.runs, 'run')} from {shown(self.name)}"
        rows = "1 row" if len(self.set_aside) == 1 else f"{len(self.set_aside):,} rows"
        yield f"{read} and rejects {rows}."
        if self.runs and not self.with_verdict and self.missing:
            yield f"No run has a verdict, so no pass rate can be computed: {self.missing} below."
        yield from (f"  line {rejected.line}: {rejected.reason}" for rejected in self.set_aside[:SAMPLES])


def _claim(table: _Table, mapping: Mapping, missing: str) -> _Claim:
    name = PurePath(table.shown).name
    try:
        items = list(islice(read_mapped(table.path, mapping, shown=table.shown), MAX_ROWS))
    except UnreadableFileError as error:
        return _Claim(name, 0, (Rejected(path=table.shown, reason=error.message, hint=error.hint),))
    rejected = tuple(item for item in items if isinstance(item, Rejected))
    runs = [item.run for item in items if isinstance(item, MappedRun)]
    with_verdict = sum(run.passed is not None or run.outcome is not None for run in runs)
    first = tuple(map(run_line, runs[:SAMPLES]))
    return _Claim(name, len(runs), rejected, with_verdict, missing=missing, first=first)


def run_line(run: Run) -> str:
    """The run in one line: what it has, field by field."""
    given: dict[str, Any] = msgspec.to_builtins(run)  # Any: a record's values
    parts: list[str] = []
    for name, value in given.items():
        if name in ("source", "provenance", "id"):
            continue
        plain = value.items() if isinstance(value, dict) else [("", value)]
        for inner, cell in plain:
            if cell is None or isinstance(cell, (dict, list)):
                continue
            whole = inner if name == "x_" else f"{name}.{inner}" if inner else name
            parts.append(f"{whole} = {shown(cell) if isinstance(cell, str) else msgspec.json.encode(cell).decode()}")
    line = ", ".join(parts)
    return line if len(line) <= LINE_CHARACTERS else f"{line[:LINE_CHARACTERS]}..."


RATE_WORDS = frozenset({"pass", "rate"})
"""Words of a header that only a summary of several runs has."""
TASK = "task ="
_NAME = re.compile(r"[^\W\d_]{2}|^[^\W\d_]")
"""Two letters in a row or one at the beginning, which numbers and times do not have."""
_NUMBERED = re.compile(r"(?P<word>\D*?)[\s_#.-]*(?P<number>\d{1,3})")
ATTEMPT = r"(\d+)\W*$"
ATTEMPT_WORDS = {"", "r", "run", "lauf", *HEADERS["attempt"]}
"""What the columns of attempts are called before their number."""
_NAMED_ATTEMPT = re.compile(
    rf"(?P<name>.+?)[\W_]+(?P<word>{'|'.join(sorted(ATTEMPT_WORDS - {'', 'r'}))})[\W_]*(?P<number>\d{{1,3}})\W*",
    re.IGNORECASE,
)
"""Several attempts of several models: A run 1, A run 2, B run 1. Without the word, or with r, GPT 5 would be one."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0085\u2028\u2029]+")
"""What would end a comment, or is not allowed in one."""


def _name(path: PurePath) -> str:
    return re.sub(r"[^\w.-]+", "-", path.stem, flags=re.ASCII).strip("-.")[:60] or "mine"


@dataclass(frozen=True, slots=True)
class _Draft:
    name: str
    layout: Layout
    numbers: Numbers
    found: tuple[Match, ...]
    lines_of_run: EventLines | None = None
    """What makes several lines one run."""
    unpivoted: tuple[Column, ...] = ()
    """Columns that are a run each."""
    by_model: ModelColumns | None = None
    """Several columns for each model."""
    asked: str = ""
    """What is asked about columns that may be runs."""
    files: tuple[str, ...] | None = None
    """The files that are read, where there are others."""
    by_file: bool = False
    """Whether each file is an experiment."""
    summary: SummaryColumns | None = None
    """The counts of the tasks that each row summarizes."""

    def lines(self) -> Iterator[str]:
        """The mapping, line by line."""
        yield f"mapping = {VERSION}"
        yield f"name = {_toml(self.name)}"
        yield ""
        yield from self._rows()
        if self.layout.rows.format == "csv":
            yield "[numbers]"
            yield f"decimal = {_toml(self.numbers.decimal)}"
            yield f"thousands = {_toml(self.numbers.thousands)}"
            yield ""
        if self.lines_of_run is not None:
            yield "[group]"
            yield f"by = {_toml(self.lines_of_run.key.name)}"
            yield ""
        yield "[run]"
        sure = [match for match in self.found if match.score >= SURE]
        if not self.has("task") and "task" not in self._fields_of_columns:
            yield from self._task()
        for match in sure:
            yield from self._field(match)
        if self.by_file:
            yield "# several files: the name of each is the experiment"
            yield 'experiment = "$stem"'
        if self.unpivoted:
            yield from self._of_columns()
        if self.by_model is not None:
            yield from self._of_models(self.by_model)
        if self.summary is not None:
            yield from self._of_summary(self.summary)
        yield from self._uncertain({column.name for column in self.unpivoted} | self._by_model_names)

    def questions(self) -> Iterator[str]:
        """What the rows do not decide."""
        if not self.has_task:
            names = " or ".join(shown(name) for name in self._task_names())
            parts = [f"Which column is the task, that is, what each run works on: {names}?"] if names else []
            parts += ["Is each row the summary of many runs?"] if self._is_summary else []
            yield f"{' '.join(parts)} Uncomment one `task` line."
        if self.summary is not None and not self.summary.is_sure:
            names = " or ".join(shown(each.column.name) for each in self.summary.passed[:5])
            of = shown(self.summary.total.name)
            if len(self.summary.passed) > 1:
                yield f"Which column is the number or rate of tasks passed, of {of}: {names}?"
            else:
                yield f"Is {names} a rate of {of}?"
        if self.asked:
            yield self.asked
        if self.layout.others:
            places = " and ".join(map(shown, self.layout.others[:5]))
            yield f"Are the rows at {places} runs as well? Only those at {shown(self.layout.rows.at or '')} are read."
        if "task" in self._fields_of_columns and not all(map(_is_numbered_task, self.unpivoted)):
            names = " and ".join(shown(column.name) for column in self.unpivoted[:5])
            yield f"Is each of the columns {names} a task? If each is an agent, write agent for task."
        if self.lines_of_run is None and (steps := _steps_of_runs(self.layout)) is not None:
            yield f"Is each line a run, or a step of the run that {shown(steps.name)} names ([group] by = ...)?"
        taken = {match.column.name for match in self.found if match.score >= SURE}
        doubtful = [match for match in self.found if match.score < SURE and match.column.name not in taken]
        if not (self.asked or self.unpivoted or self.by_model or self.summary or self.has("verdict")):
            yield from self._which_verdict(taken)
        yield from (
            match.question
            for match in (*self.found, *doubtful)
            if match.question and (match.score >= SURE) != (match in doubtful)
        )

    def _which_verdict(self, taken: Collection[str]) -> Iterator[str]:
        flags = [
            column
            for column in self.layout.columns
            if column.name not in taken
            and column.present
            and all(map(_is_verdict, column.present))
            and len(set(map(plain_text, column.present))) > 1
        ]
        asked = {match.column.name for match in self.found if match.question and match.score < SURE}
        if flags and all(column.name in asked for column in flags):
            return
        if not flags and not asked and not self._is_summary and self._may_have_a_verdict(taken):
            yield "No column is clearly the verdict: does one say whether a run passed?"
        if len(flags) == 1:
            yield f"Is {shown(flags[0].name)} the verdict?"
        elif flags:
            yield f"Which column is the verdict: {' or '.join(shown(column.name) for column in flags[:5])}?"

    def _may_have_a_verdict(self, taken: Collection[str]) -> bool:
        """Whether a column that is no field has few values, as a verdict in unknown words has."""
        others = (column for column in self.layout.columns if column.name not in taken)
        return any(1 < len(set(map(plain_text, column.present))) <= DISTINCT_WORDS for column in others)

    @property
    def _by_model_names(self) -> set[str]:
        return set() if self.by_model is None else set(self.by_model.names)

    @property
    def missing_verdict(self) -> str:
        """What to edit if no run has a verdict; empty if counts of tasks replace verdicts."""
        if self.summary is None:
            return "set `outcome` or `passed`"
        return "" if self.summary.is_sure else "uncomment one `task_counts` line"

    @property
    def has_task(self) -> bool:
        """Whether it is sure what the task is."""
        return self.has("task") or bool(self.layout.keys or self.summary) or "task" in self._fields_of_columns

    def has(self, field: str) -> bool:
        """Whether it is sure which column is the field."""
        return any(match.field == field and match.score >= SURE for match in self.found)

    def _rows(self) -> Iterator[str]:
        yield "[rows]"
        given = msgspec.to_builtins(self.layout.rows)  # what is not the default
        for name, value in given.items():
            yield f"{name} = {_toml(value)}"
        if self.layout.totals is not None:
            yield "# the row of totals is excluded (unless)"
        if self.files is not None:
            yield f"files = {_toml(list(self.files))}"
        if self.unpivoted:
            yield "# each of these columns is a run"
            yield f"columns = {_toml([column.name for column in self.unpivoted])}"
        if self.by_model is not None:
            yield "# each of these is a run, with several columns"
            yield f"columns = {_toml(list(self.by_model.models))}"
        yield from self._where()
        yield ""

    def _where(self) -> Iterator[str]:
        """Rows that are much emptier than the others, such as sums, lack a column that all others have."""
        columns = [match.column for match in self.found if match.score >= SURE]
        if len(columns) < 3 or self.lines_of_run is not None:
            return
        filled = [sum(column.cells[row] is not None for column in columns) for row in range(self.layout.count)]
        usual = median_low(filled)
        empty = {row for row, number in enumerate(filled) if number * 2 < usual}
        if not empty or len(empty) * 3 > len(filled):
            return
        for match in sorted(self.found, key=lambda match: match.field not in ("model", "agent")):
            absent = {row for row, cell in enumerate(match.column.cells) if cell is None}
            if absent == empty and match.score >= SURE:
                rows = "1 row is" if len(empty) == 1 else f"{len(empty)} rows are"
                yield f"# {rows} mostly empty (a total?) and excluded:"
                yield f'where = {{ {_toml(match.column.name)} = "*" }}'
                return

    def _task(self) -> Iterator[str]:
        """The task, which every run needs, from what there is."""
        if self.layout.keys:
            yield f"# keys of the entries: {', '.join(map(shown, self.layout.keys[:SAMPLES]))}"
            yield f"task = {_toml(self.layout.key_path)}"
            return
        if self.summary is not None:
            yield "# the benchmark that each row summarizes"
            yield f"{TASK} {{ value = {_toml(self.name)} }}"
            return
        yield "# The task: uncomment the correct line."
        if self._is_summary:
            yield "# one row per model: the whole file may be one task"
            yield f"# {TASK} {{ value = {_toml(self.name)} }}"
        for name in self._task_names():
            yield from (f"# {_cells(column)}" for column in self.layout.columns if column.name == name)
            yield f"# {TASK} {_toml(name)}"

    @property
    def has_rates(self) -> bool:
        """Whether some column is a pass rate, as only a summary has."""
        return any(set(header_words(column.name)) >= RATE_WORDS for column in self.layout.columns)

    @property
    def _is_summary(self) -> bool:
        """Whether each row has a pass rate, or a model of its own on a benchmark, as a leaderboard has."""
        if self.has("verdict"):
            return False
        named = {match.field: match.column for match in self.found if match.score >= SURE}
        if "model" not in named:
            return False
        if self.has_rates:
            return True
        columns = [named[field] for field in ("model", "agent", "experiment") if field in named]
        whole = [row for row in zip(*(column.cells for column in columns), strict=True) if None not in row]
        return len(whole) == self.layout.count == len(set(whole)) > 1

    def _task_names(self) -> list[str]:
        """The columns that may be the task, the likeliest first."""
        guesses = [match.column for match in self.found if match.field == "task"]
        likely = sorted(filter(may_be_task, self.layout.columns), key=self._like_a_task, reverse=True)
        likely = [column for column in likely if column.name not in self._by_model_names]
        names = [column for column in likely if self._like_a_task(column)[:2] == (True, True)]
        several = [column for column in names if len(set(map(plain_text, column.present))) > 1]
        # others are offered where nothing has names
        likely = several or names or ([] if self._is_summary else likely)
        guesses = [column for column in guesses if not several or column in several]
        if any(_varies_within(guess, column) for guess in guesses for column in likely[:1]):
            guesses, likely = likely[:1], [*guesses, *likely]
        found = list(dict.fromkeys(column.name for column in (*guesses, *likely)))[:SAMPLES]
        return found or ([] if self._is_summary else ["$stem"])

    def _like_a_task(self, column: Column) -> tuple[bool, bool, bool, int]:
        """Whether it is no other field and holds names, no numbers or times, in nearly every row; and how many."""
        taken = any(match.column.name == column.name and match.score >= SURE for match in self.found)
        are_names = all(isinstance(cell, str) and _NAME.search(cell) for cell in column.present)
        is_filled = len(column.present) * 10 >= self.layout.count * 9
        return not taken, are_names, is_filled, len(set(map(plain_text, column.present)))

    def _field(self, match: Match) -> Iterator[str]:
        yield f"# {_cells(match.column)}; {match.fits:,} of {len(match.column.present):,} match"
        if match.remark:
            yield f"# {match.remark}"
        yield from _about_errored((match.spec.words or {}).values())
        yield _line(match)

    def _uncertain(self, unpivoted: Collection[str]) -> Iterator[str]:
        taken = {match.column.name for match in self.found if match.score >= SURE}.union(unpivoted)
        if self.summary is not None:
            taken.add(self.summary.total.name)
            taken.update(each.column.name for each in self.summary.passed if self.summary.is_sure)
        doubtful = [match for match in self.found if match.score < SURE]
        others = [column for column in self.layout.columns if column.name not in taken and column.present]
        if not others:
            return
        given = {"task", "verdict", *self._fields_of_columns} if unpivoted else {"task"}
        yield ""
        yield "# Other columns, kept as custom fields (x_...) or commented out. To use one, set its run field:"
        yield f"# {', '.join(FIELDS)}, ... (steelyard schema run lists all)"
        for match in doubtful:
            if match.column.name in taken or match.field in given:
                continue
            taken.add(match.column.name)
            yield from (line if line.startswith("#") else f"# {line}" for line in self._field(match))
        task = next((match.column for match in self.found if match.field == "task" and match.score >= SURE), None)
        keys: set[str] = set()
        for column in [column for column in others if column.name not in taken][:OWN_FIELDS]:
            key = _custom_field(column.name, keys)
            keys.add(key)
            is_kept = self._is_kept(column)
            spec = Field(
                from_=column.name,
                take=None if self.lines_of_run is None else "first",
                as_=_kind_of_cells(column, self.numbers) if is_kept and self.layout.rows.format == "csv" else None,
            )
            yield f"# {_cells(column)}"
            if is_kept and task is not None and _varies_within(column, task):
                yield "# most tasks have several of its values: it may be what you compare"
            line = _line(Match(key, column, 0, spec, 0))
            yield line if is_kept else f"# {line}"

    def _is_kept(self, column: Column) -> bool:
        """Whether a column that is no field of a run is kept as a custom field: neither a comment nor a long text."""
        is_comment = COMMENT_WORDS & set(header_words(column.name)) and not _kind_of_cells(column, self.numbers)
        if self.lines_of_run is not None or is_comment:
            return False
        return max(len(str(cell)) for cell in column.present) <= KEPT_CHARACTERS

    def columns_of_runs(self) -> tuple[str, list[Column]]:
        """Columns that are a run each, for each model or attempt; or else what has to be asked about them."""
        if self.layout.rows.format != "csv" or self.has("verdict"):
            return "", []
        taken = {match.column.name for match in self.found if match.score >= SURE}
        others = [column for column in self.layout.columns if column.name not in taken and column.present]
        usual = [column for column in others if len(column.present) * 2 >= self.layout.count]
        verdicts = [column for column in usual if all(map(_is_verdict, column.present))]
        fields = ("attempt",) if _are_attempts(verdicts) else ("model", "agent")
        if len(verdicts) < 2:
            return self._columns_of_scores(usual), []
        if all(map(self.has, fields)):
            return "", []
        names = " and ".join(shown(column.name) for column in verdicts[:5])
        if any(is_called_verdict(column) for column in verdicts):
            return f"Which column is the verdict: {names.replace(' and ', ' or ')}?", []
        is_clear = not any(map(answers_any_question, verdicts))
        if is_clear or _are_attempts(verdicts) or self._are_named_attempts(verdicts):
            return "", verdicts
        if all(is_arm_name(column.name) for column in verdicts):
            return "", verdicts
        question = f"Is each of the columns {names} the verdicts of one model or agent, or is one of them the verdict?"
        first = _toml(verdicts[0].name)
        return (
            f"{question} {_answer_of_columns(verdicts, 'outcome')} For one verdict, add to [run]: outcome = {first}",
            [],
        )

    def _columns_of_scores(self, usual: Sequence[Column]) -> str:
        """What is asked about columns of numbers that are called like models."""
        number = to_number(self.numbers, Field(value=0))
        scores = [
            column
            for column in usual
            if is_arm_name(column.name) and not any(isinstance(number(cell), Problem) for cell in column.present)
        ]
        names = " and ".join(shown(column.name) for column in scores[:5])
        if len(scores) < 2:
            return ""
        answer = _answer_of_columns(scores, "impl_rate")
        return f"Is each of the columns {names} one run, and what do its numbers measure? {answer}"

    @staticmethod
    def _are_named_attempts(columns: Sequence[Column]) -> bool:
        return all(_NAMED_ATTEMPT.fullmatch(column.name) for column in columns)

    def _of_summary(self, summary: SummaryColumns) -> Iterator[str]:
        yield "# the number of tasks that each row summarizes, and of those that passed"
        yield f"# {_cells(summary.total)}"
        if not summary.is_sure:
            yield "# the tasks that passed: uncomment the correct line"
        for each in summary.passed:
            yield f"# {_cells(each.column)}"
            if each.misfits:
                rows = counted(each.misfits, "row")
                yield f"# in {rows}, the rate gives no integer number of {shown(summary.total.name)}"
            spec = msgspec.to_builtins(each.spec)
            passed = spec if len(spec) > 1 else spec["from"]
            line = f"task_counts = {_toml({'total': summary.total.name, 'passed': passed})}"
            yield line if summary.is_sure else f"# {line}"

    def _of_models(self, columns: ModelColumns) -> Iterator[str]:
        yield "# the common part of the names of several columns is the model"
        yield 'model = "$column"'
        for match in columns.fields:
            yield from self._field(match)

    @property
    def _fields_of_columns(self) -> dict[str, str | None]:
        """The fields in the names of columns that are runs, each with the pattern that finds it, if it is a part."""
        if not self.unpivoted:
            return {}
        if _are_attempts(self.unpivoted):
            return {"attempt": ATTEMPT}
        if self._columns_are_tasks:
            return {"task": None}
        who = "agent" if self.has("model") else "model"
        named = [_NAMED_ATTEMPT.fullmatch(column.name) for column in self.unpivoted]
        parts = {(match["name"], match["number"]) for match in named if match}
        if self.has("attempt") or len(parts) < len(named) or len({name for name, _ in parts}) * 2 > len(parts):
            return {who: None}
        words = "|".join(dict.fromkeys(match["word"] for match in named if match))
        return {who: rf"^(.+?)[\W_]+(?:{words})[\W_]*\d+\W*$", "attempt": ATTEMPT}

    @property
    def _columns_are_tasks(self) -> bool:
        """Whether each row is an agent or a model, and no other column is the task."""
        rows = [match.column for match in self.found if match.field in ("agent", "model") and match.score >= SURE]
        return not self.has("task") and any(
            len(column.present) == self.layout.count == len(set(map(plain_text, column.present))) > 1 for column in rows
        )

    def _of_columns(self) -> Iterator[str]:
        for field, pattern in self._fields_of_columns.items():
            part = "the number in" if field == "attempt" else "the beginning of"
            of_name = "the name" if pattern is None else f"{part} the name"
            yield f"# {of_name} of each column is the {field}"
            yield _line(Match(field, self.unpivoted[0], SURE, Field(from_="$column", pattern=pattern), 0))
        words = dict.fromkeys((plain_text(cell) or "") for column in self.unpivoted for cell in column.present)
        meanings = {word: meaning_of(word) for word in words}
        yield from _about_errored(meanings.values())
        yield f'outcome = {{ from = "$cell", words = {_toml(meanings)} }}'


def _answer_of_columns(columns: Sequence[Column], field: str) -> str:
    """What to type if each column is a model; `field` is what its cells are, or may be."""
    names = _toml([column.name for column in columns])
    return f'For models, add to [rows]: columns = {names}; and to [run]: model = "$column" and {field} = "$cell".'


def _are_attempts(columns: Sequence[Column]) -> bool:
    """Whether the columns are numbered as attempts are: Run 1, Run 2."""
    named = [_NUMBERED.fullmatch(column.name.strip()) for column in columns]
    words = {match["word"].strip().lower() if match else None for match in named}
    return len(words) == 1 and words <= ATTEMPT_WORDS


def _is_numbered_task(column: Column) -> bool:
    """Whether the column is called like a task with a number: Task 1, Aufgabe 2."""
    return is_called_task(replace(column, name=re.sub(r"[\W\d_]+$", "", column.name)))


def _is_verdict(cell: Any) -> bool:  # Any: a text or a JSON scalar
    return meaning_of(plain_text(cell) or "") is not None


def _about_errored(meanings: Collection[object]) -> Iterator[str]:
    """Yield a note on errored runs, which users may expect among the failures."""
    if "errored" in meanings:
        yield (
            "# errored runs have no verdict and are excluded from pass rates; "
            "the option unscored can count them as failed"
        )


def _line(match: Match) -> str:
    """The field as TOML: the verdict as a flag, or as an outcome where there is more than pass and fail."""
    name, spec = match.field, match.spec
    if name == "verdict":
        name = "outcome" if spec.words else "passed"
    given: dict[str, Any] = msgspec.to_builtins(spec)
    return f"{name} = {_toml(given['from'] if list(given) == ['from'] else given)}"


def _cells(column: Column) -> str:
    samples = list(dict.fromkeys(map(shown, column.present)))[:SAMPLES]
    return f"{shown(column.name)}: {', '.join(samples)}"


def _custom_field(name: str, taken: Collection[str]) -> str:
    """A key for a column of no known field, other than those that are taken."""
    key = "x_" + (re.sub(r"\W+", "_", plain_letters(name), flags=re.ASCII).strip("_").lower()[:60] or "own")
    return key if key not in taken else next(each for n in count(2) if (each := f"{key}_{n}") not in taken)


def _kind_of_cells(column: Column, numbers: Numbers) -> Kind | None:
    """The type of a custom field: a number where all cells are, otherwise text."""
    number = to_number(numbers, Field(value=0))
    values = [number(cell) for cell in column.present]
    if any(isinstance(value, Problem) for value in values) or any(_has_leading_zero(cell) for cell in column.present):
        return None
    return "int" if all(isinstance(value, int) for value in values) else "float"


def _has_leading_zero(cell: Any) -> bool:  # Any: a cell
    return isinstance(cell, str) and cell.strip()[:1] == "0" and cell.strip()[1:2].isdecimal()


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """Several columns for each model, such as `gpt-5 result` and `gpt-5 cost`."""

    models: tuple[str, ...]
    names: tuple[str, ...]
    """The names of the columns."""
    fields: tuple[Match, ...]
    """What the columns of one model are, under their common names."""


def columns_by_model(layout: Layout, numbers: Numbers) -> ModelColumns | None:
    """Columns whose names are a model's and a field's, where several models have the same fields; None otherwise."""
    if layout.rows.format != "csv":
        return None
    parts: dict[str, dict[str, Column]] = defaultdict(dict)
    for column in layout.columns:
        for cut in re.finditer(r"[\s_:.-]+", column.name):
            model, rest = column.name[: cut.start()], column.name[cut.start() :]
            if model and column.present and header_words(rest):
                parts[model][rest] = column
    for model in sorted(parts, key=lambda each: -len(parts[each])):
        models = [other for other in parts if parts[other].keys() == parts[model].keys()]
        if len(models) < 2 or len(parts[model]) < (1 if all(map(is_arm_name, models)) else 2):
            continue
        joined = [
            Column(f"$column{rest}", tuple(cell for each in models for cell in parts[each][rest].cells))
            for rest in parts[model]
        ]
        plain = [Column(column.name.removeprefix("$column"), column.cells) for column in joined]
        found = [match for match in matches(plain, numbers) if match.score >= SURE]
        if len(found) == len(joined) and any(match.field == "verdict" for match in found):
            fields = tuple(
                replace(match, spec=msgspec.structs.replace(match.spec, from_=f"$column{match.column.name}"))
                for match in found
            )
            names = tuple(parts[each][rest].name for each in models for rest in parts[each])
            return ModelColumns(tuple(models), names, fields)
    return None


_BARE = re.compile(r"[A-Za-z0-9_-]+")


def _toml(value: Any) -> str:  # Any: TOML values
    """The value as TOML writes it, on one line."""
    if isinstance(value, dict):
        keys = [key if _BARE.fullmatch(key) else _toml(key) for key in value]
        inner = [f"{key} = {_toml(part)}" for key, part in zip(keys, value.values(), strict=True)]
        return f"{{ {', '.join(inner)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
    return "true" if value is True else "false" if value is False else repr(value)


KINDS = 30
"""A log has few kinds of events."""
TRIED = 5
"""Maximum number of columns tried as the one that names these kinds."""
NEARLY_ALL = 0.8
"""Of the runs of a log; the first and the last may be cut."""
EVENT_WORDS = frozenset({"event", "evt"})
STEP_WORDS = frozenset({"step", "steps", "turn", "schritt", "etape", "paso"})
"""What the numbers of lines within a run are called."""
ADDED = ("cost_usd", "duration_seconds", "tool_calls", "iterations", "usage.")
"""Figures that lines state for their own part of the run."""
TAKES: dict[str, Take] = {"started_at": "min", "ended_at": "max", "verdict": "last", "impl_rate": "last"}
"""How one value comes of several that differ; of all others the first counts."""
SAME = ("agent", "experiment", "tier")
"""What a run has one of: a column that changes within a run is hardly that, as the names of tools are not the agent."""


@dataclass(frozen=True, slots=True)
class EventLines:
    """What the lines of a run share, and what distinguishes them."""

    key: Column
    kind: Column
    runs: Sequence[Sequence[int]]
    """The lines of each run."""

    @property
    def has_a_kind_once_a_run(self) -> bool:
        """Whether some kind of line, such as the start, occurs once in nearly every run."""
        once: Counter[object] = Counter()
        for lines in self.runs:
            kinds = Counter(self.kind.cells[line] for line in lines)
            once.update(kind for kind, count in kinds.items() if count == 1)
        return max(once.values(), default=0) >= NEARLY_ALL * len(self.runs)

    def share_with_one(self, column: Column) -> float:
        """The fraction of runs in which exactly one line has the column."""
        return sum(len(cells) == 1 for cells in self._cells(column)) / len(self.runs)

    def with_id(self, found: Sequence[Match]) -> list[Match]:
        """The matches, with shared by the lines of a run as its id."""
        spec = Field(from_=self.key.name)
        shared = Match("id", self.key, SURE, spec, len(self.key.present), "shared by the lines of a run")
        return [shared, *(match for match in found if match.field != shared.field)]

    def of_runs(self, found: Sequence[Match]) -> tuple[Match, ...]:
        """The matches, each with how one value of a run comes of its lines; the last time is the end.

        Where lines have times, durations of single lines are no sure duration: they leave out the time between.
        """
        made = [self._of_run(match) for match in found]
        started = next((match for match in made if match.field == "started_at" and match.score >= SURE), None)
        if started is None or not started.spec.take:
            return tuple(made)
        made = [
            _of_single_lines(match) if match.field == "duration_seconds" and match.spec.take else match
            for match in made
        ]
        if not any(match.field in ("ended_at", "duration_seconds") and match.score >= SURE for match in made):
            ended = msgspec.structs.replace(started.spec, take=TAKES["ended_at"])
            made.append(replace(started, field="ended_at", spec=ended, remark="the time of the last line"))
        return tuple(made)

    def _of_run(self, match: Match) -> Match:
        is_added = match.field.startswith(ADDED)
        by_run = self._cells(match.column)
        if all(len(cells if is_added else set(map(plain_text, cells))) < 2 for cells in by_run):
            return match
        sums = 'summed over the lines of a run; use take = "last" if lines contain running totals'
        remarks = "; ".join(text for text in (match.remark, sums if is_added else "") if text)
        take = "sum" if is_added else TAKES.get(match.field, "first")
        if match.field in SAME:
            match, remarks = replace(match, score=SURE / 2), "changes within a run"
        return replace(match, spec=msgspec.structs.replace(match.spec, take=take), remark=remarks)

    def _cells(self, column: Column) -> list[list[object]]:
        """What the lines of each run hold."""
        return [[cell for line in lines if (cell := column.cells[line]) is not None] for lines in self.runs]

    def notes(self) -> Iterable[str]:
        """Yield what was detected, and how to correct it."""
        seen = f"{shown(self.key.name)} has {len(self.runs):,} distinct values in {len(self.key.present):,} lines"
        yield f"Each run seems to have several lines: {seen}, and {shown(self.kind.name)} changes."
        yield "If each line is a run, remove [group] and every `take`."


def event_lines(layout: Layout, found: Sequence[Match]) -> EventLines | None:
    """What makes several lines one run; None where each line seems to be a run, as where most have a verdict."""
    sure = {match.column.name: match for match in found if match.score >= SURE}
    verdict = next((match.column for match in sure.values() if match.field == "verdict"), None)
    if verdict is not None and len(verdict.present) * 2 > layout.count:
        return None
    filled = [column for column in layout.columns if len(column.present) * 10 >= layout.count * 9]
    sparse = [
        _mask(line for line, cell in enumerate(column.cells) if cell is not None)
        for column in layout.columns
        if len(column.present) < layout.count
    ]
    kinds = (column for column in filled if column.name not in sure and _tells_events(column, layout, sparse))
    tried = list(islice(kinds, TRIED))
    candidates: list[EventLines] = []
    for key in filled if tried else ():
        runs = _lines_by_cell(key)
        if (key.name not in sure or sure[key.name].field in ("task", "id")) and 1 < len(runs) <= layout.count / 2:
            candidates += [EventLines(key, kind, runs) for kind in tried if kind is not key]

    def likeness(lines: EventLines) -> tuple[float, int]:
        return 0 if verdict is None else lines.share_with_one(verdict), len(lines.runs)

    return max((lines for lines in candidates if lines.has_a_kind_once_a_run), key=likeness, default=None)


def _steps_of_runs(layout: Layout) -> Column | None:
    """The column that names runs whose lines are numbered as steps, each from the first one on."""
    steps = next((column for column in layout.columns if STEP_WORDS & set(header_words(column.name))), None)
    if steps is None or len(steps.present) < layout.count:
        return None
    first = steps.cells[0]
    for key in layout.columns:
        lines = _lines_by_cell(key) if key is not steps and len(key.present) == layout.count else []
        starts = [steps.cells[own[0]] == first for own in lines]
        are_distinct = all(len({steps.cells[line] for line in own}) == len(own) > 1 for own in lines)
        in_a_row = all(own[-1] - own[0] == len(own) - 1 for own in lines)
        if len(lines) > 1 and all(starts) and are_distinct and in_a_row:
            return key
    return None


def _of_single_lines(duration: Match) -> Match:
    """The duration as a line that the user has to confirm."""
    remark = "sum over lines; the times of the first and last line are more reliable"
    return replace(duration, score=SURE / 2, remark=remark)


def _lines_by_cell(key: Column) -> list[list[int]]:
    found: dict[str | None, list[int]] = defaultdict(list)
    for line, cell in enumerate(key.cells):
        if cell is not None:
            found[plain_text(cell)].append(line)
    return list(found.values())


def _tells_events(column: Column, layout: Layout, sparse: Sequence[int]) -> bool:
    """Whether it holds a few names, and is called an event or decides which other columns are filled."""
    if not all(isinstance(cell, str) for cell in column.present):
        return False
    kinds = _lines_by_cell(column)
    if not 2 <= len(kinds) <= min(KINDS, layout.count / 2):
        return False
    if EVENT_WORDS & set(header_words(column.name)):
        return True
    masks = [_mask(lines) for lines in kinds]
    return any({0, 1} <= {_share(filled, mask) for mask in masks} for filled in sparse)


def _mask(lines: Iterable[int]) -> int:
    """The lines as bits: a wide file has as many pairs of columns as take long to compare line by line."""
    return sum(1 << line for line in lines)


def _share(filled: int, mask: int) -> int | None:
    """1 where all of the lines are filled, 0 where none is."""
    return 1 if filled & mask == mask else 0 if not filled & mask else None
