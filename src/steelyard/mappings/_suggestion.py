"""Suggest a mapping for a file: uncertain lines are commented out, and nothing is applied."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from statistics import median_low
from typing import Any, NamedTuple

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import archive_kind, beginning_of
from steelyard.mappings._conversions import plain_text, shown
from steelyard.mappings._event_lines import ADDED, EventLines, event_lines
from steelyard.mappings._header_words import HEADERS, plain_letters
from steelyard.mappings._layouts import MAX_ROWS, Column, Layout, layout_of
from steelyard.mappings._mapping import VERSION, Field, Mapping, Numbers, parse_mapping
from steelyard.mappings._matching import SURE, Match, matches, may_be_task, meaning_of, number_signs
from steelyard.mappings._reading import MappedRun, read_mapped
from steelyard.records import Rejected

SAMPLES = 3
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

    @property
    def mapping(self) -> Mapping:
        """The mapping itself."""
        return parse_mapping(self.text, "suggestion")

    def __repr__(self) -> str:
        return (
            f"SuggestedMapping({self.mapping.name!r}: {self.runs:,} runs read, {len(self.set_aside):,} rows rejected)"
        )


def suggest(paths: Sequence[Path]) -> SuggestedMapping:
    """A mapping for the first file, and what it reads of the first rows of each."""
    path = paths[0]
    if archive_kind(beginning_of(path)[:512]):
        raise UnreadableFileError(str(path), "is an archive", hint="extract it and name one of its files")
    layout = layout_of(path)
    numbers = number_signs(layout.columns) if layout.rows.format == "csv" else Numbers()
    draft = _draft(_name(path), layout, numbers)
    body = "\n".join(draft.lines())
    # where no column is surely the task, the first that may be is tried out
    mapping = parse_mapping(body if draft.has_task else body.replace(f"# {TASK}", TASK, 1), "suggestion")
    claims = [_claim(each, mapping) for each in paths]
    looked = f"the first {MAX_ROWS:,} rows" if layout.count >= MAX_ROWS else f"{layout.count:,} rows"
    head = [f"Suggested for {shown(path.name)} from {looked}. Check every line before you use it:"]
    head.append("  steelyard read FILE --map THIS.toml")
    if draft.lines_of_run is not None:
        head += draft.lines_of_run.notes()
    if not draft.has_task:
        head.append("The task column, which every run needs, is uncertain: uncomment one `task` line below.")
    opening = "As is," if draft.has_task else "With the first of them,"
    head += [line for claim in claims for line in claim.lines(opening)]
    comments = [_CONTROL.sub(" ", f"# {line}") for line in head]
    set_aside = tuple(rejected for claim in claims for rejected in claim.set_aside)
    return SuggestedMapping("\n".join([*comments, "", body, ""]), sum(claim.runs for claim in claims), set_aside)


def _draft(name: str, layout: Layout, numbers: Numbers) -> _Draft:
    draft = _Draft(name, layout, numbers, tuple(matches(layout.columns, numbers)))
    lines_of_run = event_lines(layout, draft.found)
    if lines_of_run is not None:
        # what distinguishes runs is their task only where nothing else is
        others = [column for column in layout.columns if column is not lines_of_run.key]
        without_key = replace(draft, found=tuple(matches(others, numbers)))
        found = lines_of_run.with_id(without_key.found) if without_key.has("task") else draft.found
        return replace(draft, found=lines_of_run.of_runs(found), lines_of_run=lines_of_run)
    columns = draft.columns_of_verdicts()
    remark = f"one value for {len(columns)} runs; use it only if it applies to each of them"
    weighed = (
        replace(match, score=SURE / 2, remark=remark) if columns and match.field.startswith(ADDED) else match
        for match in draft.found
    )
    return replace(draft, found=tuple(weighed), unpivoted=tuple(columns))


class _Claim(NamedTuple):
    """What the suggestion reads of the first rows of a file."""

    name: str
    runs: int
    set_aside: tuple[Rejected, ...]
    with_verdict: int = 0

    def lines(self, opening: str) -> Iterator[str]:
        """Yield the suggestion's comments on the file."""
        read = f"{opening} it reads {self.runs:,} runs from {shown(self.name)}"
        rows = "1 row" if len(self.set_aside) == 1 else f"{len(self.set_aside):,} rows"
        yield f"{read} and rejects {rows}."
        if self.runs and not self.with_verdict:
            yield "No run has a verdict, so no pass rate can be computed: set `outcome` or `passed` below."
        yield from (f"  line {rejected.line}: {rejected.reason}" for rejected in self.set_aside[:SAMPLES])


def _claim(path: Path, mapping: Mapping) -> _Claim:
    try:
        items = list(islice(read_mapped(path, mapping), MAX_ROWS))
    except UnreadableFileError as error:
        return _Claim(path.name, 0, (Rejected(path=str(path), reason=error.message, hint=error.hint),))
    rejected = tuple(item for item in items if isinstance(item, Rejected))
    runs = [item.run for item in items if isinstance(item, MappedRun)]
    with_verdict = sum(run.passed is not None or run.outcome is not None for run in runs)
    return _Claim(path.name, len(runs), rejected, with_verdict)


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


def _name(path: Path) -> str:
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
        if not self.has("task"):
            yield from self._task()
        for match in sure:
            yield from self._field(match)
        if self.unpivoted:
            yield from self._of_columns()
        yield from self._uncertain({column.name for column in self.unpivoted})

    @property
    def has_task(self) -> bool:
        """Whether it is sure what the task is."""
        return self.has("task") or bool(self.layout.keys)

    def has(self, field: str) -> bool:
        """Whether it is sure which column is the field."""
        return any(match.field == field and match.score >= SURE for match in self.found)

    def _rows(self) -> Iterator[str]:
        yield "[rows]"
        given = msgspec.to_builtins(self.layout.rows)  # what is not the default
        for name, value in given.items():
            yield f"{name} = {_toml(value)}"
        if self.unpivoted:
            yield "# each of these columns is a run"
            yield f"columns = {_toml([column.name for column in self.unpivoted])}"
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
            yield 'task = "$key[0]"'
            return
        guesses = [match.column for match in self.found if match.field == "task"]
        likely = sorted(filter(may_be_task, self.layout.columns), key=self._like_a_task, reverse=True)
        yield "# The task: uncomment the correct line."
        for name in list(dict.fromkeys(column.name for column in (*guesses, *likely)))[:SAMPLES] or ["$stem"]:
            yield from (f"# {_cells(column)}" for column in self.layout.columns if column.name == name)
            yield f"# {TASK} {_toml(name)}"

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
        doubtful = [match for match in self.found if match.score < SURE]
        others = [column for column in self.layout.columns if column.name not in taken and column.present]
        if not others:
            return
        given = {"task", "verdict", *self._of_column_names()} if unpivoted else {"task"}
        yield ""
        yield "# Unused columns: uncomment a line and set its run field:"
        yield f"# {', '.join(FIELDS)}, ... (steelyard schema run lists all)"
        for match in doubtful:
            if match.column.name in taken or match.field in given:
                continue
            taken.add(match.column.name)
            yield from (line if line.startswith("#") else f"# {line}" for line in self._field(match))
        keys: set[str] = set()
        for column in [column for column in others if column.name not in taken][:OWN_FIELDS]:
            key = _custom_field(column.name, keys)
            keys.add(key)
            spec = Field(from_=column.name, take=None if self.lines_of_run is None else "first")
            yield f"# {_cells(column)}"
            yield f"# {_line(Match(key, column, 0, spec, 0))}"

    def columns_of_verdicts(self) -> list[Column]:
        """Columns of verdicts that are no field's, where no column is the verdict: one for each model or attempt."""
        if self.layout.rows.format != "csv" or self.has("verdict"):
            return []
        taken = {match.column.name for match in self.found if match.score >= SURE}
        others = [column for column in self.layout.columns if column.name not in taken and column.present]
        usual = [column for column in others if len(column.present) * 2 >= self.layout.count]
        verdicts = [column for column in usual if all(map(_is_verdict, column.present))]
        fields = ("attempt",) if _are_attempts(verdicts) else ("model", "agent")
        return verdicts if len(verdicts) > 1 and not all(map(self.has, fields)) else []

    def _of_column_names(self) -> dict[str, str | None]:
        """Return the fields in the names of these columns, each with the pattern that finds it, if it is a part."""
        if _are_attempts(self.unpivoted):
            return {"attempt": ATTEMPT}
        who = "agent" if self.has("model") else "model"
        named = [_NAMED_ATTEMPT.fullmatch(column.name) for column in self.unpivoted]
        parts = {(match["name"], match["number"]) for match in named if match}
        if self.has("attempt") or len(parts) < len(named) or len({name for name, _ in parts}) * 2 > len(parts):
            return {who: None}
        words = "|".join(dict.fromkeys(match["word"] for match in named if match))
        return {who: rf"^(.+?)[\W_]+(?:{words})[\W_]*\d+\W*$", "attempt": ATTEMPT}

    def _of_columns(self) -> Iterator[str]:
        for field, pattern in self._of_column_names().items():
            part = "the number in" if field == "attempt" else "the beginning of"
            of_name = "the name" if pattern is None else f"{part} the name"
            yield f"# {of_name} of each column is the {field}"
            yield _line(Match(field, self.unpivoted[0], SURE, Field(from_="$column", pattern=pattern), 0))
        words = dict.fromkeys((plain_text(cell) or "") for column in self.unpivoted for cell in column.present)
        meanings = {word: meaning_of(word) for word in words}
        yield from _about_errored(meanings.values())
        yield f'outcome = {{ from = "$cell", words = {_toml(meanings)} }}'


def _are_attempts(columns: Sequence[Column]) -> bool:
    """Whether the columns are numbered as attempts are: Run 1, Run 2."""
    named = [_NUMBERED.fullmatch(column.name.strip()) for column in columns]
    words = {match["word"].strip().lower() if match else None for match in named}
    return len(words) == 1 and words <= ATTEMPT_WORDS


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
