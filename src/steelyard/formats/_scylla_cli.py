"""ProjectScylla's command line: one `result.json` for each run, in `runs/<test>/<tier>/run_NN/`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from steelyard.files import document, label
from steelyard.formats._log_format import Head, RunPart
from steelyard.formats._token_counts import run_from, stated_cost
from steelyard.records import Amount, Count, Failure, Outcome, Usage


class Execution(msgspec.Struct):
    """How the agent's command ended."""

    exit_code: int | None = None
    duration_seconds: Amount | None = None
    timed_out: bool = False


class Metrics(msgspec.Struct):
    """What it took."""

    tokens_input: Count | None = None
    tokens_output: Count | None = None
    api_calls: Count | None = None


class Judged(msgspec.Struct):
    """Verdict of the judge."""

    passed: bool | None = None
    impl_rate: float | None = None


class CliRun(msgspec.Struct, kw_only=True):
    """A run's record."""

    run_number: int
    test_id: str
    tier_id: str
    model_id: str | None = None
    cost_usd: Amount | None = None
    duration_seconds: Amount | None = None
    """The agent's and the judge's time together."""
    execution: Execution
    metrics: Metrics | None = None
    judgment: Judged | None = None


_RUN = msgspec.json.Decoder(CliRun)


def is_cli_run(head: Head) -> bool:
    """A record with its test, its tier and how the command ended."""
    return head.has("run_number", "test_id", "tier_id", "execution.exit_code")


def read_cli_run(path: Path, *, format: str, scheme: str) -> RunPart:  # noqa: A002 # as all formats call it
    """The run of the file; it owns the folder around, which contains its logs.

    `tokens_input` may or may not hold cached input, which no other count separates: it is kept aside, and the run's
    tokens are a lower bound.
    """
    run = document(path, _RUN)
    metrics, judged = run.metrics or Metrics(), run.judgment or Judged()
    usage = None if metrics.tokens_output is None else Usage(output_tokens=metrics.tokens_output)
    counted = Usage(input_tokens=metrics.tokens_input, output_tokens=metrics.tokens_output)
    cost, sure = stated_cost(run.cost_usd, counted)
    outcome, failure = _outcome(run.execution, judged)
    rate = judged.impl_rate if judged.impl_rate is not None and 0 <= judged.impl_rate <= 1 else None
    record = run_from(
        format=format,
        path=str(path),
        how={
            "usage": "lower_bound" if usage else "unknown",
            "cost_usd": sure,
            "passed": "unknown" if judged.passed is None else "reported",
        },
        id=label(f"{run.test_id}/{run.tier_id}/{run.model_id or '-'}/{run.run_number}"),
        task=label(run.test_id),
        agent="claude-code",
        model=label(run.model_id),
        tier=run.tier_id,
        tier_scheme=scheme,
        attempt=max(run.run_number, 0),
        duration_seconds=run.duration_seconds,
        passed=None if outcome in ("errored", "not_scored") else judged.passed,
        outcome=outcome,
        failure=failure,
        impl_rate=rate,
        usage=usage,
        cost_usd=cost,
        iterations=metrics.api_calls or None,
        extra={"agent_seconds": run.execution.duration_seconds, "tokens_input": metrics.tokens_input},
    )
    return RunPart(run=record, path=str(path), role="owner", owns=str(path.parent))


def _outcome(execution: Execution, judged: Judged) -> tuple[Outcome, Failure | None]:
    failure = None
    if execution.timed_out:
        failure = Failure(cause="agent", message="timed out")
    elif execution.exit_code:
        failure = Failure(cause="agent", message=f"exit code {execution.exit_code}")
    if judged.passed is None:
        return ("errored" if failure else "not_scored"), failure
    return ("passed" if judged.passed else "failed"), failure
