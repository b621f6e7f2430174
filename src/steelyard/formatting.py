"""Number formatting: the only module that turns percentages, amounts and intervals into text.

Fractions print as percentages and their differences as percentage points. The numbers of one column share a unit and a
number of decimals. A value that is not zero never prints as zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

DASH = "-"
"""Text of a missing value in a table."""

UNITS_IN_CELLS = ("fraction", "ratio", "USD", "s")
"""Units that are part of every cell, so the column heading does not name them."""

_ROUNDING_ERROR = 1e-12
"""Sums of doubles differ from zero by less than this; smaller values print as zero."""
_EXTRA_DECIMALS = 4
"""Decimals a column may add to show its smallest value; a smaller one prints as a bound: <0.00001."""
_LARGE = 1e15
"""Values from here on print with an exponent."""
_WHOLE_UNITS = ("tool calls", "iterations", "interactions", "signatures", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFormat:
    """Unit and decimals shared by all numbers of a column."""

    decimals: int
    scale: float = 1.0
    prefix: str = ""
    suffix: str = ""
    trim: bool = False
    """Whether zeros at the end are dropped."""

    def text(self, value: float | None, *, signed: bool = False, bare: bool = False) -> str:
        """The number with its unit, or without it if `bare`; a dash if it is missing."""
        if value is None or math.isnan(value):
            return DASH
        size = abs(value)
        if math.isinf(value):
            return "-∞" if value < 0 else "+∞" if signed else "∞"
        digits, bound = self._digits(size)
        is_zero = not any(digit in digits for digit in "123456789")
        sign = "" if is_zero else "-" if value < 0 else "+" if signed else ""
        below = "" if not bound else ">" if value < 0 else "<"
        return f"{below}{sign}{digits}" if bare else f"{below}{sign}{self.prefix}{digits}{self.suffix}"

    def _digits(self, size: float) -> tuple[str, bool]:
        """Digits without a sign, and whether the value is smaller than what they say."""
        if size < _ROUNDING_ERROR:
            size = 0.0
        if size * self.scale >= _LARGE:
            return f"{size * self.scale:.2e}", False
        digits = f"{size * self.scale:,.{self.decimals}f}"
        if self.trim and "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        if size and not any(digit in digits for digit in "123456789"):
            return f"{10.0**-self.decimals:.{self.decimals}f}", True
        return digits, False


def number_format(values: Iterable[float | None], unit: str, *, difference: bool = False) -> NumberFormat:
    """The format of a column with these values; differences of fractions are percentage points.

    >>> column = number_format([0.0624, 12.5, None], "USD")
    >>> [column.text(value) for value in (0.0624, 12.5, None)]
    ['$0.06', '$12.50', '-']
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    sizes = [size for size in sizes if size >= _ROUNDING_ERROR]
    base = _base_format(sizes, unit, difference=difference)
    if not sizes:
        return base
    smallest = min(sizes) * base.scale
    needed = _decimals_of(smallest, digits=1)
    if needed <= base.decimals:
        return base
    if len(set(sizes)) == 1:
        return replace(base, decimals=min(_decimals_of(smallest, digits=3), 15), trim=True)
    return replace(base, decimals=min(needed, base.decimals + _EXTRA_DECIMALS))


def _decimals_of(size: float, *, digits: int) -> int:
    """Decimals that show this many significant digits."""
    return max(0, digits - 1 - math.floor(math.log10(min(size, _LARGE))))


def _base_format(sizes: list[float], unit: str, *, difference: bool) -> NumberFormat:
    largest = max(sizes, default=0.0)
    if unit == "fraction":
        return NumberFormat(decimals=1, scale=100.0, suffix=" pp" if difference else "%")
    if unit == "pp":
        return NumberFormat(decimals=1, scale=100.0, suffix=" pp")
    if unit == "USD":
        return NumberFormat(decimals=2 if largest >= 10 else 4, prefix="$")
    if unit == "s":
        if sizes and largest < 0.0001:
            return NumberFormat(decimals=1, scale=1e6, suffix=" µs")
        if sizes and largest < 0.1:
            return NumberFormat(decimals=1, scale=1e3, suffix=" ms")
        return NumberFormat(decimals=1, suffix=" s")
    word = f" {unit}" if unit and unit != "ratio" else ""
    if unit == "tokens":
        return NumberFormat(decimals=0, suffix=word)
    if unit in _WHOLE_UNITS:
        return NumberFormat(decimals=0 if all(float(size).is_integer() for size in sizes) else 1, suffix=word)
    if largest >= 1000:
        return NumberFormat(decimals=1, suffix=word)
    small = bool(sizes) and largest < 0.1
    return NumberFormat(decimals=min(_decimals_of(largest, digits=3), 15) if small else 3, suffix=word, trim=small)


def quantity(value: float | None, unit: str, *, in_table: bool = False) -> str:
    """A value with its unit; in a table the heading names units that are words.

    >>> quantity(0.483, "fraction"), quantity(1234, "tokens"), quantity(1234, "tokens", in_table=True)
    ('48.3%', '1,234 tokens', '1,234')
    >>> quantity(0.0000108, "USD"), quantity(0.0004, "s"), quantity(0.0004, "fraction")
    ('$0.0000108', '0.4 ms', '0.04%')
    """
    bare = in_table and unit not in UNITS_IN_CELLS
    return number_format((value,), unit).text(value, bare=bare)


def difference_text(value: float | None, unit: str, *, signed: bool = False, bare: bool = False) -> str:
    """A difference with its unit.

    >>> difference_text(-0.0317, "fraction", signed=True), difference_text(12.5, "USD", signed=True)
    ('-3.2 pp', '+$12.50')
    """
    return number_format((value,), unit, difference=True).text(value, signed=signed, bare=bare)


def table_format(values: Iterable[float | None], unit: str) -> NumberFormat:
    """Return the format of a table column; the heading names units that are words.

    >>> table_format([1.0, 2000.0], "tokens").text(2000.0)
    '2,000'
    """
    column = number_format(values, unit)
    return column if unit in UNITS_IN_CELLS else replace(column, suffix="")


def quantity_column(values: Iterable[float | None], unit: str, *, in_table: bool = True) -> list[str]:
    """A column of values with one unit and one number of decimals.

    >>> quantity_column([0.0624, 12.5, None], "USD"), quantity_column([0.0004, 0.05], "s")
    (['$0.06', '$12.50', '-'], ['0.4 ms', '50.0 ms'])
    """
    listed = list(values)
    column = number_format(listed, unit)
    bare = in_table and unit not in UNITS_IN_CELLS
    return [column.text(value, bare=bare) for value in listed]


def percent(fraction: float, *, decimals: int = 1, signed: bool = False) -> str:
    """A fraction as a percentage.

    >>> percent(0.483), percent(0.5, decimals=0), percent(-0.0317, signed=True), percent(0.00002)
    ('48.3%', '50%', '-3.2%', '0.002%')
    """
    format_ = number_format((fraction,), "fraction")
    if not format_.trim:
        format_ = replace(format_, decimals=_shown_decimals(100 * fraction, decimals))
    return format_.text(fraction, signed=signed)


def _shown_decimals(value: float, decimals: int) -> int:
    """The decimals, or as many as a value that is not zero needs not to print as zero."""
    size = abs(value)
    return decimals if size < _ROUNDING_ERROR else max(decimals, min(_decimals_of(size, digits=1), 15))


def exact_percent(level: float) -> str:
    """A fraction as a percentage, with the digits it was given with: a confidence level, a threshold.

    >>> exact_percent(0.95), exact_percent(0.999), exact_percent(0.975)
    ('95%', '99.9%', '97.5%')
    """
    digits = f"{Decimal(repr(float(level))).scaleb(2):f}"
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}%"


def bounds_text(
    low: float | None,
    high: float | None,
    unit: str,
    *,
    bare: bool = True,
    of_difference: bool = False,
    excludes_0: bool = False,
) -> str:
    """The bounds of an interval, with one number of decimals. `excludes_0`: a bound of exactly 0 is not part of it.

    >>> bounds_text(0, 7.8, "USD", excludes_0=True)
    '>0 to 7.8000'
    >>> bounds_text(-0.028, 0.128, "fraction", of_difference=True), bounds_text(0.0612, 0.07, "USD", bare=False)
    ('-2.8 to 12.8', '$0.0612 to $0.0700')
    """
    if low is None or high is None:
        return DASH
    column = number_format((low, high), unit, difference=of_difference)
    first = ">0" if excludes_0 and low == 0 else column.text(low, bare=bare)
    last = "<0" if excludes_0 and high == 0 else column.text(high, bare=bare)
    return f"{first} to {last}"


def confidence_interval(
    level: float,
    low: float | None,
    high: float | None,
    unit: str,
    *,
    bare: bool = True,
    of_difference: bool = False,
    excludes_0: bool = False,
) -> str:
    """A confidence interval with its level.

    >>> confidence_interval(0.95, 0.028, 0.128, "fraction", of_difference=True)
    '95% CI 2.8 to 12.8'
    """
    bounds = bounds_text(low, high, unit, bare=bare, of_difference=of_difference, excludes_0=excludes_0)
    return f"{interval_name(level)} {bounds}"


def interval_name(level: float) -> str:
    """The name of a confidence interval: in headings, and before its bounds.

    >>> interval_name(0.95)
    '95% CI'
    """
    return f"{exact_percent(level)} CI"


def decimal_bounds(low: float | None, high: float | None, *, decimals: int = 2, signed: bool = False) -> str:
    """The bounds of an interval of numbers without a unit.

    >>> decimal_bounds(61.25, 70, signed=True), decimal_bounds(None, 1.0)
    ('+61.25 to +70.00', '-')
    """
    if low is None or high is None:
        return DASH
    return f"{decimal(low, decimals=decimals, signed=signed)} to {decimal(high, decimals=decimals, signed=signed)}"


def ratio_text(value: float) -> str:
    """A ratio, with enough decimals to tell it from 1.

    >>> ratio_text(1.25), ratio_text(1.0004)
    ('1.25 times', '1.0004 times')
    """
    return f"{decimal(value, decimals=_ratio_decimals(value))} times"


def ratio_bounds(low: float | None, high: float | None) -> str:
    """The bounds of an interval of a ratio, with enough decimals to tell them from 1.

    >>> ratio_bounds(1.002, 1.4), ratio_bounds(0.91, 1.4)
    ('1.002 to 1.400', '0.91 to 1.40')
    """
    ends = [end for end in (low, high) if end is not None]
    return decimal_bounds(low, high, decimals=max((_ratio_decimals(end) for end in ends), default=2))


def _ratio_decimals(value: float) -> int:
    return next((places for places in range(2, 6) if value == 1 or round(value, places) != 1), 6)


def versus(value: float | None, other: float | None, unit: str) -> str:
    """Two values side by side, with one number of decimals.

    >>> versus(0.74, 0.69, "fraction"), versus(0.74, None, "fraction")
    ('74.0% vs. 69.0%', '74.0% vs. unknown')
    """
    column = number_format((value, other), unit)
    first, second = ("unknown" if each is None else column.text(each) for each in (value, other))
    return f"{first} vs. {second}"


def p_value(p: float) -> str:
    """A p-value in a sentence.

    >>> p_value(0.056), p_value(0.00004)
    ('p = 0.056', 'p < 0.001')
    """
    return f"p {p_value_cell(p)}" if p < 0.001 else f"p = {p_value_cell(p)}"


def p_value_cell(p: float | None) -> str:
    """A p-value in a table.

    >>> p_value_cell(0.056), p_value_cell(0.00004), p_value_cell(None)
    ('0.056', '< 0.001', '-')
    """
    return DASH if p is None or math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}"


def dollars(value: float | None) -> str:
    """An amount of money.

    >>> dollars(0.0624), dollars(0.0000108), dollars(1234.5)
    ('$0.0624', '$0.0000108', '$1,234.50')
    """
    return quantity(value, "USD")


def exact_dollars(value: Decimal | float) -> str:
    """An amount of money with the digits it was given with: a list price, a budget. Cents have two digits.

    >>> exact_dollars(3), exact_dollars(0.3), exact_dollars(Decimal("0.075")), exact_dollars(1234.5)
    ('$3', '$0.30', '$0.075', '$1,234.50')
    """
    digits = f"{value if isinstance(value, Decimal) else Decimal(repr(float(value))):,f}"
    whole, _, decimals = digits.partition(".")
    decimals = decimals.rstrip("0")
    return f"${whole}.{decimals:0<2}" if decimals else f"${whole}"


def file_size(size: int) -> str:
    """A number of bytes in decimal units.

    >>> file_size(1), file_size(812), file_size(45_300_000), file_size(2_000_000_000)
    ('1 byte', '812 bytes', '45.3 MB', '2 GB')
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{plain(size / factor, digits=3)} {unit}"
    return counted(size, "byte")


def at_least(text: str, *, is_bound: bool) -> str:
    """The figure, marked if it is a lower bound.

    >>> at_least("$0.41", is_bound=True), at_least("$0.41", is_bound=False)
    ('≥ $0.41', '$0.41')
    """
    return f"≥ {text}" if is_bound else text


def counted(count: int, noun: str, several: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "submission"), counted(1000, "submission"), counted(2, "criterion", "criteria")
    ('1 submission', '1,000 submissions', '2 criteria')
    """
    return f"{count:,} {noun if count == 1 else several or f'{noun}s'}"


def decimal(value: float | None, *, decimals: int = 2, signed: bool = False) -> str:
    """A number with this many decimals, more if it would print as zero.

    >>> decimal(71.204), decimal(-0.5, decimals=3, signed=True), decimal(0.0004), decimal(None)
    ('71.20', '-0.500', '0.0004', '-')
    """
    places = decimals if value is None or not math.isfinite(value) else _shown_decimals(value, decimals)
    return NumberFormat(decimals=places).text(value, signed=signed)


def plain(value: float, *, digits: int = 6) -> str:
    """A number with this many significant digits, whole numbers in full, without an exponent.

    >>> plain(1234567.0), plain(0.0000125), plain(0.1 + 0.2), plain(1234567.5)
    ('1,234,567', '0.0000125', '0.3', '1,234,567.5')
    """
    if not math.isfinite(value):
        return NumberFormat(decimals=0).text(value)
    if float(value).is_integer() and abs(value) < 1e17:
        return f"{int(value):,}"
    if abs(value) >= _LARGE:
        return f"{value:.{digits - 1}e}"
    long = abs(value) >= 10.0 ** (digits - 1)
    text = f"{value:,.1f}" if long else f"{Decimal(f'{value:.{digits}g}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def tick(value: float, unit: str) -> str:
    """A number on an axis: thousands as k, M and G; the axis title names the unit of a difference.

    >>> tick(0.25, "fraction"), tick(-0.05, "pp"), tick(1500, "tokens"), tick(0.00002, "USD"), tick(0.5, "s")
    ('25%', '-5', '1.5k', '$0.00002', '0.5 s')
    """
    if unit == "times":  # a scale in doublings
        return f"{plain(2.0**value, digits=4)}x"
    if unit == "fraction":
        return f"{_short(100 * value)}%"
    if unit == "pp":
        return f"{'+' if value > 0 else ''}{_short(100 * value)}"
    sign, size = ("-" if value < 0 else ""), abs(value)
    letters = (("G", 1e9), ("M", 1e6), ("k", 1e3)) if size < 1e13 else ()
    letter, factor = next((each for each in letters if size >= each[1]), ("", 1.0))
    text = f"{_short(size / factor)}{letter}"
    return f"{sign}${text}" if unit == "USD" else f"{sign}{text} s" if unit == "s" else f"{sign}{text}"


def _short(value: float) -> str:
    """Four significant digits; an exponent only for the very large and the very small."""
    is_far = abs(value) >= 1e13 or 0 < abs(value) < 1e-9
    return f"{value:.4g}" if is_far else plain(float(f"{value:.4g}") + 0.0, digits=4)
