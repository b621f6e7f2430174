"""Code under test that goes for what judges it has not passed its hidden tests, whichever way it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena_makers import as_submission, folder_of
from steelyard import sandbox
from steelyard.grading import CriterionResult, check_all, read_task_files, staged
from steelyard.records import convert_task

pytestmark = pytest.mark.skipif(sandbox.active_isolation().name == "none", reason="nothing here can isolate code")

CASE = "import unittest\nimport solution\n\n\nclass {}(unittest.TestCase):\n"
TEST = "    def test_{}(self):\n        self.assertEqual(solution.f(), 1)\n"
TWO = {
    "test_solution.py": CASE.format("Case") + TEST.format("a") + "\n" + TEST.format("b"),
    "test_zoo.py": CASE.format("Zoo") + TEST.format("c"),
}

FIND = """
import os, stat, sys

def pipes():
    found = []
    for n in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(n).st_mode):
                found.append(n)
        except OSError:
            pass
    return found

def found(name):
    frame = sys._getframe()
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back

def f():
    return 2
"""
ALL_WELL = (
    "WORDS = ['tests 3', *(word for n in range(3) for word in (f'start {n}', 'returned', 'passed', 'stop')), 'end']\n"
    "LINES = ''.join(word + '\\n' for word in WORDS).encode()\n"
)
AT_EXIT = FIND + ALL_WELL + "def forge(*_):\n    os.write(pipes()[0], LINES + bytes(64))\n    os._exit(0)\n"

ATTACKS = {
    "a pipe in between, read by a destructor": (
        FIND
        + """
class Late:
    def __init__(self):
        self.real = os.dup(pipes()[0])
        self.mine, other = os.pipe()
        os.dup2(other, pipes()[0])

    def __del__(self, os=os):
        said = os.read(self.mine, 4096)
        os.write(self.real, said[:16] + b'{"ran": 3, "bad": 0, "changed": 0}')

keep = Late()
"""
    ),
    "a pipe in between, read by a thread that forges the words": (
        FIND
        + ALL_WELL
        + """
import threading
number = pipes()[0]
real = os.dup(number)
mine, other = os.pipe()
os.dup2(other, number)

def relay():
    said = b''
    while b'end\\n' not in said or len(said.partition(b'end\\n')[2]) < 64:
        said += os.read(mine, 4096)
    os.write(real, LINES + said[-64:])

threading.Thread(target=relay).start()
"""
    ),
    "closing every descriptor": (FIND + "os.closerange(3, 64)"),
    "nothing where the pipe was": (FIND + "os.dup2(os.open(os.devnull, os.O_WRONLY), pipes()[0])"),
    "garbage on the pipe": (FIND + "os.write(pipes()[0], b'garbage\\xff\\n')"),
    "words on the pipe": (FIND + ALL_WELL + "os.write(pipes()[0], LINES)"),
    "a whole report on the pipe": (AT_EXIT + "forge()"),
    "a report from a child": (
        AT_EXIT + "child = os.fork()\nif not child:\n    forge()\nos.waitpid(child, 0)\nos._exit(0)"
    ),
    "a child that goes on in its place": (FIND + "if os.fork():\n    os._exit(0)"),
    "a child that goes on in its place and is right": (FIND + "if os.fork():\n    os._exit(0)\n\ndef f(): return 1"),
    "a flood": (FIND + "for _ in range(1100): os.write(pipes()[0], bytes(65536))"),
    "what is done at exit": (AT_EXIT + "import atexit\natexit.register(forge)"),
    "what threads do at exit": (AT_EXIT + "import threading\nthreading._register_atexit(forge)"),
    "finalizers": AT_EXIT + "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, forge)",
    "a destructor at exit": (AT_EXIT + "class A:\n    __del__ = forge\nsys.a = A()"),
    "a hook for exceptions": (AT_EXIT + "sys.excepthook = sys.unraisablehook = forge"),
    "a hook for exceptions that is used": AT_EXIT + "sys.excepthook = forge\ndef f(): raise KeyboardInterrupt",
    "a signal": (
        AT_EXIT
        + "import signal\nsignal.signal(signal.SIGALRM, forge)\ndef f():\n    signal.raise_signal(signal.SIGALRM)"
    ),
    "a hook of the garbage collector": (
        AT_EXIT + "import gc\ngc.callbacks.append(forge)\ndef f():\n    gc.collect()\n    return 2"
    ),
    "a hook for warnings": (
        AT_EXIT + "import warnings\nwarnings.showwarning = forge\ndef f():\n    warnings.warn('x')\n    return 2"
    ),
    "a hook at forks": (AT_EXIT + "os.register_at_fork(before=forge, after_in_parent=forge)"),
    "a timed end": (
        FIND + "import faulthandler, time\nfaulthandler.dump_traceback_later(0.01, exit=True)\ntime.sleep(1)"
    ),
    "another standard output": AT_EXIT + "class Out:\n    write = print\n    flush = forge\nsys.stdout = Out()",
    "an interrupt once all was said": (
        FIND
        + ALL_WELL
        + """
def f():
    result = found('result')
    for word in WORDS:
        result.send(word)
    raise KeyboardInterrupt
"""
    ),
    "words for tests to come": (
        FIND + ALL_WELL + "def f():\n    for word in WORDS: found('result').send(word)\n    return 2"
    ),
    "a word that another test passed": (
        FIND
        + """
def f():
    for word in ('returned', 'passed', 'stop', 'start 2', 'returned', 'passed', 'stop', 'start 1'):
        found('result').send(word)
    return 2

def g():
    return 1
"""
    ),
    "saying nothing": (FIND + "def f():\n    found('result').send = lambda word: None\n    return 2"),
    "hearing nothing": (
        FIND
        + """
import unittest.case
said = unittest.case._Outcome.testPartExecutor.__wrapped__.__closure__
for cell in said:
    if getattr(cell.cell_contents, '__name__', '') == 'send':
        cell.cell_contents = lambda word: None
"""
    ),
    "watching nothing": FIND + "def f():\n    found('result').watched._held = ()\n    return 2",
    "another watcher": (
        FIND
        + """
def f():
    watched = found('result').watched
    blind = dict.fromkeys(('is_changed', 'is_meddled'), lambda *a, **k: False)
    watched.__class__ = type('Blind', (type(watched),), blind)
    found('self').assertEqual = lambda *a: None
    type(found('result')).addFailure = lambda *a: None
    return 2
"""
    ),
    "names of the runner": (
        FIND
        + "frame = sys._getframe()\nwhile frame.f_globals.get('__name__') != 'steelyard_tests': frame = frame.f_back\n"
        + "frame.f_globals['callable'] = lambda *a: True"
    ),
    "the key by the collector": (
        FIND
        + ALL_WELL
        + """
import gc, hashlib

def forge():
    kinds = (type(hashlib.blake2b()),)
    for one in gc.get_objects():
        for held in (one, getattr(one, '__self__', None), *gc.get_referents(one)):
            held = getattr(held, '__self__', held)
            if isinstance(held, kinds) or type(held).__name__ == 'CThunkObject':
                if isinstance(held, kinds):
                    copy = held.copy()
                    copy.update(LINES)
                    os.write(pipes()[0], LINES + copy.digest())
                os._exit(0)

forge()

def f():
    forge()
    return 2
"""
    ),
    "the key in frames": (
        FIND
        + """
import gc

def f():
    frame = sys._getframe()
    while frame is not None:
        for value in (*frame.f_locals.values(), *frame.f_globals.values(), *gc.get_referents(frame)):
            if isinstance(value, bytes) and len(value) == 64 or 'digest' in repr(type(value)):
                os._exit(0)
        frame = frame.f_back
    return 2
"""
    ),
    "tracing that changes words": (
        FIND
        + """
def trace(frame, event, arg):
    if 'word' in frame.f_locals:
        frame.f_locals['word'] = 'returned' if frame.f_locals['word'] == 'raised' else 'passed'
    return trace

def f():
    sys.settrace(trace)
    return 2
"""
    ),
    "profiling that looks for the key": (
        FIND
        + """
def profile(frame, event, arg):
    if event == 'call' and any(isinstance(value, bytes) and len(value) == 64 for value in frame.f_locals.values()):
        os._exit(0)

def f():
    sys.setprofile(profile)
    return 2
"""
    ),
    "a thread that looks at frames": (
        FIND
        + """
import threading
sys.setswitchinterval(1e-6)

def look():
    while True:
        for frame in sys._current_frames().values():
            if any(isinstance(value, bytes) and len(value) == 64 for value in list(frame.f_locals.values())):
                os._exit(0)

threading.Thread(target=look, daemon=True).start()
"""
    ),
    "an expected failure": FIND + "def f():\n    found('self')._outcome.expecting_failure = True\n    return 2",
    "an expected failure of the tests to come": (
        FIND
        + "def f():\n    for name in ('test_solution', 'test_zoo'):\n"
        + "        for kind in (getattr(sys.modules[name], 'Case', None), getattr(sys.modules[name], 'Zoo', None)):\n"
        + "            if kind: kind.__unittest_expecting_failure__ = True\n    return 2"
    ),
    "an expected failure of every test": (
        FIND + "import unittest\nunittest.TestCase.__unittest_expecting_failure__ = True"
    ),
    "a skip of every test": (FIND + "import unittest\nunittest.TestCase.__unittest_skip__ = True"),
    "comparing numbers": (
        FIND + "def f():\n    found('self')._type_equality_funcs[int] = lambda *a, **k: None\n    return 2"
    ),
    "comparing numbers by another method": (
        FIND + "def f():\n    found('self')._type_equality_funcs[int] = 'assertNotEqual'\n    return 2"
    ),
    "all comparisons": (
        FIND
        + "class Table(dict):\n    def get(self, *a): return lambda *b, **c: None\n\n"
        + "def f():\n    found('self')._type_equality_funcs = Table()\n    return 2"
    ),
    "a result that equals everything": (
        FIND
        + "class S(set):\n    __hash__ = None\n    def __eq__(self, other): return True\n\n"
        + "def f():\n    found('result')._said = S()\n    return 2"
    ),
    "the assertion of one test": FIND + "def f():\n    found('self').assertEqual = lambda *a: None\n    return 2",
    "the assertion of a class": (
        FIND + "def f():\n    type(found('self')).assertEqual = lambda *a: None\n    return 2"
    ),
    "the exception of one test": (
        FIND + "import unittest\ndef f():\n    found('self').failureException = unittest.SkipTest\n    return 2"
    ),
    "the exception of a class": (
        FIND
        + "import unittest.case as c\ndef f():\n    type(found('self')).failureException = c._ShouldStop\n    return 2"
    ),
    "the outcome": (
        FIND
        + """
import unittest.case

class Success(unittest.case._Outcome):
    success = property(lambda self: True, lambda self, value: None)

def f():
    found('self')._outcome.__class__ = Success
    return 2
"""
    ),
    "the result of the outcome": (
        FIND
        + """
class Silent:
    failfast = False

    def __init__(self, outcome): self.outcome, self.result = outcome, outcome.result

    def say(self, *a):
        self.outcome.success = True
        self.outcome.result = self.result

    addFailure = addError = addSubTest = addSuccess = say

def f():
    outcome = found('self')._outcome
    outcome.result = Silent(outcome)
    return 2
"""
    ),
    "the class of the test": (
        FIND
        + "def f():\n    me = found('self')\n"
        + "    me.__class__ = type('Case', (type(me),), {'assertEqual': lambda *a: None})\n    return 2"
    ),
    "the name of the next test": (
        FIND
        + """
import gc, unittest

def f():
    for one in gc.get_objects():
        if isinstance(one, unittest.TestCase):
            one._testMethodName = 'setUp'
    return 1

def g(): return 2
"""
    ),
    "tests in place of the tests": (
        FIND
        + """
import gc, unittest

class Mine(unittest.TestCase):
    def runTest(self): pass

def f():
    for one in gc.get_objects():
        if isinstance(one, unittest.TestSuite):
            one._tests[:] = [Mine() if isinstance(test, unittest.TestCase) else test for test in one._tests]
    return 1
"""
    ),
    "whatever can be called in place of the tests": (
        FIND
        + """
import gc, unittest

class Mine:
    def __init__(self, place): self.place = place

    def __call__(self, result):
        for word in (f'start {self.place}', 'returned', 'passed', 'stop'):
            result.send(word)

def f():
    place = 0
    for one in gc.get_objects():
        if isinstance(one, unittest.TestSuite):
            for n, test in enumerate(one._tests):
                if isinstance(test, unittest.TestCase) and test is not found('self'):
                    one._tests[n] = Mine(place := place + 1)
    return 1
"""
    ),
    "a suite that runs otherwise": (
        FIND
        + """
import gc, unittest

def f():
    for one in gc.get_objects():
        if isinstance(one, unittest.TestSuite):
            one.run = lambda result: [result.send(word) for word in ('start 2', 'returned', 'passed', 'stop')]
    return 1
"""
    ),
    "a cleanup of the class": (
        FIND
        + """
def forge():
    frame = sys._getframe()
    while frame is not None and not hasattr(frame.f_locals.get('result'), 'send'): frame = frame.f_back
    for word in ('returned', 'passed'):
        frame.f_locals['result'].send(word)

def f():
    type(found('self'))._class_cleanups.append((forge, (), {}))
    return 2
"""
    ),
    "fewer tests": (
        FIND
        + """
import gc, unittest
calls = []

def f():
    calls.append(1)
    if len(calls) == 2:
        for one in gc.get_objects():
            if isinstance(one, unittest.TestSuite):
                del one._tests[2:]
                one._tests[:] = [t for t in one._tests if t is None or 'Zoo' not in repr(t)]
    return 1
"""
    ),
    "a loading of its own": (
        FIND + "import unittest\nsys.modules['test_solution'].load_tests = lambda *a: unittest.TestSuite()"
    ),
    "another prefix of tests": (FIND + "import unittest\nunittest.TestLoader.testMethodPrefix = 'test_z'"),
    "another library in the module of tests": (
        FIND
        + """
import types, unittest

class Kind(unittest.TestCase):
    def assertEqual(self, *a): pass

for name in ('test_solution', 'test_zoo'):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get('__name__') == name:
            frame.f_globals['unittest'] = types.SimpleNamespace(TestCase=Kind)
        frame = frame.f_back
"""
    ),
}


def check(tmp_path: Path, code: str, hidden: dict[str, str]) -> CriterionResult:
    own = folder_of(tmp_path / "own", hidden)
    made = folder_of(tmp_path / "made", {"solution.py": code})
    task = convert_task({"id": "t", "success_criteria": [{"type": "tests_pass", "tests": str(own)}]})
    given = as_submission({"id": "s", "task_id": "t", "total_tokens": 1, "tool_calls": 1})
    with staged(made) as found:
        return check_all(task.success_criteria, given, found, files=read_task_files(task, Path()))[0]


RIGHT = {
    "the name of the next test",
    "tests in place of the tests",
    "whatever can be called in place of the tests",
    "a suite that runs otherwise",
    "fewer tests",
}
ORPHAN = "a child that goes on in its place and is right"
"""It passes if it answers before the end of its parent is noticed."""


@pytest.mark.parametrize("attack", list(ATTACKS))
def test_code_that_goes_for_its_judge_has_not_passed(tmp_path: Path, attack: str) -> None:
    found = check(tmp_path, ATTACKS[attack], TWO)
    # What a right answer does besides has no effect on the tests.
    if found.met or attack in RIGHT:
        assert attack in RIGHT or attack == ORPHAN
        assert (found.met, found.reason) == (True, "3 tests ran, 0 did not pass")


LASTING = """
import json, os
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    before = set(os.listdir())
    while True:
        for name in set(os.listdir()) - before:
            try:
                with open(name) as file:
                    said = file.read()
                seal, line, counts = said.partition("\\n")
                with open(name, "w") as file:
                    file.write(seal + line + json.dumps({**json.loads(counts), "bad": 0, "changed": 0}))
            except (OSError, ValueError):
                pass

def f():
    return 2
"""


def test_a_process_that_outlives_the_tests_cannot_write_their_record(tmp_path: Path) -> None:
    for _ in range(3):  # it has to be quick: sometimes it comes too late, and what was written holds
        assert not check(tmp_path, LASTING, TWO).met


USING_MORE = {
    "test_solution.py": (
        "import json\nimport unittest\nimport solution\nfrom kit import wanted\n\n\nclass Case(unittest.TestCase):\n"
        "    def test_kit(self):\n        self.assertEqual(solution.f(), wanted())\n\n"
        "    def test_file(self):\n        with open('data/wanted.json') as file:\n"
        "            self.assertEqual(solution.f(), json.load(file))\n"
    ),
    "kit/__init__.py": "from .numbers import wanted\n",
    "kit/numbers.py": "def wanted():\n    return 1\n",
    "data/wanted.json": "1",
}


@pytest.mark.parametrize(
    "attack",
    [
        "open('kit/numbers.py', 'w').write('def wanted(): return 2')",
        "import types\nsys.modules['kit'] = types.SimpleNamespace(wanted=f)",
        "open('data/wanted.json', 'w').write('2')",
        "os.unlink('data/wanted.json'); os.symlink('/dev/null', 'data/wanted.json')",
        "import kit.numbers\nkit.numbers.wanted = f",
        "import kit.numbers\nkit.numbers.wanted.__code__ = f.__code__",
        "",
    ],
)
def test_what_the_tests_bring_along_is_guarded_too(tmp_path: Path, attack: str) -> None:
    assert not check(tmp_path, FIND + attack, USING_MORE).met
    assert check(tmp_path, "def f():\n    return 1\n", USING_MORE).reason == "2 tests ran, 0 did not pass"


HONEST = """
import asyncio, contextlib, doctest, io, multiprocessing, os, subprocess, sys, threading, unittest, warnings
from unittest import mock
import solution
from . import kit

made = []


def setUpModule():
    made.append("module")


def tearDownModule():
    made.clear()


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(sys.modules[__name__]))
    return tests


def documented():
    '''
    >>> solution.f()
    1
    '''


class Number(int):
    pass


class Retrying(unittest.TestCase):
    def assertEqual(self, first, second, msg=None):
        super().assertEqual(first, second, msg)


class Case(Retrying):
    failureException = kit.Mistake

    @classmethod
    def setUpClass(cls):
        cls.maxDiff = None
        cls.patcher = mock.patch("builtins.abs", return_value=7)
        cls.patcher.start()
        cls.addClassCleanup(cls.patcher.stop)

    def setUp(self):
        self.addTypeEqualityFunc(Number, self.same)
        self.addTypeEqualityFunc(dict, "same")
        self.addCleanup(made.append, "cleaned")

    def same(self, first, second, msg=None):
        if int(first) != int(second):
            raise self.failureException(msg)

    def test_builtin_of_the_class(self):
        self.assertEqual(abs(-1), 7)

    def test_own_comparison(self):
        self.assertEqual(Number(solution.f()), Number(1))

    def test_raises(self):
        with self.assertRaises(SystemExit):
            sys.exit(solution.f())
        with self.subTest(1), self.assertRaises(kit.Mistake):
            raise kit.Mistake

    def test_threads(self):
        one = threading.Thread(target=made.append, args=("thread",))
        one.start()
        one.join()
        threading.Thread(target=threading.Event().wait, args=(60,)).start()  # one that outlives the tests
        self.assertIn("thread", made)

    def test_forks(self):
        child = os.fork()
        if child == 0:
            os._exit(7)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)
        process = multiprocessing.get_context("fork").Process(target=print, args=("child",))
        process.start()
        process.join()
        self.assertEqual(process.exitcode, 0)
        child = os.fork()
        if child == 0:
            sys.exit()  # the library catches it, and goes on with the tests in a process that is not theirs
        os.waitpid(child, 0)

    def test_programs(self):
        said = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout
        self.assertEqual(said, b"1\\n")

    def test_prints(self):
        print("x" * 100_000)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            print("quiet")
        self.assertEqual(said.getvalue(), "quiet\\n")

    def test_mocks(self):
        with mock.patch.object(self, "same"), mock.patch.object(Case, "same"), mock.patch("solution.f") as f:
            solution.f()
        f.assert_called_once()

    def test_warns(self):
        with self.assertWarns(UserWarning), self.assertLogs() as logs:
            warnings.warn("x")
            __import__("logging").warning("y")

    def test_traces(self):
        seen = []
        sys.settrace(lambda *a: seen.append(a))
        try:
            solution.f()
        finally:
            sys.settrace(None)
        self.assertTrue(seen)

    def test_runs_tests(self):
        class Inner(unittest.TestCase):
            def test_good(self): pass
            def test_bad(self): self.fail()
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromTestCase(Inner).run(result)
        self.assertEqual((result.testsRun, bool(result.failures)), (2, True))

    def test_skips_a_part(self):
        with self.subTest(1):
            self.skipTest("not now")

    @unittest.expectedFailure
    def test_fails_in_a_part(self):
        with self.subTest(1):
            self.fail()

    @unittest.expectedFailure
    def test_fails(self):
        self.fail()


@unittest.skipIf(True, "elsewhere")
class Elsewhere(unittest.TestCase):
    def test_never(self):
        self.fail()


class Waits(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.number = await asyncio.sleep(0, 1)

    async def test_waits(self):
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
        self.assertEqual(solution.f(), self.number)
"""


def test_honest_tests_are_free_in_what_they_do(tmp_path: Path) -> None:
    hidden = {
        "checks/__init__.py": "",
        "checks/test_all.py": HONEST,
        "checks/kit.py": "class Mistake(Exception): pass\n",
    }
    found = check(tmp_path, "def f():\n    return 1\n", hidden)
    assert found.reason == "15 tests ran, 0 did not pass"
    # Of them these ask the code: the doctest, the comparison of the test's own, and the one that waits.
    assert check(tmp_path, "def f():\n    return 2\n", hidden).reason == "15 tests ran, 3 did not pass"


def test_tests_of_a_module_that_is_elsewhere_are_not_missed(tmp_path: Path) -> None:
    away = "import unittest\n\n\ndef setUpModule():\n    raise unittest.SkipTest('elsewhere')\n\n\n"
    hidden = {**TWO, "test_zoo.py": away + TWO["test_zoo.py"]}
    assert check(tmp_path, "def f():\n    return 1\n", hidden).reason == "2 tests ran, 0 did not pass"
