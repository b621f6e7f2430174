"""List tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, criteria_text
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._question import Options, Texts, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, spared
from steelyard.records import Task

if TYPE_CHECKING:
    from steelyard.pages import Page


class TaskListOptions(Options):
    """Options of `arena task list`."""

    category: Texts = doc("Only tasks of this category; repeatable.", default=())
    difficulty: Texts = doc("Only tasks of this difficulty; repeatable.", default=())


class TaskList(ArenaAnswer, frozen=True, kw_only=True):
    """Tasks of an arena, in the order in which they were added."""

    rows: ClassVar[Rows] = Rows(
        "tasks", without=("weights", "baseline", "expected_steps"), joined=("success_criteria", "tools", "models")
    )

    tasks: tuple[Task, ...]

    @property
    def about(self) -> str:
        """Number of tasks."""
        return counted(len(self.tasks), "task")


@arena_question(
    TaskListOptions,
    path="/tasks",
    paged="tasks",
    filters=("category", "difficulty"),
    examples=({}, {"category": "debugging"}),
)
def arena_task_list(arena: Arena, options: TaskListOptions) -> TaskList:  # noqa: ARG001 # filters select its entries
    """Return the tasks, in the order in which they were added."""
    return TaskList(tasks=tuple(arena.tasks()))


def page(answer: TaskList) -> Page:
    """Return one row per task: what it asks and which criteria determine correctness."""
    tasks = answer.tasks
    categories = {task.category for task in tasks if task.category}
    known = f" in {counted(len(categories), 'category', 'categories')}" if categories else ""
    without = sum(not task.success_criteria for task in tasks)
    unchecked = f" {without:,} without success criteria (correctness is 100)." if without else ""
    types = [[str(each.__struct_config__.tag) for each in task.success_criteria] for task in tasks]
    columns = (
        pages.id_column("id", "task", "tasks", [task.id for task in tasks]),
        spared(pages.text_column("title", "title", [task.title for task in tasks]), 3),
        spared(pages.text_column("category", "category", [task.category for task in tasks])),
        spared(pages.text_column("difficulty", "difficulty", [task.difficulty for task in tasks])),
        pages.text_column("criteria", "criteria", [", ".join(each) or criteria_text(0) for each in types]),
    )
    return pages.Page(
        name="tasks",
        title="Which tasks does the arena have?",
        answer=f"{counted(len(tasks), 'task')}{known}.{unchecked}"
        if tasks
        else "No tasks. Add some: steelyard arena task add FILE",
        table=pages.PageTable(caption="Tasks", columns=columns),
    )
