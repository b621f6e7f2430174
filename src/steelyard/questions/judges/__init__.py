"""Measure inter-rater agreement and judge severity.

Also reports inconsistent scores and votes, and whether scores differ between groups. With gold labels
(human verdicts), reports the judges' sensitivity and specificity, and corrects the judged pass rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from steelyard import pages, statistics  # names of `pages` are imported on first use
from steelyard.errors import NoValidInputError
from steelyard.formatting import (
    counted,
    decimal,
    decimal_bounds,
    exact_percent,
    interval_name,
    p_value,
    p_value_cell,
    percent,
)
from steelyard.questions._figure_options import ConfidenceOptions, ProfileOptions
from steelyard.questions._group_keys import keys_with_scheme
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import CustomFieldCheck, RecordReader, Runs
from steelyard.questions.judges._answer import (
    Agreement as Agreement,
    JudgePair as JudgePair,
    JudgeRecord as JudgeRecord,
    Judges as Judges,
    ScoreRange as ScoreRange,
)
from steelyard.questions.measure import checked_keys
from steelyard.records import Judgment, Run, key_of

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable
    from steelyard.questions.judges._examination import Rating
    from steelyard.statistics import Interval

TERMINAL_ROWS = 30
"""Tasks that a terminal shows."""
LEVELS = ((0.8, "good"), (0.667, "moderate (tentative conclusions only)"), (0.0, "too low to be reliable"))
"""Interpretation of alpha (Krippendorff 2004): from 0.8 reliable, from 0.667 tentative."""


class JudgesOptions(ProfileOptions, ConfidenceOptions, RunFilterOptions):
    """Options of `judges`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, experiment or a custom field.",
        default=("agent", "model"),
    )
    gold: Path | None = doc(
        "Gold labels: a CSV file with the columns run (run id) and passed (yes or no).", default=None, local=True
    )
    gold_source: Literal["sample", "other"] = doc(
        "Source of the gold labels: a random sample of these runs (sample), or other runs (other; the file then has "
        "the columns run, judge, judged and passed).",
        default="sample",
        local=True,
    )


@question(
    JudgesOptions,
    all_parts="Show every task, and pass rates by score.",
    examples=({"by": "tier"}, {"gold": "labels.csv"}),
)
def judges(runs: Runs, options: JudgesOptions) -> Judges:
    """Measure inter-rater agreement, judge severity, the consistency of scores and votes, and accuracy.

    `gold` is a CSV file with human verdicts. The judged pass rate is corrected by PPI++ if the labels are a random
    sample of these runs, and by Rogan and Gladen's method if they are of other runs.

    >>> import steelyard as sy
    >>> sy.judges(sy.demo_runs())
    Judges(3 judges of 1,400 runs, alpha 0.987)
    """
    from steelyard.questions.judges._examination import JudgedRun, examine  # brings numpy and scipy

    statistics.check_level(options.confidence)
    profile, by = options.outcome_profile(), checked_keys(options.by)
    labels = None
    if options.gold is not None:
        from steelyard.questions.judges._gold import add_gold, read_labels  # brings numpy and scipy

        labels = read_labels(options.gold, options.gold_source)
    reader = RecordReader(options.reading())
    schemes: set[str] = set()
    judged_runs = []
    custom_fields = CustomFieldCheck(by)
    for id_, entry in reader.read(runs):
        run = entry.run
        custom_fields.add(run)
        if run.judgments:
            schemes |= {run.tier_scheme} if run.tier is not None else set()
            judged_runs.append(JudgedRun(id_, run.task, _group(run, by), _ratings(run.judgments), _verdict(run)))
    custom_fields.check()
    keys, (by, _, scheme_findings) = by, keys_with_scheme(by, sorted(schemes))
    findings = [*reader.finish(), *scheme_findings]
    if not judged_runs:
        raise NoValidInputError(f"no judgments in {counted(reader.read_count, 'run')}")
    answer = examine(
        judged_runs,
        by=by,
        threshold=profile.findings.judge_pass_threshold,
        tolerance=profile.findings.judge_score_tolerance,
        profile=profile.name,
        level=options.confidence,
        findings=findings,
        rejected_count=len(reader.set_aside),
    )
    return answer if labels is None else add_gold(answer, labels, judged_runs, options.gold_source, keys)


def _group(run: Run, by: Sequence[str]) -> tuple[str | None, ...]:
    """The run's values of the keys; T2 of another scheme is another tier."""
    scheme = run.tier_scheme if run.tier is not None and "tier" in by else None
    return (*(key_of(run, key) for key in by), scheme)


def _verdict(run: Run) -> bool | None:
    """Return whether the run passed by tests or by its record, ignoring judges' votes."""
    is_known = run.stated_pass is not None or (run.tests is not None and run.tests.total)
    return run.verdict if is_known else None


def _ratings(judgments: Sequence[Judgment]) -> tuple[Rating, ...]:
    """The judgments with a name for each judge; a judge who judged a run twice counts as two."""
    from steelyard.questions.judges._examination import Rating  # brings numpy and scipy

    seen: Counter[str] = Counter()
    ratings = []
    for judgment in judgments:
        name = judgment.judge or "unnamed"
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} #{seen[name]}"
        ratings.append(
            Rating(label, judgment.score, judgment.weighted_score, judgment.recomputed_score, judgment.passed)
        )
    return tuple(ratings)


def page(answer: Judges) -> Page:
    """Return the judges, their pairs, group differences and agreement by task."""
    sentence, *notes = _sentences(answer)
    tables = [
        _judges_table(answer),
        *_gold_tables(answer),
        *_pairs_table(answer),
        *_groups_table(answer),
        _tasks_table(answer),
    ]
    made = pages.Page(
        name="judges",
        title="Can I trust the judges?",
        answer=sentence,
        notes=tuple(notes),
        table=tables[0],
        also=(*tables[1:], *_calibration_table(answer)),
        facts=(
            ("agreement", "Krippendorff's alpha of the scores, interval scale"),
            ("runs", f"{answer.runs:,} judged, {answer.overall.runs:,} by at least two judges"),
            ("pass threshold", f"{answer.pass_threshold:g}"),
            ("score tolerance", f"{answer.score_tolerance:g}"),
            ("confidence level", exact_percent(answer.confidence)),
            ("profile", answer.profile),
        ),
    )
    return pages.with_figures(made, answer, ("severity", "reliability"))


def _sentences(answer: Judges) -> Iterator[str]:
    yield _agreement_sentence(answer)
    if answer.gold_source is not None:
        yield from _gold_sentences(answer)
    for name, judge in answer.judges.items():
        severity = judge.severity
        if severity.estimate is not None and severity.excludes(0.0):
            kind, side = ("strict", "below") if severity.estimate < 0 else ("lenient", "above")
            yield (
                f"{name} is {kind}: {abs(severity.estimate):.3f} {side} the other judges on the same runs"
                f" ({interval_name(severity.confidence)} {_bounds(severity)})."
            )
    for name, judge in answer.judges.items():
        if judge.differing:
            yield (
                f"{name}: the reported score differs from the recomputed score by more than "
                f"{answer.score_tolerance:g} in {judge.differing:,} of {judge.checked:,} judgments "
                f"(mean difference {judge.mean_error:+.3f})."
            )
    contradictions = sum(judge.contradictions for judge in answer.judges.values())
    if contradictions:
        votes = "1 vote contradicts" if contradictions == 1 else f"{contradictions:,} votes contradict"
        yield f"{votes} the judge's own score (pass threshold {answer.pass_threshold:g})."
    test = answer.kruskal_wallis
    if test.p_value is not None:
        differ = "differ" if test.p_value < 1 - answer.confidence else "do not differ significantly"
        yield (
            f"Mean scores {differ} between the {test.groups:,} groups by {', '.join(answer.by)} (Kruskal-Wallis "
            f"H = {test.h:.3f}, df = {test.df}, {p_value(test.p_value)}; assumes independent runs)."
        )


def _agreement_sentence(answer: Judges) -> str:
    alpha, count = answer.overall.alpha_scores, len(answer.judges)
    if count < 2:
        return f"Inter-rater agreement is unknown: only one judge ({next(iter(answer.judges))})."
    if alpha.estimate is None:
        return f"Inter-rater agreement of {count} judges is unknown: {alpha.reason}."
    level = next((words for least, words in LEVELS if alpha.estimate >= least), "worse than chance")
    bounds = f"{interval_name(alpha.confidence)} {_bounds(alpha)}" if alpha.known else f"no CI: {alpha.reason}"
    runs = counted(answer.overall.runs, "run")
    return f"Inter-rater agreement of {count} judges is {level}: alpha = {alpha.estimate:.3f} on {runs} ({bounds})."


def _gold_sentences(answer: Judges) -> Iterator[str]:
    for name, judge in answer.judges.items():
        accuracy = judge.accuracy
        if accuracy is not None and accuracy.labels:
            parts = [f"agrees with {_percentage(accuracy.agreement)} of {counted(accuracy.labels, 'gold label')}"]
            for word, part in (("sensitivity", accuracy.sensitivity), ("specificity", accuracy.specificity)):
                parts.append(f"{word} {_percentage(part)}")
            yield f"{name} {'; '.join(parts)}."
    if len(answer.pass_rates) == 1:
        (rate,) = answer.pass_rates
        found = rate.corrected
        judged = pages.DASH if rate.judged_rate is None else percent(rate.judged_rate)
        if found.estimate is None:
            yield f"Judged pass rate {judged}; no correction: {found.reason}."
        else:
            bounds = pages.range_text(found.low, found.high, "fraction", rate.label or "")
            yield (
                f"Judged pass rate {judged}; corrected with {counted(rate.labels, 'gold label')}: "
                f"{percent(found.estimate)} ({interval_name(found.confidence)} {bounds})."
            )


def _percentage(interval: Interval) -> str:
    return pages.DASH if interval.estimate is None else percent(interval.estimate)


def _gold_tables(answer: Judges) -> Iterator[PageTable]:
    judged = {name: judge.accuracy for name, judge in answer.judges.items() if judge.accuracy is not None}
    if judged:
        columns = [pages.text_column("judge", "judge", list(judged))]
        columns.append(_counts("labels", "labels", [each.labels for each in judged.values()]))
        for name in ("sensitivity", "specificity", "agreement"):
            found = [getattr(each, name) for each in judged.values()]
            columns.append(pages.level_column(name, name, [each.estimate for each in found], "fraction"))
            columns.append(
                replace(
                    pages.interval_column(f"{name}_interval", interval_name(answer.confidence), found, "fraction"),
                    spare=2,
                )
            )
        columns.append(_numbers("kappa", "kappa", [each.kappa for each in judged.values()], spare=1))
        yield pages.PageTable(caption="Agreement with gold labels", columns=tuple(columns), name="accuracy")
    rates = answer.pass_rates
    if rates:
        corrected = [rate.corrected for rate in rates]
        columns = [
            *pages.key_columns(answer.by, [rate.keys for rate in rates], None),
            pages.level_column("judged_rate", "judged", [rate.judged_rate for rate in rates], "fraction"),
            pages.level_column("corrected", "corrected", [each.estimate for each in corrected], "fraction"),
            pages.interval_column("interval", interval_name(answer.confidence), corrected, "fraction"),
            _counts("runs", "runs", [each.n for each in corrected], spare=1),
            _counts("labels", "labels", [rate.labels for rate in rates], spare=1),
            _numbers("tuning", "weight of judges", [rate.tuning for rate in rates], spare=3),
            pages.text_column("label", "caution", [rate.label for rate in rates]),
            *pages.reason_columns([each.reason for each in corrected]),
        ]
        method = "PPI++" if answer.gold_source == "sample" else "Rogan-Gladen"
        caption = f"Judged pass rate, corrected with gold labels ({method})"
        yield pages.PageTable(caption=caption, columns=tuple(columns), name="pass-rates")


def _judges_table(answer: Judges) -> PageTable:
    records = list(answer.judges.values())
    severities = [record.severity for record in records]
    differing = [record.differing if record.checked else None for record in records]
    checked = [f"{record.differing:,} of {record.checked:,}" if record.checked else pages.DASH for record in records]
    return pages.PageTable(
        caption=f"{counted(len(records), 'judge')} of {counted(answer.runs, 'run')}",
        columns=(
            pages.text_column("judge", "judge", list(answer.judges)),
            _counts("runs", "runs", [record.runs for record in records], spare=2),
            _numbers("mean_score", "mean score", [record.mean_score for record in records]),
            _numbers("severity", "severity", [each.estimate for each in severities], signed=True),
            _intervals("interval", answer, severities, spare=1),
            _numbers(
                "mean_error", "stated - recomputed", [record.mean_error for record in records], signed=True, spare=4
            ),
            _counts("differing", "differing", differing, texts=checked, spare=3),
            _counts("contradictions", "contradictions", [record.contradictions for record in records], spare=3),
        ),
    )


def _pairs_table(answer: Judges) -> Iterator[PageTable]:
    pairs = answer.pairs
    if pairs:
        columns = (
            pages.text_column("judges", "judges", [f"{pair.judge}, {pair.other_judge}" for pair in pairs]),
            _numbers("cohens_kappa", "kappa", [pair.cohens_kappa for pair in pairs]),
            _shares("runs_voted", "runs voted on", [pair.runs_voted for pair in pairs], answer.runs, spare=1),
            _numbers("spearman", "Spearman's rho", [pair.spearman for pair in pairs]),
            _numbers("kendall_tau_b", "Kendall's tau-b", [pair.kendall_tau_b for pair in pairs], spare=2),
            _shares("runs_scored", "runs scored", [pair.runs_scored for pair in pairs], answer.runs, spare=1),
            *pages.reason_columns([pair.reason for pair in pairs]),
        )
        caption = "Pairs of judges: Cohen's kappa of votes, rank correlation of scores"
        yield pages.PageTable(caption=caption, columns=columns, name="pairs")


def _groups_table(answer: Judges) -> Iterator[PageTable]:
    if answer.kruskal_wallis.groups > 1:
        tests = [*(record.kruskal_wallis for record in answer.judges.values()), answer.kruskal_wallis]
        p_values = [test.p_value for test in tests]
        columns = (
            pages.text_column("judge", "judge", [*answer.judges, "mean of all"]),
            _counts("groups", "groups", [test.groups for test in tests]),
            _numbers("h", "H", [test.h for test in tests]),
            _counts("df", "df", [test.df for test in tests]),
            pages.Column(
                name="p_value", title="p", values=p_values, decimals=6, texts=[p_value_cell(each) for each in p_values]
            ),
            _shares("n", "runs", [test.n for test in tests], answer.runs),
            *pages.reason_columns([test.reason for test in tests]),
        )
        caption = f"Do scores differ by {', '.join(answer.by)}? Kruskal-Wallis, corrected for ties"
        yield pages.PageTable(caption=caption, columns=columns, name="groups")


def _tasks_table(answer: Judges) -> PageTable:
    rows = [*answer.tasks.values(), answer.overall]
    columns = [
        pages.text_column("task", "task", [*answer.tasks, "all"]),
        _counts("runs", "runs", [row.runs for row in rows], spare=1),
        _numbers("alpha_scores", "alpha of scores", [row.alpha_scores.estimate for row in rows]),
        _intervals("interval", answer, [row.alpha_scores for row in rows]),
        _numbers("alpha_votes", "alpha of votes", [row.alpha_votes.estimate for row in rows], spare=2),
        _numbers("fleiss_kappa", "Fleiss' kappa", [row.fleiss_kappa for row in rows], spare=3),
        _counts(
            "split_votes",
            "split votes",
            [row.split_votes for row in rows],
            texts=[f"{row.split_votes:,} of {row.voted:,}" for row in rows],
            spare=4,
        ),
    ]
    return pages.PageTable(
        caption="Agreement by task",
        columns=tuple(_with_foot(column) for column in columns),
        name="tasks",
        terminal_rows=TERMINAL_ROWS,
    )


def _with_foot(column: Column) -> Column:
    """Return the column with its last row as the foot, which is not sorted with the others."""
    last = len(column.values) - 1
    return replace(column.part(range(last)), foot=column.shown(last))


def _calibration_table(answer: Judges) -> Iterator[PageTable]:
    ranges = answer.calibration
    if ranges:
        rates = [each.pass_rate for each in ranges]
        columns = (
            pages.number_column("low", "score from", [each.low for each in ranges], places=1),
            pages.number_column("high", "to", [each.high for each in ranges], places=1),
            _numbers("mean_score", "mean score", [each.mean_score for each in ranges]),
            pages.level_column("pass_rate", "pass rate", [rate.estimate for rate in rates], "fraction"),
            pages.interval_column("interval", interval_name(answer.confidence), rates, "fraction"),
            _counts("n", "runs", [rate.n for rate in rates]),
        )
        yield pages.PageTable(caption="Pass rate by mean score", columns=columns, name="calibration", is_folded=True)


def _counts(
    name: str, title: str, values: Sequence[int | None], *, texts: Sequence[str] | None = None, spare: int = 0
) -> Column:
    return replace(pages.count_column(name, title, values), texts=texts, spare=spare)


def _shares(name: str, title: str, values: Sequence[int], of: int, *, spare: int = 0) -> Column:
    return _counts(name, title, values, texts=[f"{value:,} of {of:,}" for value in values], spare=spare)


def _numbers(name: str, title: str, values: Sequence[float | None], *, signed: bool = False, spare: int = 0) -> Column:
    texts = [decimal(value, decimals=3, signed=signed) for value in values]
    return pages.Column(name=name, title=title, values=values, decimals=6, texts=texts, spare=spare)


def _intervals(name: str, answer: Judges, intervals: Sequence[Interval], *, spare: int = 0) -> Column:
    return pages.Column(
        name=name,
        title=interval_name(answer.confidence),
        values=[each.low for each in intervals],
        decimals=6,
        texts=[_bounds(each) for each in intervals],
        spare=spare,
    )


def _bounds(interval: Interval) -> str:
    return decimal_bounds(interval.low, interval.high, decimals=3)
