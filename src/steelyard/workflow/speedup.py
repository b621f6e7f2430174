"""Speedup: timing files of nop, oracle and agents to advantages, for one task or a folder of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from steelyard.errors import BadInput, NothingUsable, UsageError
from steelyard.prices import open_book
from steelyard.profiles import Profile, load_profile
from steelyard.settings import named_path
from steelyard.speedups import TaskFiles
from steelyard.workflow._opening_runs import Progress
from steelyard.workflow._options import SpeedupOptions
from steelyard.workflow._verb import verb

if TYPE_CHECKING:
    from steelyard.results import SpeedupResult
    from steelyard.speedups import SpeedupConstants, TimingReading

SpeedupInput: TypeAlias = TaskFiles | Path | str | Iterable[Path | str]
"""The files of one task, a folder of tasks, or FC-Eval's results.json or log."""


@verb(SpeedupOptions)
def speedup(inputs: SpeedupInput, options: SpeedupOptions, progress: Progress | None) -> SpeedupResult:  # noqa: ARG001
    """Speedups of one task's files, of a folder of tasks, or of FC-Eval's results.json or log.

    With the interval `none` only the figures of the specification are computed, and nothing says how sure they are.
    """
    from steelyard.speedups import (
        TimingReading,
        read_folder,
        read_task,
        read_trial_file,
        speedups_of,  # brings numpy and SciPy
    )

    profile = options.profile if isinstance(options.profile, Profile) else load_profile(options.profile)
    constants = _constants(profile, options)
    reading = TimingReading(book=open_book(options.prices))
    if isinstance(inputs, TaskFiles):
        read_task(inputs, reading)
    else:
        given = [named_path(path) for path in ([inputs] if isinstance(inputs, (str, Path)) else inputs)]
        for path in dict.fromkeys(given):
            read_folder(path, reading) if path.is_dir() else read_trial_file(path, reading)
    if not reading.attempts:
        raise _nothing(reading)
    speedups = speedups_of(
        reading.attempts,
        constants,
        profile=profile.name,
        intervals=options.interval != "none",
        unscored=options.unscored,
        earlier=reading.findings,
    )
    return speedups.result(many=not isinstance(inputs, TaskFiles), rejected_count=reading.rejected)


def _constants(profile: Profile, options: SpeedupOptions) -> SpeedupConstants:
    """The profile's constants, with those that the options set."""
    from steelyard.speedups import options_of  # brings nothing heavy, but its package does

    if options.interval == "none" and options.verdict is not None:
        raise UsageError("--verdict needs intervals, which --interval none leaves out")
    method = None if options.interval == "none" else options.interval
    asked = {"agent_only_failures": options.agent_only, "interval_method": method, "verdict": options.verdict}
    known = {name: value for name, value in asked.items() if value is not None}
    return options_of(msgspec.structs.replace(profile, constants=profile.constants | known))


def _nothing(reading: TimingReading) -> BadInput:
    if reading.errors:
        return reading.errors[0]
    message, hint = "there is no attempt to measure", "docs/speedup.md shows the layout of a folder of tasks"
    reasons = [finding for finding in reading.findings if finding.severity == "error"]
    if not reasons:
        return NothingUsable(message, hint=hint)
    return NothingUsable(f"{message}: {reasons[0].message}", where=reasons[0].where, hint=hint)


def agent_files(pairs: Sequence[str]) -> dict[str, Path]:
    """Files by agent from `NAME:MODEL=FILE`; the first "=" ends the key, so file names may hold others.

    >>> agent_files(["openhands:gpt-5=a.json"])
    {'openhands:gpt-5': PosixPath('a.json')}
    """
    files: dict[str, Path] = {}
    for pair in pairs:
        key, sign, path = pair.partition("=")
        agent, colon, model = key.partition(":")
        if not (sign and colon and agent and model and path):
            raise UsageError(f"{pair!r} does not name an agent, a model and a file", hint="--agent NAME:MODEL=FILE")
        if agent.lower() in ("nop", "oracle"):
            raise UsageError(f"{key!r} is a baseline, not an agent", hint="give it with --nop or --oracle")
        if key in files:
            raise UsageError(f"agent {key!r} is given twice")
        files[key] = Path(path)
    return files


def files_of_tests(given: Sequence[str]) -> tuple[Path | None, dict[str, Path]]:
    """The file of test results by key, and test reports by the key that is named before them.

    >>> files_of_tests(["oracle=expert.xml", "a:m=agent.xml"])
    (None, {'oracle': PosixPath('expert.xml'), 'a:m': PosixPath('agent.xml')})
    """
    plain: list[Path] = []
    reports: dict[str, Path] = {}
    for text in given:
        key, sign, path = text.partition("=")
        if not sign or (":" not in key and key != "oracle") or Path(text).exists():
            plain.append(Path(text))
        elif key in reports:
            raise UsageError(f"the test report of {key!r} is given twice")
        else:
            reports[key] = Path(path)
    if len(plain) > 1:
        raise UsageError("two files of test results are given", hint="say whose each is: --tests NAME:MODEL=FILE")
    return plain[0] if plain else None, reports
