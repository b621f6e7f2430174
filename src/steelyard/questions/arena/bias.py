"""Test agents for systematic advantages across tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages, statistics  # names of `pages` are imported on first use
from steelyard.arena import Arena, scored_views
from steelyard.figures import Axis, Estimate, Figure, dots
from steelyard.formatting import counted, decimal_bounds, exact_percent
from steelyard.questions._answer import Drawing, Part, Rows
from steelyard.questions._figure_options import ConfidenceOptions
from steelyard.questions._question import arena_question
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.questions.arena._rankings import PolicyOptions
from steelyard.statistics import check_level

if TYPE_CHECKING:
    from steelyard.pages import Page, PageTable


class BiasOptions(ConfidenceOptions, PolicyOptions):
    """Options of `arena bias`."""


class Advantage(Part, frozen=True, kw_only=True):
    """Score difference of an agent from the others on shared tasks."""

    agent: str
    tasks: int
    """Tasks with submissions of this agent and of others."""
    mean_difference: float | None
    """Mean over these tasks of its mean score minus that of the others."""
    low: float | None
    high: float | None
    level: float
    reason: str | None
    """Why there is no interval; None if there is one."""
    systematic: bool
    """Whether the interval excludes 0."""


class ToolBias(ArenaAnswer, frozen=True, kw_only=True):
    """Systematic advantage or disadvantage of each agent across tasks."""

    rows: ClassVar[Rows] = Rows("advantages")

    advantages: tuple[Advantage, ...]

    @property
    def about(self) -> str:
        """Number of agents, and of those with a systematic advantage."""
        shown = sum(tool.systematic for tool in self.advantages)
        return f"{counted(len(self.advantages), 'agent')}, {shown:,} systematic"


@arena_question(BiasOptions, path="/bias", examples=({"confidence": 0.9},))
def arena_bias(arena: Arena, options: BiasOptions) -> ToolBias:
    """Return the mean score difference of each agent from the others on the same tasks, with its interval."""
    check_level(options.confidence)
    differences: dict[str, list[float]] = defaultdict(list)
    for view, _ in scored_views(arena, options.policy):
        sums: dict[str, tuple[int, int]] = {}
        for agent, value in view.rows.select("agent", "overall").drop_nulls().iter_rows():
            total, n = sums.get(agent, (0, 0))
            sums[agent] = (total + value, n + 1)
        all_total, all_n = sum(total for total, _ in sums.values()), sum(n for _, n in sums.values())
        for agent, (total, n) in sums.items():
            own_differences = differences[agent]
            if all_n > n:
                own_differences.append((total / n - (all_total - total) / (all_n - n)) / 100)
    advantages = [_advantage(agent, sorted(differences[agent]), options.confidence) for agent in sorted(differences)]
    return ToolBias(advantages=tuple(advantages))


def _advantage(agent: str, values: list[float], confidence: float) -> Advantage:
    interval, _ = statistics.paired_t(values, level=confidence)
    if not interval.known and len(values) > 1:  # equal on every task, but perhaps not on others
        interval = statistics.paired_plus_two(values, span=100.0, level=confidence)
    low, high = interval.low, interval.high
    return Advantage(
        agent=agent,
        tasks=len(values),
        mean_difference=interval.estimate,
        low=low,
        high=high,
        level=confidence,
        reason=f"not enough values for an interval: {len(values)} of 2" if len(values) < 2 else interval.reason,
        systematic=low is not None and high is not None and (low > 0 or high < 0),
    )


def page(answer: ToolBias) -> Page:
    """Return one row per agent."""
    rows = answer.advantages
    made = pages.Page(
        name="bias",
        title="Does an agent have a systematic advantage?",
        answer=bias_sentence(rows),
        table=bias_table(rows),
        facts=(("confidence level", exact_percent(rows[0].level)), ("interval", "over tasks")) if rows else (),
    )
    return pages.with_figures(made, answer, ("forest",))


def bias_sentence(rows: Sequence[Advantage]) -> str:
    """Return which agents have an advantage or a disadvantage."""
    shown = [row for row in rows if row.systematic]
    if not shown:
        return f"No systematic advantage detected among {counted(len(rows), 'agent')}."
    parts = [
        f"{row.agent} scores {abs(row.mean_difference):.2f} points {'higher' if row.mean_difference > 0 else 'lower'}"
        for row in shown
        if row.mean_difference is not None
    ]
    return f"{'; '.join(parts)} than the other agents on the same tasks."


def bias_table(rows: Sequence[Advantage]) -> PageTable:
    """Return one row per agent: its mean difference from the others, the interval, and whether it is systematic."""
    reasons = pages.reason_columns([row.reason for row in rows])
    columns = (
        pages.text_column("agent", "agent", [row.agent for row in rows]),
        pages.number_column(
            "mean_difference", "mean difference", [row.mean_difference for row in rows], places=2, sign="+"
        ),
        pages.Column(
            name="interval",
            title="interval",
            values=[row.low for row in rows],
            decimals=6,
            texts=[decimal_bounds(row.low, row.high, signed=True) for row in rows],
        ),
        pages.count_column("tasks", "tasks", [row.tasks for row in rows]),
        pages.text_column("systematic", "systematic", ["yes" if row.systematic else "inconclusive" for row in rows]),
        *reasons,
    )
    caption = "Score difference from other agents on the same tasks"
    return pages.PageTable(name="bias", caption=caption, columns=columns)


def draw_bias(answer: ToolBias, width: int) -> Figure:
    """Draw the score difference of each agent from the others on shared tasks."""
    rows = [
        Estimate(
            label=each.agent,
            value=each.mean_difference,
            low=each.low,
            high=each.high,
            faint=not each.systematic,
            note=counted(each.tasks, "task") + (f"; {each.reason}" if each.reason else ""),
            text="" if each.mean_difference is None else f"{each.mean_difference:+.2f}",
        )
        for each in answer.advantages
    ]
    level = pages.confidence_text(answer.advantages[0].level) if answer.advantages else "no intervals"
    axis = Axis(title="Score difference from other agents on the same tasks")
    note = f"{level} over tasks; hollow: interval includes 0"
    return dots(rows, title="Systematic advantage by agent", axis=axis, note=note, reference=0.0, width=width)


DRAWINGS: Mapping[str, Drawing] = {"forest": draw_bias}
"""Figures of the answer."""
