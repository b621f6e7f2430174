"""Text that every database takes, and names that fit into an index of any of them."""

from __future__ import annotations

import re
from typing import Any

from steelyard.records._finite_numbers import leaves

_FORBIDDEN = re.compile("[\0\ud800-\udfff]")
"""What no database takes as text: the NUL byte, and halves of characters."""

MOST_NAME_BYTES = 1024
"""The longest name by which something is found, in bytes of UTF-8: an entry of PostgreSQL's index holds 2,704."""


def is_storable(text: str) -> bool:
    r"""Whether every database takes the text: nothing that one holds is named by what it does not take.

    Bytes of a command line that are not UTF-8 come as halves of characters.

    >>> is_storable("ant"), is_storable("a\udcff"), is_storable("a\0")
    (True, False, False)
    """
    return _FORBIDDEN.search(text) is None


def forbidden_text(values: Any) -> str | None:  # Any: JSON or TOML values, and records of them
    """The place of a text that no database takes; None when there is none.

    >>> forbidden_text({"tools": ["ant", "b" + chr(0)]})
    'tools[2]'
    """
    return next((place for place, leaf in leaves(values) if isinstance(leaf, str) and not is_storable(leaf)), None)


def is_too_long(name: str) -> bool:
    """Whether the name takes more bytes than an index holds for sure.

    >>> is_too_long("a" * 1024), is_too_long("\u6f22" * 1000)
    (False, True)
    """
    return len(name) * 4 > MOST_NAME_BYTES and len(name.encode("utf-8", "surrogatepass")) > MOST_NAME_BYTES
