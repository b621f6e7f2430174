"""Add tasks to the arena.

Adding an identical task again has no effect. A different task with the same id is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, criteria_text, read_tasks
from steelyard.errors import UsageError
from steelyard.formatting import counted
from steelyard.questions._answer import Part, Rows
from steelyard.questions._options import FilePaths, paths_of
from steelyard.questions._question import Options, arena_action, doc
from steelyard.questions._read_summary import RejectedRecord, rejected_record
from steelyard.questions.arena._common import ArenaAnswer, no_records, or_rejected
from steelyard.records import Finding, Rejected, Task, one_a_kind, set_aside_findings
from steelyard.settings import shown_path


class TaskAddOptions(Options):
    """Options of `arena task add`."""

    files: FilePaths = doc("TOML or JSON files with tasks; - for stdin.", kw_only=False, local=True)


class AddedTask(Part, frozen=True, kw_only=True):
    """A task that is in the arena now."""

    id: str
    new: bool
    """False if an identical task exists."""
    criteria: int
    """Number of success criteria."""


class AddedTasks(ArenaAnswer, frozen=True, kw_only=True):
    """Outcome of adding tasks."""

    rows: ClassVar[Rows] = Rows("tasks")

    tasks: tuple[AddedTask, ...]
    rejected: tuple[RejectedRecord, ...]
    findings: tuple[Finding, ...]
    """Findings about rejected tasks, empty files and categories without weights."""
    rejected_count: int

    @property
    def about(self) -> str:
        """Number of new, known and rejected tasks."""
        new = sum(task.new for task in self.tasks)
        return (
            f"{counted(new, 'task')} added, {len(self.tasks) - new:,} already known, {self.rejected_count:,} rejected"
        )

    @property
    def is_empty(self) -> bool:
        """Whether there is no valid task."""
        return not self.tasks


@arena_action(TaskAddOptions, examples=({"files": "tasks.toml"},))
def arena_task_add(arena: Arena, options: TaskAddOptions) -> AddedTasks:
    """Add the tasks in the files; invalid ones are rejected with a reason."""
    added: list[tuple[Task, bool]] = []
    rejected: list[Rejected] = []
    notes: list[Finding] = []
    for path in paths_of(options.files):
        before = len(added) + len(rejected)
        for task in or_rejected(path, read_tasks(path)):
            if isinstance(task, Rejected):
                rejected.append(task)
                continue
            try:
                added.append((task, arena.add_task(task, base_dir=path.parent)))
            except UsageError as error:
                reason = f"task {task.id!r}: {error.message}"
                rejected.append(Rejected(path=str(shown_path(path)), reason=reason, hint=error.hint, code="bad_task"))
        if len(added) + len(rejected) == before:
            notes.append(no_records("tasks", path))
    return added_tasks(arena, added, rejected=rejected, notes=notes)


def added_tasks(
    arena: Arena,
    added: Sequence[tuple[Task, bool]],
    *,
    rejected: Sequence[Rejected] = (),
    notes: Iterable[Finding] = (),
) -> AddedTasks:
    """Return the outcome of added tasks, each with whether it is new."""
    doubts = [doubt for task, _ in added if (doubt := arena.rules.finding_about(task)) is not None]
    return AddedTasks(
        tasks=tuple(AddedTask(id=task.id, new=new, criteria=len(task.success_criteria)) for task, new in added),
        rejected=tuple(map(rejected_record, rejected)),
        findings=tuple(one_a_kind((*set_aside_findings(rejected), *notes, *doubts))),
        rejected_count=len(rejected),
    )


def page(answer: AddedTasks) -> pages.Page:
    """Return one row per task."""
    tasks = answer.tasks
    columns = (
        pages.id_column("id", "task", "tasks", [task.id for task in tasks]),
        pages.text_column("new", "status", ["added" if task.new else "already known" for task in tasks]),
        pages.text_column("criteria", "criteria", [criteria_text(task.criteria) for task in tasks]),
    )
    return pages.Page(
        name="added-tasks",
        title="Which tasks were added?",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Tasks", columns=columns),
    )
