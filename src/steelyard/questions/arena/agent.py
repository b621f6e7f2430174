"""Show the metrics of an agent.

The profile lists them under tool_metrics. Its submissions are ranked against each other; no score depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, ToolMetric, ToolSubmission, read_parties, tool_submissions
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, spared

if TYPE_CHECKING:
    from steelyard.pages import Column, Page


class AgentOptions(Options):
    """Options of `arena leaderboard` with an agent."""

    agent: str = doc("Show the metrics of this agent and rank its submissions.", kw_only=False)


class ToolMetrics(ArenaAnswer, frozen=True, kw_only=True):
    """Metrics of one agent; no score depends on them."""

    rows: ClassVar[Rows] = Rows("submissions")

    tool: str
    display_name: str | None
    """Display name; None if the agent has none."""
    profile: str
    metrics: tuple[ToolMetric, ...]
    submissions: tuple[ToolSubmission, ...]

    @property
    def about(self) -> str:
        """Tool, number of metrics and submissions."""
        name = self.tool if self.display_name is None else f"{self.display_name} ({self.tool})"
        submissions = counted(len(self.submissions), "submission")
        if not self.metrics:
            return f"{name}: {submissions}; {self.profile} lists no metrics for it"
        return f"{name}: {counted(len(self.metrics), 'metric')} of {submissions}"


@arena_question(
    AgentOptions, command="arena leaderboard --agent {agent}", path="/agents/{agent}", examples=({"agent": "codex"},)
)
def arena_agent(arena: Arena, options: AgentOptions) -> ToolMetrics:
    """Return the metrics of one agent, with its submissions ranked against each other."""
    metrics, submissions = tool_submissions(arena, options.agent)
    with arena.read() as connection:
        names = {party.id: party.display_name for party in read_parties(connection, "tool")}
    return ToolMetrics(
        tool=options.agent,
        display_name=names.get(options.agent),
        profile=arena.rules.name,
        metrics=metrics,
        submissions=submissions,
    )


def page(answer: ToolMetrics) -> Page:
    """Return one row per submission with the metrics of its agent and its rank among the agent's submissions."""
    rows = answer.submissions
    measured = [column for metric in answer.metrics for column in _columns(metric, rows)]
    reasons = ["; ".join(f"{name}: {each.reason}" for name, each in row.metrics.items() if each.reason) for row in rows]
    columns = (
        pages.id_column("submission_id", "submission", "submissions", [row.submission_id for row in rows]),
        spared(pages.id_column("task_id", "task", "tasks", [row.task_id for row in rows])),
        *measured,
        *(spared(column, 2) for column in pages.reason_columns(reasons)),
    )
    return pages.Page(
        name="tool",
        title="Agent-specific metrics",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Ranks within the agent's submissions; not part of any score", columns=columns),
        facts=(("profile", answer.profile),),
    )


def _columns(metric: ToolMetric, rows: Sequence[ToolSubmission]) -> tuple[Column, Column]:
    """Return a metric and the rank by it."""
    values, title = [row.metrics[metric.name] for row in rows], metric.title.lower()
    return (
        pages.level_column(metric.name, title, [each.value for each in values], metric.unit),
        pages.count_column(f"{metric.name}_ranking", f"{title} rank", [each.ranking for each in values]),
    )
