"""Which trials run, how often, and when no more of them start."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from steelyard.records import Run, Usage
from steelyard.runner import Budget, Ending, ExecutionOutcome, ExecutionResult, PlanFolder, Trial
from steelyard.runner._scheduler import SAME_FAILURES, Amounts, PlanProgress, Scheduler, Spending

PASSED = Ending(name="passed")
CRASHED = Ending(name="agent_crashed", cause="agent", detail="exit status 1")
SATURATED = Ending(name="endpoint_saturated", cause="infrastructure", is_retried=True, detail="429")
REFUSED = Ending(name="not_started", cause="infrastructure", stops_agent=True, detail="401")


class Scripted:
    """Ends each execution as it is told."""

    def __init__(self, ending: Callable[[Trial, int], Ending], *, tokens: Callable[[Trial], int] | None = None) -> None:
        self._ending, self._tokens = ending, tokens
        self.executed: Counter[str] = Counter()
        self.together = self.max_together = 0
        self._lock = threading.Lock()

    def attempt(self, trial: Trial, folder: Path, allowed: Amounts, stop: threading.Event) -> ExecutionOutcome:
        with self._lock:
            self.executed[trial.id] += 1
            number = self.executed[trial.id]
            self.together += 1
            self.max_together = max(self.max_together, self.together)
        time.sleep(0.001)
        with self._lock:
            self.together -= 1
        if stop.is_set():
            return self._outcome(trial, folder, Ending(name="cancelled", cause="cancelled", is_retried=True), 0)
        used = self._tokens(trial) if self._tokens else 0
        if allowed.tokens is not None and used > allowed.tokens:
            return self._outcome(trial, folder, CRASHED, int(allowed.tokens))  # the metering proxy refuses more
        return self._outcome(trial, folder, self._ending(trial, number), used)

    def interrupted(self, trial: Trial, folder: Path) -> ExecutionOutcome:
        return self._outcome(trial, folder, Ending(name="interrupted", cause="cancelled", is_retried=True), 0)

    def _outcome(self, trial: Trial, folder: Path, ending: Ending, used: int) -> ExecutionOutcome:
        at = datetime(2026, 11, 16, tzinfo=UTC)
        result = ExecutionResult(
            retry=int(folder.name.removeprefix("retry-")),
            ending=ending,
            started_at=at,
            ended_at=at + timedelta(seconds=36),
            usage=Usage(input_tokens=used),
        )
        return ExecutionOutcome(result=result, run=Run(task=trial.task))


def trials(count: int, agents: Sequence[str] = ("a",)) -> list[Trial]:
    return [
        Trial(id=f"{number:016x}", task="t", agent=agents[number % len(agents)], time_limit_seconds=36.0)
        for number in range(count)
    ]


def scheduled(
    folder: Path,
    listed: Sequence[Trial],
    executor: Scripted,
    *,
    budget: Budget | None = None,
    parallel: int = 4,
    retries: int = 2,
    tell: Callable[[PlanProgress], None] | None = None,
) -> Scheduler:
    place = PlanFolder(folder)
    spending = Spending(budget, {trial.agent for trial in listed}, parallel=parallel)
    scheduler = Scheduler(
        place,
        listed,
        executor,
        spending=spending,
        parallel=parallel,
        retries=retries,
        retry_wait_seconds=0.001,
        done=place.finished(),
        progress=tell,
    )
    scheduler.run()
    return scheduler


def test_every_trial_runs_once_and_so_many_at_a_time(tmp_path: Path) -> None:
    executor = Scripted(lambda _trial, _number: PASSED)
    told: list[PlanProgress] = []
    scheduled(tmp_path, trials(30), executor, parallel=4, tell=told.append)
    assert set(executor.executed.values()) == {1}
    assert len(executor.executed) == 30
    assert 1 < executor.max_together <= 4
    assert len(PlanFolder(tmp_path).finished()) == 30
    assert (told[-1].done, told[-1].total, told[-1].endings) == (30, 30, {"passed": 30})
    assert not list(tmp_path.rglob("claim"))


def test_only_infrastructure_failures_are_tried_again_and_every_try_is_kept(tmp_path: Path) -> None:
    listed = trials(2, ["unlucky", "bad"])
    executor = Scripted(lambda trial, number: CRASHED if trial.agent == "bad" else SATURATED if number < 3 else PASSED)
    scheduled(tmp_path, listed, executor)
    assert dict(executor.executed) == {listed[0].id: 3, listed[1].id: 1}
    result = PlanFolder(tmp_path).result(listed[0].id)
    assert result is not None
    assert [each.ending.name for each in result.executions] == ["endpoint_saturated", "endpoint_saturated", "passed"]


def test_a_trial_without_a_result_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    listed = trials(1)
    scheduled(tmp_path, listed, Scripted(lambda *_: SATURATED), retries=1)
    place = PlanFolder(tmp_path)
    assert not place.is_done(listed[0].id)
    assert len(place.executions(listed[0].id)) == 2
    scheduled(tmp_path, listed, Scripted(lambda *_: PASSED))
    result = place.result(listed[0].id)
    assert result is not None
    assert [each.retry for each in result.executions] == [0, 1, 2]


def test_the_same_failure_again_and_again_stops_the_agent_and_no_other(tmp_path: Path) -> None:
    listed = trials(40, ["broken", "fine"])
    executor = Scripted(lambda trial, _number: SATURATED if trial.agent == "broken" else PASSED)
    scheduler = scheduled(tmp_path, listed, executor, parallel=1)
    assert scheduler.stopped == {"broken": f"endpoint_saturated: 429, {SAME_FAILURES} times in a row"}
    assert sum(count for trial, count in executor.executed.items() if int(trial, 16) % 2 == 0) == SAME_FAILURES
    assert len(PlanFolder(tmp_path).finished()) == 20
    assert not list(tmp_path.rglob("claim"))


def test_a_success_in_between_ends_the_row(tmp_path: Path) -> None:
    listed = trials(30)
    failing = Scripted(lambda trial, _number: PASSED if int(trial.id, 16) % 4 == 0 else SATURATED)
    scheduler = scheduled(tmp_path, listed, failing, parallel=1, retries=0)
    assert scheduler.stopped == {}  # three failures, then a success


def test_a_refused_key_stops_the_agent_at_once(tmp_path: Path) -> None:
    executor = Scripted(lambda *_: REFUSED)
    scheduler = scheduled(tmp_path, trials(20), executor, parallel=1)
    assert sum(executor.executed.values()) == 1
    assert scheduler.stopped == {"a": "not_started: 401"}


@pytest.mark.parametrize("seed", range(20))
def test_trials_never_spend_more_than_the_plan_has(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    limit = chance.randint(1, 2000)
    used = {trial.id: chance.choice([1, 10, 100, 900]) for trial in trials(40)}
    executor = Scripted(lambda *_: PASSED, tokens=lambda trial: used[trial.id])
    scheduled(tmp_path, trials(40), executor, budget=Budget(tokens=limit), parallel=chance.randint(1, 8))
    results = PlanFolder(tmp_path).results()
    spent = sum(each.usage.total or 0 for result in results for each in result.executions if each.usage)
    assert spent <= limit
    assert spent == sum(used.values()) or len(executor.executed) < 40 or spent > 0


def test_the_budget_leaves_trials_for_later_and_says_so(tmp_path: Path) -> None:
    executor = Scripted(lambda *_: PASSED, tokens=lambda _trial: 100)
    scheduler = scheduled(tmp_path, trials(20), executor, budget=Budget(tokens=1000), parallel=2)
    assert len(PlanFolder(tmp_path).finished()) == 10
    assert scheduler.is_over_budget
    assert not scheduled(tmp_path / "more", trials(3), executor, budget=Budget(tokens=1000)).is_over_budget


def test_hours_are_spent_by_executions(tmp_path: Path) -> None:
    executor = Scripted(lambda *_: PASSED)  # each takes 36 seconds, 0.01 hours
    scheduled(tmp_path, trials(20), executor, budget=Budget(hours=0.05), parallel=1)
    assert len(PlanFolder(tmp_path).finished()) == 5


def test_a_cost_that_is_not_known_stops_the_agent_and_says_why(tmp_path: Path) -> None:
    executor = Scripted(lambda *_: PASSED)  # states tokens, no cost
    listed = trials(20)
    scheduler = scheduled(tmp_path, listed, executor, budget=Budget(usd=1.0), parallel=1)
    assert len(PlanFolder(tmp_path).finished()) == 1
    reason = f"the cost of trial {listed[0].id}, retry 0 is unknown: state the price of its models"
    assert [text.partition(", or")[0] for text in scheduler.stopped.values()] == [reason]
    assert not scheduler.is_over_budget


def test_a_judge_waits_for_what_it_judges(tmp_path: Path) -> None:
    run, *_ = trials(1)
    judge = Trial(id="f" * 16, kind="judge", task="t", agent="j", time_limit_seconds=1.0, judged=(run.id,))
    seen: list[bool] = []

    def ending(trial: Trial, _number: int) -> Ending:
        if trial.kind == "judge":
            seen.append(PlanFolder(tmp_path).is_done(run.id))
        return PASSED

    scheduled(tmp_path, [judge, run], Scripted(ending))
    assert seen == [True]
    other = tmp_path / "other"
    executor = Scripted(lambda *_: SATURATED)
    scheduled(other, [judge, run], executor, retries=0)
    assert list(executor.executed) == [run.id]  # there is nothing to judge


def test_what_the_executor_raises_reaches_the_caller(tmp_path: Path) -> None:
    def ending(_trial: Trial, _number: int) -> Ending:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        scheduled(tmp_path, trials(5), Scripted(ending))


def test_a_trial_of_another_runner_is_left_to_it(tmp_path: Path) -> None:
    listed = trials(2)
    assert PlanFolder(tmp_path).claim(listed[0].id)
    executor = Scripted(lambda *_: PASSED)
    scheduled(tmp_path, listed, executor)
    assert list(executor.executed) == [listed[1].id]


def test_a_try_that_was_cut_off_is_counted(tmp_path: Path) -> None:
    listed = trials(1)
    place = PlanFolder(tmp_path)
    assert place.claim(listed[0].id)
    place.new_execution(listed[0].id)
    place.release(listed[0].id)
    scheduled(tmp_path, listed, Scripted(lambda *_: PASSED))
    result = place.result(listed[0].id)
    assert result is not None
    assert [each.ending.name for each in result.executions] == ["interrupted", "passed"]
