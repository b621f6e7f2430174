"""Parameters of a formula: inputs, and constants that a profile sets."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_type_hints

from steelyard.errors import DeclarationError
from steelyard.metrics._words import Value
from steelyard.profiles import default_profile
from steelyard.records import CustomKind, custom_input, is_custom_field

Reducer: TypeAlias = str
"""The name of a statistic that may reduce."""
Scope = Literal["own", "base", "all"]


@dataclass(frozen=True, slots=True)
class Input:
    """Meaning of a parameter of a formula. `of` is the fact or metric it is taken from, else its own name."""

    optional: bool = False
    reduce: Reducer | None = None
    of: str | None = None
    scope: Scope = "own"
    kind: CustomKind | None = None
    """What the values under a custom field (`x_...`) are; others under the key are missing."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A parameter that a profile sets. Its default is that of the shipped profile; where none sets it, its own."""


# Any: on plain numbers these are floats, on tables column expressions.
Required: TypeAlias = Annotated[Any, Input()]
Optional: TypeAlias = Annotated[Any, Input(optional=True)]
Mean: TypeAlias = Annotated[Any, Input(reduce="mean")]
Sum: TypeAlias = Annotated[Any, Input(reduce="sum")]
CustomFloat: TypeAlias = Annotated[Any, Input(kind="float")]
CustomBool: TypeAlias = Annotated[Any, Input(kind="bool")]
Param: TypeAlias = Annotated[float, Constant()]


def read_signature(function: Callable[..., Value], spec: str) -> tuple[dict[str, Input], dict[str, float]]:
    """The inputs and the constants of a formula, by the names of its parameters."""
    inputs: dict[str, Input] = {}
    constants: dict[str, float] = {}
    hints = get_type_hints(function, include_extras=True)
    for name, parameter in inspect.signature(function).parameters.items():
        marks = [mark for mark in get_args(hints.get(name)) if isinstance(mark, (Input, Constant))]
        if not marks:
            raise DeclarationError(f"parameter {name!r} must be annotated as an input or a Param")
        if isinstance(marks[0], Constant):
            constants[name] = _default(name, parameter.default, spec)
        else:
            inputs[name] = _custom_input(name, marks[0])
    return inputs, constants


def _custom_input(name: str, spec: Input) -> Input:
    """The input; one that is a custom field is taken from its values of the declared kind."""
    key = spec.of or name
    if is_custom_field(key) != (spec.kind is not None):
        message = f"{key!r} is a custom field without a declared type"
        if spec.kind is not None:
            message = f"{key!r} has a type, which is only for custom fields (x_...)"
        raise DeclarationError(message, hint="annotate custom fields (x_...) with CustomFloat or CustomBool")
    return spec if spec.kind is None else replace(spec, of=custom_input(key, spec.kind))


def _default(name: str, own: Any, spec: str) -> float:  # Any: a number, or nothing
    """Return the default of a constant, from the shipped profile if it has one."""
    shipped = default_profile(spec)
    if shipped is not None and name in shipped.constants:
        if own is not inspect.Parameter.empty:
            hint = f"write {name}: Param"
            raise DeclarationError(f"Param {name!r} has a default, but {shipped.name} sets it", hint=hint)
        return shipped.constant(name, math.nan)
    if own is inspect.Parameter.empty:
        raise DeclarationError(f"Param {name!r} needs a default: no built-in profile of {spec!r} sets it")
    if not isinstance(own, int | float):
        raise DeclarationError(f"the default of Param {name!r} is {own!r}, not a number")
    return own
