"""Show one trial: executions, outcome and files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from steelyard import pages  # its names are imported on first use
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, doc, question
from steelyard.questions.run_list import PlanInput, PlanTrial, cost_column, plan_trial, tokens_column, trial_columns
from steelyard.runner import PlanFolder, TrialState, known_lock, trial_states
from steelyard.settings import named_path

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, PageTable


class RunShowOptions(Options):
    """Options of `run show`."""

    trial: str = doc("Trial id, or a unique prefix.", kw_only=False)


class PlanExecution(Part, frozen=True, kw_only=True):
    """Execution of a trial."""

    retry: int
    """0 for the first execution, 1 for the first retry."""
    ending: str
    cause: str | None
    """Cause of the failure; None without a failure."""
    detail: str | None
    duration_seconds: float
    calls: int | None
    """Number of model calls, without those that the endpoint rejected; None if unknown."""
    failed_calls: int
    """Number of model calls that the endpoint rejected, or that never reached it."""
    tokens: int | None
    """Tokens of all calls; None if unknown."""
    cost_usd: float | None
    """Cost; None if unknown."""
    is_lower_bound: bool
    """Whether tokens and cost are lower bounds because a call has no end."""
    reserved_usd: float | None
    """What calls without an end may have cost in addition, which is charged to the budget; None without a price."""
    folder: str
    """Directory with work, home, output, metering log and verification."""


class TrialDetail(Answer, frozen=True, kw_only=True):
    """One trial of a plan with its executions."""

    rows: ClassVar[Rows] = Rows("executions", keep=("plan", "trial"))
    plan: str
    """Name of the plan."""
    folder: str
    """Results directory of the plan."""
    trial: PlanTrial
    executions: tuple[PlanExecution, ...]
    """In order; none if the trial was not executed yet."""

    @property
    def about(self) -> str:
        """The trial and its state."""
        outcome = self.trial.verdict or self.trial.ending
        return f"{self.plan}: trial {self.trial.id} is {self.trial.state}{f' ({outcome})' if outcome else ''}"


@question(
    RunShowOptions,
    takes="file",
    input_help="Results directory of a plan, such as runs/NAME.",
    examples=({"": "runs/NAME", "trial": "0f3a"},),
    path="",
)
def run_show(folder: PlanInput, options: RunShowOptions) -> TrialDetail:
    r"""Return one trial of a results directory with its executions, found by its id or a unique prefix.

    >>> import steelyard as sy
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     text = '[plan]\nname = "p"\n[[tasks]]\nid = "t"\nprompt = "Do it."\n[[agents]]\nuse = "nop"\n'
    ...     _ = Path(folder, "plan.toml").write_text(text)
    ...     trials = sy.run_list(f"{folder}/plan.toml", pending=True, results=f"{folder}/runs").trials
    ...     sy.run_show(f"{folder}/runs", trials[0].id).trial.state
    'open'
    """
    place = PlanFolder(named_path(folder))
    (state,) = trial_states(place, [place.trial_named(options.trial)])
    return TrialDetail(
        plan=known_lock(place).name,
        folder=str(place.shown),
        trial=plan_trial(place, state),
        executions=tuple(_executions(place, state)),
    )


def _executions(folder: PlanFolder, state: TrialState) -> list[PlanExecution]:
    return [
        PlanExecution(
            retry=result.retry,
            ending=result.ending.name,
            cause=result.ending.cause,
            detail=result.ending.detail,
            duration_seconds=(result.ended_at - result.started_at).total_seconds(),
            calls=result.calls,
            failed_calls=result.failed_calls,
            tokens=result.usage.total if result.usage is not None else None,
            cost_usd=result.cost_usd,
            is_lower_bound=result.is_lower_bound,
            reserved_usd=result.reserved_usd,
            folder=str(folder.shown / "trials" / state.trial.id / f"retry-{result.retry}"),
        )
        for result in state.executions
    ]


def page(answer: TrialDetail) -> Page:
    """Return the trial and one row per execution."""
    return pages.Page(
        name="run-show",
        title=f"Trial {answer.trial.id}",
        answer=f"{answer.about}.",
        table=pages.PageTable(caption="Trial", columns=trial_columns([answer.trial])),
        also=(_execution_table(answer),) if answer.executions else (),
        facts=(("results", answer.trial.folder),),
    )


def _reserves(rows: Sequence[PlanExecution]) -> list[Column]:
    """The reserves, where there are some."""
    reserves = [each.reserved_usd for each in rows]
    if not any(reserves):
        return []
    return [replace(cost_column(reserves), name="reserved_usd", title="reserve")]


def _execution_table(answer: TrialDetail) -> PageTable:
    rows = answer.executions

    def texts(*names: str) -> list[Column]:
        return [pages.text_column(name, name, [getattr(each, name) for each in rows]) for name in names]

    bounds = [each.is_lower_bound for each in rows]
    return pages.PageTable(
        name="executions",
        caption="Executions",
        columns=(
            pages.count_column("retry", "retry", [each.retry for each in rows]),
            *texts("ending", "cause"),
            pages.level_column("duration_seconds", "duration", [each.duration_seconds for each in rows], "s"),
            pages.count_column("calls", "calls", [each.calls for each in rows]),
            pages.count_column("failed_calls", "failed calls", [each.failed_calls for each in rows]),
            tokens_column([each.tokens for each in rows], bounds),
            cost_column([each.cost_usd for each in rows], bounds),
            *_reserves(rows),
            *texts("detail", "folder"),
        ),
    )
