"""Measure performance changes from benchmark timings.

Compares two files (baseline and candidate), the files of one task, or a directory of tasks. A speedup above 1 means
faster.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from steelyard.errors import InputError, NoValidInputError, UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.prices import open_price_table
from steelyard.profiles import Profile, Unscored, load_profile
from steelyard.questions._options import MapName, PriceOptions, ProfileName
from steelyard.questions._question import Options, Texts, doc, log_question
from steelyard.questions._run_input import open_mapping
from steelyard.questions.speedup._answer import SpeedupResult as SpeedupResult
from steelyard.questions.speedup._inputs import SpeedupConstants, TaskFiles, options_of
from steelyard.questions.speedup._page import page as page
from steelyard.records import Finding, Redaction, one_a_kind
from steelyard.settings import named_path
from steelyard.sources import is_baseline

if TYPE_CHECKING:
    from steelyard.questions.speedup._summary import Speedups
    from steelyard.questions.speedup._task_timings import TimingReading

SpeedupInput: TypeAlias = TaskFiles | Path | str | Iterable[Path | str]
"""The files of one task, a folder of tasks, or FC-Eval's results.json or log."""


class TaskFileOptions(Options):
    """Files of one task, or of the two sides of a change."""

    baseline: Path | None = doc("Baseline timings: before the change.", default=None, short="-a", local=True)
    candidate: Texts = doc(
        "Timings after the change: FILE or LABEL=FILE; repeatable.", default=(), short="-b", local=True
    )
    nop: Path | None = doc(
        "Timings of a task's unchanged code, with which the reference solution and agents are compared.",
        default=None,
        local=True,
    )
    oracle: Path | None = doc(
        "Timings of the reference solution; required to compute an agent's advantage.",
        default=None,
        local=True,
    )
    agent: Texts = doc("Timings of an agent's change: NAME:MODEL=FILE; repeatable.", default=(), local=True)
    nop_repeat: Path | None = doc(
        "Second measurement of the unchanged code, for the noise floor.", default=None, local=True
    )
    tests: Texts = doc(
        "Test results: FILE, NAME:MODEL=FILE or oracle=FILE; repeatable. JSON keyed by agent, or a JUnit XML report.",
        default=(),
        local=True,
    )
    snapshot: Path | None = doc("Snapshot-test results: JSON keyed by agent or oracle.", default=None, local=True)
    runs: Path | None = doc(
        "JSON file with the cost_usd and trajectory_length of each agent.", default=None, local=True
    )
    log: Texts = doc("Agent log (JSON or .cast): NAME:MODEL=FILE; repeatable.", default=(), local=True)


class SpeedupOptions(PriceOptions, TaskFileOptions):
    """Options of `speedup`."""

    map: MapName = doc(
        "Mapping for a table of speedups (x_speedup): a TOML file or a built-in name.", default=None, local=True
    )

    task: str | None = doc("Name of the task; for a directory or FC-Eval file, the only task to measure.", default=None)
    profile: ProfileName = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default="speedup-1",
    )
    agent_only: Literal["drop", "baseline", "worst"] | None = doc(
        "Benchmarks that fail only with the agent's code: drop omits them, baseline scores them as unchanged, worst as "
        "the agent's lowest speedup in the task (default: the profile's).",
        default=None,
    )
    interval: Literal["order", "bootstrap", "none"] | None = doc(
        "Interval method for speedups (default: the profile's).",
        default=None,
    )
    verdict: Literal["interval", "asv"] | None = doc(
        "Rule that decides whether a benchmark is faster or slower (default: the profile's).",
        default=None,
    )
    unscored: Unscored = doc(
        "Attempts without a verdict: fail counts them as failed (as FC-Eval does), exclude omits them from success "
        "rates.",
        default="fail",
    )


@log_question(
    SpeedupOptions,
    examples=({"": ("main.json", "branch.json")},),
    input_help="Baseline and candidate timings, a directory of tasks, an FC-Eval results.json or log, or a table with "
    "a mapping; - for stdin.",
)
def speedup(inputs: SpeedupInput | None, options: SpeedupOptions) -> SpeedupResult:
    """Measure speedups of one task's files, a folder of tasks, or an FC-Eval results.json or log.

    `sy.speedup(["main.json", "branch.json"])` compares two sides: the first file is the baseline. With
    `interval="none"`, only the metrics of the specification are computed, without confidence intervals.

    >>> import steelyard as sy
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name, seconds in (("main", 4.0), ("branch", 2.0)):
    ...         timed = f'{{"task": "t", "benchmarks": [{{"name": "sort", "seconds": {seconds}}}]}}'
    ...         _ = Path(folder, f"{name}.json").write_text(timed)
    ...     result = sy.speedup([f"{folder}/main.json", f"{folder}/branch.json"])
    >>> result.attempts[0].agent, result.attempts[0].task_speedup
    ('branch', 2.0)
    """
    from steelyard.questions.speedup._summary import speedups_of  # brings numpy and SciPy
    from steelyard.questions.speedup._task_timings import (
        TimingReading,
        is_one_side,
        read_folder,
        read_speedup_table,
        read_task,
        read_trial_file,
    )

    profile = options.profile if isinstance(options.profile, Profile) else load_profile(options.profile)
    constants = _constants(profile, options)
    reading = TimingReading(price_table=open_price_table(options.prices))
    if options.map is not None and (inputs is None or isinstance(inputs, TaskFiles)):
        raise UsageError(f"{option('map')} reads tables of speedups, not timings", hint="name the table")
    given: list[Path] = []
    if inputs is not None and not isinstance(inputs, TaskFiles):
        given = [named_path(path) for path in ([inputs] if isinstance(inputs, (str, Path)) else inputs)]
    if options.map is None and len(given) > 1 and all(map(is_one_side, given)):
        _reject_sides(options)
        inputs, options = None, options.replace(baseline=given[0], candidate=tuple(map(str, given[1:])))
    if inputs is None:
        inputs = _task_files(options)
    else:
        _reject_task_options(options)
    if isinstance(inputs, TaskFiles):
        read_task(inputs, reading)
    else:
        mapping = None if options.map is None else open_mapping(options.map)
        for path in dict.fromkeys(given):
            if mapping is not None:
                read_speedup_table(path, mapping, reading)
            elif path.is_dir():
                read_folder(path, reading)
            else:
                read_trial_file(path, reading)
    if not reading.attempts:
        raise _nothing(reading)
    if options.task is not None and not isinstance(inputs, TaskFiles):
        _select_task(reading, options.task)
    speedups = speedups_of(
        reading.attempts,
        constants,
        profile=profile.name,
        intervals=options.interval != "none",
        unscored=options.unscored,
        earlier=reading.findings,
    )
    findings: Iterable[Finding] = speedups.findings
    if options.baseline is not None:
        # A baseline needs no reference solution, and success matters only if tests are given.
        irrelevant = {"no_oracle"} | (set() if options.tests or options.snapshot else {"success_unknown"})
        findings = (finding for finding in findings if finding.code not in irrelevant)
    return result_of(speedups, findings, rejected_count=reading.rejected)


def result_of(speedups: Speedups, findings: Iterable[Finding], *, rejected_count: int = 0) -> SpeedupResult:
    """Return the answer that shows these speedups."""
    return SpeedupResult(
        profile=speedups.profile,
        unscored=speedups.unscored,
        summary=speedups.summary_records(),
        run=speedups.run_record(),
        attempts=speedups.attempt_records(),
        findings=one_a_kind(findings),
        rejected_count=rejected_count,
    )


def _select_task(reading: TimingReading, task: str) -> None:
    """Keep the attempts at one task, which may be named as pages name it: without keys and tokens."""
    tasks = sorted({attempt.task for attempt in reading.attempts})
    names = dict(zip(Redaction().tree(tasks), tasks, strict=True))
    if task not in names and task not in tasks:
        raise UnknownNameError("task", task[:200], names)
    reading.attempts = [attempt for attempt in reading.attempts if attempt.task == names.get(task, task)]


def _constants(profile: Profile, options: SpeedupOptions) -> SpeedupConstants:
    """Return the profile's constants, overridden by the options."""
    if options.interval == "none" and options.verdict is not None:
        raise UsageError(f"{option('verdict')} needs intervals, but {option('interval')} is none")
    method = None if options.interval == "none" else options.interval
    asked = {"agent_only_failures": options.agent_only, "interval_method": method, "verdict": options.verdict}
    known = {name: value for name, value in asked.items() if value is not None}
    return options_of(msgspec.structs.replace(profile, constants=profile.constants | known))


def _nothing(reading: TimingReading) -> InputError:
    if reading.errors:
        return reading.errors[0]
    message, hint = "no attempts to measure", "see the folder layout in docs/speedup.md"
    reasons = [finding for finding in reading.findings if finding.severity == "error"]
    if not reasons:
        return NoValidInputError(message, hint=hint)
    return NoValidInputError(f"{message}: {reasons[0].message}", where=reasons[0].where, hint=hint)


def _task_files(options: SpeedupOptions) -> TaskFiles:
    """Return the files of one task from the options."""
    if options.baseline is not None and options.nop is not None:
        raise UsageError(
            f"{option('baseline')} and {option('nop')} both name the unchanged code", hint="remove one of them"
        )
    unchanged = options.baseline or options.nop
    after, agents = _labeled(options.candidate), agent_files(options.agent)
    if twice := sorted(after.keys() & agents.keys()):
        raise UsageError(f"duplicate label {twice[0]!r}")
    if unchanged is None or not (after or agents):
        pairs = f"{option('baseline')} and {option('candidate')}, {option('nop')} and {option('agent')}"
        hint = f"use {option('baseline', 'main.json')} and {option('candidate', 'branch.json')}"
        raise UsageError(f"speedup needs {pairs}, or a folder of tasks", hint=hint)
    tests, reports = files_of_tests(options.tests, labels=after)
    return TaskFiles(
        task=options.task or "task",
        nop=unchanged,
        oracle=options.oracle,
        agents=agents | after,
        nop_repeat=options.nop_repeat,
        tests=tests,
        test_reports=reports,
        snapshot=options.snapshot,
        runs=options.runs,
        logs={key: [path] for key, path in agent_files(options.log, labels=after).items()},
    )


def _reject_sides(options: SpeedupOptions) -> None:
    """Raise if options name sides although the inputs are the sides."""
    given = next((name for name in ("baseline", "candidate", "nop", "agent") if getattr(options, name)), None)
    if given:
        raise UsageError(f"{option(given)} cannot be combined with a baseline and candidates as inputs")


def _reject_task_options(options: SpeedupOptions) -> None:
    """Raise if options name files of one task although inputs are given."""
    given = next((name for name in TaskFileOptions.declared if getattr(options, name)), None)
    if given:
        raise UsageError(f"{option(given)} cannot be combined with a folder or FC-Eval file")


def _labeled(given: Sequence[str]) -> dict[str, Path]:
    """Return files by label, from `LABEL=FILE` or the file's name."""
    files: dict[str, Path] = {}
    for text in given:
        path = Path(text)
        label, sign, rest = str(text).partition("=")
        if sign and not path.exists():
            path = Path(rest)
        else:
            label = path.name.partition(".")[0] or path.name
        if not label or not str(path) or is_baseline(label, "nop") or is_baseline(label, "oracle"):
            raise UsageError(f"{str(text)!r} is not LABEL=FILE", hint=option("candidate", "LABEL=FILE"))
        if label in files:
            raise UsageError(f"duplicate label {label!r}", hint=f"label each file: {option('candidate', 'LABEL=FILE')}")
        files[label] = path
    return files


def agent_files(pairs: Sequence[str], *, labels: Collection[str] = ()) -> dict[str, Path]:
    """Return files by agent from `NAME:MODEL=FILE`; the first "=" ends the key.

    >>> agent_files(["openhands:gpt-5=a.json"])
    {'openhands:gpt-5': PosixPath('a.json')}
    """
    files: dict[str, Path] = {}
    for pair in pairs:
        key, sign, path = pair.partition("=")
        agent, colon, model = key.partition(":")
        if not (sign and path and (key in labels or (colon and agent and model))):
            raise UsageError(f"{pair!r} is not NAME:MODEL=FILE", hint=option("agent", "NAME:MODEL=FILE"))
        if agent.lower() in ("nop", "oracle"):
            raise UsageError(f"{key!r} is not an agent", hint=f"use {option('nop')} or {option('oracle')}")
        if key in files:
            raise UsageError(f"duplicate agent {key!r}")
        files[key] = Path(path)
    return files


def files_of_tests(given: Sequence[str], *, labels: Collection[str] = ()) -> tuple[Path | None, dict[str, Path]]:
    """Return the file of test results by agent, and the test reports by agent.

    >>> files_of_tests(["oracle=oracle.xml", "a:m=agent.xml"])
    (None, {'oracle': PosixPath('oracle.xml'), 'a:m': PosixPath('agent.xml')})
    """
    plain: list[Path] = []
    reports: dict[str, Path] = {}
    for text in given:
        key, sign, path = text.partition("=")
        if not sign or (":" not in key and key not in (*labels, "oracle")) or Path(text).exists():
            plain.append(Path(text))
        elif key in reports:
            raise UsageError(f"duplicate test report of {key!r}")
        else:
            reports[key] = Path(path)
    if len(plain) > 1:
        raise UsageError("several files of test results", hint=f"label each file: {option('tests', 'NAME:MODEL=FILE')}")
    return plain[0] if plain else None, reports
