"""When an attempt has failed, and what that does: the agent is then taken to have changed nothing."""

from __future__ import annotations

from steelyard.records import Missing, Snapshot, TestResults

NO_TESTS = Missing("no test results")


def broke_tests(tests: TestResults | None, oracle: TestResults | None) -> bool | Missing:
    """Return whether tests fail because of the agent; missing without results.

    If the reference solution's results are known, its failures are allowed: by name if both give names, so
    that breaking any other test is a failure; by count otherwise.
    """
    if tests is None:
        return NO_TESTS
    if oracle is None:
        return tests.not_passed > 0
    mine, theirs = _failing(tests), _failing(oracle)
    if mine is not None and theirs is not None:
        return bool(mine - theirs)
    return tests.not_passed > oracle.not_passed


def _failing(tests: TestResults) -> set[str] | None:
    """Names of the tests that did not pass; None where only their number is known."""
    names: set[str] = set()
    for part in (tests.failed, tests.errors):
        if isinstance(part, int) and part > 0:
            return None
        if isinstance(part, tuple):
            names.update(part)
    return names


def snapshot_failed(snapshot: Snapshot | None) -> bool:
    """Whether behavior changed: a status other than `passed`, or something that passed before and fails now.

    No snapshot is no failure; where the format demands one, its reader sets another status.
    """
    return snapshot is not None and (snapshot.status != "passed" or (snapshot.pass_to_fail or 0) > 0)


def succeeded(tests: bool | Missing, snapshot: bool, harness: bool | Missing | None = None) -> bool | Missing:
    """Whether the attempt broke neither.

    Unknown where a harness gave it no verdict, or where its tests are unknown and there is no harness. What the
    tests or the snapshot show to be broken has failed in any case.
    """
    if snapshot or tests is True:
        return False
    if isinstance(harness, Missing):
        return harness
    if isinstance(tests, Missing):
        return tests if harness is None else harness
    return True
