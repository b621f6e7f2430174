"""Verify a manifest by recomputing its results.

Checks the digest and recomputes baselines, scores and ranks. Exits with status 3 if a check fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import msgspec

from steelyard import pages  # its names are imported on first use
from steelyard.arena import Arena, VerifyCheck, verify
from steelyard.errors import InputError
from steelyard.files import read_text
from steelyard.formatting import counted
from steelyard.questions._answer import Rows
from steelyard.questions._arena import opened
from steelyard.questions._question import Options, doc, question
from steelyard.questions.arena._common import ArenaAnswer
from steelyard.records import JSON_ERRORS, json_problem
from steelyard.settings import shown_path

if TYPE_CHECKING:
    from steelyard.pages import Page

GATE_FAILED = 3


class SeasonVerifyOptions(Options):
    """Options of `arena season verify`."""

    store: str | None = doc("Also check the manifest against this store.", default=None)


class Verification(ArenaAnswer, frozen=True, kw_only=True):
    """Verification of a season manifest."""

    rows: ClassVar[Rows] = Rows("checks")

    name: str
    sha256: str
    """The recomputed SHA-256."""
    status: Literal["pass", "fail"]
    tasks: int
    submissions: int
    excluded: int
    checks: tuple[VerifyCheck, ...]

    @property
    def about(self) -> str:
        """Name, status and number of passed checks."""
        passed = sum(check.holds for check in self.checks)
        return f"{self.name}: {self.status} ({passed:,} of {counted(len(self.checks), 'check')} passed)"

    @property
    def exit_status(self) -> int:
        """3 if a check failed."""
        return 0 if self.status == "pass" else GATE_FAILED


@question(
    SeasonVerifyOptions,
    takes="file",
    input_help="Manifest of a season (JSON).",
    path="",
    examples=({"": "manifest.json"},),
)
def arena_season_verify(manifest: Path | str, options: SeasonVerifyOptions) -> Verification:
    """Verify a manifest file; with `store`, also that the arena stored it."""
    return verify_manifest(Path(manifest), None if options.store is None else opened(options.store))


def verify_manifest(manifest: Path, arena: Arena | None) -> Verification:
    """Verify a manifest file, also against an arena if there is one."""
    where = str(shown_path(manifest))
    try:
        document = msgspec.json.decode(read_text(manifest))
    except JSON_ERRORS as error:
        raise InputError(json_problem(error), where=where, hint="a manifest is one JSON object") from error
    verified = verify(document, where=where, arena=arena)
    tasks = verified.manifest["tasks"]
    return Verification(
        name=str(verified.manifest.get("name")),
        sha256=verified.sha256,
        status="pass" if all(check.holds for check in verified.checks) else "fail",
        tasks=len(tasks),
        submissions=sum(len(task["submissions"]) for task in tasks),
        excluded=sum(len(task["excluded"]) for task in tasks),
        checks=verified.checks,
    )


def page(answer: Verification) -> Page:
    """Return one row per check."""
    checks = answer.checks
    columns = (
        pages.text_column("what", "check", [check.what for check in checks]),
        pages.text_column("task_id", "task", [check.task_id for check in checks]),
        pages.text_column("holds", "status", ["pass" if check.holds else "fail" for check in checks]),
        pages.text_column("reason", "difference", [check.reason for check in checks]),
    )
    submissions = f"{counted(answer.submissions, 'submission')}, {answer.excluded:,} excluded"
    return pages.Page(
        name="verification",
        title="Does the manifest match its results?",
        answer=f"{answer.about}; {counted(answer.tasks, 'task')}, {submissions}; SHA-256 {answer.sha256}.",
        table=pages.PageTable(caption="Checks", columns=columns),
    )
