"""The one grader of hidden tests, for runs and for the arena.

Tests run split: in one sandbox, with the candidate's code in another. Those that the reference solution cannot pass so
run shared, in the candidate's process among copies. Without a reference solution, a test that fails split is tried
shared, and the verdict is marked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from steelyard.formatting import counted
from steelyard.grading._shared import MAX_CHANCE, SharedRun, file_of, run_shared
from steelyard.grading._split import Bounds, Interpreter, run_split
from steelyard.grading._tests import NOT_FAILED, HiddenTests, TestRecord, module_of
from steelyard.sandbox import Content

MAX_NAMES = 3
"""Tests that a reason names."""


class ReferenceGrade(msgspec.Struct, frozen=True, kw_only=True):
    """How the tests run on the reference solution."""

    split: dict[str, str]
    """Status by test, of those that can be split."""
    objects: dict[str, list[str]]
    """By test, where the reference solution returns an object."""
    mixed: dict[str, list[str]] = {}
    """By test, where it returns an object in some calls and data in others."""
    used: dict[str, list[tuple[str, str]]] = {}
    """By test, where the objects that decided operators came from, and the operators."""
    decided: list[str] = []
    """Tests in which an object of it decides a comparison with data."""
    changed: list[str] = []
    """Tests with the calls that change their arguments."""
    shared: dict[str, str] = {}
    """Status by test, of those that run in the candidate's process."""
    copies: dict[str, int] = {}
    """By shared test, how many copies it has, if the reference solution fails some."""
    alike: dict[str, list[int]] = {}
    """By shared test, the copies that the reference solution passes, as the original."""
    failed: dict[str, str] = {}
    """Tests that the reference solution fails, and why."""

    @property
    def chance(self) -> float:
        """The probability that forged results of all shared tests are accepted."""
        return math.prod((1 + len(self.alike.get(name, ()))) / (1 + self.copies.get(name, 0)) for name in self.shared)


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """Verdict on a candidate."""

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    problem: str | None = None
    """Why the tests did not run as they do with the reference solution."""
    ran: int = 0
    """Number of tests that ran or should have: all but skipped ones."""
    is_weak: bool = False
    """Whether the candidate's code could have forged the verdict."""
    shared: int = 0
    """Number of tests that ran in the candidate's process."""
    operators: int = 0
    """How often an object of the candidate decided a comparison or another operator."""
    reason: str = ""
    """The first failures as text."""

    @property
    def is_passed(self) -> bool:
        """Whether every test passed and at least one ran."""
        return self.problem is None and not self.failed and bool(self.passed)


class Grader(msgspec.Struct, frozen=True, kw_only=True):
    """Tests with how they are run."""

    tests: HiddenTests
    modules: Collection[str]
    """Modules that the task is about."""
    python: Interpreter
    bounds: Bounds

    def reference(self, folder: Path | None) -> ReferenceGrade:
        """Find out how each test runs, on the reference solution."""
        split = self._split(folder, None)
        done = {name: status for name, status in split.statuses.items() if status in NOT_FAILED}
        others = [name for name in split.statuses if name not in done]
        known = ReferenceGrade(
            split=done,
            objects=split.objects,
            mixed=split.mixed,
            used=split.used,
            decided=split.decided,
            changed=split.changed,
        )
        if not others:
            failed = {} if done else {"": split.problem or "no test ran"}
            return msgspec.structs.replace(known, failed=failed)
        run = self._shared(folder, None, others, has_reference=True)
        shared = {name: status for name, status in run.statuses.items() if status in NOT_FAILED and name not in done}
        # If the reference passes a copy, its change makes no difference.
        alike = {name: sorted(run.passing(name)) for name in shared}
        copies = {name: count for name in shared if (count := len(run.copies.get(name, ()))) > len(alike[name])}
        failed = {name: status for name, status in run.statuses.items() if name not in done and name not in shared}
        if run.problem is not None or not shared:
            failed = {
                name: split.messages.get(name, status) for name, status in split.statuses.items() if name in others
            }
        return msgspec.structs.replace(known, shared=shared, copies=copies, alike=alike, failed=failed)

    def grade(
        self, candidate: Path | None, files: Mapping[str, Content] | None, reference: ReferenceGrade | None
    ) -> Grade:
        """The verdict on the code in the directory, overlaid with `files`."""
        if reference is None:
            return self._grade_alone(candidate, files)
        statuses: dict[str, str] = {}
        reasons: dict[str, str] = {}
        operators, problem, is_weak = 0, None, False
        if reference.split:
            split = self._split(candidate, files)
            operators, problem = split.operators, split.problem
            statuses |= {name: split.statuses[name] for name in reference.split if name in split.statuses}
            reasons |= split.messages
            for name, reason in _foreign(split, reference).items():
                if name in statuses:
                    statuses[name], reasons[name] = "failed", reason
            is_weak = not set(split.changed) <= set(reference.changed)
        if reference.shared:
            run = self._shared(candidate, files, reference.shared, has_reference=True)
            problem = problem or run.problem
            accepted = run.accepted(reference.alike)
            for name in reference.shared:
                if name in accepted:
                    is_told = name in reference.copies
                    statuses[name] = accepted[name] if is_told else run.statuses[name]
        expected = {**reference.split, **reference.shared}
        return _grade(
            expected,
            statuses,
            reasons,
            problem,
            is_weak=is_weak
            or (
                bool(reference.shared)
                and (reference.chance > MAX_CHANCE or not reference.shared.keys() <= reference.copies.keys())
            ),
            shared=len(reference.shared),
            operators=operators,
        )

    def _grade_alone(self, candidate: Path | None, files: Mapping[str, Content] | None) -> Grade:
        split = self._split(candidate, files)
        statuses = dict(split.statuses)
        reasons = dict(split.messages)
        for name in split.decided:  # an object that is equal to everything would, too
            if statuses.get(name) in NOT_FAILED:
                statuses[name] = "failed"
                reasons[name] = "an object of the code under test decided a comparison with data"
        others = sorted(name for name, status in statuses.items() if status not in NOT_FAILED)
        shared: dict[str, str] = {}
        if others and not split.has_died:
            run = self._shared(candidate, files, others, has_reference=False)
            for name, status in run.accepted().items():
                if statuses.get(name) not in NOT_FAILED:
                    is_told = status not in NOT_FAILED or bool(run.copies.get(name))
                    shared[name] = status if is_told else "failed"
                    if not is_told:  # nobody could tell a right answer from a forged result
                        reasons[name] = (
                            "the test cannot run apart from the code under test and compares nothing with a literal"
                        )
            # A module that could not be loaded split gives its tests; any other test that is missing has failed.
            loaded = {file_of(name, self.tests) for name in shared}
            for place in self.tests.places:
                if place in loaded:
                    statuses.pop(place, None)
                    statuses.pop(module_of(place), None)
            statuses |= shared
        expected = {name: status if status in NOT_FAILED else "passed" for name, status in statuses.items()}
        return _grade(
            expected,
            statuses,
            reasons,
            split.problem,
            is_weak=bool(shared) or split.operators > 0 or bool(split.changed),
            shared=len(shared),
            operators=split.operators,
        )

    def _split(self, folder: Path | None, files: Mapping[str, Content] | None) -> TestRecord:
        return run_split(self.tests, folder, files=files, modules=self.modules, python=self.python, bounds=self.bounds)

    def _shared(
        self,
        folder: Path | None,
        files: Mapping[str, Content] | None,
        names: Collection[str],
        *,
        has_reference: bool,
    ) -> SharedRun:
        return run_shared(
            self.tests,
            folder,
            files=files,
            names=names,
            has_reference=has_reference,
            python=self.python,
            bounds=self.bounds,
        )


def _foreign(found: TestRecord, reference: ReferenceGrade) -> dict[str, str]:
    """By test, where an object of the candidate decides what data decide with the reference solution."""
    everywhere = set(reference.objects.get("", ()))
    foreign = dict.fromkeys(
        set(found.decided) - set(reference.decided), "an object of the code under test decided a comparison with data"
    )
    for name, used in found.used.items():
        mixed = reference.mixed.get(name, ())
        other = [
            (path, sign) for path, sign in used if path in mixed and (path, sign) not in reference.used.get(name, ())
        ]
        if other:
            foreign[name] = f"an object of the code under test decided an operator: {'.'.join(other[0])}"
    for name, paths in found.objects.items():
        others = [path for path in paths if path not in everywhere and path not in reference.objects.get(name, ())]
        reason = f"returned an object where the reference solution returned data: {others[0]}" if others else ""
        if others and name:
            foreign[name] = reason
        elif others:  # outside of any test, so that every test may use it
            foreign |= dict.fromkeys(found.statuses, reason)
    return foreign


def _grade(
    expected: Mapping[str, str],
    statuses: Mapping[str, str],
    reasons: Mapping[str, str],
    problem: str | None,
    *,
    is_weak: bool,
    shared: int,
    operators: int,
) -> Grade:
    failed = [name for name, status in expected.items() if statuses.get(name) != status]
    passed = [name for name, status in expected.items() if statuses.get(name) == status == "passed"]
    shown = [f"{name}: {reasons.get(name) or statuses.get(name, 'did not run')}" for name in failed[:MAX_NAMES]]
    if problem is not None:
        shown.insert(0, problem)
    reason = f"{counted(len(expected), 'test')}, {len(failed):,} failed" + (f" ({'; '.join(shown)})" if shown else "")
    return Grade(
        passed=tuple(sorted(passed)),
        failed=tuple(sorted(failed)),
        problem=problem,
        ran=sum(status != "skipped" for status in expected.values()),
        is_weak=is_weak,
        shared=shared,
        operators=operators,
        reason=reason,
    )
