"""How a metric came in each group, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from steelyard.metrics import catalog
from steelyard.reports._measurement_tables import DASH, cell_text, group_key_text, heading, number_text
from steelyard.reports._plain_text import clean
from steelyard.reports._terminal_tables import add_row, plain_table
from steelyard.results import Across, ComponentShare, Group, GroupsExplanation, GroupValue

FIGURES = ("mean", "median", "min", "max", "std_dev")
_OF_COMPONENT = {
    "component_tokens": "tokens",
    "component_token_share": "token_share",
    "component_cost_usd": "cost_usd",
    "component_cost_share": "cost_share",
}
"""Where a component's metric stands among what is known of a component."""


def explanation_lines(explanation: GroupsExplanation) -> Iterator[str]:
    """What the metric is and what made it."""
    declared = explanation.declared
    yield f"{declared.name}: {declared.title}"
    yield f"  formula: {declared.formula}"
    for name, value in explanation.constants.items():
        yield f"  {name} = {value} (profile)"
    for name, (how, of) in explanation.reducers.items():
        yield f"  {name}: {how} of {of}"
    yield f"  profile {explanation.result.profile}, prices {explanation.result.prices}"


def explanation_tables(explanation: GroupsExplanation) -> Iterator[Table]:
    """The metric and what was put in, one line a group; below, what is told across tiers."""
    yield _components(explanation) if explanation.declared.level == "component" else _groups(explanation)
    if explanation.declared.level == "across":
        yield from (_across(explanation, across) for across in explanation.result.across)


def _groups(explanation: GroupsExplanation) -> Table:
    name, result, level = explanation.declared.name, explanation.result, explanation.declared.level
    table = _with_keys(explanation)
    own = FIGURES if level == "run" else ("value",) if level == "group" else ()
    for figure in own:
        table.add_column(heading(name, figure), justify="right")
    reducers = {of: how for how, of in explanation.reducers.values()}
    inputs = {spec.of or parameter: "" for parameter, spec in explanation.declared.inputs.items()}
    shown = {of: reducers.get(of, "mean") for of in inputs if all(of in group.metrics for group in result.groups)}
    for of, how in shown.items():
        table.add_column(heading(of, how), justify="right")
    for group in result.groups:
        cells = _key_cells(explanation, group)
        cells += [_figure(group, name, figure) for figure in own]
        cells += [_figure(group, of, how) for of, how in shown.items()]
        add_row(table, *cells)
    return table


def _figure(group: Group, name: str, figure: str) -> str:
    """The figure, or why there is none."""
    value = group.metrics[name]
    text = cell_text(value, figure, catalog()[name].unit, group.n)
    return f"{DASH} {value.reason}" if text == DASH and value.reason else text


def _across(explanation: GroupsExplanation, across: Across) -> Table:
    rest = ", ".join(f"{key} {value}" for key, value in across.key.items())
    table = plain_table(f"{explanation.declared.title}{f', {rest}' if rest else ''}")
    values = explanation.across_values(across)
    table.add_column(f"against {across.base}" if values is across.uplift else "")
    table.add_column(explanation.declared.title.lower(), justify="right")
    for tier, value in values.items():
        add_row(table, clean(tier), _value_text(value, explanation.declared.unit))
    return table


def _value_text(value: GroupValue, unit: str) -> str:
    return f"{DASH} {value.reason or ''}".rstrip() if value.value is None else number_text(value.value, unit)


def _components(explanation: GroupsExplanation) -> Table:
    table = _with_keys(explanation)
    table.add_column("component")
    table.add_column(heading(explanation.declared.name), justify="right")
    for group in explanation.result.groups:
        for component, share in group.components.items():
            add_row(table, *_key_cells(explanation, group), component, _share_text(explanation, share))
        if not group.components:
            add_row(table, *_key_cells(explanation, group), DASH, f"{DASH} no run of the group has components")
    return table


def _share_text(explanation: GroupsExplanation, share: ComponentShare) -> str:
    value: float | None = getattr(share, _OF_COMPONENT[explanation.declared.name])
    return f"{DASH} {share.reason or ''}".rstrip() if value is None else number_text(value, explanation.declared.unit)


def _with_keys(explanation: GroupsExplanation) -> Table:
    table = plain_table(f"{explanation.declared.title} by {', '.join(explanation.result.by)}")
    for key in explanation.result.by:
        table.add_column(key)
    table.add_column("runs", justify="right")
    return table


def _key_cells(explanation: GroupsExplanation, group: Group) -> list[str]:
    return [*(group_key_text(group, key) for key in explanation.result.by), f"{group.n:,}"]
