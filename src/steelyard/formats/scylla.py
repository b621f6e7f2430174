"""ProjectScylla: run folders in both layouts, an experiment's `result.json`, the command line's, and exported tables.

Its tiers are numbered as `scylla-2026`; a run's `passed` is the judges' vote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import document, label
from steelyard.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.formats._scylla_cli import is_cli_run, read_cli_run
from steelyard.formats._scylla_tables import consensus, is_table, read_table
from steelyard.formats._token_counts import run_from, stated_cost
from steelyard.records import Amount, Count, Criterion, Failure, Judgment, Outcome, Rejected, Usage, moment

NAME = "scylla"
SCHEME = "scylla-2026"
_PLACE = re.compile(
    r"(?P<experiment>[^/]+)/(?:(?:completed|in_progress)/)?(?P<tier>T\d+)/(?P<subtest>[^/]+)/run_(?P<run>\d+)"
)


class Tokens(msgspec.Struct):
    """The main model's tokens."""

    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_creation_tokens: Count | None = None
    cache_read_tokens: Count | None = None


class Judge(msgspec.Struct):
    """One judge's word."""

    model: str | None = None
    score: float | None = None
    passed: bool | None = None
    is_valid: bool | None = None
    criteria_scores: dict[str, Any] | None = None  # Any: judges write "N/A" where a number should be


class RunResult(msgspec.Struct, kw_only=True):
    """A run's record."""

    run_number: int
    exit_code: int
    token_stats: Tokens | None = None
    cost_usd: Amount | None = None
    duration_seconds: Amount | None = None
    """The agent's and the judges' time together."""
    agent_duration_seconds: Amount | None = None
    judge_score: float | None = None
    judge_passed: bool | None = None
    judges: list[Judge] | None = None
    workspace_path: str | None = None
    logs_path: str | None = None


class Subtest(msgspec.Struct):
    """One configuration's runs."""

    runs: list[RunResult] = []


class Tier(msgspec.Struct):
    """One tier's configurations."""

    subtest_results: dict[str, Subtest] = {}


class ExperimentConfig(msgspec.Struct):
    """What the experiment was."""

    experiment_id: str | None = None
    models: list[str] | None = None


class Experiment(msgspec.Struct, kw_only=True):
    """An experiment's record, with all its runs."""

    config: ExperimentConfig
    tier_results: dict[str, Tier]


class Command(msgspec.Struct):
    """A command that was run."""

    timestamp: str | None = None
    command: list[str] = []
    duration_seconds: Amount | None = None


class CommandLog(msgspec.Struct):
    """The commands of a run."""

    commands: list[Command] = []


_RUN = msgspec.json.Decoder(RunResult)
_EXPERIMENT = msgspec.json.Decoder(Experiment)
_COMMANDS = msgspec.json.Decoder(CommandLog)


def recognizes(head: Head) -> bool:
    """A run's record, an experiment's record, or one of the exported tables."""
    if head.has("run_number", "exit_code") and (head.has("token_stats") or head.has("judge_score")):
        return True
    return is_cli_run(head) or head.has("config", "config.experiment_id", "tier_results") or is_table(head)


def read(path: Path) -> Iterator[ReadItem]:
    """The run or runs of the file."""
    head = head_of(path)
    if is_cli_run(head):
        yield read_cli_run(path, format=NAME, scheme=SCHEME)
    elif "run_number" in head.shape:
        yield _part(document(path, _RUN), path, owns=path.parent)
    elif "tier_results" in head.shape:
        yield from _experiment(document(path, _EXPERIMENT), path)
    else:
        yield from read_table(path)


def _experiment(experiment: Experiment, path: Path) -> Iterator[ReadItem]:
    for tier_name, tier in experiment.tier_results.items():
        for subtest_name, subtest in tier.subtest_results.items():
            for run in subtest.runs:
                place = f"{experiment.config.experiment_id}/{tier_name}/{subtest_name}/run_{run.run_number:02d}"
                yield _part(run, path, place=place, config=experiment.config)


def _part(
    run: RunResult,
    path: Path,
    *,
    owns: Path | None = None,
    place: str | None = None,
    config: ExperimentConfig | None = None,
) -> RunPart | Rejected:
    match = _PLACE.search((run.workspace_path or run.logs_path or "").replace("\\", "/"))
    match = match or _PLACE.search(place or path.as_posix())
    if match is None:
        return Rejected(path=str(path), reason="neither the record nor its path contains the tier and run")
    command = _command(path.parent / "agent" / "command_log.json") if owns else Command()
    usage = _usage(run.token_stats)
    cost, sure = stated_cost(run.cost_usd, usage)
    seconds = run.agent_duration_seconds or command.duration_seconds
    ended = moment(command.timestamp)  # the log is written when the command has ended
    judgments = tuple(j for j in (_judgment(judge) for judge in run.judges or ()) if j is not None)
    if run.judges is None:
        judgments = consensus(run.judge_score, run.judge_passed)
    outcome, failure = _outcome(run, usage)
    model = _option(command.command, "--model") or (
        config.models[0] if config and config.models and len(config.models) == 1 else None
    )
    record = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "reported" if usage else "unknown",
            "cost_usd": sure,
            "passed": "unknown" if run.judge_passed is None else "reported",
        },
        id=label(f"{match['experiment']}/{match['tier']}/{match['subtest']}/{int(match['run'])}"),
        experiment=label(match["experiment"]),
        task=label(_task(match["experiment"])),
        agent="claude-code",
        model=label(model),
        tier=match["tier"],
        tier_scheme=SCHEME,
        attempt=max(run.run_number, 0),
        started_at=ended - timedelta(seconds=seconds) if ended and seconds else None,
        ended_at=ended if seconds and run.duration_seconds is None else None,  # a run ends when it has been judged
        duration_seconds=run.duration_seconds,
        passed=None if outcome in ("errored", "not_scored") else run.judge_passed,
        outcome=outcome,
        failure=failure,
        judgments=judgments,
        usage=usage,
        cost_usd=cost,
        extra={"subtest": match["subtest"], "agent_seconds": run.agent_duration_seconds},
    )
    return RunPart(run=record, path=str(path), role="owner", owns=str(owns) if owns else None)


def _task(experiment: str) -> str:
    """The task's name without the time that the experiment's folder begins with."""
    return re.sub(r"^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-", "", experiment)


def _usage(tokens: Tokens | None) -> Usage | None:
    if tokens is None:
        return None
    return Usage(
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        cache_read_tokens=tokens.cache_read_tokens,
        cache_write_5m_tokens=tokens.cache_creation_tokens,
    )


def _outcome(run: RunResult, usage: Usage | None) -> tuple[Outcome, Failure | None]:
    idle = usage is None or not (usage.input_tokens or usage.output_tokens)
    if run.exit_code < 0 and idle:
        return "errored", Failure(
            cause="infrastructure", message=f"exit code {run.exit_code} before any agent activity"
        )
    failure = Failure(cause="agent", message=f"exit code {run.exit_code}") if run.exit_code else None
    valid = run.judges is None or any(judge.is_valid is not False for judge in run.judges)
    if run.judge_passed is None or not valid:
        return ("errored" if failure else "not_scored"), failure
    return ("passed" if run.judge_passed else "failed"), failure


def _judgment(judge: Judge) -> Judgment | None:
    if judge.is_valid is False or judge.score is None or not 0 <= judge.score <= 1:
        return None
    criteria = tuple(
        Criterion(name=name, achieved=float(line["achieved"]), max=float(line["max"]))
        for name, line in (judge.criteria_scores or {}).items()
        if label(name) and isinstance(line, dict) and _points(line.get("achieved"), line.get("max"))
    )
    return Judgment(
        judge=label(judge.model), weighted_score=judge.score, passed=judge.passed, criteria=criteria or None
    )


def _points(achieved: Any, most: Any) -> bool:  # Any: a number, or "N/A"
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (achieved, most))
    return numbers and 0 <= achieved <= most and most > 0


def _command(path: Path) -> Command:
    """The agent's command; a run without a readable command log is still a run."""
    try:
        log = document(path, _COMMANDS)
    except (OSError, UnreadableFileError):
        return Command()
    return next(
        (command for command in log.commands if command.command and PurePath(command.command[0]).name == "claude"),
        Command(),
    )


def _option(command: list[str], name: str) -> str | None:
    return next((value for option, value in pairwise(command) if option == name), None)


FORMAT = LogFormat(
    name=NAME,
    title="ProjectScylla run directories (both layouts), experiment results, command-line results, exported tables",
    kind="trials",
    yields=(
        "tier",
        "passed",
        "judgments",
        "impl_rate",
        "usage by kind",
        "cost_usd",
        "times",
        "duration_seconds",
        "failure",
    ),
    recognizes=recognizes,
    read=read,
)
