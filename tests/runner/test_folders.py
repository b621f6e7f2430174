"""One runner has a trial at a time, and a result is whole or not there."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from steelyard.runner import Ending, ExecutionResult, PlanFolder, TrialResult
from steelyard.runner._plan_folder import STALE_SECONDS, Claim

TRIAL = "0123456789abcdef"


def result(trial: str = TRIAL) -> TrialResult:
    at = datetime(2026, 11, 16, tzinfo=UTC)
    ending = Ending(name="passed")
    return TrialResult(
        id=trial, ending=ending, executions=(ExecutionResult(retry=0, ending=ending, started_at=at, ended_at=at),)
    )


def written_claim(folder: Path, **changed: object) -> Path:
    """A claim as another runner would leave it."""
    place = PlanFolder(folder)
    assert place.claim(TRIAL)
    path = place.trial(TRIAL) / "claim"
    claim = msgspec.json.decode(path.read_bytes(), type=Claim)
    path.write_bytes(msgspec.json.encode(msgspec.structs.replace(claim, **{"token": "0", **changed})))
    return path


def winners(folder: Path, count: int) -> int:
    """How many of those who claim the trial at the same time get it."""
    barrier = threading.Barrier(count)
    won: list[PlanFolder] = []

    def claim() -> None:
        place = PlanFolder(folder)
        barrier.wait()
        if place.claim(TRIAL):
            won.append(place)

    threads = [threading.Thread(target=claim) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(won)


def test_only_one_of_many_gets_a_trial(tmp_path: Path) -> None:
    assert winners(tmp_path, 16) == 1


def test_the_claim_of_a_process_that_has_ended_is_void_at_once(tmp_path: Path) -> None:
    code = "import sys; from steelyard.runner import PlanFolder; from pathlib import Path\n"
    code += f"assert PlanFolder(Path(sys.argv[1])).claim({TRIAL!r})"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True, env={**os.environ})
    assert (PlanFolder(tmp_path).trial(TRIAL) / "claim").exists()
    assert PlanFolder(tmp_path).claim(TRIAL)


def test_only_one_of_many_takes_a_void_claim_over(tmp_path: Path) -> None:
    for _ in range(5):
        path = written_claim(tmp_path, pid=2**22 - 1)
        assert winners(tmp_path, 8) == 1
        path.unlink()


@pytest.mark.parametrize(("age_seconds", "is_void"), [(STALE_SECONDS - 20, False), (STALE_SECONDS + 20, True)])
def test_the_claim_of_another_machine_is_void_after_a_minute_of_silence(
    tmp_path: Path, age_seconds: float, is_void: bool
) -> None:
    path = written_claim(tmp_path, host="elsewhere", pid=1)
    then = time.time() - age_seconds
    os.utime(path, (then, then))
    assert PlanFolder(tmp_path).claim(TRIAL) is is_void


def test_a_claim_of_before_the_last_boot_is_void(tmp_path: Path) -> None:
    written_claim(tmp_path, boot="an earlier one")
    assert PlanFolder(tmp_path).claim(TRIAL)


def test_a_number_that_another_process_has_now_holds_no_claim(tmp_path: Path) -> None:
    written_claim(tmp_path, started="1")
    assert PlanFolder(tmp_path).claim(TRIAL)


def test_who_was_taken_over_writes_no_result(tmp_path: Path) -> None:
    slow = PlanFolder(tmp_path)
    assert slow.claim(TRIAL)
    path = slow.trial(TRIAL) / "claim"
    path.unlink()
    quick = PlanFolder(tmp_path)
    assert quick.claim(TRIAL)
    assert not slow.finish(result())
    assert not quick.is_done(TRIAL)
    slow.release(TRIAL)
    assert quick.holds(TRIAL)
    assert quick.finish(result())


def test_a_done_trial_is_not_claimed(tmp_path: Path) -> None:
    place = PlanFolder(tmp_path)
    assert place.claim(TRIAL)
    assert place.finish(result())
    assert not place.claim(TRIAL)
    assert not (place.trial(TRIAL) / "claim").exists()
    assert place.result(TRIAL) == result()


def test_a_result_that_breaks_off_is_no_result(tmp_path: Path) -> None:
    place = PlanFolder(tmp_path)
    assert place.claim(TRIAL)
    assert place.finish(result())
    path = place.trial(TRIAL) / "result.json"
    path.write_bytes(path.read_bytes()[:40])
    assert place.result(TRIAL) is None
    assert list(place.results()) == []
    assert place.claim(TRIAL)  # to be run again


def test_a_try_never_uses_what_another_left(tmp_path: Path) -> None:
    place = PlanFolder(tmp_path)
    assert place.claim(TRIAL)
    for number in range(11):
        folder = place.new_execution(TRIAL)
        assert folder.name == f"retry-{number}"
        assert [path.name for path in folder.iterdir()] == ["started.json"]
    assert [folder.name for folder in place.executions(TRIAL)] == [f"retry-{number}" for number in range(11)]
