"""Success criteria are really checked, on the artifacts and in the sandbox; without artifacts only claims remain."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import random
import struct
import tarfile
import threading
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from arena_makers import as_submission, as_task, folder_of, make_arena
from steelyard import sandbox
from steelyard.arena import Receipt, evaluation
from steelyard.errors import AbortedError
from steelyard.grading import ArtifactError, CriterionResult, locate, read_task_files, staged
from steelyard.grading._criteria import NO_ARTIFACTS, check_all
from steelyard.questions.arena.task_leaderboard import arena_task_leaderboard
from steelyard.records import Rejected, convert_task
from steelyard.store import Store

needs_sandbox = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")

GOOD = {
    "solution.py": "def f():\n    return 1\n",
    "test_solution.py": (
        "import unittest, solution\n\n\nclass Case(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(solution.f(), 1)\n"
    ),
}


def check(criterion: dict[str, Any], folder: Path | None, **said: Any) -> CriterionResult:
    task = convert_task({"id": "t", "success_criteria": [criterion]})
    given = as_submission({"id": "s", "task_id": "t", "total_tokens": 1, "tool_calls": 1, **said})
    if folder is None:
        return check_all(task.success_criteria, given, None)[0]
    with staged(folder) as found:
        return check_all(task.success_criteria, given, found, files=read_task_files(task, Path()))[0]


def test_without_artifacts_files_and_success_are_claims() -> None:
    found = check({"type": "file_exists", "file_path": "a.py"}, None, files_created=["a.py"])
    assert (found.met, found.claimed) == (True, True)
    assert not check({"type": "file_exists", "file_path": "b.py"}, None, files_created=["a.py"]).met
    assert check({"type": "no_errors"}, None).met  # absent success counts as true
    assert check({"type": "no_errors"}, None).claimed
    assert not check({"type": "no_errors"}, None, success=False).met


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "tests_pass"},
        {"type": "code_compiles"},
        {"type": "command", "command": ["true"]},
        {"type": "min_functionality", "command": ["true"]},
        {"type": "judge", "threshold": 0.5, "command": ["true"]},
        {"type": "judge", "threshold": 0.5},
        {"type": "judge", "threshold": 0.5, "judge": "j"},
    ],
)
def test_without_artifacts_nothing_else_passes(criterion: dict[str, Any]) -> None:
    found = check(criterion, None, success=True, judgments=[{"judge": "j", "weighted_score": 1.0}])
    assert (found.met, found.claimed, found.reason) == (False, False, NO_ARTIFACTS)


def test_a_file_counts_when_it_is_really_there(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "made", {"a.py": "", "in/b.py": ""})
    assert check({"type": "file_exists", "file_path": "in/b.py"}, folder).met
    said = check({"type": "file_exists", "file_path": "c.py"}, folder, files_created=["c.py"])
    assert (said.met, said.claimed) == (False, False)
    assert not check({"type": "file_exists", "file_path": "../made/a.py"}, folder).met


@pytest.mark.parametrize(
    ("wanted", "met"),
    [
        ("src/a.py", True),
        ("./src/a.py", True),
        ("src//sub/../a.py", True),
        ("src\\a.py", True),
        ("a.py", False),
        ("../src/a.py", False),
        ("/src/a.py", False),
    ],
)
def test_a_path_is_the_same_however_it_is_written_claimed_or_shown(tmp_path: Path, wanted: str, met: bool) -> None:
    folder = folder_of(tmp_path / "src", {"src/a.py": ""})
    criterion = {"type": "file_exists", "file_path": wanted}
    assert check(criterion, folder).met == met
    for named in ("src/a.py", "./src/a.py", "src/./a.py"):
        assert check(criterion, None, files_created=["other.py", named]).met == met
    if not met:
        outside = [name for name in (wanted, "/src/a.py", "../src/a.py") if name != "a.py"]
        assert not check(criterion, None, files_created=outside).met


def test_an_error_log_tells_of_errors(tmp_path: Path) -> None:
    criterion = {"type": "no_errors", "error_log": "errors.txt"}
    empty = check(criterion, folder_of(tmp_path / "a", {"errors.txt": ""}))
    assert (empty.met, empty.claimed) == (True, False)
    assert not check(criterion, folder_of(tmp_path / "b", {"errors.txt": "boom"}), success=True).met


@pytest.mark.parametrize("said", [{}, {"success": True}, {"success": False}])
def test_an_error_log_that_was_left_out_proves_nothing(tmp_path: Path, said: dict[str, bool]) -> None:
    folder = folder_of(tmp_path / "a", {"other.txt": ""})
    (folder / "log").mkdir()
    for name in ("errors.txt", "log", "../a/other.txt"):
        assert not check({"type": "no_errors", "error_log": name}, folder, **said).met
    assert (
        "the artifacts do not contain the error log"
        in check({"type": "no_errors", "error_log": "errors.txt"}, folder).reason
    )


def test_who_says_that_it_failed_is_believed(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", {"errors.txt": ""})
    for criterion in ({"type": "no_errors", "error_log": "errors.txt"}, {"type": "no_errors"}):
        found = check(criterion, folder, success=False)
        assert (found.met, found.reason) == (False, "the submission reports success as false")


@pytest.mark.parametrize("criterion", [{"threshold": 0.1}, {"threshold": 0.1, "judge": "j1"}], ids=str)
def test_what_a_submission_s_own_judges_say_is_shown_and_not_counted(tmp_path: Path, criterion: dict[str, Any]) -> None:
    folder = folder_of(tmp_path / "made", GOOD)
    two = [{"judge": "j1", "weighted_score": 0.5}, {"weighted_score": 0.9}]
    judged = check({"type": "judge", **criterion}, folder, judgments=two)
    assert (judged.met, judged.claimed) == (False, False)
    assert judged.reason == (
        "the criterion has no judge command; judgments in the submission are ignored: 'j1' 0.5, 'unnamed' 0.9"
    )
    assert check({"type": "judge", **criterion}, folder).reason == "the criterion has no judge command"
    many = check({"type": "judge", **criterion}, folder, judgments=two * 4).reason
    assert many.endswith("and 3 more")  # 5 of 8 are shown


@pytest.mark.parametrize("inside", [(), ("deep",), ("deep/er", "side")], ids=len)
def test_a_folder_without_a_file_is_no_artifacts(store: Store, tmp_path: Path, inside: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()
    for name in inside:
        (tmp_path / "empty" / name).mkdir(parents=True)
    arena = make_arena(store)
    kinds = [{"type": "judge", "threshold": 0.5}, {"type": "code_compiles"}, {"type": "tests_pass"}]
    claims = [{"type": "file_exists", "file_path": "a.py"}, {"type": "no_errors", "error_log": "log"}]
    arena.add_task(as_task({"id": "task", "success_criteria": kinds + claims}))
    said = {"task_id": "task", "total_tokens": 5000, "tool_calls": 5, "files_created": ["a.py"], "success": True}
    said["judgments"] = [{"judge": "own", "weighted_score": 1.0}]
    submissions = [as_submission({"id": "bare", **said}), as_submission({"id": "empty", **said, "artifacts": "empty"})]
    bare, empty = arena.submit(submissions, artifacts_root=tmp_path)
    assert isinstance(bare, Receipt)
    assert isinstance(empty, Receipt)
    assert (bare.correctness_score, empty.correctness_score) == (40.0, 40.0)  # 2 of 5
    assert bare.overall_score == empty.overall_score
    assert bare.claimed == empty.claimed == ("file_exists", "no_errors")
    reasons = {result.type: result.reason for result in evaluation(arena, "empty").criteria}
    assert {reasons[kind] for kind in ("judge", "code_compiles", "tests_pass")} == {NO_ARTIFACTS}


def test_a_name_that_no_file_can_have_is_not_there(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "made", GOOD)
    assert not check({"type": "file_exists", "file_path": "n" * 300}, folder).met
    assert not check({"type": "no_errors", "error_log": "n" * 300}, folder).met


@needs_sandbox
def test_tests_are_run_and_must_really_pass(tmp_path: Path) -> None:
    good = folder_of(tmp_path / "good", GOOD)
    assert check({"type": "tests_pass"}, good).reason == "1 tests ran, 0 did not pass"
    bad = folder_of(tmp_path / "bad", {**GOOD, "solution.py": "def f():\n    return 2\n"})
    assert not check({"type": "tests_pass"}, bad).met
    none = folder_of(tmp_path / "none", {"solution.py": ""})
    assert not check({"type": "tests_pass"}, none).met
    early = folder_of(tmp_path / "early", {**GOOD, "solution.py": "import os\nos._exit(0)\n"})
    assert not check({"type": "tests_pass"}, early).met


@needs_sandbox
def test_the_task_s_own_tests_lie_over_those_of_the_submission(tmp_path: Path) -> None:
    own = folder_of(tmp_path / "own", {"test_solution.py": GOOD["test_solution.py"].replace("f(), 1", "f(), 7")})
    folder = folder_of(tmp_path / "made", GOOD)
    assert not check({"type": "tests_pass", "tests": str(own)}, folder).met


CHECKER = """
import subprocess, sys
status = subprocess.run([sys.executable, "solution.py"]).returncode
print(0.9)
sys.exit(status != 7)
"""


@needs_sandbox
@pytest.mark.parametrize("kind", ["command", "min_functionality", "code_compiles", "judge"])
@pytest.mark.parametrize("in_its_place", [{}, {"check/run.py": "print(1)"}, {"check": "file"}, {"check/run.py/x": ""}])
def test_the_task_s_own_checker_lies_over_whatever_was_submitted_in_its_place(
    tmp_path: Path, kind: str, in_its_place: dict[str, str]
) -> None:
    own = folder_of(tmp_path / "own", {"check/run.py": CHECKER})
    criterion: dict[str, Any] = {"type": kind, "command": ["python", "-I", "check/run.py"], "files": str(own)}
    criterion |= {"threshold": 0.5} if kind == "judge" else {}
    for status in (7, 8):
        made = {"solution.py": f"raise SystemExit({status})", "subprocess.py": "raise SystemExit(0)", **in_its_place}
        folder = folder_of(tmp_path / f"made{status}", made)
        assert check(criterion, folder).met == (status == 7)


@needs_sandbox
@pytest.mark.parametrize("name", ["tmp", "home", "work", "box"])
def test_no_name_among_the_artifacts_is_taken(tmp_path: Path, name: str) -> None:
    folder = folder_of(tmp_path / "made", {name: "raise SystemExit(7)"})
    assert check({"type": "command", "command": ["python", name], "exit_status": 7}, folder).met


HIDDEN = {
    "test_solution.py": (
        "import unittest\nimport solution\n\n\nclass Case(unittest.TestCase):\n"
        "    def test_a(self):\n        self.assertEqual(solution.f(), 1)\n\n"
        "    def test_b(self):\n        self.assertEqual(solution.f(), 1)\n"
    ),
    "test_zoo.py": (
        "import unittest\nimport solution\n\n\nclass Zoo(unittest.TestCase):\n"
        "    def test_c(self):\n        self.assertEqual(solution.f(), 1)\n"
    ),
}
WRONG = "\n\ndef f():\n    return 2\n"
ATTACKS = {
    "assertion": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None",
    "result": "import unittest\nunittest.TestResult.addFailure = lambda self, t, e: None",
    "code of the assertion": (
        "import unittest\n"
        "unittest.TestCase.assertEqual.__code__ = (lambda self, first, second, msg=None: None).__code__"
    ),
    "comparison": "import unittest\nunittest.TestCase._getAssertEqualityFunc = lambda *a: lambda *b, **c: None",
    "running": "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)",
    "suites": "import unittest\nunittest.TestSuite.run = lambda self, result, debug=False: result",
    "calling": "import unittest\nunittest.TestCase.__call__ = lambda self, result: result.addSuccess(self)",
    "attributes": (
        "import unittest\n"
        "unittest.TestCase.__getattribute__ = lambda self, name: (\n"
        "    (lambda *a: None) if name == 'assertEqual' else object.__getattribute__(self, name))"
    ),
    "a builtin": "import builtins\nbuiltins.sorted = lambda *a, **k: []",
    "a shadow": "import unittest.case\nunittest.case.isinstance = lambda *a: True",
    "the library": "import sys, types\nsys.modules['unittest'] = types.ModuleType('unittest')",
    "end": "import os\nos._exit(0)",
    "exit": "import sys\nsys.exit(0)",
    "a thread": "import os, threading\nthreading.Timer(0.01, os._exit, [0]).start()\nimport time\ntime.sleep(0.1)",
    "printing": 'print(\'OK\'); print(\'{"ran": 3, "bad": 0, "changed": 0}\')',
    "descriptors": (
        "import os\nfor fd in range(64):\n    try:\n"
        '        os.write(fd, b\'{"ran": 3, "bad": 0, "changed": 0}\')\n    except OSError:\n        pass\nos._exit(0)'
    ),
    "standard input": (
        "import os\ntry:\n    said = os.read(0, 1000).split()\n    import json\n"
        "    open(said[1], 'w').write(json.dumps(dict(nonce=said[0].decode(), ran=3, bad=0, changed=0)))\n"
        "    os._exit(0)\nexcept IndexError:\n    pass"
    ),
    "the parent's memory": (
        "import os\ntry:\n    open(f'/proc/{os.getppid()}/mem', 'rb'); open(f'/proc/{os.getppid()}/fd/0')\n"
        "except OSError:\n    pass\nelse:\n    raise SystemError('readable')"
    ),
    "files of tests": (
        "import pathlib\nfor path in pathlib.Path().glob('test*.py'):\n    path.unlink()\n    path.write_text('')"
    ),
    "modules of tests": "import sys, types\nsys.modules['test_zoo'] = types.ModuleType('test_zoo')",
    "the test": (
        "import sys\n\ndef patch():\n    sys.modules['test_zoo'].Zoo.test_c = lambda self: None\n"
        "    sys.modules['test_solution'].Case.test_b = lambda self: None\n    return 1\n\n"
        "def f(): return patch()\n\nold = f"
    ),
    "skipping": "import unittest\n\ndef g():\n    raise unittest.SkipTest('no')",
    "frames": (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    for value in list(frame.f_locals.values()):\n"
        "        if type(value).__name__ == 'Outcomes':\n"
        "            type(value).addFailure = lambda self, *a: self.send('passed')\n"
        "    frame = frame.f_back"
    ),
    "exit functions": "import atexit\natexit._run_exitfuncs()",
}
TWO_CLASSES = {
    "test_both.py": (
        "import unittest\nimport solution\n\n\nclass Base(unittest.TestCase):\n"
        "    def right(self):\n        self.assertEqual(solution.f(), 1)\n\n\n"
        "class First(Base):\n    def test_a(self):\n        self.right()\n\n\n"
        "class Second(Base):\n    def test_b(self):\n        self.right()\n"
    )
}
UNDOING = {
    "the preparation of the next class": (
        "def evil(kind):\n    del Second.setUpClass\n\n\ndef patch():\n    Second.setUpClass = classmethod(evil)\n"
    ),
    "a shared method": (
        "old = Base.right\n\n\ndef evil(self):\n    Base.right = old\n\n\ndef patch():\n    Base.right = evil\n"
    ),
    "a method put before a shared one": (
        "def evil(self):\n    del Second.right\n\n\ndef patch():\n    Second.right = evil\n"
    ),
    "the next test": (
        "old = Second.test_b\n\n\ndef evil(self):\n    Second.test_b = old\n\n\n"
        "def patch():\n    Second.test_b = evil\n"
    ),
    "a mark on the next class": (
        "def patch():\n    Second.__unittest_skip__ = True\n    threading.Timer(0.05, undo).start()\n\n\n"
        "def undo():\n    del Second.__unittest_skip__\n"
    ),
    "the place of the next test": (
        "import gc, unittest\n\n\ndef patch():\n    for suite in gc.get_objects():\n"
        "        if type(suite) is unittest.TestSuite and any(type(test) is Second for test in suite._tests):\n"
        "            test = suite._tests[0]\n            suite._tests[0] = lambda result: test(result)\n"
    ),
}


@needs_sandbox
@pytest.mark.parametrize("attack", list(UNDOING))
def test_code_that_changes_what_a_test_uses_fails(tmp_path: Path, attack: str) -> None:
    own = folder_of(tmp_path / "own", TWO_CLASSES)
    code = (
        "import sys, threading\ncalls = []\n\n\ndef f():\n    global Base, Second\n    calls.append(1)\n"
        "    if len(calls) == 1:\n        tests = sys.modules['test_both']\n"
        "        Base, Second = tests.Base, tests.Second\n        exec(CODE, globals())\n        patch()\n"
        f"    return 1\n\n\nCODE = {UNDOING[attack]!r}\n"
    )
    found = check({"type": "tests_pass", "tests": str(own)}, folder_of(tmp_path / "made", {"solution.py": code}))
    assert not found.met, found.reason


@needs_sandbox
@pytest.mark.parametrize("attack", list(ATTACKS))
def test_code_that_meddles_with_its_tests_has_not_passed_them(tmp_path: Path, attack: str) -> None:
    own = folder_of(tmp_path / "own", HIDDEN)
    code = ATTACKS[attack] + WRONG
    if attack == "skipping":
        # One passes, so that something ran; the others would be skipped.
        code = (
            ATTACKS[attack]
            + "\n\ncalls = []\n\n\ndef f():\n    calls.append(1)\n    return 1 if len(calls) == 1 else g()\n"
        )
    elif attack == "the test":
        code = (
            ATTACKS[attack]
            + "\ncalls = []\n\ndef f():\n    calls.append(1)\n    return old() if len(calls) == 1 else 2\n"
        )
    folder = folder_of(tmp_path / "made", {"solution.py": code})
    found = check({"type": "tests_pass", "tests": str(own)}, folder)
    assert not found.met, found.reason


@needs_sandbox
@pytest.mark.parametrize(
    "brought",
    [
        {"unittest.py": "raise SystemExit(0)", "json.py": "", "secrets.py": ""},
        {"unittest/__init__.py": "", "importlib/__init__.py": ""},
        {"home/.local/lib/python3.11/site-packages/usercustomize.py": "import os\nos._exit(0)\n"},
        {"sitecustomize.py": "import os\nos._exit(0)\n", "test_zoo/__init__.py": ""},
        {"test_more.py": "import unittest\n\ndef load_tests(*a): return unittest.TestSuite()\n"},
        {"sub/__init__.py": "def load_tests(*a):\n    import unittest\n    return unittest.TestSuite()\n"},
    ],
    ids=lambda brought: next(iter(brought)),
)
def test_files_beside_the_code_take_the_place_of_nothing(tmp_path: Path, brought: dict[str, str]) -> None:
    own = folder_of(tmp_path / "own", {**HIDDEN, "sub/test_deep.py": HIDDEN["test_zoo.py"]})
    for name, code in (("good", "def f():\n    return 1\n"), ("wrong", WRONG)):
        folder = folder_of(tmp_path / name, {"solution.py": code, **brought})
        expected = "4 tests ran, 0 did not pass" if name == "good" else "4 tests ran, 4 did not pass"
        assert check({"type": "tests_pass", "tests": str(own)}, folder).reason == expected


HONEST = """
import unittest
from unittest import mock
import solution
from sub.helpers import wanted


def setUpModule():
    unittest.TestCase.maxDiff = None


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.made = mock.Mock()

    def test_f(self):
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(solution.f(), wanted())

    @mock.patch("builtins.abs", return_value=7)
    def test_patched(self, _abs):
        self.assertEqual(abs(-1), 7)

    @unittest.skip("not here")
    def test_decorated(self):
        self.fail()

    def test_skips_itself(self):
        self.skipTest("not today")

    @unittest.expectedFailure
    def test_known_to_fail(self):
        self.assertEqual(solution.f(), 2)


class Away(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise unittest.SkipTest("elsewhere")

    def test_never(self):
        self.fail()


class Waits(unittest.IsolatedAsyncioTestCase):
    async def test_later(self):
        self.assertEqual(solution.f(), 1)
"""


@needs_sandbox
def test_honest_tests_of_every_kind_pass(tmp_path: Path) -> None:
    helpers = {"sub/helpers.py": "def wanted():\n    return 1\n", "sub/__init__.py": ""}
    own = folder_of(tmp_path / "own", {"test_all.py": HONEST, **helpers})
    folder = folder_of(tmp_path / "made", {"solution.py": "def f():\n    return 1\n"})
    for criterion in ({"type": "tests_pass", "tests": str(own)}, {"type": "tests_pass"}):
        if "tests" not in criterion:
            folder_of(folder, {"test_all.py": HONEST, **helpers})
        found = check(criterion, folder)
        assert (found.met, found.reason) == (True, "4 tests ran, 0 did not pass")  # f, patched, known to fail, later


@needs_sandbox
def test_code_must_compile(tmp_path: Path) -> None:
    assert check({"type": "code_compiles"}, folder_of(tmp_path / "a", GOOD)).met
    broken = check({"type": "code_compiles"}, folder_of(tmp_path / "b", {"a.py": "def f(:\n"}))
    assert not broken.met
    assert "a.py" in broken.reason
    assert not check({"type": "code_compiles"}, folder_of(tmp_path / "c", {"a.txt": ""})).met


@needs_sandbox
def test_a_command_counts_by_its_exit_status_and_in_time(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", {"run.py": "import sys\nsys.exit(3)\n"})
    command = ["python", "run.py"]
    assert check({"type": "command", "command": command, "exit_status": 3}, folder).met
    assert not check({"type": "min_functionality", "command": command}, folder).met
    slow = check({"type": "command", "command": ["sleep", "30"], "seconds": 0.3}, folder)
    assert "limit" in slow.reason
    assert not check({"type": "command", "command": ["no-such-program"]}, folder).met


@needs_sandbox
@pytest.mark.parametrize("kind", ["command", "tests_pass", "code_compiles", "judge"])
def test_a_command_that_failed_shows_the_end_of_what_it_said(tmp_path: Path, kind: str) -> None:
    loud = "import sys\nprint('x' * 9000)\nsys.exit('\\x1b[31mthe disk is full\\u202e')\n"
    folder = folder_of(tmp_path / "a", {"loud.py": loud, "quiet.py": "raise SystemExit(3)\n"})
    more = {"threshold": 0.5} if kind == "judge" else {}
    found = check({"type": kind, "command": ["python", "loud.py"], **more}, folder)
    assert "exit status 1, output ends with '\\x1b[31mthe disk is full\\u202e'" in found.reason
    assert found.reason.isprintable()
    quiet = check({"type": kind, "command": ["python", "quiet.py"], **more}, folder).reason
    assert "exit status 3, no output" in quiet


@needs_sandbox
def test_what_a_command_said_is_shown_bounded(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", {"loud.py": "print('x' * 9000 + 'end')\nraise SystemExit(1)\n"})
    reason = check({"type": "command", "command": ["python", "loud.py"]}, folder).reason
    assert reason.endswith("xend'")
    assert len(reason) < 400


@needs_sandbox
def test_a_judge_of_the_task_s_own_prints_its_score(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", {"judge.py": "print('thinking')\nprint(0.8)\n", "mad.py": "print(7)\n"})
    assert check({"type": "judge", "threshold": 0.8, "command": ["python", "judge.py"]}, folder).met
    assert "no score" in check({"type": "judge", "threshold": 0.1, "command": ["python", "mad.py"]}, folder).reason


def test_archives_hold_the_same_as_folders(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", GOOD)
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname=".")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        for name in GOOD:
            zipped.write(folder / name, name)
    digests = set()
    for path in (folder, tmp_path / "a.tar.gz", tmp_path / "a.zip"):
        with staged(path) as found:
            digests.add(found.sha256)
            assert sorted(one.name for one in found.folder.iterdir()) == sorted(GOOD)
    assert len(digests) == 1


def test_hostile_archives_stay_inside(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "up.tar", "w") as archive:
        info = tarfile.TarInfo("../outside.txt")
        info.size = 2
        archive.addfile(info, io.BytesIO(b"no"))
    with pytest.raises(ArtifactError, match="points outside"), staged(tmp_path / "up.tar"):
        pass
    with tarfile.open(tmp_path / "link.tar", "w") as archive:
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with staged(tmp_path / "link.tar") as found:
        assert list(found.folder.iterdir()) == []
    (tmp_path / "broken.zip").write_bytes(b"PK\x05\x06 not really")
    with pytest.raises(ArtifactError), staged(tmp_path / "broken.zip"):
        pass


@needs_sandbox
def test_artifacts_are_refused_beyond_a_depth_that_everything_can_handle(tmp_path: Path) -> None:
    for depth in (100, 101, 600, 1500):
        name = "/".join(["d"] * (depth - 1) + ["a.py"])
        with zipfile.ZipFile(tmp_path / "deep.zip", "w") as archive:
            archive.writestr(name, "x = 1\n")
        if depth == 100:
            assert check({"type": "code_compiles"}, tmp_path / "deep.zip").met
            continue
        with pytest.raises(ArtifactError, match="more than 100 directory levels"), staged(tmp_path / "deep.zip"):
            pass
    folder_of(tmp_path / "made", {"d/" * 101 + "a.py": ""})
    with pytest.raises(ArtifactError, match="more than 100 directory levels"), staged(tmp_path / "made"):
        pass


def test_a_name_counts_each_time_an_archive_holds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEELYARD_MAX_ARTIFACT_FILES", "10")
    for count in (10, 11):
        with tarfile.open(tmp_path / f"{count}.tar", "w") as archive:
            for _ in range(count):
                archive.addfile(tarfile.TarInfo("same"), io.BytesIO(b""))
    with staged(tmp_path / "10.tar"):
        pass
    with pytest.raises(ArtifactError, match="more than 10 files and directories"), staged(tmp_path / "11.tar"):
        pass


def test_reading_artifacts_ends_when_it_is_told_to(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", GOOD)
    stop = threading.Event()
    stop.set()
    with pytest.raises(AbortedError), staged(folder, stop=stop):
        pass


def damaged(method: int, start: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        archive.writestr("a.py", "x = 1\n" * 3000)
    content = bytearray(made.getvalue())
    content[start : start + 20] = b"\xff" * 20
    return bytes(content)


def zip_of(compressed: bytes, *, name: str = "a.py", method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of one entry that says it is compressed by the method."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(name, compressed)
    content = bytearray(made.getvalue())
    struct.pack_into("<H", content, 8, method)
    struct.pack_into("<H", content, content.rindex(b"PK\1\2") + 10, method)
    return bytes(content)


def nameless(content: bytes) -> bytes:
    """The zip with the name in its list of entries declared a comment."""
    at = content.rindex(b"PK\1\2")
    return content[: at + 28] + struct.pack("<HHH", 0, 0, 4) + content[at + 34 :]


def tar_header(kind: bytes, size: int) -> bytes:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, size
    return header.tobuf(tarfile.GNU_FORMAT)


def announced(kind: bytes, size: int) -> bytes:
    """A tar whose one header says that so much follows."""
    return tar_header(kind, size) + bytes(2048)


def tarred(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return made.getvalue()


def flipped(content: bytes, at: float) -> bytes:
    place = int(len(content) * at)
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


SOUND = tarred(noise=random.Random(1).randbytes(100_000), a=b"x = 1\n" * 9000)
BROKEN: dict[str, Callable[[], bytes]] = {
    "deflate": lambda: damaged(zipfile.ZIP_DEFLATED, 45),
    "lzma": lambda: damaged(zipfile.ZIP_LZMA, 55),
    "a name that is no text": lambda: zip_of(b"x", name="ü.py").replace("ü".encode(), b"\xff\xfe"),
    "no name": lambda: nameless(zip_of(b"x")),
    "bzip2 in zip": lambda: zip_of(bz2.compress(bytes(64 << 20)), method=zipfile.ZIP_BZIP2),
    "lzma in zip": lambda: zip_of(lzma.compress(bytes(64 << 20)), method=zipfile.ZIP_LZMA),
    "gz damaged": lambda: flipped(gzip.compress(SOUND), 0.5),
    "xz damaged": lambda: flipped(lzma.compress(SOUND), 0.5),
    "bz2 damaged": lambda: flipped(bz2.compress(SOUND), 0.5),
    "gz cut": lambda: gzip.compress(SOUND)[:-100],
    "xz cut": lambda: lzma.compress(SOUND)[:-100],
    "bz2 cut": lambda: bz2.compress(SOUND)[:-100],
    "tar cut": lambda: SOUND[:50_000],
    "compressed text": lambda: gzip.compress(b"x = 1"),
    **{f"{kind!r} of 4 EiB": partial(announced, kind, 1 << 62) for kind in (b"x", b"g", b"L", b"K")},
    **{f"{kind!r} of 1 GiB": partial(announced, kind, 1 << 30) for kind in (b"x", b"g", b"L", b"K")},
    "a member of 2 TiB in a row of zeros": lambda: (
        bz2.compress(tar_header(b"Z", 2 << 40)) + bz2.compress(bytes(64 << 20)) * 9
    ),
    "folders": lambda: gzip.compress(tarred(**{f"{number}/" + "d/" * 90 + "f": b"" for number in range(300)})),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_one_broken_archive_takes_no_other_along(store: Store, tmp_path: Path, name: str) -> None:
    folder_of(tmp_path / "good", GOOD)
    (tmp_path / "bad").write_bytes(BROKEN[name]())
    arena = make_arena(store)
    arena.add_task(as_task({"id": "t", "success_criteria": [{"type": "file_exists", "file_path": "solution.py"}]}))
    said = {"task_id": "t", "total_tokens": 1, "tool_calls": 1}
    given = [{**said, "id": str(number), "artifacts": path} for number, path in enumerate(("good", "bad", "good"))]
    before, bad, after = arena.submit(given, artifacts_root=tmp_path)
    assert isinstance(before, Receipt)
    assert isinstance(bad, Rejected)
    assert (bad.code, len(bad.reason) < 400) == ("invalid_artifacts", True)
    assert isinstance(after, Receipt)


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress], ids=lambda pack: pack.__module__
)
def test_a_tar_is_the_same_however_it_is_packed(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "plain").write_bytes(SOUND)
    (tmp_path / "compressed").write_bytes(pack(SOUND))
    with staged(tmp_path / "plain") as plain, staged(tmp_path / "compressed") as compressed:
        assert plain.sha256 == compressed.sha256
        assert sorted(one.name for one in compressed.folder.iterdir()) == ["a", "noise"]


def test_a_pipe_is_no_archive(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with (
        pytest.raises(ArtifactError, match="artifacts must be a directory, or a tar or zip"),
        staged(tmp_path / "pipe"),
    ):
        pass
    os.mkfifo(folder_of(tmp_path / "a", GOOD) / "pipe")
    with staged(tmp_path / "a") as found:
        assert sorted(one.name for one in found.folder.iterdir()) == sorted(GOOD)


def test_a_folder_exchanged_for_a_link_while_it_is_read_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path / "a", {"inner/x.txt": "ours"})
    folder_of(tmp_path / "outside", {"x.txt": "theirs"})
    opened = os.open

    def exchanging(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "inner":
            (folder / "inner").rename(tmp_path / "away")
            (folder / "inner").symlink_to(tmp_path / "outside")
        return opened(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr("steelyard.grading._artifacts.os.open", exchanging)
    with staged(folder) as found:
        assert list(found.folder.rglob("x.txt")) == []
    assert (folder / "inner").is_symlink()


def test_a_name_with_a_line_end_is_not_two_names(tmp_path: Path) -> None:
    two = hashlib.sha256(b"2").hexdigest()
    with staged(folder_of(tmp_path / "two", {"x": "1", "y": "2"})) as found:
        both = found.sha256
    with staged(folder_of(tmp_path / "one", {f"x\n{two} y": "1"})) as found:
        assert found.sha256 != both


@pytest.mark.parametrize("name", ["n/" + "e" * 300, "n" * 3000])
def test_names_that_are_too_long_are_quoted_in_part(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / "long.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO(b""))
    with pytest.raises(ArtifactError) as caught, staged(tmp_path / "long.tar"):
        pass
    assert "File name too long" in caught.value.message
    assert name[:100] in caught.value.message
    assert len(caught.value.message) < 400
    for place in (name, "a\0b"):
        with pytest.raises(ArtifactError) as caught:
            locate(place, tmp_path)
        assert len(caught.value.message) < 400


def test_artifacts_outside_of_the_named_folder_are_not_opened(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "link").symlink_to(tmp_path)
    for name in ("..", "/etc", "link", "no-such"):
        with pytest.raises(ArtifactError):
            locate(name, inner)


def test_links_in_a_folder_are_left_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "a", {"real.txt": "x"})
    (folder / "link.txt").symlink_to("/etc/passwd")
    with staged(folder) as found:
        assert [one.name for one in found.folder.iterdir()] == ["real.txt"]


@needs_sandbox
def test_a_submission_with_artifacts_is_scored_by_what_they_show(store: Store, tmp_path: Path) -> None:
    folder_of(tmp_path / "good", GOOD)
    arena = make_arena(store)
    criteria = [{"type": "tests_pass"}, {"type": "file_exists", "file_path": "missing.py"}]
    arena.add_task(as_task({"id": "t", "success_criteria": criteria}))
    shared = {"task_id": "t", "total_tokens": 1, "tool_calls": 1, "files_created": ["missing.py"]}
    given = [
        as_submission({"id": "shown", "artifacts": "good", **shared}),
        as_submission({"id": "claimed", **shared}),
        as_submission({"id": "away", "artifacts": "gone", **shared}),
    ]
    shown, claimed, away = arena.submit(given, artifacts_root=tmp_path)
    assert isinstance(shown, Receipt)
    assert isinstance(claimed, Receipt)
    assert isinstance(away, Rejected)
    assert (shown.correctness_score, shown.claimed) == (50.0, ())  # the tests pass, the file is not there
    assert (claimed.correctness_score, claimed.claimed) == (50.0, ("file_exists",))
    held = {row.submission_id: row.claimed for row in arena_task_leaderboard(arena, "t").leaderboard}
    assert held == {"shown": (), "claimed": ("file_exists",)}
    (again,) = arena.submit(given[:1], artifacts_root=tmp_path)
    assert isinstance(again, Receipt)
    assert again.status == "known"
    (tmp_path / "good" / "more.txt").write_text("changed")
    (changed,) = arena.submit(given[:1], artifacts_root=tmp_path)
    assert isinstance(changed, Rejected)
