"""One try of one cell, from an empty folder to a Run."""

from __future__ import annotations

import shutil
import subprocess
import threading
from datetime import UTC, datetime
from pathlib import Path

from steelyard.errors import Interrupted
from steelyard.files import whole_file
from steelyard.records import Failure, Run
from steelyard.runner._budgets import Amounts
from steelyard.runner._cell_records import Cell, Ending, TryOutcome, TryResult
from steelyard.runner._cells import tier_scheme_of
from steelyard.runner._plan import PlanRead
from steelyard.runner._plan_records import PlanTask, seconds_of
from steelyard.sandbox import Limits, SandboxResult, run as run_sandboxed

VERIFY_TIME_LIMIT = "10m"


class PlanExecutor:
    """Runs the tries of a plan."""

    def __init__(self, read: PlanRead, *, unsafe: bool = False) -> None:
        self._read, self._unsafe = read, unsafe

    def attempt(self, cell: Cell, folder: Path, allowed: Amounts, stop: threading.Event) -> TryOutcome:
        """Run the cell in an empty folder; `stop` ends it early."""
        del allowed
        started = datetime.now(UTC)
        task, use = self._read.task_of(cell.task), self._read.use_of(cell.agent)
        work = folder / "work"
        if task.work:
            shutil.copytree(self._read.path_of(task.work), work, symlinks=True)
        else:
            work.mkdir()
        try:
            if use.use == "oracle":
                self._solve(task, work)
            elif use.use == "command":
                self._command(use.command, cell, folder, stop)
            ending = self._verified(task, work, stop)
        except Interrupted:
            ending = Ending(name="cancelled", cause="cancelled", is_retried=True)
        ended = datetime.now(UTC)
        number = int(folder.name.removeprefix("try-"))
        result = TryResult(number=number, ending=ending, started_at=started, ended_at=ended)
        return TryOutcome(result=result, run=self._run(cell, result))

    def interrupted(self, cell: Cell, folder: Path) -> TryOutcome:
        """What became of a try whose runner was stopped before it could say."""
        ending = Ending(name="interrupted", cause="cancelled", is_retried=True)
        started = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
        number = int(folder.name.removeprefix("try-"))
        result = TryResult(number=number, ending=ending, started_at=started, ended_at=started, is_lower_bound=True)
        return TryOutcome(result=result, run=self._run(cell, result))

    def _solve(self, task: PlanTask, work: Path) -> None:
        solution = self._read.path_of(task.oracle or "")
        if solution.is_dir():
            shutil.copytree(solution, work, symlinks=True, dirs_exist_ok=True)
        else:
            line = ["patch", "-p1", "-s", "-d", str(work), "-i", str(solution)]
            subprocess.run(line, check=True, capture_output=True)  # noqa: S603

    def _command(self, command: tuple[str, ...], cell: Cell, folder: Path, stop: threading.Event) -> SandboxResult:
        packed = "sh -c '\"$@\"; s=$?; tar cf .work.tar --exclude=.work.tar . && exit $s' sh"
        limits = Limits(wall_seconds=cell.time_limit_seconds, processes=256, open_files=1024)
        line = ["sh", "-c", f'{packed} "$@"', "sh", *command]
        result = run_sandboxed(
            line, copy=folder / "work", limits=limits, collect=[".work.tar"], unsafe=self._unsafe, stop=stop
        )
        (folder / "stdout").write_bytes(result.stdout)
        (folder / "stderr").write_bytes(result.stderr)
        if content := result.collected.get(".work.tar"):
            subprocess.run(["tar", "xf", "-", "-C", folder / "work"], input=content, check=True)  # noqa: S603, S607
        return result

    def _verified(self, task: PlanTask, work: Path, stop: threading.Event) -> Ending:
        if task.verify is None:
            return Ending(name="not_scored")
        verify = task.verify
        hidden = self._read.path_of(verify.hidden) if verify.hidden else None
        files = (
            {str(path.relative_to(hidden)): whole_file(path) for path in hidden.rglob("*") if path.is_file()}
            if hidden
            else {}
        )
        limits = Limits(wall_seconds=seconds_of(verify.time_limit or VERIFY_TIME_LIMIT))
        result = run_sandboxed(verify.command, copy=work, files=files, limits=limits, unsafe=self._unsafe, stop=stop)
        return Ending(name="passed" if result.ok else "failed", detail=None if result.ok else result.ending)

    def _run(self, cell: Cell, result: TryResult) -> Run:
        ending = result.ending
        verdict = {"passed": True, "failed": False}.get(ending.name)
        return Run(
            id=cell.id,
            experiment=self._read.plan.name,
            task=cell.task,
            agent=cell.agent,
            model=cell.model,
            tier=cell.tier,
            tier_scheme=tier_scheme_of(self._read),
            attempt=cell.attempt,
            started_at=result.started_at,
            ended_at=result.ended_at,
            passed=verdict,
            outcome="errored" if ending.cause else None if verdict is not None else "not_scored",
            failure=Failure(cause=ending.cause, message=ending.detail) if ending.cause else None,
            extra={"x_ending": ending.name, "x_cell": cell.id, "x_try": result.number},
        )
