"""One execution of one trial, from an empty folder to a Run: tried, verified, read and priced."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import msgspec

from steelyard.errors import AbortedError
from steelyard.prices import DEFAULT_PRICE_TABLE, PriceTable, cost_of, open_price_table, token_cost
from steelyard.records import Run, calls_in
from steelyard.runner._agent_command import shown_command
from steelyard.runner._budgets import Amounts, Spending
from steelyard.runner._endings import ending_of
from steelyard.runner._endpoint_prices import EndpointPriceTable
from steelyard.runner._execution import execute_trial
from steelyard.runner._execution_records import ExecutionEvidence, Job, VerifyEvidence
from steelyard.runner._folders import PlanFolder, read_record, started_at
from steelyard.runner._judging import judge_as_agent, judge_trial
from steelyard.runner._lock import machine
from steelyard.runner._metering_proxy import MeteringProxy
from steelyard.runner._metering_records import NO_TOKENS, CallLimits, ResolvedEndpoint, read_call_log
from steelyard.runner._plan import PlanRead, value_of
from steelyard.runner._plan_records import Budget, PlanTask
from steelyard.runner._run_of_trial import run_of_trial
from steelyard.runner._scripted import SCRIPTED, ScriptedModel
from steelyard.runner._trial_records import Ending, ExecutionOutcome, ExecutionResult, Trial
from steelyard.runner._trials import task_digest, tier_scheme_of
from steelyard.runner._verifying import verify
from steelyard.version import __version__

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
                verified = verify(job, folder, stop=stop, no_sandbox=self._no_sandbox)
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
            result = msgspec.structs.replace(
                result,
                calls=len(count.calls),
                usage=count.usage,
                cost_usd=cost_usd,
                is_lower_bound=count.is_lower_bound,
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
