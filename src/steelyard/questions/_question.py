"""Questions: Python functions whose options are keywords of the call, or one options object.

`@question(CompareOptions)` makes a question of a function that takes its input and its options. A question is
registered because its module is in this package under its name: `questions/compare/` contains `compare`, and
`questions/arena/history.py` contains `arena_history`. An action is a question that changes an arena.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from os import PathLike
from pathlib import Path
from shlex import quote
from types import ModuleType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

import msgspec

from steelyard import questions
from steelyard.errors import UnknownKeyError, UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.questions import arena
from steelyard.questions._answer import drawing_module, home_name
from steelyard.questions._run_input import Progress, current_progress, prices_of, reject_unrecognized, reporting
from steelyard.records import Scope, problem_text

if TYPE_CHECKING:
    from steelyard.arena import Arena

Names: TypeAlias = Annotated[Sequence[str], "comma-separated"]
"""Several names, or one comma-separated string."""
Texts: TypeAlias = Annotated[Sequence[str], "repeated"]
"""One string or several; repeatable on the command line."""
REQUIRED: Final = inspect.Parameter.empty
"""Default of an option that must be given."""


class Option(NamedTuple):
    """Declaration of one option."""

    name: str
    annotation: str
    """Its type, as written."""
    text: str
    """Its help."""
    default: Any  # Any: a value of its type
    short: str
    """Short flag on the command line, such as `-a`."""
    local: bool
    """Whether it names local files, runs code or is expensive, so that it is not available over HTTP."""
    positional: bool
    """Whether it is a positional argument."""
    flag: str
    """Name on the command line, if it differs: `--as` for `by`."""

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def is_repeated(self) -> bool:
        """Whether each of its texts is an argument of its own, because it may contain commas."""
        return self.annotation == "Texts"


class _Declaration(NamedTuple):
    text: str
    default: Any  # Any: a value of the option's type
    short: str
    local: bool
    positional: bool
    flag: str


def doc(
    text: str,
    *,
    default: Any = REQUIRED,
    short: str = "",
    local: bool = False,
    kw_only: bool = True,
    flag: str = "",
) -> Any:  # Any: stands for a value of the annotated type, as `dataclasses.field` does
    """Declare an option: its help, default, flags, and whether it is for local use only."""
    return _Declaration(text, default, short, local, not kw_only, flag)


def split_names(text: str) -> list[str]:
    """Split comma-separated names.

    >>> split_names("tier, agent")
    ['tier', 'agent']
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if text and not names:
        raise UsageError(f"{text!r} contains no name", hint="use comma-separated names")
    return names


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(doc,))
class Options:
    """Base of options: a frozen record whose fields are declared with `doc`.

    Type checkers treat subclasses as dataclasses. At run time they are plain classes, because generating the methods of
    a dataclass for each of them slows down every start.
    """

    declared: ClassVar[dict[str, Option]] = {}
    """The options of the class and its bases, in the order of their declaration."""

    def __init_subclass__(cls) -> None:
        """Collect the declared options; those of bases come first."""
        own = {
            name: Option(name, annotation, *vars(cls)[name])
            for name, annotation in vars(cls).get("__annotations__", {}).items()
            if isinstance(vars(cls).get(name), _Declaration)
        }
        for name, each in own.items():
            if each.is_required:
                delattr(cls, name)
            else:
                setattr(cls, name, each.default)
        cls._own = own
        cls.declared = {
            name: each for base in reversed(cls.__mro__) for name, each in vars(base).get("_own", {}).items()
        }

    _own: ClassVar[dict[str, Option]] = {}
    _types: ClassVar[dict[str, Any]] = {}  # Any: types as they are written

    def __init__(self, *given: Any, **named: Any) -> None:  # Any: `dataclass_transform` has the static types
        positional = [name for name, each in self.declared.items() if each.positional]
        values = dict(zip(positional, given, strict=False)) | named
        if len(given) > len(positional) or (values.keys() - self.declared.keys()):
            unknown = next(iter(values.keys() - self.declared.keys()), "more positional arguments")
            raise TypeError(f"{type(self).__name__} has no option {unknown!r}")
        for name, each in self.declared.items():
            value = values.get(name, each.default)
            if value is REQUIRED:
                raise TypeError(f"missing a required argument: {name!r}")
            if each.annotation in ("Names", "Texts") and isinstance(value, (str, PathLike)):
                # one string for several names, as on the command line: `by="tier,agent"`, `rule="..."`
                value = tuple(split_names(str(value)) if each.annotation == "Names" else [value])
            object.__setattr__(self, name, value)

    def check(self) -> None:
        """Reject values out of range, before the question is asked of a file or a server."""

    def replace(self, **changes: Any) -> Self:  # Any: values of any options
        """Return the options with some of them changed."""
        return type(self)(**(vars(self) | changes))

    def chosen(self) -> Iterator[tuple[Option, Any]]:  # Any: as above
        """Yield the options that differ from their defaults, with their values."""
        for name, each in self.declared.items():
            value = getattr(self, name)
            if each.is_required or value != each.default:
                yield each, value

    @classmethod
    def types(cls) -> dict[str, Any]:  # Any: types as they are written
        """Return the types of the options."""
        if "_types" not in vars(cls):
            hints = get_type_hints(cls, include_extras=True)
            cls._types = {name: hints[name] for name in cls.declared}
        return cls._types

    @classmethod
    def paths(cls) -> list[str]:
        """Return the options that name one file or folder."""
        return [name for name, hint in cls.types().items() if hint in (Path, Path | None)]

    @classmethod
    def choices(cls) -> dict[str, tuple[object, ...]]:
        """Return the options that take certain words only, with these words, and None if it is allowed."""
        closed: dict[str, tuple[object, ...]] = {}
        for name, hint in cls.types().items():
            parts = get_args(hint) if get_origin(hint) in (UnionType, Union) else (hint,)
            words = tuple(word for part in parts if get_origin(part) is Literal for word in get_args(part))
            if words:
                closed[name] = (*words, *((None,) if NoneType in parts else ()))
        return closed

    @classmethod
    def parameters(cls) -> list[inspect.Parameter]:
        """Return the options as parameters of a call."""
        kinds = {True: inspect.Parameter.POSITIONAL_OR_KEYWORD, False: inspect.Parameter.KEYWORD_ONLY}
        parameters = [
            inspect.Parameter(name, kinds[each.positional], default=each.default, annotation=each.annotation)
            for name, each in cls.declared.items()
        ]
        return sorted(parameters, key=lambda parameter: parameter.kind)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen: use replace({name}=...)")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


def command_of(command: str, inputs: Sequence[str], options: Options) -> str:
    """Return the command line of a command with these options, without defaults."""
    asked = {each.name: value for each, value in options.chosen()}
    return command_text([command], inputs, asked)


def command_text(command: Sequence[str], inputs: Sequence[str], options: Mapping[str, Any]) -> str:  # Any: their values
    """The command line of a command, its inputs and its options by name."""
    words = ["steelyard", *map(quote, command), *map(quote, inputs)]
    for key, value in options.items():
        name = key.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{name}" if value else f"--no-{name}")
        else:
            words += [word for text in option_texts(value) for word in (f"--{name}", quote(text))]
    return " ".join(words)


def option_texts(value: Any, *, is_repeated: bool = False) -> list[str]:  # Any: an option's value
    """Return the option's arguments: names are comma-separated, run filters and texts repeat the option."""
    if is_repeated and not isinstance(value, str):
        return list(value)
    if isinstance(value, Mapping):
        return [",".join(f"{key}={text}" for key, text in value.items())]
    if isinstance(value, (list, tuple)):
        if any(isinstance(each, Mapping) or "=" in each for each in value):
            return [text for each in value for text in option_texts(each)]
        return [",".join(value)]
    return [str(getattr(value, "name", value))]


P = ParamSpec("P")
Input = TypeVar("Input")
Input_contra = TypeVar("Input_contra", contravariant=True)
OptionsT = TypeVar("OptionsT", bound=Options)
OptionsT_contra = TypeVar("OptionsT_contra", contravariant=True)
AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
Examples: TypeAlias = tuple[Mapping[str, object], ...]
Takes: TypeAlias = Literal["files", "file", "logs", "store", "address", "nothing"]
"""Input of a question: files, one file, files or else the logs of installed agents, an arena, the address of a store
that it opens itself, or none."""
IN_JSON: dict[Any, Any] = {Names: tuple[str, ...], Texts: tuple[str, ...]}  # Any: types as they are written
"""Types in a request body of option types; other types are unchanged."""
PACKAGE, ARENA = "steelyard.questions", "arena_"
FILES_HELP = "Run records or logs: files, directories, archives; - for stdin."


class QuestionFunction(Protocol[Input_contra, P, OptionsT_contra, AnswerT_co]):
    """A question: `compare(runs, baseline=..., candidate=...)`, or `compare(runs, options=CompareOptions(...))`."""

    question: Question

    @overload
    def __call__(self, runs: Input_contra, /, *args: P.args, **kwargs: P.kwargs) -> AnswerT_co: ...

    @overload
    def __call__(
        self, runs: Input_contra, /, *, options: OptionsT_contra, progress: Progress | None = None
    ) -> AnswerT_co: ...


class LogQuestionFunction(Protocol[Input_contra, P, OptionsT_contra, AnswerT_co]):
    """A question that needs no input: without one it reads the logs of installed agents."""

    question: Question

    @overload
    def __call__(self, runs: Input_contra, /, *args: P.args, **kwargs: P.kwargs) -> AnswerT_co: ...

    @overload
    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> AnswerT_co: ...

    @overload
    def __call__(
        self, runs: Input_contra | None = None, /, *, options: OptionsT_contra, progress: Progress | None = None
    ) -> AnswerT_co: ...


class PlainQuestionFunction(Protocol[P, OptionsT_contra, AnswerT_co]):
    """A question without an input: `formats("claude-code")`."""

    question: Question

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> AnswerT_co: ...

    @overload
    def __call__(self, *, options: OptionsT_contra) -> AnswerT_co: ...


@dataclass(frozen=True)
class Question:
    """Declaration of a question, from which every surface is derived."""

    name: str
    options: type[Options]
    compute: Callable[..., Any]  # Any: each question has its own input, options and answer
    takes: Takes
    input_help: str
    """Help of the input."""
    input_last: bool
    """Whether its command takes the input after its other arguments: `find PATTERN FILES`."""
    all_parts: str
    """Help of `--all`, which shows the folded parts of the page; empty if the page has none."""
    examples: Examples
    """Options of example calls; the input is under the empty name."""
    file: str
    """File that the command writes unless other output is requested; empty if it prints the page."""
    appends_summary: bool
    """Whether `--summary FILE` appends the page as Markdown, for the job summary of CI."""
    path: str
    """Path of its route below the API's root; `{name}` is an option. Empty if it is not available over HTTP."""
    paged: str
    """Field of the answer with a list that its route returns in pages; empty if there is none."""
    filters: tuple[str, ...]
    """Options that keep the entries of that list with one of their values in the field of the same name."""
    scope: Scope | None
    """Scope that the token of a request needs. A question with a scope is an action: it changes the arena."""
    holder: str
    """Option that a server sets to the owner of the token; empty if there is none."""
    check_holder: Callable[[Any, Any], None] | None
    """Check that the owner of the token may do this (Any: the arena, the options)."""
    creates: str
    """Path of what the action creates, in which `{name}` is an option; empty if it creates no resource."""
    sends: str
    """Records that it reads from local files and sends to an arena here or on a server, such as `submissions`."""
    command: str
    """Its command: `run list` for `run_list`. `{name}` is an option."""
    variants: Mapping[str, str]
    """Questions that its command asks instead, by the parameter that selects them: an option of theirs, or a flag."""

    @property
    def needs_input(self) -> bool:
        """Whether it cannot be asked without an input."""
        return self.takes in ("files", "file", "store", "address")

    @property
    def has_store_option(self) -> bool:
        """Whether its command names the input with `--store`."""
        return self.takes in ("store", "address")

    @property
    def is_drawn(self) -> bool:
        """Whether its answers have figures."""
        return drawing_module(self.home.__name__) is not None

    @cached_property
    def _returned(self) -> Any:  # Any: a type
        return get_type_hints(self.compute)["return"]

    @property
    def is_stream(self) -> bool:
        """Whether it has several answers, one after another."""
        return get_origin(self._returned) is Iterator

    @property
    def answer(self) -> Any:  # Any: a type
        """Type of the answer, or of each answer of a stream."""
        return get_args(self._returned)[0] if self.is_stream else self._returned

    @property
    def home(self) -> ModuleType:
        """Module or package of the question."""
        return sys.modules[home_name(self.compute.__module__)]

    @property
    def function(self) -> Callable[..., Any]:  # Any: as above
        """The question as a Python function."""
        return cast("Callable[..., Any]", getattr(self.home, self.name))

    @property
    def help(self) -> str:
        """Summary in one line, then details: the docstring of its module."""
        return inspect.cleandoc(self.home.__doc__ or "")

    @property
    def input_name(self) -> str:
        """Name of the parameter for the input."""
        return next(iter(inspect.signature(self.compute).parameters))

    @property
    def function_name(self) -> str:
        """Return the name of its function, or of its method of an arena."""
        return self.name.removeprefix(ARENA)

    @cached_property
    def _stated(self) -> type[msgspec.Struct]:
        return self.body()

    def body(self, *, without: Collection[str] = ()) -> type[msgspec.Struct]:
        """Return the options that a request can state, as a struct."""
        name = self.options.__name__.replace("Options", "Body")
        fields: list[tuple[str, Any, Any]] = []  # Any: types and defaults
        for option_name, declared in self.options.declared.items():
            if not declared.local and option_name not in without:
                hint = self.options.types()[option_name]
                kind: Any = Annotated[IN_JSON.get(hint, hint), msgspec.Meta(description=declared.text)]
                required = declared.is_required and option_name != self.holder
                fields.append((option_name, kind, msgspec.NODEFAULT if required else declared.default))
        return msgspec.defstruct(name, fields, frozen=True, kw_only=True, forbid_unknown_fields=True)

    def options_of(self, given: Sequence[Any], keywords: Mapping[str, Any]) -> Options:  # Any: values of options
        """Return the options of a call; an unknown keyword is an error that suggests the nearest."""
        kind = self.options
        for keyword in keywords:
            if keyword not in kind.declared:
                raise self._unknown_option(keyword)
        positional = [name for name, declared in kind.declared.items() if declared.positional]
        if len(given) > len(positional):
            hint = f"use keywords: {', '.join(kind.declared)}" if kind.declared else None
            raise UsageError(
                f"too many positional arguments (got {given[len(positional)]!r})", where=self.function_name, hint=hint
            )
        for name, declared in kind.declared.items():
            if declared.is_required and name not in (*keywords, *positional[: len(given)]):
                raise UsageError(f"missing option {option(name)}", where=self.function_name)
        paths = {key: Path(word) for key, word in keywords.items() if isinstance(word, str) and key in kind.paths()}
        try:
            return kind(*given, **{**keywords, **paths})
        except TypeError as error:
            raise UsageError(f"{self.function_name}: {error}") from error

    def _unknown_option(self, name: str) -> UnknownNameError:
        """Return the error of an unknown keyword, with the question that has an option of that name."""
        error = UnknownNameError(f"option of {self.function_name}", name, self.options.declared)
        owner = next((each for each in self.variants.values() if name in question_named(each).options.declared), None)
        if owner is not None and error.nearest is None:
            error.hint = f"use {owner.removeprefix(ARENA)}"
        return error

    def _check_types(self, options: Options) -> None:
        """Reject values of other types than declared, with the same error in Python and over HTTP."""
        stated = self._stated
        try:
            msgspec.convert({name: getattr(options, name) for name in stated.__struct_fields__}, stated)
        except msgspec.ValidationError as error:
            raise UsageError(problem_text(error), where=self.function_name) from error

    def ask(self, source: Any, options: Options, *, named: Collection[str] = ()) -> Any:  # Any: as above
        """Return the answer about a source, which may be on a server.

        `named`: the options that the caller stated.
        """
        for name, choices in self.options.choices().items():
            if (word := getattr(options, name)) not in choices:
                hint = f"one of: {', '.join(str(choice) for choice in choices if choice)}"
                raise UsageError(f"unknown value {word!r} for {option(name)}", hint=hint)
        if self.scope is not None:
            self._check_types(options)
        options.check()
        if hasattr(type(source), "ask"):  # a data frame has its columns as attributes
            return source.ask(self, options)
        if self.takes == "store":
            from steelyard.questions._arena import opened  # brings SQLAlchemy

            source = opened(source)
        if "prices" in self.options.declared:
            prices = asked = vars(options)["prices"]
            for priced in (source, getattr(options, "baseline", None)):
                prices = prices_of(priced, prices, is_named="prices" in named)
            options = options if prices == asked else options.replace(prices=prices)
        try:
            return self._filtered(
                self.compute(options) if self.takes == "nothing" else self.compute(source, options), options
            )
        except UnknownKeyError:
            if source is not None and getattr(options, "map", None) is None:
                reject_unrecognized(source)
            raise

    def _filtered(self, answer: Any, options: Options) -> Any:  # Any: as above
        """Return the answer with the entries of its list that the filters keep."""
        for name in self.filters:
            if wanted := frozenset(getattr(options, name)):
                kept = tuple(each for each in getattr(answer, self.paged) if getattr(each, name) in wanted)
                answer = msgspec.structs.replace(answer, **{self.paged: kept})
        if self.paged and (top := getattr(options, "top", None)) is not None:
            answer = msgspec.structs.replace(answer, **{self.paged: getattr(answer, self.paged)[:top]})
        return answer


class ArenaMethods:
    """The questions about an arena as methods: `arena.history()` is `arena_history(arena)`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:  # Any: each question has its own answer
        if name.startswith("_") or not is_question(f"{ARENA}{name}"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        declared = question_named(f"{ARENA}{name}")
        if declared.takes != "store":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(declared.function, self)


def log_question(
    options: Callable[P, OptionsT], *, examples: Examples = (), input_help: str = FILES_HELP, path: str | None = None
) -> Callable[[Callable[[Input | None, OptionsT], AnswerT]], LogQuestionFunction[Input, P, OptionsT, AnswerT]]:
    """Make a question of a function that is given None if the call names no input."""
    # Any: another protocol
    made: Any = question(options, takes="logs", examples=examples, input_help=input_help, path=path)
    return cast("Callable[[Callable[..., AnswerT]], LogQuestionFunction[Input, P, OptionsT, AnswerT]]", made)


def plain_question(
    options: Callable[P, OptionsT], *, examples: Examples = (), path: str | None = None
) -> Callable[[Callable[[OptionsT], AnswerT]], PlainQuestionFunction[P, OptionsT, AnswerT]]:
    """Make a question of a function that takes options only."""

    def decorate(compute: Callable[[OptionsT], AnswerT]) -> PlainQuestionFunction[P, OptionsT, AnswerT]:
        made: Any = question(options, takes="nothing", examples=examples, path=path)  # Any: another protocol
        return cast("PlainQuestionFunction[P, OptionsT, AnswerT]", made(compute))

    return decorate


def arena_question(
    options: Callable[P, OptionsT],
    *,
    path: str,
    paged: str = "",
    filters: tuple[str, ...] = (),
    command: str = "",
    variants: Mapping[str, str] | None = None,
    examples: Examples = (),
) -> Callable[[Callable[[Arena, OptionsT], AnswerT]], QuestionFunction[Arena | str, P, OptionsT, AnswerT]]:
    """Make a question of a function that takes an arena; callers may also name its store or a server.

    The function ignores the options named in `filters`, because they select entries of its answer; `top` is the number
    of entries after that.
    """

    def decorate(compute: Callable[[Arena, OptionsT], AnswerT]) -> QuestionFunction[Arena | str, P, OptionsT, AnswerT]:
        # Any: another protocol
        made: Any = question(
            options,
            takes="store",
            path=path,
            paged=paged,
            filters=filters,
            command=command,
            variants=variants,
            examples=examples,
        )
        return cast("QuestionFunction[Arena | str, P, OptionsT, AnswerT]", made(compute))

    return decorate


def arena_action(
    options: Callable[P, OptionsT],
    *,
    scope: Scope = "admin",
    path: str = "",
    holder: str = "",
    check_holder: Callable[[Arena, OptionsT], None] | None = None,
    creates: str = "",
    sends: str = "",
    command: str = "",
    variants: Mapping[str, str] | None = None,
    examples: Examples = (),
) -> Callable[[Callable[[Arena, OptionsT], AnswerT]], QuestionFunction[Arena | str, P, OptionsT, AnswerT]]:
    """Make an action of a function that changes an arena: a POST route whose JSON body is the options.

    An action without a `path` is available only to the owner of the store, unless it `sends` records.
    """

    def decorate(compute: Callable[[Arena, OptionsT], AnswerT]) -> QuestionFunction[Arena | str, P, OptionsT, AnswerT]:
        # Any: another protocol
        made: Any = question(
            options,
            takes="store",
            path=path,
            scope=scope,
            holder=holder,
            check_holder=check_holder,
            creates=creates,
            sends=sends,
            command=command,
            variants=variants,
            examples=examples,
        )
        return cast("QuestionFunction[Arena | str, P, OptionsT, AnswerT]", made(compute))

    return decorate


def store_action(
    options: Callable[P, OptionsT], *, examples: Examples = ()
) -> Callable[[Callable[[str, OptionsT], AnswerT]], QuestionFunction[str, P, OptionsT, AnswerT]]:
    """Make an action of a function that takes the address of a store, which need not contain an arena yet."""
    made: Any = question(options, takes="address", scope="admin", path="", examples=examples)  # Any: another protocol
    return cast("Callable[[Callable[..., AnswerT]], QuestionFunction[str, P, OptionsT, AnswerT]]", made)


def question(
    options: Callable[P, OptionsT],
    *,
    takes: Takes = "files",
    input_help: str = FILES_HELP,
    input_last: bool = False,
    examples: Examples = (),
    all_parts: str = "",
    file: str = "",
    appends_summary: bool = False,
    path: str | None = None,
    paged: str = "",
    filters: tuple[str, ...] = (),
    scope: Scope | None = None,
    holder: str = "",
    check_holder: Callable[[Any, OptionsT], None] | None = None,
    creates: str = "",
    sends: str = "",
    command: str = "",
    variants: Mapping[str, str] | None = None,
) -> Callable[[Callable[[Input, OptionsT], AnswerT]], QuestionFunction[Input, P, OptionsT, AnswerT]]:
    """Make a question of a function that takes an input and options: the options become keywords of the call.

    `path` is the path of its route (default: its name); empty if it is not available over HTTP. `command` is its
    command (default: the words of its name).
    """

    def decorate(compute: Callable[[Input, OptionsT], AnswerT]) -> QuestionFunction[Input, P, OptionsT, AnswerT]:
        kind = cast("type[Options]", options)
        name = compute.__name__
        declared = Question(
            name=name,
            options=kind,
            compute=compute,
            takes=takes,
            input_help=input_help,
            input_last=input_last,
            all_parts=all_parts,
            examples=examples,
            file=file,
            appends_summary=appends_summary,
            path=f"/{name}" if path is None else path,
            paged=paged,
            filters=filters,
            scope=scope,
            holder=holder,
            check_holder=check_holder,
            creates=creates,
            sends=sends,
            command=command or name.replace("_", " "),
            variants=variants or {},
        )
        first = declared.input_name

        @wraps(compute)
        def call(*given: Any, **keywords: Any) -> AnswerT:  # Any: `QuestionFunction` has the static types
            progress = keywords.pop("progress", current_progress())
            chosen = keywords.pop("options", None)
            source: tuple[Any, ...] = ()  # Any: as above
            if takes != "nothing":
                source = (keywords.pop(first),) if first in keywords else given[:1]
            if not source and declared.needs_input:
                raise UsageError(f"{declared.name} requires {first}")
            if chosen is not None and (keywords or given[len(source) :]):
                raise UsageError(f"{declared.name} accepts options= or single options, not both")
            if chosen is None:
                chosen = declared.options_of(given[len(source) :], keywords)
            with reporting(progress):
                return cast("AnswerT", declared.ask(source[0] if source else None, chosen, named=keywords.keys()))

        call.__signature__ = _signature(declared)  # type: ignore[attr-defined] # inspect reads it from there
        call.__doc__ = f"{inspect.cleandoc(compute.__doc__ or '')}\n\n{_listed(kind)}"
        call.question = declared  # type: ignore[attr-defined] # `QuestionFunction` declares it
        return cast("QuestionFunction[Input, P, OptionsT, AnswerT]", call)

    return decorate


def _signature(declared: Question) -> inspect.Signature:
    default = inspect.Parameter.empty if declared.needs_input else None
    first = inspect.Parameter(declared.input_name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
    inputs = [] if declared.takes == "nothing" else [first]
    name = declared.options.__name__
    whole = inspect.Parameter("options", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=name)
    return inspect.Signature([*inputs, *declared.options.parameters(), whole])


def _listed(kind: type[Options]) -> str:
    return "Options:\n" + "\n".join(f"    {name}: {each.text}" for name, each in kind.declared.items())


def question_names() -> list[str]:
    """Return the names of the questions: the modules and packages here that contain a question and its page."""
    names = [info.name for info in pkgutil.iter_modules(questions.__path__)]
    names += [f"{ARENA}{info.name}" for info in pkgutil.iter_modules(arena.__path__)]
    return [name for name in names if not name.removeprefix(ARENA).startswith("_") and is_question(name)]


def is_question(name: str) -> bool:
    """Return whether a module here declares a question; seen in its code, because importing all of them is slow."""
    spec = importlib.util.find_spec(module_name(name))
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    names = loader.get_code(module_name(name)).co_names if loader else ()
    return not {"arena_action", "store_action"}.isdisjoint(names) or (
        "page" in names and not {"question", "log_question", "plain_question", "arena_question"}.isdisjoint(names)
    )


def unplaced_arena_questions(placed: Collection[str]) -> list[str]:
    """Return the other questions about an arena, except those that another command asks; seen in their code."""
    names = [f"{ARENA}{info.name}" for info in pkgutil.iter_modules(arena.__path__) if not info.name.startswith("_")]
    return [name for name in names if name not in placed and is_question(name) and not _declares_command(name)]


def _declares_command(name: str) -> bool:
    """Return whether a question is declared with a command that is not its name."""
    spec = importlib.util.find_spec(module_name(name))
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    constants = loader.get_code(module_name(name)).co_consts
    return any(isinstance(each, tuple) and "command" in each and {"path", "scope"} & {*each} for each in constants)


def question_summary(name: str) -> str:
    """Return the first line of a question's help; seen in its code, without importing it."""
    spec = importlib.util.find_spec(module_name(name))
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    summary: str = loader.get_code(module_name(name)).co_consts[0].partition("\n")[0]
    return summary


def module_name(name: str) -> str:
    """Return the module of a question.

    >>> module_name("compare"), module_name("arena_history")
    ('steelyard.questions.compare', 'steelyard.questions.arena.history')
    """
    return f"{PACKAGE}.{name.replace(ARENA, 'arena.', 1) if name.startswith(ARENA) else name}"


def question_named(name: str) -> Question:
    """Return the question of a name."""
    module = importlib.import_module(module_name(name))
    return cast("Question", getattr(module, name).question)
