"""Options of a question, declared once: the command line, Python, HTTP and the documentation are derived from them."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from shlex import quote
from types import NoneType, UnionType
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from steelyard.errors import UsageError

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


class _Declared(NamedTuple):
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
    return _Declared(text, default, short, local, not kw_only, flag)


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
            if isinstance(vars(cls).get(name), _Declared)
        }
        for name, option in own.items():
            if option.is_required:
                delattr(cls, name)
            else:
                setattr(cls, name, option.default)
        cls._own = own
        cls.declared = {
            name: option for base in reversed(cls.__mro__) for name, option in vars(base).get("_own", {}).items()
        }

    _own: ClassVar[dict[str, Option]] = {}
    _types: ClassVar[dict[str, Any]] = {}  # Any: types as they are written

    def __init__(self, *given: Any, **named: Any) -> None:  # Any: `dataclass_transform` has the static types
        positional = [name for name, option in self.declared.items() if option.positional]
        values = dict(zip(positional, given, strict=False)) | named
        if len(given) > len(positional) or (values.keys() - self.declared.keys()):
            unknown = next(iter(values.keys() - self.declared.keys()), "more positional arguments")
            raise TypeError(f"{type(self).__name__} has no option {unknown!r}")
        for name, option in self.declared.items():
            value = values.get(name, option.default)
            if value is REQUIRED:
                raise TypeError(f"missing a required argument: {name!r}")
            if option.annotation in ("Names", "Texts") and isinstance(value, (str, PathLike)):
                # one string for several names, as on the command line: `by="tier,agent"`, `rule="..."`
                value = tuple(split_names(str(value)) if option.annotation == "Names" else [value])
            object.__setattr__(self, name, value)

    def check(self) -> None:
        """Reject values out of range, before the question is asked of a file or a server."""

    def replace(self, **changes: Any) -> Self:  # Any: values of any options
        """Return the options with some of them changed."""
        return type(self)(**(vars(self) | changes))

    def chosen(self) -> Iterator[tuple[Option, Any]]:  # Any: as above
        """Yield the options that differ from their defaults, with their values."""
        for name, option in self.declared.items():
            value = getattr(self, name)
            if option.is_required or value != option.default:
                yield option, value

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
            inspect.Parameter(name, kinds[option.positional], default=option.default, annotation=option.annotation)
            for name, option in cls.declared.items()
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
    asked = {option.name: value for option, value in options.chosen()}
    return command_text([command], inputs, asked)


def command_text(command: Sequence[str], inputs: Sequence[str], options: Mapping[str, Any]) -> str:  # Any: their values
    """The command line of a command, its inputs and its options by name."""
    words = ["steelyard", *map(quote, command), *map(quote, inputs)]
    for option, value in options.items():
        name = option.replace("_", "-")
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
