"""Explain: how a number came to be, from the metric down to the facts of the record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from os import PathLike
from typing import Any

from steelyard.errors import UnknownNameError, UnreadableFileError, UsageError
from steelyard.formats import PlacedRun
from steelyard.metrics import Metric, catalog, constants_of, evaluate
from steelyard.option_names import option
from steelyard.prices import PriceTable, open_price_table, token_cost
from steelyard.profiles import Profile, default_profile
from steelyard.questions._explaining_cost import with_calls
from steelyard.questions._explaining_rows import explain_row
from steelyard.questions._figure_options import ExplainOptions, MeasureOptions
from steelyard.questions._measured_tables import store_address
from steelyard.questions._opening_runs import Measurable, RecordReader
from steelyard.questions._question import question
from steelyard.questions.measure import MEASURED, checked_keys, measure
from steelyard.records import FACTS, Judgment, Missing, Run, custom_inputs, is_custom_input, run_facts
from steelyard.results import Explanation, GroupsExplanation, RunExplanation
from steelyard.settings import is_stdin, named_path, shown_path

GRADE = "grade"
"""Explained like a metric, although it is a letter."""
IDS_LOOKED_AT = 2_000
"""Maximum number of ids searched for a suggestion."""
IDS_LISTED = 10


@question(ExplainOptions)
def explain(runs: Measurable, options: ExplainOptions) -> RunExplanation | GroupsExplanation:
    """Explain how a metric was computed: formula, inputs, constants and missing values.

    The metric may be `grade`. With `run`, explain one run, prompt, attempt or submission; with `by`, each group.

    >>> import steelyard as sy
    >>> runs = [{"id": "r1", "task": "t", "passed": True, "impl_rate": 0.8}]
    >>> sy.explain(runs, "composite_score", run="r1").root.value
    0.9
    """
    if options.run is not None and options.by:
        raise UsageError(
            f"{option('run')} and {option('by')} cannot be combined",
            hint=f"use {option('run', 'ID')} for one run, or {option('by')} for groups",
        )
    if options.run is None:
        return _explain_groups(runs, options)
    if options.metric != GRADE and (declared := catalog()[options.metric]).is_of_rows and declared.level != "run":
        return explain_row(runs, options, options.run)
    return _explain_run(runs, options, options.run)


def _explain_run(runs: Measurable, options: ExplainOptions, wanted: str) -> RunExplanation:
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
    return RunExplanation(run=id_, where=where, profile=profile.name, prices=price_table.label, root=root)


def explained(names: Iterable[str], run: Run, profile: Profile, price_table: PriceTable) -> tuple[Explanation, ...]:
    """Explain these metrics and inputs of the run."""
    facts = _all_facts(run, price_table)
    known: dict[str, Any] = {"cost_is_lower_bound": facts.get("cost_is_lower_bound")}
    for name in (names := tuple(names)):
        evaluate(name, facts, profile, known)
    return tuple(with_calls(_tree(name, known, profile, run), run, price_table) for name in names)


def _grade(composite: Explanation, profile: Profile) -> Explanation:
    """The grade of one run: that of its own composite score."""
    if not profile.grades:
        raise UsageError(f"profile {profile.name} has no grades")
    value = composite.value
    if not isinstance(value, Missing):
        grade = profile.grade_of(value)
        value = f"{grade.grade} ({grade.meaning})"
    steps = ", ".join(f"{grade.grade} from {grade.at_least:g}" for grade in profile.grades)
    formula = f"by the median composite_score: {steps}"
    return Explanation(GRADE, value, "Grade", None, formula, {}, None, (composite,))


def _explain_groups(runs: Measurable, options: ExplainOptions) -> GroupsExplanation:
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
    grades = tuple((grade.grade, grade.at_least, grade.meaning) for grade in profile.grades) if graded else ()
    return GroupsExplanation(declared, constants_of(declared, own), result, grades)


def store_of(path: str, metric: str) -> str | None:
    """The address of the arena's store in the file; None when it is none, or the metric is not a submission's."""
    if metric not in catalog() or catalog()[metric].level != "submission":
        return None
    return store_address(path, sure=True)


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
    facts = run_facts(run)
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


def _tree(name: str, known: dict[str, Any], profile: Profile, run: Run) -> Explanation:
    stated = run.provenance or {}
    if name == "weighted_score" and run.judgments:
        title = FACTS[name].meaning
        return Explanation(name, known[name], title, None, None, {}, None, tuple(map(_judgment, run.judgments)))
    if name in FACTS:
        field = _FIELD_OF_FACT.get(name, name)
        provenance = stated.get(field)
        if name == "priced_cost_usd":
            provenance = "lower_bound" if known.get("cost_is_lower_bound") is True else "priced"
        if provenance is None and name.endswith("_tokens"):
            provenance = stated.get("usage")
        return Explanation(name, known[name], FACTS[name].meaning, None, None, {}, provenance, ())
    if is_custom_input(name):
        return Explanation(name.partition(" as ")[0], known[name], "A custom field.", None, None, {}, None, ())
    declared = catalog()[name]
    parts = tuple(_tree(spec.of or parameter, known, profile, run) for parameter, spec in declared.inputs.items())
    constants = constants_of(declared, profile)
    return Explanation(name, known[name], declared.title, declared.unit, declared.formula, constants, None, parts)


def _judgment(judgment: Judgment) -> Explanation:
    """Explain the score of a judge, with its rubric criteria."""
    lines = tuple(
        Explanation(
            line.name,
            line.achieved / line.max,
            f"{line.achieved:g} of {line.max:g}, weight {line.weight:g}",
            None,
            None,
            {},
            None,
            (),
        )
        for line in judgment.criteria or ()
    )
    how = "sum(weight x achieved / max) / sum(weight)" if lines and judgment.weighted_score is None else None
    title = f"Score of judge {judgment.judge}" if judgment.judge else "Score of an unnamed judge"
    return Explanation("score", judgment.score, title, None, how, {}, None if how else "reported", lines)
