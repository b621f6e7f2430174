"""Compare the ranks under two profiles.

All current submissions are ranked under each profile, with policy `current`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, Rules, find_task, load_tasks, points, ranks_under, read_rules
from steelyard.errors import UsageError
from steelyard.figures import Axis, Change, Figure, slopes
from steelyard.formatting import counted
from steelyard.option_names import option
from steelyard.profiles import Profile, load_profile
from steelyard.questions._answer import Drawing, Part, Rows
from steelyard.questions._options import ProfileName
from steelyard.questions._question import Options, arena_question, doc
from steelyard.questions.arena._common import ArenaAnswer, score_column, spared
from steelyard.records import Finding, Task, exact_mean
from steelyard.statistics import kendall_tau

if TYPE_CHECKING:
    import polars as pl

    from steelyard.pages import Page


class CompareProfilesOptions(Options):
    """Options of `arena compare-profiles`."""

    first: ProfileName = doc("Profile: built-in name or TOML file.", kw_only=False)
    second: ProfileName = doc("Profile to compare with the first.", kw_only=False)
    task: str | None = doc("Only this task.", default=None)
    movers: int = doc("Number of rank changes to show, largest first.", default=10)

    def check(self) -> None:
        """Reject a negative number."""
        if self.movers < 0:
            raise UsageError(f"{option('movers')} must be 0 or more (got {self.movers})")


class Mover(Part, frozen=True, kw_only=True):
    """A submission with its rank under both profiles."""

    submission_id: str
    task_id: str
    first_ranking: int
    second_ranking: int
    first_score: float
    second_score: float


class TaskUnderProfiles(Part, frozen=True, kw_only=True):
    """One task under both profiles."""

    task_id: str
    n: int
    kendall_tau: float | None
    """Kendall's tau-b of the overall scores; None with a reason."""
    reason: str | None
    changed: int
    """Number of submissions whose rank differs."""
    leader_changes: bool


class ProfileComparison(ArenaAnswer, frozen=True, kw_only=True):
    """Comparison of two profiles on the same submissions."""

    rows: ClassVar[Rows] = Rows("tasks")

    first: str
    second: str
    submissions: int
    mean_kendall_tau: float | None
    """Mean over tasks that have one."""
    tasks: tuple[TaskUnderProfiles, ...]
    movers: tuple[Mover, ...]
    """The largest rank changes, in descending order."""
    findings: tuple[Finding, ...] = ()
    """Tasks whose category has no weights in one of the profiles."""

    @property
    def about(self) -> str:
        """Profiles, number of submissions and tasks."""
        counts = f"{counted(self.submissions, 'submission')}, {counted(len(self.tasks), 'task')}"
        return f"{self.first} and {self.second}: {counts}"


@arena_question(
    CompareProfilesOptions,
    command="arena compare-profiles",
    path="",
    examples=({"first": "arena-1", "second": "mine.toml"},),
)
def arena_compare_profiles(arena: Arena, options: CompareProfilesOptions) -> ProfileComparison:
    """Return how ranks under the second profile differ from those under the first."""
    first, second = _rules(options.first), _rules(options.second)
    compared: list[TaskUnderProfiles] = []
    moved: list[Mover] = []
    with arena.read() as connection:
        if options.task is not None:
            chosen = {options.task: find_task(connection, options.task, arena.rules)}
        else:
            chosen = load_tasks(connection, arena.rules)
        for name in chosen:
            under_first, under_second = (ranks_under(connection, name, rules) for rules in (first, second))
            if not len(under_first):
                continue
            both = under_first.join(under_second, on="id", suffix="_second", validate="1:1").sort("id")
            compared.append(_compare(name, both))
            moved += _movers(name, both, options.movers)
    taus = [comparison.kendall_tau for comparison in compared if comparison.kendall_tau is not None]
    moved.sort(key=lambda mover: (-abs(mover.first_ranking - mover.second_ranking), mover.task_id, mover.submission_id))
    return ProfileComparison(
        first=first.name,
        second=second.name,
        submissions=sum(comparison.n for comparison in compared),
        mean_kendall_tau=exact_mean(taus) if taus else None,
        tasks=tuple(compared),
        movers=tuple(moved[: options.movers]),
        findings=_findings((first, second), [stored.task for stored in chosen.values()]),
    )


def _rules(profile: ProfileName) -> Rules:
    return read_rules(profile if isinstance(profile, Profile) else load_profile(profile))


def _findings(pair: tuple[Rules, Rules], tasks: Sequence[Task]) -> tuple[Finding, ...]:
    different = pair if pair[0] != pair[1] else pair[:1]
    return tuple(doubt for task in tasks for rules in different if (doubt := rules.finding_about(task)) is not None)


def _compare(task_id: str, both: pl.DataFrame) -> TaskUnderProfiles:
    n = len(both)
    tau = kendall_tau(both["overall"].to_numpy(), both["overall_second"].to_numpy())
    reason = None
    if n < 2:
        reason = f"not enough submissions for a correlation: {n} of 2"
    elif tau is None:
        reason = "all scores are equal under one of the profiles"
    leads = [set(both.filter(both[name] == 1)["id"]) for name in ("overall_ranking", "overall_ranking_second")]
    return TaskUnderProfiles(
        task_id=task_id,
        n=n,
        kendall_tau=tau,
        reason=reason,
        changed=int((both["overall_ranking"] != both["overall_ranking_second"]).sum()),
        leader_changes=leads[0] != leads[1],
    )


def _movers(task_id: str, both: pl.DataFrame, most: int) -> list[Mover]:
    distance = (both["overall_ranking"] - both["overall_ranking_second"]).abs().alias("distance")
    rows = both.with_columns(distance).sort(["distance", "id"], descending=[True, False]).head(most)
    return [
        Mover(
            submission_id=row["id"],
            task_id=task_id,
            first_ranking=row["overall_ranking"],
            second_ranking=row["overall_ranking_second"],
            first_score=points(row["overall"]),
            second_score=points(row["overall_second"]),
        )
        for row in rows.iter_rows(named=True)
        if row["distance"]
    ]


def page(answer: ProfileComparison) -> Page:
    """Return one row per task, then the largest rank changes."""
    tasks, movers = answer.tasks, answer.movers
    leaders = sum(task.leader_changes for task in tasks)
    moved = sum(task.changed for task in tasks)
    columns = (
        pages.id_column("task_id", "task", "tasks", [task.task_id for task in tasks]),
        pages.count_column("n", "submissions", [task.n for task in tasks]),
        pages.number_column("kendall_tau", "Kendall's τ", [task.kendall_tau for task in tasks], places=4),
        pages.count_column("changed", "changed ranks", [task.changed for task in tasks]),
        pages.text_column("leader_changes", "leader", ["new" if task.leader_changes else "same" for task in tasks]),
        *pages.reason_columns([task.reason for task in tasks]),
    )
    changes = pages.PageTable(
        name="movers",
        caption="Largest rank changes",
        columns=(
            pages.id_column("task_id", "task", "tasks", [mover.task_id for mover in movers]),
            pages.id_column("submission_id", "submission", "submissions", [mover.submission_id for mover in movers]),
            pages.count_column("first_ranking", f"rank, {answer.first}", [mover.first_ranking for mover in movers]),
            pages.count_column("second_ranking", f"rank, {answer.second}", [mover.second_ranking for mover in movers]),
            spared(score_column("first_score", f"score, {answer.first}", [mover.first_score for mover in movers])),
            spared(score_column("second_score", f"score, {answer.second}", [mover.second_score for mover in movers])),
        ),
    )
    tau = answer.mean_kendall_tau
    made = pages.Page(
        name="profiles",
        title=f"What would change from {answer.first} to {answer.second}?",
        answer=(
            f"{moved:,} of {counted(answer.submissions, 'rank')} would change, and {leaders:,} of"
            f" {counted(len(tasks), 'task')} would have a new leader."
        ),
        notes=() if tau is None else (f"Mean Kendall's τ over tasks: {tau:.4f}.",),
        table=pages.PageTable(caption="Tasks under both profiles", columns=columns),
        also=(changes,) if movers else (),
        facts=(("profiles", f"{answer.first} and {answer.second}"), ("submissions", f"{answer.submissions:,}")),
    )
    return pages.with_figures(made, answer, ("ranks",))


def _moved_ranks(answer: ProfileComparison, width: int) -> Figure:
    """Draw the largest rank changes between two profiles."""
    changes = [
        Change(f"{each.submission_id} in {each.task_id}", float(each.first_ranking), float(each.second_ranking))
        for each in answer.movers
    ]
    tau = "" if answer.mean_kendall_tau is None else f"; mean Kendall's tau {answer.mean_kendall_tau:.3f}"
    return slopes(
        changes,
        title=f"Ranks under {answer.first} and {answer.second}",
        axis=Axis(title="Rank in the task", low=1, down=True),
        before=answer.first,
        after=answer.second,
        note=f"the {len(changes):,} largest changes among {counted(answer.submissions, 'submission')}{tau}",
        width=width,
    )


DRAWINGS: Mapping[str, Drawing] = {"ranks": _moved_ranks}
"""Figures of the answer."""
