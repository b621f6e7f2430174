"""Python functions of the commands: options are keywords of the call, or one options object."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Collection
from dataclasses import fields, replace
from functools import cache, wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from steelyard.errors import SteelyardError, UnknownKeyError, UnknownNameError, UsageError
from steelyard.questions._opening_runs import Progress, prices_of, reject_unrecognized

_CLASS = re.compile(r"^class (\w+).*\n((?:(?: .*)?\n)+)", re.MULTILINE)
_SENTENCE = re.compile(r'^    (\w+): .*\n    """((?:[^"]|"(?!""))*)"""', re.MULTILINE)

P = ParamSpec("P")
Input = TypeVar("Input")
Input_contra = TypeVar("Input_contra", contravariant=True)
Options = TypeVar("Options")
Options_contra = TypeVar("Options_contra", contravariant=True)
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


class ApiFunction(Protocol[Input_contra, P, Options_contra, Result_co]):
    """A command: `command(runs, by=["tier"])`, or `command(runs, options=Options(by=["tier"]))`."""

    @overload
    def __call__(self, runs: Input_contra, /, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...

    @overload
    def __call__(
        self, runs: Input_contra, /, *, options: Options_contra, progress: Progress | None = None
    ) -> Result_co: ...


class LogApiFunction(Protocol[Input_contra, P, Options_contra, Result_co]):
    """A command that needs no input: without one it reads the logs of installed agents."""

    @overload
    def __call__(self, runs: Input_contra, /, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Result_co: ...

    @overload
    def __call__(
        self, runs: Input_contra | None = None, /, *, options: Options_contra, progress: Progress | None = None
    ) -> Result_co: ...


def log_api_function(
    options: Callable[P, Options],
) -> Callable[[Callable[[Input | None, Options, Progress | None], Result]], LogApiFunction[Input, P, Options, Result]]:
    """Makes a command of a function that is given None where the call names no input."""
    # Any: `api_function` knows one kind of command
    made: Any = api_function(options, needs_input=False)
    return cast("Callable[[Callable[..., Result]], LogApiFunction[Input, P, Options, Result]]", made)


def api_function(
    options: Callable[P, Options], *, needs_input: bool = True
) -> Callable[[Callable[[Input, Options, Progress | None], Result]], ApiFunction[Input, P, Options, Result]]:
    """Makes a command of a function that takes an options object: its fields become keywords of the call."""

    def decorate(work: Callable[[Input, Options, Progress | None], Result]) -> ApiFunction[Input, P, Options, Result]:
        name, kind = work.__name__, cast("type[Options]", options)
        first = next(iter(inspect.signature(work).parameters))

        @wraps(work)
        def call(*given: Any, **keywords: Any) -> Result:  # Any: `ApiFunction` has the static types
            progress = keywords.pop("progress", None)
            chosen = keywords.pop("options", None)
            runs = (keywords.pop(first),) if first in keywords else given[:1]
            if not runs and needs_input:
                raise UsageError(f"{name} requires {first}")
            if chosen is not None and (keywords or given[1:]):
                raise UsageError(f"{name} accepts options= or single options, not both")
            if chosen is not None:
                return answer(runs, chosen, progress)
            try:
                return answer(runs, _made(kind, name, given[len(runs) :], keywords), progress, named=keywords.keys())
            except SteelyardError as error:
                _name_keywords(error, {field.name for field in fields(cast("Any", kind))})
                raise

        def answer(
            runs: tuple[Any, ...], chosen: Options, progress: Progress | None, *, named: Collection[str] = ()
        ) -> Result:  # Any: as above
            for option, choices in _closed_choices(cast("Any", kind)).items():
                if (word := getattr(chosen, option)) not in choices:
                    hint = f"one of: {', '.join(str(choice) for choice in choices if choice)}"
                    raise UsageError(f"unknown value {word!r} for {option} of {name}", hint=hint)
            if hasattr(chosen, "prices"):
                prices = chosen.prices
                for priced in (*runs, getattr(chosen, "baseline", None)):
                    prices = prices_of(priced, prices, is_named="prices" in named)
                chosen = chosen if prices == chosen.prices else replace(cast("Any", chosen), prices=prices)
            try:
                return work(runs[0] if runs else cast("Input", None), chosen, progress)
            except UnknownKeyError:
                if runs and getattr(chosen, "map", None) is None:
                    reject_unrecognized(runs[0])
                raise

        call.__signature__ = _signature(first, kind, needs_input=needs_input)  # type: ignore[attr-defined] # inspect reads it from there
        call.__doc__ = f"{inspect.cleandoc(work.__doc__ or '')}\n\n{_listed(kind)}"
        return cast("ApiFunction[Input, P, Options, Result]", call)

    return decorate


_FLAG = re.compile(r"--(?P<no>no-)?(?P<name>[a-z][a-z-]*)")
_FLAG_WITH_VALUE = re.compile(r"--(?P<name>[a-z][a-z-]*) (?P<value>\S+)")
_NUMBER = re.compile(r"[\d.]+")


def _name_keywords(error: SteelyardError, keywords: set[str]) -> None:
    """Let an error of a call with keywords name these, and not the options of the command line."""

    def renamed(text: str | None) -> str | None:
        if text is None or "steelyard " in text:  # a whole command is right as it is
            return text
        given = {flag["name"].replace("-", "_"): flag["value"] for flag in _FLAG_WITH_VALUE.finditer(text)}
        if given and given.keys() <= keywords and not _FLAG_WITH_VALUE.sub("", text).strip():
            shown = {name: value if _NUMBER.fullmatch(value) else repr(value) for name, value in given.items()}
            return ", ".join(f"{name}={value}" for name, value in shown.items())
        return _FLAG.sub(named, text)

    def named(flag: re.Match[str]) -> str:
        name = flag["name"].replace("-", "_")
        return flag[0] if name not in keywords else f"{name}=False" if flag["no"] else name

    error.message, error.where, error.hint = str(renamed(error.message)), renamed(error.where), renamed(error.hint)
    error.args = (error.message,)


def _made(kind: type[Options], name: str, given: tuple[Any, ...], keywords: dict[str, Any]) -> Options:
    """The options of a call; an unknown keyword is an error that suggests the nearest."""
    known = [field.name for field in fields(cast("Any", kind))]
    for keyword in keywords:
        if keyword not in known:
            raise UnknownNameError(f"option of {name}", keyword, known)
    try:
        inspect.signature(kind).bind(*given, **keywords)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from error
    named = _paths(cast("Any", kind))
    paths = {key: Path(word) for key, word in keywords.items() if key in named and isinstance(word, str)}
    return kind(*given, **{**keywords, **paths})


@cache
def _paths(kind: type[Any]) -> frozenset[str]:
    """The options that name one file or folder, which a call may give as text."""
    return frozenset(name for name, hint in get_type_hints(kind).items() if hint in (Path, Path | None))


@cache
def _closed_choices(kind: type[Any]) -> dict[str, tuple[object, ...]]:
    """The options that take certain words only, with these words; None is among them where it may be left open."""
    closed: dict[str, tuple[object, ...]] = {}
    for name, hint in get_type_hints(kind).items():
        parts = get_args(hint) if get_origin(hint) is UnionType or get_origin(hint) is Union else (hint,)
        if any(get_origin(part) is Literal for part in parts):
            words = (word for part in parts if get_origin(part) is Literal for word in get_args(part))
            closed[name] = (*words, *((None,) if NoneType in parts else ()))
    return closed


def _signature(first: str, kind: type[Any], *, needs_input: bool) -> inspect.Signature:
    default = inspect.Parameter.empty if needs_input else None
    runs = inspect.Parameter(first, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
    whole = inspect.Parameter("options", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=f"{kind.__name__}")
    return inspect.Signature([runs, *inspect.signature(kind).parameters.values(), whole])


def _listed(kind: type[Any]) -> str:
    return "Options:\n" + "\n".join(f"    {name}: {sentence}" for name, sentence in field_sentences(kind).items())


def field_sentences(options: type[Any]) -> dict[str, str]:
    """The sentence under each field of an options class, in the order of its fields."""
    found: dict[str, str] = {}
    for base in options.__mro__:
        found = _sentences(base) | found
    return {field.name: found[field.name] for field in fields(options)}


def _sentences(base: type[Any]) -> dict[str, str]:
    """Return the sentences under the fields of the class itself."""
    return _sentences_by_class(base.__module__).get(base.__name__, {})


@cache
def _sentences_by_class(module: str) -> dict[str, dict[str, str]]:
    """Found as text: taking the source apart as Python would cost each start some milliseconds."""
    if module == "builtins":
        return {}
    return {
        name: {field: " ".join(sentence.split()) for field, sentence in _SENTENCE.findall(body)}
        for name, body in _CLASS.findall(inspect.getsource(sys.modules[module]))
    }
