"""Check results against thresholds or a baseline (for CI).

Exit status: 0 pass, 3 fail, 4 inconclusive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from steelyard import pages, sources  # names of `pages` are imported on first use
from steelyard.errors import UsageError
from steelyard.formatting import (
    at_least,
    counted,
    difference_text,
    exact_percent,
    interval_name,
    percent,
    quantity,
    ratio_bounds,
    ratio_text,
)
from steelyard.metrics import catalog
from steelyard.option_names import option
from steelyard.questions import analysis
from steelyard.questions._expected_tasks import TasksOptions, expected_of_all
from steelyard.questions._figure_options import ConditionOptions, DifferenceOptions, EngineOptions, VerdictOptions
from steelyard.questions._group_keys import compared_schemes
from steelyard.questions._measured_tables import open_table, other_basis
from steelyard.questions._question import Texts, doc, question
from steelyard.questions._run_input import Measurable
from steelyard.questions._sides import BASELINE, CANDIDATE, checked_sides, input_count
from steelyard.questions.compare import skews, table_findings
from steelyard.questions.gate._answer import EXIT, EXIT_IF_INCONCLUSIVE, Gate as Gate, RuleResult as RuleResult
from steelyard.records import Finding, RunChoice, Selection, conditions_of, one_a_kind

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, Style
    from steelyard.profiles import Profile
    from steelyard.questions.analysis import Mask, Samples
    from steelyard.questions.gate._rules import Rule, RuleCheck
    from steelyard.sources import RunTable

NAMED_TASKS = 3
"""Number of tasks that a warning names."""
WORDS = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}
STYLES: dict[str, Style] = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


class GateOptions(VerdictOptions, DifferenceOptions, TasksOptions, ConditionOptions, EngineOptions):
    """Options of `gate`."""

    rule: Texts = doc('Threshold, e.g. "pass_rate >= 0.45" or "cost_usd <= baseline * 1.1"; repeatable.')
    baseline: Measurable | None = doc(
        "Run records of the baseline, or agent=NAME,model=NAME; repeatable (default: the first of two inputs, if a "
        "rule refers to the baseline).",
        default=None,
        short="-a",
        local=True,
    )
    candidate: Selection | None = doc("Runs to check, e.g. agent=NAME (default: all).", default=None, short="-b")
    inconclusive: Literal["pass", "fail", "report"] = doc(
        "Result of an inconclusive gate: pass (exit 0), fail (exit 3) or report (exit 4).",
        default="report",
    )


@question(
    GateOptions,
    appends_summary=True,
    examples=({"": "new.jsonl", "baseline": "main.jsonl", "rule": "pass_rate >= baseline - 0.02"},),
)
def gate(runs: Measurable, options: GateOptions) -> Gate:
    """Check runs against rules: thresholds, or limits relative to a baseline.

    `pass_rate >= 0.45` is a threshold. `pass_rate >= baseline - 0.02` allows a loss of 2 pp and
    `cost_usd <= baseline * 1.1` an increase of 10%, on the tasks that both sides attempted. A rule passes if its whole
    confidence interval satisfies it, fails if the whole interval violates it, and is inconclusive otherwise. `where`,
    `since` and `until` select runs of both sides.

    >>> import steelyard as sy
    >>> checked = sy.gate(sy.demo_runs(), rule="pass_rate >= 0.3")
    >>> checked.status, checked.exit_code
    ('pass', 0)
    """
    from steelyard.questions.gate._rules import check  # brings numpy and scipy

    rules = _read_rules(options)
    profile, judging = options.outcome_profile(), options.statistics(options.interval)
    metrics = analysis.comparable([rule.metric for rule in rules], geometric=True)
    choice = options.choice()
    inputs = checked_sides(runs, options.baseline, options.candidate, is_relative=any(rule.relative for rule in rules))
    _check_baseline(rules, is_given=BASELINE in inputs)
    tables = {name: _table(given, chosen, metrics, options, name) for name, (given, chosen) in inputs.items()}
    tables = expected_of_all(tables, options.tasks)
    chosen = {condition.key: condition.value for condition in choice.conditions if condition.equal}
    compared_schemes((chosen, table.tier_schemes() if "tier" in chosen else []) for table in tables.values())
    sides = [_side(table, metrics, options, profile=profile, name=name) for name, table in tables.items()]
    samples, otherwise, from_new = _joined(sides)
    tried = samples.attempted(from_new)
    findings = [finding for side in sides for finding in side.findings]
    findings += other_basis([table.basis for table in tables.values()])
    if BASELINE in inputs:
        before = samples.attempted(~from_new)
        lost = [name for name, is_lost in zip(samples.task_names, before & ~tried, strict=True) if is_lost]
        findings += [_not_tried_again(lost, of=int(before.sum()))] if lost else []
        tried &= before
    elif options.candidate is None and (count := input_count(runs)) > 1:
        findings.append(_together(count, rules[0]))
    if len(rules) > 1:
        findings.append(_several(len(rules), judging.level))
    checks = [check(rule, samples, from_new, ~from_new, options=judging, otherwise=otherwise) for rule in rules]
    checks, condition_findings = _under_conditions(checks, list(tables.values()), options)
    findings += condition_findings
    checks = [_within_lower_bounds(each, _bounds_of(each.rule.metric, tables, sides)) for each in checks]
    statuses = {each.status for each in checks}
    status = next(status for status in ("fail", "inconclusive", "pass") if status in statuses)
    return Gate(
        status=status,
        exit_code=EXIT_IF_INCONCLUSIVE[options.inconclusive] if status == "inconclusive" else EXIT[status],
        inconclusive=options.inconclusive,
        profile=profile.name,
        weight_by=options.weight_by,
        unscored=profile.unscored,
        tasks=int(tried.sum()),
        confidence=judging.level,
        seed=judging.seed,
        rules=tuple(_result(each) for each in checks),
        findings=one_a_kind(findings),
        rejected_count=sum(side.rejected_count for side in sides),
    )


def _under_conditions(
    checks: Sequence[RuleCheck], tables: Sequence[RunTable], options: GateOptions
) -> tuple[list[RuleCheck], list[Finding]]:
    """The checks without a verdict on a baseline that ran under different conditions, and the finding about those."""
    ignored = analysis.check_ignored(options.ignore_conditions)
    if len(tables) < 2:
        return list(checks), []
    before, after = (analysis.condition_rows(table) for table in tables)
    differing = analysis.differing_conditions(before, after, chosen=(), ignored=ignored)
    reason = analysis.withheld_reason(differing)
    kept = [
        replace(each, status="inconclusive", sentence=f"{each.rule.text}: inconclusive; {reason}.")
        if reason is not None and each.rule.relative
        else each
        for each in checks
    ]
    return kept, analysis.conditions_finding({"the candidate": differing})


def _bounds_of(metric: str, tables: Mapping[str, RunTable], sides: Sequence[_Side]) -> dict[str, int]:
    """Number of runs of each side whose value is a lower bound."""
    import numpy as np  # heavy: a gate needs it, its --help does not

    return {
        name: analysis.lower_bound_runs(table, side.samples, metric, np.zeros(table.n, dtype=np.int64), 1)[0]
        for (name, table), side in zip(tables.items(), sides, strict=True)
    }


def _within_lower_bounds(check: RuleCheck, bounds: Mapping[str, int]) -> RuleCheck:
    """The check without a status that would not hold if the true values of the lower bounds were higher."""
    before, after = bounds.get(BASELINE, 0) if check.rule.relative else 0, bounds[CANDIDATE]
    if not before and not after:
        return check
    both = ((BASELINE, before), (CANDIDATE, after))
    names = " and ".join(f"{counted(count, 'run')} of {name}" for name, count in both if count)
    check = replace(check, lower_bounds=(before, after), sentence=f"{check.sentence} Lower bounds: {names}.")
    is_low = (check.status == "pass") != check.rule.at_least  # the candidate's value is claimed to be low enough
    if check.status == "inconclusive" or not (after if is_low else before):
        return check
    sentence = check.sentence.replace(f": {check.status}", ": inconclusive", 1)
    return replace(check, status="inconclusive", sentence=sentence)


def _result(check: RuleCheck) -> RuleResult:
    return RuleResult(
        rule=check.rule.text,
        metric=check.rule.metric,
        status=check.status,
        sentence=check.sentence,
        baseline=check.baseline,
        candidate=check.candidate,
        difference=check.difference,
        baseline_lower_bounds=check.lower_bounds[0],
        candidate_lower_bounds=check.lower_bounds[1],
        **structs.asdict(check.interval),
        factor=check.rule.factor,
        offset=check.rule.offset,
        tasks=check.tasks,
        tasks_needed=check.tasks_needed,
        resolvable_rule=check.resolvable_rule,
    )


def _read_rules(options: GateOptions) -> list[Rule]:
    """The rules, of which there is at least one."""
    from steelyard.questions.gate._rules import RULE_FORMS, read_rule  # brings numpy and scipy

    rules = [read_rule(text) for text in options.rule]
    if not rules:
        raise UsageError("no rule given", hint=RULE_FORMS)
    return rules


def _check_baseline(rules: Sequence[Rule], *, is_given: bool) -> None:
    """Reject rules that need a baseline without one, and a baseline that no rule refers to."""
    relative = [rule.text for rule in rules if rule.relative]
    if relative and not is_given:
        raise UsageError(f"{relative[0]!r} needs a baseline", hint=option("baseline", "main.jsonl"))
    if is_given and not relative:
        hint = f'omit {option("baseline")}, or write "{rules[0].metric} {">=" if rules[0].at_least else "<="} baseline"'
        raise UsageError(f"unused baseline: {rules[0].text!r} does not refer to it", hint=hint)


def _table(
    given: Measurable, chosen: Selection | None, metrics: Sequence[str], options: GateOptions, name: str
) -> RunTable:
    """The runs of a side: those of its input, or the selected ones."""
    where = f"{option('where')}, {name}"
    if chosen is None:
        return open_table(given, metrics, options, where=where, keys=options.cluster_keys)
    place = option("baseline" if name == BASELINE else "candidate")
    conditions = conditions_of(chosen, option="baseline" if name == BASELINE else "candidate")
    keys = [*options.cluster_keys, *(condition.key for condition in conditions)]
    table = open_table(given, metrics, options, where=where, keys=keys)
    return sources.choose(table, RunChoice(conditions), where=place)


def _not_tried_again(lost: Sequence[str], *, of: int) -> Finding:
    named = ", ".join(lost[:NAMED_TASKS]) + (f" and {len(lost) - NAMED_TASKS:,} more" if lost[NAMED_TASKS:] else "")
    message = (
        f"{len(lost):,} of {counted(of, 'baseline task')} not re-run ({named}); "
        f"rules with a baseline use the other {of - len(lost):,}"
    )
    return Finding(code="task_coverage", message=message)


def _together(inputs: int, rule: Rule) -> Finding:
    """Return a finding that no input is the baseline, as users of several inputs may expect."""
    message = (
        f"the rules check the runs of {inputs:,} inputs together; to compare two inputs, refer to the first as the "
        f'baseline: "{rule.metric} {">=" if rule.at_least else "<="} baseline"'
    )
    return Finding(code="inputs_together", message=message)


def _several(rules: int, level: float) -> Finding:
    """Return a finding with the family-wise error rate of several rules."""
    each = (1 - level) / 2
    together = 1 - (1 - each) ** rules
    message = (
        f"with {rules} rules, the probability of at least one false failure is up to {percent(together)} "
        f"(one rule: {percent(each)}); a confidence level of {1 - (1 - level) / rules:.4g} keeps it at {percent(each)}"
    )
    return Finding(code="several_rules", severity="info", message=message)


@dataclass(frozen=True, slots=True)
class _Side:
    """Samples of one side, with findings and the number of rejected records."""

    samples: Samples
    otherwise: Samples | None
    """With runs without a verdict counted the other way, where that changes something."""
    findings: list[Finding]
    rejected_count: int


def _joined(sides: Sequence[_Side]) -> tuple[Samples, Samples | None, Mask]:
    """All runs together, the same counted otherwise where that changes something, and which are the candidate's."""
    import numpy as np  # heavy: a gate needs it, its --help does not

    if len(sides) == 1:
        return sides[0].samples, sides[0].otherwise, np.ones(sides[0].samples.n, dtype=bool)
    samples, from_new = analysis.joined(sides[0].samples, sides[1].samples)
    otherwise = None
    if any(side.otherwise for side in sides):
        otherwise = analysis.joined(*(side.otherwise or side.samples for side in sides))[0]
    return samples, otherwise, from_new


def _side(table: RunTable, metrics: Sequence[str], options: GateOptions, *, profile: Profile, name: str) -> _Side:
    import numpy as np  # heavy: a gate needs it, its --help does not

    findings = table_findings(table)
    mixed = analysis.pooled(table, np.ones(table.n, dtype=bool), {})
    if mixed:
        message = f"{name} pools runs of {mixed}; filter by agent and model to check one configuration"
        findings.append(Finding(code="pooled", message=message))
    samples = analysis.samples_of(table, metrics, profile=profile, weight_by=options.weight_by)
    samples = analysis.with_clusters(samples, table, options.cluster)
    findings += skews(table, samples, metrics, np.zeros(table.n, dtype=np.int64), by=(), keys=[()], labels=[name])
    otherwise = analysis.counted_otherwise(table, samples, metrics) if options.unscored is None else None
    findings += _uncalibrated(table, metrics, name)
    return _Side(samples, otherwise, findings, table.rejected_count)


def _uncalibrated(table: RunTable, metrics: Sequence[str], name: str) -> list[Finding]:
    """Return a finding if values of the rules' metrics come from judges, which gold labels can contradict."""
    import polars as pl  # heavy: a gate needs it, its --help does not

    names = [*metrics]
    for each in names:
        names += [needed for needed in catalog()[each].needs.values() if needed in catalog() and needed not in names]
    columns = table.frame.collect_schema().names()
    judged = pl.lit(value=False)
    if "pass_rate" in names and "judge_votes" in columns:
        others = [pl.col(column).is_null() for column in ("passed", "tests_run") if column in columns]
        judged = judged | pl.all_horizontal(pl.col("judge_votes") > 0, *others)
    if "impl_rate" in names and "weighted_score" in columns:
        others = [pl.col("stated_impl_rate").is_null()] if "stated_impl_rate" in columns else []
        judged = judged | pl.all_horizontal(pl.col("weighted_score").is_not_null(), *others)
    count = int(table.frame.select(judged.fill_null(value=False).sum()).collect().item())
    if not count:
        return []
    message = (
        f"{name}: verdicts or scores of {count:,} of {counted(table.n, 'run')} are from uncalibrated judges; compare "
        "the judges with gold labels (the option gold of judges)"
    )
    return [Finding(code="uncalibrated_judge", message=message)]


def page(answer: Gate) -> Page:
    """Return the verdict, a sentence and a row per rule, and the warnings."""
    made = pages.Page(
        name="gate",
        title=f"Steelyard gate: {WORDS[answer.status]}",
        answer=_sentence(answer),
        style=STYLES["fail" if answer.status == "inconclusive" and answer.inconclusive == "fail" else answer.status],
        notes=tuple(rule.sentence for rule in answer.rules),
        table=pages.PageTable(caption=f"Rules, {pages.weighting(answer)}", columns=tuple(_columns(answer))),
        also=pages.folded_findings(answer.findings, rejected=answer.rejected_count),
        facts=(
            ("interval method", pages.methods_of([rule.interval for rule in answer.rules])),
            ("confidence level", exact_percent(answer.confidence)),
            ("seed", f"{answer.seed}"),
            *pages.counting_facts(answer),
            ("rejected records", f"{answer.rejected_count:,}"),
        ),
    )
    return pages.with_figures(made, answer, ("rules",))


def _sentence(answer: Gate) -> str:
    """Return the verdict and the number of rules that have it."""
    same = sum(rule.status == answer.status for rule in answer.rules)
    taken_as = ""
    if answer.status == "inconclusive" and answer.inconclusive != "report":
        taken_as = f"; inconclusive counts as {answer.inconclusive} (exit status {answer.exit_code})"
    rules = f"{same:,}/{len(answer.rules):,} rules"
    return f"Gate {WORDS[answer.status]} ({rules}), {counted(answer.tasks, 'task')}{taken_as}."


def _columns(answer: Gate) -> Iterator[Column]:
    rules = answer.rules
    units = [catalog()[rule.metric].unit for rule in rules]
    yield pages.text_column("rule", "rule", [rule.rule for rule in rules])
    for name in ("baseline", "candidate"):
        values: list[float | None] = [getattr(rule, name) for rule in rules]
        bounds = [getattr(rule, f"{name}_lower_bounds") for rule in rules]
        yield pages.Column(
            name=name,
            title=name,
            values=values,
            decimals=6,
            texts=[
                pages.DASH if value is None else at_least(quantity(value, unit), is_bound=bool(bound))
                for value, unit, bound in zip(values, units, bounds, strict=True)
            ],
        )
    # columns with a spare are in the sentences too
    yield pages.Column(
        name="difference",
        title="difference",
        values=[rule.difference for rule in rules],
        decimals=6,
        texts=[
            pages.DASH
            if rule.difference is None
            else ratio_text(rule.difference)
            if rule.is_ratio
            else difference_text(rule.difference, unit, signed=True)
            for rule, unit in zip(rules, units, strict=True)
        ],
        spare=1,
    )
    yield pages.Column(
        name="interval",
        title=interval_name(answer.confidence),
        values=[rule.low for rule in rules],
        decimals=6,
        texts=[_interval_text(rule, unit) for rule, unit in zip(rules, units, strict=True)],
        legend=pages.interval_legend([rule.interval for rule in rules]),
    )
    yield replace(pages.count_column("tasks", "tasks", [rule.tasks for rule in rules]), spare=2)
    statuses = pages.text_column("status", "status", [rule.status for rule in rules])
    yield replace(statuses, styles=[STYLES[rule.status] for rule in rules])


def _interval_text(rule: RuleResult, unit: str) -> str:
    if rule.is_ratio:
        return ratio_bounds(rule.low, rule.high)
    from_limit = "from the limit" if rule.factor not in (0, 1) else ""
    return pages.range_text(rule.low, rule.high, unit, ", ".join(filter(None, (from_limit, rule.interval.mark))))
