"""Questions: Python functions whose options are keywords of the call, or one options object.

`@question(CompareOptions)` makes a question of a function that takes its input and its options. A question is
registered because its module is in this package under its name: `questions/compare/` contains `compare`, and
`questions/arena/history.py` contains `arena_history`. An action is a question that changes an arena.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, wraps
from pathlib import Path
from types import ModuleType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_type_hints,
    overload,
)

import msgspec

from steelyard.errors import UnknownKeyError, UnknownNameError, UsageError
from steelyard.option_names import option
from steelyard.questions._answer import home_name
from steelyard.questions._declaration import Options
from steelyard.questions._options import Names, Texts
from steelyard.questions._run_input import Progress, current_progress, prices_of, reject_unrecognized, reporting
from steelyard.records import Scope, problem_text

if TYPE_CHECKING:
    from steelyard.arena import Arena

P = ParamSpec("P")
Input = TypeVar("Input")
Input_contra = TypeVar("Input_contra", contravariant=True)
OptionsT = TypeVar("OptionsT", bound=Options)
OptionsT_contra = TypeVar("OptionsT_contra", contravariant=True)
AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
Examples: TypeAlias = tuple[Mapping[str, object], ...]
Takes: TypeAlias = Literal["files", "file", "logs", "store", "nothing"]
"""Input of a question: files, one file, files or else the logs of installed agents, an arena, or none."""
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
    command: str
    """Its command: `run list` for `run_list`. `{name}` is an option."""
    variants: Mapping[str, str]
    """Questions that its command asks instead, by the parameter that selects them: an option of theirs, or a flag."""

    @property
    def needs_input(self) -> bool:
        """Whether it cannot be asked without an input."""
        return self.takes in ("files", "file", "store")

    @property
    def is_drawn(self) -> bool:
        """Whether its answers have figures."""
        return hasattr(self.home, "figures")

    @cached_property
    def answer(self) -> Any:  # Any: a type
        """Type of the answer."""
        return get_type_hints(self.compute)["return"]

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
                raise UnknownNameError(f"option of {self.name}", keyword, kind.declared)
        positional = [name for name, declared in kind.declared.items() if declared.positional]
        for name, declared in kind.declared.items():
            if declared.is_required and name not in (*keywords, *positional[: len(given)]):
                raise UsageError(f"missing option {option(name)}", where=self.name)
        paths = {key: Path(word) for key, word in keywords.items() if isinstance(word, str) and key in kind.paths()}
        try:
            return kind(*given, **{**keywords, **paths})
        except TypeError as error:
            raise UsageError(f"{self.name}: {error}") from error

    def _check_types(self, options: Options) -> None:
        """Reject values of other types than declared, with the same error in Python and over HTTP."""
        body = self.body()
        try:
            msgspec.convert({name: getattr(options, name) for name in body.__struct_fields__}, body)
        except msgspec.ValidationError as error:
            raise UsageError(problem_text(error), where=self.name) from error

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
    examples: Examples = (),
) -> Callable[[Callable[[Arena, OptionsT], AnswerT]], QuestionFunction[Arena | str, P, OptionsT, AnswerT]]:
    """Make an action of a function that changes an arena: a POST route whose JSON body is the options.

    Without a `path` it is for the owner of the store only.
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
            examples=examples,
        )
        return cast("QuestionFunction[Arena | str, P, OptionsT, AnswerT]", made(compute))

    return decorate


def question(
    options: Callable[P, OptionsT],
    *,
    takes: Takes = "files",
    input_help: str = FILES_HELP,
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
    from steelyard import questions as package
    from steelyard.questions import arena

    names = [info.name for info in pkgutil.iter_modules(package.__path__)]
    names += [f"{ARENA}{info.name}" for info in pkgutil.iter_modules(arena.__path__)]
    return [name for name in names if not name.removeprefix(ARENA).startswith("_") and is_question(name)]


def is_question(name: str) -> bool:
    """Return whether a module here declares a question; seen in its code, because importing all of them is slow."""
    spec = importlib.util.find_spec(module_name(name))
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    names = loader.get_code(module_name(name)).co_names if loader else ()
    return "arena_action" in names or (
        "page" in names and not {"question", "log_question", "plain_question", "arena_question"}.isdisjoint(names)
    )


def unplaced_arena_questions(placed: Collection[str]) -> list[str]:
    """Return the other questions about an arena, except those that another command asks; seen in their code."""
    from steelyard.questions import arena

    names = [f"{ARENA}{info.name}" for info in pkgutil.iter_modules(arena.__path__) if not info.name.startswith("_")]
    return [name for name in names if name not in placed and is_question(name) and not _declares_command(name)]


def _declares_command(name: str) -> bool:
    """Return whether a question is declared with a command that is not its name."""
    spec = importlib.util.find_spec(module_name(name))
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    constants = loader.get_code(module_name(name)).co_consts
    return any(isinstance(each, tuple) and {"command", "path"} <= {*each} for each in constants)


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
