"""What is known of the runs."""

from __future__ import annotations

from steelyard.formatting import counted
from steelyard.pages import Page, PageTable, count_column, text_column, with_figures
from steelyard.records import key_text
from steelyard.reports.pages._findings import findings_page
from steelyard.results import CompletenessSummary

WAYS = ("known", "reported", "counted", "priced", "lower_bound", "unknown")


def completeness_page(result: CompletenessSummary) -> Page:
    """One row a field (of each group): in how many runs it is known, and how it came."""
    rows = [(group, field) for group in result.groups for field in result.stated]
    counts = [group.fields[field].to_dict() for group, field in rows]
    columns = (
        *(text_column(key, key, [key_text(group.key[key]) for group, _ in rows]) for key in result.by),
        text_column("field", "field", [field.replace("_", " ") for _, field in rows]),
        *(count_column(way, way.replace("_", " "), [each[way] for each in counts]) for way in WAYS),
    )
    known = sum(not result.total.fields[field].unknown for field in result.stated)
    whole = f"{known:,} of {counted(len(result.stated), 'field')} reported by any run are known for every run."
    findings = findings_page(result.findings, rejected=result.rejected_count)
    page = Page(
        name="completeness",
        title="Which data are known, and which are missing?",
        answer=result.sentence,
        notes=(whole, *((findings.answer,) if findings.table is not None else ())),
        table=PageTable(caption="Runs by provenance of each field", columns=columns),
        also=() if findings.table is None else (findings.table,),
        facts=(("prices", result.prices), ("runs", f"{result.total.n:,}")),
    )
    return with_figures(page, result, ("fields",), tall=False)
