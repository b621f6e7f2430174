"""Checks that an agent attacks: what it leaves in its work decides nothing, and a check that it breaks counts."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from runner.execution import job_of, needs_bubblewrap
from steelyard.records import Run
from steelyard.runner import Ending, adapters
from steelyard.runner._execution import execute_trial
from steelyard.runner._plan_executor import ending_of
from steelyard.runner._plan_records import Bounds, Tier, Verify
from steelyard.runner._run_of_trial import run_of_trial
from steelyard.runner._verification import References, verify

pytestmark = needs_bubblewrap
JUNIT = "<testsuite>{}</testsuite>"
CASE = '<testcase classname="t" name="{}">{}</testcase>'
BOTH = JUNIT.format(CASE.format("a", "") + CASE.format("b", ""))
REPORTING = """
import sys, module
cases = "".join(
    f'<testcase classname="t" name="{name}">' + ("" if passed else "<failure/>") + "</testcase>"
    for name, passed in [("a", module.add(1, 2) == 3), ("b", module.add(2, 2) == 4)]
)
open("report.xml", "w").write(f"<testsuite>{cases}</testsuite>")
sys.exit("failure" in cases)
"""
RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 0\n"
WITH_REPORT = Verify(command=("python3", "check.py"), report="report.xml", hidden="hidden")
STATUS_ONLY = Verify(command=("python3", "check.py"), hidden="hidden")


def graded(
    folder: Path,
    agent: dict[str, str],
    verified: Verify,
    *,
    oracle: str | None = RIGHT,
    check: str = REPORTING,
    references: References | None = None,
) -> tuple[Ending, Run]:
    """What becomes of an agent that writes these files; the task's reference solution is `oracle`."""
    sources = {"work/module.py": WRONG, "hidden/check.py": check, **{f"agent/{name}": agent[name] for name in agent}}
    if oracle is not None:
        sources["solution/module.py"] = oracle
    for name, text in sources.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    job = job_of(
        adapters()["command"],
        folder,
        kind=None,
        command=("true",),
        tier=Tier(overlay="agent"),
        work="work",
        oracle=None if oracle is None else "solution",
        verify=verified,
    )
    place = folder / "retry-0"
    place.mkdir()
    stop = threading.Event()
    evidence = execute_trial(job, place, stop=stop)
    checked = verify(job, place, stop=stop, references=references)
    ending = ending_of(evidence, checked)
    run, _ = run_of_trial(job, place, evidence, ending, verified=checked)
    return ending, run


@pytest.mark.parametrize("verified", [WITH_REPORT, STATUS_ONLY])
def test_the_honest_agent_passes(verified: Verify, tmp_path: Path) -> None:
    ending, run = graded(tmp_path, {"module.py": RIGHT}, verified)
    assert (ending.name, run.verdict, run.weak_check) == ("passed", True, True)


CRASHES = "import os\nos._exit({})\n"
FORGED = f"open('report.xml', 'w').write('''{BOTH}''')\n"
CHEATS = {
    "report left in the work": {"report.xml": BOTH, "module.py": CRASHES.format(1)},
    "report left in the work, exit 0": {"report.xml": BOTH, "module.py": CRASHES.format(0)},
    "exit 127": {"module.py": CRASHES.format(127)},
    "exit 126": {"module.py": CRASHES.format(126)},
    "exit 0 without a report": {"module.py": CRASHES.format(0)},
    "forged report and exit 1": {"module.py": FORGED + CRASHES.format(1)},
    "truncated report": {"module.py": f"open('report.xml', 'w').write('''{BOTH[:40]}''')\n" + CRASHES.format(0)},
    "empty report": {"module.py": "open('report.xml', 'w').close()\n" + CRASHES.format(0)},
    "report without tests": {"module.py": "open('report.xml', 'w').write('<testsuite/>')\n" + CRASHES.format(0)},
    "fewer tests": {
        "module.py": f"open('report.xml', 'w').write('''{JUNIT.format(CASE.format('a', ''))}''')\n" + CRASHES.format(0)
    },
    "a directory in place of the report": {"report.xml/x": "", "module.py": CRASHES.format(0)},
    "endless loop": {"module.py": "while True: pass\n"},
    "memory": {"module.py": "x = bytearray(1 << 30)\nwhile True: x += x\n"},
    "killed by a signal": {"module.py": "import os\nos.kill(os.getpid(), 9)\n"},
}


QUICK = ("report left in the work, exit 0", "exit 127", "forged report and exit 1", "truncated report", "fewer tests")
EACH = [pytest.param(CHEATS[name], id=name, marks=() if name in QUICK else pytest.mark.long) for name in CHEATS]


@pytest.mark.parametrize("agent", EACH)
def test_an_agent_that_breaks_its_check_has_failed(agent: dict[str, str], tmp_path: Path) -> None:
    bounds = Bounds(memory="256MiB", cpu_seconds=1)
    verified = Verify(command=("python3", "check.py"), report="report.xml", hidden="hidden", limits=bounds)
    ending, run = graded(tmp_path, agent, verified)
    assert (ending.name, ending.cause, run.outcome, run.verdict) == ("failed", "agent", "failed", False)
    assert run.failure is not None
    assert "the reference solution" in (run.failure.message or "")


@pytest.mark.parametrize("status", [1, 126, 127])
def test_an_exit_status_alone_voids_nothing(status: int, tmp_path: Path) -> None:
    ending, run = graded(tmp_path, {"module.py": CRASHES.format(status)}, STATUS_ONLY)
    assert (ending.name, run.outcome, run.weak_check) == ("failed", "failed", True)


@pytest.mark.parametrize("verified", [WITH_REPORT, STATUS_ONLY])
def test_a_check_that_breaks_on_the_reference_too_is_the_hosts(verified: Verify, tmp_path: Path) -> None:
    agent = {"module.py": CRASHES.format(127)}
    ending, run = graded(tmp_path, agent, verified, check="import sys\nsys.exit(127)\n")
    assert (ending.name, ending.cause, run.outcome) == ("verifier_broken", "infrastructure", "errored")
    assert "the reference solution fails it too" in (ending.detail or "")


def test_the_reference_runs_again_when_a_check_breaks(tmp_path: Path) -> None:
    references = References()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert graded(tmp_path / "one", {"module.py": RIGHT}, WITH_REPORT, references=references)[0].name == "passed"
    # Since then the machine lost what the check needs.
    ending, _ = graded(
        tmp_path / "two", {"module.py": RIGHT}, WITH_REPORT, check="raise SystemExit(127)", references=references
    )
    assert (ending.name, ending.cause) == ("verifier_broken", "infrastructure")


def test_without_a_reference_a_broken_check_is_not_scored(tmp_path: Path) -> None:
    ending, run = graded(tmp_path, {"module.py": CRASHES.format(127)}, WITH_REPORT, oracle=None)
    assert (ending.name, run.outcome, run.verdict, run.weak_check) == ("not_scored", "not_scored", None, True)


def test_a_reference_with_failing_tests_gives_no_verdict(tmp_path: Path) -> None:
    ending, run = graded(tmp_path, {"module.py": RIGHT}, WITH_REPORT, oracle=WRONG)
    assert (ending.name, ending.cause, run.verdict) == ("verifier_broken", "infrastructure", None)


TESTED = """
import unittest, module


class Test(unittest.TestCase):
    def test_a(self):
        self.assertEqual(module.add(1, 2), 3)

    def test_b(self):
        self.assertEqual(module.add(2, 2), 4)
"""
PYTESTED = "import module\n\n\ndef test_a():\n    assert module.add(1, 2) == 3\n"
TESTS = Verify(tests="hidden")
EQUAL = "class E:\n    __eq__ = lambda s, o: True\ndef add(a, b):\n    return E()\n"


@pytest.mark.parametrize("text", [TESTED, PYTESTED], ids=["unittest", "pytest"])
@pytest.mark.parametrize("oracle", [RIGHT, None], ids=["reference", "none"])
def test_hidden_tests_decide(text: str, oracle: str | None, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_it.py").write_text(text)
    for number, (solution, name) in enumerate({RIGHT: "passed", WRONG: "failed", EQUAL: "failed"}.items()):
        folder = tmp_path / str(number)
        (folder / "hidden").mkdir(parents=True)
        (folder / "hidden/test_it.py").write_text(text)
        ending, run = graded(folder, {"module.py": solution}, TESTS, oracle=oracle)
        assert (ending.name, run.verdict, run.weak_check) == (name, name == "passed", run.weak_check), ending
        if name == "passed":
            assert run.weak_check is None
            assert (run.extra or {})["x_shared_tests"] == 0


@pytest.mark.long
@pytest.mark.parametrize("agent", CHEATS.values(), ids=CHEATS)
def test_an_agent_that_attacks_hidden_tests_has_failed(agent: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_it.py").write_text(TESTED)
    ending, run = graded(tmp_path, agent, msgspec.structs.replace(TESTS, limits=Bounds(memory="512MiB", cpu_seconds=2)))
    assert (ending.name, run.outcome, run.verdict) == ("failed", "failed", False)


def test_hidden_tests_that_the_reference_fails_give_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_it.py").write_text(TESTED)
    ending, run = graded(tmp_path, {"module.py": RIGHT}, TESTS, oracle=WRONG)
    assert (ending.name, ending.cause, run.verdict) == ("verifier_broken", "infrastructure", None)


SHARED = """
import pathlib, tempfile, unittest, module


class Test(unittest.TestCase):
    def test_file(self):
        with tempfile.TemporaryDirectory() as name:
            pathlib.Path(name, "x").write_text("1 2")
            self.assertEqual(module.read(f"{name}/x"), [1, 2])
            self.assertEqual(module.read(f"{name}/x")[0], 1)
"""
READS = "def read(path):\n    return [int(word) for word in open(path).read().split()]\n"


@pytest.mark.parametrize(
    ("solution", "name"),
    [
        (READS, "passed"),
        ("def read(path):\n    return [0]\n", "failed"),
        ("import os\nos._exit(0)\n", "failed"),
        (EQUAL.replace("add(a, b)", "read(path)"), "failed"),
        ("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef read(path): pass\n", "failed"),
        ("import unittest\nunittest.TestCase.run = lambda s, r=None: r.addSuccess(s)\n", "failed"),
    ],
)
def test_tests_that_cannot_be_split_run_among_copies(solution: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_it.py").write_text(SHARED)
    ending, run = graded(tmp_path, {"module.py": solution}, TESTS, oracle=READS)
    assert (ending.name, run.verdict) == (name, name == "passed"), ending
    assert (run.extra or {})["x_shared_tests"] == 1
    assert run.weak_check is True  # one test: a forger guesses right once in sixteen times


def test_a_package_of_the_agent_does_not_hide_a_test_module(tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden/test_it.py").write_text(SHARED)
    ending, _ = graded(tmp_path, {"module.py": READS, "test_it/__init__.py": ""}, TESTS, oracle=READS)
    assert ending.name == "passed", ending


def test_tests_that_the_agent_added_do_not_count_against_it(tmp_path: Path) -> None:
    check = REPORTING.replace('[("a"', '[(name, True) for name in getattr(module, "MORE", [])] + [("a"')
    ending, run = graded(tmp_path, {"module.py": RIGHT + "MORE = ['mine']\n"}, WITH_REPORT, check=check)
    assert (ending.name, run.verdict) == ("passed", True)
