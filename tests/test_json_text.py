"""JSON on stdout is that of Python's own writer, byte for byte, save that invisible characters are escaped."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from steelyard.pages import json_text

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters())  # lone surrogates too
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts | st.integers(), inner),
    max_leaves=30,
)


@settings(max_examples=200, deadline=None)
@given(value=values)
@example(value=[1e-05, 1e16, -0.0, 5e-324, 10**40, [], {}, [[]], {"a": {}}, '\x00\x1f\x7f\u2028/\\"é\ud800'])
def test_json_is_what_pythons_own_writer_gives(value: Any) -> None:
    theirs = json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False)
    written = json_text(value)
    assert written.replace("\n", "").isprintable()
    assert json.loads(written) == json.loads(theirs)
    assert written == "".join(
        character
        if character == "\n" or character.isprintable()
        else json.dumps(character)[1:-1]  # as Python itself escapes what is not ASCII
        for character in theirs
    ).replace("\x7f", "\\u007f")


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}])
def test_numbers_that_json_does_not_have_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        json_text(value)
