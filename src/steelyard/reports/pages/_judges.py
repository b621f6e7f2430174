"""Page with inter-rater agreement, severity and inconsistent votes."""

from __future__ import annotations

from steelyard.formatting import decimal_bounds, exact_percent, interval_name
from steelyard.pages import Column, Page, PageTable, count_column, number_column, text_column, with_figures
from steelyard.reports._judges import judge_lines
from steelyard.results import Judges


def judges_page(result: Judges) -> Page:
    """Return the page with agreement and severity of judges."""
    answer, *notes = judge_lines(result)
    severities = [record.severity for record in result.judges]
    ends = [decimal_bounds(each.low, each.high, decimals=3) for each in severities]
    columns = (
        text_column("judge", "judge", [record.judge for record in result.judges]),
        count_column("runs", "runs", [record.runs for record in result.judges]),
        number_column("mean_score", "mean score", [record.mean for record in result.judges]),
        number_column("severity", "severity", [each.estimate for each in severities], sign="+"),
        Column(
            name="interval",
            title=interval_name(result.level),
            values=[each.low for each in severities],
            decimals=6,
            texts=ends,
        ),
        number_column("mean_error", "stated - recomputed", [record.mean_error for record in result.judges], sign="+"),
        count_column("differing", "differing", [record.differing for record in result.judges]),
        count_column("contradictions", "contradictions", [record.contradictions for record in result.judges]),
    )
    page = Page(
        name="judges",
        title="Can I trust the judges?",
        answer=answer,
        notes=tuple(notes),
        table=PageTable(caption="Judges", columns=columns),
        facts=(
            ("agreement", "Krippendorff's alpha of the scores, interval scale"),
            ("runs", f"{result.runs:,} judged, {result.overall.runs:,} by at least two judges"),
            ("pass threshold", f"{result.threshold:g}"),
            ("score tolerance", f"{result.tolerance:g}"),
            ("confidence level", exact_percent(result.level)),
            ("profile", result.profile),
        ),
    )
    return with_figures(page, result, ("severity", "reliability"))
