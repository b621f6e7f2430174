"""Plan folder: one directory per trial, claimed by the process that runs it and finished by a rename.

runs/NAME/ plan.toml lock.json trials.jsonl runs.jsonl
  trials/ID/ trial.json claim result.json           # written last: its presence means that the trial is done
    retry-0/ started.json work/ home/ stdout stderr metering.jsonl transcript.jsonl.gz ending.json verify/
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

from steelyard.errors import UnknownNameError, UnreadableFileError, UsageError
from steelyard.files import whole_file
from steelyard.option_names import option
from steelyard.records import Finding, Record, iso, now_microseconds
from steelyard.runner._plan import PlanRead
from steelyard.runner._trial_records import ExecutionOutcome, Trial, TrialResult
from steelyard.sandbox import active_isolation
from steelyard.version import __version__

TOUCHED_SECONDS = 10.0
"""How often a claim is renewed."""
STALE_SECONDS = 60.0
"""Time after which a claim expires without renewal."""
_OWN = frozenset({"trials", "trials.jsonl", "plan.toml", "lock.json", "runs.jsonl"})
"""What a plan's folder holds."""
_RETRY = re.compile(r"retry-([0-9]{1,6})")
_PLACE = re.compile(r"[0-9a-f]{16}")
Written = TypeVar("Written", bound=Record)


class Claim(Record, frozen=True, kw_only=True):
    """Who runs a trial."""

    host: str
    """The machine."""
    boot: str
    """The machine's boot: processes of an earlier one are gone."""
    pid: int
    """The process."""
    started: str
    """When the process started, in the kernel's clock: a number is given to another process later."""
    token: str
    """Distinguishes this claim from others of the same process."""


class PlanFolder:
    """Where a plan's trials, executions and results are kept."""

    def __init__(self, root: Path) -> None:
        self.root, self.shown = root.absolute(), root
        self._tokens: dict[str, str] = {}

    def make(self) -> None:
        """Create the folder; one that is there must be empty, or a plan's, whole or in the making."""
        self.root.mkdir(parents=True, exist_ok=True)
        if not self.is_plan and {name for name in os.listdir(self.root) if not name.startswith(".")} - _OWN:
            hint = f"choose another directory: {option('out', 'DIR')}"
            raise UsageError("the directory contains other files", where=str(self.shown), hint=hint)
        (self.root / "trials").mkdir(exist_ok=True)

    @property
    def is_plan(self) -> bool:
        """Whether it is the folder of a plan."""
        return (self.root / "trials").is_dir() and (self.root / "trials.jsonl").is_file()

    def write(self, name: str, content: bytes) -> None:
        """Put a file of the plan in place, whole or not at all."""
        _replace(self.root / name, content)

    def write_trials(self, trials: Iterable[Trial]) -> None:
        """Keep the list of trials; its order is the order of array jobs."""
        self.write("trials.jsonl", b"".join(msgspec.json.encode(trial) + b"\n" for trial in trials))

    def trials(self) -> list[Trial]:
        """The trials of the plan, in their order."""
        if not self.is_plan:
            hint = "pass a directory with plan results, such as runs/NAME"
            raise UsageError("no plan results in this directory", where=str(self.shown), hint=hint)
        lines = whole_file(self.root / "trials.jsonl").splitlines()
        return [msgspec.json.decode(line, type=Trial) for line in lines if line]

    def trial_named(self, name: str) -> Trial:
        """The trial of that id, or of the only id that begins so."""
        trials = {trial.id: trial for trial in self.trials()}
        like = [trial for trial in trials.values() if trial.id.startswith(name)]
        if name in trials or len(like) == 1:
            return trials.get(name) or like[0]
        if like and name:
            raise UsageError(
                f"trial id prefix {name!r} is ambiguous ({len(like)} matches)", hint=f"for example: {like[0].id}"
            )
        raise UnknownNameError("trial", name, trials)

    def trial(self, trial_id: str) -> Path:
        """The folder of a trial."""
        return self.root / "trials" / trial_id

    def is_done(self, trial_id: str) -> bool:
        """Whether the trial has a result that can be read."""
        return self.result(trial_id) is not None

    def result(self, trial_id: str) -> TrialResult | None:
        """The outcome of the trial; None where it is not done, or its result cannot be read."""
        return read_record(self.trial(trial_id) / "result.json", TrialResult)

    def finished(self) -> set[str]:
        """The ids of all trials with a result file, whether the plan still has them or not."""
        with suppress(FileNotFoundError), os.scandir(self.root / "trials") as entries:
            places = [entry.name for entry in entries if _PLACE.fullmatch(entry.name)]
            return {name for name in places if (self.trial(name) / "result.json").is_file()}
        return set()

    def executions(self, trial_id: str) -> list[Path]:
        """The folders of its executions, first to last."""
        folder = self.trial(trial_id)
        with suppress(FileNotFoundError):
            numbered = {int(match[1]): name for name in os.listdir(folder) if (match := _RETRY.fullmatch(name))}
            return [folder / numbered[number] for number in sorted(numbered)]
        return []

    def outcome(self, execution_folder: Path) -> ExecutionOutcome | None:
        """Return the outcome of an execution; None if its runner was stopped before it ended."""
        return read_record(execution_folder / "ending.json", ExecutionOutcome)

    def claim(self, trial_id: str, *, again: bool = False) -> bool:
        """Claim the trial; return False if another process runs it, or if it is done and `again` is not set."""
        folder = self.trial(trial_id)
        folder.mkdir(parents=True, exist_ok=True)
        ours = _own_claim()
        content = msgspec.json.encode(ours)
        if not _create(folder / "claim", content) and not _take_over(folder / "claim", content):
            return False
        self._tokens[trial_id] = ours.token
        if not again and self.is_done(trial_id):  # finished by another process before our claim
            self.release(trial_id)
            return False
        return True

    def holds(self, trial_id: str) -> bool:
        """Whether the claim is still ours; another runner takes it over when it was not renewed for too long."""
        claim = read_record(self.trial(trial_id) / "claim", Claim)
        return claim is not None and claim.token == self._tokens.get(trial_id)

    def release(self, trial_id: str) -> None:
        """Give the trial up for others."""
        if self.holds(trial_id):
            (self.trial(trial_id) / "claim").unlink(missing_ok=True)
        self._tokens.pop(trial_id, None)

    def touch_claims(self) -> None:
        """Renew what we hold."""
        for trial_id in list(self._tokens):
            with suppress(FileNotFoundError):
                os.utime(self.trial(trial_id) / "claim")

    def describe(self, trial: Trial) -> None:
        """Keep what the trial is, for when the plan no longer has it."""
        _replace(self.trial(trial.id) / "trial.json", msgspec.json.encode(trial))

    def done_works(self) -> dict[str, str]:
        """Of trials with a result, by what their agent was given: the id of one whose work can be checked again."""
        described = [read_record(self.trial(trial_id) / "trial.json", Trial) for trial_id in sorted(self.finished())]
        return {trial.work: trial.id for trial in described if trial is not None and trial.work}

    def new_execution(self, trial_id: str) -> Path:
        """An empty folder for the next execution; what an earlier one left is never used again."""
        earlier = self.executions(trial_id)
        retry = int(earlier[-1].name.removeprefix("retry-")) + 1 if earlier else 0
        folder = self.trial(trial_id) / f"retry-{retry}"
        folder.mkdir()
        _replace(folder / "started.json", msgspec.json.encode({"at": iso(now_microseconds())}))
        return folder

    def end_execution(self, execution_folder: Path, outcome: ExecutionOutcome) -> None:
        """Keep the outcome of an execution."""
        _replace(execution_folder / "ending.json", msgspec.json.encode(outcome))

    def finish(self, result: TrialResult) -> bool:
        """Store the result of the trial and release it; return False if another process has taken it over."""
        if not self.holds(result.id):
            self._tokens.pop(result.id, None)
            return False
        _replace(self.trial(result.id) / "result.json", msgspec.json.encode(result), keep=True)
        self.release(result.id)
        return True

    def reopen(self, trial_id: str) -> None:
        """Take the trial's result back, so that it runs again; its executions stay."""
        (self.trial(trial_id) / "result.json").unlink(missing_ok=True)

    def results(self) -> Iterator[TrialResult]:
        """Every result, in the order of ids."""
        for trial_id in sorted(self.finished()):
            if (result := self.result(trial_id)) is not None:
                yield result


class _StartRecord(Record, frozen=True, kw_only=True):
    at: datetime


def started_at(execution_folder: Path) -> datetime:
    """When an execution began."""
    started = read_record(execution_folder / "started.json", _StartRecord)
    return started.at if started else datetime.fromtimestamp(execution_folder.stat().st_mtime, UTC)


def read_record(path: Path, record: type[Written]) -> Written | None:
    """The record in a file of ours; None where there is none, or only a part of one."""
    try:
        return msgspec.json.decode(whole_file(path), type=record)
    except (UnreadableFileError, msgspec.MsgspecError):
        return None


def _replace(path: Path, content: bytes, *, keep: bool = False) -> None:
    """Write the file under another name and rename it; with `keep`, it is on the disk before it has its name."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with partial.open("wb") as file:
        file.write(content)
        if keep:
            file.flush()
            os.fsync(file.fileno())
    partial.replace(path)


def _create(path: Path, content: bytes) -> bool:
    """Whether the file is now there with this content, where none was; it is never seen without its content."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    partial.write_bytes(content)
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        return False
    finally:
        partial.unlink()
    return True


@cache
def _boot_id() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "unknown"


def _process_start(pid: int) -> str | None:
    """When a process of this machine started; None where it has ended."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return rest[18] if state not in "ZX" else None


def _own_claim() -> Claim:
    pid = os.getpid()
    return Claim(
        host=socket.gethostname(),
        boot=_boot_id(),
        pid=pid,
        started=_process_start(pid) or "unknown",
        token=secrets.token_hex(8),
    )


def _is_stale(claim: Claim | None, status: os.stat_result, now: float) -> bool:
    """Whether who made the claim has ended: known at once on this machine, by silence on another."""
    if claim is not None and claim.host == socket.gethostname() and _boot_id() != "unknown":
        return claim.boot != _boot_id() or _process_start(claim.pid) != claim.started
    return now - status.st_mtime > STALE_SECONDS


def _take_over(path: Path, content: bytes) -> bool:
    """Put our claim in the place of a stale one; of several who try, one does."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False  # another process is taking it over
        status = os.fstat(file.fileno())
        if path.stat().st_ino != status.st_ino:
            return False  # another process has taken it over
        try:
            claim = msgspec.json.decode(file.read(), type=Claim)
        except msgspec.MsgspecError:
            claim = None  # not ours: silence alone decides
        if not _is_stale(claim, status, _clock(path.parent)):
            return False
        _replace(path, content)
        return True
    return False


def _clock(folder: Path) -> float:
    """The time of the clock that dates files here: a shared folder's is its server's, not ours."""
    probe = folder / f".clock.{secrets.token_hex(4)}"
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        probe.unlink(missing_ok=True)


NAME = "lock.json"


class Lock(Record, frozen=True, kw_only=True):
    """The file `lock.json`."""

    name: str
    """The plan's name."""
    plan_file: str
    """Path of the plan relative to this directory."""
    plan_sha256: str
    """The plan's digest, as it was last run."""
    steelyard: str
    """Our version."""
    agents: dict[str, str | None]
    """Version that each agent reports, or the digest of its file, by label; None if it has none."""
    machine: str
    """The machine that it last ran on."""
    isolation: str
    """What kept agents apart from everything else."""
    written_at: datetime
    """When this was written."""


@cache
def machine() -> str:
    """This machine, in a few words."""
    return f"{platform.node()} ({platform.system()} {platform.machine()}, {os.cpu_count()} cores)"


def lock_of(read: PlanRead, folder: PlanFolder, versions: Mapping[str, str | None]) -> Lock:
    """What the plan runs with now."""
    return Lock(
        name=read.plan.name,
        plan_file=os.path.relpath(read.path.absolute(), folder.root),
        plan_sha256=read.digest,
        steelyard=__version__,
        agents=dict(versions),
        machine=machine(),
        isolation=active_isolation().name,
        written_at=datetime.now(UTC),
    )


def read_lock(folder: PlanFolder) -> Lock | None:
    """The lock of the folder; None where the plan was never run."""
    return read_record(folder.root / NAME, Lock)


def known_lock(folder: PlanFolder) -> Lock:
    """The lock of the folder, which must have one."""
    lock = read_lock(folder)
    if lock is None:
        hint = f"run the plan first, or list its trials with steelyard run list and {option('pending')}"
        raise UsageError("the directory has no lock.json, so its plan is unknown", where=str(folder.shown), hint=hint)
    return lock


def plan_path(folder: PlanFolder) -> Path:
    """The plan that the folder belongs to."""
    return Path(os.path.normpath(folder.root / known_lock(folder).plan_file))


def locked(folder: PlanFolder, lock: Lock, *, accept_drift: bool) -> list[Finding]:
    """Write the lock. Other versions than before stop the run, or are findings where the user accepts them."""
    before = read_lock(folder)
    drifted = checked_drift(before, lock, accept_drift=accept_drift) if before is not None else []
    kept = {**(before.agents if before is not None else {}), **lock.agents}
    folder.write(NAME, msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(lock, agents=kept))))
    message = "trials of this plan ran with different versions"
    return [Finding(code="version_drift", message=message, where=change) for change in drifted]


def checked_drift(before: Lock, now: Lock, *, accept_drift: bool) -> list[str]:
    """What differs from before, which stops the run unless the user accepts it."""
    drifted = drift(before, now)
    if drifted and not accept_drift:
        hint = (
            f"restore the earlier versions, choose another directory ({option('out')}), "
            f"or keep the results: {option('accept_drift')}"
        )
        raise UsageError(
            f"versions have changed since the plan was started: {'; '.join(drifted)}", where=NAME, hint=hint
        )
    return drifted


def drift(before: Lock, now: Lock) -> list[str]:
    """What differs, in words; agents that are new do not.

    The machine may differ: trials of one plan run on many.
    """
    changes = [f"steelyard {before.steelyard}, now {now.steelyard}"] if before.steelyard != now.steelyard else []
    return changes + [
        f"{label} {before.agents[label] or 'none'}, now {version or 'none'}"
        for label, version in now.agents.items()
        if label in before.agents and before.agents[label] != version
    ]
