"""Checking finished work again, without running any agent: after a task's verification was mended."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from steelyard.runner._executor import PlanExecutor
from steelyard.runner._folders import PlanFolder
from steelyard.runner._trial_records import Trial, TrialResult

_KEPT = ("work", "home", "stdout", "stderr", "metering.jsonl", "evidence.json", "started.json")


def regrade(
    folder: PlanFolder, trials: Sequence[Trial], executor: PlanExecutor, *, parallel: int, stop: threading.Event
) -> None:
    """Verify the work of every trial that has some, under its own id or under that of earlier checks."""
    works = folder.done_works()
    with ThreadPoolExecutor(parallel) as pool:
        waiting = [
            pool.submit(_regrade_trial, folder, trial, works.get(trial.work), executor, stop)
            for trial in trials
            if trial.kind == "run"
        ]
        try:
            for future in waiting:
                future.result()
        except BaseException:
            stop.set()  # Ctrl-C: what runs is ended, what waits is not begun
            pool.shutdown(cancel_futures=True)
            raise


def _regrade_trial(
    folder: PlanFolder, trial: Trial, other: str | None, executor: PlanExecutor, stop: threading.Event
) -> None:
    before = folder.result(trial.id)
    source = trial.id if before is not None else other
    result = before if before is not None or other is None else folder.result(other)
    if source is None or result is None or not folder.claim(trial.id, again=True):
        return
    try:
        last = folder.executions(source)[-1]
        if source != trial.id:
            folder.describe(trial)
            last = _taken_over(folder, trial, source)
        outcome = executor.regraded(trial, last, stop)
        if outcome is None or not outcome.result.ending.is_final:
            return
        executions = (*result.executions[:-1], outcome.result)
        regraded = TrialResult(
            id=trial.id, ending=outcome.result.ending, executions=executions, run=outcome.run, findings=outcome.findings
        )
        folder.end_execution(last, outcome)
        folder.finish(msgspec.structs.replace(regraded, judgment=result.judgment))
    finally:
        folder.release(trial.id)


def _taken_over(folder: PlanFolder, trial: Trial, source: str) -> Path:
    """A copy of the last execution of another trial: what the agent did is the same, whatever it is checked by."""
    last = folder.executions(source)[-1]
    copy = folder.trial(trial.id) / last.name
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in _KEPT:
        if (last / name).is_dir():
            shutil.copytree(last / name, copy / name, symlinks=True)
        elif (last / name).is_file():
            shutil.copy2(last / name, copy / name, follow_symlinks=False)
    return copy
