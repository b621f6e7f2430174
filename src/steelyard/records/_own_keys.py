"""Values of `x_` keys as cells of tables whose cells have no type, and back, without loss.

A cell is a value other than text when it stands there exactly as JSON writes it: `12` and `0.5` are numbers, `007`,
`1e5` and `1.50` are text, since a number would lose how they are written. Lists and objects are JSON however they are
spaced. Text that would be taken for something else is written in JSON's quotes.
"""

from __future__ import annotations

from typing import Any

import msgspec

_PLAIN = frozenset({str, int, float, bool})


def own_cell(value: Any) -> str:  # Any: the user's own value
    """The value as the text of a cell that `own_value` gives back."""
    if isinstance(value, str) and value and own_value(value) == value:
        return value
    return _json(value)


def own_value(cell: str) -> Any:  # Any: the user's own value
    """The value that the text of a cell stands for.

    >>> [own_value(cell) for cell in ("12", "007", "true", '"12"', "[1, 2]", "some words")]
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
