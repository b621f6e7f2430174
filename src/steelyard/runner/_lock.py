"""What a plan was run with, so that a resume on other versions is noticed."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from steelyard.errors import UsageError
from steelyard.option_names import option
from steelyard.records import Finding, Record
from steelyard.runner._folders import PlanFolder, read_record
from steelyard.runner._plan import PlanRead
from steelyard.sandbox import active_isolation
from steelyard.version import __version__

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
