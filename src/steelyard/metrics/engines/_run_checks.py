"""Contradictions in the runs themselves, found over the whole table and listed by run id."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import narwhals as nw

from steelyard.metrics._words import Value
from steelyard.metrics.engines._protocol import Engine, Rows
from steelyard.profiles import FindingLimits
from steelyard.records import Finding, Missing, Place, PlacesOnDemand, Severity


@dataclass(frozen=True, slots=True)
class RunCheck:
    """A contradiction: the columns it looks at and the condition under which a run shows it."""

    code: str
    severity: Severity
    message: str
    needs: tuple[str, ...]
    holds: Callable[..., nw.Expr]
    optional: tuple[str, ...] = ()
    """Columns that are null where no run has them; one of them must be known."""


def _tests_against_verdict(
    _limits: FindingLimits, tests_run: nw.Expr, tests_not_passed: nw.Expr, passed: nw.Expr
) -> nw.Expr:
    return (tests_run > 0) & ((tests_not_passed == 0) != passed)


def _outcome_against_verdict(_limits: FindingLimits, outcome: nw.Expr, passed: nw.Expr) -> nw.Expr:
    unscored = (outcome == "errored") | (outcome == "not_scored")
    return ((outcome == "passed") & ~passed) | ((outcome == "failed") & passed) | (unscored & ~passed.is_null())


def _judges_against_verdict(
    _limits: FindingLimits, judge_votes: nw.Expr, judge_passes: nw.Expr, pass_rate: nw.Expr
) -> nw.Expr:
    return (judge_votes > 0) & ((judge_passes * 2 > judge_votes) != (pass_rate > 0.5))


def _pass_despite_low_score(limits: FindingLimits, judge_lowest_passing_score: nw.Expr) -> nw.Expr:
    return judge_lowest_passing_score < limits.judge_pass_threshold


def _fail_despite_high_score(limits: FindingLimits, judge_highest_failing_score: nw.Expr) -> nw.Expr:
    return judge_highest_failing_score >= limits.judge_pass_threshold


def _score_against_verdict(
    limits: FindingLimits, pass_rate: nw.Expr, score: nw.Expr, stated_impl_rate: nw.Expr
) -> nw.Expr:
    stated = nw.coalesce(nw.when(score <= 1).then(score), nw.when(score.is_null()).then(stated_impl_rate))
    return (stated >= limits.judge_pass_threshold) != (pass_rate > 0.5)


def _score_not_recomputed(limits: FindingLimits, judge_score_error: nw.Expr) -> nw.Expr:
    return judge_score_error > limits.judge_score_tolerance + 1e-12  # 0.86 - 0.85 is a little more than 0.01 in binary


def _cost_differs(limits: FindingLimits, reported_cost_usd: nw.Expr, priced_cost_usd: nw.Expr) -> nw.Expr:
    return (reported_cost_usd - priced_cost_usd).abs() > reported_cost_usd * limits.cost_tolerance


def _duration_differs(limits: FindingLimits, stated_duration_seconds: nw.Expr, elapsed_seconds: nw.Expr) -> nw.Expr:
    gap = (stated_duration_seconds - elapsed_seconds).abs()
    return gap > stated_duration_seconds * limits.duration_tolerance


def _cost_too_low(_limits: FindingLimits, cost_is_lower_bound: nw.Expr, cost_usd: nw.Expr) -> nw.Expr:
    return cost_is_lower_bound & ~cost_usd.is_null()


def _test_in_two_lists(_limits: FindingLimits, tests_listed_twice: nw.Expr) -> nw.Expr:
    return tests_listed_twice > 0


def _calls_beyond_usage(_limits: FindingLimits, tokens_beyond_usage: nw.Expr) -> nw.Expr:
    return tokens_beyond_usage > 0


def _usage_beyond_calls(_limits: FindingLimits, tokens_outside_calls: nw.Expr, tokens_beyond_usage: nw.Expr) -> nw.Expr:
    return (tokens_outside_calls > 0) & (tokens_beyond_usage == 0)


def _total_differs(_limits: FindingLimits, stated_total_tokens: nw.Expr, total_tokens: nw.Expr) -> nw.Expr:
    return stated_total_tokens != total_tokens


def _attempt_zero(_limits: FindingLimits, attempt: nw.Expr) -> nw.Expr:
    return attempt == 0


def _weak_check(_limits: FindingLimits, weak_check: nw.Expr, pass_rate: nw.Expr) -> nw.Expr:
    return weak_check & ~pass_rate.is_null()


def _weak_timing(_limits: FindingLimits, weak_timing: nw.Expr) -> nw.Expr:
    return weak_timing


def _flagged(_limits: FindingLimits, flag_count: nw.Expr) -> nw.Expr:
    return flag_count > 0


_PLACE = ("id", "_path", "_line")
"""Columns that identify the run: its id, or the line in a flat file without ids."""

CHECKS: tuple[RunCheck, ...] = (
    RunCheck(
        "weak_check",
        "info",
        "the verdict comes from a command's exit status or report, which agent code run by the command can forge",
        ("weak_check", "pass_rate"),
        _weak_check,
    ),
    RunCheck(
        "weak_timing",
        "info",
        "the timings come from a command's report, which agent code run by the command can forge",
        ("weak_timing",),
        _weak_timing,
    ),
    RunCheck(
        "flagged",
        "warning",
        "the runner flagged the run: tests or CI configuration changed, network access attempted, or processes left",
        ("flag_count",),
        _flagged,
    ),
    RunCheck(
        "cost_lower_bound",
        "warning",
        "the cost is a lower bound: some tokens are not in the log, or their allocation to calls is unknown",
        ("cost_is_lower_bound", "cost_usd"),
        _cost_too_low,
    ),
    RunCheck(
        "tests_contradict_verdict",
        "warning",
        "the test results contradict the reported verdict; the test results are used",
        ("tests_run", "tests_not_passed", "passed"),
        _tests_against_verdict,
    ),
    RunCheck(
        "outcome_contradicts_verdict",
        "warning",
        "the outcome contradicts the reported verdict; the verdict is used",
        ("outcome", "passed"),
        _outcome_against_verdict,
    ),
    RunCheck(
        "judges_contradict_verdict",
        "warning",
        "the majority of the judges contradicts the tests or the reported verdict, which take precedence",
        ("judge_votes", "judge_passes", "pass_rate"),
        _judges_against_verdict,
    ),
    RunCheck(
        "score_contradicts_pass",
        "warning",
        "a judge voted pass despite a score below the pass threshold",
        ("judge_lowest_passing_score",),
        _pass_despite_low_score,
    ),
    RunCheck(
        "score_contradicts_fail",
        "warning",
        "a judge voted fail despite a score at or above the pass threshold",
        ("judge_highest_failing_score",),
        _fail_despite_high_score,
    ),
    RunCheck(
        "score_contradicts_verdict",
        "warning",
        "the run's reported score contradicts its verdict: below the pass threshold yet passed, or at or above it and "
        "failed; both are used as reported",
        ("pass_rate",),
        _score_against_verdict,
        optional=("score", "stated_impl_rate"),
    ),
    RunCheck(
        "judge_score_differs",
        "warning",
        "a judge's reported score differs from the score recomputed from its criteria; the reported score is used",
        ("judge_score_error",),
        _score_not_recomputed,
    ),
    RunCheck(
        "cost_differs",
        "warning",
        "the reported cost differs from the cost computed from prices; the reported cost is used",
        ("reported_cost_usd", "priced_cost_usd"),
        _cost_differs,
    ),
    RunCheck(
        "duration_differs",
        "warning",
        "the reported duration differs from end minus start; the reported duration is used",
        ("stated_duration_seconds", "elapsed_seconds"),
        _duration_differs,
    ),
    RunCheck(
        "test_listed_twice",
        "warning",
        "a test is listed in more than one of passed, failed and errors; it is counted in each",
        ("tests_listed_twice",),
        _test_in_two_lists,
    ),
    RunCheck(
        "calls_exceed_usage",
        "warning",
        "the calls contain more tokens than the run reports; token metrics use the counts of the run",
        ("tokens_beyond_usage",),
        _calls_beyond_usage,
    ),
    RunCheck(
        "usage_exceeds_calls",
        "info",
        "the run reports more tokens than its calls; the rest is priced with the run's model",
        ("tokens_outside_calls", "tokens_beyond_usage"),
        _usage_beyond_calls,
    ),
    RunCheck(
        "total_tokens_differ",
        "warning",
        "the reported token total contradicts the counts by kind; the counts by kind are used",
        ("stated_total_tokens", "total_tokens"),
        _total_differs,
    ),
    RunCheck(
        "attempt_zero",
        "info",
        "attempt numbers start at 1, but this run has attempt 0",
        ("attempt",),
        _attempt_zero,
    ),
)


def run_findings(engine: Engine) -> list[Finding]:
    """Every contradiction in the table, with all runs that show it: counted at once, listed on demand."""
    columns = {check.code: [engine.column(name) for name in check.needs] for check in CHECKS}
    known = [check for check in CHECKS if not any(isinstance(column, Missing) for column in columns[check.code])]
    others = {check.code: [engine.column(name) for name in check.optional] for check in known}
    known = [check for check in known if not check.optional or _some_known(others[check.code])]
    conditions = {
        check.code: check.holds(engine.profile.findings, *columns[check.code], *map(_or_null, others[check.code]))
        for check in known
    }
    counts = engine.tally([], counts=conditions).row(0, named=True) if engine.n else {}
    places = [name for name in _PLACE if name in engine.columns]
    findings: list[Finding] = []
    for check in known:
        if not (count := counts.get(check.code)):
            continue
        named = zip((*check.optional, *check.needs), (*others[check.code], *columns[check.code]), strict=True)
        shown_columns = {name: column for name, column in named if not isinstance(column, Missing)}
        stated = [column.alias(name) for name, column in shown_columns.items()]
        rows = engine.hits(conditions[check.code], [*_place(places), *stated])
        shown = _places(rows, count, [*places, *shown_columns])
        findings.append(Finding(code=check.code, severity=check.severity, message=check.message, places=shown))
    return findings


def _some_known(columns: Sequence[Value]) -> bool:
    return any(not isinstance(column, Missing) for column in columns)


def _or_null(column: Value) -> Value:
    return nw.lit(None, dtype=nw.Float64) if isinstance(column, Missing) else column


def _place(names: Sequence[str]) -> Iterator[nw.Expr]:
    """The columns of the place; file and line only where there is no id: of millions of runs they would fill memory."""
    for name in names:
        column = nw.col(name)
        yield column if name == "id" or "id" not in names else nw.when(nw.col("id").is_null()).then(column).alias(name)


def _places(rows: Rows, count: int, names: Sequence[str]) -> PlacesOnDemand:
    """The runs by id, else by file and line, each with the values that contradict each other."""

    def made(numbers: range) -> Iterator[Place]:
        for values in rows.between(numbers.start, numbers.stop):
            fields = dict(zip(names, values, strict=True))
            id_, path, line = (fields.pop(name, None) for name in _PLACE)
            stated = ", ".join(f"{name} {value}" for name, value in fields.items())
            where = f"run {id_}" if id_ is not None else None if path is None else f"{path}:{line}"
            yield Place(where=where, message=stated or None)

    return PlacesOnDemand(count, made)
