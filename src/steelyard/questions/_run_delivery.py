"""Run: an arena's tasks are a plan's, and finished runs go to the arena as their trials are done."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from steelyard.errors import StoreUnavailableError, UsageError
from steelyard.prices import open_price_table
from steelyard.questions._arena import open_arena
from steelyard.questions._question import command_text
from steelyard.questions.arena.submit_runs import FromRuns, submission_of
from steelyard.records import DecodeError, Finding, Rejected, Run, Task
from steelyard.runner import Ending, ExecutionOutcome, Plan, PlanFolder, PlanTask, Trial
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.arena import Arena

DEFAULT = "arena"
"""What a plan writes for the arena in the default store."""
_MARK = "delivered.json"
"""The file in a trial's folder with the arena's answer."""


def arena_of(address: str) -> Arena:
    """The arena that a plan names; an error where there is none."""
    return open_arena(DEFAULT_STORE if address == DEFAULT else address)


def arena_tasks(plan: Plan) -> list[PlanTask]:
    """Return the tasks of the plan's arena: the title is the prompt, and the arena grades the result.

    Tasks that the plan itself names are left out.
    """
    known = {task.id for task in plan.tasks}
    tasks = [task for task in arena_of(plan.plan.deliver or DEFAULT).tasks() if task.id not in known]
    without = next((task.id for task in tasks if not task.title), None)
    if without is not None:
        hint = "add the task with its prompt to the plan: [[tasks]]"
        raise UsageError(f"the arena's task {without!r} has no title to use as the prompt", hint=hint)
    return [PlanTask(id=task.id, prompt=_prompt(task), category=task.category) for task in tasks]


def _prompt(task: Task) -> str:
    files = [each.file_path for each in task.success_criteria if hasattr(each, "file_path")]
    wanted = f"\n\nRequired output files: {', '.join(files)}." if files else ""
    return f"{task.title}{wanted}"


class Delivery:
    """Submits runs to an arena, each once: what was delivered before is known by a file in its trial's folder."""

    def __init__(self, address: str, folder: PlanFolder, *, tasks: set[str]) -> None:
        self._arena = arena_of(address)
        store = {} if address == DEFAULT else {"store": self._arena.store.address}
        self.leaderboard_command = command_text(["arena", "leaderboard"], [], store)
        """Return the command that shows the leaderboard."""
        self._folder = folder
        self._given = FromRuns(None, open_price_table(), None)
        self._lock = Lock()
        self._rejected: dict[str, Finding] = {}
        missing = sorted(tasks - {task.id for task in self._arena.tasks()})
        if missing:
            hint = "add it (steelyard arena task add FILE) or remove deliver"
            raise UsageError(f"the arena has no task {missing[0]!r}, so its runs cannot be submitted", hint=hint)

    def finished(self, trial: Trial, outcome: ExecutionOutcome) -> None:
        """Deliver the run of a trial that was just finished."""
        self.deliver(trial, outcome.result.ending, outcome.run)

    def deliver(self, trial: Trial, ending: Ending, run: Run | None) -> None:
        """Submit the run of a finished trial, unless the infrastructure failed."""
        mark = self._folder.trial(trial.id) / _MARK
        is_whole = ending.cause in (None, "agent")
        if trial.kind != "run" or trial.is_calibration or run is None or not is_whole or mark.exists():
            return
        with self._lock:  # the store takes one writer at a time, and trials end in threads
            rejection = self._rejection(trial, run)
            if rejection is None:
                mark.write_bytes(msgspec.json.encode({"arena": self._arena.store.address}))
            else:
                self._rejected[trial.id] = Finding(code="not_delivered", message=rejection, where=trial.sentence)

    @property
    def findings(self) -> list[Finding]:
        """Runs that the arena did not take, each with the reason."""
        return list(self._rejected.values())

    def _rejection(self, trial: Trial, run: Run) -> str | None:
        """Why the arena does not take the run; None where it is in the arena now."""
        try:
            submission = submission_of(run, trial.task, self._given)
        except DecodeError as error:
            return f"rejected by the arena: {error.reason}"
        work = self._folder.executions(trial.id)[-1] / "work"
        if work.is_dir() and any(work.iterdir()):
            artifacts = work.relative_to(self._folder.root).as_posix()
            submission = msgspec.structs.replace(submission, artifacts=artifacts)
        try:
            [outcome] = self._arena.submit([submission], artifacts_root=self._folder.root.absolute())
        except StoreUnavailableError as error:
            return f"{error.message}; run the same command again to submit it"
        return f"rejected by the arena: {outcome.reason}" if isinstance(outcome, Rejected) else None
