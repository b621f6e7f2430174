"""Where the money goes, and what is known of the runs."""

from __future__ import annotations

from steelyard.formatting import counted
from steelyard.pages import Column, Page, PageTable, count_column, text_column, with_figures
from steelyard.records import TOKEN_KINDS, key_text
from steelyard.reports._usage_tables import cost_texts
from steelyard.reports.pages._findings import findings_page
from steelyard.results import CompletenessSummary, UsageSummary

WAYS = ("known", "reported", "counted", "priced", "lower_bound", "unknown")


def usage_page(result: UsageSummary) -> Page:
    """One row a group: its cost, its tokens by kind, its calls."""
    groups = result.groups
    used = [group.used for group in groups]
    kinds = [kind for kind in TOKEN_KINDS if any(each.tokens[kind] is not None for each in used)]
    costs = [each.cost_usd for each in used]
    columns = (
        *(text_column(key, key, [key_text(group.key[key]) for group in groups]) for key in result.by),
        Column(name="cost_usd", title="cost", values=costs, decimals=6, texts=cost_texts(used)),
        count_column("total_tokens", "tokens", [each.total_tokens for each in used]),
        *(
            count_column(kind, kind.removesuffix("_tokens").replace("_", " "), [each.tokens[kind] for each in used])
            for kind in kinds
        ),
        count_column("calls", "calls", [each.calls for each in used]),
        count_column("runs", "runs", [each.runs for each in used]),
        count_column("unpriced_calls", "unpriced calls", [each.unpriced_calls for each in used]),
    )
    page = Page(
        name="usage",
        title="Where does the money go?",
        answer=result.sentence,
        table=PageTable(caption=f"Usage{' by ' if result.by else ''}{', '.join(result.by)}", columns=columns),
        legend=("≥ marks a lower bound: part of the cost is unknown.",)
        if any(each.lower_bound for each in used)
        else (),
        facts=(
            ("prices", result.prices),
            ("time zone", result.tz),
            ("since", result.since or "first call"),
            ("until", result.until or "last call"),
            ("models without a price", ", ".join(result.unpriced_models) or "none"),
            ("rejected records", f"{result.rejected_count:,}"),
        ),
    )
    return with_figures(page, result, ("days", "tokens", "costs"))


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
