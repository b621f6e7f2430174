"""Completeness: provenance counts of each field of the runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from steelyard.prices import PriceTable, cost_of, open_price_table
from steelyard.questions._declaration import doc
from steelyard.questions._opening_runs import CustomFieldsSeen, RecordReader, Runs
from steelyard.questions._options import Names, PricedRunOptions
from steelyard.questions._question import question
from steelyard.questions.measure import checked_keys
from steelyard.records import TOKEN_KINDS, Finding, Provenance, Run, key_of
from steelyard.results import CompletenessGroup, CompletenessSummary, FieldCompleteness

BOOKKEEPING = frozenset({"id", "task", "tier_scheme", "provenance", "source", "extra", "passed", "outcome"})
"""Fields that every record has, that describe provenance, or that are part of the verdict."""
FIELDS = ("verdict", *(name for name in Run.__struct_fields__ if name not in BOOKKEEPING), *TOKEN_KINDS)
"""The fields that are counted."""


class CompletenessOptions(PricedRunOptions):
    """Options of `completeness`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, experiment or a custom field (x_NAME).",
        default=(),
    )


@question(CompletenessOptions)
def completeness(runs: Runs, options: CompletenessOptions) -> CompletenessSummary:
    """Completeness of the runs: each field by how it came, or unknown.

    >>> import steelyard as sy
    >>> known = sy.completeness([{"task": "t", "passed": True}, {"task": "u"}])
    >>> len(known.to_dicts()) > 0
    True
    """
    counting = CompletenessCounting(options)
    reader = RecordReader(options.reading())
    for _, entry in reader.read(runs):
        counting.add(entry.run)
    return counting.summary(reader.finish(), rejected_count=len(reader.set_aside))


class CompletenessCounting:
    """Counts the fields of runs as the options ask."""

    def __init__(self, options: CompletenessOptions) -> None:
        self._by, self._price_table = tuple(checked_keys(options.by)), open_price_table(options.prices)
        self._groups: dict[tuple[str | None, ...], _GroupCount] = {}
        self._total = _GroupCount()
        self._custom_fields = CustomFieldsSeen(self._by)

    def add(self, run: Run) -> None:
        """One more run."""
        self._custom_fields.add(run)
        origins = origins_of(run, self._price_table)
        key = tuple(key_of(run, name) for name in self._by)
        for group in (self._groups.setdefault(key, _GroupCount()), self._total):
            group.add(origins)

    def summary(self, findings: Sequence[Finding], *, rejected_count: int = 0) -> CompletenessSummary:
        """What was counted."""
        self._custom_fields.check()
        ordered = sorted(self._groups.items(), key=lambda item: [(value is None, value or "") for value in item[0]])
        return CompletenessSummary(
            by=self._by,
            groups=tuple(group.result(dict(zip(self._by, key, strict=True))) for key, group in ordered),
            total=self._total.result({}),
            prices=self._price_table.label,
            rejected_count=rejected_count,
            findings=tuple(findings),
        )


class _GroupCount:
    """Counts runs one after another."""

    def __init__(self) -> None:
        self._n = 0
        self._counts: Counter[tuple[str, Provenance]] = Counter()

    def add(self, origins: Sequence[tuple[str, Provenance]]) -> None:
        self._n += 1
        self._counts.update(origins)

    def result(self, key: Mapping[str, str | None]) -> CompletenessGroup:
        fields = {
            name: FieldCompleteness(**{way: self._counts[name, way] for way in get_args(Provenance)}) for name in FIELDS
        }
        return CompletenessGroup(key=key, n=self._n, fields=fields)


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
