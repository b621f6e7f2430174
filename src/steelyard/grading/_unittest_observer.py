"""What the tests of a task and the test library were before the code under test could change them.

Like unittest_runner, whose part it is, it is run in the sandbox and imports nothing of ours.
"""

from __future__ import annotations

import builtins
import contextlib
import fnmatch
import os
import sys
import traceback
import unittest
import unittest.async_case
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, MappingProxyType, ModuleType, TracebackType
from typing import Any, NamedTuple

library: Any = unittest.case
"""Any: what is private there is not declared."""
LIBRARY = ("unittest", *(f"unittest.{name}" for name in ("async_case", "case", "loader", "result", "suite", "util")))
CASES: tuple[Any, ...] = (unittest.TestCase, unittest.IsolatedAsyncioTestCase)
OFTEN_REPLACED = frozenset({"__import__", "_", "input", "open", "print"})
"""Builtins that honest programs replace."""
SET_BY_LIBRARY = frozenset({"tearDown_exceptions", "_classSetupFailed", "_class_cleanups"})
ACCESSORS = (classmethod, staticmethod, property)
FUNCTIONS = (FunctionType, *ACCESSORS)
STANDARD = os.path.dirname(os.__file__) + os.sep
EQUALITY = dict(CASES[0]()._type_equality_funcs)
JUDGING = (
    frozenset(name for kind in CASES for name, value in vars(kind).items() if callable(value)) - vars(object).keys()
)
"""The methods by which a test judges."""


SPECIAL = frozenset(name for kind in CASES for name in dir(kind) if name.startswith("__")) | {
    "__getattr__",
    "__bool__",
    "__len__",
    "__unittest_skip__",
    "__unittest_skip_why__",
    "__unittest_expecting_failure__",
}
"""Names that Python or the library look up by themselves."""


class Seen(NamedTuple):
    """A function, class or accessor as it was when it was looked at."""

    value: object
    parts: tuple[object, ...]
    marks: tuple[str, ...]
    """Names set on a function, such as the one by which it is expected to fail."""

    def is_same(self, other: Seen) -> bool:
        """Whether nothing was replaced; by identity, since a replacement may claim to be equal."""
        if len(self.parts) != len(other.parts):
            return False
        parts = zip((self.value, *self.parts), (other.value, *other.parts), strict=True)
        return all(a is b for a, b in parts) and self.marks == other.marks


def see(value: object) -> Seen:
    """The value with what could be changed inside of it."""
    function = getattr(value, "__func__", value)
    if isinstance(function, FunctionType):
        parts = function.__code__, function.__defaults__, function.__kwdefaults__, *cells(function)
        return Seen(value, parts, tuple(vars(function)))
    return Seen(value, (value.__bases__,) if isinstance(value, type) else (None,), ())


def cells(function: FunctionType) -> Iterator[object]:
    """What a function took from around it and can call; other values are its own business."""
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty one
            yield cell.cell_contents if callable(cell.cell_contents) else None


class Kind(NamedTuple):
    """A class of tests as it was."""

    owner: Any
    """Any: a class, looked into by name."""
    seen: tuple[tuple[str, Seen], ...]
    """All its functions."""
    names: frozenset[str]
    shared: tuple[tuple[str, Seen], ...]
    """Its functions save single tests: what every test of it may call."""
    absent: frozenset[str]
    """Names that it does not have and that would come before what the library or a class it derives from has."""


class Use(NamedTuple):
    """What one test rests on besides the library: compared before it, after it, and after the test before it."""

    mro: tuple[type, ...]
    kinds: tuple[Kind, ...]
    method: tuple[str, type, Seen] | None
    chain: tuple[tuple[Any, int, object], ...]
    """Any: suites. From the outermost on, the place in each that leads to the test, and the object there."""


class Task:
    """The task's own modules, compiled before others could write to their files. Python imports them from here."""

    def __init__(self, own: list[str]) -> None:
        paths = {self.name_of(place): os.path.abspath(place) for place in own if place.endswith(".py")}
        self.paths = MappingProxyType(paths)
        self.tests = [self.name_of(place) for place in own if fnmatch.fnmatch(os.path.basename(place), "test*.py")]
        self.codes = MappingProxyType({name: self._compiled(path) for name, path in paths.items()})
        self.made: dict[str, ModuleType] = {}
        self._functions: tuple[tuple[dict[str, object], str, Seen], ...] = ()
        self._was_there = frozenset(sys.modules)
        self._own = frozenset(
            id(code) for module_code in self.codes.values() if module_code is not None for code in all_code(module_code)
        )

    @staticmethod
    def name_of(place: str) -> str:
        return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @staticmethod
    def _compiled(path: str) -> CodeType | None:
        with open(path, "rb") as file:
            content = file.read()
        try:
            return compile(content, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        if name not in self.paths:
            return None
        path = self.paths[name]
        is_package = os.path.basename(path) == "__init__.py"
        spec = ModuleSpec(name, self, origin=path, is_package=is_package)  # type: ignore[arg-type]  # it has the methods
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(path)]
        spec.has_location = True
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        code = self.codes[module.__name__]
        if code is None:
            raise SyntaxError(self.paths[module.__name__])
        self.made[module.__name__] = module
        names = module.__dict__
        exec(code, names)  # noqa: S102 - the task's own
        own = [(name, value) for name, value in names.items() if isinstance(value, FunctionType) and self.wrote(value)]
        self._functions = (*self._functions, *((names, name, see(value)._replace(marks=())) for name, value in own))

    def is_replaced(self) -> bool:
        """Whether one of the task's modules was replaced by another."""
        names = self.paths.keys() & sys.modules.keys() - self._was_there
        return any(sys.modules[name] is not self.made.get(name) for name in names)

    def is_rewritten(self) -> bool:
        """Whether a function of the task's modules is not what it was; what is set on one is its user's business."""
        return any(not seen.is_same(see(names.get(name))._replace(marks=())) for names, name, seen in self._functions)

    def wrote(self, value: object) -> bool:
        """Whether the task or the standard library wrote the function."""
        function = getattr(value, "__func__", getattr(value, "fget", value))
        if isinstance(function, FunctionType):
            return id(function.__code__) in self._own or function.__code__.co_filename.startswith(STANDARD)
        return isinstance(value, type) and not issubclass(value, library.SkipTest | library._ShouldStop)

    def is_honest_skip(self, trace: TracebackType | None) -> bool:
        """Whether only the task's tests asked for it; code under test that does has failed."""
        if not self.paths:
            return True
        files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace)]
        own = self.paths.values()
        return all(name in own or name.startswith(STANDARD) or name == __file__ for name in files)


def all_code(code: CodeType) -> Iterator[CodeType]:
    """The code and whatever is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from all_code(constant)


class Watched:
    """Modules and classes, compared with what they held when they were added."""

    def __init__(self, task: Task, runner: dict[str, object]) -> None:
        self.task = task
        self._held: tuple[tuple[Any, tuple[tuple[str, Seen], ...], frozenset[str]], ...] = ()  # Any: a module or class
        self._modules = MappingProxyType({name: sys.modules[name] for name in LIBRARY})
        self._builtins = tuple((name, value) for name, value in vars(builtins).items() if name not in OFTEN_REPLACED)
        self._suites: tuple[tuple[Any, tuple[object, ...]], ...] = ()  # Any: a suite
        self._places: MappingProxyType[int, tuple[int, type, str]] = MappingProxyType({})
        self._groups: MappingProxyType[str, tuple[int, ...]] = MappingProxyType({})
        self._kinds: MappingProxyType[type, Kind] = MappingProxyType({})
        self._methods: MappingProxyType[type, frozenset[str]] = MappingProxyType({})
        self._uses: tuple[Use, ...] = ()
        self._runner = tuple((names, tuple(names.items())) for names in (globals(), runner))
        for name, module in self._modules.items():
            self.add(module)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == name:
                    self.add(value)
        for value in {**globals(), **runner}.values():
            if isinstance(value, type) and value.__module__ in (__name__, runner["__name__"]):
                self.add(value)

    def add(self, owner: Any) -> None:  # Any: as above
        """Watch what can be called in it; settings, such as the length of messages, are its user's business."""
        watched = [
            (name, see(value)) for name, value in vars(owner).items() if isinstance(value, FUNCTIONS) or callable(value)
        ]
        self._held = (*self._held, (owner, tuple(watched), frozenset(vars(owner))))

    def add_tests(self, tests: tuple[unittest.TestCase, ...], suite: Any) -> None:  # Any: suites hold suites and cases
        """Watch the single tests, the suites and, if they are the task's, their classes.

        What a test rests on is known beforehand, so that each is compared with no more than that: whatever a test may
        change is compared before the next one that rests on it, and all of it at the end.
        """
        self._places = MappingProxyType(
            {id(test): (n, type(test), test._testMethodName) for n, test in enumerate(tests)}
        )
        self._tests = tests  # kept, so that no other gets the id of one that is gone
        groups: dict[str, list[int]] = {}
        methods: dict[type, set[str]] = {}
        for n, test in enumerate(tests):
            kind = type(test)
            for name in (kind.__module__, f"{kind.__module__}.{kind.__qualname__}"):
                groups.setdefault(name, []).append(n)
            for base in kind.__mro__:
                methods.setdefault(base, set()).add(test._testMethodName)
        self._groups = MappingProxyType({name: tuple(places) for name, places in groups.items()})
        if self.task.paths:
            for left_out in (*CASES, object):
                methods.pop(left_out, None)
            self._kinds = MappingProxyType({kind: _kind(kind, names) for kind, names in methods.items()})
        self._methods = MappingProxyType({kind: self._functions_of(kind) for kind in set(map(type, tests))})
        suites: list[tuple[Any, tuple[object, ...]]] = []  # Any: as above
        chains = dict(_chains(suite, (), suites))
        self._suites = tuple(suites)
        self._uses = tuple(self._use_of(test, chains.get(id(test), ())) for test in tests)

    def _functions_of(self, kind: type) -> frozenset[str]:
        known = [self._kinds[base].seen for base in kind.__mro__ if base in self._kinds]
        return frozenset(name for seen in known for name, was in seen if isinstance(was.value, FunctionType))

    def _use_of(self, test: unittest.TestCase, chain: tuple[tuple[Any, int, object], ...]) -> Use:  # Any: as above
        mro, name = type(test).__mro__, test._testMethodName
        owner = next((kind for kind in mro if name in vars(kind)), None)
        method = None if owner is None else (name, owner, see(vars(owner)[name]))
        return Use(mro, tuple(self._kinds[kind] for kind in mro if kind in self._kinds), method, chain)

    def is_touched(self, place: int) -> bool:
        """Whether what the test in that place rests on is not what it was; there may be no such test."""
        if place >= len(self._uses):
            return False
        mro, kinds, method, chain = self._uses[place]
        if mro[0].__mro__ is not mro or any(_is_shared_other(kind) for kind in kinds):
            return True
        if method is not None:
            name, owner, was = method
            if next((kind for kind in mro if name in vars(kind)), None) is not owner:
                return True
            if self.task.paths and not was.is_same(see(vars(owner)[name])):
                return True
        for suite, at, item in chain:
            if _is_shadowed(suite) or len(suite._tests) <= at or suite._tests[at] is not item:
                return True
        return False

    def _is_rearranged(self) -> bool:
        for suite, tests in self._suites:
            if _is_shadowed(suite) or len(suite._tests) != len(tests):
                return True
            if any(now is not was and now is not None for now, was in zip(suite._tests, tests, strict=True)):
                return True
        return False

    def place_of(self, test: unittest.TestCase) -> int | None:
        """Which of the tests it is; None for one that is not what it was."""
        place, *was = self._places.get(id(test), (None, None, None))
        return place if was == [type(test), test._testMethodName] else None

    def places_in(self, group: str) -> tuple[int, ...]:
        """The tests of the class or module whose preparation, as the library names it, was skipped."""
        return self._groups.get(group.partition(" (")[2].removesuffix(")"), ())

    def is_changed(self, *, after: int | None = None, at_end: bool = False) -> bool:
        """Whether anything is not what it was, or was put where the library comes upon it by itself.

        After a single test, only what it and the next one rest on. Builtins and functions of the task only at the
        end: the tests of a class may share a replacement.
        """
        for names, were in self._runner:
            if len(names) != len(were) or any(names.get(name) is not value for name, value in were):
                return True
        if (
            any(sys.modules.get(name) is not module for name, module in self._modules.items())
            or self.task.is_replaced()
        ):
            return True
        if any(_is_other(*watched) for watched in self._held):
            return True
        if after is not None:
            return self.is_touched(after) or self.is_touched(after + 1)
        if self._is_rearranged() or any(_is_other(*kind[:3]) for kind in self._kinds.values()):
            return True
        present = vars(builtins)
        return at_end and (
            self.task.is_rewritten() or any(present.get(name) is not value for name, value in self._builtins)
        )

    def is_meddled(self, test: Any) -> bool:  # Any: a test, and what is private in it
        """Whether code other than the task's put something before the methods by which the test judges."""
        if not self.task.paths:
            return False
        kinds = [kind for kind in type(test).__mro__ if kind not in (*CASES, unittest.FunctionTestCase, object)]
        given = [vars(kind)[name] for kind in kinds for name in vars(kind).keys() & JUDGING]
        methods = self._methods.get(type(test), frozenset())
        given += [
            value for name, value in vars(test).items() if name in JUDGING or name in methods or name.startswith("__")
        ]
        equality = test._type_equality_funcs
        for kind, value in equality.items():
            if type(value) is not str:
                given.append(value)
            elif EQUALITY.get(kind) != value and value not in methods:
                return True
        return type(equality) is not dict or not all(map(self.task.wrote, given))


def _kind(owner: type, tests: set[str]) -> Kind:
    seen = tuple((name, see(value)) for name, value in vars(owner).items() if isinstance(value, FUNCTIONS))
    names, above = frozenset(vars(owner)), super(owner, owner)  # what its instances would find
    inherited = {name for base in owner.__mro__[1:] for name in vars(base) if callable(getattr(above, name, None))}
    shared = tuple((name, was) for name, was in seen if name not in tests)
    return Kind(owner, seen, names, shared, frozenset((SPECIAL | inherited) - names - tests))


def _is_shared_other(kind: Kind) -> bool:
    present = vars(kind.owner)
    if any(name not in present or not was.is_same(see(present[name])) for name, was in kind.shared):
        return True
    return any(name in present for name in kind.absent)


def _is_other(owner: Any, seen: tuple[tuple[str, Seen], ...], names: frozenset[str]) -> bool:  # Any: module or class
    present = vars(owner)
    if any(name not in present or not before.is_same(see(present[name])) for name, before in seen):
        return True
    new = present.keys() - names - SET_BY_LIBRARY
    if isinstance(owner, ModuleType):
        return any(name in vars(builtins) for name in new)
    return any(name.startswith("__") or callable(getattr(super(owner, owner), name, None)) for name in new)


def _is_shadowed(suite: Any) -> bool:  # Any: a suite
    """Whether something was put before a method of the suite."""
    return any(callable(getattr(type(suite), name, None)) for name in vars(suite))


def _chains(
    suite: Any, above: tuple[tuple[Any, int, object], ...], suites: list[tuple[Any, tuple[object, ...]]]
) -> Iterator[tuple[int, tuple[tuple[Any, int, object], ...]]]:  # Any: suites hold suites and cases
    """The way to each test, by its id; the suites on the way are listed with what they hold."""
    if isinstance(suite, unittest.TestSuite):
        suites.append((suite, tuple(suite._tests)))
        for at, item in enumerate(suite):
            chain = (*above, (suite, at, item))
            yield from _chains(item, chain, suites)
    else:
        yield id(suite), above
