"""The process that runs a task's tests, while the candidate's code runs in another one.

Modules of the candidate are proxies: what a test calls runs there, and only data comes back. The candidate can neither
read the tests nor change them, this process or the results.
"""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import sys
import threading
import types
import unittest
import zlib
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from steelyard.grading._candidate_process import (
    OPERATORS,
    STANDARD,
    InstalledPackages,
    named_object,
    source_folders,
    standard_name,
)
from steelyard.grading._wire import MAX_LINE_BYTES, Table, Wire, WireError

READABLE_NAMES = frozenset(
    ("__name__", "__doc__", "__qualname__", "__annotations__", "__version__", "__all__", "__author__", "__members__")
)
"""Names with two underscores that a test may ask of a candidate's object."""
SHARED_TYPES = (types.FunctionType, types.MethodType, types.ModuleType, type, types.FrameType, types.CodeType)
"""What the candidate may call, if a test passes it, and never look into."""
COMPARISONS = frozenset(("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"))
ENDS_ITERATION = (StopIteration, StopAsyncIteration)
MAX_PATH = 300
FRAMEWORKS = frozenset({"unittest", "doctest", "bdb", "pdb", "pytest", "_pytest"})
"""Modules whose exceptions and methods control tests."""


class CandidateExitError(BaseException):
    """The candidate's process has ended. Not an Exception, which a test could expect."""


class BoundaryError(Exception):
    """The test needs something that cannot leave its process."""


class Proxy:
    """An object in the candidate's process."""

    __slots__ = ("__weakref__", "_number", "_path", "_peer")
    _number: int
    _path: str
    _peer: Peer

    def __getattr__(self, name: str) -> Any:  # Any: whatever the candidate has there
        return attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._peer.do("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._peer.do("del", self, name)

    def __copy__(self) -> Any:
        return self._peer.do("copy", self, 0)

    def __deepcopy__(self, _memo: object) -> Any:
        return self._peer.do("copy", self, 1)

    def __str__(self) -> str:
        return str(self._peer.do("op", self, "__str__", []))

    def __repr__(self) -> str:
        return str(self._peer.do("op", self, "__repr__", []))


def attribute(proxy: Any, name: str) -> Any:
    """The attribute of a candidate's object or class."""
    if name.startswith("__") and name not in READABLE_NAMES:
        raise AttributeError(name)
    return proxy._peer.do("get", proxy, name)


class ProxyKind(type):
    """A class in the candidate's process, so that isinstance and except work."""

    _kind: tuple[int, str, Peer] | None = None
    """Number, path and connection; its instances have their own."""
    _number = property(lambda cls: cls._kind[0])
    _path = property(lambda cls: cls._kind[1])
    _peer = property(lambda cls: cls._kind[2])

    def __new__(mcs, name: str, bases: tuple[type, ...], names: dict[str, Any], **given: Any) -> ProxyKind:
        if not names.pop("_made_by_peer", False):
            raise BoundaryError(f"a test derives {name} from a class of the candidate")
        return super().__new__(mcs, name, bases, names, **given)

    def __call__(cls, *given: Any, **named: Any) -> Any:
        return cls._peer.do("call", cls, list(given), named)

    def __getattr__(cls, name: str) -> Any:
        return attribute(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if not name.startswith("__"):
            cls._peer.do("set", cls, name, value)

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._operated("__iter__"))

    def __getitem__(cls, key: Any) -> Any:
        return cls._operated("__getitem__", key)

    def __contains__(cls, item: Any) -> bool:
        return bool(cls._operated("__contains__", item))

    def __len__(cls) -> int:
        return int(cls._operated("__len__"))

    def _operated(cls, name: str, *given: Any) -> Any:
        cls._peer.operators += 1
        cls._peer.used(cls._path, name)
        return cls._peer.do("op", cls, name, list(given))

    def __bool__(cls) -> bool:
        return True


def operator(name: str) -> Callable[..., Any]:
    def method(self: Any, *given: Any) -> Any:
        self._peer.operators += 1
        self._peer.used(self._path, name)
        if name in COMPARISONS and not is_object(given[0]):
            self._peer.decided()
        return self._peer.do("op", self, name, list(given))

    method.__name__ = name
    return method


def call(self: Any, *given: Any, **named: Any) -> Any:
    return self._peer.do("call", self, list(given), named)


def leave(self: Any, kind: Any, error: Any, _trace: Any) -> Any:
    return self._peer.do("op", self, "__exit__", [kind, error, None])


class ProxyModule(types.ModuleType):
    """A module of the candidate."""

    def __init__(self, name: str, number: int, peer: Peer) -> None:
        super().__init__(name)
        own = {"_number": number, "_peer": peer, "_path": name}
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._peer.do("names", self)
        return attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, ProxyModule):
            super().__setattr__(name, value)
        else:
            self._peer.do("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        self._peer.do("del", self, name)


class Peer:
    """The connection to the candidate."""

    def __init__(self, source: int, drain: int) -> None:
        self.source, self.drain = open(source, "rb"), drain  # noqa: SIM115 - as long as the process
        self.wire = Wire(self.refer, self.resolve)
        self.lock = threading.RLock()
        self.proxies: dict[int, Any] = {}
        self.kinds: dict[int, Any] = {}
        self.given: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.errors: dict[int, BaseException] = {}
        self.path = ""
        self.owner = os.getpid()
        self.has_died = False
        self.death = ""
        """Why it counts as ended."""
        self.operators = 0
        self.watch: Callable[[str, bool], None] = lambda _path, _is_object: None
        self.decided: Callable[[], None] = lambda: None
        self.used: Callable[[str, str], None] = lambda _path, _operator: None
        self.changed: Callable[[str], None] = lambda _path: None

    def refer(self, value: Any) -> list[Any]:
        kind = type(value)
        if issubclass(kind, Proxy) or isinstance(value, ProxyKind | ProxyModule):
            return ["H", value._number]
        if isinstance(value, BaseException):
            if "_number" in vars(value):
                return ["H", vars(value)["_number"]]
            return ["X", self.told(value)]
        named = standard_name(value)
        if named is not None:
            return ["N", *named]
        if kind in (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType):
            raise BoundaryError(f"an object of type {kind.__name__}")
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.given)
            self.given[number] = value
        return ["G", number]

    def told(self, error: BaseException) -> dict[str, Any]:
        number = len(self.errors)
        self.errors[number] = error
        given = []
        for value in error.args:
            kind = type(value)
            given.append(value if value is None or kind in (bool, int, float, str) else str(value))
        name = next(kind.__name__ for kind in type(error).__mro__ if vars(builtins).get(kind.__name__) is kind)
        return {"kind": name, "args": given, "number": number}

    def resolve(self, packed: list[Any]) -> Any:
        tag, *parts = packed
        if tag == "G":
            return self.given[parts[0]]
        if tag == "N":
            return allowed_class(*parts)
        if tag == "K":
            return self.kind(parts[0])
        if tag == "M":
            return self.module(parts[0], parts[1])
        if tag == "E":
            return self.raised(parts[0])
        if tag != "H":
            raise WireError(f"unknown tag {tag!r}")
        number = int(parts[0])
        if number not in self.proxies:
            kind = self.kind(parts[1])
            made = Proxy.__new__(kind)
            for name, value in (("_number", number), ("_path", self.path), ("_peer", self)):
                object.__setattr__(made, name, value)
            self.proxies[number] = made
        return self.proxies[number]

    def module(self, name: str, number: int) -> Any:
        known = sys.modules.get(name)
        if isinstance(known, ProxyModule):
            return known
        if number not in self.proxies:
            self.proxies[number] = ProxyModule(name, number, self)
        return self.proxies[number]

    def kind(self, told: Any) -> Any:
        if told[0] == "N":
            return allowed_class(*told[1:])
        number = told[0]
        if number not in self.kinds:
            _, name, module, described, operators = told
            bases = [self.kind(base) for base in described]
            self.kinds[number] = self.made_kind(number, str(name), str(module), bases, operators)
        return self.kinds[number]

    def made_kind(self, number: int, name: str, module: str, bases: list[type], operators: list[str]) -> Any:
        names: dict[str, Any] = {"_made_by_peer": True, "__module__": module, "__doc__": None}
        errors = [base for base in bases if issubclass(base, BaseException)]
        if errors:
            parents: tuple[type, ...] = tuple(errors)
            names["__getattr__"] = attribute
        else:
            parents = tuple(base for base in bases if isinstance(base, ProxyKind)) or (Proxy,)
            names["__slots__"] = ()
            special = {"__call__": call, "__exit__": leave}
            for each in OPERATORS.intersection(operators) - {"__str__", "__repr__"}:
                names[each] = special.get(each) or operator(each)
            if "__eq__" in names and "__hash__" not in names:
                names["__hash__"] = None
        try:
            made = ProxyKind(name, parents, names)
        except TypeError:  # bases in an order that only the candidate's own classes have
            made = ProxyKind(name, parents[:1], names | {"_made_by_peer": True})
        path = f"{module}.{name}"
        type.__setattr__(made, "_kind", (number, path, self))
        return made

    def raised(self, told: Any) -> BaseException:
        if "ours" in told:
            return self.errors[told["ours"]]
        number = told["number"]
        if number in self.proxies:
            known: BaseException = self.proxies[number]
            return known
        kind = self.kind(told["kind"])
        given = [self.wire.unpack(value, Table()) for value in told["args"]]
        if not issubclass(kind, BaseException):
            raise WireError("not an exception")
        error: BaseException
        try:
            error = kind.__new__(kind, *given)
            BaseException.__init__(error, *given)
            if isinstance(error, KeyError | OSError | UnicodeError | SyntaxError | ImportError | StopIteration):
                error = kind(*given) if not isinstance(kind, ProxyKind) else error
        except Exception:  # noqa: BLE001 - arguments that it does not take
            error = Exception.__new__(Exception, *given)
        if isinstance(kind, ProxyKind):
            text = str(told["text"])
            error.__dict__.update(_number=number, _path=self.path, _peer=self)
            type.__setattr__(kind, "__str__", lambda self: vars(self).get("_text", ""))
            error.__dict__["_text"] = text
        self.proxies[number] = error
        return error

    def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            while line:
                line = line[os.write(self.drain, line) :]
        except OSError as error:
            self.die(error)

    def die(self, why: object) -> None:
        if not self.has_died:
            self.has_died, self.death = True, f"the candidate's process has ended: {why}"
        raise CandidateExitError(self.death)

    def receive(self) -> Any:
        try:
            line = self.source.readline(MAX_LINE_BYTES)
            if not line.endswith(b"\n"):
                self.die("no answer")
            message = json.loads(line)
            if not isinstance(message, dict):
                self.die("no message")
        except (OSError, ValueError, RecursionError) as error:
            self.die(error)
        for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
            if isinstance(message.get(name), str):
                stream.write(message[name])
        return message

    def do(self, name: str, target: Any, *parts: Any) -> Any:
        """Have the candidate do something with one of its objects; what it says of it is data."""
        with self.lock:
            if os.getpid() != self.owner:  # a test forked, and its child goes on with the tests
                os._exit(1)
            if self.has_died:
                self.die("")
            number = target if isinstance(target, str) else target._number
            before = "" if isinstance(target, str) else target._path
            step = {"call": "()", "get": f".{parts[0]}" if parts else ""}.get(name)
            path = f"{before}{step if step is not None else f'.{parts[0] if parts else name}()'}"
            table = Table()
            packed = [self.wire.pack(part, table) for part in parts]
            self.send({"do": [name, number, *packed]})
            value = self.answer(table, path[-MAX_PATH:], is_next=parts[:1] in (("__next__",), ("send",)))
            if name not in ("import", "names"):
                self.watch(path[-MAX_PATH:], is_object(value))
            return value

    def answer(self, table: Table, path: str, *, is_next: bool) -> Any:
        while True:
            message = self.receive()
            before, self.path = self.path, path
            error, value = None, None
            try:
                if "ask" in message:
                    self.send(self.asked(message["ask"], path))
                    continue
                for place, content in message.get("changed", ()):
                    self.changed(path)
                    self.wire.fill(table.values[place], content, table)
                    self.watch(f"{path} (argument)", is_object(table.values[place]))
                if "raise" in message:
                    error = self.raised(message["raise"])
                    self.watch(f"{path} (exception)", is_object(error.args))
                else:
                    value = self.wire.unpack(message["answer"], table)
            except Exception as problem:  # noqa: BLE001 - whatever is wrong with the message, the candidate sent it
                self.die(f"it sent an invalid value: {problem}")
            finally:
                self.path = before
            if isinstance(error, ENDS_ITERATION) and not is_next:
                raise RuntimeError(f"the candidate raised {type(error).__name__}")
            if error is not None:
                raise error
            return value

    def asked(self, packed: Any, path: str) -> dict[str, Any]:
        """What one of our objects does for the candidate: only what a test passed on, and nothing private."""
        table = Table()
        what, number, *parts = [self.wire.unpack(part, table) for part in packed]
        value = self.given[number]
        self.watch(f"{path} (callback)", is_object(parts))
        try:
            if what == "call":
                if not callable(value):
                    raise TypeError(f"{type(value).__name__} is not callable")
                result = value(*parts[0], **parts[1])
            elif what == "get":
                if parts[0].startswith("_") or isinstance(value, SHARED_TYPES) or controls_tests(value, parts[0]):
                    raise AttributeError(parts[0])
                result = getattr(value, parts[0])
            elif what == "bool":
                result = bool(value)
            elif what == "op" and parts[0] in OPERATORS and not isinstance(value, SHARED_TYPES):
                result = getattr(type(value), parts[0])(value, *parts[1])
            else:
                raise WireError(f"unknown request {what!r}")
            return {"answer": self.wire.pack(result, Table())}
        except CandidateExitError:
            raise
        except BaseException as error:  # noqa: BLE001 - it goes through the candidate's code and may come back
            return {"raise": self.told(error)}


def controls_tests(value: Any, name: str) -> bool:
    """Whether the attribute belongs to a class of a test framework, such as a mock's assertions and settings."""
    return any(name in vars(kind) and _top(kind.__module__) in FRAMEWORKS for kind in type(value).__mro__)


def allowed_class(module: str, name: str) -> type:
    """The class of that name: a built-in one, or an exception of the standard library that no framework handles.

    The name must be the class's own: modules of the tests contain other classes under names that look harmless.
    """
    is_standard = _top(module) in STANDARD - FRAMEWORKS and "__main__" not in module
    found = named_object(module, name) if is_standard else None
    if (
        not isinstance(found, type)
        or standard_name(found) != (module, name)
        or (module != "builtins" and not issubclass(found, Exception))
    ):
        raise WireError(f"{module}.{name} may not be named")
    return found


def _top(module: str) -> str:
    return module.partition(".")[0]


def is_object(value: Any) -> bool:
    """Whether a value is, or holds, an object of the candidate, which decides itself what it is equal to."""
    kind = type(value)
    if isinstance(kind, ProxyKind) or isinstance(value, ProxyKind | ProxyModule):
        return True
    if kind in (list, tuple, set, frozenset):
        return any(map(is_object, value))
    if kind is dict:
        return any(is_object(key) or is_object(item) for key, item in value.items())
    return False


class CandidateModules:
    """Imports the candidate's modules as proxies: those that the task names, or any that are found nowhere else."""

    def __init__(self, peer: Peer, tests: set[str], named: set[str] | None) -> None:
        self.peer, self.tests, self.named = peer, tests, named

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        is_foreign = self.named is not None and name.partition(".")[0] not in self.named
        if is_foreign or name in self.tests or self.peer.has_died:
            return None
        try:
            number, is_package = self.peer.do("import", name)
        except ModuleNotFoundError:
            return None
        spec = ModuleSpec(name, self, is_package=is_package)  # type: ignore[arg-type]  # it has the methods
        spec.loader_state = number
        if is_package:
            spec.submodule_search_locations = [os.path.abspath(name.replace(".", "/"))]
        return spec

    def create_module(self, spec: ModuleSpec) -> ProxyModule:
        assert isinstance(spec.loader_state, int)  # from find_spec
        known = self.peer.proxies.get(spec.loader_state)
        if isinstance(known, ProxyModule):
            return known
        made = self.peer.proxies[spec.loader_state] = ProxyModule(spec.name, spec.loader_state, self.peer)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class Record:
    """The results by test."""

    def __init__(self, peer: Any) -> None:  # Any: a Peer, or what stands for one
        self.peer = peer
        self.owner = os.getpid()
        self.statuses: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.objects: dict[str, set[str]] = {}
        self.current = ""
        self.data: dict[str, set[str]] = {}
        self.used: dict[str, set[tuple[str, str]]] = {}
        self.changed: set[str] = set()
        self.decided: set[str] = set()
        peer.watch = self.saw
        peer.decided = lambda: self.decided.add(self.current)
        peer.used = lambda path, operator: self.used.setdefault(self.current, set()).add((path, operator))
        peer.changed = lambda path: self.changed.add(f"{self.current} {path}")

    def saw(self, path: str, is_object: bool) -> None:
        (self.objects if is_object else self.data).setdefault(self.current, set()).add(path)

    def start(self, name: str) -> None:
        self.current = name

    def end(self, name: str, status: str, message: str = "") -> None:
        if self.peer.has_died:
            status, message = "error", message or self.peer.death
        if name not in self.statuses or (status != "passed" and self.statuses[name] not in ("failed", "error")):
            self.statuses[name] = status
            if message:
                self.messages[name] = message[-2000:]

    def written(self) -> dict[str, Any]:
        return {
            "statuses": self.statuses,
            "messages": self.messages,
            "objects": {name: sorted(paths) for name, paths in self.objects.items()},
            "mixed": {
                name: sorted(mixed)
                for name, paths in self.objects.items()
                if (mixed := paths & self.data.get(name, set()))
            },
            "used": {name: sorted(used) for name, used in self.used.items()},
            "changed": sorted(self.changed),
            "operators": self.peer.operators,
            "decided": sorted(self.decided),
            "has_died": self.peer.has_died,
        }


class Results(unittest.TestResult):
    """unittest's results, put into the record."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self.record = record

    def startTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - the library's name
        super().startTest(test)
        self.record.start(test.id())

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802 - as above
        super().stopTest(test)
        self.record.start("")

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - as above
        self.record.end(test.id(), "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802 - as above
        whole = getattr(test, "test_case", test)  # of a part
        self.record.end(whole.id(), "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, _error: Any) -> None:  # noqa: N802 - as above
        self.record.end(test.id(), "expected failure")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802 - as above
        self.record.end(test.id(), "failed", "unexpected success")

    def addFailure(self, test: unittest.TestCase, error: Any) -> None:  # noqa: N802 - as above
        self.record.end(test.id(), "failed", line_of(error[1]))

    def addError(self, test: unittest.TestCase, error: Any) -> None:  # noqa: N802 - as above
        self.record.end(test.id(), "error", line_of(error[1]))

    def addSubTest(self, test: unittest.TestCase, _subtest: unittest.TestCase, error: Any) -> None:  # noqa: N802
        if error is not None:
            self.record.end(test.id(), "failed", line_of(error[1]))


def line_of(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip()[:500]


def run_unittest(record: Record, names: list[str]) -> None:
    """Run the cases of the test modules."""
    suite, loader = unittest.TestSuite(), unittest.TestLoader()
    for name in names:
        try:
            module = importlib.import_module(name)
            suite.addTests(loader.loadTestsFromModule(module))
        except unittest.SkipTest as error:
            record.end(name, "skipped", str(error))
        except BaseException as error:  # noqa: BLE001 - a module that cannot be loaded has failed
            record.end(name, "error", line_of(error))
    suite.run(Results(record))


def run_pytest(record: Record, places: list[str]) -> str | None:
    """Run the test files with pytest; return what ended them early."""
    import pytest  # a task that needs it has it

    class Plugin:
        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]  # pytest may not be installed
        def pytest_runtest_logstart(self, nodeid: str) -> None:
            record.start(nodeid)

        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]  # as above
        def pytest_runtest_logreport(self, report: Any) -> None:
            text = "" if report.passed else str(report.longrepr)
            if hasattr(report, "wasxfail"):
                record.end(report.nodeid, "expected failure" if report.skipped else "failed", text)
            elif report.when == "call" or not report.passed:
                word = "error" if report.failed and report.when != "call" else report.outcome
                record.end(report.nodeid, word, text)

        @pytest.hookimpl(tryfirst=True)  # type: ignore[untyped-decorator,unused-ignore]  # as above
        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                record.end(report.nodeid, "error", str(report.longrepr))

    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "--continue-on-collection-errors"]
    status = pytest.main([*options, *places], plugins=[Plugin()])
    is_whole = status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
    return None if is_whole else f"pytest ended early: {pytest.ExitCode(status).name}"


def run_tests(record: Record, job: dict[str, Any]) -> str | None:
    """Run the tests; return what ended them early."""
    try:
        if job["framework"] == "pytest":
            return run_pytest(record, job["places"])
        run_unittest(record, job["names"])
    except BaseException as error:  # noqa: BLE001 - nothing that a test does leaves the record unwritten
        return line_of(error)
    return None


def write(place: str, record: Record, problem: str | None) -> None:
    """Write the record and end, without what others do at exit."""
    if os.getpid() != record.owner:
        os._exit(1)
    text = json.dumps({**record.written(), "problem": problem})
    with open(place, "wb") as file:
        file.write(zlib.compress(text.encode()))
    os._exit(0)


def run_in_process(place: str, job: dict[str, Any]) -> None:
    """Run the tests in the process of the candidate's code."""
    record = Record(types.SimpleNamespace(has_died=False, death="", operators=0, watch=None))
    sys.path[:0] = source_folders()
    write(place, record, run_tests(record, job))


def main(place: str, job: dict[str, Any]) -> None:
    """Run the tests and write the record."""
    peer = Peer(3, 4)
    record = Record(peer)
    sys.path.insert(0, os.getcwd())
    tests = set(job["modules"])
    named = {name.partition(".")[0] for name in job["candidates"]}
    sys.meta_path.insert(0, CandidateModules(peer, tests, named))
    sys.meta_path.append(InstalledPackages())
    sys.meta_path.append(CandidateModules(peer, tests, None))
    write(place, record, run_tests(record, job))
