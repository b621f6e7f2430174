"""Show which fields are reported, derived or missing.

Without a path, reads the logs of the agents installed on this machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from steelyard import figures, pages  # their names are imported on first use
from steelyard.formatting import counted
from steelyard.prices import PriceTable, cost_of, open_price_table
from steelyard.questions._answer import Answer, Drawing, Part, Rows
from steelyard.questions._group_keys import check_group_values
from steelyard.questions._options import PricedRunOptions
from steelyard.questions._question import Names, doc, log_question
from steelyard.questions._run_input import CustomFieldCheck, LogLocation, RecordReader, Runs, runs_or_logs
from steelyard.questions.measure import checked_keys
from steelyard.records import TOKEN_KINDS, Finding, Provenance, Run, key_of, key_text, one_a_kind

if TYPE_CHECKING:
    from steelyard.figures import Figure
    from steelyard.pages import Page

BOOKKEEPING = frozenset({"id", "task", "tier_scheme", "provenance", "source", "extra", "passed", "outcome"})
"""Fields that every record has, that describe provenance, or that are part of the verdict."""
FIELDS = ("verdict", *(name for name in Run.__struct_fields__ if name not in BOOKKEEPING), *TOKEN_KINDS)
"""The fields that are counted."""


class CompletenessOptions(PricedRunOptions):
    """Options of `completeness`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, experiment or a custom field.",
        default=(),
    )


class FieldCompleteness(Part, frozen=True, kw_only=True):
    """Number of runs by provenance of a field; known and unknown runs sum to all runs of the group."""

    known: int = 0
    """With a value."""
    reported: int = 0
    """Reported in the record."""
    counted: int = 0
    """Counted or computed from other parts of the record."""
    priced: int = 0
    """Priced from tokens by the price table."""
    lower_bound: int = 0
    """A lower bound."""
    unknown: int = 0


WAYS = FieldCompleteness.__struct_fields__[1:]
"""The kinds of provenance that are counted."""


class CompletenessGroup(Part, frozen=True, kw_only=True):
    """The fields of the runs of one group."""

    key: dict[str, str | None]
    """Values of the grouping keys; None if a run does not report one. The total has no key."""
    n: int
    """Number of runs."""
    fields: dict[str, FieldCompleteness]
    """By name of the field, in the order of a record."""


class CompletenessSummary(Answer, frozen=True, kw_only=True):
    """Provenance of each field of the runs."""

    rows: ClassVar[Rows] = Rows("groups.fields")
    by: tuple[str, ...]
    prices: str
    """Price table."""
    groups: tuple[CompletenessGroup, ...]
    """Ordered by key; without keys, the one group of all runs."""
    total: CompletenessGroup
    summary: str
    """Number of runs with a verdict, a cost and tokens, in one sentence."""
    searched_paths: tuple[LogLocation, ...]
    """Where logs were searched for, if no path was given."""
    rejected_count: int
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """The summary without its full stop."""
        return self.summary.removesuffix(".")

    @property
    def reported_fields(self) -> tuple[str, ...]:
        """The fields that some run has, in the order of a record."""
        return tuple(name for name, field in self.total.fields.items() if field.known)

    @property
    def absent_fields(self) -> tuple[str, ...]:
        """The fields that no run has."""
        return tuple(name for name, field in self.total.fields.items() if not field.known)


@log_question(CompletenessOptions, examples=({"": "logs/", "by": "agent"},))
def completeness(runs: Runs | None, options: CompletenessOptions) -> CompletenessSummary:
    """Count the runs in which each field is reported, derived or missing.

    >>> import steelyard as sy
    >>> sy.completeness([{"task": "t", "passed": True}, {"task": "u"}])
    CompletenessSummary(Of 2 runs, 1 has a verdict, 0 have a cost, 0 have tokens)
    """
    counting = CompletenessCounts(options)
    inputs, searched_paths = runs_or_logs(runs)
    reader = RecordReader(options.reading())
    for _, entry in reader.read(inputs):
        counting.add(entry.run)
    findings = reader.finish(searched_paths)
    return counting.summary(findings, rejected_count=len(reader.set_aside), searched_paths=searched_paths)


class CompletenessCounts:
    """Counts the fields of runs as the options ask."""

    def __init__(self, options: CompletenessOptions) -> None:
        self._by, self._price_table = tuple(checked_keys(options.by)), open_price_table(options.prices)
        self._groups: dict[tuple[str | None, ...], _GroupCount] = {}
        self._total = _GroupCount()
        self._custom_fields = CustomFieldCheck(self._by)

    def add(self, run: Run) -> None:
        """One more run."""
        self._custom_fields.add(run)
        origins = origins_of(run, self._price_table)
        key = tuple(key_of(run, name) for name in self._by)
        if key not in self._groups:
            check_group_values(len(self._groups) + 1, len(FIELDS), "field")
            self._groups[key] = _GroupCount()
        for group in (self._groups[key], self._total):
            group.add(origins)

    def summary(
        self, findings: Sequence[Finding], *, rejected_count: int = 0, searched_paths: tuple[LogLocation, ...] = ()
    ) -> CompletenessSummary:
        """Return the counts."""
        self._custom_fields.check()
        ordered = sorted(self._groups.items(), key=lambda item: [(value is None, value or "") for value in item[0]])
        total = self._total.result({})
        return CompletenessSummary(
            by=self._by,
            groups=tuple(group.result(dict(zip(self._by, key, strict=True))) for key, group in ordered),
            total=total,
            prices=self._price_table.label,
            summary=_summary(total),
            searched_paths=searched_paths,
            rejected_count=rejected_count,
            findings=one_a_kind(findings),
        )


class _GroupCount:
    """Counts runs one after another."""

    def __init__(self) -> None:
        self._n = 0
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, origins: Sequence[tuple[str, Provenance]]) -> None:
        self._n += 1
        self._counts.update(origins)

    def result(self, key: dict[str, str | None]) -> CompletenessGroup:
        counts = {name: {way: self._counts[name, way] for way in WAYS} for name in FIELDS}
        fields = {name: FieldCompleteness(known=self._n - ways["unknown"], **ways) for name, ways in counts.items()}
        return CompletenessGroup(key=key, n=self._n, fields=fields)


def _summary(total: CompletenessGroup) -> str:
    """Return the number of runs with a verdict, a cost and tokens, in one sentence."""
    parts = []
    for name, text in (("verdict", "a verdict"), ("cost_usd", "a cost"), ("usage", "tokens")):
        field = total.fields[name]
        bound = f" ({counted(field.lower_bound, 'lower bound')})" if field.lower_bound else ""
        parts.append(f"{field.known:,} {'has' if field.known == 1 else 'have'} {text}{bound}")
    return f"Of {counted(total.n, 'run')}, {', '.join(parts)}."


def origins_of(run: Run, price_table: PriceTable) -> list[tuple[str, Provenance]]:
    """How each field of the run came."""
    return [(name, _SPECIAL[name](run, price_table) if name in _SPECIAL else _origin(run, name)) for name in FIELDS]


def _origin(run: Run, name: str) -> Provenance:
    """Return the provenance of a field; an empty list is a reported value."""
    if getattr(run, name) is None:
        return "unknown"
    return (run.provenance or {}).get(name, "reported")


def _usage(run: Run, _price_table: PriceTable) -> Provenance:
    if run.total_usage is None:
        return "unknown"
    return (run.provenance or {}).get("usage", "reported" if run.usage is not None else "counted")


def _kind(kind: str) -> Callable[[Run, PriceTable], Provenance]:
    def origin(run: Run, price_table: PriceTable) -> Provenance:
        usage = run.total_usage
        if usage is None or getattr(usage, kind) is None:
            return "unknown"
        provenance = run.provenance or {}
        some = any(name.startswith("usage.") for name in provenance)  # then the others are not what the whole is
        return provenance.get(f"usage.{kind}", "counted" if some else _usage(run, price_table))

    return origin


def _verdict(run: Run, _price_table: PriceTable) -> Provenance:
    if run.verdict is None:
        return "unknown"
    return "reported" if run.stated_pass is not None and run.tests is None else "counted"


def _duration(run: Run, _price_table: PriceTable) -> Provenance:
    return (
        _origin(run, "duration_seconds")
        if run.elapsed_seconds is None
        else ("reported" if run.duration_seconds is not None else "counted")
    )


def _impl_rate(run: Run, _price_table: PriceTable) -> Provenance:
    return "counted" if run.impl_rate is None and run.judgments else _origin(run, "impl_rate")


_SPECIAL: Mapping[str, Callable[[Run, PriceTable], Provenance]] = MappingProxyType(
    {
        "verdict": _verdict,
        "usage": _usage,
        "cost_usd": lambda run, price_table: cost_of(run, price_table).how,
        "duration_seconds": _duration,
        "impl_rate": _impl_rate,
        **{kind: _kind(kind) for kind in TOKEN_KINDS},
    }
)
"""Fields that come from several parts of a record."""


def page(answer: CompletenessSummary) -> Page:
    """Return one row per field (of each group): the number of runs by provenance."""
    rows = [(group, name, group.fields[name]) for group in answer.groups for name in answer.reported_fields]
    columns = [pages.text_column(key, key, [key_text(group.key[key]) for group, *_ in rows]) for key in answer.by]
    columns.append(pages.text_column("field", "field", [name for _, name, _ in rows]))
    columns += [
        pages.count_column(way, way.replace("_", " "), [getattr(counts, way) for *_, counts in rows])
        for way in FieldCompleteness.__struct_fields__
    ]
    complete = sum(not answer.total.fields[name].unknown for name in answer.reported_fields)
    fields = counted(len(answer.reported_fields), "field")
    absent = f"Never reported: {', '.join(answer.absent_fields)}."
    made = pages.Page(
        name="completeness",
        title="Which data are known, and which are missing?",
        answer=answer.summary,
        notes=(f"{complete:,} of {fields} reported by any run are known for every run.",),
        table=pages.PageTable(caption="Runs by provenance of each field", columns=tuple(columns)),
        also=pages.folded_findings(answer.findings, rejected=answer.rejected_count),
        details=(absent,) if answer.absent_fields else (),
        facts=(("prices", answer.prices), ("runs", f"{answer.total.n:,}")),
    )
    return pages.with_figures(made, answer, ("fields",), tall=False)


def _draw_fields(answer: CompletenessSummary, width: int) -> Figure:
    """Draw the provenance of each field that some run has; unknown is hatched."""
    ways = [way for way in FieldCompleteness.__struct_fields__ if way != "known"]
    rows = [
        figures.StackedRow(
            name,
            {way.replace("_", " "): getattr(counts, way) for way in ways},
            text=f"{counts.known:,} of {answer.total.n:,}",
        )
        for name, counts in answer.total.fields.items()
        if counts.known
    ]
    return figures.stacked(
        rows,
        kinds=[way.replace("_", " ") for way in ways],
        hatched="unknown",
        title="Completeness of the runs",
        axis=figures.Axis(title="Runs", unit="count", high=answer.total.n),
        note=answer.summary,
        width=width,
    )


DRAWINGS: Mapping[str, Drawing] = {"fields": _draw_fields}
"""Figures of the answer."""
