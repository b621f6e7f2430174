"""FC-Eval: its results.json (`parser_extra_metrics.agent_metrics_by_agent`) and the blocks in its logs.

These files state speedups over the unchanged code instead of times, for several agents, each with the oracle's
speedup and its own. Keys are `agent:model`; `nop` and `oracle` are the baselines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.errors import UnreadableFileError
from steelyard.files import amount, count, number, parse_json, text_or_none
from steelyard.records import Missing, Rejected, Snapshot, TestResults, Timing, place_of
from steelyard.sources.formats._timing_format import TOLERANCE, OpenedFile, TimingFile, TimingFormat

_BLOCKS = ("TESTS", "RESULT", "SNAPSHOT")
_METRICS = "agent_metrics_by_agent"
NO_BLOCK = Snapshot(status="missing")
"""Status of a missing snapshot block: FC-Eval's harness takes it for a status that is not passed."""
NOT_SCORED = Missing("no verdict from the harness (is_resolved is null)")
NOT_THE_DIFFERENCE = "the reported advantage differs from agent/nop - oracle/nop, which is used"


@dataclass(frozen=True, slots=True)
class TrialAgent:
    """What one agent did in one trial."""

    nop: tuple[Timing, ...]
    oracle: tuple[Timing, ...] | None
    """None if no benchmark mentions the reference solution."""
    agent: tuple[Timing, ...]
    tests: TestResults | None
    snapshot: Snapshot | None
    cost_usd: float | None
    trajectory_length: int | None
    contradicting: tuple[str, ...] = ()
    """Benchmarks whose stated advantage is not the difference of their speedups."""
    harness: bool | Missing | None = None
    """The harness's own verdict, or why it gave none; None where it does not apply."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One attempt of several agents at one task."""

    task: str
    agents: dict[str, TrialAgent]
    oracle_tests: TestResults | None
    oracle_snapshot: Snapshot | None
    name: str | None = None
    """The trial's name, which is that of its folder in the run."""


@dataclass(frozen=True, slots=True)
class TrialFile:
    """All trials of a file, and what of it could not be used."""

    path: str
    trials: tuple[Trial, ...]
    rejected: tuple[Rejected, ...]
    accuracy: float | None = None
    """The file's own fraction of resolved trials."""
    is_one_trial: bool = False
    """Whether it is the result of one trial, in that trial's folder."""


def _recognizes(opened: OpenedFile) -> bool:
    values = opened.values
    if values is None:
        return "FORMULACODE_RESULT_START" in opened.text
    return any(_metrics_of(result) is not None for result in _results_in(values))


def _results_in(values: Any) -> list[Any]:  # Any: JSON values
    """The trials of a run's results, or the one of a trial's own."""
    results = values.get("results") if isinstance(values, dict) else None
    if isinstance(results, list):
        return results
    return [values] if _metrics_of(values) is not None else []


def _metrics_of(result: Any) -> dict[str, Any] | None:  # Any: JSON values
    extra = result.get("parser_extra_metrics") if isinstance(result, dict) else None
    metrics = extra.get(_METRICS) if isinstance(extra, dict) else None
    return metrics if isinstance(metrics, dict) else None


def _reject(opened: OpenedFile) -> TimingFile:
    raise UnreadableFileError(
        str(opened.path),
        "an FC-Eval file contains several agents",
        hint=f"pass it alone: steelyard speedup {opened.path.name}",
    )


def read_trials(opened: OpenedFile) -> TrialFile:
    """The trials in an FC-Eval results.json or log."""
    if opened.values is None:
        return TrialFile(str(opened.path), (_trial_of_log(opened),), ())
    results = _results_in(opened.values)
    everyone = sorted({key for result in results for key in _metrics_of(result) or () if not _is_any_baseline(key)})
    trials: list[Trial] = []
    rejected: list[Rejected] = []
    for position, result in enumerate(results):
        metrics = _metrics_of(result)
        if metrics is None and not isinstance(result, dict):
            reason = f"trial {position + 1} is not an object"
            rejected.append(Rejected(path=str(opened.path), reason=reason))
            continue
        task = text_or_none(result.get("task_id")) or text_or_none(result.get("trial_name")) or f"trial-{position + 1}"
        trial = _unmeasured(task, result, everyone) if metrics is None else _trial(task, result, metrics)
        if trial.agents or metrics is not None:
            trials.append(trial)
        else:
            reason = f"trial {position + 1} has no parser_extra_metrics.{_METRICS}, so its agent is unknown"
            rejected.append(Rejected(path=str(opened.path), reason=reason, code="trial_without_metrics"))
    is_one = results == [opened.values]
    accuracy = None if is_one else number(opened.values.get("accuracy"))
    return TrialFile(str(opened.path), tuple(trials), tuple(rejected), accuracy, is_one)


def _trial(task: str, result: dict[str, Any], metrics: dict[str, Any]) -> Trial:  # Any: JSON values
    agents: dict[str, TrialAgent] = {}
    oracle_tests = oracle_snapshot = None
    alone = sum(not _is_any_baseline(key) for key in metrics) == 1
    for key in sorted(metrics):
        payload = _table(metrics[key])
        tests, snapshot = tests_of(payload.get("pytest_summary")), snapshot_of(payload.get("snapshot_summary"))
        if is_baseline(key, "oracle"):
            oracle_tests, oracle_snapshot = tests, snapshot
        elif not is_baseline(key, "nop"):
            # the trial's own verdict is that of the last agent, so among several it belongs to none
            not_scored = alone and "is_resolved" in result and result["is_resolved"] is None
            harness = NOT_SCORED if not_scored else _stated_verdict(payload, tests)
            agents[key] = trial_agent(payload, tests, snapshot or NO_BLOCK, harness)
    return Trial(task, agents, oracle_tests, oracle_snapshot, name=text_or_none(result.get("trial_name")))


def _stated_verdict(payload: dict[str, Any], tests: TestResults | None) -> bool | None:  # Any: JSON values
    """The harness's own verdict. No test that ran is no pass, unless the harness calls it one."""
    success, failed = payload.get("success"), payload.get("pytest_failed")
    if isinstance(success, bool):
        return success
    if isinstance(failed, bool):
        return False if failed else True if tests is None or not tests.total else None
    return False if tests is not None and not tests.total else None


def _unmeasured(task: str, result: dict[str, Any], everyone: list[str]) -> Trial:  # Any: JSON values
    """A trial that ended before its results were read. A run gives every task to all of its agents."""
    extra, costs = _table(result.get("parser_extra_metrics")), _table(result.get("costs_by_agent_model"))
    own = text_or_none(extra.get("agent_model_key"))
    named = [key for key in ([own] if own else sorted(costs)) if not _is_any_baseline(key)]
    resolved = result.get("is_resolved")
    harness = resolved if isinstance(resolved, bool) else NOT_SCORED
    agents = {
        key: trial_agent(
            {"task_cost_usd": costs.get(key), "trajectory_length": extra.get("trajectory_length")}, None, None, harness
        )
        for key in named or everyone
    }
    return Trial(task, agents, None, None, name=text_or_none(result.get("trial_name")))


def _is_any_baseline(key: str) -> bool:
    return is_baseline(key, "nop") or is_baseline(key, "oracle")


def is_baseline(key: str, which: str) -> bool:
    """Whether the key names the unchanged code or the reference solution."""
    return key.split(":", 1)[0].lower() == which


def trial_agent(
    payload: dict[str, Any],  # Any: JSON values
    tests: TestResults | None,
    snapshot: Snapshot | None,
    harness: bool | Missing | None = None,
) -> TrialAgent:
    """Return what an agent did in a trial, from the speedups, cost and trajectory length that its entry states."""
    nop, oracle, agent = _speedups(payload.get("per_benchmark_speedups"))
    return TrialAgent(
        nop=nop,
        oracle=oracle,
        agent=agent,
        tests=tests,
        snapshot=snapshot,
        cost_usd=amount(payload.get("task_cost_usd")),
        trajectory_length=count(payload.get("trajectory_length")),
        contradicting=tuple(_contradicting(_table(payload.get("per_benchmark_speedups")))),
        harness=harness,
    )


def _contradicting(entries: dict[str, Any]) -> Iterator[str]:  # Any: JSON values
    for name in sorted(entries):
        entry = _table(entries[name])
        agent, oracle, stated = (number(entry.get(key)) for key in ("agent/nop", "oracle/nop", "advantage"))
        if agent is None or oracle is None or stated is None:
            continue
        # Rounding is judged by the size of what was subtracted: the difference itself may be next to nothing.
        if abs(stated - (agent - oracle)) > TOLERANCE * max(abs(agent), abs(oracle)):
            yield name


def _speedups(
    stated: Any,  # Any: JSON values
) -> tuple[tuple[Timing, ...], tuple[Timing, ...] | None, tuple[Timing, ...]]:
    entries = {name: _table(entry) for name, entry in sorted(_table(stated).items())}
    oracle, agent = (
        tuple(_stated(name, number(entry.get(key))) for name, entry in entries.items())
        for key in ("oracle/nop", "agent/nop")
    )
    without_oracle = entries and not any("oracle/nop" in entry for entry in entries.values())
    return tuple(_stated(name, 1.0) for name in entries), None if without_oracle else oracle, agent


def _stated(name: str, speedup: float | None) -> Timing:
    return Timing(
        name=name,
        **place_of(name)._asdict(),
        status="ok" if speedup is not None and speedup > 0 else "missing",
        speedup=speedup,
    )


def tests_of(values: Any) -> TestResults | None:  # Any: JSON values
    """Test results from `{passed, failed, error, ...}`, as counts or as lists of names; None when there are none.

    A block whose only word is that the tests could not be run counts as one error. One that states something else than
    a count, such as -1 or "2", gives None: leaving that part out would call the tests passed.
    """
    if not isinstance(values, dict):
        return None
    inner = values.get("results")
    if isinstance(inner, dict) and isinstance(inner.get("summary"), dict):
        values = inner["summary"]
    values = _table(values.get("pytest_summary")) or values
    errors = _first(values, "errors", "error", "test_error")
    stated = {
        "passed": _first(values, "passed", "test_passed"),
        "failed": _first(values, "failed", "test_failed"),
        "errors": int(bool(errors)) if isinstance(errors, str) else errors,  # a sentence means one
    }
    parts = {name: _outcome(value) for name, value in stated.items()}
    if any(value is not None and parts[name] is None for name, value in stated.items()):
        return None
    if all(part is None for part in parts.values()):
        return TestResults(errors=1) if "error" in values else None
    return TestResults(**parts)


def _first(values: dict[str, Any], *names: str) -> Any:  # Any: JSON values
    """The value under the first of these names that is there: writers spell them differently."""
    return next((values[name] for name in names if name in values), None)


def _table(values: Any) -> dict[str, Any]:  # Any: JSON values
    return values if isinstance(values, dict) else {}


def _outcome(value: Any) -> tuple[str, ...] | int | None:  # Any: JSON values
    if isinstance(value, list):
        return tuple(str(name) for name in value)
    return count(value)


def snapshot_of(values: Any) -> Snapshot | None:  # Any: JSON values
    """Snapshot result from FC-Eval's summary or block, or from `{status, pass_to_fail}`; None when there is none."""
    if not isinstance(values, dict) or not values:
        return None
    values = _table(values.get("snapshot_summary")) or values
    broken = count(_first(values, "pass_to_fail", "pass-to-fail", "snapshot_pass_to_fail"))
    status = text_or_none(_first(values, "status", "snapshot_status"))
    if status is None:
        # A block without a status: failures that were there before do not count, so only new ones decide.
        ran = count(values.get("total")) or 0
        status = "failed" if "error" in values or (broken or 0) > 0 or (broken is None and ran == 0) else "passed"
    return Snapshot(status=status, pass_to_fail=broken)


def _trial_of_log(opened: OpenedFile) -> Trial:
    blocks = {block: log_block(opened.text, opened.path, block) for block in _BLOCKS}
    result = blocks["RESULT"] or {}
    by_agent = result.get("per_benchmark_speedups_by_agent")
    last = text_or_none(result.get("last_agent"))
    if not isinstance(by_agent, dict):
        by_agent = {last: result.get("per_benchmark_speedups")} if last else {}
    if not by_agent:
        reason = text_or_none(result.get("error")) or "the RESULT block does not name an agent"
        raise UnreadableFileError(str(opened.path), f"nothing to measure: {reason}")
    agents: dict[str, TrialAgent] = {}
    for key in sorted(by_agent):
        if _is_any_baseline(key):
            continue
        # the blocks are those of the last agent; the log lacks the results of the others
        tests = tests_of(blocks["TESTS"]) if key == last else None
        snapshot = (snapshot_of(blocks["SNAPSHOT"]) or NO_BLOCK) if key == last else None
        failed = key == last and (tests is None or not tests.total)  # no block, or one without a test
        agents[key] = trial_agent({"per_benchmark_speedups": by_agent[key]}, tests, snapshot, False if failed else None)
    return Trial(_task_of_log(opened.path), agents, None, None)


def _task_of_log(path: Path) -> str:
    return path.name.split(".", 1)[0] or path.name


def is_log(text: str) -> bool:
    """Whether the text is a log that holds one of FC-Eval's blocks."""
    return any(f"FORMULACODE_{block}_START" in text for block in _BLOCKS)


def log_block(text: str, path: Path, block: str) -> dict[str, Any] | None:  # Any: JSON values
    """Return the content of a block (TESTS, RESULT or SNAPSHOT) of a log's text; None when there is no such block."""
    start, end = f"FORMULACODE_{block}_START", f"FORMULACODE_{block}_END"
    _, opening, rest = text.partition(start)
    if not opening:
        return None
    inner, closed, _ = rest.partition(end)
    if not closed:
        raise UnreadableFileError(str(path), f"the {block} block is truncated: no {end}")
    try:
        values = parse_json(inner.strip(), path)
    except UnreadableFileError as error:
        raise UnreadableFileError(str(path), f"the {block} block is {error.message}") from error
    return values if isinstance(values, dict) else None


FCEVAL = FORMAT = TimingFormat(
    name="fceval",
    title="FC-Eval results.json or log",
    yields=("benchmarks", "tests", "snapshot", "cost_usd", "trajectory_length"),
    recognizes=_recognizes,
    read=_reject,
)
