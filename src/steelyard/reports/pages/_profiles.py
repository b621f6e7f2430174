"""What other rules would change: two profiles on the same submissions."""

from __future__ import annotations

from steelyard.formatting import counted
from steelyard.pages import Page, PageTable, count_column, id_column, number_column, text_column, with_figures
from steelyard.results import ProfileComparison


def profiles_page(result: ProfileComparison) -> Page:
    """One row a task: how far both profiles agree on its ranks."""
    tasks = result.tasks
    leaders = sum(task.leader_changes for task in tasks)
    moved = sum(task.changed for task in tasks)
    columns = (
        id_column("task_id", "task", "tasks", [task.task_id for task in tasks]),
        count_column("n", "submissions", [task.n for task in tasks]),
        number_column("kendall_tau", "Kendall's τ", [task.kendall_tau for task in tasks]),
        count_column("changed", "changed ranks", [task.changed for task in tasks]),
        text_column("leader_changes", "leader", ["another" if task.leader_changes else "the same" for task in tasks]),
        text_column("reason", "reason for missing τ", [task.reason for task in tasks]),
    )
    page = Page(
        name="profiles",
        title=f"What would change from {result.first} to {result.second}?",
        answer=(
            f"{moved:,} of {counted(result.submissions, 'rank')} would change, and {leaders:,} of"
            f" {counted(len(tasks), 'task')} would have a new leader."
        ),
        table=PageTable(caption="Tasks under both profiles", columns=columns),
        facts=(("profiles", f"{result.first} and {result.second}"), ("submissions", f"{result.submissions:,}")),
    )
    return with_figures(page, result, ("ranks",))
