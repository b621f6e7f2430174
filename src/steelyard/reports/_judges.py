"""Inter-rater agreement of judges as sentences and terminal tables."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import decimal, decimal_bounds, interval_name, p_value, p_value_cell
from steelyard.pages import DASH, TextTable, add_row, plain_table
from steelyard.plain_text import clean
from steelyard.results import Agreement, JudgeRecord, Judges

TASKS_SHOWN = 30
WORDS = ((0.8, "good"), (0.667, "moderate (tentative conclusions only)"), (0.0, "too low to be reliable"))
"""Interpretation of alpha (Krippendorff 2004): from 0.8 reliable, from 0.667 tentative."""


def judge_lines(result: Judges) -> Iterator[str]:
    """Yield sentences about agreement, severity, inconsistent scores and inconsistent votes."""
    yield from (clean(line) for line in _lines(result))


def _lines(result: Judges) -> Iterator[str]:
    yield _agreement_sentence(result)
    for record in result.judges:
        text = _severity(record)
        if text:
            yield text
    for record in result.judges:
        if record.differing:
            yield (
                f"{record.judge}: the reported score differs from the recomputed score by more than "
                f"{result.tolerance:g} in {record.differing:,} of {record.checked:,} judgments "
                f"(mean difference {record.mean_error:+.3f})."
            )
    contradictions = sum(record.contradictions for record in result.judges)
    if contradictions:
        votes = "1 vote contradicts" if contradictions == 1 else f"{contradictions:,} votes contradict"
        yield f"{votes} the judge's own score (pass threshold {result.threshold:g})."
    groups = _groups_sentence(result)
    if groups:
        yield groups


def _agreement_sentence(result: Judges) -> str:
    alpha = result.overall.scores
    count = len(result.judges)
    if count < 2:
        return f"Inter-rater agreement is unknown: only one judge ({result.judges[0].judge})."
    if alpha.estimate is None:
        return f"Inter-rater agreement of {count} judges is unknown: {alpha.reason}."
    words = next((word for least, word in WORDS if alpha.estimate >= least), "worse than chance")
    bounds = (
        f"{interval_name(alpha.confidence)} {_range(alpha.low, alpha.high)}"
        if alpha.known
        else f"no CI: {alpha.reason}"
    )
    runs = _count(result.overall.runs, "run")
    return f"Inter-rater agreement of {count} judges is {words}: alpha = {alpha.estimate:.3f} on {runs} ({bounds})."


def _groups_sentence(result: Judges) -> str | None:
    test = result.group_tests[None]
    if test.p_value is None:
        return None
    differ = "differ" if test.p_value < 1 - result.level else "do not differ significantly"
    return (
        f"Mean scores {differ} between the {test.groups:,} groups by {', '.join(result.by)} (Kruskal-Wallis "
        f"H = {test.statistic:.3f}, df = {test.degrees}, {p_value(test.p_value)}; assumes independent runs)."
    )


def _p_text(p_value: float | None) -> str:
    return p_value_cell(p_value)


def _severity(record: JudgeRecord) -> str | None:
    severity = record.severity
    if severity.estimate is None or not severity.excludes(0.0):
        return None
    side = "below" if severity.estimate < 0 else "above"
    kind = "strict" if severity.estimate < 0 else "lenient"
    return (
        f"{record.judge} is {kind}: {abs(severity.estimate):.3f} {side} the other judges on the same runs"
        f" ({interval_name(severity.confidence)} {_range(severity.low, severity.high)})."
    )


def _range(low: float | None, high: float | None) -> str:
    return decimal_bounds(low, high, decimals=3)


def _number(value: float | None) -> str:
    return decimal(value, decimals=3)


def _signed(value: float | None) -> str:
    return decimal(value, decimals=3, signed=True)


def judge_tables(result: Judges) -> Iterator[TextTable]:
    """Judges, pairs of judges, and tasks."""
    table = plain_table(f"{_count(len(result.judges), 'judge')} of {_count(result.runs, 'run')}")
    table.add_column("judge")
    spared = {"interval": 1, "runs": 2, "differing": 3, "contradictions": 3, "stated - recomputed": 4}
    for title in ("runs", "mean score", "severity", "interval", "stated - recomputed", "differing", "contradictions"):
        table.add_column(title, justify="right", spare=spared.get(title, 0))
    for record in result.judges:
        add_row(
            table,
            clean(record.judge),
            f"{record.runs:,}",
            _number(record.mean),
            _signed(record.severity.estimate),
            _range(record.severity.low, record.severity.high),
            _signed(record.mean_error),
            f"{record.differing:,} of {record.checked:,}" if record.checked else DASH,
            f"{record.contradictions:,}",
        )
    yield table
    if result.kappas:
        yield _pairs(result)
    if result.group_tests[None].groups > 1:
        yield _groups(result)
    yield _tasks(result)


def _pairs(result: Judges) -> TextTable:
    table = plain_table("Pairs of judges: Cohen's kappa of votes, rank correlation of scores")
    table.add_column("judges")
    for title, spare in (
        ("kappa", 0),
        ("runs voted on", 1),
        ("Spearman's rho", 0),
        ("Kendall's tau-b", 2),
        ("runs scored", 1),
    ):
        table.add_column(title, justify="right", spare=spare)
    table.add_column("why missing")
    for correlation in result.correlations:
        kappa, voted = result.kappas[correlation.judges]
        add_row(
            table,
            clean(", ".join(correlation.judges)),
            _number(kappa),
            _of(voted, result.runs),
            _number(correlation.spearman),
            _number(correlation.kendall),
            _of(correlation.runs, result.runs),
            clean(correlation.reason or ""),
        )
    return table


def _groups(result: Judges) -> TextTable:
    table = plain_table(f"Do scores differ by {', '.join(result.by)}? Kruskal-Wallis, corrected for ties")
    table.add_column("judge")
    for title in ("groups", "H", "df", "p", "runs"):
        table.add_column(title, justify="right")
    table.add_column("why missing")
    for judge, test in result.group_tests.items():
        add_row(
            table,
            "mean of all" if judge is None else clean(judge),
            f"{test.groups:,}",
            _number(test.statistic),
            DASH if test.degrees is None else f"{test.degrees:,}",
            _p_text(test.p_value),
            _of(test.n, result.runs),
            test.reason or "",
        )
    return table


def _of(n: int, of: int) -> str:
    return f"{n:,} of {of:,}"


def _tasks(result: Judges) -> TextTable:
    table = plain_table("Agreement by task")
    table.add_column("task")
    spared = {"runs": 1, "alpha of votes": 2, "Fleiss' kappa": 3, "split votes": 4}
    for title in ("runs", "alpha of scores", "interval", "alpha of votes", "Fleiss' kappa", "split votes"):
        table.add_column(title, justify="right", spare=spared.get(title, 0))
    shown = list(result.tasks.items())[:TASKS_SHOWN]
    for task, agreement in [*shown, ("all", result.overall)]:
        add_row(table, clean(task), *_agreement_cells(agreement))
    if len(result.tasks) > TASKS_SHOWN:
        add_row(table, f"... {len(result.tasks) - TASKS_SHOWN:,} more tasks; the JSON output lists them")
    return table


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _agreement_cells(agreement: Agreement) -> list[str]:
    return [
        f"{agreement.runs:,}",
        _number(agreement.scores.estimate),
        _range(agreement.scores.low, agreement.scores.high),
        _number(agreement.votes.estimate),
        _number(agreement.fleiss),
        f"{agreement.split:,} of {agreement.voted:,}",
    ]
