"""Executor of a plan: runs the executions of trials, determines how they ended, and verifies finished work again.

The ending is based on evidence, never on the agent's claims and rarely on its exit status. Infrastructure failures
are retried. Everything that the agent caused counts and is verified like other work: otherwise an agent that crashes
where it would have failed would look better.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec

from steelyard.errors import AbortedError
from steelyard.prices import DEFAULT_PRICE_TABLE, PriceTable, add_pico, cost_of, in_usd, open_price_table, token_cost
from steelyard.records import Run, calls_in
from steelyard.runner._call_transcript import TRANSCRIPT
from steelyard.runner._execution import ExecutionEvidence, Job, execute_trial, shown_command
from steelyard.runner._judges import judge_as_agent, judge_trial
from steelyard.runner._metering_proxy import MeteringProxy
from steelyard.runner._metering_records import (
    KEY_REJECTED,
    NO_TOKENS,
    UNFINISHED_CALLS,
    CallLimits,
    EndpointPriceTable,
    MeteredCall,
    ResolvedEndpoint,
    charge_of,
    read_call_log,
    reserve_of,
)
from steelyard.runner._plan import PlanRead, value_of
from steelyard.runner._plan_folder import PlanFolder, machine, read_record, started_at
from steelyard.runner._plan_records import Budget, PlanTask
from steelyard.runner._run_of_trial import run_of_trial
from steelyard.runner._scheduler import Amounts, Spending
from steelyard.runner._scripted import SCRIPTED, ScriptedModel
from steelyard.runner._trial_records import Ending, ExecutionOutcome, ExecutionResult, Trial, TrialResult
from steelyard.runner._trials import task_digest, tier_scheme_of
from steelyard.runner._verification import References, VerifyEvidence, verify
from steelyard.version import __version__

NOT_ALLOWED = frozenset({401, 402, 403})
"""Statuses that no other execution will change."""
_USED_UP = ("insufficient_quota", "billing", "credit", "payment")
"""Parts of what endpoints call the error of an account that is used up."""
_LAST_CALLS = 3
_BUDGETS = {"trial_usd": "its dollar budget", "trial_tokens": "its token budget"}
_COUNTLESS = {
    "usage_unknown": "the endpoint does not report usage, so no budget can be enforced",
    "price_unknown": "the price of the responding model is unknown, so no budget can be enforced",
}


def ending_of(evidence: ExecutionEvidence, verified: VerifyEvidence | None = None) -> Ending:
    """How the execution ended; once its work is verified, with the verdict."""
    ending = _without_verdict(evidence)
    if verified is None or not ending.is_verified:
        return ending
    if verified.problem is not None and verified.is_host:
        return Ending(name="verifier_broken", cause="infrastructure", detail=verified.problem)
    if ending.cause is not None:
        return ending  # both facts are kept: the Run has the verdict as well
    if verified.problem is not None:
        return Ending(
            name="not_scored", detail=f"{verified.problem}; without a reference solution, the cause is unknown"
        )
    if verified.passed:
        return Ending(name="passed")
    return Ending(
        name="failed", cause="agent" if verified.rejected else None, detail=verified.rejected or verified.ending
    )


def _without_verdict(evidence: ExecutionEvidence) -> Ending:
    calls = evidence.count.calls if evidence.count is not None else ()
    if evidence.ended_by == "cancelled":
        return Ending(name="cancelled", cause="cancelled", detail="cancelled")
    rejection = evidence.count.rejection if evidence.count is not None else None
    if rejection == KEY_REJECTED:
        return _key_rejected(calls)
    if evidence.ended_by == "budget" or rejection in (*_BUDGETS, *_COUNTLESS, UNFINISHED_CALLS):
        return _of_a_rejection(evidence)
    if evidence.start_error is not None:
        detail = f"the agent did not start: {evidence.start_error}"
        return Ending(name="not_started", cause="infrastructure", stops_agent=True, detail=detail)
    if evidence.limit_hit is not None:
        return _agents(f"limit_{evidence.limit_hit}", f"stopped at the {evidence.limit_hit} limit")
    if calls and not any(call.is_successful for call in calls):
        return _never_answered(calls, evidence)
    if not calls and evidence.needs_calls:
        return _never_asked(evidence)
    return _after_calls(calls, evidence)


def _after_calls(calls: Sequence[MeteredCall], evidence: ExecutionEvidence) -> Ending:
    """How an execution ended that made its calls, or needed none: by the time limit, the endpoint or the agent."""
    if evidence.ended_by == "time_limit":
        if _is_saturated(calls):
            detail = f"the time limit was reached; the endpoint failed {_failed(calls)} of {len(calls)} calls"
            return Ending(name="endpoint_saturated", cause="infrastructure", is_retried=True, detail=detail)
        return _agents("agent_timeout", f"the time limit was reached after {_calls(calls)}")
    if (last := _last_call(calls)) is not None and _is_endpoints_fault(last):
        detail = f"the agent's last model call failed: {_reason(last)} ({_how_it_ended(evidence)})"
        return Ending(name="endpoint_failed", cause="infrastructure", is_retried=True, detail=detail)
    if evidence.exit_status != 0:
        return _agents("agent_crashed", _how_it_ended(evidence))
    return Ending(name="not_scored", is_verified=True)


def _agents(name: str, detail: str) -> Ending:
    return Ending(name=name, cause="agent", is_verified=True, detail=detail)


def _of_a_rejection(evidence: ExecutionEvidence) -> Ending:
    rejection = evidence.count.rejection if evidence.count is not None else None
    if rejection in _COUNTLESS:
        return Ending(name="not_counted", cause="infrastructure", stops_agent=True, detail=_COUNTLESS[rejection])
    if evidence.count is not None and rejection == UNFINISHED_CALLS:
        detail = "incomplete calls may have used up the trial's budget"
        if any(call.is_lower_bound and not call.was_aborted for call in evidence.count.calls):
            return Ending(name="endpoint_failed", cause="infrastructure", is_retried=True, detail=detail)
        return _agents("budget_trial", detail)
    if rejection in _BUDGETS:
        return _agents("budget_trial", f"the trial used up {_BUDGETS[rejection]}")
    return Ending(name="cancelled", cause="cancelled", detail=f"calls were rejected: {rejection or 'budget'}")


def _never_answered(calls: Sequence[MeteredCall], evidence: ExecutionEvidence) -> Ending:
    last = next((call for call in reversed(calls) if call.status is not None), calls[-1])
    is_final = last.status in NOT_ALLOWED or any(_is_used_up(call) for call in calls)
    reason = _reason(last)
    if evidence.ended_by == "time_limit" and _is_saturated(calls) and not is_final:
        detail = f"the time limit was reached; the endpoint rejected all {_calls(calls)} ({reason})"
        return Ending(name="endpoint_saturated", cause="infrastructure", is_retried=True, detail=detail)
    return Ending(
        name="not_started",
        cause="infrastructure",
        is_retried=not is_final,
        stops_agent=is_final,
        detail=f"no model call succeeded: {_calls(calls)}, the last with {reason}",
    )


def _never_asked(evidence: ExecutionEvidence) -> Ending:
    detail = f"the agent made no model call ({_how_it_ended(evidence)})"
    return Ending(name="not_started", cause="infrastructure", is_retried=True, detail=detail)


def _is_used_up(call: MeteredCall) -> bool:
    """Whether calls were rejected because the account is used up, not because of a rate limit."""
    return any(word in (call.error_code or "").lower() for word in _USED_UP)


def _key_rejected(calls: Sequence[MeteredCall]) -> Ending:
    is_started = any(call.is_successful for call in calls)
    return Ending(
        name="endpoint_failed" if is_started else "not_started",
        cause="infrastructure",
        stops_agent=True,
        detail=f"the endpoint rejected the key ({_calls(calls)}, the last with {_reason(calls[-1])})",
    )


def _last_call(calls: Sequence[MeteredCall]) -> MeteredCall | None:
    """The last call to end of the model that was asked most, unless we or the agent aborted it.

    Other models write titles and summaries, without which an agent can do its work.
    """
    if not calls:
        return None
    ((model, _),) = Counter(call.model_asked for call in calls).most_common(1)
    ended = [
        (call.ended, call.number, call)
        for call in calls
        if call.model_asked == model and call.ended and not call.was_aborted
    ]
    return max(ended, key=lambda each: each[:2])[2] if ended else None


def _reason(call: MeteredCall) -> str:
    return call.error or (f"status {call.status}" if call.status is not None else "no response")


def _failed(calls: Sequence[MeteredCall]) -> int:
    return sum(_is_endpoints_fault(call) for call in calls)


def _is_endpoints_fault(call: MeteredCall) -> bool:
    """429 or 5xx, no answer at all, or a part of one, unless we or the agent hung up first."""
    is_broken = not call.was_aborted and (call.status is None or (call.is_successful and call.error is not None))
    return call.status == 429 or (call.status or 0) >= 500 or is_broken


def _is_saturated(calls: Sequence[MeteredCall]) -> bool:
    """Return whether the endpoint failed half of the calls, or the last three."""
    last = calls[-_LAST_CALLS:]
    return bool(calls) and (
        2 * _failed(calls) >= len(calls) or (len(last) == _LAST_CALLS and _failed(last) == _LAST_CALLS)
    )


def _how_it_ended(evidence: ExecutionEvidence) -> str:
    if evidence.ended_by == "time_limit":
        how = "stopped at the time limit"
    elif evidence.signal is not None:
        how = f"signal {evidence.signal}"
    else:
        how = f"exit status {evidence.exit_status}"
    return f"{how}: {evidence.last_words}" if evidence.last_words else how


def _calls(calls: Sequence[MeteredCall]) -> str:
    return f"{len(calls)} model call{'' if len(calls) == 1 else 's'}"


_EVIDENCE = "evidence.json"
INTERRUPTED = Ending(name="interrupted", cause="cancelled", is_retried=True, detail="the runner was stopped")
CANCELLED = Ending(name="cancelled", cause="cancelled", is_retried=True, detail="cancelled")
OVER_BUDGET = Ending(name="budget_plan", cause="cancelled", is_retried=True, detail="the plan's budget was used up")


class PlanExecutor:
    """Runs the executions of a plan."""

    def __init__(
        self,
        read: PlanRead,
        *,
        proxy: MeteringProxy | None,
        versions: Mapping[str, str | None],
        no_sandbox: bool = False,
    ) -> None:
        self._read, self._proxy, self._versions, self._no_sandbox = read, proxy, versions, no_sandbox
        self._digests: dict[str, str] = {}
        self._references = References()
        self._trials: dict[str, Trial] = {}

    def attempt(self, trial: Trial, folder: Path, allowed: Amounts, stop: threading.Event) -> ExecutionOutcome:
        """Run the trial in an empty folder, within what it may spend; `stop` ends it early."""
        limits = CallLimits(usd=allowed.usd, tokens=None if allowed.tokens is None else int(allowed.tokens))
        is_of_plan = _is_of_plan(self._read.plan.plan.budget, allowed)

        def tried(job: Job) -> ExecutionOutcome:
            evidence = execute_trial(
                job, folder, proxy=self._proxy, call_limits=limits, stop=stop, no_sandbox=self._no_sandbox
            )
            (folder / _EVIDENCE).write_bytes(msgspec.json.encode(evidence))
            return self._outcome(job, folder, evidence, stop, is_of_plan=is_of_plan)

        if trial.kind == "run":
            return tried(self.job(trial))
        place = PlanFolder(folder.parent.parent.parent)
        self._trials = self._trials or {each.id: each for each in place.trials()}
        return judge_trial(
            trial,
            self._read,
            place,
            retry=_retry(folder),
            trials=self._trials,
            ask=lambda task: tried(self.job(trial, task)),
        )

    def interrupted(self, trial: Trial, folder: Path) -> ExecutionOutcome:
        """Return the outcome of an execution whose runner was stopped, with the calls made until then."""
        job, began = self.job(trial), started_at(folder)
        ended = max(began, datetime.fromtimestamp(_last_written(folder), UTC))
        count = read_call_log(folder / "metering.jsonl") if job.uses_calls else None
        evidence = ExecutionEvidence(started_at=began, ended_at=ended, ended_by="cancelled", count=count)
        return self._build_outcome(job, folder, evidence, INTERRUPTED, None)

    def repriced(self, trial: Trial, folder: Path, result: ExecutionResult) -> ExecutionResult:
        """Return the result with its cost, if that was unknown and the plan has a price now."""
        if None not in (result.cost_usd, result.reserved_usd) or not (folder / "metering.jsonl").exists():
            return result
        calls = read_call_log(folder / "metering.jsonl").calls
        price_table = self._price_table(self.job(trial).endpoint)
        known = [charge.pico for call in calls if (charge := charge_of(call, price_table)).pico is not None]
        cost = in_usd(add_pico(known)) if len(known) == len(calls) else None
        return msgspec.structs.replace(result, cost_usd=cost, reserved_usd=reserve_of(calls, price_table).usd)

    def regraded(self, trial: Trial, folder: Path, stop: threading.Event) -> ExecutionOutcome | None:
        """The same execution with its work verified again; None where nothing is left to verify."""
        evidence = read_record(folder / _EVIDENCE, ExecutionEvidence)
        return None if evidence is None else self._outcome(self.job(trial), folder, evidence, stop, is_of_plan=False)

    def job(self, trial: Trial, asked: PlanTask | None = None) -> Job:
        """The trial with all that running it takes; a judge is asked something else than the task."""
        read, task = self._read, self._read.task_of(trial.task)
        use = read.use_of(trial.agent) if trial.kind == "run" else judge_as_agent(read, trial)
        endpoint = read.endpoint_of(use)
        if trial.task not in self._digests:
            self._digests[trial.task] = task_digest(read, task)
        facts = {
            "agent_version": self._versions.get(trial.agent),
            "task_digest": self._digests[trial.task][:16],
            "steelyard": __version__,
            "machine": machine(),
            "prices": self._price_table(endpoint).label if endpoint is not None else None,
        }
        return Job(
            trial=trial,
            task=task if trial.kind == "run" else asked or PlanTask(id=task.id, prompt=""),
            use=use,
            adapter=read.adapters[use.use],
            prompt=read.prompt_of(asked or task),
            plan_folder=read.folder,
            endpoint=endpoint,
            endpoint_kind=read.plan.endpoints[endpoint].kind if endpoint is not None else None,
            experiment=read.plan.name,
            keeps_transcript=read.plan.plan.keep == "transcript",
            facts={name: fact for name, fact in facts.items() if fact is not None},
        )

    def _outcome(
        self, job: Job, folder: Path, evidence: ExecutionEvidence, stop: threading.Event, *, is_of_plan: bool
    ) -> ExecutionOutcome:
        ending, verified = ending_of(evidence), None
        if is_of_plan and ending.name == "budget_trial":
            ending = OVER_BUDGET  # no fault of the agent's: another day there is more to spend
        if ending.is_verified:
            try:
                verified = verify(job, folder, stop=stop, no_sandbox=self._no_sandbox, references=self._references)
                ending = ending_of(evidence, verified)
            except AbortedError:
                ending = CANCELLED
        return self._build_outcome(job, folder, evidence, ending, verified)

    def _build_outcome(
        self, job: Job, folder: Path, evidence: ExecutionEvidence, ending: Ending, verified: VerifyEvidence | None
    ) -> ExecutionOutcome:
        run, findings = run_of_trial(
            job, folder, evidence, ending, verified=verified, tier_scheme=tier_scheme_of(self._read)
        )
        run, cost_usd = self._priced(job, run)
        result = ExecutionResult(
            retry=_retry(folder), ending=ending, started_at=evidence.started_at, ended_at=evidence.ended_at
        )
        if (count := evidence.count) is not None:
            reserve = reserve_of(count.calls, self._price_table(job.endpoint))
            result = msgspec.structs.replace(
                result,
                calls=len(count.served),
                failed_calls=len(count.calls) - len(count.served),
                usage=count.usage,
                cost_usd=cost_usd,
                is_lower_bound=count.is_lower_bound,
                reserved_tokens=reserve.tokens,
                reserved_usd=reserve.usd,
            )
        else:
            result = _with_amounts_of_run(result, run, self._price_table(job.endpoint))
        return ExecutionOutcome(result=result, run=run, findings=findings)

    def _priced(self, job: Job, run: Run) -> tuple[Run, float | None]:
        """What the execution cost. A price that only the plan states goes into the Run, where no price table has it."""
        price_table = self._price_table(job.endpoint)
        cost = token_cost(run, price_table)
        if cost.usd is None or not isinstance(price_table, EndpointPriceTable):
            return run, cost.usd
        is_least = cost.how == "lower_bound" or (run.provenance or {}).get("usage") == "lower_bound"
        how = {**(run.provenance or {}), "cost_usd": "lower_bound" if is_least else "priced"}
        return msgspec.structs.replace(run, cost_usd=cost.usd, provenance=how), cost.usd

    def _price_table(self, endpoint: str | None) -> PriceTable:
        price = self._read.plan.endpoints[endpoint].price if endpoint is not None else None
        return EndpointPriceTable(endpoint, price) if endpoint is not None and price is not None else self._genai_prices

    @cached_property
    def _genai_prices(self) -> PriceTable:
        return open_price_table(DEFAULT_PRICE_TABLE)


@contextmanager
def executing(
    read: PlanRead, endpoints: Iterable[str], versions: Mapping[str, str | None], *, no_sandbox: bool
) -> Iterator[PlanExecutor]:
    """Who runs the executions, with a metering proxy before these endpoints."""
    with ExitStack() as served:
        resolved = {name: resolved_endpoint(read, name, served) for name in endpoints}
        proxy = served.enter_context(MeteringProxy(resolved)) if resolved else None
        yield PlanExecutor(read, proxy=proxy, versions=versions, no_sandbox=no_sandbox)


def resolved_endpoint(read: PlanRead, name: str, served: ExitStack) -> ResolvedEndpoint:
    """Resolve URL and key of the endpoint from the environment; start a scripted one."""
    endpoint = read.plan.endpoints[name]
    url = value_of(endpoint.url)
    if url.startswith(SCRIPTED):
        url = served.enter_context(ScriptedModel(read.path_of(url.removeprefix(SCRIPTED)))).url
    return ResolvedEndpoint(
        name=name,
        kind=endpoint.kind,
        url=url,
        key=value_of(endpoint.key) if endpoint.key else None,
        parallel=endpoint.parallel,
        requests_per_minute=endpoint.requests_per_minute,
        price_table=EndpointPriceTable(name, endpoint.price)
        if endpoint.price
        else open_price_table(DEFAULT_PRICE_TABLE),
    )


def command_shown(read: PlanRead, trial: Trial) -> str:
    """The command of a trial as `--dry-run` shows it, keys masked."""
    executor = PlanExecutor(read, proxy=None, versions={})
    return " ".join(_quoted(word) for word in shown_command(executor.job(trial)))


def _quoted(word: str) -> str:
    return word if word and not set(word) & set(" \t\n\"'$\\") else f"'{word}'"


def _with_amounts_of_run(result: ExecutionResult, run: Run, price_table: PriceTable) -> ExecutionResult:
    """Return the result with the cost of an unmetered execution: from the agent's log, or 0 if it called no model."""
    cost = cost_of(run, price_table)
    called_none = run.usage == NO_TOKENS and not run.calls
    return msgspec.structs.replace(
        result,
        calls=calls_in(run.calls) if run.calls else 0 if called_none else None,
        usage=run.total_usage,
        cost_usd=cost.usd,
        is_lower_bound=cost.how == "lower_bound" or (run.provenance or {}).get("usage") == "lower_bound",
    )


def _retry(folder: Path) -> int:
    return int(folder.name.removeprefix("retry-"))


def _is_of_plan(budget: Budget | None, allowed: Amounts) -> bool:
    return budget is not None and Spending(budget, ()).is_of_plan(allowed)


def _last_written(folder: Path) -> float:
    """When something in the folder was last written."""
    with os.scandir(folder) as entries:
        return max((entry.stat(follow_symlinks=False).st_mtime for entry in entries), default=folder.stat().st_mtime)


_KEPT = ("work", "home", "stdout", "stderr", "metering.jsonl", TRANSCRIPT, "evidence.json", "started.json")


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
