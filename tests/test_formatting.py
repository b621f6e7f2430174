"""Number formatting, and that no other module formats percentages, amounts or intervals."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from steelyard.formatting import (
    bounds_text,
    confidence_interval,
    decimal,
    difference_text,
    dollars,
    exact_dollars,
    file_size,
    number_format,
    p_value,
    percent,
    plain,
    quantity,
    quantity_column,
    tick,
    versus,
)

ROOT = Path(__file__).parent.parent / "src" / "steelyard"
REASON = "numbers are formatted by steelyard.formatting alone, so that every surface writes them the same way"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (percent(0.483), "48.3%"),
        (percent(0.0), "0.0%"),
        (percent(0.0004), "0.04%"),
        (difference_text(0.05, "fraction", signed=True), "+5.0 pp"),
        (difference_text(-0.00004, "fraction"), "-0.004 pp"),
        (confidence_interval(0.95, 0.028, 0.128, "fraction", of_difference=True), "95% CI 2.8 to 12.8"),
        (bounds_text(-0.0002, 0.05, "fraction", of_difference=True), "-0.02 to 5.00"),
        (bounds_text(None, 0.05, "fraction"), "-"),
        (versus(0.74, 0.69, "fraction"), "74.0% vs. 69.0%"),
        (p_value(0.056), "p = 0.056"),
        (p_value(0.0009), "p < 0.001"),
        (dollars(0.0624), "$0.0624"),
        (dollars(-0.0624), "-$0.0624"),
        (dollars(0.0000108), "$0.0000108"),
        (dollars(1234.5), "$1,234.50"),
        (exact_dollars(3.0), "$3"),
        (exact_dollars(0.3), "$0.30"),
        (exact_dollars(Decimal("6.2500")), "$6.25"),
        (exact_dollars(Decimal("0.0833333333333333")), "$0.0833333333333333"),
        (exact_dollars(1e-06), "$0.000001"),
        (exact_dollars(Decimal("1E+3")), "$1,000"),
        (exact_dollars(0), "$0"),
        (quantity(83.21, "s"), "83.2 s"),
        (quantity(0.0004, "s"), "0.4 ms"),
        (quantity(0.25, "tokens"), "0.25 tokens"),
        (quantity(1234.0, "tool calls"), "1,234 tool calls"),
        (quantity(math.inf, "USD"), "∞"),
        (quantity(None, "USD"), "-"),
        (quantity(5e-17, "fraction"), "0.0%"),
        (decimal(-0.0001, signed=True), "-0.0001"),
        (decimal(-0.0), "0.00"),
        (plain(2.0**53), "9,007,199,254,740,992"),
        (file_size(45_300_000), "45.3 MB"),
        (tick(0.0, "USD"), "$0"),
        (tick(12_000, "tokens"), "12k"),
    ],
)
def test_formatting_text(text: str, expected: str) -> None:
    assert text == expected


def test_column_has_one_unit_and_one_number_of_decimals() -> None:
    assert quantity_column([0.0624, 12.5, None], "USD") == ["$0.06", "$12.50", "-"]
    assert quantity_column([0.00002, 0.5], "USD") == ["$0.00002", "$0.50000"]
    assert quantity_column([0.0004, 0.05], "s") == ["0.4 ms", "50.0 ms"]
    assert quantity_column([0.0004, 5.0], "s") == ["0.0004 s", "5.0000 s"]
    assert quantity_column([1e-9, 0.5], "fraction") == ["<0.00001%", "50.00000%"]


@given(
    st.lists(st.floats(-1e12, 1e12).filter(lambda value: not 0 < abs(value) < 1e-11), min_size=1, max_size=5),
    st.sampled_from(["fraction", "pp", "USD", "s", "tokens", "count", "ratio", "ln ratio", ""]),
)
def test_nonzero_value_never_prints_as_zero(values: list[float], unit: str) -> None:
    column = number_format(values, unit)
    for value in values:
        for text in (column.text(value), quantity(value, unit), tick(value, unit)):
            assert (value == 0) == (not re.search("[1-9]", text)), (value, text)


def offenses(source: str) -> Iterator[str]:
    """Each place that formats a percentage, an amount of money, an interval or a p-value, with the reason."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield from (f"line {node.lineno}: {what}; {REASON}" for what in _in_f_string(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.search(r"%[+,]?\.?\d*[fge]\b|\{[^{}]*:[^{}]*%\}", node.value) and not re.search(
                r"%[YmdHM]", node.value
            ):
                yield f"line {node.lineno}: a format string; {REASON}"
            if re.search(r"\d %(?![\w(])", node.value):
                yield f"line {node.lineno}: a percentage with a space, write 48.3%"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "format":
            yield f"line {node.lineno}: format(); {REASON}"


def _in_f_string(node: ast.JoinedStr) -> Iterator[str]:
    for before, part, after, later in zip(
        [None, *node.values], node.values, [*node.values[1:], None], [*node.values[2:], None, None], strict=False
    ):
        if not isinstance(part, ast.FormattedValue):
            continue
        spec = _spec(part)
        if spec.endswith("%") or (_text(after) and re.match(r"\s?%(?![0-9A-F]{2})", _text(after))):
            yield "a percentage"
        if _text(before).endswith("$") and spec:
            yield "an amount of money"
        if _text(before).endswith(("p = ", "p < ")) and spec:
            yield "a p-value"
        if _is_decimal(spec) and _text(after) == " to " and _is_decimal(_spec(later)):
            yield "an interval"


def _spec(part: ast.expr | None) -> str:
    if not isinstance(part, ast.FormattedValue) or part.format_spec is None:
        return ""
    return ast.unparse(part.format_spec).strip("f'\"") + ("" if "%" in ast.unparse(part.format_spec) else "f")


def _is_decimal(spec: str) -> bool:
    return "." in spec


def _text(part: ast.expr | None) -> str:
    return part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""


@pytest.mark.checkout
def test_no_other_module_formats_amounts() -> None:
    found = [
        f"{path.relative_to(ROOT)}, {offense}"
        for path in sorted(ROOT.rglob("*.py"))
        if path != ROOT / "formatting.py"
        for offense in offenses(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        'f"{100 * share:.1f} %"',
        'f"{100 * share:.1f}%"',
        'f"{share:.1%}"',
        'f"${cost:.4f}"',
        'f"{low:.2f} to {high:.2f}"',
        'f"p = {p:.3f}"',
        '"{:.1%}".format(share)',
        '"%.1f" % share',
        'format(share, ".1%")',
        '"95 % of runs"',
    ],
)
def test_check_finds_planted_code(planted: str) -> None:
    assert list(offenses(planted)), planted


@pytest.mark.parametrize("innocent", ['f"{n:,} runs"', 'f"{at:%Y-%m-%d}"', 'f"{a} to {b}"', 'f"{score:.2f}"', "n % 2"])
def test_check_accepts_other_formats(innocent: str) -> None:
    assert not list(offenses(innocent)), innocent
