"""Terminal output of explain for groups."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import table_format
from steelyard.metrics import catalog
from steelyard.pages import DASH, TextTable, add_row, key_cell, number_text, plain_table, weighting
from steelyard.plain_text import clean
from steelyard.questions.measure import (
    FIGURES,
    OF_COMPONENT,
    ComponentUsage,
    Group,
    GroupValue,
    Statistics,
    TierComparison,
    cell_numbers,
    cell_text,
)
from steelyard.records import tier_text
from steelyard.results import GroupsExplanation


def explanation_lines(explanation: GroupsExplanation) -> Iterator[str]:
    """Yield the metric, its formula, constants and inputs."""
    declared = explanation.declared
    if explanation.grades:
        steps = ", ".join(f"{grade} ({meaning}) from {least:g}" for grade, least, meaning in explanation.grades)
        yield f"grade: by the median composite score: {steps}"
    yield f"{declared.name}: {declared.title}"
    yield f"  formula: {declared.formula}"
    for name, value in explanation.constants.items():
        yield f"  {name} = {value} (profile)"
    for name, (how, of) in explanation.reducers.items():
        yield f"  {name}: {how} of {of}"
    result = explanation.result
    yield f"  profile {result.profile}, prices {result.prices}, {weighting(result)}"


def explanation_tables(explanation: GroupsExplanation) -> Iterator[TextTable]:
    """Return the tables of the metric and its inputs, one row per group."""
    yield _components(explanation) if explanation.declared.level == "component" else _groups(explanation)
    if explanation.declared.level == "across":
        yield from (_across(explanation, across) for across in explanation.result.across)


def _groups(explanation: GroupsExplanation) -> TextTable:
    declared, result = explanation.declared, explanation.result
    table = _with_keys(explanation)
    own = FIGURES if declared.is_of_rows else ("value",) if declared.level == "group" else ()
    if explanation.grades:
        table.add_column("grade")
    for figure in own:
        table.add_column(declared.heading(figure), justify="right")
    inputs = _inputs(explanation)
    for of, figure in inputs:
        table.add_column(catalog()[of].heading(figure) if of in catalog() else f"{of}\n{figure}", justify="right")
    for group in result.groups:
        cells = _key_cells(explanation, group)
        cells += [group.grade or DASH] if explanation.grades else []
        cells += [_figure(group, group.metrics[declared.name], declared.name, figure) for figure in own]
        if declared.level == "group":
            formula_inputs = zip(inputs, explanation.formula_inputs(group).values(), strict=True)
            cells += [_figure(group, value, of, "value", reduced_by=how) for (of, how), value in formula_inputs]
        else:
            cells += [_figure(group, group.metrics[of], of, figure) for of, figure in inputs]
        add_row(table, *cells)
    return table


def _inputs(explanation: GroupsExplanation) -> list[tuple[str, str]]:
    """Return the inputs of the formula and how each is reduced."""
    reduced = [(of, how) for how, of in explanation.reducers.values()]
    if explanation.declared.level == "group":
        return reduced
    inputs = dict.fromkeys(reduced or [(of, "mean") for of in explanation.needed])
    return [(of, how) for of, how in inputs if all(of in group.metrics for group in explanation.result.groups)]


def _figure(
    group: Group, value: Statistics | GroupValue, name: str, figure: str, *, reduced_by: str | None = None
) -> str:
    """Return the value of a metric or input, or the reason it is missing; sums of fractions are counts."""
    unit = catalog()[name].unit if name in catalog() else "tokens" if name.endswith("_tokens") else ""
    if reduced_by == "sum" and unit == "fraction":
        unit = "count"
    text = cell_text(value, figure, table_format(cell_numbers(value, figure), unit), group.n)
    return f"{DASH} {value.reason}" if text == DASH and value.reason else text


def _across(explanation: GroupsExplanation, across: TierComparison) -> TextTable:
    rest = ", ".join(f"{key} {value}" for key, value in across.key.items())
    table = plain_table(f"{explanation.declared.title}{f', {rest}' if rest else ''}")
    values = explanation.across_values(across)
    scheme = across.key.get("tier_scheme", explanation.result.tier_scheme)
    named = {tier: clean(tier_text(tier, None if scheme is None else str(scheme))) for tier in (across.base, *values)}
    table.add_column(f"vs. {named[across.base]}" if values is across.uplift else "")
    table.add_column(explanation.declared.title.lower(), justify="right")
    for tier, value in values.items():
        add_row(table, named[tier], _value_text(value, explanation.declared.unit))
    return table


def _value_text(value: GroupValue, unit: str) -> str:
    return f"{DASH} {value.reason or ''}".rstrip() if value.value is None else number_text(value.value, unit)


def _components(explanation: GroupsExplanation) -> TextTable:
    table = _with_keys(explanation)
    table.add_column("component")
    table.add_column(explanation.declared.heading(), justify="right")
    for group in explanation.result.groups:
        for component, share in group.components.items():
            add_row(table, *_key_cells(explanation, group), component, _fraction_text(explanation, share))
        if not group.components:
            add_row(table, *_key_cells(explanation, group), DASH, f"{DASH} no run in this group has components")
    return table


def _fraction_text(explanation: GroupsExplanation, share: ComponentUsage) -> str:
    value: float | None = getattr(share, OF_COMPONENT[explanation.declared.name])
    return f"{DASH} {share.reason or ''}".rstrip() if value is None else number_text(value, explanation.declared.unit)


def _with_keys(explanation: GroupsExplanation) -> TextTable:
    by = f" by {', '.join(explanation.result.by)}" if explanation.result.by else " over all"
    table = plain_table(f"{explanation.declared.title}{by}")
    for key in explanation.result.by:
        table.add_column(key)
    table.add_column(f"{explanation.result.row_kind}s", justify="right")
    return table


def _key_cells(explanation: GroupsExplanation, group: Group) -> list[str]:
    result = explanation.result
    return [*(key_cell(group.key, key, result.tier_scheme) for key in result.by), f"{group.n:,}"]
