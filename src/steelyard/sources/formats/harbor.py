"""Harbor's result.json, of a trial (whose folder also holds the agent's logs and the reports) and of a job."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any

import msgspec

from steelyard.files import document, label, number
from steelyard.formatting import counted
from steelyard.records import (
    Amount,
    Call,
    CheckMessage,
    Conditions,
    Count,
    Failure,
    FailureCause,
    Finding,
    Usage,
    bounded_check_text,
    moment,
    sum_in_order,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import (
    conditions_from,
    disjoint_usage,
    failure_of,
    outcome_of,
    run_from,
    stated_cost,
    token_contradiction,
)
from steelyard.sources.formats._stated_figures import stated_accuracy
from steelyard.sources.formats._step_values import text_of_file

NAME = "harbor"
CAUSES: tuple[tuple[str, FailureCause], ...] = (
    ("AgentTimeout", "agent"),
    ("ContextLength", "agent"),
    ("ContextWindow", "agent"),
    ("OutputLength", "agent"),
    ("OutputToken", "agent"),
    ("SafetyRefusal", "agent"),
    ("ContentPolicy", "agent"),
    ("Cancelled", "cancelled"),
    ("KeyboardInterrupt", "cancelled"),
    ("Setup", "infrastructure"),
    ("Environment", "infrastructure"),
    ("Docker", "infrastructure"),
    ("Sandbox", "infrastructure"),
    ("Verifier", "infrastructure"),
    ("Reward", "infrastructure"),
    ("RateLimit", "infrastructure"),
    ("Connection", "infrastructure"),
    ("Network", "infrastructure"),
    ("Api", "infrastructure"),
    ("API", "infrastructure"),
    ("Authentication", "infrastructure"),
    ("PermissionDenied", "infrastructure"),
    ("ModelNotFound", "infrastructure"),
    ("InternalServer", "infrastructure"),
    ("ServiceUnavailable", "infrastructure"),
    ("Healthcheck", "infrastructure"),
    ("MemoryLimit", "infrastructure"),
    ("SSHAccess", "infrastructure"),
    ("AddTestsDir", "infrastructure"),
)
"""What an exception's name begins or continues with, and whose fault that is."""


class Span(msgspec.Struct):
    """A phase of the trial."""

    started_at: str | None = None
    finished_at: str | None = None


class ModelInfo(msgspec.Struct):
    """The model."""

    name: str | None = None


class AgentInfo(msgspec.Struct):
    """The agent."""

    name: str | None = None
    version: str | None = None
    model_info: ModelInfo | None = None


class AgentConfig(msgspec.Struct):
    """The agent as configured."""

    name: str | None = None
    import_path: str | None = None
    model_name: str | None = None
    override_timeout_sec: Any = None  # Any: a number
    max_timeout_sec: Any = None  # Any: a number
    kwargs: Any = None  # Any: the agent's settings


class EnvironmentConfig(msgspec.Struct):
    """The environment as configured; None is what the task itself says."""

    type: str | None = None
    override_cpus: Any = None  # Any: a number
    override_memory_mb: Any = None  # Any: a number


class Config(msgspec.Struct):
    """What the trial was asked to do."""

    agent: AgentConfig | None = None
    environment: EnvironmentConfig | None = None
    timeout_multiplier: Any = None  # Any: a number
    agent_timeout_multiplier: Any = None  # Any: a number
    trials_dir: str | None = None


class Counts(msgspec.Struct):
    """Tokens and cost; input includes cached input."""

    n_input_tokens: Count | None = None
    n_cache_tokens: Count | None = None
    n_output_tokens: Count | None = None
    cost_usd: Amount | None = None


class AgentResult(Counts):
    """What the agent used, and each model of it."""

    model_usage: dict[str, Counts] | None = None


class Verdict(msgspec.Struct):
    """What the verifier gave."""

    rewards: dict[str, float] | None = None


class ErrorInfo(msgspec.Struct):
    """An exception that ended a phase."""

    exception_type: str | None = None
    exception_message: str | None = None


class Step(msgspec.Struct):
    """One step of a task that has several; such trials state tokens and handled exceptions here alone."""

    agent_result: AgentResult | None = None
    exception_info: ErrorInfo | None = None
    agent_execution: Span | None = None


class Trial(msgspec.Struct, kw_only=True):
    """One trial."""

    id: str | None = None
    task_name: str
    trial_name: str
    source: str | None = None
    config: Config | None = None
    agent_info: AgentInfo | None = None
    agent_result: AgentResult | None = None
    verifier_result: Verdict | None = None
    exception_info: ErrorInfo | None = None
    started_at: str | None = None
    finished_at: str | None = None
    agent_execution: Span | None = None
    step_results: list[Step] | None = None

    def with_steps(self) -> Trial:
        """Return the trial with its steps' tokens and cost added up, first exception and times of the agent."""
        steps = self.step_results or ()
        spans = [step.agent_execution for step in steps if step.agent_execution is not None]
        results = [step.agent_result for step in steps if step.agent_result is not None]
        ran = Span(spans[0].started_at, spans[-1].finished_at) if spans else None
        return msgspec.structs.replace(
            self,
            agent_result=self.agent_result or (_together(results) if results else None),
            exception_info=self.exception_info or next((s.exception_info for s in steps if s.exception_info), None),
            agent_execution=self.agent_execution or ran,
        )


def _together(results: list[AgentResult]) -> AgentResult:
    """The sum; a count that some step does not state is not known of the whole."""

    def added(parts: list[Any]) -> list[Any]:  # Any: Counts, and their numbers
        columns = ([getattr(part, name) for part in parts] for name in Counts.__struct_fields__)
        return [None if None in column else sum_in_order(column) for column in columns]

    by_model: dict[str, list[Counts]] = {}
    for result in results:
        for model, counts in (result.model_usage or {}).items():
            by_model.setdefault(model, []).append(counts)
    models = {model: Counts(*added(of)) for model, of in by_model.items()}
    total = dict(zip(Counts.__struct_fields__, added(results), strict=True))
    return AgentResult(**total, model_usage=models or None)


class Metric(msgspec.Struct):
    """One metric of an evaluation."""

    mean: float | None = None


class Evaluation(msgspec.Struct):
    """A job's summary of one agent on one data set."""

    n_trials: int | None = None
    n_errors: int | None = None
    metrics: list[Metric] = []
    reward_stats: dict[str, dict[str, list[str]]] = {}
    exception_stats: dict[str, list[str]] = {}


class Stats(msgspec.Struct):
    """A job's summaries."""

    evals: dict[str, Evaluation] = {}


class Job(msgspec.Struct, kw_only=True):
    """A job."""

    n_total_trials: int
    stats: Stats


_TRIAL = msgspec.json.Decoder(Trial)
_JOB = msgspec.json.Decoder(Job)


def recognizes(head: Head) -> bool:
    """A trial with its task, agent and checksum, or a job with its statistics."""
    return head.has("trial_name", "task_name", "config") or head.has("n_total_trials", "stats")


def holds_no_run(head: Head) -> bool:
    """The configuration of a trial or a job, which is next to each result.json and repeats none of its results."""
    return head.has("trials_dir", "task") or head.has("jobs_dir", "agents")


def read(path: Path) -> Iterator[ReadItem]:
    """The trial, or what a job states of its trials."""
    job = "n_total_trials" in head_of(path).shape
    if job:
        stated = document(path, _JOB)
        yield from _job(stated, str(path))
        yield from _trials_without_a_result(stated, path)
    else:
        yield _part(document(path, _TRIAL).with_steps(), path)


def check_messages(path: Path, session: str | None) -> Iterator[CheckMessage]:  # noqa: ARG001 # a file holds one
    """Yield what the verifier printed, of a trial that did not pass."""
    if "n_total_trials" in head_of(path).shape or _passed(document(path, _TRIAL).verifier_result):
        return
    if text := text_of_file(path.parent / "verifier" / "test-stdout.txt"):
        yield CheckMessage(name="verifier", kind="test", passed=False, text=bounded_check_text(text))


def _part(trial: Trial, path: Path) -> RunPart:
    result = trial.agent_result or AgentResult()
    usage = None
    notes: tuple[Finding, ...] = ()
    if result.n_input_tokens is not None or result.n_output_tokens is not None:
        usage = _disjoint(result)
        notes = token_contradiction(str(path), usage, stated_input=result.n_input_tokens)
    cost, sure = stated_cost(result.cost_usd, usage)
    times = trial.agent_execution or Span(trial.started_at, trial.finished_at)
    passed = _passed(trial.verifier_result)
    rewards = trial.verifier_result.rewards if trial.verifier_result else None
    run = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "lower_bound" if notes else "reported" if usage else "unknown",
            "cost_usd": sure,
            "passed": "unknown" if passed is None else "reported",
        },
        id=label(trial.id) or label(trial.trial_name),
        experiment=_job_name(trial, path),
        task=label(trial.task_name),
        agent=_agent(trial),
        model=_model(trial),
        started_at=moment(times.started_at),
        ended_at=moment(times.finished_at),
        passed=passed,
        outcome=outcome_of(passed, errored=trial.exception_info is not None),
        failure=_failure(trial),
        conditions=_conditions(trial),
        usage=usage,
        calls=tuple(
            Call(model=label(m), usage=_disjoint(c), summed=True) for m, c in sorted((result.model_usage or {}).items())
        ),
        cost_usd=cost,
        extra={
            "dataset": trial.source,
            "rewards": rewards,
        },
    )
    return RunPart(run=run, path=str(path), role="owner", owns=str(path.parent), notes=notes)


def _conditions(trial: Trial) -> Conditions | None:
    """Limits as configured: a time in seconds where the job sets one, else the factor of the task's own time."""
    config = trial.config or Config()
    agent, environment = config.agent or AgentConfig(), config.environment or EnvironmentConfig()
    factor = number(
        config.timeout_multiplier if config.agent_timeout_multiplier is None else config.agent_timeout_multiplier
    )
    limits = [
        each for value in (agent.override_timeout_sec, agent.max_timeout_sec) if (each := number(value)) is not None
    ]
    seconds = min(limits) * (1.0 if factor is None else factor) if number(agent.override_timeout_sec) else None
    return conditions_from(
        time_limit_seconds=seconds,
        time_limit_multiplier=factor if seconds is None else None,
        cpus=environment.override_cpus,
        memory_mb=environment.override_memory_mb,
        harness=NAME,
        agent_version=trial.agent_info.version if trial.agent_info else None,
        settings={"environment": environment.type, **(agent.kwargs if isinstance(agent.kwargs, dict) else {})},
    )


def _disjoint(counts: Counts) -> Usage:
    return disjoint_usage(
        input_with_cache=counts.n_input_tokens,
        cache_read=counts.n_cache_tokens,
        output_with_reasoning=counts.n_output_tokens,
    )


def _job_name(trial: Trial, path: Path) -> str | None:
    folder = trial.config.trials_dir if trial.config else None
    return label(PurePath(folder).name if folder else path.parent.parent.name)


def _agent(trial: Trial) -> str | None:
    config = trial.config.agent if trial.config else None
    return label(trial.agent_info.name if trial.agent_info else None) or label(
        (config.name or config.import_path) if config else None
    )


def _model(trial: Trial) -> str | None:
    info = trial.agent_info.model_info if trial.agent_info else None
    config = trial.config.agent if trial.config else None
    return label(info.name if info else None) or label(config.model_name if config else None)


def _passed(verdict: Verdict | None) -> bool | None:
    if verdict is None or not verdict.rewards:
        return None
    main = verdict.rewards.get("reward", min(verdict.rewards.values()))
    return main >= 1


def _failure(trial: Trial) -> Failure | None:
    trouble = trial.exception_info
    if trouble is None:
        return None
    kind = trouble.exception_type or ""
    message = ": ".join(part[:500] for part in (kind, trouble.exception_message) if part) or None
    cause = next((cause for word, cause in CAUSES if word in kind), None)
    if cause is not None:
        return Failure(cause=cause, message=message)
    # Without an execution the agent never started.
    return failure_of(message, otherwise="infrastructure" if trial.agent_execution is None else "unknown")


def _job(job: Job, path: str) -> Iterator[Finding]:
    for name, evaluation in sorted(job.stats.evals.items()):
        mean = next((metric.mean for metric in evaluation.metrics if metric.mean is not None), None)
        if mean is None:
            continue
        by_reward = {
            float(reward): trials
            for reward, trials in evaluation.reward_stats.get("reward", {}).items()
            if _number(reward)
        }
        scores: list[float | None] = [reward for reward, trials in by_reward.items() for _ in trials]
        # the total is that of the job; a job of several evaluations names the trials of each
        tried = {trial for trials in (*by_reward.values(), *evaluation.exception_stats.values()) for trial in trials}
        total = job.n_total_trials if len(job.stats.evals) == 1 else max(len(tried), evaluation.n_trials or 0)
        scores += [None] * (total - len(scores))
        yield stated_accuracy(
            path, stated=mean, of=total, how=f"{name}, missing rewards count as 0", verdicts=scores, what="mean reward"
        )


def _trials_without_a_result(job: Job, path: Path) -> Iterator[Finding]:
    """Yield a finding if the job's directory has fewer trials than the job; none if the trials are elsewhere."""
    results = sum(1 for _ in path.parent.glob("*/result.json"))
    if 0 < results < job.n_total_trials:
        message = (
            f"{results:,} of {counted(job.n_total_trials, 'trial')} of the job have a result; "
            "the others are not counted, not even as failed"
        )
        yield Finding(code="missing_trials", message=message, where=str(path))


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


FORMAT = LogFormat(
    name=NAME,
    title="Harbor trials and jobs (result.json and its directory)",
    kind="trials",
    yields=("passed", "outcome", "failure", "usage", "cost_usd", "times", "fields from the agent's logs and reports"),
    recognizes=recognizes,
    read=read,
    check_messages=check_messages,
    holds_no_run=holds_no_run,
)
