"""Show a task and its baselines.

Baselines are shown overall and per agent and model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import (
    Arena,
    CombinationBaseline,
    StoredFiles,
    combination_baselines,
    criteria_text,
    files_kept,
    find_task,
    rank_task,
)
from steelyard.formatting import counted, plain
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, spared, weights_text
from steelyard.records import Task

if TYPE_CHECKING:
    from steelyard.pages import Column, Page


class TaskShowOptions(Options):
    """Options of `arena task show`."""

    task: str = doc("Task id.", kw_only=False)


class TaskDetails(ArenaAnswer, frozen=True, kw_only=True):
    """A task with its baseline, overall and per agent and model."""

    rows: ClassVar[Rows] = Rows(keep=("submissions", "baseline_version", "baseline", "breakdown"))

    task: Task
    files: StoredFiles | None
    """Task files in the store; None if there are none."""
    submissions: int
    baseline_version: int
    baseline: dict[str, float | str]
    """With `last_updated`, when it last gained or lost a submission or was recomputed under another profile."""
    breakdown: dict[str, float]
    """Weights of the four scores in the current profile."""
    combinations: tuple[CombinationBaseline, ...]

    @property
    def about(self) -> str:
        """Task, number of submissions and baseline version."""
        submissions = counted(self.submissions, "submission")
        return f"{self.task.id}: {submissions}, baseline version {self.baseline_version}"


@arena_question(TaskShowOptions, path="/tasks/{task}", examples=({"task": "fix-race"},))
def arena_task_show(arena: Arena, options: TaskShowOptions) -> TaskDetails:
    """Return a task with its baselines, overall and per agent and model."""
    ranked = rank_task(arena, options.task, top=0)
    with arena.read() as connection:
        stored_task = find_task(connection, options.task, arena.rules)
        kept = files_kept(connection, stored_task.key)
    return TaskDetails(
        task=stored_task.task,
        files=kept,
        submissions=len(ranked.view.rows),
        baseline_version=ranked.view.version,
        baseline=ranked.baseline,
        breakdown=ranked.weights,
        combinations=combination_baselines(arena, options.task),
    )


def page(answer: TaskDetails) -> Page:
    """Return one row per number of the baseline; then one per agent and model."""
    names = [name for name, value in answer.baseline.items() if not isinstance(value, str)]
    with_own = [each for each in answer.combinations if each.baseline is not None]
    own = [_numbers(_name(each), each.baseline or {}, names) for each in with_own]
    middle = answer.baseline.get("median_tokens")
    median = f"; the median submission used {middle:,.0f} tokens" if isinstance(middle, (int, float)) else ""
    rows = answer.combinations
    updated = [None if each.baseline is None else str(each.baseline["last_updated"]) for each in rows]
    agents = pages.PageTable(
        name="combinations",
        caption="Baselines per agent and model",
        columns=(
            pages.text_column("agent", "agent", [each.agent for each in rows]),
            pages.text_column("model", "model", [each.model for each in rows]),
            pages.count_column("submissions", "submissions", [each.submissions for each in rows]),
            pages.time_column("last_updated", "last updated", updated),
            pages.text_column("reason", "why missing", [each.reason for each in rows]),
        ),
    )
    task, files = answer.task, answer.files
    notes = [f"{task.title}."] if task.title else []
    notes.append(f"{criteria_text(len(task.success_criteria)).capitalize()}.")
    if "last_updated" in answer.baseline:
        notes.append(f"Last updated {pages.minute_of(str(answer.baseline['last_updated']))} UTC.")
    notes += [f"{counted(files.n, 'task file')}, SHA-256 {files.sha256}."] if files else []
    return pages.Page(
        name="baseline",
        title=f"What are submissions to {task.id} scored against?",
        answer=f"Baseline version {answer.baseline_version}, of {counted(answer.submissions, 'submission')}{median}.",
        table=pages.PageTable(
            caption="Baseline",
            columns=(
                pages.text_column("name", "number", names),
                _numbers("all", answer.baseline, names),
                *(spared(column, place + 1) for place, column in enumerate(own)),
            ),
        ),
        notes=tuple(notes),
        also=(agents,) if rows else (),
        facts=(
            ("category", task.category or pages.DASH),
            ("difficulty", task.difficulty or pages.DASH),
            ("weights", weights_text(answer.breakdown)),
        ),
    )


def _name(combination: CombinationBaseline) -> str:
    return " / ".join(filter(None, (combination.agent, combination.model))) or pages.DASH


def _numbers(name: str, baseline: Mapping[str, float | str], names: list[str]) -> Column:
    """Return the numbers of a baseline as a column."""
    values = [value if isinstance(value := baseline.get(number), (int, float)) else None for number in names]
    texts = [pages.DASH if value is None else plain(value) for value in values]
    return pages.Column(name=name, title=name, values=values, decimals=6, texts=texts)
