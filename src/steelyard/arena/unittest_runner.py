"""Runs unittest cases on code that is not trusted, and reports what came of them.

Run in the sandbox by an isolated interpreter; it imports nothing of ours. Tests and the code under test share a
process, so that code could change anything in it. The bar is raised: a second process, which never runs that code,
holds the secret that the record must name; the task's tests are compiled before the code under test can touch their
files; outcomes are counted here and not by the library; and the library and the tests are compared with what they were.
What remains possible stands in docs/arena.md.
"""

# ruff: noqa: D102, N802, N815 - methods of results have the names and the meaning that unittest gives them
from __future__ import annotations

import atexit
import builtins
import ctypes
import fnmatch
import importlib.util
import json
import os
import secrets
import sys
import traceback
import unittest
import unittest.async_case
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import Any, NamedTuple

PROGRAM = "steelyard_tests"
"""The name under which this is run: outside of sys.modules, where the code under test would look first."""
PR_SET_DUMPABLE = 4
MOST_BYTES = 4096
LIBRARY = ("unittest", *(f"unittest.{name}" for name in ("async_case", "case", "loader", "result", "suite", "util")))
OFTEN_REPLACED = frozenset({"__import__", "_", "input", "open", "print"})
"""Builtins that honest programs replace."""
ACCESSORS = (classmethod, staticmethod, property)


class Seen(NamedTuple):
    """A function, class or accessor as it was when it was looked at."""

    value: object
    parts: tuple[object, ...]
    marks: tuple[str, ...]
    """Names set on a function, such as the one by which it is expected to fail."""

    def is_same(self, other: Seen) -> bool:
        """Whether nothing was replaced; by identity, since whatever was put there may say that it is equal."""
        parts = zip((self.value, *self.parts), (other.value, *other.parts), strict=True)
        return all(a is b for a, b in parts) and self.marks == other.marks


def see(value: object) -> Seen:
    """The value with what could be changed inside of it."""
    function = getattr(value, "__func__", value)
    if isinstance(function, FunctionType):
        return Seen(value, (function.__code__, function.__defaults__, function.__kwdefaults__), tuple(vars(function)))
    return Seen(value, (value.__bases__,) if isinstance(value, type) else (None,), ())


class Watched:
    """Modules and classes, compared with what they held when they were added."""

    def __init__(self) -> None:
        self._held: list[tuple[Any, dict[str, Seen], frozenset[str]]] = []  # Any: a module or class
        self._modules: dict[str, ModuleType] = {}

    def add_library(self) -> None:
        """Watch the test library, which the code under test has not met yet."""
        for name in LIBRARY:
            module = self._modules[name] = sys.modules[name]
            self.add(module)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == name:
                    self.add(value)

    def add(self, owner: Any, *, only_functions: bool = False) -> None:  # Any: as above
        """Watch what can be called in it; settings, such as the length of messages, are its user's business."""
        kinds = (FunctionType, *ACCESSORS)
        held = {name: see(value) for name, value in vars(owner).items() if isinstance(value, kinds) or callable(value)}
        if only_functions:
            held = {name: one for name, one in held.items() if isinstance(one.value, kinds)}
        self._held.append((owner, held, frozenset(vars(owner))))

    def is_changed(self) -> bool:
        """Whether anything is not what it was, or was put where the library comes upon it by itself."""
        if any(sys.modules.get(name) is not module for name, module in self._modules.items()):
            return True
        for owner, held, names in self._held:
            found = vars(owner)
            if any(name not in found or not one.is_same(see(found[name])) for name, one in held.items()):
                return True
            found_by_itself = vars(builtins) if isinstance(owner, ModuleType) else ("__getattribute__", "__getattr__")
            if any(name in found_by_itself for name in found.keys() - names):
                return True
        return False


class Outcomes:
    """What becomes of each test, as the library tells its own results. One bad word about a test stays."""

    shouldStop = failfast = buffer = tb_locals = False
    # Slots, so that nothing can be put before the methods; the names in camel case are the library's.
    __slots__ = (
        "_moduleSetUpFailed",
        "_own",
        "_previousTestClass",
        "_said",
        "_testRunEntered",
        "_watched",
        "bad",
        "groups_skipped",
        "is_changed",
        "is_complete",
        "passed",
        "skipped",
        "started",
    )

    def __init__(self, watched: Watched, own: frozenset[str]) -> None:
        self.started = self.passed = self.skipped = self.bad = self.groups_skipped = 0
        self.is_changed = False
        self.is_complete = False
        self._watched = watched
        self._own = own
        self._said: set[str] = set()

    def look(self) -> None:
        """Notice what was changed."""
        self.is_changed = self.is_changed or self._watched.is_changed()

    def startTest(self, _test: object) -> None:
        self.started += 1
        self._said = set()

    def stopTest(self, _test: object) -> None:
        if self._said == {"passed"}:
            self.passed += 1
        elif self._said == {"skipped"}:
            self.skipped += 1
        else:
            self.bad += 1
        self.look()

    def addSuccess(self, _test: object) -> None:
        self._said.add("passed")

    def addExpectedFailure(self, _test: object, _error: object) -> None:
        self._said.add("passed")

    def addDuration(self, _test: object, _seconds: float) -> None:
        pass

    def addSubTest(self, _test: object, _subtest: object, error: Any) -> None:  # Any: the library's own
        if error is not None:
            self._fail(_test, error)

    def addSkip(self, test: object, _reason: str) -> None:
        is_honest = self.is_honest_skip(sys.exc_info()[2])
        if isinstance(test, unittest.TestCase):
            self._said.add("skipped" if is_honest else "failed")
        elif is_honest:
            self.groups_skipped += 1  # a class or module whose tests do not start
        else:
            self.bad += 1

    def addUnexpectedSuccess(self, _test: object) -> None:
        self._said.add("failed")

    def _fail(self, test: object, error: Any) -> None:  # Any: the library's own
        if isinstance(test, unittest.TestCase):
            self._said.add("failed")
        else:
            self.bad += 1
        traceback.print_exception(*error)

    addError = addFailure = _fail

    def is_honest_skip(self, trace: TracebackType | None) -> bool:
        """Whether nobody but the task's tests asked for it: code under test that does has failed."""
        if not self._own:
            return True
        standard = os.path.dirname(os.__file__) + os.sep
        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace)]
        return all(name in self._own or name.startswith(standard) or name == __file__ for name in files)


class Test(NamedTuple):
    """A file of the task's tests, read before anything else could write to it."""

    name: str
    path: str
    code: CodeType | None


def read_tests(own: list[str]) -> list[Test]:
    """The task's files that hold tests."""
    found = []
    for place in own:
        path = os.path.abspath(place)
        if fnmatch.fnmatch(os.path.basename(path), "test*.py"):
            with open(path, "rb") as file:
                content = file.read()
            try:
                code = compile(content, path, "exec", dont_inherit=True)
            except (SyntaxError, ValueError):
                traceback.print_exc()
                code = None
            found.append(Test(place.removesuffix(".py").replace("/", "."), path, code))
    return found


def load(tests: list[Test], outcomes: Outcomes) -> unittest.TestSuite:
    """The cases in the task's files."""
    suite, loader = unittest.TestSuite(), unittest.TestLoader()
    for one in tests:
        spec = ModuleSpec(one.name, None, origin=one.path)
        spec.has_location = True
        module = importlib.util.module_from_spec(spec)
        sys.modules[one.name] = module
        try:
            if one.code is None:
                raise SyntaxError(one.path)
            exec(one.code, module.__dict__)  # noqa: S102 - the task's own tests
            suite.addTests(loader.loadTestsFromModule(module))
        except unittest.SkipTest as error:
            outcomes.bad += not outcomes.is_honest_skip(error.__traceback__)
        except BaseException:  # noqa: BLE001 - a module that ends the program has failed like any other
            traceback.print_exc()
            outcomes.bad += 1
    return suite


def cases(suite: Any) -> Iterator[unittest.TestCase]:  # Any: suites hold suites and cases
    """The single tests."""
    for one in suite:
        if isinstance(one, unittest.TestCase):
            yield one
        else:
            yield from cases(one)


def run_tests(own: list[str], watched: Watched, outcomes: Outcomes) -> None:
    """Run the task's tests, or without any whatever tests there are."""
    tests = read_tests(own)
    sys.path.insert(0, os.getcwd())
    suite = load(tests, outcomes) if own else unittest.TestLoader().discover(".")
    outcomes.look()
    single = list(cases(suite))
    if own:
        for kind in {type(one) for one in single}:
            watched.add(kind, only_functions=True)
    suite.run(outcomes)  # type: ignore[arg-type]  # it has what the library asks of a result
    if outcomes.started < len(single) and not outcomes.groups_skipped:
        outcomes.bad += len(single) - outcomes.started
    outcomes.is_complete = True


def begin(outcomes: Outcomes) -> tuple[int, bytes] | None:
    """Fork. In the parent: where the child's word will come from, and how it begins; None in the child.

    In the child the secret is in no frame that the code under test could walk up to, only with what is done at exit.
    """
    secret = secrets.token_bytes(16)
    source, drain = os.pipe()
    if os.fork():
        os.close(drain)
        return source, secret
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what comes there is for the parent
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)
    os.close(source)
    write, encode, present = os.write, json.dumps, vars(builtins)
    before = {name: value for name, value in present.items() if name not in OFTEN_REPLACED}

    def report() -> None:
        is_changed = any(present.get(name) is not value for name, value in before.items())
        outcomes.look()
        counts = {"ran": outcomes.started - outcomes.skipped, "bad": outcomes.bad}
        if outcomes.is_complete:
            write(drain, secret + encode({**counts, "changed": int(is_changed or outcomes.is_changed)}).encode())

    atexit.register(report)
    return None


def main() -> None:
    """Run the tests in a child, and write down what it says if it says it to the end."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)  # else the child could read the secret in our memory
    with open(sys.argv[2], "rb") as file:
        own: list[str] = json.load(file)
    watched = Watched()
    watched.add_library()
    watched.add(Outcomes)
    watched.add(Watched)
    outcomes = Outcomes(watched, frozenset(os.path.abspath(name) for name in own))
    heard = begin(outcomes)
    if heard is None:
        run_tests(own, watched, outcomes)
        return
    nonce, place = sys.stdin.read().split()
    source, secret = heard
    os.wait()
    os.set_blocking(source, False)
    try:
        said = os.read(source, MOST_BYTES)
    except BlockingIOError:  # somebody else holds the other end, and it is empty
        return
    if said.startswith(secret):
        with open(place, "w") as record:
            json.dump({"nonce": nonce, **json.loads(said[len(secret) :])}, record)


if __name__ == PROGRAM:
    main()
