"""Scheduler of trials: limited parallelism, retries after infrastructure failures, and the plan's budget.

The budget is counted over all executions and reserved before a trial starts.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Protocol, TypeAlias

from steelyard.records import sum_in_order
from steelyard.runner._plan_folder import TOUCHED_SECONDS, PlanFolder
from steelyard.runner._plan_records import Budget
from steelyard.runner._trial_records import Ending, ExecutionOutcome, ExecutionResult, Trial, TrialResult

Kind = tuple[str, str | None]
"""An agent and a model: what trials cost is like what others of the same kind cost."""
_SECONDS_AN_HOUR = 3600.0


@dataclass(frozen=True)
class Amounts:
    """What was, or may be, spent; None where it is not known, or not limited."""

    usd: float | None = None
    tokens: float | None = None
    hours: float | None = None


UNITS = ("usd", "tokens", "hours")
_UNKNOWN = {
    "usd": "the cost of trial {trial} is unknown: state the price of its models, or set a budget in tokens",
    "tokens": "the tokens of trial {trial} are unknown: set a budget in hours",
}
_WORDS = {"usd": "${:,.2f}", "tokens": "{:,.0f} tokens", "hours": "{:.2f} hours"}


def amounts_of(result: ExecutionResult) -> Amounts:
    """What an execution is known to have spent. Where calls have no end, that is the least."""
    tokens = result.usage.total if result.usage is not None else None
    cost = result.cost_usd
    if result.is_lower_bound:
        tokens = tokens or 0
        cost = 0.0 if cost is None and result.reserved_usd is not None else cost
    hours = (result.ended_at - result.started_at).total_seconds() / _SECONDS_AN_HOUR
    return Amounts(usd=cost, tokens=tokens, hours=hours)


def reserve_of(result: ExecutionResult) -> Amounts:
    """What the calls of an execution that have no end may have spent in addition."""
    return Amounts(usd=result.reserved_usd, tokens=result.reserved_tokens, hours=0.0)


class Spending:
    """Keeps the budget. Not thread-safe by itself: the scheduler asks under its lock.

    What a trial may spend is set apart for it before it starts, so that trials which run at the same time never spend
    more than there is, however much each of them takes.
    """

    def __init__(self, budget: Budget | None, metered: Iterable[str], *, parallel: int = 1) -> None:
        self._budget = budget or Budget()
        self._metered = frozenset(metered)
        """Labels of the agents that call models; the others spend time alone."""
        self._parallel = parallel
        self._spent = dict.fromkeys(UNITS, 0.0)
        self._kept = dict.fromkeys(UNITS, 0.0)
        """What is kept back for calls without an end."""
        self._reserved: dict[str, Amounts] = {}
        self._most: dict[Kind, dict[str, float]] = {}
        self.unknown: dict[str, str] = {}
        """Agents of which an execution has no known cost although there is a budget for it, with the reason; no trial
        of theirs is started."""

    @property
    def limits(self) -> Amounts:
        """What the whole plan may spend."""
        return Amounts(usd=self._budget.usd, tokens=self._budget.tokens, hours=self._budget.hours)

    @property
    def spent(self) -> Amounts:
        """What is known to have been spent."""
        return Amounts(**self._spent)

    @property
    def kept(self) -> Amounts:
        """What calls without an end may have spent in addition; the budget has to allow for it."""
        return Amounts(**self._kept)

    def add(self, trial: Trial, result: ExecutionResult) -> None:
        """Count an execution."""
        amounts, reserve = amounts_of(result), reserve_of(result)
        most = self._most.setdefault((trial.agent, trial.model), {})
        for unit in UNITS:
            amount, kept = getattr(amounts, unit), getattr(reserve, unit)
            if amount is not None:
                self._spent[unit] += amount
                most[unit] = max(most.get(unit, 0.0), amount)
            if kept is not None:
                self._kept[unit] += kept
            if None in (amount, kept) and getattr(self.limits, unit) is not None and trial.agent in self._metered:
                self.unknown[trial.agent] = _UNKNOWN[unit].format(trial=f"{trial.id}, retry {result.retry}")

    def release(self, trial: Trial) -> None:
        """The trial runs no longer."""
        self._reserved.pop(trial.id, None)

    def reserve(self, trial: Trial) -> Amounts | None:
        """What the trial may spend, now set apart for it; None where what it is expected to spend does not fit."""
        if trial.agent in self.unknown:
            return None
        allowed = {unit: self._share(trial, unit) for unit in UNITS}
        if any(share is not None and share <= 0 for share in allowed.values()):
            return None
        self._reserved[trial.id] = Amounts(**allowed)
        return self._reserved[trial.id]

    def _share(self, trial: Trial, unit: str) -> float | None:
        """What the trial gets of what is left: twice what its kind took at most, or an equal share; 0 if that is less.

        None where nothing limits it.
        """
        hours = trial.time_limit_seconds / _SECONDS_AN_HOUR
        cap: float | None = hours if unit == "hours" else getattr(self._budget, f"trial_{unit}")
        limit: float | None = getattr(self.limits, unit)
        if limit is None or (unit != "hours" and trial.agent not in self._metered):
            return cap if unit != "hours" else None
        reserved = sum_in_order(getattr(each, unit) or 0.0 for each in self._reserved.values())
        left = limit - self._spent[unit] - self._kept[unit] - reserved
        expected = self._most.get((trial.agent, trial.model), {}).get(unit, hours if unit == "hours" else 0.0)
        if expected > left:
            return 0.0
        equal = left / max(1, self._parallel - len(self._reserved))
        return min(max(2 * expected, equal), left, cap if cap is not None else left)

    def is_of_plan(self, allowed: Amounts) -> bool:
        """Whether the plan's budget, not the trial's own, set what a trial may spend."""
        pairs = ((allowed.usd, self._budget.trial_usd), (allowed.tokens, self._budget.trial_tokens))
        return any(share is not None and share != cap for share, cap in pairs)

    def sentence(self) -> str | None:
        """What was spent of what may be, for people; None without a budget."""
        limits, spent, kept = self.limits, self.spent, self.kept
        parts = []
        for unit in UNITS:
            if (limit := getattr(limits, unit)) is None:
                continue
            word, more = _WORDS[unit], getattr(kept, unit)
            reserve = f" and up to {word.format(more)} more for incomplete calls," if more else ""
            parts.append(f"{word.format(getattr(spent, unit))}{reserve} of {word.format(limit)}")
        return ", ".join(parts) or None


SAME_FAILURES = 5
"""Number of identical infrastructure failures in a row after which no trial of the agent is started."""
MAX_WAIT_SECONDS = 300.0
_TICK_SECONDS = 0.1


Finished: TypeAlias = Callable[[Trial, ExecutionOutcome], None]
"""Called for each finished trial, in the thread that ran it."""


class Executor(Protocol):
    """What runs an execution."""

    def attempt(self, trial: Trial, folder: Path, allowed: Amounts, stop: threading.Event) -> ExecutionOutcome:
        """Run the trial in an empty folder, within what it may spend; `stop` ends it early."""

    def interrupted(self, trial: Trial, folder: Path) -> ExecutionOutcome:
        """Return the outcome of an execution whose runner was stopped before it reported one."""


def settled(folder: PlanFolder, trial: Trial, executor: Executor) -> Iterator[tuple[ExecutionOutcome, bool]]:
    """The outcomes of a trial's executions, and which are new: those whose runner was stopped get one now.

    The trial must be claimed.
    """
    for place in folder.executions(trial.id):
        outcome = folder.outcome(place)
        is_new = outcome is None
        if outcome is None:
            outcome = executor.interrupted(trial, place)
            folder.end_execution(place, outcome)
        yield outcome, is_new


@dataclass(frozen=True)
class PlanProgress:
    """How far a plan is."""

    total: int
    """Trials of the plan."""
    done: int
    """Trials with a result."""
    running: int
    """Trials that run now."""
    endings: Mapping[str, int]
    """Endings of the executions of this invocation, by name."""
    spent: str | None
    """Spending and budget; None without a budget."""
    stopped: Mapping[str, str]
    """Agents whose trials are started no more, with the reason."""

    @property
    def sentence(self) -> str:
        """All of it in a line."""
        endings = ", ".join(f"{count:,} {name}" for name, count in sorted(self.endings.items()))
        stopped = ", ".join(f"{agent} stopped ({reason})" for agent, reason in self.stopped.items())
        parts = [f"{self.done:,} of {self.total:,} trials, {self.running:,} running", endings, self.spent, stopped]
        return "; ".join(part for part in parts if part)


@dataclass
class _WaitingTrial:
    """A trial that is to run."""

    trial: Trial
    ready_at: float = 0.0
    failures: int = 0
    """Infrastructure failures so far."""
    executions: list[ExecutionResult] = field(default_factory=list)
    is_claimed: bool = False


class Scheduler:
    """Runs trials in threads, one a running trial."""

    def __init__(
        self,
        folder: PlanFolder,
        trials: Sequence[Trial],
        executor: Executor,
        *,
        spending: Spending,
        parallel: int,
        retries: int,
        retry_wait_seconds: float,
        done: set[str],
        progress: Callable[[PlanProgress], None] | None = None,
        finished: Finished | None = None,
    ) -> None:
        self._folder, self._executor, self._spending = folder, executor, spending
        self._parallel, self._retries, self._retry_wait = parallel, retries, retry_wait_seconds
        self._progress, self._finished = progress, finished
        self._total = len(trials)
        self._done = set(done)
        self._waiting = [_WaitingTrial(trial) for trial in trials if trial.id not in done]
        self._running: dict[str, Trial] = {}
        self._endings: Counter[str] = Counter()
        self._streaks: dict[str, tuple[str, int]] = {}
        self._changed = threading.Condition()
        self._failure: BaseException | None = None
        self._workers = 0
        self._all_ended = threading.Event()
        self.stop = threading.Event()
        self.stopped: dict[str, str] = {}
        """Agents whose trials are started no more, with the reason."""
        self.is_interrupted = False

    def run(self) -> None:
        """Run what is to be run; Ctrl-C, or a request to end, ends what runs and keeps what is done."""
        with self._stopped_by_signals():
            self._run_threads()
        for entry in self._waiting:
            if entry.is_claimed:
                self._folder.release(entry.trial.id)
        if self._failure is not None:
            raise self._failure

    def _run_threads(self) -> None:
        self._workers = min(self._parallel, len(self._waiting))
        for _ in range(self._workers):
            threading.Thread(target=self._work).start()
        touched = time.monotonic()
        while self._workers:
            self._all_ended.wait(_TICK_SECONDS)
            if time.monotonic() - touched >= TOUCHED_SECONDS:
                self._folder.touch_claims()
                touched = time.monotonic()

    @contextmanager
    def _stopped_by_signals(self) -> Iterator[None]:
        """Handled, not raised: an exception could come at any line, also between a claim and its execution."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self.is_interrupted = True
        self._end_early()

    def _end_early(self) -> None:
        self.stop.set()
        with self._changed:
            self._changed.notify_all()

    def _work(self) -> None:
        try:
            while (chosen := self._next()) is not None:
                self._run(*chosen)
        except BaseException as error:  # noqa: BLE001 # it is raised again where the caller sees it
            self._failure = self._failure or error
            self._end_early()
        finally:
            with self._changed:
                self._workers -= 1
                if not self._workers:
                    self._all_ended.set()

    def _next(self) -> tuple[_WaitingTrial, Amounts] | None:
        """The next trial and what it may spend, waited for; None when there is nothing more to start."""
        with self._changed:
            while not self.stop.is_set():
                self._drop_stopped()
                for place, entry in enumerate(self._waiting):
                    if not self._is_ready(entry):
                        continue
                    allowed = self._spending.reserve(entry.trial)
                    if allowed is not None:
                        del self._waiting[place]
                        self._running[entry.trial.id] = entry.trial
                        return entry, allowed
                now = time.monotonic()
                waits = [entry.ready_at - now for entry in self._waiting if entry.ready_at > now]
                if not self._running and not waits:
                    return None
                self._changed.wait(min(waits, default=None))
        return None

    def _is_ready(self, entry: _WaitingTrial) -> bool:
        return entry.ready_at <= time.monotonic() and all(judged in self._done for judged in entry.trial.judged)

    def _drop_stopped(self) -> None:
        """Trials of agents that are stopped wait no longer; they have no result and the next run takes them up."""
        for entry in self._waiting:
            agent = entry.trial.agent
            if agent in self._spending.unknown and agent not in self.stopped:
                self.stopped[agent] = self._spending.unknown[agent]
        if not self.stopped:
            return
        for entry in self._waiting:
            if entry.is_claimed and entry.trial.agent in self.stopped:
                self._folder.release(entry.trial.id)
        self._waiting = [entry for entry in self._waiting if entry.trial.agent not in self.stopped]

    def _run(self, entry: _WaitingTrial, allowed: Amounts) -> None:
        """One execution. What is written is written outside the lock, so that no disk holds the others up."""
        trial, outcome, is_done = entry.trial, None, False
        try:
            if entry.is_claimed or self._claim(entry):
                folder = self._folder.new_execution(trial.id)
                self._report_progress()
                outcome = self._executor.attempt(trial, folder, allowed, self.stop)
                self._folder.end_execution(folder, outcome)
                entry.executions.append(outcome.result)
                is_done = outcome.result.ending.is_final and self._finish(entry, outcome)
            else:
                is_done = self._folder.is_done(trial.id)
        finally:
            with self._changed:
                del self._running[trial.id]
                self._spending.release(trial)
                if is_done:
                    self._done.add(trial.id)
                if outcome is not None:
                    self._after(entry, outcome)
                self._changed.notify_all()
        if is_done and outcome is not None and self._finished is not None:
            self._finished(trial, outcome)
        self._report_progress()

    def _claim(self, entry: _WaitingTrial) -> bool:
        """Whether the trial is ours now; then what earlier executions came to is counted, interrupted ones too."""
        trial = entry.trial
        if not self._folder.claim(trial.id):
            return False
        entry.is_claimed = True
        self._folder.describe(trial)
        for outcome, is_new in settled(self._folder, trial, self._executor):
            if is_new:
                with self._changed:
                    self._spending.add(trial, outcome.result)
            entry.executions.append(outcome.result)
        return True

    def _finish(self, entry: _WaitingTrial, outcome: ExecutionOutcome) -> bool:
        result = TrialResult(
            id=entry.trial.id,
            ending=outcome.result.ending,
            executions=tuple(entry.executions),
            run=outcome.run,
            judgment=outcome.judgment,
            findings=outcome.findings,
        )
        return self._folder.finish(result)

    def _after(self, entry: _WaitingTrial, outcome: ExecutionOutcome) -> None:
        """Count the execution; retry it after an infrastructure failure, or leave it to the next run."""
        trial, ending = entry.trial, outcome.result.ending
        self._spending.add(trial, outcome.result)
        self._endings[ending.name] += 1
        self._watch_streak(trial.agent, ending)
        if ending.is_final:
            return
        entry.failures += 1
        if ending.is_retried and ending.cause != "cancelled" and entry.failures <= self._retries:
            wait = min(self._retry_wait * 2 ** (entry.failures - 1), MAX_WAIT_SECONDS)
            entry.ready_at = time.monotonic() + wait
            self._waiting.insert(0, entry)
        else:
            self._folder.release(trial.id)

    def _watch_streak(self, agent: str, ending: Ending) -> None:
        """Stop an agent that cannot work: its key is rejected, or the same failure repeats."""
        if ending.cause != "infrastructure" or ending.is_final:
            self._streaks.pop(agent, None)
            return
        detail = f"{ending.name}: {ending.detail}" if ending.detail else ending.name
        before, count = self._streaks.get(agent, (detail, 0))
        count = count + 1 if before == detail else 1
        self._streaks[agent] = (detail, count)
        if ending.stops_agent:
            self.stopped[agent] = detail
        elif count >= SAME_FAILURES:
            self.stopped[agent] = f"{detail}, {count} times in a row"

    def _report_progress(self) -> None:
        if self._progress is None:
            return
        with self._changed:
            progress = PlanProgress(
                total=self._total,
                done=len(self._done),
                running=len(self._running),
                endings=dict(self._endings),
                spent=self._spending.sentence(),
                stopped=dict(self.stopped),
            )
        self._progress(progress)

    @property
    def is_over_budget(self) -> bool:
        """Whether trials that could run were not started because the budget does not allow it."""
        return not self.stop.is_set() and any(self._is_ready(entry) for entry in self._waiting)
