"""Reading the inputs of speedup: the files of one task, a folder of tasks, an FC-Eval file.

The layout of a folder of tasks:

    TASKS/<task>/nop.json                      timings of the unchanged code, in any format that is read; also
                                               nop.json.gz, or a folder `nop` that holds one result file
    TASKS/<task>/nop-again.json                the same measured a second time (optional)
    TASKS/<task>/oracle.json                   timings of the expert's change
    TASKS/<task>/agents/<agent>/<model>.json   timings under an agent's change; the key is `agent:model`, a model may
                                               hold slashes (one folder each); `<model>#2.json` is its second attempt
    TASKS/<task>/tests.json                    test results by key, and of `oracle` (optional)
    TASKS/<task>/snapshot.json                 snapshot results by key (optional)
    TASKS/<task>/runs.json                     cost_usd and trajectory_length by key (optional)
    TASKS/<task>/logs/<agent>/<model>/         JSON logs and .cast recordings (optional)

A folder that holds a results.json of FC-Eval is read from that file instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.errors import BadInput, UnreadableFile
from steelyard.records.finding import Finding, Rejected
from steelyard.records.missing import Missing
from steelyard.records.run import Snapshot, TestResults
from steelyard.speedups._sides import Side, side_of
from steelyard.speedups._table import NO_COST, NO_TRAJECTORY, Attempt
from steelyard.timings._base import TimingFile, amount, count, parse_json, read_text
from steelyard.timings._catalog import open_timings, read_timings
from steelyard.timings._trajectory import trajectory_of
from steelyard.timings.fceval import SOURCE as FCEVAL
from steelyard.timings.fceval import log_block, read_trials, snapshot_of, tests_of
from steelyard.workflow._speedup_files import TaskFiles

_ENDINGS = (".json.gz", ".json")
_OWN_FIELDS = {
    "TESTS": ("passed", "failed", "error", "errors", "results", "test_failed", "test_error", "pytest_summary"),
    "SNAPSHOT": ("status", "pass_to_fail", "pass-to-fail", "total", "snapshot_status", "snapshot_summary"),
    "RUN": ("cost_usd", "trajectory_length"),
}
"""By which fields a file is seen to speak of one agent instead of being keyed by agent."""
_NOT_RESULTS = frozenset({"benchmarks.json", "machine.json"})


@dataclass
class Reading:
    """What has been read so far."""

    attempts: list[Attempt] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    errors: list[BadInput] = field(default_factory=list)
    rejected: int = 0

    def refuse(self, error: BadInput) -> None:
        """Set a file aside and go on."""
        self.errors.append(error)
        self.rejected += 1
        advice = f" ({error.hint})" if error.hint else ""
        self.findings.append(
            Finding(code=error.kind, severity="error", message=error.message + advice, where=error.where)
        )

    def note(self, rejected: Sequence[Rejected]) -> None:
        """List records that a source set aside."""
        self.rejected += len(rejected)
        self.findings += [one.as_finding() for one in rejected]


@dataclass(frozen=True)
class _About:
    """What is known of one agent's attempt besides its times."""

    tests: TestResults | None = None
    snapshot: Snapshot | None = None
    cost_usd: float | None = None
    trajectory_length: int | None = None


def read_task(files: TaskFiles, reading: Reading) -> None:
    """Add the attempts of one task. An agent whose file cannot be read is set aside; a baseline must be readable."""
    nop, oracle = _side(files.nop, reading), _side(files.oracle, reading)
    again = None if files.nop_again is None else _side(files.nop_again, reading)
    about, oracle_tests = _about(files, reading)
    _check_keys(set(files.logs), set(files.agents), None, reading)
    for key, path in sorted(files.agents.items()):
        try:
            file = read_timings(one_file(path))
        except BadInput as error:
            reading.refuse(error)
            continue
        reading.note(file.rejected)
        agent, number = attempt_of(key)
        known = _merged(about.get(key, _About()), file)
        length, origin = _trajectory(known, files.logs.get(key, ()), reading)
        reading.attempts.append(
            Attempt(
                task=files.task,
                agent=agent,
                number=number,
                nop=nop,
                oracle=oracle,
                side=side_of(file.timings),
                nop_again=again,
                tests=known.tests,
                oracle_tests=oracle_tests,
                snapshot=known.snapshot,
                cost_usd=NO_COST if known.cost_usd is None else known.cost_usd,
                trajectory_length=length,
                trajectory_origin=origin,
            )
        )


def attempt_of(key: str) -> tuple[str, int]:
    """An agent's key without the number of the attempt, and the number.

    >>> attempt_of("tool:model#2")
    ('tool:model', 2)
    """
    found = re.fullmatch(r"(.+)#([1-9][0-9]{0,5})", key)
    return (found[1], int(found[2])) if found else (key, 1)


def _side(path: Path, reading: Reading) -> Side:
    file = read_timings(one_file(path))
    reading.note(file.rejected)
    return side_of(file.timings)


def one_file(path: Path) -> Path:
    """The file itself, or the one result file in a folder."""
    if not path.is_dir():
        return path
    found = sorted(one for one in path.rglob("*.json") if one.name not in _NOT_RESULTS)
    if len(found) != 1:
        raise UnreadableFile(str(path), f"the folder holds {len(found)} result files", hint="name one of them")
    return found[0]


def _merged(about: _About, file: TimingFile) -> _About:
    """What separate files say wins over what stands beside the times."""
    return _About(
        tests=about.tests or file.tests,
        snapshot=about.snapshot or file.snapshot,
        cost_usd=file.cost_usd if about.cost_usd is None else about.cost_usd,
        trajectory_length=file.trajectory_length if about.trajectory_length is None else about.trajectory_length,
    )


def _trajectory(about: _About, logs: Sequence[Path], reading: Reading) -> tuple[int | Missing, str | None]:
    if about.trajectory_length is not None:
        return about.trajectory_length, "stated"
    if not logs:
        return NO_TRAJECTORY, None
    try:
        found = trajectory_of(logs)
    except BadInput as error:
        reading.refuse(error)
        return Missing(f"the log cannot be read: {error.message}"), None
    return (found, None) if isinstance(found, Missing) else (found.length, found.origin)


def _about(files: TaskFiles, reading: Reading) -> tuple[dict[str, _About], TestResults | None]:
    """What the separate files say of each agent, and the expert's test results."""
    keys = set(files.agents)
    tests = _keyed(files.tests, "TESTS", keys, reading)
    snapshots = _keyed(files.snapshot, "SNAPSHOT", keys, reading)
    runs = _keyed(files.runs, "RUN", keys, reading)
    for key in sorted(tests.keys() & (keys | {"oracle"})):
        if tests_of(tests[key]) is None:
            reason = f"the entry of {key!r} holds no test results"
            reading.note([Rejected(path=str(files.tests), reason=reason, hint="passed, failed and errors")])
    found = {
        key: _About(
            tests=tests_of(tests.get(key)),
            snapshot=snapshot_of(snapshots.get(key)),
            cost_usd=amount(_stated(files.runs, runs, key, "cost_usd", amount, reading)),
            trajectory_length=count(_stated(files.runs, runs, key, "trajectory_length", count, reading)),
        )
        for key in sorted(keys)
    }
    return found, tests_of(tests.get("oracle"))


def _stated(
    path: Path | None, runs: dict[str, Any], key: str, name: str, check: Callable[[object], object], reading: Reading
) -> Any:  # Any: JSON values
    """What the runs file states under a name; one that is no such number is set aside."""
    entry = runs.get(key)
    value = entry.get(name) if isinstance(entry, dict) else None
    if value is not None and check(value) is None:
        reading.note(
            [Rejected(path=str(path), reason=f"{name} of {key!r} is {value!r}", hint="leave out what is unknown")]
        )
    return value


def _keyed(path: Path | None, block: str, keys: set[str], reading: Reading) -> dict[str, Any]:  # Any: JSON values
    """A file's values by agent; a file that speaks of one agent only may leave the key out.

    A key that is none of the agents is an error and never taken for the nearest one.
    """
    if path is None:
        return {}
    text = read_text(path)
    values = log_block(text, path, block) or parse_json(text, path)
    if not isinstance(values, dict):
        raise UnreadableFile(str(path), "it must be one JSON object, by agent:model")
    if any(name in values for name in _OWN_FIELDS[block]):
        if len(keys) != 1:
            raise UnreadableFile(
                str(path), f"it speaks of one agent, but {len(keys)} are given", hint="key it by agent:model"
            )
        return {next(iter(keys)): values}
    named = {"oracle" if key in ("oracle", "oracle:oracle") else key: value for key, value in values.items()}
    _check_keys(set(named) - {"oracle", "nop", "nop:nop"}, keys, str(path), reading)
    return named


def _check_keys(given: set[str], keys: set[str], where: str | None, reading: Reading) -> None:
    for key in sorted(given - keys):
        reading.rejected += 1
        message = f"the key {key!r} is none of the agents ({', '.join(sorted(keys))}); keys are matched exactly"
        reading.findings.append(Finding(code="unmatched_agent_key", severity="error", message=message, where=where))


def read_folder(folder: Path, reading: Reading) -> None:
    """Add the attempts of every task in the folder; a task that cannot be read is set aside."""
    results = folder / "results.json"
    if results.is_file():
        read_trial_file(results, reading)
        return
    for task in sorted(one for one in folder.iterdir() if one.is_dir()):
        try:
            read_task(task_files(task), reading)
        except BadInput as error:
            reading.refuse(error)


def task_files(folder: Path) -> TaskFiles:
    """The files of one task, by the documented layout."""
    nop, oracle = _named(folder, "nop"), _named(folder, "oracle")
    if nop is None or oracle is None:
        absent = "nop" if nop is None else "oracle"
        raise UnreadableFile(str(folder), f"the task has no {absent}.json", hint="docs/speedup.md shows the layout")
    agents = {_key(path, folder / "agents"): path for path in _results(folder / "agents")}
    if not agents:
        raise UnreadableFile(str(folder), "the task has no agents/<agent>/<model>.json")
    return TaskFiles(
        task=folder.name,
        nop=nop,
        oracle=oracle,
        agents=agents,
        nop_again=_named(folder, "nop-again"),
        tests=_named(folder, "tests"),
        snapshot=_named(folder, "snapshot"),
        runs=_named(folder, "runs"),
        logs=_logs(folder / "logs", agents),
    )


def _named(folder: Path, name: str) -> Path | None:
    candidates = [folder / (name + ending) for ending in _ENDINGS] + [folder / name]
    return next((path for path in candidates if path.exists()), None)


def _results(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(_ENDINGS))


def _key(path: Path, root: Path) -> str:
    """`agent:model`, from agents/<agent>/<model>.json; a second attempt keeps its #2."""
    agent, *model = path.relative_to(root).parts
    if not model:
        raise UnreadableFile(str(path), "the file must stand in agents/<agent>/<model>.json")
    name = "/".join(model)
    ending = next(ending for ending in _ENDINGS if name.endswith(ending))
    return f"{agent}:{name.removesuffix(ending)}"


def _logs(root: Path, agents: Mapping[str, Path]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for key in agents:
        agent, _, model = key.partition(":")
        folder = root.joinpath(agent, *model.split("/"))
        if folder.is_dir():
            found[key] = sorted(one for one in folder.iterdir() if one.suffix in (".json", ".cast"))
    return found


def read_trial_file(path: Path, reading: Reading) -> None:
    """Add the trials of an FC-Eval results.json or log. Trials of one task are its attempts, in the file's order."""
    opened, source = open_timings(path)
    if source is not FCEVAL:
        hint = "give --nop, --oracle and --agent, or a folder of tasks"
        raise UnreadableFile(str(path), f"a {source.name} file alone says nothing of three sides", hint=hint)
    file = read_trials(opened)
    reading.note(file.rejected)
    numbers: dict[tuple[str, str], int] = {}
    for trial in file.trials:
        for key, agent in sorted(trial.agents.items()):
            numbers[trial.task, key] = numbers.get((trial.task, key), 0) + 1
            length = agent.trajectory_length
            reading.attempts.append(
                Attempt(
                    task=trial.task,
                    agent=key,
                    number=numbers[trial.task, key],
                    nop=side_of(agent.nop),
                    oracle=side_of(agent.oracle),
                    side=side_of(agent.agent),
                    tests=agent.tests,
                    oracle_tests=trial.oracle_tests,
                    snapshot=agent.snapshot,
                    cost_usd=NO_COST if agent.cost_usd is None else agent.cost_usd,
                    trajectory_length=NO_TRAJECTORY if length is None else length,
                    trajectory_origin=None if length is None else "stated",
                )
            )
