"""Page of an explanation: the values of one run as a tree, or the metric and its inputs by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from steelyard import pages  # its names are imported on first use
from steelyard.formatting import quantity, table_format
from steelyard.metrics import Metric, catalog
from steelyard.questions._answer import walk_tree
from steelyard.questions.explain._answer import ExplainedValue, Explanation
from steelyard.questions.measure import (
    FIGURES,
    OF_COMPONENT,
    ComponentUsage,
    Group,
    GroupValue,
    Statistics,
    cell_numbers,
    cell_text,
)
from steelyard.records import key_text, tier_text

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable

INSIDE = "└"
"""Indentation per level; pages collapse spaces."""
VALUES_SHOWN = 8
"""Values of a list that a cell shows."""


def page(answer: Explanation) -> Page:
    """Return the values of one run, or the metric and its inputs by group."""
    root = answer.explanation
    reasons: dict[str, int] = {}
    made = _group_tables(answer, reasons) if root is None else (_values(root),)
    return pages.Page(
        name="explain",
        title=f"How was {answer.metric} computed?",
        answer=f"{answer.metric}: {_rule(answer)}." if root is None else f"{_value_sentence(answer, root)}.",
        notes=(*_notes(answer), *(f"[{number}] {reason}" for reason, number in reasons.items())),
        table=made[0],
        also=made[1:],
        facts=pages.counting_facts(answer) if root is None else (),
    )


def _rule(answer: Explanation) -> str:
    if not answer.grades:
        return answer.title
    steps = ", ".join(f"{grade.grade} ({grade.meaning}) from {grade.at_least:g}" for grade in answer.grades)
    return f"by the median composite score: {steps}"


def _value_sentence(answer: Explanation, root: ExplainedValue) -> str:
    subject = f"{answer.metric} of {answer.row_kind} {answer.run}"
    return f"{subject} is missing: {root.reason}" if root.reason else f"{subject}: {_value_text(root)}"


def _notes(answer: Explanation) -> Iterator[str]:
    prices = f"prices {answer.prices}"
    based = f"profile {answer.profile}, {prices}" if answer.profile else prices
    if answer.explanation is not None:
        yield f"{answer.where}; {based}" if answer.where else based
        return
    yield f"{'composite_score' if answer.grades else 'formula'}: {answer.formula}"
    yield from (f"{name} = {value} (profile)" for name, value in answer.constants.items())
    yield from (f"{name}: {how}" for name, how in answer.inputs.items())
    yield f"{based}, {pages.weighting(answer)}"


def _values(root: ExplainedValue) -> PageTable:
    return pages.PageTable(
        caption=f"{root.title} and its inputs", columns=value_columns(list(walk_tree(root, "inputs")))
    )


def value_columns(rows: Sequence[tuple[int, ExplainedValue]]) -> tuple[Column, ...]:
    """Return the columns of values, each with its depth below the metric that it is an input of."""
    parts = [part for _, part in rows]
    return (
        pages.text_column("number", "number", [f"{INSIDE * depth} {part.name}".strip() for depth, part in rows]),
        pages.Column(
            name="value",
            title="value",
            values=[None if isinstance(part.value, bool) else part.value for part in parts],
            decimals=6,
            texts=[_value_text(part) for part in parts],
        ),
        pages.text_column("how", "formula or reason", [_how(part) for part in parts]),
        pages.text_column("source", "source", [(part.provenance or "").replace("_", " ") for part in parts]),
    )


def _value_text(part: ExplainedValue) -> str:
    value = part.value
    if value is None:
        return part.text or (pages.DASH if part.values is None else _list_text(part.values))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return quantity(value, part.unit) if part.unit else _number_text(value)


def _number_text(value: float) -> str:
    is_whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    return f"{value:,.0f}" if is_whole else f"{value:,.3f}" if 1e3 <= abs(value) < 1e15 else f"{value:,.6g}"


def _list_text(values: Sequence[float | str | None]) -> str:
    """Return the first values of a list, and how many there are."""
    shown = [
        pages.DASH if value is None else value[:12] if isinstance(value, str) else _number_text(value)
        for value in values[:VALUES_SHOWN]
    ]
    more = f", ... ({len(values):,} values)" if len(values) > VALUES_SHOWN else ""
    return ", ".join(shown) + more


def _how(part: ExplainedValue) -> str:
    if part.reason:
        return f"missing: {part.reason}"
    constants = ", ".join(f"{name} = {value:g}" for name, value in part.constants.items())
    return "; ".join(text for text in (part.formula or part.title, constants) if text)


def _missing_text(reason: str | None, reasons: dict[str, int]) -> str:
    """Return a dash with the number of the reason, which a note below the title explains once."""
    return f"{pages.DASH} [{reasons.setdefault(reason, len(reasons) + 1)}]" if reason else pages.DASH


def _group_tables(answer: Explanation, reasons: dict[str, int]) -> tuple[PageTable, ...]:
    """Return the tables of the metric and its inputs, one row per group; add the reasons for missing values."""
    declared = catalog()["composite_score" if answer.grades else answer.metric]
    if declared.level == "component":
        return (_components(answer, declared, reasons),)
    across = (_across(answer, declared, reasons),) if declared.level == "across" else ()
    return (_groups(answer, declared, reasons), *across)


def _caption(answer: Explanation, declared: Metric) -> str:
    return f"{declared.title} {'by ' + ', '.join(answer.by) if answer.by else 'over all'}"


def _keys(answer: Explanation, groups: Sequence[Group]) -> list[Column]:
    kind = f"{answer.row_kind}s"
    columns = pages.key_columns(answer.by, [group.key for group in groups], answer.tier_scheme)
    return [*columns, pages.count_column(kind, kind, [group.n for group in groups])]


def _groups(answer: Explanation, declared: Metric, reasons: dict[str, int]) -> PageTable:
    groups = answer.groups
    columns = _keys(answer, groups)
    if answer.grades:
        columns.append(pages.text_column("grade", "grade", [group.grade for group in groups]))
    own = FIGURES if declared.is_of_rows else ("value",) if declared.level == "group" else ()
    for figure in own:
        values = [group.metrics[declared.name] for group in groups]
        columns.append(_figure_column(f"own-{figure}", declared.name, figure, values, groups, reasons))
    for place, (of, figure) in enumerate(_inputs(answer, declared)):
        if declared.level == "group":
            values = [list(_formula_inputs(group.metrics[declared.name]))[place] for group in groups]
        else:
            values = [group.metrics[of] for group in groups]
        columns.append(_figure_column(f"input-{place}", of, figure, values, groups, reasons))
    return pages.PageTable(caption=_caption(answer, declared), columns=tuple(columns))


def _formula_inputs(value: Statistics | GroupValue) -> Iterator[GroupValue]:
    """Yield the inputs of the formula of a group metric: each over the runs that have all inputs."""
    yield from value.inputs.values() if isinstance(value, GroupValue) else ()


def _inputs(answer: Explanation, declared: Metric) -> list[tuple[str, str]]:
    """Return the inputs of the formula and how each is reduced."""
    reduced = [(spec.of or name, spec.reduce) for name, spec in declared.inputs.items() if spec.reduce is not None]
    if declared.level == "group":
        return reduced
    inputs = dict.fromkeys(reduced or [(of, "mean") for of in declared.needs.values()])
    return [(of, how) for of, how in inputs if all(of in group.metrics for group in answer.groups)]


def _figure_column(
    name: str,
    of: str,
    figure: str,
    values: Sequence[Statistics | GroupValue],
    groups: Sequence[Group],
    reasons: dict[str, int],
) -> Column:
    """Return a figure of each group, or why it is missing; sums of fractions are counts."""
    unit = catalog()[of].unit if of in catalog() else "tokens" if of.endswith("_tokens") else ""
    unit = "count" if figure == "sum" and unit == "fraction" else unit
    numbers = [cell_numbers(value, figure) for value in values]
    texts = []
    for value, number, group in zip(values, numbers, groups, strict=True):
        text = cell_text(value, figure, table_format(number, unit), group.n)
        texts.append(_missing_text(value.reason, reasons) if text == pages.DASH else text)
    title = catalog()[of].heading(figure) if of in catalog() else f"{of}\n{figure}"
    return pages.Column(name=name, title=title, values=[each[0] for each in numbers], decimals=6, texts=texts)


def _across(answer: Explanation, declared: Metric, reasons: dict[str, int]) -> PageTable:
    rows = [
        (across, tier, value) for across in answer.across for tier, value in (across.uplift or across.values).items()
    ]
    has_base = any(across.uplift for across in answer.across)
    scheme = answer.tier_scheme
    base = f" over {tier_text(answer.across[0].base, scheme)}" if has_base else ""
    tiers = [
        tier_text(tier, str(across.key["tier_scheme"]) if "tier_scheme" in across.key else scheme)
        if has_base
        else "all tiers"
        for across, tier, _ in rows
    ]
    rest = [name for name in answer.by if name != "tier"]
    values = [value for *_, value in rows]
    return pages.PageTable(
        name="tiers",
        caption=f"{declared.title}{base}",
        columns=(
            *(pages.text_column(name, name, [key_text(across.key[name]) for across, *_ in rows]) for name in rest),
            pages.text_column("tier", "tier", tiers),
            _level_column(declared, [value.value for value in values], [value.reason for value in values], reasons),
        ),
    )


def _level_column(
    declared: Metric, values: Sequence[float | None], why: Sequence[str | None], reasons: dict[str, int]
) -> Column:
    """Return the metric, or why it is missing."""
    texts = [
        _missing_text(reason, reasons) if value is None else pages.number_text(value, declared.unit)
        for value, reason in zip(values, why, strict=True)
    ]
    return pages.Column(name="value", title=declared.heading(), values=values, decimals=6, texts=texts)


def _components(answer: Explanation, declared: Metric, reasons: dict[str, int]) -> PageTable:
    none: dict[str, ComponentUsage | None] = {"": None}
    rows = [(group, *entry) for group in answer.groups for entry in (group.components or none).items()]
    field = OF_COMPONENT[declared.name]
    values = [None if used is None else getattr(used, field) for *_, used in rows]
    why = ["no run in this group has components" if used is None else used.reason for *_, used in rows]
    return pages.PageTable(
        caption=_caption(answer, declared),
        columns=(
            *_keys(answer, [group for group, *_ in rows]),
            pages.text_column("component", "component", [component or None for _, component, _ in rows]),
            _level_column(declared, values, why, reasons),
        ),
    )
