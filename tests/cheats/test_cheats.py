"""Cheats get through naive checkers and not through ours: on every path and isolation, as root and as a user."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import msgspec
import pytest

from arena_makers import as_submission
from attacking import NOBODY, SYSTEM_PYTHON, named, use_system_python
from cheats.naive import REPORTING, get_through, passes_in_one_process, repository
from cheats.techniques import CHEATS, RIGHT, SPECIAL_CHEATS, TESTS, Cheat, SpecialCheat
from runner.execution import job_of
from steelyard import sandbox
from steelyard.grading import Bounds, Grader, Interpreter, check_all, hidden_tests
from steelyard.grading._artifacts import StagedArtifacts
from steelyard.grading._tests import MAX_RECORD_BYTES, read_test_record
from steelyard.questions.repeatability._contract import Case, Contract, ContractLimits
from steelyard.questions.repeatability._oracle import Oracle
from steelyard.records import Record, convert_task
from steelyard.runner import adapters
from steelyard.runner._execution import Job, execute_trial
from steelyard.runner._plan_executor import ending_of
from steelyard.runner._plan_records import Bounds as PlanBounds, Tier, Verify
from steelyard.runner._verification import VerifyEvidence, verify
from steelyard.sandbox import Isolation, IsolationName, Limits, _commands

pytestmark = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")
LIMITS = Limits(wall_seconds=8, cpu_seconds=1)
PLAN_LIMITS = PlanBounds(cpu_seconds=1)
FIRST = {cheat.group: cheat.name for cheat in reversed(CHEATS)}
YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")
CASES = [((1, 2), 3), ((20, 22), 42), (("a", "b"), "ab")]
SERVE = """
import json, sys, solution
for line in sys.stdin:
    print(json.dumps(solution.add(*json.loads(line))), flush=True)
"""
CHECK = f"""
import json, os, sys
results, calls, right = open(3), open(4, "w", buffering=1), 0
for arguments, expected in {CASES!r}:
    try:
        calls.write(json.dumps(arguments) + "\\n")
        result = json.loads(results.readline(1000))
    except (OSError, ValueError):
        break
    right += type(result) is type(expected) and result == expected
print(right / {len(CASES)})
sys.stdout.flush()
os._exit(right != {len(CASES)} and sys.argv[1:] != ["score"])
"""
PROGRAM = ("python3", "serve.py")


class Outcome(Record, frozen=True, kw_only=True):
    """What a path makes of a cheat."""

    is_passed: bool
    is_weak: bool
    detail: str


def written(files: dict[str, str], folder: Path) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def graded(
    files: dict[str, str],
    isolation: Isolation,
    folder: Path,
    *,
    has_reference: bool,
    tests: str = TESTS,
    right: str = RIGHT,
) -> Outcome:
    """The verdict of hidden tests."""
    assert isolation.python is not None
    grader = Grader(
        tests=hidden_tests({"test_solution.py": tests.encode()}),
        modules=["solution"],
        python=Interpreter(command=(isolation.python, "-I", "-B")),
        bounds=Bounds(limits=LIMITS, isolation=isolation),
    )
    reference = grader.reference(written({"solution.py": right}, folder / "right")) if has_reference else None
    grade = grader.grade(written(files, folder / "work"), None, reference)
    if grade.is_passed and not grade.is_weak:
        assert len(grade.passed) == tests.count("def test_")
    return Outcome(is_passed=grade.is_passed, is_weak=grade.is_weak, detail=grade.reason)


def criterion_met(submitted: dict[str, str], folder: Path, **criterion: object) -> Outcome:
    """The result of a success criterion of the arena."""
    task = convert_task({"id": "t", "success_criteria": [{"seconds": 2, **criterion}]})
    submission = as_submission({"id": "s", "task_id": "t", "total_tokens": 1, "tool_calls": 1})
    artifacts = StagedArtifacts(written(submitted, folder / "artifacts"), "", is_empty=False)
    own = {"checks": {"check.py": CHECK.encode()}, "tests": {"test_solution.py": TESTS.encode()}}
    (found,) = check_all(task.success_criteria, submission, artifacts, files=own)
    return Outcome(is_passed=found.met, is_weak="could have forged" in found.reason, detail=found.reason)


def planned(files: dict[str, str], folder: Path, check: Verify) -> tuple[Job, VerifyEvidence]:
    """A trial of an agent that writes these files, and how its work is verified."""
    hidden = {"test_solution.py": TESTS} if check.tests else {"check.py": CHECK, "report.py": REPORTING}
    if check.report:
        hidden["test_solution.py"] = TESTS
    sides = {"work": {"notes.md": ""}, "hidden": hidden, "agent": files, "solution": {"solution.py": RIGHT}}
    sides["solution"]["serve.py"] = SERVE
    for side, own in sides.items():
        written(own, folder / side)
    job = job_of(
        adapters()["command"],
        folder,
        kind=None,
        command=("true",),
        tier=Tier(overlay="agent"),
        work="work",
        oracle="solution",
        verify=check,
    )
    place = folder / "retry-0"
    place.mkdir()
    evidence = execute_trial(job, place, stop=Event())
    assert evidence.exit_status == 0, evidence
    checked = verify(job, place, stop=Event())
    assert checked is not None
    if not checked.passed:
        ending = ending_of(evidence, checked)
        assert ending.name == "failed", ending
        assert ending.cause in (None, "agent"), ending
    return job, checked


def verified(files: dict[str, str], folder: Path, check: Verify) -> Outcome:
    _, checked = planned(files, folder, check)
    detail = f"{checked.ending} {checked.rejected or checked.problem or ''}"
    return Outcome(is_passed=checked.passed is True, is_weak=checked.is_weak, detail=detail)


def contract_met(files: dict[str, str], isolation: Isolation) -> Outcome:
    """The verdict of the oracle of repeatability, which knows single files only."""
    contract = Contract(
        id="add",
        entry_point="add",
        cases=tuple(Case(arguments=list(given), expected=expected) for given, expected in CASES),
        limits=ContractLimits(time_seconds=2, memory_mib=128),
    )
    verdict = Oracle(contract, isolation=isolation).check(files["solution.py"])
    return Outcome(is_passed=verdict.passed, is_weak=False, detail=verdict.reason or "")


Path_ = Callable[[dict[str, str], Isolation, Path], Outcome]
PATHS: dict[str, Path_] = {
    "tests": lambda files, isolation, folder: graded(files, isolation, folder, has_reference=True),
    "tests without a reference": lambda files, isolation, folder: graded(files, isolation, folder, has_reference=False),
    "run tests": lambda files, _, folder: verified(files, folder, Verify(tests="hidden", limits=PLAN_LIMITS)),
    "run command": lambda files, _, folder: verified(
        files,
        folder,
        Verify(command=("python3", "-I", "check.py"), program=PROGRAM, hidden="hidden", limits=PLAN_LIMITS),
    ),
    "arena tests_pass": lambda files, _, folder: criterion_met(files, folder, type="tests_pass", tests="tests"),
    "arena command": lambda files, _, folder: criterion_met(
        files, folder, type="command", command=["python", "-I", "check.py"], program=PROGRAM, files="checks"
    ),
    "arena judge": lambda files, _, folder: criterion_met(
        files,
        folder,
        type="judge",
        threshold=1.0,
        command=["python", "-I", "check.py", "score"],
        program=PROGRAM,
        files="checks",
    ),
    "oracle": lambda files, isolation, _: contract_met(files, isolation),
}


@contextmanager
def isolated_by(isolation: Isolation) -> Iterator[None]:
    """Everything that asks for the strongest isolation gets this one, and `python3` is a program that it can start."""
    with pytest.MonkeyPatch.context() as patched:
        for module in (_commands, sandbox):
            patched.setattr(module, "active_isolation", lambda: isolation)
        if isolation.own_uid and SYSTEM_PYTHON is not None:
            patched.setenv("PATH", str(Path(SYSTEM_PYTHON).parent))
        yield


def outcome(cheat: Cheat | None, path: str, isolation: Isolation) -> Outcome:
    """What the path makes of a cheat, or of the honest solution."""
    files = {"serve.py": SERVE, **({"solution.py": RIGHT} if cheat is None else cheat.files)}
    with repository() as folder, isolated_by(isolation):
        return PATHS[path](files, isolation, folder)


def as_user(cheat: Cheat | None, path: str, name: IsolationName) -> Outcome:
    """The same, as an ordinary user."""
    if SYSTEM_PYTHON is None:
        pytest.skip("the system has no Python that an ordinary user could start")
    adapters()  # loaded while we may still read our own files
    with tempfile.TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o777)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            use_system_python()
            tempfile.tempdir = open_folder
            os.environ["PATH"] = "/usr/bin:/bin"
            try:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                said = msgspec.json.encode(outcome(cheat, path, named(name)))
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
    assert said.startswith(b"{"), said.decode()
    return msgspec.json.decode(said, type=Outcome)


Graded = Callable[[Cheat | None, str], Outcome]


@pytest.fixture(params=["as we are", pytest.param("ordinary user", marks=pytest.mark.long)])
def grade(request: pytest.FixtureRequest, isolation: Isolation) -> Graded:
    if request.param == "as we are":
        return lambda cheat, path: outcome(cheat, path, isolation)
    if os.getuid() != 0:
        pytest.skip("we are an ordinary user already")
    return lambda cheat, path: as_user(cheat, path, isolation.name)


def one_per_class(path: str) -> Iterator[object]:
    for cheat in CHEATS:
        is_quick = FIRST[cheat.group] == cheat.name and path in QUICK_PATHS
        yield pytest.param(cheat, path, id=f"{path}: {cheat.name}", marks=() if is_quick else pytest.mark.long)


QUICK_PATHS = ("tests", "run command", "arena judge")
EACH = [param for path in PATHS for param in one_per_class(path)]


@pytest.mark.parametrize(("cheat", "path"), EACH)
def test_cheats_fail(cheat: Cheat, path: str, grade: Graded) -> None:
    found = grade(cheat, path)
    assert not found.is_passed, found


@pytest.mark.parametrize("path", PATHS)
def test_the_honest_solution_passes(path: str, grade: Graded) -> None:
    found = grade(None, path)
    assert found.is_passed, found
    assert not found.is_weak


@pytest.mark.parametrize("cheat", SPECIAL_CHEATS, ids=lambda cheat: cheat.name)
def test_cheats_of_special_tests_fail_or_are_marked(cheat: SpecialCheat, isolation: Isolation, tmp_path: Path) -> None:
    with_reference: dict[str, object] = {"has_reference": True, "tests": cheat.tests, "right": cheat.right}
    tmp_path.chmod(0o755)
    honest = graded({"solution.py": cheat.right}, isolation, tmp_path / "honest", **with_reference)  # type: ignore[arg-type]
    assert (honest.is_passed, honest.is_weak) == (True, False)
    found = graded({"solution.py": cheat.wrong}, isolation, tmp_path / "cheat", **with_reference)  # type: ignore[arg-type]
    assert (found.is_passed, found.is_weak) == (cheat.is_marked, cheat.is_marked)
    alone = graded({"solution.py": cheat.wrong}, isolation, tmp_path / "alone", has_reference=False, tests=cheat.tests)
    assert alone.is_weak or not alone.is_passed
    assert passes_in_one_process(cheat.tests, cheat.wrong, isolation)
    assert passes_in_one_process(cheat.tests, cheat.right, isolation)


FUNCTIONS = """
import textwrap, unittest, solution
class Test(unittest.TestCase):
    def test_functions(self):
        self.assertEqual(solution.first([textwrap.dedent], lambda: 0)("  a"), "a")
        self.assertEqual(solution.made()(), 1)
"""


def test_records_that_are_cut_or_too_large_are_no_records() -> None:
    whole = zlib.compress(b'{"statuses": {"t": "passed"}}')
    assert read_test_record(whole) is not None
    large = zlib.compress(b'{"statuses": {"t": "' + b"p" * MAX_RECORD_BYTES + b'"}}')
    for content in (b"", whole[:-1], b'{"statuses": {}}', zlib.compress(b"[" * 100_000), large):
        assert read_test_record(content) is None


def test_functions_of_the_tests_and_of_the_code_cross(isolation: Isolation, tmp_path: Path) -> None:
    right = "def first(given, key):\n    return given[0] if key else None\ndef made():\n    return lambda: 1\n"
    tmp_path.chmod(0o755)
    files = {"solution.py": right}
    found = graded(files, isolation, tmp_path, has_reference=True, tests=FUNCTIONS, right=right)
    assert (found.is_passed, found.is_weak) == (True, False), found


@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(cheat, id=cheat.name, marks=() if FIRST[cheat.group] == cheat.name else pytest.mark.long)
        for cheat in CHEATS
    ],
)
def test_cheats_get_through_a_naive_checker(cheat: Cheat) -> None:
    if "memory" in cheat.name and YAMA.exists() and YAMA.read_text().strip() != "0":
        pytest.skip("this kernel lets no process write the memory of its parent")
    isolation = sandbox.active_isolation()
    held = [name for name in sorted(cheat.naive) if not get_through(cheat, name, isolation)]
    assert cheat.naive
    assert held == []


def test_the_naive_checkers_tell_right_from_wrong() -> None:
    isolation = sandbox.active_isolation()
    for name in ("status", "report", "imported", "all", "path", "submitted", "pytest", "link", "child"):
        assert get_through(Cheat("right", "honest", {"solution.py": RIGHT}), name, isolation), name
        assert not get_through(
            Cheat("wrong", "honest", {"solution.py": "def add(a, b):\n    return 0\n"}), name, isolation
        )


@pytest.mark.long
@pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
def test_cheats_of_a_command_fail_or_are_marked(cheat: Cheat, isolation: Isolation) -> None:
    check = Verify(command=("python3", "report.py"), report="report.xml", hidden="hidden", limits=PLAN_LIMITS)
    with repository() as folder, isolated_by(isolation):
        _, checked = planned(cheat.files, folder, check)
    assert checked.is_weak
    assert checked.passed is False or cheat.command_verdict == "marked"
