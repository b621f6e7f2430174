"""Gate results: a terminal table and a Markdown job summary."""

from __future__ import annotations

from typing import Literal

from steelyard.formatting import counted, difference_text, exact_percent, quantity
from steelyard.metrics import catalog
from steelyard.pages import DASH, Painted, Style, TextTable, add_row, markdown_text, plain_table, range_text, weighting
from steelyard.records import Finding
from steelyard.results import Gate, RuleCheck

MARKS = {"pass": "✅", "fail": "❌", "inconclusive": "❔"}
GATE_STYLES: dict[str, Style] = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
WORDS = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}
SPARED = {"difference": 1, "tasks": 2}
"""What leaves a narrow terminal first; the sentences below the table have it too."""
HEADINGS = ("rule", "baseline", "candidate", "difference", "CI", "tasks", "status")


def gate_sentence(result: Gate) -> Painted:
    """Return the verdict and the number of rules that have it."""
    same = sum(check.status == result.status for check in result.checks)
    rules = f"{same:,}/{len(result.checks):,} rules"
    text = f"Gate {WORDS[result.status]} ({rules}), {counted(result.tasks, 'task')}{_taken_as(result)}."
    is_failure = result.status == "inconclusive" and result.inconclusive == "fail"
    return Painted(text, GATE_STYLES["fail" if is_failure else result.status])


def _taken_as(result: Gate) -> str:
    """Return the reason for the exit status of an inconclusive gate."""
    if result.status != "inconclusive" or result.inconclusive == "report":
        return ""
    return f"; exit status {result.exit_code} because of --inconclusive {result.inconclusive}"


def gate_table(result: Gate) -> TextTable:
    """Return a table with one row per rule."""
    table = plain_table(f"Rules, {weighting(result)}")
    for heading in HEADINGS:
        justify: Literal["left", "right"] = "left" if heading in ("rule", "status") else "right"
        table.add_column(heading, justify=justify, spare=SPARED.get(heading, 0))
    for check in result.checks:
        *cells, status = _cells(check)
        add_row(table, *cells, Painted(status, GATE_STYLES[check.status]))
    return table


def _cells(check: RuleCheck) -> list[str]:
    unit = catalog()[check.rule.metric].unit
    interval = check.interval
    known = check.baseline is not None and check.candidate is not None
    gap = (check.candidate or 0.0) - (check.baseline or 0.0)
    from_limit = "(from the limit) " if check.rule.factor not in (0, 1) else ""
    return [
        check.rule.text,
        DASH if check.baseline is None else quantity(check.baseline, unit),
        DASH if check.candidate is None else quantity(check.candidate, unit),
        difference_text(gap, unit, signed=True) if known else DASH,
        range_text(interval.low, interval.high, unit, f"{from_limit}{interval.label}".strip()),
        f"{check.tasks:,}",
        check.status,
    ]


def gate_markdown(result: Gate) -> str:
    """Return the job summary as Markdown; strings from data are escaped."""
    lines = [f"## {MARKS[result.status]} Steelyard gate: {WORDS[result.status]}{_taken_as(result)}", ""]
    lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
    for check in result.checks:
        cells = [markdown_text(cell.replace("\n", " ")) for cell in _cells(check)]
        cells[-1] = f"{MARKS[check.status]} {cells[-1]}"
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    lines += [f"- {markdown_text(check.sentence)}" for check in result.checks]
    warnings = [finding for finding in result.findings if finding.severity != "info"]
    if warnings:
        lines += ["", f"<details><summary>{len(warnings)} findings</summary>", ""]
        lines += [f"- {markdown_text(_finding_text(finding))}" for finding in warnings[:50]]
        lines += ["", "</details>"]
    level = exact_percent(result.level)
    lines += [
        "",
        f"{level} confidence; profile {markdown_text(result.profile)}; {weighting(result)}; seed {result.seed}.",
        "",
    ]
    return "\n".join(lines)


def _finding_text(finding: Finding) -> str:
    return finding.message if finding.count == 1 else f"{finding.message}; {finding.count - 1:,} more like it"
