"""Runs unittest cases on code that is not trusted, and reports what came of them.

Run in the sandbox by an isolated interpreter; of ours it has only unittest_observer, which is handed to it. Tests and
the code under test share a process, so that code could change anything in it. The bar is raised: a second process that
never runs that code hears of each step as it happens, judges, and believes only words that a key attests which the
first cannot read back; the task's modules are compiled before the code under test can touch their files; whether a test
raised is seen here and not by the library; and the library, the tests and their state are compared with what they were.
docs/arena.md describes the remaining risks.
"""

# ruff: noqa: N802, N815 - methods of results have the names and the meaning that unittest gives them
from __future__ import annotations

import contextlib
import ctypes
import fnmatch
import gc
import hmac
import importlib.util
import json
import os
import secrets
import select
import stat
import sys
import traceback
import unittest
from collections.abc import Callable, Iterator
from hashlib import blake2b, file_digest
from typing import Any

from steelyard.grading._unittest_observer import CASES, Task, Watched, library

PROGRAM = "steelyard_tests"
"""The name under which this is run: outside of sys.modules, where the code under test would look first."""
OBSERVER = Watched.__module__
PR_SET_DUMPABLE = 4
KEY_BYTES = SEAL_BYTES = 64
MAX_BYTES = 64 * 1024 * 1024
LOOK_SECONDS = 0.05
OUTCOME = frozenset(vars(library._Outcome()))
HEAR = ctypes.PYFUNCTYPE(None, ctypes.py_object)
Send = Callable[[str], None]


class Outcomes:
    """Test result object that reports each step to the other process."""

    shouldStop = failfast = buffer = tb_locals = False
    # Slots, so that nothing can be put before the methods; the names in camel case are the library's.
    __slots__ = ("_moduleSetUpFailed", "_previousTestClass", "_testRunEntered", "has_started", "send", "watched")

    def __init__(self, watched: Watched, send: Send) -> None:
        self.watched = watched
        self.send = send
        self.has_started = False

    def startTest(self, test: unittest.TestCase) -> None:
        self.has_started = True
        place = self.watched.place_of(test)
        if place is not None and self.watched.is_touched(place):
            self.send("changed")
        self.send("changed" if place is None else f"start {place}")

    def stopTest(self, test: unittest.TestCase) -> None:
        if self.watched.is_changed(after=self.watched.place_of(test)) or self.watched.is_meddled(test):
            self.send("changed")
        self.send("stop")
        self.has_started = False

    def addSuccess(self, test: Any) -> None:  # Any: what is private in it
        outcome = test._outcome
        if type(outcome) is not library._Outcome or vars(outcome).keys() != OUTCOME or outcome.result is not self:
            self.send("changed")
        self.send("passed")

    def addExpectedFailure(self, _test: object, _error: object) -> None:
        self.send("expected")

    def addDuration(self, _test: object, _seconds: float) -> None:
        pass

    def addSubTest(self, _test: object, _subtest: object, error: Any) -> None:  # Any: the library's own
        if error is not None:
            self._fail(_test, error)

    def addSkip(self, test: object, _reason: str) -> None:
        is_honest = self.watched.task.is_honest_skip(sys.exc_info()[2])
        if isinstance(test, unittest.TestCase):
            if not self.has_started:  # Python 3.12.1 does not start what a decorator skips
                self.startTest(test)
            self.send("skipped" if is_honest else "failed")
        else:
            if not is_honest:
                self.send("bad")
            places = self.watched.places_in(str(test))
            for place in places:  # a class or module whose tests do not start
                self.send(f"away {place}")
            if places and self.watched.is_touched(places[-1] + 1):
                self.send("changed")

    def addUnexpectedSuccess(self, _test: object) -> None:
        self.send("failed")

    def _fail(self, test: object, error: Any) -> None:  # Any: the library's own
        self.send("failed" if isinstance(test, unittest.TestCase) else "bad")
        traceback.print_exception(*error)

    addError = addFailure = _fail


def make_sender(drain: int, hear: Callable[[bytes], None]) -> Send:
    """Return a function that sends a word to the other process and attests it. Words cannot be withdrawn."""
    write, me, whose = os.write, os.getpid(), os.getpid

    def send(word: str) -> None:
        if whose() == me:  # a test may fork, and its child come out here
            line = f"{word}\n".encode()
            hear(line)
            with contextlib.suppress(OSError):  # if a test closed it, the words received differ from those attested
                write(drain, line)

    return send


def report_raised(outcomes: Outcomes, send: Send) -> None:
    """Report that a part of a test raised, before other code can see it, and that its method returned."""
    settrace, setprofile, outcome = sys.settrace, sys.setprofile, library._Outcome
    executor = outcome.testPartExecutor

    @contextlib.contextmanager
    def part(self: Any, *what: Any, **how: Any) -> Iterator[None]:  # Any: the library's own
        is_ours = self.result is outcomes  # a test may run tests of its own
        with executor(self, *what, **how):
            try:
                yield
            except BaseException:
                settrace(None)
                setprofile(None)
                if is_ours:
                    send("raised")
                raise

    def reported(call: Callable[..., None]) -> Callable[..., None]:
        def method(self: Any, *given: Any) -> None:  # Any: the library's own
            is_ours = self._outcome.result is outcomes
            call(self, *given)
            if is_ours:
                send("returned")

        return method

    outcome.testPartExecutor = part
    for kind in CASES:
        kind._callTestMethod = reported(vars(kind)["_callTestMethod"])


def load(task: Task, send: Send) -> unittest.TestSuite:
    """The cases in the task's files."""
    modules = []
    for name in task.tests:
        module = importlib.util.module_from_spec(task.find_spec(name))  # type: ignore[arg-type]  # it is the task's
        sys.modules[name] = module
        try:
            task.exec_module(module)
            modules.append(module)
        except BaseException as error:  # noqa: BLE001 - a module that ends the program has failed like any other
            if not isinstance(error, unittest.SkipTest) or not task.is_honest_skip(error.__traceback__):
                traceback.print_exc()
                send("bad")
    # Made only now: no code under test was there to change them.
    suite, loader = unittest.TestSuite(), unittest.TestLoader()
    loader.testMethodPrefix, loader.testNamePatterns = "test", None
    for module in modules:
        if not task.wrote(vars(module).get("load_tests", load)) and "load_tests" in vars(module):
            send("changed")
        try:
            suite.addTests(loader.loadTestsFromModule(module))
        except BaseException:  # noqa: BLE001 - as above
            traceback.print_exc()
            send("bad")
    return suite


def cases(suite: Any) -> Iterator[unittest.TestCase]:  # Any: suites hold suites and cases
    """The single tests."""
    for test in suite:
        if isinstance(test, unittest.TestCase):
            yield test
        else:
            yield from cases(test)


def run_tests(own: list[str], send: Send) -> tuple[()]:
    """Run the task's tests, or without any whatever tests there are."""
    task = Task(own)
    outcomes = Outcomes.__new__(Outcomes)
    report_raised(outcomes, send)
    watched = Watched(task, globals())
    Outcomes.__init__(outcomes, watched, send)
    is_changed, me = watched.is_changed, os.getpid()
    sys.path.insert(0, os.getcwd())
    sys.meta_path.insert(-1, task)
    suite = load(task, send) if own else unittest.TestLoader().discover(".")
    single = tuple(cases(suite))
    watched.add_tests(single, suite)
    send(f"tests {len(single)}")
    if is_changed():
        send("changed")
    attributes = tuple(vars(watched).items())
    suite.run(outcomes)  # type: ignore[arg-type]  # it has what the library asks of a result
    with contextlib.suppress(BaseException):  # whatever they were replaced with
        sys.stdout.flush()
        sys.stderr.flush()
    if os.getpid() != me:  # a test forked, and its child went on with the other tests
        os._exit(1)
    is_same = outcomes.send is send and outcomes.watched is watched and len(vars(watched)) == len(attributes)
    if (
        is_changed(at_end=True)
        or not is_same
        or any(vars(watched).get(name) is not value for name, value in attributes)
    ):
        send("changed")
    send("end")
    return ()


def attested(secret: list[bytes], ear: list[Callable[[bytes], None]]) -> Callable[[], bytes]:
    """What gives the keyed digest of all that was put into the ear.

    Only C holds the digest: the ear knows an address, and the garbage collector, which lists objects for any
    caller, tracks none of it. So words cannot be taken back, and neither frames nor the collector lead to what attests.
    """
    digest = blake2b(key=secret.pop())
    update, asked = HEAR(digest.update), digest.digest
    ear.append(HEAR(ctypes.cast(update, ctypes.c_void_p).value))  # type: ignore[arg-type]  # an address will do
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(update))
    for hidden in (asked, update, *gc.get_referents(update)):
        if not isinstance(hidden, type):
            ctypes.pythonapi.PyObject_GC_UnTrack(ctypes.py_object(hidden))
    return asked


def heard_from(source: int, child: int) -> bytes:
    """Return the output of the child until it ended, without waiting for other holders of the pipe."""
    heard = bytearray()
    while len(heard) < MAX_BYTES:
        has_ended = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if select.select([source], [], [], 0 if has_ended else LOOK_SECONDS)[0]:
            piece = os.read(source, 65536)
            if not piece:
                break
            heard += piece
        elif has_ended:
            break
    return bytes(heard)


def judged(words: list[str]) -> dict[str, int] | None:
    """Return the counts of all tests; None unless the words are those of tests that ran to the end.

    Words out of order come from other code, which counts as a change too.
    """
    counts = dict.fromkeys(("ran", "bad", "changed"), 0)
    totals = [word for word in words if word.startswith("tests ")]
    if words[-1:] != ["end"] or words.count("end") != 1 or len(totals) != 1:
        return None
    awaited = set(map(str, range(int(totals[0].removeprefix("tests ")))))
    test: list[str] | None = None
    for word, _, place in (text.partition(" ") for text in words):
        if place in awaited and word in ("start", "away") and test is None:
            awaited.remove(place)
            test = [] if word == "start" else None
        elif word in ("bad", "changed"):
            counts[word] += 1
        elif word == "stop" and test is not None:
            is_skipped = set(test) - {"raised", "returned"} == {"skipped"}
            is_expected = set(test) == {"raised", "expected"} and test.count("expected") == 1
            counts["ran"] += not is_skipped
            counts["bad"] += not (is_skipped or is_expected or test == ["returned", "passed"])
            test = None
        elif word in ("raised", "returned", "passed", "expected", "skipped", "failed") and test is not None:
            test.append(word)
        elif word not in ("tests", "end") or test is not None:
            counts["changed"] += 1
    counts["bad"] += len(awaited)
    return counts


def sealed(record: bytes, key: str) -> bytes:
    """The seal of a record: a process that outlives the tests may find it and write another, but not seal it."""
    return blake2b(record, key=key.encode()).hexdigest().encode()


def contents(own: list[str]) -> dict[str, bytes]:
    """Digests of the task's files, save those of tests, which are run from memory."""
    digests = {}
    for place in own:
        if not fnmatch.fnmatch(os.path.basename(place), "test*.py"):
            # Not blocking, since a test may have put a pipe or a device there.
            with contextlib.suppress(OSError), open(os.open(place, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    digests[place] = file_digest(file, "sha256").digest()
    return digests


def main() -> None:
    """Run the tests in a child, and write the counts if it reports to the end."""
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0)  # else the child could read the key in our memory
    sys.modules.pop(OBSERVER)
    with open(sys.argv[3], "rb") as file:
        own: list[str] = json.load(file)
    given = contents(own)
    secret, ear = [secrets.token_bytes(KEY_BYTES)], list[Callable[[bytes], None]]()
    source, drain = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(source)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what comes there is for the parent
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)
        # One expression: what is not a name, no frame shows. No code of others runs after the tests, not even at exit.
        os._exit(os.write(drain, attested(secret, ear)(*run_tests(own, make_sender(drain, ear[0])))) - SEAL_BYTES)
    os.close(drain)
    seal_key, place = sys.stdin.read().split()
    output = heard_from(source, child)
    if len(output) < MAX_BYTES and os.waitpid(child, 0)[1] == 0:
        words, seal = output[:-SEAL_BYTES], output[-SEAL_BYTES:]
        if hmac.compare_digest(blake2b(words, key=secret[0]).digest(), seal):
            counts = judged(words.decode().splitlines())
            if counts is not None:
                counts["changed"] += contents(own) != given
                record = json.dumps(counts).encode()
                with open(place, "wb") as file:
                    file.write(sealed(record, seal_key) + b"\n" + record)


if __name__ == PROGRAM:
    main()
