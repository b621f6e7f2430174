"""The pages of a report, in the order of its sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from steelyard.pages import Page, findings_page
from steelyard.reports.pages._any_result import page_of
from steelyard.reports.pages._runs import outputs_page, runs_page
from steelyard.results import Report


def report_pages(report: Report) -> tuple[Page, ...]:
    """A page for each section that the report has, each with the command that gives its numbers."""
    return tuple(_pages(report))


def _pages(report: Report) -> Iterator[Page]:
    for name in report.sections:
        if name in report.results:
            page = page_of(report.results[name])
            if name == "measure" and report.ranking is not None:  # the ranking has the same figures
                page = replace(page, draw=None)
            yield replace(page, facts=(*page.facts, ("command", f"{report.commands[name]} --json")))
        elif name == "findings":
            yield findings_page(report.findings, rejected=report.rejected_count)
        elif name == "runs" and report.runs.total:
            yield runs_page(report.runs, (("profile", report.profile), ("prices", report.prices)))
        elif name == "outputs" and report.outputs:
            yield outputs_page(report.outputs, left_out=report.outputs_left_out)
