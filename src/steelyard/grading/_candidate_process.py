"""The process that runs a candidate's code for tests in another process, which it serves over a pipe.

It is not trusted: the candidate can replace anything here. All that it can send is data.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import io
import json
import os
import site
import sys
import types
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from typing import Any

from steelyard.grading._wire import Table, Wire

_NAMES = """
eq ne lt le gt ge hash len getitem setitem delitem contains iter next call reversed length_hint
add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift
radd rsub rmul rtruediv rfloordiv rmod rdivmod rpow rmatmul rand ror rxor rlshift rrshift
iadd isub imul itruediv ifloordiv imod ipow imatmul iand ior ixor neg pos abs invert
bool int float complex index round trunc floor ceil str repr bytes format enter exit fspath
"""
OPERATORS = frozenset(f"__{name}__" for name in _NAMES.split())
"""Methods that Python calls for operators and built-in functions."""
STANDARD = frozenset(sys.stdlib_module_names)


class Remote:
    """An object of the tests' process."""

    def __init__(self, number: int, peer: Peer) -> None:
        self.__dict__["_number"], self.__dict__["_peer"] = number, peer

    def __call__(self, *given: Any, **named: Any) -> Any:  # Any: whatever the candidate passes
        return self._peer.ask("call", self._number, list(given), named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._peer.ask("get", self._number, name)

    def __bool__(self) -> bool:
        return bool(self._peer.ask("bool", self._number))

    def __iter__(self) -> Iterator[Any]:
        made = self._peer.ask("op", self._number, "__iter__", [])
        return made if isinstance(made, Remote) else iter(made)


def _operator(name: str) -> Any:
    def method(self: Remote, *given: Any) -> Any:
        return self._peer.ask("op", self._number, name, list(given))

    return method


for _name in OPERATORS - {"__call__", "__iter__", "__hash__", "__str__", "__repr__", "__bool__", "__eq__", "__ne__"}:
    setattr(Remote, _name, _operator(_name))


class RemoteError(Exception):
    """An exception of the tests' process that no exception here is like."""


class Peer:
    """The connection to the tests."""

    def __init__(self, source: int, drain: int) -> None:
        self.source, self.drain = open(source, "rb"), drain  # noqa: SIM115 - as long as the process
        self.objects: dict[int, Any] = {}
        self.numbers: dict[int, int] = {}
        self.remotes: dict[int, Remote] = {}
        self.described: set[int] = set()
        self.errors: dict[int, BaseException] = {}
        self.wire = Wire(self.refer, self.resolve)
        self.out, self.err = io.StringIO(), io.StringIO()

    def number_of(self, value: Any) -> int:
        number = self.numbers.get(id(value))
        if number is None:
            number = self.numbers[id(value)] = len(self.objects)
            self.objects[number] = value  # kept, so that its id stays its own
        return number

    def refer(self, value: Any) -> list[Any]:
        if type(value) is Remote:
            return ["G", value._number]
        kind = type(value)
        if isinstance(value, type):
            named = crossing_class(value)
            return named if named is not None else ["K", self.describe(value)]
        if kind is types.ModuleType:
            return ["M", value.__name__, self.number_of(value)]
        if isinstance(value, BaseException):
            return ["E", self.error(value)]
        return ["H", self.number_of(value), self.describe(kind)]

    def describe(self, kind: type) -> Any:
        number = self.number_of(kind)
        if number in self.described or self.wire.is_comparing:
            return [number]
        self.described.add(number)
        bases = [crossing_class(base) or self.describe(base) for base in kind.__bases__ if base is not object]
        operators = sorted(name for name in OPERATORS if defines(kind, name))
        return [number, kind.__name__, kind.__module__, bases, operators]

    def resolve(self, packed: list[Any]) -> Any:
        tag, *parts = packed
        if tag == "H":
            return self.objects[parts[0]]
        if tag == "N":
            return named_object(*parts)
        if tag == "X":
            return self.raised(parts[0])
        number = parts[0]
        if number not in self.remotes:
            self.remotes[number] = Remote(number, self)
        return self.remotes[number]

    def error(self, error: BaseException) -> Any:
        for number, known in self.errors.items():
            if known is error:
                return {"ours": number}
        try:
            text = str(error)
        except BaseException:  # noqa: BLE001 - the candidate's own
            text = ""
        given = []
        for value in error.args:
            sent = set(self.described)
            try:
                given.append(self.wire.pack(value, Table()))
            except BaseException:  # noqa: BLE001 - as above
                self.described = sent  # nothing of it is sent
                given.append(None)
        kind = type(error)
        described = crossing_class(kind) or self.describe(kind)
        return {"kind": described, "number": self.number_of(error), "args": given, "text": text}

    def raised(self, told: Any) -> BaseException:
        kind = getattr(builtins, told["kind"], None)
        given = [self.wire.unpack(value, Table()) for value in told["args"]]
        made: BaseException
        try:
            made = kind(*given) if isinstance(kind, type) and issubclass(kind, BaseException) else RemoteError(*given)
        except Exception:  # noqa: BLE001 - arguments that the class does not take
            made = RemoteError(*given)
        self.errors[told["number"]] = made
        return made

    def send(self, message: dict[str, Any]) -> None:
        for name, stream in (("out", self.out), ("err", self.err)):
            if text := stream.getvalue():
                message[name] = text
                stream.seek(0)
                stream.truncate()
        line = json.dumps(message).encode() + b"\n"
        while line:
            line = line[os.write(self.drain, line) :]

    def receive(self) -> Any:
        line = self.source.readline()
        if not line:
            os._exit(0)  # the tests have ended
        return json.loads(line)

    def ask(self, *what: Any) -> Any:
        table = Table()
        self.send({"ask": [self.wire.pack(part, table) for part in what]})
        return self.serve_until_answered()

    def serve_until_answered(self) -> Any:
        while True:
            message = self.receive()
            if "answer" in message:
                return self.wire.unpack(message["answer"], Table())
            if "raise" in message:
                raise self.raised(message["raise"])
            self.handle(message)

    def handle(self, message: Any) -> None:
        table, before = Table(), list[str]()
        try:
            packed = message["do"]
            name, target, *given = packed
            if name == "run":
                result = run(target[0], target[1], self.wire.unpack(given[0], Table()))
                self.send({"answer": self.wire.pack(result, Table())})
                return
            parts = [self.wire.unpack(part, table) for part in given]
            before = self.wire.contents(table)
            value = self.perform(name, target, parts)
            known = set(self.described)
            try:
                changed = self.wire.changes(table, before)  # first, as the tests read it first
                answer = self.wire.pack(value, table)
            except BaseException:
                self.described = known  # nothing of it is sent
                raise
            self.send({"changed": changed, "answer": answer})
        except BaseException as error:  # noqa: BLE001 - whatever the candidate raises is its answer
            changed = self.wire.changes(table, before)
            self.send({"changed": changed, "raise": self.error(error)})

    def perform(self, name: str, target: Any, parts: list[Any]) -> Any:
        if name == "import":
            module = importlib.import_module(target)
            return [self.number_of(module), hasattr(module, "__path__")]
        if name == "names":
            module = self.objects[target]
            return list(getattr(module, "__all__", [each for each in vars(module) if not each.startswith("_")]))
        value = self.objects[target]
        if name == "get":
            return getattr(value, parts[0])
        if name == "set":
            return setattr(value, parts[0], parts[1])
        if name == "del":
            return delattr(value, parts[0])
        if name == "call":
            return value(*parts[0], **parts[1])
        if name == "copy":
            return copy.deepcopy(value) if parts[0] else copy.copy(value)
        return getattr(type(value), parts[0])(value, *parts[1])


def run(module: str, name: str, given: list[Any]) -> Any:
    """Call the function; return its result, or the arguments if it returns None and may have changed them."""
    value = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    result = value(*given)  # type: ignore[operator]  # the benchmark names a function
    return given if result is None else result


def defines(kind: type, name: str) -> bool:
    """Whether the class, not object, has the method."""
    for base in type.__dict__["__mro__"].__get__(kind):
        if name in vars(base):
            return base is not object and vars(base)[name] is not None
    return False


def standard_name(value: Any) -> tuple[str, str] | None:
    """Module and name of a function or class of the standard library."""
    if not isinstance(value, type | types.FunctionType | types.BuiltinFunctionType):
        return None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module.partition(".")[0] not in STANDARD:
        return None
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return (module, name) if found is value else None


def named_object(module: str, name: str) -> Any:
    """The object of the standard library with that name."""
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def crossing_class(kind: type) -> list[Any] | None:
    """A class that the tests have too, by name: a built-in one, or an exception of the standard library."""
    named = standard_name(kind)
    if named is None or named[0].partition(".")[0] == "unittest":
        return None
    is_error = issubclass(kind, Exception) and named[0].partition(".")[0] not in ("doctest", "bdb", "pdb")
    return ["N", *named] if named[0] == "builtins" or is_error else None


class InstalledPackages:
    """Makes installed packages importable when a module is found nowhere else."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Look again, with the packages' directories on the path."""
        sys.meta_path.remove(self)
        if sys.flags.no_site:  # not site.main(), which imports what the work directory has as sitecustomize
            site.addsitepackages(site.venv(site.removeduppaths()) or set())
        for finder in sys.meta_path:
            if (found := finder.find_spec(name, path, target)) is not None:  # type: ignore[arg-type]  # as Python calls it
                return found
        return None


def source_folders() -> list[str]:
    """Where modules are imported from: the work directory, and its `src`."""
    source = os.path.abspath("src")
    return [os.getcwd(), *([source] if os.path.isdir(source) else [])]


def main() -> None:
    """Serve the tests until they close the pipe."""
    source, drain = os.dup(0), os.dup(1)
    silence = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1):
        os.dup2(silence, number)
    peer = Peer(source, drain)
    sys.stdout, sys.stderr = peer.out, peer.err
    sys.path[:0] = source_folders()
    sys.meta_path.append(InstalledPackages())
    while True:
        peer.handle(peer.receive())


if __name__ == "__main__":
    main()
