"""Summarize tokens and cost by day, model or agent.

Without a path, reads the logs of the agents installed on this machine. Days are in your time zone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.errors import NoValidInputError, UnknownNameError, UnreadableFileError, UsageError
from steelyard.formatting import table_format
from steelyard.option_names import option
from steelyard.prices import open_price_table
from steelyard.questions._options import Moment, PricedRunOptions
from steelyard.questions._question import Names, doc, log_question
from steelyard.questions._run_input import CustomFieldCheck, LogLocation, RecordReader, Runs, runs_or_logs
from steelyard.questions.usage._answer import (
    UsageBudget as UsageBudget,
    UsageCount as UsageCount,
    UsageSummary as UsageSummary,
    summary_of,
)
from steelyard.questions.usage._tally import RUN_KEYS, TIMES, UsageQuestion, UsageTally
from steelyard.records import (
    GROUP_KEYS,
    LOCAL,
    TOKEN_KINDS,
    Finding,
    Run,
    RunChoice,
    SetAside,
    as_utc,
    key_named,
    key_text,
    one_a_kind,
    set_aside_findings,
    zone_of,
)
from steelyard.sources import log_formats

if TYPE_CHECKING:
    from steelyard.pages import Column, Page

USAGE_KEYS = (*TIMES, *RUN_KEYS, *GROUP_KEYS)
"""Grouping keys, in addition to custom fields (`x_...`)."""


class UsageOptions(PricedRunOptions):
    """Options of `usage`."""

    by: Names = doc(
        "Comma-separated grouping keys: day, week, month, model, agent, project, session or a custom field "
        "(default: day,model).",
        default=("day", "model"),
    )
    since: Moment = doc(
        "Only calls on or after this date or time (2026-10-01, 30d, yesterday). A month (2026-10) selects "
        "only that month.",
        default=None,
    )
    until: Moment = doc("Only calls up to and including this date or month, or before this time.", default=None)
    tz: str = doc("Time zone: local, UTC, +02:00, or a name such as Europe/Berlin (default: local).", default=LOCAL)
    budget: float | None = doc(
        "Budget in USD: exit 3 if exceeded, 4 if unknown costs leave it undecided.", default=None
    )


PERIODS = {"daily": "day", "weekly": "week", "monthly": "month", "session": "session", "blocks": "session"}
"""Keys to group by for the subcommands of ccusage."""
SPARE = (
    "total_tokens",
    "calls",
    "runs",
    "output_tokens",
    "input_tokens",
    "cache_read_tokens",
    "reasoning_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "unpriced_calls",
)
"""Columns that may leave a narrow terminal, the last first."""


@log_question(UsageOptions, examples=({"since": "30d"}, {"": "logs/", "by": "month,model", "budget": 50}))
def usage(runs: Runs | None, options: UsageOptions) -> UsageSummary:
    """Summarize tokens and cost by the day of each call, its model, and keys of the run.

    >>> import steelyard as sy
    >>> tokens = {"input_tokens": 900, "output_tokens": 100}
    >>> run = {"task": "t", "model": "gpt-4o", "started_at": "2026-01-02T03:04:05Z", "usage": tokens}
    >>> sy.usage(run, prices="spec").total.cost_usd
    0.006
    """
    adding = UsageSums(options)
    _check_periods(runs)
    inputs, searched_paths = runs_or_logs(runs)
    reader = RecordReader(replace(options.reading(), choice=adding.choice))
    for id_, entry in reader.read(inputs):
        adding.add(entry.run, id_)
    later = adding.take_later(reader)
    findings = [*reader.finish(searched_paths), *later]
    return adding.summary(findings, rejected_count=len(reader.set_aside), searched_paths=searched_paths)


def _check_periods(runs: object) -> None:
    """Reject a subcommand of ccusage, such as `daily`, with the option that does the same."""
    for path in runs if isinstance(runs, (list, tuple)) else [runs]:
        if not isinstance(path, (str, PathLike)):
            continue
        period = PERIODS.get(Path(path).name)
        if period and not Path(path).exists():
            raise UnreadableFileError(str(path), "no such file or directory", hint=option("by", period))


class UsageSums:
    """Adds up runs as the options ask."""

    def __init__(self, options: UsageOptions) -> None:
        zone = zone_of(options.tz)
        limits = options.choice(zone)
        self._options, self._price_table = options, open_price_table(options.prices)
        self._question = UsageQuestion(
            by=_keys(options.by),
            zone=zone,
            since=limits.since,
            until=limits.until,
            models=tuple(condition for condition in limits.conditions if condition.key == "model"),
        )
        self._tally = UsageTally(self._question, self._price_table)
        self._custom_fields = CustomFieldCheck(self._question.by, known=USAGE_KEYS)
        self._begins_later: dict[str, bool] = {}
        """Of each file that runs were read from, whether all of them began after the asked-for time."""
        self.choice = RunChoice(tuple(condition for condition in limits.conditions if condition.key != "model"))
        """Which runs to add; time and model are those of each call."""

    def add(self, run: Run, id_: str) -> None:
        """One more run."""
        self._custom_fields.add(run)
        self._tally.add(run, id_)
        if self._question.until and run.source and run.source.path and _is_session(run.source.format):
            moments = [as_utc(at) for at in (run.started_at, *(call.at for call in run.calls or ())) if at]
            is_later = bool(moments) and min(moments) >= self._question.until
            self._begins_later[run.source.path] = is_later and self._begins_later.get(run.source.path, True)

    def take_later(self, reader: RecordReader) -> list[Finding]:
        """Remove rejected lines of sessions that started after the requested period."""
        if not any(self._begins_later.values()):
            return []
        counted, later = SetAside(), SetAside()
        for rejected in reader.set_aside:
            is_later = rejected.line is not None and self._begins_later.get(rejected.path, False)
            (later if is_later else counted).add(rejected)
        reader.set_aside = counted
        return [msgspec.structs.replace(finding, severity="info") for finding in set_aside_findings(later)]

    def _unfinished_logs(self, findings: Sequence[Finding]) -> int:
        """How many logs end within a line that may be of the requested time."""
        places = [finding.where or "" for finding in findings if finding.code == "unfinished_log"]
        return sum(not self._begins_later.get(place.rpartition(":")[0], False) for place in places)

    def summary(
        self, findings: Sequence[Finding], *, rejected_count: int = 0, searched_paths: tuple[LogLocation, ...] = ()
    ) -> UsageSummary:
        """What all runs came to."""
        self._custom_fields.check()
        options, question, tally = self._options, self._question, self._tally
        tally.add_rejected(rejected_count + self._unfinished_logs(findings))
        days, total = tally.days(), tally.total
        answer = UsageSummary(
            by=question.by,
            groups=tally.groups(),
            total=total,
            unpriced_models=tally.unpriced_models,
            first_day=days[0].day if days else None,
            last_day=days[-1].day if days else None,
            runs_outside=tally.runs_outside,
            last_day_before=tally.last_before,
            first_day_after=tally.first_after,
            series_by=question.series_by,
            days=days,
            run_costs=tally.run_costs,
            tz=options.tz,
            since=None if question.since is None else question.since.isoformat(),
            until=None if question.until is None else question.until.isoformat(),
            prices=self._price_table.label,
            budget=_budget(options.budget, total),
            searched_paths=searched_paths,
            rejected_count=rejected_count,
            findings=one_a_kind((*findings, *tally.findings())),
        )
        return msgspec.structs.replace(answer, summary=summary_of(answer))


@cache
def _is_session(format_name: str | None) -> bool:
    """Return whether the format logs sessions line by line; rows of a run table may have any order."""
    declared = log_formats().get(format_name or "")
    return declared is not None and declared.kind == "sessions"


def _keys(by: Sequence[str]) -> tuple[str, ...]:
    keys = tuple(key_named(name, known=USAGE_KEYS, what="grouping key") for name in by)
    if len(set(keys)) != len(keys):
        raise UsageError("duplicate grouping key")
    return keys


def _budget(usd: float | None, total: UsageCount) -> UsageBudget | None:
    """Return the known cost compared with the budget; only complete costs show that it is not exceeded."""
    if usd is None:
        return None
    if not 0 <= usd < inf:
        raise UsageError(
            f"{option('budget')} must be a non-negative amount in USD (got {usd:g})", hint=option("budget", 50)
        )
    if total.cost_usd is not None and total.cost_usd > usd:
        return UsageBudget(usd=usd, status="fail")
    return UsageBudget(usd=usd, status="inconclusive" if total.cost_usd is None or total.lower_bound else "pass")


def page(answer: UsageSummary) -> Page:
    """Return one row per group: its cost, its tokens by kind, its calls."""
    made = pages.Page(
        name="usage",
        title="Where does the money go?",
        answer=answer.summary,
        notes=() if answer.budget is None else (answer.budget.sentence,),
        table=pages.PageTable(
            caption=f"Usage{' by ' if answer.by else ''}{', '.join(answer.by)}, prices {answer.prices}",
            columns=tuple(_columns(answer)),
        ),
        facts=(
            ("prices", answer.prices),
            ("time zone", answer.tz),
            ("since", answer.since or "first call"),
            ("until", answer.until or "last call"),
            ("models without a price", ", ".join(answer.unpriced_models) or "none"),
            ("rejected records", f"{answer.rejected_count:,}"),
        ),
    )
    return pages.with_figures(made, answer, ("days", "tokens", "costs"))


def _columns(answer: UsageSummary) -> list[Column]:
    groups = answer.groups
    has_foot = len(groups) > 1
    *costs, of_all = cost_texts([*groups, answer.total])
    columns = [
        pages.Column(
            name=key,
            title=key,
            values=[key_text(group.key[key]) for group in groups],
            foot="all" if has_foot and number == 0 else "",
        )
        for number, key in enumerate(answer.by)
    ]
    columns.append(
        pages.Column(
            name="cost_usd",
            title="cost",
            values=[group.cost_usd for group in groups],
            decimals=6,
            texts=costs,
            foot=of_all if has_foot else "",
            legend="≥ marks a lower bound: part of the cost is unknown." if any(g.lower_bound for g in groups) else "",
        )
    )
    every = [*groups, answer.total]
    counts: dict[str, list[int | None]] = {"total_tokens": [each.total_tokens for each in every]}
    counts |= {kind: [each.tokens[kind] for each in every] for kind in TOKEN_KINDS}
    counts |= {name: [getattr(each, name) for each in every] for name in ("calls", "runs", "unpriced_calls")}
    for name, numbers in counts.items():
        if name in ("total_tokens", "calls", "runs") or any(numbers):
            title = name.removeprefix("total_").removesuffix("_tokens").replace("_", " ")
            column = pages.count_column(name, title, numbers[:-1])
            foot = pages.DASH if numbers[-1] is None else f"{numbers[-1]:,}"
            part_of = "total_tokens" if name in TOKEN_KINDS else ""
            spare = SPARE.index(name) + 1
            columns.append(replace(column, spare=spare, leaves_with=part_of, foot=foot if has_foot else ""))
    return columns


def cost_texts(groups: Sequence[UsageCount]) -> list[str]:
    """Return a column of costs; ≥ marks a lower bound.

    >>> cost_texts([UsageCount(cost_usd=2.5, lower_bound=True), UsageCount(cost_usd=12.0), UsageCount()])
    ['≥ $2.50', '$12.00', '-']
    """
    column = table_format((each.cost_usd for each in groups), "USD")
    return [f"{'≥ ' * (each.lower_bound and each.cost_usd is not None)}{column.text(each.cost_usd)}" for each in groups]
