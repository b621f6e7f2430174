"""List the trials of a plan with their outcomes.

Takes a plan file or its results directory, such as runs/NAME.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from steelyard import pages  # its names are imported on first use
from steelyard.errors import UsageError
from steelyard.formatting import counted, table_format
from steelyard.option_names import option
from steelyard.questions._answer import Answer, Part, Rows
from steelyard.questions._question import Options, doc, question
from steelyard.runner import (
    OpenedPlan,
    Plan,
    PlanFolder,
    PlanTask,
    Trial,
    TrialState,
    known_amounts,
    known_lock,
    list_trials,
    open_plan,
    trial_states,
)
from steelyard.settings import named_path

if TYPE_CHECKING:
    from steelyard.pages import Column, Page, Style

PlanInput: TypeAlias = str | Path
RUNS = Path("runs")
"""Default parent directory of plan results."""
TERMINAL_ROWS = 200
"""Trials that a terminal shows."""
VERDICTS: Mapping[bool | None, Literal["passed", "failed"] | None] = {True: "passed", False: "failed", None: None}
STATE_STYLES: dict[str, Style] = {"done": "green", "unfinished": "red"}


class RunListOptions(Options):
    """Options of `run list`."""

    pending: bool = doc("Print only the ids of pending trials, one per line.", default=False)
    results: Path | None = doc(
        "Results directory of a plan file (default: runs/NAME, where NAME is set in the plan).", default=None
    )


class PlanTrial(Part, frozen=True, kw_only=True):
    """Trial of a plan."""

    id: str
    kind: Literal["run", "judge"]
    task: str
    agent: str
    model: str | None
    tier: str | None
    setting: str | None
    attempt: int
    state: Literal["done", "unfinished", "open"]
    ending: str | None
    """Ending of the last execution; None if there is none."""
    verdict: Literal["passed", "failed"] | None
    """Verdict of the check; None without a verdict."""
    detail: str | None
    """Details of the ending."""
    retries: int
    """Executions beyond the first."""
    cost_usd: float | None
    """Cost of the last execution, as in the run record; None if unknown."""
    is_lower_bound: bool
    """Whether the cost is a lower bound."""
    retry_cost_usd: float | None
    """Cost of the earlier executions, which is not in the run record; None if there are none, or unknown."""
    folder: str
    """Directory of the trial."""


class PlanTrials(Answer, frozen=True, kw_only=True):
    """Trials of a plan with their outcomes."""

    rows: ClassVar[Rows] = Rows("trials")
    plan: str
    """Name of the plan."""
    folder: str
    """Results directory."""
    is_pending: bool
    """Whether only trials without a result are listed."""
    trials: tuple[PlanTrial, ...]

    @property
    def about(self) -> str:
        """Number of trials and of finished trials."""
        done = sum(trial.state == "done" for trial in self.trials)
        return f"{self.plan}: {counted(len(self.trials), 'trial')}, {done:,} done"


@question(
    RunListOptions,
    takes="file",
    input_help="Plan file, or its results directory (runs/NAME).",
    examples=({"": "runs/NAME"}, {"": "plan.toml", "pending": True}),
    path="",
)
def run_list(plan: PlanInput, options: RunListOptions) -> PlanTrials:
    r"""List the trials of a plan file or of its results directory, with their outcomes.

    With `pending`, list those without a result; a plan file then gets its results directory.

    >>> import steelyard as sy
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     text = '[plan]\nname = "p"\n[[tasks]]\nid = "t"\nprompt = "Do it."\n[[agents]]\nuse = "nop"\n'
    ...     _ = Path(folder, "plan.toml").write_text(text)
    ...     sy.run_list(f"{folder}/plan.toml", pending=True, results=f"{folder}/runs")
    PlanTrials(p: 1 trial, 0 done)
    """
    path = named_path(plan)
    if path.is_dir() or not (path.is_file() or options.pending):
        folder = PlanFolder(path)
        return listed(folder, folder.trials(), is_pending=options.pending)
    opened = open_plan(path, more_tasks=more_tasks)
    folder = plan_folder(opened, options.results, name="results")
    trials = list_trials(opened, folder) if options.pending else folder.trials()
    return listed(folder, trials, is_pending=options.pending)


def more_tasks(plan: Plan) -> list[PlanTask]:
    """Return the tasks of the plan's arena."""
    from steelyard.questions._run_delivery import arena_tasks  # brings the arena and its store

    return arena_tasks(plan)


def plan_folder(opened: OpenedPlan, given: Path | None, *, name: str = "out") -> PlanFolder:
    """Return the results directory: the one that the option of that name gives, or the default."""
    root = RUNS / opened.read.plan.name if given is None else named_path(given)
    if root.is_file():
        hint = f"pass a directory: {option(name, 'DIR')}"
        raise UsageError("is a file, not a directory", where=str(root), hint=hint)
    return PlanFolder(root)


def listed(folder: PlanFolder, trials: Sequence[Trial], *, is_pending: bool = False) -> PlanTrials:
    """Return these trials of a results directory, or those of them without a result."""
    states = trial_states(folder, trials)
    return of_states(
        folder, (state for state in states if not (is_pending and state.state == "done")), is_pending=is_pending
    )


def of_states(folder: PlanFolder, states: Iterable[TrialState], *, is_pending: bool = False) -> PlanTrials:
    """Return the trials in these states."""
    return PlanTrials(
        plan=known_lock(folder).name,
        folder=str(folder.shown),
        is_pending=is_pending,
        trials=tuple(plan_trial(folder, state) for state in states),
    )


def plan_trial(folder: PlanFolder, state: TrialState) -> PlanTrial:
    """Return a trial with its outcome."""
    trial = state.trial
    last, earlier = known_amounts(state.last), known_amounts(state.earlier)
    return PlanTrial(
        id=trial.id,
        kind=trial.kind,
        task=trial.task,
        agent=trial.agent,
        model=trial.model,
        tier=trial.tier,
        setting=setting_text(trial),
        attempt=trial.attempt,
        state=state.state,
        ending=state.ending.name if state.ending else None,
        verdict=VERDICTS[state.run.verdict if state.run else None] if state.state == "done" else None,
        detail=state.ending.detail if state.ending else None,
        retries=max(len(state.executions) - 1, 0),
        cost_usd=last.cost_usd,
        is_lower_bound=last.is_lower_bound,
        retry_cost_usd=earlier.cost_usd,
        folder=str(folder.shown / "trials" / trial.id),
    )


def setting_text(trial: Trial) -> str | None:
    """Return the setting of a trial: `effort=high`."""
    return ",".join(f"{name}={value}" for name, value in sorted(trial.setting.items())) or None


def page(answer: PlanTrials) -> Page:
    """Return one row per trial; of pending trials a terminal shows only the ids, for other programs."""
    table = pages.PageTable(
        caption="Trials",
        columns=trial_columns(answer.trials),
        terminal_rows=TERMINAL_ROWS,
        is_folded=answer.is_pending,
    )
    return pages.Page(
        name="run-list",
        title="How far along is the plan?",
        answer="" if answer.is_pending else f"{answer.about}.",
        notes=tuple(trial.id for trial in answer.trials) if answer.is_pending else (),
        table=table,
        facts=(("results", answer.folder),),
    )


def trial_columns(trials: Sequence[PlanTrial]) -> tuple[Column, ...]:
    """Return the columns of trials."""

    def texts(*names: str) -> list[Column]:
        return [pages.text_column(name, name, [getattr(trial, name) for trial in trials]) for name in names]

    states = pages.Column(
        name="state",
        title="state",
        values=[trial.state for trial in trials],
        styles=[STATE_STYLES.get(trial.state) for trial in trials],
    )
    return (
        *texts("id"),
        states,
        *texts("ending", "verdict", "task", "agent", "model", "tier", "setting"),
        replace(pages.count_column("attempt", "attempt", [trial.attempt for trial in trials]), spare=1),
        replace(pages.count_column("retries", "retries", [trial.retries for trial in trials]), spare=2),
        cost_column([trial.cost_usd for trial in trials], [trial.is_lower_bound for trial in trials]),
        *texts("detail"),
    )


def cost_column(costs: Sequence[float | None], at_least: Sequence[bool] = ()) -> Column:
    """Return costs; `at_least` says which are lower bounds."""
    numbers = table_format(costs, "USD")
    bounds = at_least or [False] * len(costs)
    texts = [_lower_bound(numbers.text(cost), is_bound) for cost, is_bound in zip(costs, bounds, strict=True)]
    return pages.Column(name="cost_usd", title="cost", values=costs, decimals=6, texts=texts)


def tokens_column(counts: Sequence[int | None], at_least: Sequence[bool]) -> Column:
    """Return numbers of tokens; `at_least` says which are lower bounds."""
    texts = [
        _lower_bound(pages.number_text(count, "tokens"), is_bound)
        for count, is_bound in zip(counts, at_least, strict=True)
    ]
    return pages.Column(name="tokens", title="tokens", values=counts, decimals=0, texts=texts)


def _lower_bound(text: str, is_bound: bool) -> str:
    """Return the text of a number, marked if it is a lower bound."""
    return f"at least {text}" if is_bound and text != pages.DASH else text
