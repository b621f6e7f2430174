"""Check transcripts for leaked solutions and changed tests.

Each match is listed with its run, its step and a quote. Actions that the task itself asks for are listed as notes.
`clean_pass_rate` counts passed runs with a violation as not passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar, cast

import msgspec
from msgspec import structs

from steelyard import pages, statistics  # their names are imported on first use
from steelyard.errors import NoValidInputError, UsageError
from steelyard.formatting import counted, percent
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._figure_options import ConfidenceOptions, MeasureOptions, VerdictOptions
from steelyard.questions._measured_tables import usual_metrics
from steelyard.questions._options import RunFilterOptions
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import CustomFieldCheck, Measurable, RecordReader, Runs, is_table
from steelyard.questions.integrity._actions import agent_actions as agent_actions
from steelyard.questions.integrity._rules import (
    SEVERITIES,
    IntegrityRule as IntegrityRule,
    RuleExample as RuleExample,
    RuleSeverity as RuleSeverity,
    load_rules,
    shipped_rules as shipped_rules,
)
from steelyard.questions.integrity._run_check import RuleHit, RunCheck as RunCheck
from steelyard.questions.measure import Statistics, checked_keys, measure
from steelyard.records import (
    Finding,
    Missing,
    Place,
    Redaction,
    Rejected,
    Run,
    key_label,
    key_of,
    key_text,
    one_a_kind,
    set_aside_findings,
)
from steelyard.settings import named_path
from steelyard.sources import PlacedRun, transcript_of
from steelyard.statistics import Interval

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable

AnyOptions = TypeVar("AnyOptions", bound=RunFilterOptions)
MAX_MATCHES = 1_000
"""Matches in an answer; the others are counted."""
NO_TRANSCRIPT = "no run has a transcript that could be checked"
NO_VERDICT = "no checked run has a verdict"


class IntegrityOptions(VerdictOptions, ConfidenceOptions, RunFilterOptions):
    """Options of `integrity`."""

    by: Names = doc(
        "Comma-separated grouping keys: agent, model, tier, task, experiment or a custom field.",
        default=(),
    )
    rules: str | None = doc("TOML file with additional rules.", default=None, local=True)
    severity: RuleSeverity = doc("Lowest severity to list: violation, suspicious or note.", default="note")
    redact: bool = doc("Redact API keys and tokens.", default=True, local=True)

    def all_rules(self) -> tuple[IntegrityRule, ...]:
        """Return the built-in rules and those of the file, validated."""
        return (*shipped_rules(), *(() if self.rules is None else load_rules(named_path(self.rules))))


class RuleMatch(Part, frozen=True, kw_only=True):
    """An action of a run that a rule is about."""

    run: str
    step: int
    """Position of the step in the run, from 1."""
    rule: str
    severity: RuleSeverity
    """`note` if the task asks for it."""
    tool: str | None
    """Tool that was called."""
    quote: str
    """Line of the step, at most 200 characters."""
    at: str | None
    """Time in UTC."""
    where: str | None
    """File and line."""


class RuleCount(Part, frozen=True, kw_only=True):
    """One rule, with its matches."""

    rule: str
    severity: RuleSeverity
    title: str
    runs: int
    """Number of runs with a match that is not a note."""
    matches: int
    """Number of such steps."""
    notes: int
    """Number of steps that are notes."""


class IntegrityGroup(Part, frozen=True, kw_only=True):
    """Runs of one group."""

    key: dict[str, str | None]
    n: int
    """Number of runs."""
    checked: int
    """Number of runs whose whole transcript was read."""
    violations: int
    """Number of runs with a violation."""
    suspicious: int
    """Number of runs with something suspicious and no violation."""
    passed_with_violation: int
    """Number of passed runs with a violation."""
    pass_rate: Interval | None
    """Proportion of passed runs; None if no run has a verdict."""
    clean_pass_rate: Interval | None
    """The same over the checked runs, where a run with a violation has not passed."""
    reason: str | None
    """Reason for a missing `clean_pass_rate`."""


class IntegritySummary(Answer, frozen=True, kw_only=True):
    """Matches of the integrity rules, and pass rates without runs that break them."""

    rows: ClassVar[Rows] = Rows("matches")
    profile: str
    by: tuple[str, ...]
    unscored: str
    confidence: float
    severity: RuleSeverity
    """Lowest severity that is listed."""
    groups: tuple[IntegrityGroup, ...]
    """Ordered by key."""
    total: IntegrityGroup
    rules: tuple[RuleCount, ...]
    matches: tuple[RuleMatch, ...]
    """In the order of severity, runs and steps, at most 1,000."""
    match_count: int
    """Number of matches of the listed severities."""
    rejected_count: int
    findings: tuple[Finding, ...]

    @property
    def about(self) -> str:
        """Number of runs with violations among those checked."""
        total = self.total
        return f"violations in {total.violations:,} of {counted(total.checked, 'checked run')}"


@question(IntegrityOptions, examples=({"": "logs/"}, {"": "logs/", "by": "agent", "severity": "violation"}))
def integrity(runs: Runs, options: IntegrityOptions) -> IntegritySummary:
    """Check the steps of runs by the integrity rules.

    >>> import steelyard as sy
    >>> sy.integrity("logs/")  # doctest: +SKIP
    IntegritySummary(violations in 1 of 20 checked runs)
    """
    reader = RecordReader(options.reading())
    entries = list(reader.read(runs))
    findings = reader.finish()
    made = integrity_of(entries, options)
    return structs.replace(
        made,
        rejected_count=made.rejected_count + len(reader.set_aside),
        findings=one_a_kind((*findings, *made.findings)),
    )


def integrity_of(entries: Iterable[tuple[str, PlacedRun]], options: IntegrityOptions) -> IntegritySummary:
    """Return the matches in runs that were read."""
    keys = checked_keys(options.by)
    custom_fields = CustomFieldCheck(keys)
    redaction = Redaction() if options.redact else None
    rules, checks = options.all_rules(), list[_CheckedRun]()
    matches: dict[RuleSeverity, list[RuleMatch]] = {severity: [] for severity in SEVERITIES}
    counts: Counter[tuple[str, bool]] = Counter()
    run_counts: Counter[str] = Counter()
    listed = SEVERITIES[: SEVERITIES.index(options.severity) + 1]
    match_count = 0
    for id_, entry in entries:
        custom_fields.add(entry.run)
        checked = _check(id_, entry, rules)
        checks.append(msgspec.structs.replace(checked, hits=()))
        run_counts.update({hit.rule.id for hit in checked.hits if hit.severity != "note"})
        for hit in checked.hits:
            counts[hit.rule.id, hit.severity == "note"] += 1
            if hit.severity in listed:
                match_count += 1
                if len(matches[hit.severity]) < MAX_MATCHES:
                    matches[hit.severity].append(_match(id_, hit, redaction))
    custom_fields.check()
    ordered = [match for severity in SEVERITIES for match in matches[severity]][:MAX_MATCHES]
    unread = [line for checked in checks for line in checked.rejected]
    findings = [*set_aside_findings(unread), *_unchecked_findings(checks)]
    if match_count > len(ordered):
        message = f"the first {len(ordered):,} of {match_count:,} matches are listed"
        findings.append(Finding(code="more_matches", severity="info", message=message))
    total, groups = _groups(checks, keys, options)
    profile = options.outcome_profile()
    return IntegritySummary(
        profile=profile.name,
        by=tuple(keys),
        unscored=profile.unscored,
        confidence=options.confidence,
        severity=options.severity,
        groups=groups,
        total=total,
        rules=tuple(
            RuleCount(
                rule=rule.id,
                severity=rule.severity,
                title=rule.title,
                runs=run_counts[rule.id],
                matches=counts[rule.id, False],
                notes=counts[rule.id, True],
            )
            for rule in rules
        ),
        matches=tuple(ordered),
        match_count=match_count,
        rejected_count=len(unread),
        findings=one_a_kind(findings),
    )


class _CheckedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run with the hits in its transcript."""

    run: Run
    hits: tuple[RuleHit, ...] = ()
    worst: RuleSeverity | None = None
    unchecked: str | None = None
    """Why the absence of hits says nothing."""
    rejected: tuple[Rejected, ...] = ()

    @property
    def is_violation(self) -> bool:
        return self.worst == "violation"

    @property
    def violated(self) -> list[str]:
        """The rules of its violations."""
        return sorted({hit.rule.id for hit in self.hits if hit.severity == "violation"})

    @property
    def is_checked(self) -> bool:
        """Whether it is known if the run has a violation."""
        return self.unchecked is None or self.is_violation


def _check(id_: str, entry: PlacedRun, rules: Sequence[IntegrityRule]) -> _CheckedRun:
    """Check the transcript of a run."""
    run = entry.run if entry.run.id is not None else structs.replace(entry.run, id=id_)
    transcript = transcript_of(entry, None)
    if isinstance(transcript, Missing):
        return _CheckedRun(run=run, unchecked=transcript.reason)
    check, count = RunCheck(rules), 0
    for step in transcript:
        count += 1
        check.add(step)
    hits = check.hits()
    worst = min((hit.severity for hit in hits), key=SEVERITIES.index, default=None)
    unchecked = None
    if transcript.rejected:
        unchecked = "a part of the transcript could not be read"
    elif not count:
        unchecked = "the transcript has no steps"
    return _CheckedRun(run=run, hits=tuple(hits), worst=worst, unchecked=unchecked, rejected=tuple(transcript.rejected))


def _match(id_: str, hit: RuleHit, redaction: Redaction | None) -> RuleMatch:
    def plain(text: str | None) -> str | None:
        return text if text is None or redaction is None else redaction.text(text)

    return RuleMatch(
        run=plain(id_) or id_,
        step=hit.step,
        rule=hit.rule.id,
        severity=hit.severity,
        tool=plain(hit.tool),
        quote=plain(hit.quote) or "",
        at=None if hit.at is None else hit.at.isoformat(),
        where=plain(hit.where),
    )


def _unchecked_findings(checks: Iterable[_CheckedRun]) -> list[Finding]:
    """Return one finding about the runs that could not be checked, by reason."""
    reasons = Counter(checked.unchecked for checked in checks if checked.unchecked is not None)
    return [
        Finding(code="unchecked", message=f"{counted(count, 'run')} unchecked: {reason}")
        for reason, count in sorted(reasons.items())
    ]


def _groups(
    checks: Sequence[_CheckedRun], keys: Sequence[str], options: IntegrityOptions
) -> tuple[IntegrityGroup, tuple[IntegrityGroup, ...]]:
    """Return all runs as one group, and the groups of the keys."""
    stated = [checked.run for checked in checks]
    clean = [clean_run(checked.run, is_violation=checked.is_violation) for checked in checks if checked.is_checked]

    def rates(by: Sequence[str]) -> tuple[dict[tuple[str, ...], Interval], dict[tuple[str, ...], Interval]]:
        return _pass_rates(stated, by, options), _pass_rates(clean, by, options)

    def group(
        key: tuple[str | None, ...],
        members: Sequence[_CheckedRun],
        by: Sequence[str],
        figures: tuple[dict[tuple[str, ...], Interval], ...],
    ) -> IntegrityGroup:
        place = tuple(map(str, key))
        kinds = Counter("violation" if each.is_violation else each.worst for each in members)
        checked = sum(each.is_checked for each in members)
        clean_rate = figures[1].get(place)
        reason = None if clean_rate is not None else NO_VERDICT if checked else NO_TRANSCRIPT
        return IntegrityGroup(
            key=dict(zip(by, key, strict=True)),
            n=len(members),
            checked=checked,
            violations=kinds["violation"],
            suspicious=kinds["suspicious"],
            passed_with_violation=sum(each.is_violation and each.run.verdict is True for each in members),
            pass_rate=figures[0].get(place),
            clean_pass_rate=clean_rate,
            reason=reason,
        )

    total = group((), checks, (), rates(()))
    if not keys:
        return total, (total,)
    members: dict[tuple[str | None, ...], list[_CheckedRun]] = {}
    for checked in checks:
        members.setdefault(tuple(key_of(checked.run, name) for name in keys), []).append(checked)
    ordered = sorted(members.items(), key=lambda item: [(value is None, value or "") for value in item[0]])
    figures = rates(keys)
    return total, tuple(group(key, each, keys, figures) for key, each in ordered)


def _pass_rates(runs: Sequence[Run], by: Sequence[str], options: IntegrityOptions) -> dict[tuple[str, ...], Interval]:
    """Return the pass rate of each group that has one, by its key."""
    statistics.check_level(options.confidence)
    if not any(run.verdict is not None for run in runs) and options.unscored != "fail":
        return {}
    measured = measure(
        runs,
        options=MeasureOptions(
            by=tuple(by),
            metrics=("pass_rate",),
            interval="auto",
            confidence=options.confidence,
            profile=options.profile,
            unscored=options.unscored,
        ),
    )
    found = {}
    for group in measured.groups:
        rate = group.metrics["pass_rate"]
        if isinstance(rate, Statistics) and "mean" in rate.intervals:
            found[tuple(str(group.key[name]) for name in by)] = rate.intervals["mean"]
    return found


def clean_run(run: Run, *, is_violation: bool) -> Run:
    """Return the run; if it passed with a violation, it has not passed, whatever tests and judges say.

    >>> from steelyard.records import Run
    >>> clean_run(Run(task="t", passed=True), is_violation=True).verdict
    False
    """
    return _with_verdict(run, passed=False) if is_violation and run.verdict else run


def _with_verdict(run: Run, *, passed: bool | None) -> Run:
    """Return the run with this verdict, without results that say otherwise."""
    judgments = None if run.judgments is None else tuple(structs.replace(each, passed=None) for each in run.judgments)
    outcome: Literal["failed", "not_scored"] = "failed" if passed is False else "not_scored"
    return structs.replace(run, passed=passed, outcome=outcome, tests=None, judgments=judgments)


class CleanRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Runs with their clean verdicts."""

    runs: list[Run] = []  # msgspec copies it
    findings: tuple[Finding, ...] = ()
    """Findings of reading, and what runs are counted as."""
    rejected_count: int = 0
    prices: str | None = None
    """Price table of a run table."""

    def options_of(self, options: AnyOptions) -> AnyOptions:
        """Return options for the runs, which are chosen and labeled already."""
        prices = {} if self.prices is None else {"prices": self.prices}
        return options.replace(where=(), since=None, until=None, set=(), map=None, **prices)


def clean_runs(runs: Measurable, options: RunFilterOptions) -> CleanRuns:
    """Return the chosen runs with their clean verdicts.

    A run with a violation has not passed. One that could not be checked has no verdict: unknown is not clean.
    """
    if usual_metrics(runs) or isinstance(runs, Answer):
        raise UsageError(f"{option('clean')} needs runs with transcripts", hint="pass the logs of the runs")
    given = cast("Runs", runs)
    reader = RecordReader(options.reading())
    checks = [_check(id_, entry, shipped_rules()) for id_, entry in reader.read(given)]
    findings = reader.finish()
    unread = [line for checked in checks for line in checked.rejected]
    failed = [checked for checked in checks if checked.is_violation and checked.run.verdict]
    unchecked = sum(not checked.is_checked for checked in checks)
    if unchecked == len(checks):
        raise NoValidInputError(NO_TRANSCRIPT, hint="pass the logs of the runs")
    findings += set_aside_findings(unread)
    if failed:
        counts = "counts" if len(failed) == 1 else "count"
        message = f"{counted(len(failed), 'passed run')} with an integrity violation {counts} as not passed"
        places = tuple(Place(where=each.run.id, message=", ".join(each.violated)) for each in failed)
        findings.append(Finding(code="clean_failed", message=message, places=places))
    if unchecked:
        has = "has" if unchecked == 1 else "have"
        message = f"{unchecked:,} of {counted(len(checks), 'run')} could not be checked and {has} no clean verdict"
        findings.append(Finding(code="clean_unchecked", message=message))
    return CleanRuns(
        runs=[
            clean_run(each.run, is_violation=each.is_violation)
            if each.is_checked
            else _with_verdict(each.run, passed=None)
            for each in checks
        ],
        findings=tuple(findings),
        rejected_count=len(reader.set_aside) + len(unread),
        prices=given.source.prices if is_table(given) and given.source is not None else None,
    )


def page(answer: IntegritySummary) -> Page:
    """Return the pass rates per group, then the matches, then the rules."""
    total = answer.total
    sentence = f"{answer.about[:1].upper()}{answer.about[1:]}."
    if total.pass_rate is not None and total.clean_pass_rate is not None:
        clean, stated = total.clean_pass_rate, total.pass_rate
        sentence += f" Clean pass rate {_rate_text(clean)} of {counted(clean.n, 'run')}"
        sentence += f", pass rate {_rate_text(stated)} of {stated.n:,}."
    also = [*([_matches_table(answer)] if answer.matches else []), _rules_table(answer)]
    return pages.Page(
        name="integrity",
        title="Did runs use leaked solutions, change tests or game checks?",
        answer=sentence,
        notes=(f"{counted(total.n - total.checked, 'run')} could not be checked.",) if total.checked < total.n else (),
        table=_groups_table(answer),
        also=(*also, *pages.folded_findings(answer.findings, rejected=answer.rejected_count)),
        facts=(
            ("profile", answer.profile),
            ("runs without a verdict", answer.unscored),
            (
                "interval method",
                pages.methods_of([each.clean_pass_rate or each.pass_rate for each in answer.groups if each.pass_rate]),
            ),
        ),
    )


def _rate_text(rate: Interval) -> str:
    return "unknown" if rate.estimate is None else percent(rate.estimate)


def _groups_table(answer: IntegritySummary) -> PageTable:
    groups = answer.groups
    columns = [pages.text_column(key, key, [key_text(group.key[key]) for group in groups]) for key in answer.by]
    for name, title in (("pass_rate", "pass rate"), ("clean_pass_rate", "clean pass rate")):
        rates = [getattr(group, name) for group in groups]
        columns.append(pages.level_column(name, title, [rate and rate.estimate for rate in rates], "fraction"))
        if any(rate is not None for rate in rates):
            shown = [rate if rate is not None else _NO_INTERVAL for rate in rates]
            interval = pages.interval_column(
                f"{name}_interval", f"{percent(answer.confidence, decimals=0)} CI", shown, "fraction"
            )
            columns.append(replace(interval, spare=1))
    for name in ("n", "checked", "violations", "suspicious", "passed_with_violation"):
        column = pages.count_column(
            name, {"n": "runs"}.get(name, name.replace("_", " ")), [getattr(each, name) for each in groups]
        )
        columns.append(replace(column, spare=2) if name == "passed_with_violation" else column)
    return pages.PageTable(caption="Runs by integrity", columns=tuple(columns))


_NO_INTERVAL = Interval(estimate=None, low=None, high=None, method="none", n=0, clusters=0, confidence=0.95)


def _matches_table(answer: IntegritySummary) -> PageTable:
    matches = answer.matches
    where = pages.text_column("where", "line", [each.where for each in matches])
    tool = pages.text_column("tool", "tool", [each.tool for each in matches])
    return pages.PageTable(
        name="matches",
        caption=counted(len(matches), "match", "matches"),
        columns=(
            pages.text_column("severity", "severity", [each.severity for each in matches]),
            pages.text_column("rule", "rule", [each.rule for each in matches]),
            pages.id_column("run", "run", "runs", [each.run for each in matches]),
            pages.count_column("step", "step", [each.step for each in matches]),
            replace(tool, spare=2),
            pages.text_column("quote", "quote", [each.quote for each in matches]),
            replace(where, spare=1),
        ),
    )


def _rules_table(answer: IntegritySummary) -> PageTable:
    rules = answer.rules
    return pages.PageTable(
        name="rules",
        caption=counted(len(rules), "rule"),
        columns=(
            pages.text_column("rule", "rule", [each.rule for each in rules]),
            pages.text_column("severity", "severity", [each.severity for each in rules]),
            replace(pages.text_column("title", "the run", [each.title for each in rules]), spare=1),
            *(
                pages.count_column(name, name, [getattr(each, name) for each in rules])
                for name in ("runs", "matches", "notes")
            ),
        ),
        is_folded=True,
    )
