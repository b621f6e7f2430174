"""Values of `x_` keys as cells of tables whose cells have no type, and back, without loss.

A cell is a value other than text when it is written exactly as in JSON: `12` and `0.5` are numbers, `007`,
`1e5` and `1.50` are text, since a number would lose how they are written. Lists and objects are JSON however they are
spaced. Text that would be taken for something else is written in JSON's quotes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

_PLAIN = frozenset({str, int, float, bool})
CustomKind: TypeAlias = Literal["float", "bool"]
"""Types of custom fields that a metric can use."""


def is_custom_field(name: str) -> bool:
    """Return whether the name is that of a custom field."""
    return name.startswith("x_") and len(name) > len("x_")


def custom_input(key: str, kind: CustomKind) -> str:
    """The name under which the values of a key are facts: those of one kind, since a key may hold several."""
    return f"{key} as {kind}"


def is_custom_input(name: str) -> bool:
    """Whether it is the name of such a fact."""
    return is_custom_field(name) and name.endswith((" as float", " as bool"))


def custom_inputs(values: Mapping[str, Any]) -> dict[str, float | bool]:  # Any: the user's own values
    """The values that are numbers or flags, by the names of their facts."""
    facts: dict[str, float | bool] = {}
    for key, value in values.items():
        if isinstance(value, bool):
            facts[custom_input(key, "bool")] = value
        elif isinstance(value, int | float):
            facts[custom_input(key, "float")] = _float(value)
    return facts


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the range of float
        return math.inf if value > 0 else -math.inf


def custom_text(value: Any) -> str | None:  # Any: the user's own value
    """The value as a key to group and choose by: text as it is, all else as JSON writes it; None for null.

    >>> custom_text("main"), custom_text(12), custom_text(True)
    ('main', '12', 'true')
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else _json(value)
    return text.encode("utf-8", "backslashreplace").decode()  # a column of text cannot contain lone surrogates


def custom_cell(value: Any) -> str:  # Any: the user's own value
    """The value as the text of a cell that `custom_value` gives back."""
    if isinstance(value, str) and value and custom_value(value) == value:
        return value
    return _json(value)


def custom_value(cell: str) -> Any:  # Any: the user's own value
    """Return the value of a cell's text.

    >>> [custom_value(cell) for cell in ("12", "007", "true", '"12"', "[1, 2]", "some words")]
    [12, '007', True, '12', [1, 2], 'some words']
    """
    try:
        value = msgspec.json.decode(cell)
    except (msgspec.MsgspecError, RecursionError, ValueError):  # ValueError: more digits than Python takes
        return cell
    return value if isinstance(value, list | dict) or _json(value) == cell else cell


def plain_type(values: list[Any]) -> type | None:  # Any: the user's own values
    """The one type of text, numbers or flags that all the values have, so that a typed column holds them; else None."""
    types = {type(value) for value in values}
    if len(types) != 1 or not types <= _PLAIN:
        return None
    if types == {int} and not all(-(2**63) <= value < 2**63 for value in values):
        return None
    return types.pop()


def _json(value: Any) -> str:  # Any: the user's own value
    return msgspec.json.encode(value, order="deterministic").decode()


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "\0", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What a spreadsheet takes for the beginning of a formula; the last four are the wide forms of the first."""
_FORMULA = re.compile(rf"'*[{re.escape(''.join(FORMULA_SIGNS))}]")


def escaped_text(text: str) -> str:
    """The text of a cell; what a spreadsheet would run as a formula begins with a quote, which `plain_text` removes.

    >>> [escaped_text(text) for text in ("=1+1", "'=1+1", "it's")]
    ["'=1+1", "''=1+1", "it's"]
    """
    return f"'{text}" if _FORMULA.match(text) else text


def plain_text(cell: str) -> str:
    """The text that `escaped_text` made the cell of.

    >>> [plain_text(cell) for cell in ("'=1+1", "''=1+1", "it's", "'quoted'", "-1")]
    ['=1+1', "'=1+1", "it's", "'quoted'", '-1']
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
