"""ProjectScylla: run folders in both layouts, an experiment's `result.json`, the command line's, and exported tables.

Its tiers are numbered as `scylla-2026`; a run's `passed` is the judges' vote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

import msgspec

from steelyard.errors import UnreadableFileError
from steelyard.files import CUT, Row as CsvRow, csv_rows, document, ends_with_line_end, label, number
from steelyard.records import (
    Amount,
    Conditions,
    Count,
    Criterion,
    DecodeError,
    Failure,
    Finding,
    Judgment,
    Outcome,
    Rejected,
    Usage,
    bounded_check_text,
    exact_mean,
    moment,
)
from steelyard.sources.formats._log_format import Head, LogFormat, ReadItem, RunPart, head_of
from steelyard.sources.formats._run_values import conditions_from, outcome_of, run_from, stated_cost
from steelyard.sources.formats._stated_figures import stated_accuracy

NAME = "scylla"
SCHEME = "scylla-2026"
AGENT = "claude-code"
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
    reasoning: Any = None  # Any: text
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
    pass_rate: Any = None  # Any: a fraction


class Tier(msgspec.Struct):
    """One tier's configurations."""

    subtest_results: dict[str, Subtest] = {}


class ExperimentConfig(msgspec.Struct):
    """What the experiment was."""

    experiment_id: str | None = None
    models: list[str] | None = None
    timeout_seconds: Any = None  # Any: a number, as the next two
    max_turns: Any = None
    use_containers: Any = None


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
        yield read_cli_run(path)
    elif "run_number" in head.shape:
        yield _part(document(path, _RUN), path, owns=path.parent)
    elif "tier_results" in head.shape:
        yield from _experiment(document(path, _EXPERIMENT), path)
    else:
        yield from read_table(path)


def _experiment(experiment: Experiment, path: Path) -> Iterator[ReadItem]:
    for tier_name, tier in experiment.tier_results.items():
        for subtest_name, subtest in tier.subtest_results.items():
            verdicts: list[bool | None] = []
            for run in subtest.runs:
                place = f"{experiment.config.experiment_id}/{tier_name}/{subtest_name}/run_{run.run_number:02d}"
                part = _part(run, path, place=place, config=experiment.config)
                verdicts.append(part.run.passed if isinstance(part, RunPart) else None)
                yield part
            stated = number(subtest.pass_rate)
            if stated is not None and verdicts:
                how = f"{tier_name}/{subtest_name}"
                yield stated_accuracy(str(path), stated=stated, of=len(verdicts), how=how, verdicts=verdicts)


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
        agent=AGENT,
        model=label(model),
        tier=match["tier"],
        tier_scheme=SCHEME,
        conditions=_conditions(config),
        attempt=max(run.run_number, 0),
        started_at=ended - timedelta(seconds=seconds) if ended and seconds else None,
        ended_at=ended if seconds and run.duration_seconds is None else None,  # a run ends when it has been judged
        duration_seconds=run.duration_seconds,
        passed=None if outcome in ("errored", "not_scored") else run.judge_passed,
        outcome=outcome,
        failure=failure,
        score=run.judge_score if run.judge_score is not None and 0 <= run.judge_score <= 1 else None,
        judgments=judgments,
        usage=usage,
        cost_usd=cost,
        extra={"subtest": match["subtest"], "agent_seconds": run.agent_duration_seconds},
    )
    return RunPart(run=record, path=str(path), role="owner", owns=str(owns) if owns else None)


def _conditions(config: ExperimentConfig | None) -> Conditions | None:
    if config is None:
        return None
    settings = {"max_turns": config.max_turns, "use_containers": config.use_containers}
    return conditions_from(time_limit_seconds=config.timeout_seconds, harness=NAME, settings=settings)


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
    return outcome_of(run.judge_passed if valid else None, errored=failure is not None), failure


def _judgment(judge: Judge) -> Judgment | None:
    if judge.is_valid is False or judge.score is None or not 0 <= judge.score <= 1:
        return None
    criteria = tuple(
        Criterion(name=name, achieved=float(line["achieved"]), max=float(line["max"]))
        for name, line in (judge.criteria_scores or {}).items()
        if label(name) and isinstance(line, dict) and _points(line.get("achieved"), line.get("max"))
    )
    return Judgment(
        judge=label(judge.model),
        weighted_score=judge.score,
        passed=judge.passed,
        criteria=criteria or None,
        reasoning=bounded_check_text(judge.reasoning) or None if isinstance(judge.reasoning, str) else None,
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


class CliExecution(msgspec.Struct):
    """How the agent's command ended."""

    exit_code: int | None = None
    duration_seconds: Amount | None = None
    timed_out: bool = False


class CliMetrics(msgspec.Struct):
    """What it took."""

    tokens_input: Count | None = None
    tokens_output: Count | None = None
    api_calls: Count | None = None


class CliVerdict(msgspec.Struct):
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
    execution: CliExecution
    metrics: CliMetrics | None = None
    judgment: CliVerdict | None = None


_CLI_RUN = msgspec.json.Decoder(CliRun)


def is_cli_run(head: Head) -> bool:
    """A record with its test, its tier and how the command ended."""
    return head.has("run_number", "test_id", "tier_id", "execution.exit_code")


def read_cli_run(path: Path) -> RunPart:
    """The run of the file; it owns the folder around, which contains its logs.

    `tokens_input` may or may not hold cached input, which no other count separates: it is kept aside, and the run's
    tokens are a lower bound.
    """
    run = document(path, _CLI_RUN)
    metrics, judged = run.metrics or CliMetrics(), run.judgment or CliVerdict()
    usage = None if metrics.tokens_output is None else Usage(output_tokens=metrics.tokens_output)
    counted = Usage(input_tokens=metrics.tokens_input, output_tokens=metrics.tokens_output)
    cost, sure = stated_cost(run.cost_usd, counted)
    outcome, failure = _cli_outcome(run.execution, judged)
    rate = judged.impl_rate if judged.impl_rate is not None and 0 <= judged.impl_rate <= 1 else None
    record = run_from(
        format=NAME,
        path=str(path),
        how={
            "usage": "lower_bound" if usage else "unknown",
            "cost_usd": sure,
            "passed": "unknown" if judged.passed is None else "reported",
        },
        id=label(f"{run.test_id}/{run.tier_id}/{run.model_id or '-'}/{run.run_number}"),
        task=label(run.test_id),
        agent=AGENT,
        model=label(run.model_id),
        tier=run.tier_id,
        tier_scheme=SCHEME,
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


def _cli_outcome(execution: CliExecution, judged: CliVerdict) -> tuple[Outcome, Failure | None]:
    failure = None
    if execution.timed_out:
        failure = Failure(cause="agent", message="timed out")
    elif execution.exit_code:
        failure = Failure(cause="agent", message=f"exit code {execution.exit_code}")
    return outcome_of(judged.passed, errored=failure is not None), failure


KEY = ("experiment", "tier", "subtest", "run_number")
RUNS = frozenset({*KEY, "agent_model", "passed", "cost_usd", "exit_code", "cache_creation_tokens"})
JUDGES = frozenset({*KEY, "judge_model", "judge_number", "judge_score", "judge_passed"})
CRITERIA = frozenset({*KEY, "judge_model", "judge_number", "criterion", "criterion_achieved", "criterion_max"})

SCORE_TOLERANCE = 0.005
"""A score may be rounded to two places."""

Row = dict[str, str]


def _columns(head: Head) -> frozenset[str]:
    first = head.text.split(b"\n", 1)[0].strip()
    return frozenset(first.decode("utf-8", "replace").split(",")) if b"," in first[:4096] else frozenset()


def is_table(head: Head) -> bool:
    """Whether the header line is one of the three tables'."""
    columns = _columns(head)
    return any(known <= columns for known in (RUNS, JUDGES, CRITERIA))


def read_table(path: Path) -> Iterator[ReadItem]:
    """One part per run; the judges' and criteria's tables are read only with the runs next to them."""
    if not _columns(head_of(path)) >= RUNS:
        if not any(_columns(head_of(other)) >= RUNS for other in path.parent.glob("*.csv")):
            yield Rejected(
                path=str(path), reason="no runs table in this directory", hint="put runs.csv in the same directory"
            )
        return
    judgments = _table_judgments(path.parent)
    for line, row in _rows(path):
        if row is None:
            yield Rejected(
                path=str(path), line=line, reason=f"{CUT}, or its cells do not match the header", code="cut_off"
            )
            continue
        try:
            yield _row_part(row, judgments, path, line)
        except (DecodeError, ValueError, KeyError) as error:
            yield Rejected(path=str(path), line=line, reason=f"not a run: {error}")


def _rows(path: Path) -> Iterator[tuple[int, Row | None]]:
    """Rows by line; None for one that the file breaks off in. The tool ends each row with a line end."""
    rows = csv_rows(path, column="experiment")
    header = next(rows)
    assert isinstance(header, CsvRow)  # a broken header is an error
    before: tuple[int, Row | None] | None = None
    for row in rows:
        if isinstance(row, Rejected):
            raise UnreadableFileError(str(path), row.reason, hint=row.hint)
        if before is not None:
            yield before
        is_whole = row.problem(header) is None
        before = row.line, dict(zip(header.cells, row.cells, strict=True)) if is_whole else None
    if before is not None:
        yield before[0], before[1] if ends_with_line_end(path) else None


def _table_judgments(folder: Path) -> dict[tuple[str, ...], list[Judgment]]:
    tables = sorted(folder.glob("*.csv"))
    lines: dict[tuple[str, ...], list[Criterion]] = {}
    for path in tables:
        if _columns(head_of(path)) >= CRITERIA:
            for _, row in _rows(path):
                criterion = _criterion(row) if row else None
                if row and criterion:
                    lines.setdefault((*_key(row), row["judge_number"]), []).append(criterion)
    judgments: dict[tuple[str, ...], list[Judgment]] = {}
    for path in tables:
        columns = _columns(head_of(path))
        if columns >= JUDGES:
            for _, row in _rows(path):
                score = _number(row["judge_score"]) if row else None
                if row and score is not None and 0 <= score <= 1 and row.get("judge_is_valid") != "False":
                    criteria = tuple(lines.get((*_key(row), row["judge_number"]), ()))
                    judgment = Judgment(
                        judge=label(row["judge_model"]),
                        weighted_score=score,
                        passed=_flag(row["judge_passed"]),
                        criteria=criteria or None,
                    )
                    judgments.setdefault(_key(row), []).append(judgment)
    return judgments


def _criterion(row: Row) -> Criterion | None:
    achieved, most = _number(row["criterion_achieved"]), _number(row["criterion_max"])
    if achieved is None or most is None or most <= 0 or not 0 <= achieved <= most or not label(row["criterion"]):
        return None
    return Criterion(name=row["criterion"], achieved=achieved, max=most)


def _row_part(row: Row, judgments: dict[tuple[str, ...], list[Judgment]], path: Path, number: int) -> RunPart:
    usage = Usage(
        input_tokens=_count(row["input_tokens"]),
        output_tokens=_count(row["output_tokens"]),
        cache_read_tokens=_count(row["cache_read_tokens"]),
        cache_write_5m_tokens=_count(row["cache_creation_tokens"]),
    )
    cost, sure = stated_cost(_number(row["cost_usd"]), usage)
    passed = _flag(row["passed"])
    rate, score = (_number(row.get(name, "")) for name in ("impl_rate", "score"))
    where = f"{path}:{number}"
    notes = [
        Finding(code="rate_out_of_range", message=f"{name} {value} is not a fraction; ignored", where=where)
        for name, value in (("impl_rate", rate), ("score", score))
        if value is not None and not 0 <= value <= 1
    ]
    own = tuple(judgments.get(_key(row), ()))
    notes += _score_notes(score, own, where)
    run = run_from(
        format=NAME,
        path=str(path),
        how={"usage": "reported", "cost_usd": sure, "passed": "unknown" if passed is None else "reported"},
        id=label("/".join((*_key(row)[:3], str(int(row["run_number"]))))),
        experiment=label(row["experiment"]),
        task=label(_task(row["experiment"])),
        agent=AGENT,
        model=label(row["agent_model"]),
        tier=row["tier"],
        tier_scheme=SCHEME,
        attempt=int(row["run_number"]),
        duration_seconds=_number(row.get("duration_seconds", "")),
        passed=passed,
        outcome=outcome_of(passed),
        score=score if score is not None and 0 <= score <= 1 else None,
        impl_rate=rate if rate is not None and 0 <= rate <= 1 else None,
        judgments=own or consensus(score, passed),
        usage=usage,
        cost_usd=cost,
        extra={"subtest": row["subtest"], "agent_seconds": _number(row.get("agent_duration_seconds", ""))},
    )
    return RunPart(run=run, path=str(path), line=number, role="owner", notes=tuple(notes))


def consensus(score: float | None, passed: bool | None) -> tuple[Judgment, ...]:
    """The judges' joint word, the mean of their scores and their majority's vote, where each one's own is not known."""
    if score is None or not 0 <= score <= 1:
        return ()
    return (Judgment(judge="consensus", weighted_score=score, passed=passed),)


def _score_notes(score: float | None, judgments: Sequence[Judgment], where: str) -> list[Finding]:
    """That the run's score is not the mean of its judges' scores, which is how the tool makes it."""
    if score is None or not judgments:
        return []
    mean = exact_mean([judgment.score for judgment in judgments])
    if math.isclose(score, mean, abs_tol=SCORE_TOLERANCE):
        return []
    message = f"score {score:g} is not the mean of the judges' scores, {mean:g}; the judges' scores are used"
    return [Finding(code="stated_score", message=message, where=where)]


def _key(row: Row) -> tuple[str, ...]:
    return tuple(row[name] for name in KEY)


def _number(text: Any) -> float | None:  # Any: a cell, or nothing where the row is short
    try:
        value = float(text)
    except (TypeError, ValueError):
        return None
    return value if math.isfinite(value) else None


def _count(text: str) -> int | None:
    value = _number(text)
    if value is not None and (value < 0 or value != int(value)):
        raise ValueError(f"{text!r} is not a token count")
    return None if value is None else int(value)


def _flag(text: str) -> bool | None:
    return {"True": True, "False": False, "true": True, "false": False, "1": True, "0": False}.get(text)


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
