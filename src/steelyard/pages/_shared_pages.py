"""Pages that several questions have: lists of what is built in, and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from steelyard.formatting import counted
from steelyard.pages._columns import count_column, text_column
from steelyard.pages._page import Page, PageTable, Ref
from steelyard.records import GRAVEST_FIRST, Finding, one_a_kind

PLACES_SHOWN = 3


def findings_page(findings: Sequence[Finding], *, rejected: int) -> Page:
    """Return one row per kind of finding, the gravest first."""
    kinds = sorted(one_a_kind(findings), key=lambda finding: GRAVEST_FIRST.index(finding.severity))
    counts = [(sum(finding.severity == severity for finding in kinds), severity) for severity in GRAVEST_FIRST]
    listed = ", ".join(
        counted(count, severity if severity != "info" else "note") for count, severity in counts if count
    )
    left_out = f" {counted(rejected, 'record')} rejected." if rejected else ""
    columns = (
        text_column("severity", "severity", [finding.severity for finding in kinds]),
        text_column("message", "finding", [finding.message for finding in kinds]),
        count_column("count", "cases", [finding.count for finding in kinds]),
        text_column("where", "where", [_where(finding) for finding in kinds]),
        text_column("code", "code", [finding.code for finding in kinds]),
    )
    return Page(
        name="findings",
        title="What should I know before I trust these numbers?",
        answer=(f"{listed}." if listed else "No findings.") + left_out,
        table=PageTable(name="findings", caption="Findings", columns=columns) if kinds else None,
    )


def folded_findings(findings: Sequence[Finding], *, rejected: int = 0) -> tuple[PageTable, ...]:
    """Return the table of findings, folded below a count of them; no table without findings."""
    page = findings_page(findings, rejected=rejected)
    return () if page.table is None else (replace(page.table, caption=page.answer, is_folded=True),)


def _where(finding: Finding) -> str | None:
    places = [place.where for place in finding.places[:PLACES_SHOWN] if place.where]
    more = len(finding.places) - len(places)
    return None if not places else ", ".join(places) + (f" and {more:,} more" if more > 0 else "")


CATALOGS = ("formats", "metrics", "prices", "profiles")
"""Questions about what is built in; their pages link to each other."""


def catalog_page(
    name: str, *, title: str, answer: str, entries: Sequence[Mapping[str, Any]], columns: Mapping[str, int]
) -> Page:
    """Return one row per entry, or one row per field of a single entry (Any: JSON values).

    `columns` are the fields in the list, each with its `spare`. The first one names the entry and links to its page.
    """
    refs = other_catalogs(name)
    if len(entries) == 1:
        return Page(name=name, title=title, answer=entries[0]["title"], refs=refs, table=fields_table(entries[0]))
    texts = {field: [_text(entry[field]) for entry in entries] for field in columns}
    first = next(iter(columns))
    links = [f"/{name}?{urlencode({'name': text})}" for text in texts[first]]
    made = [
        replace(text_column(field, field.replace("_", " "), texts[field]), spare=spare)
        for field, spare in columns.items()
    ]
    made[0] = replace(made[0], links=links)
    table = PageTable(caption=name.capitalize(), columns=tuple(made))
    notes = (f"To show one: steelyard {name} NAME",)
    return Page(name=name, title=title, answer=answer, notes=notes, refs=refs, table=table)


def other_catalogs(name: str) -> tuple[Ref, ...]:
    """Return links to the other catalogs."""
    return tuple(Ref(other.capitalize(), other) for other in CATALOGS if other != name)


def fields_table(entry: Mapping[str, Any]) -> PageTable:  # Any: JSON values
    """Return one row per field of an entry; nested fields have dotted names."""
    fields = dict(_flat(entry))
    columns = (text_column("field", "field", list(fields)), text_column("value", "value", list(fields.values())))
    return PageTable(caption=str(entry["name"]), columns=columns)


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str | None]]:  # Any: JSON values
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(each, f"{name}.{key}" if name else key)
    elif isinstance(value, list) and any(isinstance(each, Mapping) for each in value):
        for place, each in enumerate(value):
            yield from _flat(each, f"{name}.{place}")
    else:
        yield name, _text(value)


def _text(value: Any) -> str | None:  # Any: JSON values
    """Return the text of a cell; None if the value is missing."""
    if isinstance(value, list):
        return ", ".join(str(each) for each in value) or None
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value is None else str(value)
