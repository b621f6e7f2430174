"""Timings of tasks, from the files of one task, a directory of tasks, or FC-Eval's files.

A directory of tasks has this layout:

    TASKS/<task>/nop.json                      timings of the unchanged code, in any supported format; also
                                               nop.json.gz, .jsonl, .txt, .csv, or a directory `nop` that contains one
                                               result file or the contents of Criterion's target/criterion
    TASKS/<task>/nop-repeat.json               second measurement of the unchanged code (optional)
    TASKS/<task>/oracle.json                   timings of the reference solution (optional)
    TASKS/<task>/agents/<agent>/<model>.json   timings under an agent's change; the key is `agent:model`; a model can
                                               contain slashes (one directory each); `<model>#2.json` is attempt 2
    TASKS/<task>/tests.json                    test results by key, and of `oracle` (optional)
    TASKS/<task>/tests/<agent>/<model>.xml     or a test report (JUnit XML and others) per key, and tests/oracle.xml
    TASKS/<task>/snapshot.json                 snapshot results by key, and of `oracle` (optional)
    TASKS/<task>/runs.json                     cost_usd and trajectory_length by key (optional)
    TASKS/<task>/logs/<agent>/<model>/         JSON logs and .cast recordings (optional)

If a directory contains results.json of FC-Eval, that file is read instead; for the directory of a plan, its timings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec

from steelyard.errors import InputError, UnreadableFileError
from steelyard.files import PLAN_TIMINGS, amount, count, is_plan_folder, parse_json, read_text
from steelyard.option_names import option
from steelyard.prices import PriceTable, cost_of, open_price_table
from steelyard.questions.speedup._benchmark_table import NO_COST, NO_TRAJECTORY, Attempt, CostOrigin, side_of
from steelyard.questions.speedup._inputs import TaskFiles
from steelyard.records import Finding, Missing, Rejected, Run, Snapshot, TestResults, set_aside_findings
from steelyard.settings import is_stdin, shown_path
from steelyard.sources import (
    FCEVAL,
    LOG_SUFFIXES,
    NO_BLOCK,
    NOT_THE_DIFFERENCE,
    Mapping,
    TimingFile,
    Trial,
    TrialAgent,
    TrialFile,
    contradiction,
    contradictions,
    format_of_tests,
    is_baseline,
    is_log,
    log_block,
    mapped_trials,
    open_timings,
    read_timings,
    read_trials,
    snapshot_of,
    stated_accuracy,
    tests_in,
    tests_of,
    trajectory_of,
    usage_of,
)

_OWN_FIELDS = {
    "TESTS": ("passed", "failed", "error", "errors", "results", "test_failed", "test_error", "pytest_summary"),
    "SNAPSHOT": ("status", "pass_to_fail", "pass-to-fail", "total", "snapshot_status", "snapshot_summary"),
    "RUN": ("cost_usd", "trajectory_length"),
}
"""By which fields a file is seen to speak of one agent instead of being keyed by agent."""
_ORACLE = "oracle"
"""Key of the reference solution in files keyed by agent."""


@dataclass
class TimingReading:
    """What has been read so far."""

    attempts: list[Attempt] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    rejected: int = 0
    price_table: PriceTable = field(default_factory=open_price_table)
    """The price table; named when it is made, so that an unknown name is an error whether or not a price is needed."""

    def reject(self, error: InputError) -> None:
        """List a file as rejected and continue."""
        self.errors.append(error)
        self.rejected += 1
        advice = f" ({error.hint})" if error.hint else ""
        self.findings.append(
            Finding(code=error.kind, severity="error", message=error.message + advice, where=error.where)
        )

    def note(self, rejected: Sequence[Rejected]) -> None:
        """List records that a source rejected."""
        self.rejected += len(rejected)
        self.findings += set_aside_findings(rejected)

    def timings(self, path: Path) -> TimingFile:
        """Read a timing file and add its findings."""
        file = read_timings(path)
        self.note(file.rejected)
        # files of one folder share the findings of their neighbors
        self.findings += [finding for finding in file.findings if finding not in self.findings]
        self.findings += contradictions(file)
        return file


@dataclass(frozen=True)
class _About:
    """What is known of one agent's attempt besides its times."""

    tests: TestResults | None = None
    snapshot: Snapshot | None = None
    cost_usd: float | None = None
    trajectory_length: int | None = None


def read_task(files: TaskFiles, reading: TimingReading) -> None:
    """Add the attempts of one task. An agent whose file cannot be read is rejected; a baseline must be readable."""
    nop = side_of(reading.timings(files.nop).timings)
    oracle_file = None if files.oracle is None else reading.timings(files.oracle)
    oracle = None if oracle_file is None else side_of(oracle_file.timings)
    again = None if files.nop_repeat is None else side_of(reading.timings(files.nop_repeat).timings)
    about = _about(files, reading)
    of_oracle = _merged(about[_ORACLE], oracle_file)
    logs = _readable_logs(files, reading)
    for key, path in sorted(files.agents.items()):
        try:
            file = reading.timings(path)
        except InputError as error:
            reading.reject(error)
            continue
        agent, number = attempt_of(key)
        known = _merged(about[key], file)
        length, origin = _trajectory(known, logs.get(key, ()), reading)
        cost, cost_origin = _cost(known, file.run, agent.partition(":")[2], logs.get(key, ()), reading)
        reading.attempts.append(
            Attempt(
                task=files.task,
                agent=agent,
                number=number,
                nop=nop,
                oracle=oracle,
                side=side_of(file.timings),
                nop_repeat=again,
                tests=known.tests,
                oracle_tests=of_oracle.tests,
                snapshot=known.snapshot,
                oracle_snapshot=of_oracle.snapshot,
                harness=None if file.run is None else file.run.verdict,
                cost_usd=cost,
                cost_origin=cost_origin,
                trajectory_length=length,
                trajectory_origin=origin,
            )
        )


def _readable_logs(files: TaskFiles, reading: TimingReading) -> dict[str, list[Path]]:
    """The logs of each agent that can be read. Looked at even where nothing is asked of them: they were given."""
    _check_keys(set(files.logs), set(files.agents), None, reading)
    readable: dict[str, list[Path]] = {}
    for key, paths in sorted(files.logs.items()):
        readable[key] = []
        for path in paths:
            if path.suffix not in LOG_SUFFIXES:
                reading.reject(UnreadableFileError(str(path), f"invalid log of {key}", hint="a .json or .cast file"))
            elif not path.is_file():
                reading.reject(UnreadableFileError(str(path), f"no such log of {key}"))
            else:
                readable[key].append(path)
    return readable


def attempt_of(key: str) -> tuple[str, int]:
    """An agent's key without the number of the attempt, and the number.

    >>> attempt_of("tool:model#2")
    ('tool:model', 2)
    """
    match = re.fullmatch(r"(.+)#([1-9][0-9]{0,5})", key)
    return (match[1], int(match[2])) if match else (key, 1)


def _merged(about: _About, file: TimingFile | None) -> _About:
    """Merge the facts; separate files take precedence over those in the timing file."""
    if file is None:
        return about
    return _About(
        tests=about.tests or file.tests,
        snapshot=about.snapshot or file.snapshot,
        cost_usd=file.cost_usd if about.cost_usd is None else about.cost_usd,
        trajectory_length=file.trajectory_length if about.trajectory_length is None else about.trajectory_length,
    )


def _trajectory(about: _About, logs: Sequence[Path], reading: TimingReading) -> tuple[int | Missing, str | None]:
    if about.trajectory_length is not None:
        return about.trajectory_length, "stated"
    if not logs:
        return NO_TRAJECTORY, None
    try:
        trajectory = trajectory_of(logs)
    except InputError as error:
        reading.reject(error)
        return Missing(f"the log cannot be read: {error.message}"), None
    return (trajectory, None) if isinstance(trajectory, Missing) else (trajectory.length, trajectory.origin)


def _cost(
    about: _About, run: Run | None, model: str, logs: Sequence[Path], reading: TimingReading
) -> tuple[float | Missing, CostOrigin | None]:
    """The stated cost; else the tokens of the run record, or of the agent's log, under the price table."""
    if about.cost_usd is not None:
        too_low = run is not None and run.cost_usd == about.cost_usd and run.cost_is_lower_bound
        return about.cost_usd, "lower_bound" if too_low else "stated"
    if run is None or run.total_usage is None:
        if not logs:
            return NO_COST, None
        try:
            logged = usage_of(logs)
        except InputError as error:
            return Missing(f"the log cannot be read: {error.message}"), None
        if isinstance(logged, Missing):
            return logged, None
        reading.findings += logged.findings
        run = Run(task="", usage=logged.usage, started_at=logged.at)
    cost = cost_of(run if run.model else msgspec.structs.replace(run, model=model), reading.price_table)
    return cost.or_missing, _ORIGINS.get(cost.how)


_ORIGINS: dict[str, CostOrigin] = {"priced": "priced", "lower_bound": "lower_bound"}


def _about(files: TaskFiles, reading: TimingReading) -> dict[str, _About]:
    """Read the separate files about agents and the reference solution."""
    keys = set(files.agents)
    tests = _tests(files, keys, reading)
    snapshots = _keyed(files.snapshot, "SNAPSHOT", keys, reading)
    runs = _keyed(files.runs, "RUN", keys, reading)
    for key in sorted(runs.keys() & keys):
        if not isinstance(runs[key], dict) or not runs[key].keys() & {*_OWN_FIELDS["RUN"]}:
            reason = f"the entry for {key!r} contains neither cost_usd nor trajectory_length"
            reading.note([Rejected(path=str(files.runs), reason=reason, hint="cost_usd and trajectory_length")])
    return {
        key: _About(
            tests=tests.get(key),
            snapshot=snapshot_of(snapshots.get(key)),
            cost_usd=amount(_stated(files.runs, runs, key, "cost_usd", amount, reading)),
            trajectory_length=count(_stated(files.runs, runs, key, "trajectory_length", count, reading)),
        )
        for key in sorted(keys | {_ORACLE})
    }


def _tests(files: TaskFiles, keys: set[str], reading: TimingReading) -> dict[str, TestResults | None]:
    """Return test results by agent and oracle, from test reports and from a file by key."""
    reports = {_ORACLE if is_baseline(key, _ORACLE) else key: path for key, path in files.test_reports.items()}
    _check_keys(reports.keys() - {_ORACLE}, keys, None, reading)
    by_key = files.tests
    if by_key is not None and not is_stdin(by_key) and format_of_tests(by_key) is not None:
        reports.setdefault(_only_agent(keys, by_key, f"give each with {option('tests', 'agent:model=FILE')}"), by_key)
        by_key = None
    entries = {key: (str(by_key), tests_of(entry)) for key, entry in _keyed(by_key, "TESTS", keys, reading).items()}
    entries |= {key: (str(path), tests_in(path)) for key, path in reports.items()}
    tests = {key: entries[key][1] for key in sorted(entries.keys() & (keys | {_ORACLE}))}
    reading.note(
        [
            Rejected(
                path=entries[key][0],
                reason=f"the entry for {key!r} contains no test results",
                hint="passed, failed and errors",
            )
            for key, results in tests.items()
            if results is None
        ]
    )
    return tests


def _only_agent(keys: set[str], path: Path, hint: str) -> str:
    if len(keys) != 1:
        raise UnreadableFileError(str(path), f"the file is for one agent, but there are {len(keys)}", hint=hint)
    return next(iter(keys))


def _stated(
    path: Path | None,
    runs: dict[str, Any],
    key: str,
    name: str,
    check: Callable[[object], object],
    reading: TimingReading,
) -> Any:  # Any: JSON values
    """What the runs file states under a name; one that is no such number is rejected."""
    entry = runs.get(key)
    value = entry.get(name) if isinstance(entry, dict) else None
    if value is not None and check(value) is None:
        reading.note(
            [Rejected(path=str(path), reason=f"invalid {name} of {key!r}: {value!r}", hint="omit unknown values")]
        )
    return value


def _keyed(path: Path | None, block: str, keys: set[str], reading: TimingReading) -> dict[str, Any]:  # Any: JSON values
    """A file's values by agent; a file that speaks of one agent only may leave the key out.

    A key that is none of the agents is an error and never taken for the nearest one.
    """
    if path is None:
        return {}
    text = read_text(path)
    path = shown_path(path)
    values = log_block(text, path, block)
    if values is None and is_log(text):
        if block != "SNAPSHOT":
            raise UnreadableFileError(str(path), f"the log has no {block} block")
        values = {"status": NO_BLOCK.status}
    values = values or parse_json(text, path)
    if not isinstance(values, dict):
        raise UnreadableFileError(str(path), "expected a JSON object with agent:model keys")
    if any(name in values for name in _OWN_FIELDS[block]):
        return {_only_agent(keys, path, "key it by agent:model"): values}
    named = {_ORACLE if is_baseline(key, _ORACLE) else key: value for key, value in values.items()}
    _check_keys({key for key in named if key != _ORACLE and not is_baseline(key, "nop")}, keys, str(path), reading)
    return named


def _check_keys(given: set[str], keys: set[str], where: str | None, reading: TimingReading) -> None:
    for key in sorted(given - keys):
        reading.rejected += 1
        message = f"{key!r} matches no agent (agents: {', '.join(sorted(keys))})"
        reading.findings.append(Finding(code="unmatched_agent_key", severity="error", message=message, where=where))


def read_trial_file(path: Path, reading: TimingReading) -> None:
    """Add the trials of an FC-Eval results.json or log. Trials of one task are its attempts, in the file's order."""
    try:
        opened, source = open_timings(path)
    except UnreadableFileError as error:
        hint = error.hint or "see the folder layout in docs/speedup.md"
        raise UnreadableFileError(str(path), f"no timings in this file: {error.message}", hint=hint) from error
    if source is not FCEVAL:
        hint = f"name two files, the baseline first, or use {option('nop')} and {option('agent')}"
        raise UnreadableFileError(
            str(path), f"a {source.name} file contains timings of one side; a speedup needs two", hint=hint
        )
    _add_trials(path, read_trials(opened), reading)


def is_one_side(path: Path) -> bool:
    """Return whether the file contains timings of one side of a change."""
    if not path.is_file():
        return False
    try:
        return open_timings(path)[1] is not FCEVAL
    except InputError:
        return False


def read_speedup_table(path: Path, mapping: Mapping, reading: TimingReading) -> None:
    """Read the attempts whose speedups a table states."""
    _add_trials(path, mapped_trials(path, mapping), reading)


def _add_trials(path: Path, file: TrialFile, reading: TimingReading) -> None:
    reading.note(file.rejected)
    numbers: dict[tuple[str, str], int] = {}
    # A reference solution in one trial of a task applies to all its trials.
    tests = {trial.task: trial.oracle_tests for trial in reversed(file.trials) if trial.oracle_tests}
    snapshots = {trial.task: trial.oracle_snapshot for trial in reversed(file.trials) if trial.oracle_snapshot}
    first = len(reading.attempts)
    for trial in file.trials:
        logs = _trial_logs(path.parent, trial, is_own=file.is_one_trial)
        for key, agent in sorted(trial.agents.items()):
            numbers[trial.task, key] = numbers.get((trial.task, key), 0) + 1
            if agent.contradicting:
                where = f"{path}, {trial.task}, {key}"
                reading.findings.append(contradiction(NOT_THE_DIFFERENCE, list(agent.contradicting), where=where))
            reading.attempts.append(
                Attempt(
                    task=trial.task,
                    agent=key,
                    number=numbers[trial.task, key],
                    oracle_tests=trial.oracle_tests or tests.get(trial.task),
                    oracle_snapshot=trial.oracle_snapshot or snapshots.get(trial.task),
                    **_stated_of(agent, logs, reading),
                )
            )
    attempts = reading.attempts[first:]
    if file.accuracy is not None and all(len(trial.agents) == 1 for trial in file.trials):
        verdicts = [None if isinstance(attempt.success, Missing) else attempt.success for attempt in attempts]
        how = "resolved trials of the run"
        reading.findings.append(
            stated_accuracy(str(path), stated=file.accuracy, of=len(verdicts), how=how, verdicts=verdicts)
        )
    for attempt in attempts:
        if isinstance(attempt.harness, bool) and attempt.tests is not None:
            stated = "passed" if attempt.harness else "failed"
            where = f"{attempt.trial}, {attempt.agent}"
            if not attempt.tests.total:
                message = f"no test ran; the reported verdict ({stated}) is used"
                reading.findings.append(Finding(code="stated_verdict", message=message, where=where))
            elif attempt.success is not attempt.harness:
                message = (
                    f"the reported verdict ({stated}) contradicts the results of tests and snapshot, which are used"
                )
                reading.findings.append(Finding(code="stated_verdict", message=message, where=where))


def _trial_logs(folder: Path, trial: Trial, *, is_own: bool) -> list[Path]:
    """The logs and recordings in the trial's folder, if only one agent worked on it."""
    parts = [trial.task, trial.name or ""]
    if len(trial.agents) != 1 or not (is_own or all(PurePath(part).name == part for part in parts)):
        return []
    home = folder if is_own else folder.joinpath(*parts)
    logs = sorted((home / "agent-logs").rglob("*.json")) if (home / "agent-logs").is_dir() else []
    casts = sorted((home / "sessions").glob("agent*.cast")) if (home / "sessions").is_dir() else []
    return [path for path in (*logs, *casts) if path.is_file() and not path.is_symlink()]


def _stated_of(
    agent: TrialAgent, logs: Sequence[Path], reading: TimingReading
) -> dict[str, Any]:  # Any: the fields of an Attempt
    """What an FC-Eval file states of one agent in one trial, and what its logs show of the trajectory."""
    cost = agent.cost_usd
    length, origin = _trajectory(_About(trajectory_length=agent.trajectory_length), logs, reading)
    return {
        "nop": side_of(agent.nop),
        "oracle": None if agent.oracle is None else side_of(agent.oracle),
        "side": side_of(agent.agent),
        "tests": agent.tests,
        "snapshot": agent.snapshot,
        "harness": agent.harness,
        "cost_usd": NO_COST if cost is None else cost,
        "cost_origin": None if cost is None else "stated",
        "trajectory_length": length,
        "trajectory_origin": origin,
    }


_ENDINGS = (".json.gz", ".json", ".jsonl", ".txt", ".csv")
_REPORT_ENDINGS = (".json", ".xml")


def read_folder(folder: Path, reading: TimingReading) -> None:
    """Add the attempts of every task in the folder; a task that cannot be read is rejected."""
    if is_plan_folder(folder):
        folder = folder / PLAN_TIMINGS
        if not folder.is_dir():
            hint = "add [plan.measure] to the plan (see docs/run.md)"
            raise UnreadableFileError(str(folder.parent), "this plan has no timings", hint=hint)
    results = folder / "results.json"
    if results.is_file():
        read_trial_file(results, reading)
        return
    for task in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            read_task(task_files(task), reading)
        except InputError as error:
            reading.reject(error)


def timings_in(path: Path) -> Literal["alone", "with runs"] | None:
    """Return whether the input contains timings only, or with runs; None if it contains no timings."""
    if path.is_dir() and is_plan_folder(path):
        return "with runs" if (path / PLAN_TIMINGS).is_dir() else None
    if path.is_dir() and not (path / "results.json").is_file():
        return "alone" if any(_named(task, "nop") for task in path.iterdir() if task.is_dir()) else None
    file = path / "results.json" if path.is_dir() else path
    if file.suffix.lower() not in (".json", ".log"):
        return None
    try:
        _, declared = open_timings(file)
    except InputError:
        return None
    if declared is not FCEVAL:
        return None
    return "alone" if file.suffix.lower() == ".log" else "with runs"


def task_files(folder: Path) -> TaskFiles:
    """The files of one task, by the documented layout."""
    nop = _named(folder, "nop")
    if nop is None:
        raise UnreadableFileError(
            str(folder), "the task has no nop.json", hint="see the folder layout in docs/speedup.md"
        )
    agents = _by_key(folder / "agents", _ENDINGS)
    if not agents:
        raise UnreadableFileError(str(folder), "the task has no agents/<agent>/<model>.json")
    return TaskFiles(
        task=folder.name,
        nop=nop,
        oracle=_named(folder, "oracle"),
        agents=agents,
        nop_repeat=_named(folder, "nop-repeat"),
        tests=_named(folder, "tests", folders=False),
        test_reports=_by_key(folder / "tests", _REPORT_ENDINGS, reference=True),
        snapshot=_named(folder, "snapshot"),
        runs=_named(folder, "runs"),
        logs=_logs(folder / "logs"),
    )


def _named(folder: Path, name: str, *, folders: bool = True) -> Path | None:
    candidates = [folder / (name + ending) for ending in (*_ENDINGS, *_REPORT_ENDINGS)] + [folder / name]
    return next((path for path in candidates if path.exists() and (folders or path.is_file())), None)


def _by_key(root: Path, endings: tuple[str, ...], *, reference: bool = False) -> dict[str, Path]:
    """Files by `agent:model`, from <agent>/<model>.json; a second attempt keeps its #2; oracle has no model."""
    files: dict[str, Path] = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file() and path.name.endswith(endings)):
        name = path.relative_to(root).as_posix()
        agent, slash, model = name.removesuffix(next(end for end in endings if name.endswith(end))).partition("/")
        if not slash and not (reference and agent == "oracle"):
            raise UnreadableFileError(str(path), f"expected the path {root.name}/<agent>/<model>.json")
        files[f"{agent}:{model}" if slash else agent] = path
    return files


def _logs(root: Path) -> dict[str, list[Path]]:
    """Logs by agent, from logs/<agent>/<model>/; a key that is none of the agents is found when they are matched."""
    logs: dict[str, list[Path]] = {}
    for path in sorted(root.rglob("*")):
        agent, *model = path.parent.relative_to(root).parts or ("",)
        if path.suffix in LOG_SUFFIXES and path.is_file() and model:
            logs.setdefault(f"{agent}:{'/'.join(model)}", []).append(path)
    return logs
