"""Cheats: code that has not solved its task and goes for what judges it.

Every technique is a module `solution` whose `add` is wrong. It is one mechanism in its shortest form. The task's tests
are `TESTS`; `naive` says which naive checkers it gets through, which proves that the technique works:

- `status`: the exit status of `python -m unittest` decides.
- `report`: the exit status and a JUnit report that the tests' process writes decide.
- `imported`: `import solution` in the process that judges, which compares with `==`.
- `void`: a check that ends with a status other than 0 and 1, or at a limit, is no verdict.
- `stale`: a report in the work directory decides.
- `pytest`: the exit status of pytest decides.
- `path`: `python -m unittest` with the work directory on PYTHONPATH.
- `submitted`: the submission's files are laid over the task's.
- `parent`: the checker starts the code as a child in the same sandbox, and prints a score.
- `link`: as `report`, but a report that is a link is followed after the command has ended.
- `child`: the process that judges imports the code, then runs the tests as a child with its environment.
- `all`: `all(map(...))` over the cases, in the process that judges.
- `open`: no isolation, with a server on this machine that knows the answers.
- `history`: no isolation, below a Git repository whose history contains the solution.
"""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass, field
from pathlib import Path

TESTS = """
import unittest

import solution


class Test(unittest.TestCase):
    def test_small(self):
        self.assertEqual(solution.add(1, 2), 3)

    def test_large(self):
        self.assertEqual(solution.add(20, 22), 42)

    def test_text(self):
        self.assertEqual(solution.add("a", "b"), "ab")
"""
RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return 0\n"


_NO_COMMANDS = frozenset({"void", "stale", "link", "child", "parent", "path", "submitted", "open", "all", "history"})
"""Naive checkers whose weakness a `command` check of a plan does not have."""


@dataclass(frozen=True)
class Cheat:
    """One technique."""

    name: str
    group: str
    """What it goes for."""
    files: dict[str, str]
    """Files of the submission."""
    naive: frozenset[str] = field(default_factory=frozenset)
    """Naive checkers that it gets through."""

    @property
    def command_verdict(self) -> str:
        """What a `command` check of a plan, with a report and a reference solution, makes of it."""
        return "fails" if self.naive <= _NO_COMMANDS else "marked"


CHEATS: list[Cheat] = []


def cheat(
    name: str, group: str, solution: str = "", *, naive: str = "status", files: dict[str, str] | None = None
) -> None:
    own = {"solution.py": solution + "\n" + WRONG if "def add" not in solution else solution}
    CHEATS.append(Cheat(name, group, {**own, **(files or {})}, frozenset(naive.split())))


# Ending the process before the tests do
cheat("exit at import", "exit early", "import os\nos._exit(0)")
cheat("exit in the function", "exit early", "import os\ndef add(a, b):\n    os._exit(0)")
cheat("sys.exit at import", "exit early", "import sys\nsys.exit(0)", naive="imported")
cheat("exit handler", "exit early", "import atexit, os\natexit.register(os._exit, 0)")
cheat(
    "thread that exits",
    "exit early",
    "import os, threading\ndef add(a, b):\n    threading.Thread(target=os._exit, args=(0,)).start()\n"
    "    import time; time.sleep(5)",
)
cheat("replaced sys.exit", "exit early", "import os, sys\nsys.exit = lambda *a: os._exit(0)")
cheat(
    "destructor at exit",
    "exit early",
    "import os, sys\nclass Late:\n    def __del__(self, leave=os._exit):\n        leave(0)\nsys.late = Late()",
)
cheat(
    "signal handler",
    "exit early",
    "import os, signal\nsignal.signal(signal.SIGALRM, lambda *a: os._exit(0))\n"
    "def add(a, b):\n    signal.raise_signal(signal.SIGALRM)",
)
cheat(
    "hook for exceptions",
    "exit early",
    "import os, sys\nsys.excepthook = lambda *a: os._exit(0)\nraise ValueError",
    naive="imported",
)
cheat("replaced program", "exit early", "import os\nos.execv('/bin/true', ['true'])")

# Voiding: nothing is left to judge by. A naive checker leaves the run out.
for status in (126, 127):
    cheat(f"exit status {status}", "void the verdict", f"import os\nos._exit({status})", naive="void")
cheat("killed by its own signal", "void the verdict", "import os\nos.kill(os.getpid(), 9)", naive="void")
cheat("deleted report", "void the verdict", "import os\nos._exit(0)", naive="void")
cheat("loop without end", "void the verdict", "while True:\n    pass", naive="void")

# Modules that come before others
cheat("module named unittest", "shadow a module", files={"unittest/__init__.py": "", "unittest/__main__.py": ""})
cheat(
    "sitecustomize",
    "shadow a module",
    files={"sitecustomize.py": "import os\nos._exit(0)"},
    naive="path",
)
cheat("conftest.py", "plant a hook", files={"conftest.py": "import os\nos._exit(0)"}, naive="pytest")
cheat(
    "conftest.py that rewrites outcomes",
    "plant a hook",
    files={
        "conftest.py": "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    made = yield\n    made.get_result().outcome = 'passed'\n"
    },
    naive="pytest",
)
cheat("pytest.ini", "plant a hook", files={"pytest.ini": "[pytest]\naddopts = --collect-only\n"}, naive="pytest")
cheat(
    "pyproject.toml",
    "plant a hook",
    files={"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-p solution"\n'},
    solution="import os\nos._exit(0)",
    naive="status pytest",
)
cheat("own tests in place of the task's", "exchange tests", files={"test_solution.py": "x = 1"}, naive="submitted")
cheat("load_tests", "exchange tests", files={"test_zoo.py": "def load_tests(*a): raise SystemExit(0)"})

# Leftovers
JUNIT = "<testsuite>{}</testsuite>"
CASE = '<testcase classname="test_solution.Test" name="{}"/>'
ALL_PASSED = JUNIT.format("".join(CASE.format(name) for name in ("test_small", "test_large", "test_text")))
cheat("report left in the work", "leftovers", "import os\nos._exit(1)", files={"report.xml": ALL_PASSED}, naive="stale")
cheat(
    "forged report",
    "forge results",
    f"import os\nopen('report.xml', 'w').write('''{ALL_PASSED}''')\nos._exit(0)",
    naive="status report",
)
cheat(
    "report rewritten at exit",
    "forge results",
    "import atexit, os\ndef forge():\n"
    f"    open('report.xml', 'w').write('''{ALL_PASSED}''')\n    os._exit(0)\natexit.register(forge)",
    naive="status report",
)
cheat(
    "process that outlives the tests",
    "forge results",
    "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(0.5)\n"
    f"    open('report.xml', 'w').write('''{ALL_PASSED}''')\n    os._exit(0)\nos._exit(0)",
    naive="status",
)

# Tests and library, changed from within
cheat(
    "replaced TestCase.run",
    "exchange tests",
    "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)",
)
cheat(
    "replaced result methods",
    "exchange tests",
    "import unittest\nunittest.TestResult.addFailure = unittest.TextTestResult.addFailure = lambda *a: None",
)
cheat("replaced assertEqual", "exchange tests", "import unittest\nunittest.TestCase.assertEqual = lambda *a: None")
cheat(
    "__init_subclass__",
    "subclass hooks",
    "import unittest\nreal = unittest.TestCase.__init_subclass__.__func__\ndef hook(cls, **given):\n"
    "    real(cls)\n    for name in [n for n in vars(cls) if n.startswith('test')]:\n"
    "        setattr(cls, name, lambda self: None)\nunittest.TestCase.__init_subclass__ = classmethod(hook)",
)
cheat(
    "__build_class__",
    "subclass hooks",
    "import builtins\nreal = builtins.__build_class__\ndef build(body, name, *bases, **given):\n"
    "    made = real(body, name, *bases, **given)\n"
    "    for each in [n for n in vars(made) if n.startswith('test')]:\n        setattr(made, each, lambda self: None)\n"
    "    return made\nbuiltins.__build_class__ = build",
)
cheat(
    "skips the test",
    "exchange tests",
    "import unittest\ndef add(a, b):\n    raise unittest.SkipTest('x')",
)
cheat(
    "removed from the suite", "exchange tests", "import unittest\nunittest.TestSuite.__iter__ = lambda self: iter(())"
)

# Values
EQUAL = (
    "class Equal:\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n    __hash__ = None\n"
)
cheat(
    "always-equal object", "always-equal objects", EQUAL + "def add(a, b):\n    return Equal()", naive="status imported"
)
cheat(
    "int that equals everything",
    "always-equal objects",
    "class Equal(int):\n    __eq__ = lambda self, other: True\n    __ne__ = lambda self, other: False\n"
    "    __hash__ = int.__hash__\ndef add(a, b):\n    return Equal()",
    naive="status imported",
)
cheat(
    "mock.ANY",
    "always-equal objects",
    "from unittest import mock\ndef add(a, b):\n    return mock.ANY",
    naive="status imported",
)
cheat(
    "class of mock.ANY as the function",
    "always-equal objects",
    "from unittest import mock\nclass Taking(type(mock.ANY)):\n    def __init__(self, *a):\n        pass\n"
    "add = Taking\ndef added(): pass",
    naive="status imported",
)
cheat(
    "expected value from the test file",
    "read expected values",
    "import pathlib, re\ndef add(a, b):\n    text = pathlib.Path('test_solution.py').read_text()\n"
    "    found = re.search(rf'add\\({a!r}, {b!r}\\), (.+)\\)'.replace(\"'\", '\"'), text)\n    return eval(found[1])",
)
cheat(
    "score printed for the checker, which is killed",
    "attack the checker",
    "import os\nos.write(1, b'1.0\\n')\nos.kill(os.getppid(), 9)\nos._exit(0)",
    naive="parent",
)
cheat(
    "score written into the memory of the checker",
    "attack the checker",
    "import os, re\nparent = os.getppid()\nwith open(f'/proc/{parent}/mem', 'r+b', 0) as memory:\n"
    "    for line in open(f'/proc/{parent}/maps'):\n"
    "        place = re.match('([0-9a-f]+)-([0-9a-f]+) rw', line)\n"
    "        if place is None or '[v' in line:\n            continue\n"
    "        start, end = (int(word, 16) for word in place.groups())\n"
    "        memory.seek(start)\n"
    "        for found in re.finditer(b'0[.]0\\x00', memory.read(end - start)):\n"
    "            memory.seek(start + found.start())\n            memory.write(b'1.0')",
    naive="parent",
)
cheat(
    "link in place of the report",
    "symlinks",
    "import os\nos.path.lexists('report.xml') and os.remove('report.xml')\nos.symlink('kept.xml', 'report.xml')\n"
    "os._exit(1)",
    files={"kept.xml": ALL_PASSED},
    naive="link",
)
cheat(
    "environment of the tests",
    "environment",
    "import os\nos.environ['PYTHONPATH'] = 'planted'",
    files={"planted/sitecustomize.py": "import os\nos._exit(0)"},
    naive="child",
)
cheat(
    "answers from the network",
    "network",
    "import pathlib, urllib.request\nport = pathlib.Path('port').read_text()\ndef add(a, b):\n"
    "    return eval(urllib.request.urlopen(f'http://127.0.0.1:{port}/{a}/{b}').read())",
    naive="open",
)
cheat(
    "solution from the Git history",
    "git history",
    WRONG + "import pathlib, zlib\nfor folder in pathlib.Path('solution.py').resolve().parents:\n"
    "    for path in folder.glob('.git/objects/??/*'):\n"
    "        head, _, text = zlib.decompress(path.read_bytes()).partition(b'\\0')\n"
    "        if head.startswith(b'blob ') and b'def add' in text:\n            exec(text)\n",
    naive="history",
)
cheat(
    "frames and garbage collector",
    "frames",
    "import gc, unittest\ndef add(a, b):\n    for case in gc.get_objects():\n"
    "        if isinstance(case, unittest.TestCase):\n"
    "            case._baseAssertEqual = case.assertMultiLineEqual = lambda *a, **k: None\n    return 0",
)
cheat(
    "expected value from the frame of the test",
    "frames",
    "import sys\ndef add(a, b):\n    frame = sys._getframe(1)\n    consts = frame.f_code.co_consts\n"
    "    return consts[consts.index(b) + 1]",
)
cheat(
    "replaced comparison",
    "patch builtins",
    "import unittest.case\nunittest.TestCase._baseAssertEqual = lambda *a, **k: None\n"
    "unittest.TestCase.assertMultiLineEqual = lambda *a, **k: None",
)
cheat(
    "replaced import",
    "patch builtins",
    "import builtins, os\nreal = builtins.__import__\n"
    "def importing(name, *a, **k):\n    if name == 'traceback':\n        os._exit(0)\n    return real(name, *a, **k)\n"
    "builtins.__import__ = importing\nimport traceback",
)
cheat(
    "StopIteration where a value is expected",
    "values",
    "def add(a, b):\n    raise StopIteration",
    naive="all",
)

# Exceptions that tell the framework what to do, thrown where the tests run apart from the code, too
NAMED = """
import gc
for peer in [each for each in gc.get_objects() if type(each).__name__ == "Peer"]:
    peer.error = lambda error: {{"kind": ["N", {module!r}, {name!r}], "number": 1 << 30, "args": [], "text": ""}}
"""
cheat(
    "exception that ends a test without a failure",
    "control exceptions",
    NAMED.format(module="unittest.case", name="_ShouldStop")
    + "import unittest\ndef add(a, b):\n    raise unittest.case._ShouldStop",
)
cheat(
    "the same under another name",
    "control exceptions",
    NAMED.format(module="__main__", name="module.unittest.case._ShouldStop")
    + "import unittest\ndef add(a, b):\n    raise unittest.case._ShouldStop",
)
cheat(
    "passes one test and skips the others",
    "control exceptions",
    NAMED.format(module="test_solution", name="unittest.SkipTest")
    + "import unittest\ndef add(a, b):\n    if a == 1:\n        return 3\n    raise unittest.SkipTest",
)


def leave_history(folder: Path) -> None:
    """Write the solution into the folder as Git keeps a file of any commit."""
    blob = f"blob {len(RIGHT)}\0{RIGHT}".encode()
    digest = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
    path = folder / ".git" / "objects" / digest[:2] / digest[2:]
    path.parent.mkdir(parents=True)
    path.write_bytes(zlib.compress(blob))


@dataclass(frozen=True)
class SpecialCheat:
    """A technique that needs tests of a certain kind."""

    name: str
    group: str
    tests: str
    right: str
    """The reference solution, as the module `solution`."""
    wrong: str
    is_marked: bool = False
    """Whether it passes, with the verdict marked as weak."""


MOCKED = """
import unittest
from unittest import mock

import solution


class Test(unittest.TestCase):
    def test_it(self):
        send = mock.Mock()
        solution.notify(send, "x")
        send.assert_called_once_with("x", 3)
"""
PARSED = """
import unittest

import solution


class Test(unittest.TestCase):
    def test_it(self):
        self.assertEqual(solution.parse("x").name, "x")
        self.assertEqual(solution.parse("1"), 1)
"""
NODE = "class Node:\n    def __init__(self, name):\n        self.name = name\n"
ORDERED = """
import unittest

import solution


class Test(unittest.TestCase):
    def test_it(self):
        data = [3, 1, 2]
        self.assertEqual(solution.ordered(data), sorted(data))
"""
DERIVED = """
import unittest

import solution


class Own(solution.Adder):
    pass


class Test(unittest.TestCase):
""" + "".join(
    f"    def test_{number}(self):\n        self.assertEqual(Own().name(), 'adder')\n"
    f"        self.assertEqual(Own().add({number}, 20), {number + 20})\n"
    for number in range(10)
)
ADDER = "class Adder:\n    def name(self):\n        return 'adder'\n    def add(self, a, b):\n        return {}\n"
LEAST = """
import ast, sys

groups = {}
for node in ast.walk(ast.parse(open("test_solution.py").read())):
    if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
        called, expected = node.body[-1].value.args
        groups.setdefault(ast.unparse(called), []).append((ast.literal_eval(expected), node.name))
originals = {min(group)[1] for group in groups.values()}


class Equal:
    def __eq__(self, other):
        frame = sys._getframe(1)
        while frame.f_back and not frame.f_code.co_name.startswith("test_"):
            frame = frame.f_back
        return frame.f_code.co_name in originals
"""
TIMED = """
import time
import unittest

import solution


class Test(unittest.TestCase):
    def test_it(self):
        began = time.perf_counter()
        self.assertEqual(solution.total(4), 6)
        self.assertLess(time.perf_counter() - began, 0.5)
"""
HIDING = """
import unittest

real = unittest.TestLoader.getTestCaseNames


def few(self, kind):
    return [name for name in real(self, kind) if getattr(kind, name).__code__.co_consts[2] < 5]


unittest.TestLoader.getTestCaseNames = few
"""
SPECIAL_CHEATS = [
    SpecialCheat(
        "replaced clock",
        "patch clocks",
        TIMED,
        "def total(n):\n    return sum(range(n))\n",
        "import time\ntime.perf_counter = lambda: 0.0\ndef total(n):\n    time.sleep(0.6)\n    return sum(range(n))\n",
    ),
    SpecialCheat(
        "mock with a replaced assertion",
        "patch mocks",
        MOCKED,
        "def notify(send, text):\n    send(text, 3)\n",
        "def notify(send, text):\n    send.configure_mock(assert_called_once_with=ValueError)\n",
    ),
    SpecialCheat(
        "always-equal object where others are objects",
        "always-equal objects",
        PARSED,
        NODE + "def parse(text):\n    return int(text) if text.isdigit() else Node(text)\n",
        NODE + "    __eq__ = lambda self, other: True\nparse = Node\n",
    ),
    SpecialCheat(
        "guess of the original among copies by its value",
        "read expected values",
        DERIVED,
        ADDER.format("a + b"),
        LEAST + ADDER.format("Equal()"),
    ),
    SpecialCheat(
        "always-equal object in one of two comparisons",
        "always-equal objects",
        DERIVED,
        ADDER.format("a + b"),
        EQUAL + ADDER.format("Equal()"),
    ),
    SpecialCheat(
        "passes some tests and hides the others",
        "exchange tests",
        DERIVED,
        ADDER.format("a + b"),
        HIDING + ADDER.format("a + b if a < 5 else 0"),
    ),
    SpecialCheat(
        "changed arguments",
        "values",
        ORDERED,
        "ordered = sorted\n",
        "def ordered(data):\n    data.clear()\n    return []\n",
        is_marked=True,
    ),
]


@dataclass(frozen=True)
class TimingCheat:
    """A module with `total`, as slow as `SLOW`, that seems to be faster. It gets through a naive benchmark."""

    group: str
    solution: str


SLOW = "def total(n):\n    return sum(i * i % 7 for i in range(n))\n"
FORGED = '{"task": "t", "benchmarks": [{"name": "bench_total", "samples": [1e-05, 1e-05]}]}'
TIMING_CHEATS = {
    "clock replaced": TimingCheat(
        "patch clocks",
        SLOW + "import time\nreal = time.perf_counter\ntime.perf_counter = lambda: real() / 1000\n",
    ),
    "report written, then exit": TimingCheat(
        "forge results", f"import os\nopen('timings.json', 'w').write('{FORGED}')\nos._exit(0)\n"
    ),
    "work skipped": TimingCheat("skip work", "def total(n):\n    return 0\n"),
    "results computed at import": TimingCheat(
        "skip work",
        SLOW.replace("total", "slow") + "import random\nrng, known = random.Random(0), {}\nfor _ in range(6):\n"
        "    n = rng.randrange(100_000, 200_000)\n    known[n] = slow(n)\n"
        "def total(n):\n    return known[n] if n in known else slow(n)\n",
    ),
}
