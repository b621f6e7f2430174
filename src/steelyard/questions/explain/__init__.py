"""Show how a number was computed.

With a run id, traces the metric to the values in the record. Otherwise, explains the metric for all runs, or per group.
METRIC can also be `grade`, a repeatability or speedup metric, or a score in an arena store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date
from itertools import islice
from os import PathLike
from typing import Any

from msgspec.structs import replace

from steelyard.errors import UnknownNameError, UnreadableFileError, UsageError
from steelyard.formatting import exact_dollars
from steelyard.metrics import Metric, catalog, constants_of, evaluate
from steelyard.option_names import option
from steelyard.prices import Charge, PriceTable, charges, in_usd, open_price_table, price_lines, token_cost
from steelyard.profiles import Profile, default_profile
from steelyard.questions._figure_options import MeasureOptions, VerdictOptions
from steelyard.questions._options import PricedRunOptions
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import Measurable, RecordReader
from steelyard.questions.explain._answer import (
    ExplainedValue as ExplainedValue,
    Explanation as Explanation,
    explanation_of,
    value_fields,
)
from steelyard.questions.explain._page import page as page, value_columns as value_columns
from steelyard.questions.explain._rows import explain_row
from steelyard.questions.measure import MEASURED, Group, Measurement, TierComparison, checked_keys, measure
from steelyard.records import (
    RUN_FIELDS,
    TOKEN_KINDS,
    DayFinder,
    Judgment,
    Missing,
    Run,
    calls_in,
    custom_inputs,
    derived_fields,
    is_custom_input,
    kinds_of,
)
from steelyard.settings import is_stdin, named_path, shown_path
from steelyard.sources import PlacedRun
from steelyard.statistics import WeightBy

GRADE = "grade"
"""Explained like a metric, although it is a letter."""
IDS_LOOKED_AT = 2_000
"""Maximum number of ids searched for a suggestion."""
IDS_LISTED = 10
PRICED = "priced_cost_usd"


class ExplainOptions(VerdictOptions, PricedRunOptions):
    """Options of `explain`."""

    metric: str = doc("Metric to explain (see: steelyard metrics).", kw_only=False)
    run: str | None = doc(
        "Run id, or a unique prefix. For repeatability metrics, the task id; for a store, the submission id.",
        default=None,
    )
    by: Names = doc("Comma-separated grouping keys; explains the metric per group.", default=())
    weight_by: WeightBy = doc("Weight every run equally (runs) or every task equally (tasks).", default="runs")


@question(
    ExplainOptions,
    takes="file",
    input_help="Run records or logs (- for stdin), a directory of outputs, or an arena store (sqlite:///FILE).",
    examples=(
        {"metric": "composite_score", "run": "demo-T3-fix-race-01"},
        {"metric": "cost_of_pass", "by": "tier"},
        {"metric": "grade"},
        {"": "outputs/", "metric": "r_raw", "run": "TASK"},
        {"": "sqlite:///steelyard.db", "metric": "speed_score", "run": "SUBMISSION"},
    ),
    path="",
)
def explain(runs: Measurable, options: ExplainOptions) -> Explanation:
    """Explain how a metric was computed: formula, inputs, constants and missing values.

    The metric may be `grade`. With `run`, explain one run, prompt, attempt or submission; with `by`, each group.

    >>> import steelyard as sy
    >>> runs = [{"id": "r1", "task": "t", "passed": True, "impl_rate": 0.8}]
    >>> sy.explain(runs, "composite_score", run="r1")
    Explanation(composite_score of r1: 0.9)
    """
    if options.run is not None and options.by:
        raise UsageError(
            f"{option('run')} and {option('by')} cannot be combined",
            hint=f"use {option('run', 'ID')} for one run, or {option('by')} for groups",
        )
    catalog().named(options.metric)  # rejects geometric means
    if options.run is None:
        return _explain_groups(runs, options)
    if options.metric != GRADE and (declared := catalog()[options.metric]).is_of_rows and declared.level != "run":
        return explain_row(runs, options, options.run)
    return _explain_run(runs, options, options.run)


def _explain_run(runs: Measurable, options: ExplainOptions, wanted: str) -> Explanation:
    metric = options.metric
    declared = catalog()["composite_score" if metric == GRADE else metric]
    if declared.level == "group" and declared.has_per_run:
        declared = catalog()[f"{metric}_per_run"]
    if declared.level not in MEASURED:
        raise _not_of_runs(declared)
    if declared.level != "run":
        raise UsageError(
            f"{metric} is computed per {'set of groups' if declared.level == 'across' else 'group'}, not per run",
            hint=f"explain groups: {option('by', 'tier')}",
        )
    profile, price_table = options.outcome_profile(), open_price_table(options.prices)
    id_, entry = _find(runs, wanted, RecordReader(options.reading()))
    (root,) = explained([declared.name], entry.run, profile, price_table)
    if metric == GRADE:
        root = _grade(root, profile)
    where = entry.path if entry.line is None else f"{entry.path}:{entry.line}"
    return explanation_of(root, run=id_, where=where, profile=profile.name, prices=price_table.label)


def explained(names: Iterable[str], run: Run, profile: Profile, price_table: PriceTable) -> tuple[ExplainedValue, ...]:
    """Explain these metrics and inputs of the run."""
    facts = _all_facts(run, price_table)
    known: dict[str, Any] = {"cost_is_lower_bound": facts.get("cost_is_lower_bound")}
    for name in (names := tuple(names)):
        evaluate(name, facts, profile, known)
    return tuple(_with_calls(_tree(name, known, profile, run), run, price_table) for name in names)


def _grade(composite: ExplainedValue, profile: Profile) -> ExplainedValue:
    """The grade of one run: that of its own composite score."""
    if not profile.grades:
        raise UsageError(f"profile {profile.name} has no grades")
    grade = None if composite.value is None else profile.grade_of(composite.value)
    steps = ", ".join(f"{grade.grade} from {grade.at_least:g}" for grade in profile.grades)
    return ExplainedValue(
        name=GRADE,
        title="Grade",
        text=None if grade is None else f"{grade.grade} ({grade.meaning})",
        reason=composite.reason,
        formula=f"by the median composite_score: {steps}",
        inputs=(composite,),
    )


def _explain_groups(runs: Measurable, options: ExplainOptions) -> Explanation:
    graded = options.metric == GRADE
    declared, by = catalog()["composite_score" if graded else options.metric], checked_keys(options.by)
    if declared.level not in MEASURED and not declared.is_of_rows:
        raise _not_of_runs(declared)
    if declared.level == "across" and "tier" not in by:
        hint = option("by", "tier")
        raise UsageError(f"{declared.name} compares tiers, so {option('by')} must include tier", hint=hint)
    profile = options.outcome_profile()
    asked = MeasureOptions(
        by=by,
        metrics=() if declared.level in MEASURED else (declared.name,),
        profile=profile,
        prices=options.prices,
        map=options.map,
        set=options.set,
        where=options.where,
        since=options.since,
        until=options.until,
        weight_by=options.weight_by,
        unscored=options.unscored,
    )
    result = measure(runs, options=asked)
    own = profile if declared.level in MEASURED else default_profile(declared.spec) or profile
    return Explanation(
        metric=options.metric,
        title="Grade" if graded else declared.title,
        formula=declared.formula,
        constants=constants_of(declared, own),
        inputs={name: f"{spec.reduce} of {spec.of or name}" for name, spec in declared.inputs.items() if spec.reduce},
        grades=profile.grades if graded else (),
        row_kind=result.row_kind,
        by=result.by,
        n=result.n,
        groups=tuple(_group(group, declared) for group in result.groups),
        across=tuple(_across(result, declared)),
        tier_scheme=result.tier_scheme,
        profile=result.profile,
        prices=result.prices,
        weight_by=result.weight_by,
        unscored=result.unscored,
        findings=result.findings,
        rejected_count=result.rejected_count,
    )


def _group(group: Group, declared: Metric) -> Group:
    """Return the group with the metric and its inputs only."""
    names = (declared.name, *declared.needs.values())
    return replace(
        group,
        metrics={name: group.metrics[name] for name in names if name in group.metrics},
        components=group.components if declared.level == "component" else {},
    )


def _across(result: Measurement, declared: Metric) -> Iterator[TierComparison]:
    """Yield the metric of each tier if it has a base, otherwise that of all tiers together."""
    if declared.level != "across":
        return
    of_base = any(spec.scope == "base" for spec in declared.inputs.values())
    for across in result.across:
        values = {} if of_base else {declared.name: across.values[declared.name]}
        yield replace(across, uplift=across.uplift if of_base else {}, values=values)


def _not_of_runs(declared: Metric) -> UsageError:
    return UsageError(
        f"{declared.name} is a metric of the {declared.spec} specification and cannot be computed from runs alone",
        hint=f"steelyard metrics {declared.name}",
    )


def _find(runs: Measurable, wanted: str, reader: RecordReader) -> tuple[str, PlacedRun]:
    """Return the run with this id or unique prefix."""
    place = _place(runs)
    starts: dict[str, PlacedRun] = {}
    some: list[str] = []
    for id_, entry in reader.read(runs):  # type: ignore[arg-type] # other inputs have no metric of runs
        if id_ == wanted:
            return id_, entry
        if len(some) < IDS_LOOKED_AT:
            some.append(id_)
        if id_.startswith(wanted) and len(starts) <= IDS_LISTED:
            starts[id_] = entry
    if not starts:
        reader.finish()
    return run_named(wanted, starts, some, where=place)


def run_named(
    wanted: str, starts: Mapping[str, PlacedRun], ids: Iterable[str], *, where: str | None
) -> tuple[str, PlacedRun]:
    """Return the only run whose id begins with `wanted`; raise if there is none or several."""
    if len(starts) == 1:
        return next(iter(starts.items()))
    if starts:
        listed = ", ".join(sorted(starts)[:IDS_LISTED])
        more = f" and {len(starts) - IDS_LISTED:,} more" if len(starts) > IDS_LISTED else ""
        raise UsageError(f"ambiguous run id {wanted!r}: {listed}{more}", where=where)
    raise UnknownNameError("run", wanted, list(islice(ids, IDS_LOOKED_AT)), where=where)


def _place(runs: Measurable) -> str | None:
    """The file that was named, as messages name it; one that is not there is an error."""
    if not isinstance(runs, (str, PathLike)):
        return None
    path = named_path(runs)
    if not path.exists() and not is_stdin(path):
        raise UnreadableFileError(str(path), "no such file or directory")
    return str(shown_path(path))


def _all_facts(run: Run, price_table: PriceTable) -> dict[str, Any]:  # Any: facts of any type
    facts = derived_fields(run)
    cost = token_cost(run, price_table)
    if cost.how == "lower_bound":
        facts["cost_is_lower_bound"] = True
    return facts | {"priced_cost_usd": cost.or_missing, **custom_inputs(run.extra or {})}


_FIELD_OF_FACT = {
    "reported_cost_usd": "cost_usd",
    "stated_impl_rate": "impl_rate",
    "stated_duration_seconds": "duration_seconds",
    "elapsed_seconds": "ended_at",
}


def _tree(name: str, known: dict[str, Any], profile: Profile, run: Run) -> ExplainedValue:
    stated = run.provenance or {}
    if name == "weighted_score" and run.judgments:
        judged = tuple(map(_judgment, run.judgments))
        return ExplainedValue(name=name, title=RUN_FIELDS[name].meaning, inputs=judged, **value_fields(known[name]))
    if name in RUN_FIELDS:
        field = _FIELD_OF_FACT.get(name, name)
        provenance = stated.get(field)
        if name == "priced_cost_usd":
            provenance = "lower_bound" if known.get("cost_is_lower_bound") is True else "priced"
        if provenance is None and name.endswith("_tokens"):
            provenance = stated.get("usage")
        return ExplainedValue(
            name=name, title=RUN_FIELDS[name].meaning, provenance=provenance, **value_fields(known[name])
        )
    if is_custom_input(name):
        return ExplainedValue(name=name.partition(" as ")[0], title="Custom field.", **value_fields(known[name]))
    declared = catalog()[name]
    parts = tuple(_tree(spec.of or parameter, known, profile, run) for parameter, spec in declared.inputs.items())
    return ExplainedValue(
        name=name,
        title=declared.title,
        unit=declared.unit,
        formula=declared.formula,
        constants=constants_of(declared, profile),
        inputs=parts,
        **value_fields(known[name]),
    )


def _judgment(judgment: Judgment) -> ExplainedValue:
    """Explain the score of a judge, with its rubric criteria."""
    lines = tuple(
        ExplainedValue(
            name=line.name,
            title=f"{line.achieved:g} of {line.max:g}, weight {line.weight:g}",
            value=line.achieved / line.max,
        )
        for line in judgment.criteria or ()
    )
    how = "sum(weight x achieved / max) / sum(weight)" if lines and judgment.weighted_score is None else None
    title = f"Score of judge {judgment.judge}" if judgment.judge else "Score of an unnamed judge"
    return ExplainedValue(
        name="score",
        title=title,
        formula=how,
        provenance=None if how else "reported",
        inputs=lines,
        **value_fields(judgment.score),
    )


def _with_calls(explained: ExplainedValue, run: Run, price_table: PriceTable) -> ExplainedValue:
    """Add the calls to the priced cost within the explanation."""
    if explained.name == PRICED:
        parts = charges(run, price_table, DayFinder(UTC).days_of)
        return replace(explained, inputs=tuple(_charge_line(part, price_table) for part in parts))
    return replace(explained, inputs=tuple(_with_calls(part, run, price_table) for part in explained.inputs))


def _charge_line(part: Charge, price_table: PriceTable) -> ExplainedValue:
    day = part.place if isinstance(part.place, date) else None
    when = f"on {day} (UTC)" if day else "on an unknown day"
    is_low = part.reason is not None and not part.unpriced
    lacking = f"; {part.unpriced:,} without a price: {part.reason}" if part.unpriced and part.pico is not None else ""
    return ExplainedValue(
        name=f"{part.model or 'unknown model'} {when}",
        value=None if part.pico is None else in_usd(part.pico),
        reason=(part.reason or "token counts are not reported") if part.pico is None else None,
        title=_calls_text(part) + lacking,
        unit="USD",
        formula=_charge_formula(part, day, price_table),
        provenance=None if part.pico is None else "lower_bound" if is_low or part.unpriced else "priced",
    )


def _calls_text(part: Charge) -> str:
    calls = calls_in(part.calls)
    if not calls:
        return "Tokens without call details"
    return "1 call" if calls == 1 else f"{calls:,} calls"


def _charge_formula(part: Charge, day: date | None, price_table: PriceTable) -> str | None:
    """Tokens of each kind times its price; several prices where the sizes of calls or the time of day decide."""
    prices, usage = price_table.find(part.model), part.usage
    if usage is None or isinstance(prices, Missing):
        return None
    priced = [(call.usage, call.at) for call in part.calls if call.usage is not None and not call.summed]
    rates = dict.fromkeys(prices.rates_of(used, at) for used, at in priced if at is not None)
    if len(priced) < len(part.calls) or not rates or any(at is None for _, at in priced):
        rates = dict.fromkeys(line.rates for line in price_lines(prices, on=day))
    terms = []
    for place, (kind, count) in enumerate(zip(TOKEN_KINDS, kinds_of(usage), strict=True)):
        if count:
            known = (rate.usd_per_million[place] for rate in rates)
            words = dict.fromkeys("no price" if usd is None else exact_dollars(usd) for usd in known)
            terms.append(f"{count:,} {kind.removesuffix('_tokens').replace('_', ' ')} x {' or '.join(words)}")
    return f"{_calls_text(part)}: {' + '.join(terms)} per million tokens" if terms else None
