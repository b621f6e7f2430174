"""Terminal output of `run`: outcome, forecast and trials."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.formatting import table_format
from steelyard.pages import DASH, Painted, Style, TextTable, add_row, number_text, plain_table
from steelyard.results import PlanOutlook, PlanRun, PlanTrials

_STATES: dict[str, Style] = {"done": "green", "unfinished": "red"}
_COUNTS = ("trials", "passed", "failed", "no_verdict", "unfinished", "open", "retries", "retried")
SHOWN = 200
"""Maximum number of rows in a table."""


def plan_parts(result: PlanRun | PlanOutlook | PlanTrials) -> Iterator[str | TextTable]:
    """Return the summary and the table."""
    yield result.sentence
    if isinstance(result, PlanRun):
        yield _groups(result)
        if result.next_command is not None:
            yield f"Next: {result.next_command}"
    elif isinstance(result, PlanOutlook):
        yield _forecasts(result)
    else:
        yield _trials(result)
        if result.executions:
            yield _executions(result)
        if len(result.listed) > SHOWN:
            yield f"... and {len(result.listed) - SHOWN:,} more trials; the JSON output lists them"


def _groups(result: PlanRun) -> TextTable:
    table = plain_table()
    for heading in ("agent", "model", "tier", "setting"):
        table.add_column(heading)
    for heading in _COUNTS:
        table.add_column(heading.replace("_", " "), justify="right", spare=1 if heading == "retries" else 0)
    for heading in ("cost", "tokens"):
        table.add_column(heading, justify="right")
    costs = table_format((group.cost_usd for group in result.groups), "USD")
    for group in result.groups:
        least = "at least " if group.is_lower_bound else ""
        cost, tokens = costs.text(group.cost_usd), number_text(group.tokens, "tokens")
        agent = f"{group.agent} (calibration)" if group.kind == "calibration" else group.agent
        add_row(
            table,
            agent,
            *(getattr(group, name) or DASH for name in ("model", "tier", "setting")),
            *(f"{count:,}" if (count := getattr(group, name)) else DASH for name in _COUNTS),
            *(text if text == DASH else f"{least}{text}" for text in (cost, tokens)),
        )
    return table


def _forecasts(result: PlanOutlook) -> TextTable:
    table = plain_table()
    for heading in ("agent", "model"):
        table.add_column(heading)
    for heading in ("trials", "done", "at least", "at most"):
        table.add_column(heading, justify="right")
    for heading in ("basis", "command"):
        table.add_column(heading)
    lows = table_format((each.low_usd for each in result.forecasts), "USD")
    highs = table_format((each.high_usd for each in result.forecasts), "USD")
    for each in result.forecasts:
        low, high = lows.text(each.low_usd), highs.text(each.high_usd)
        counts = (f"{each.trials:,}", f"{each.done:,}")
        add_row(table, each.agent, each.model or DASH, *counts, low, high, each.basis, each.command or DASH)
    return table


def _trials(result: PlanTrials) -> TextTable:
    table = plain_table()
    for heading in ("id", "state", "ending", "verdict", "task", "agent", "model", "tier", "setting"):
        table.add_column(heading)
    for spare, heading in ((1, "attempt"), (2, "retries"), (0, "cost")):
        table.add_column(heading, justify="right", spare=spare)
    table.add_column("detail")
    costs = table_format((trial.cost_usd for trial in result.listed[:SHOWN]), "USD")
    for trial in result.listed[:SHOWN]:
        style = _STATES.get(trial.state)
        state = Painted(trial.state, style) if style else trial.state
        names = (trial.ending, trial.verdict, trial.task, trial.agent, trial.model, trial.tier, trial.setting)
        numbers = (str(trial.attempt), str(trial.retries), costs.text(trial.cost_usd))
        add_row(table, trial.id, state, *(name or DASH for name in names), *numbers, trial.detail or DASH)
    return table


def _executions(result: PlanTrials) -> TextTable:
    table = plain_table("Executions")
    table.add_column("retry", justify="right")
    for heading in ("ending", "cause"):
        table.add_column(heading)
    for heading in ("duration", "calls", "tokens", "cost"):
        table.add_column(heading, justify="right")
    for heading in ("detail", "folder"):
        table.add_column(heading)
    costs = table_format((each.cost_usd for each in result.executions), "USD")
    durations = table_format((each.duration_seconds for each in result.executions), "s")
    for each in result.executions:
        least = "at least " if each.is_lower_bound else ""
        counts = (number_text(each.tokens, "tokens"), costs.text(each.cost_usd))
        numbers = (durations.text(each.duration_seconds), DASH if each.calls is None else f"{each.calls:,}")
        known = (text if text == DASH else f"{least}{text}" for text in counts)
        words = (each.detail or DASH, each.folder)
        add_row(table, str(each.retry), each.ending, each.cause or DASH, *numbers, *known, *words)
    return table
