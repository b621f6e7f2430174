"""TimingReading a folder of tasks for speedup.

The layout of a folder of tasks:

    TASKS/<task>/nop.json                      timings of the unchanged code, in any format that is read; also
                                               nop.json.gz, .jsonl, .txt, .csv, or a folder `nop` that holds one
                                               result file or what Criterion keeps in target/criterion
    TASKS/<task>/nop-repeat.json                the same measured a second time (optional)
    TASKS/<task>/oracle.json                   timings of the reference solution (optional)
    TASKS/<task>/agents/<agent>/<model>.json   timings under an agent's change; the key is `agent:model`, a model may
                                               hold slashes (one folder each); `<model>#2.json` is its second attempt
    TASKS/<task>/tests.json                    test results by key, and of `oracle` (optional)
    TASKS/<task>/tests/<agent>/<model>.xml     or a test report (JUnit XML and others) of each, and tests/oracle.xml
    TASKS/<task>/snapshot.json                 snapshot results by key, and of `oracle` (optional)
    TASKS/<task>/runs.json                     cost_usd and trajectory_length by key (optional)
    TASKS/<task>/logs/<agent>/<model>/         JSON logs and .cast recordings (optional)

A folder that holds a results.json of FC-Eval is read from that file instead, and the folder of a plan from its timings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from steelyard.errors import InputError, UnreadableFileError
from steelyard.files import PLAN_TIMINGS, is_plan_folder
from steelyard.formats import FCEVAL, LOG_SUFFIXES, open_timings
from steelyard.speedups._reading_timings import TimingReading, read_task, read_trial_file
from steelyard.speedups._task_files import TaskFiles

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
