"""Cheats get through naive checkers and not through ours: on every path and isolation, as root and as a user."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import msgspec
import pytest

from attacking import NOBODY, SYSTEM_PYTHON, named, use_system_python
from cheats.naive import REPORTING, get_through
from cheats.techniques import CHEATS, RIGHT, TESTS, Cheat
from runner.execution import job_of
from steelyard import sandbox
from steelyard.grading import Bounds, Grade, Grader, Interpreter, hidden_tests
from steelyard.runner._adapters import adapters
from steelyard.runner._execution import execute_trial
from steelyard.runner._plan_records import Bounds as PlanBounds, Tier, Verify
from steelyard.runner._verification import verify
from steelyard.sandbox import Isolation, Limits

pytestmark = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")
LIMITS = Limits(wall_seconds=8, cpu_seconds=1)
FIRST = {cheat.group: cheat.name for cheat in reversed(CHEATS)}
EACH = [
    pytest.param(cheat, id=cheat.name, marks=() if FIRST[cheat.group] == cheat.name else pytest.mark.long)
    for cheat in CHEATS
]
PATHS = ("reference", pytest.param("alone", marks=pytest.mark.long))
Graded = Callable[[Cheat | None, str], Grade]


def graded(cheat: Cheat | None, path: str, isolation: Isolation, folder: Path) -> Grade:
    """The grade of a cheat, or of the honest solution."""
    assert isolation.python is not None
    grader = Grader(
        tests=hidden_tests({"test_solution.py": TESTS.encode()}),
        modules=["solution"],
        python=Interpreter(command=(isolation.python, "-I", "-B")),
        bounds=Bounds(limits=LIMITS, isolation=isolation),
    )
    right = folder / "right"
    right.mkdir()
    (right / "solution.py").write_text(RIGHT)
    reference = grader.reference(right) if path == "reference" else None
    if cheat is None:
        return grader.grade(right, None, reference)
    work = folder / "work"
    for name, text in cheat.files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    return grader.grade(work, None, reference)


def as_user(cheat: Cheat | None, path: str, name: sandbox.IsolationName) -> Grade:
    """The same, as an ordinary user."""
    if SYSTEM_PYTHON is None:
        pytest.skip("the system has no Python that an ordinary user could start")
    graded_as = graded
    with tempfile.TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o777)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            use_system_python()
            tempfile.tempdir = open_folder
            try:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                said = msgspec.json.encode(graded_as(cheat, path, named(name), Path(tempfile.mkdtemp())))
            except BaseException as error:  # noqa: BLE001 - the fork must end here whatever happened
                said = repr(error).encode()
            with open(writing, "wb") as told:
                told.write(said)
            os._exit(0)
        os.close(writing)
        with open(reading, "rb") as answered:
            said = answered.read()
        os.waitpid(child, 0)
    if said.startswith(b"SandboxUnavailableError"):
        pytest.skip(said.decode())
    return msgspec.json.decode(said, type=Grade)


@pytest.fixture(params=["as we are", pytest.param("ordinary user", marks=pytest.mark.long)])
def grade(request: pytest.FixtureRequest, isolation: Isolation) -> Iterator[Graded]:
    if request.param == "as we are":
        with tempfile.TemporaryDirectory() as folder:
            yield lambda cheat, path: graded(cheat, path, isolation, Path(folder))
    elif os.getuid() != 0:
        pytest.skip("we are an ordinary user already")
    else:
        yield lambda cheat, path: as_user(cheat, path, isolation.name)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("cheat", EACH)
def test_cheats_fail(cheat: Cheat, path: str, grade: Graded) -> None:
    found = grade(cheat, path)
    assert not found.is_passed, found
    assert "3 failed" in found.reason or found.problem is not None or len(found.failed) > 0


@pytest.mark.parametrize("path", PATHS)
def test_the_honest_solution_passes(path: str, grade: Graded) -> None:
    found = grade(None, path)
    assert found.is_passed, found
    assert (len(found.passed), found.is_weak) == (3, False)


@pytest.mark.parametrize("cheat", EACH)
def test_cheats_get_through_a_naive_checker(cheat: Cheat) -> None:
    isolation = sandbox.active_isolation()
    held = [name for name in sorted(cheat.naive) if not get_through(cheat, name, isolation)]
    assert cheat.naive
    assert held == []


def test_the_naive_checkers_tell_right_from_wrong() -> None:
    isolation = sandbox.active_isolation()
    for name in ("status", "report", "imported", "all", "path", "submitted", "pytest"):
        assert get_through(Cheat("right", "honest", {"solution.py": RIGHT}), name, isolation), name
        assert not get_through(
            Cheat("wrong", "honest", {"solution.py": "def add(a, b):\n    return 0\n"}), name, isolation
        )


@pytest.mark.long
@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_cheats_of_a_command_fail_or_are_marked(cheat: Cheat, tmp_path: Path) -> None:
    hidden = {"test_solution.py": TESTS, "check.py": REPORTING}
    sources = {"work": {}, "hidden": hidden, "agent": cheat.files, "solution": {"solution.py": RIGHT}}
    for folder, files in sources.items():
        (tmp_path / folder).mkdir()
        for name, text in files.items():
            (tmp_path / folder / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / name).write_text(text)
    verified = Verify(
        command=("python3", "check.py"), report="report.xml", hidden="hidden", limits=PlanBounds(cpu_seconds=2)
    )
    job = job_of(
        adapters()["command"],
        tmp_path,
        kind=None,
        command=("true",),
        tier=Tier(overlay="agent"),
        work="work",
        oracle="solution",
        verify=verified,
    )
    (tmp_path / "retry-0").mkdir()
    evidence = execute_trial(job, tmp_path / "retry-0", stop=Event())
    checked = verify(job, tmp_path / "retry-0", stop=Event())
    assert checked is not None
    assert (evidence.exit_status, checked.is_weak) == (0, True)
    assert checked.passed is False or cheat.command_verdict == "marked"
