"""From what a cell or a JSON value holds to what a run record takes: numbers, flags, times, durations, names.

Every conversion takes a value that is there and gives the converted one, or a `Problem` with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from fractions import Fraction
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from steelyard.errors import MappingError
from steelyard.sources.mappings._mapping import Field, Numbers, Scalar

MAX_CHARS = 1024
"""A longer cell is no number, flag, time or word, and no pattern is tried on it: on a long text it may take long."""
MAX_DIGITS = 40
"""A number that is longer is looked at more closely."""
MAX_PLAIN_DIGITS = 19
"""Digits that are a whole number without a doubt."""
MAX_INTEGER = 2**63
"""Larger numbers are no counts."""
SHOWN_CHARACTERS = 60

Convert = Callable[[Any], Any]  # Any: a value in the file, and what it becomes


class Problem(NamedTuple):
    """Why a value cannot be used, and what to do."""

    reason: str
    hint: str | None = None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PASS_WORDS = _words(
    "pass passed true yes ja y j ok success succeeded successful resolved correct solved win won 1 ✓ ✔ ✅ "
    "bestanden erfolgreich richtig gelöst wahr oui vrai réussi réussie réussite succès réussis correct "
    "sí si verdadero aprobado aprobada superado éxito exito exitoso correcto resuelto"
)
FAIL_WORDS = _words(
    "fail failed failure false no nein n unsuccessful unresolved incorrect wrong unsolved ko nok nope lose lost loss 0 "
    "✗ ✘ ✖ ❌ not_ok durchgefallen nicht_bestanden nicht_ok fehlgeschlagen falsch ungelöst non faux échec "
    "echec échoué échouée raté non_réussi falso suspenso suspendido reprobado no_aprobado fallo fallido fallida "
    "fracaso incorrecto"
)
ERROR_WORDS = _words(
    "error errored exception crash crashed timeout timed_out time_out tle killed aborted cancelled canceled "
    "abbruch abgebrochen absturz fehler erreur plantage expiré annulé abandonné excepción cancelado abortado"
)
_UNITS: dict[str, Fraction] = {
    "percent": Fraction(1, 100),
    "cents": Fraction(1, 100),
    "us": Fraction(1, 1_000_000),
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "min": Fraction(60),
    "h": Fraction(3600),
    "thousand": Fraction(1000),
    "million": Fraction(1_000_000),
}
_SUFFIXES = {"k": _UNITS["thousand"], "m": _UNITS["million"], "%": _UNITS["percent"], "": None}
_NUMBER = re.compile(
    r"(?P<sign>[-+−]?)\s*(?P<before>US\$|[$€£¥]|USD|EUR|GBP)?\s*"  # noqa: RUF001 # a minus as sheets have it
    r"(?P<digits>\d[\d.,' \u00a0\u202f]*|[.,]\d+)(?P<exponent>[eE][-+]?\d{1,3})?\s*"
    r"(?P<suffix>[kKmM%])?\s*(?P<after>US\$|[$€£¥]|USD|EUR|GBP)?"
)
_DOLLARS = frozenset({None, "$", "US$", "USD"})
_DURATION_PART = re.compile(
    r"\s*(?P<number>\d+(?:[.,]\d+)?)\s*"
    r"(?P<unit>hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s|milliseconds?|msecs?|ms|microseconds?|us|µs)\b"
)
_DURATION_UNITS = {"h": "h", "mi": "min", "m": "min", "s": "s", "ms": "ms", "mil": "ms", "u": "us", "µ": "us"}
_CLOCK = re.compile(r"(?P<first>\d{1,6}):(?P<second>[0-5]\d)(?::(?P<third>[0-5]\d(?:[.,]\d+)?))?")


def shown(value: Any) -> str:  # Any: a value in the file
    """The value as messages show it."""
    text = value if isinstance(value, str) else repr(value)
    return repr(text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}...")


def plain_text(value: Any) -> str | None:  # Any: a value in the file
    """The value as a word: what `where`, `words` and names compare; None for lists and objects."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    if isinstance(value, date):  # in a data frame
        return value.isoformat()
    return str(value) if isinstance(value, (int, float)) else None


def to_text(value: Any) -> Any:  # Any: as above
    """A name or a text."""
    if value.__class__ is str:  # most are
        return value.strip()
    text = plain_text(value)
    return Problem(f"{shown(value)} is not a string") if text is None else text


def to_number(numbers: Numbers, field: Field, *, money: bool = False) -> Convert:
    """Numbers as people write them: `$1,234.50`, `87.5%`, `45k`."""
    unit = _UNITS[field.unit] if field.unit else None
    spaced = {" ": " \u00a0\u202f"}.get(numbers.thousands, numbers.thousands)
    converts_currency = field.times is not None or field.over is not None

    def convert(value: Any) -> Any:  # Any: as above
        if not isinstance(value, str):
            known = isinstance(value, (int, float)) and not isinstance(value, bool)
            return scaled(value, unit) if known else _no_number(value)
        if unit is None and len(value) < MAX_PLAIN_DIGITS and value.isdecimal() and value.isascii():
            return int(value)
        text = value.strip()
        plain = _plain(text.removeprefix("$"), numbers.decimal)
        if plain is not None:
            return scaled(plain, unit)
        match = _NUMBER.fullmatch(text) if len(text) <= MAX_CHARS else None
        digits = _plain_digits(match["digits"].strip(), numbers.decimal, spaced) if match else None
        if match is None or digits is None:
            return _no_number(value)
        if money and not converts_currency and (match["before"] or match["after"]) not in _DOLLARS:
            return Problem(f"{shown(value)} is not in USD", "set the exchange rate: times = 1.08")
        sign = "-" if match["sign"] in ("-", "−") else ""  # noqa: RUF001 # a minus as sheets have it
        written = Fraction(sign + digits + (match["exponent"] or ""))
        return scaled(written, _SUFFIXES[(match["suffix"] or "").lower()] or unit)

    return convert


def _plain(text: str, decimal: str) -> int | Fraction | float | None:
    """The number in digits with at most a decimal sign, which most are; None for all others."""
    if len(text) > MAX_DIGITS or not text.isascii():
        return None
    if text.isdecimal():
        return int(text)
    whole, _, fraction = text.partition(decimal)
    return float(f"{whole}.{fraction}") if whole.isdecimal() and fraction.isdecimal() else None


def scaled(number: float | Fraction, unit: Fraction | None) -> Any:  # Any: a number, or what is wrong with it
    """The number times its unit, rounded once; a whole number where it is one."""
    try:
        if unit is None and not isinstance(number, Fraction):
            return number
        # A float means the digits that it is written with: 87.3 percent are 0.873.
        exact = Fraction(repr(number)) if isinstance(number, float) else number
        numerator, denominator = exact.numerator, exact.denominator
        if unit is not None:
            numerator, denominator = numerator * unit.numerator, denominator * unit.denominator
        is_whole = not numerator % denominator and abs(numerator // denominator) < MAX_INTEGER
        return numerator // denominator if is_whole else numerator / denominator
    except (ValueError, OverflowError):
        return Problem("the number is too large")


def _no_number(value: Any) -> Problem:  # Any: as above
    return Problem(f"{shown(value)} is not a number", "see decimal, thousands and missing in [numbers]")


def _plain_digits(text: str, decimal: str, thousands: str) -> str | None:
    """The digits with a point; None where the groups are none, as in `0,109` or `1,5`."""
    whole, _, fraction = text.partition(decimal)
    if thousands and any(sign in whole for sign in thousands):
        groups = re.split(f"[{re.escape(thousands)}]", whole)
        if not 0 < len(groups[0]) <= 3 or groups[0][0] == "0" or any(len(group) != 3 for group in groups[1:]):
            return None
        whole = "".join(groups)
    if not (whole + fraction).isdecimal() or not (whole + fraction).isascii():
        return None
    return f"{whole or '0'}.{fraction}" if fraction else whole


def to_whole(numbers: Numbers, field: Field) -> Convert:
    """Whole numbers, as `to_number` reads them."""
    number = to_number(numbers, field)

    def convert(value: Any) -> Any:  # Any: as above
        converted = number(value)
        if isinstance(converted, float):
            return int(converted) if converted.is_integer() else Problem(f"{shown(value)} is not an integer")
        return converted

    return convert


def to_flag(value: Any) -> Any:  # Any: as above
    """Pass and fail, yes and no, true and false, 1 and 0."""
    if isinstance(value, bool):
        return value
    word = _word(value)
    if word in PASS_WORDS:
        return True
    if word in FAIL_WORDS:
        return False
    return Problem(f"{shown(value)} is not a boolean", "define it: words = { ... = true }")


def to_outcome(value: Any) -> Any:  # Any: as above
    """The outcome that a word of verdicts means; words for errors have a meaning only where `words` gives it."""
    word = _word(value)
    if word in ("passed", "failed", "errored", "not_scored"):
        return word
    flag = to_flag(value)
    if isinstance(flag, bool):
        return "passed" if flag else "failed"
    return Problem(f"{shown(value)} is not a known outcome", 'define it: words = { ... = "errored" }')


def _word(value: Any) -> str | None:  # Any: as above
    text = plain_text(value)
    return None if text is None or len(text) > MAX_CHARS else text.casefold()


def to_duration(numbers: Numbers, field: Field) -> Convert:
    """Seconds: a number in the field's unit, `3 min 20s`, `1:02:03`, or `1:30` where `clock` defines it."""
    number = to_number(numbers, field)

    def convert(value: Any) -> Any:  # Any: as above
        if not isinstance(value, str) or len(value) > MAX_CHARS:
            return number(value)
        text = value.strip()
        if text.isdecimal() or (text[-1:].isdecimal() and ":" not in text):  # no unit in the cell
            return number(text)
        clock = _CLOCK.fullmatch(text)
        if clock is not None:
            return _clock(clock, field.clock, value)
        parts = list(_DURATION_PART.finditer(text.lower()))
        if parts and _DURATION_PART.sub("", text.lower()).strip(" ,") == "":
            return scaled(sum((_part_seconds(part) for part in parts), Fraction(0)), None)
        return number(value)

    return convert


def _part_seconds(part: re.Match[str]) -> Fraction:
    unit = part["unit"]
    name = next(_DURATION_UNITS[unit[:length]] for length in (3, 2, 1) if unit[:length] in _DURATION_UNITS)
    return Fraction(part["number"].replace(",", ".")) * _UNITS[name]


def _clock(clock: re.Match[str], meaning: str | None, value: str) -> Any:  # Any: seconds, or what is wrong
    first, second = int(clock["first"]), int(clock["second"])
    if clock["third"] is not None:
        return scaled(first * 3600 + second * 60 + Fraction(clock["third"].replace(",", ".")), None)
    if meaning is None:
        return Problem(f"{shown(value)} is ambiguous", 'set clock = "m:ss" or "h:mm"')
    return first * 60 + second if meaning == "m:ss" else first * 3600 + second * 60


def to_time(field: Field) -> Convert:
    """A moment: ISO text, the field's own format, or seconds, ms, µs or ns since 1970 by their size."""
    zone = _zone(field.zone)

    def convert(value: Any) -> Any:  # Any: as above
        try:
            if isinstance(value, str) and len(value) <= MAX_CHARS:
                text = value.strip()
                if field.format is not None:
                    moment = datetime.strptime(text, field.format)  # noqa: DTZ007 # the zone is added below
                elif text.isdecimal():
                    return _since_1970(int(text))
                else:
                    moment = datetime.fromisoformat(text)
                return _placed(moment, zone)
            if isinstance(value, date):  # in a data frame
                return _placed(value if isinstance(value, datetime) else datetime.combine(value, time()), zone)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return _since_1970(value)
        except (ValueError, OverflowError, OSError):
            pass
        written = f"in the format {field.format}" if field.format else "in a known format"
        return Problem(f"{shown(value)} is not a time {written}", 'set format = "%d.%m.%Y %H:%M"')

    return convert


def _placed(moment: datetime, zone: tzinfo) -> datetime:
    """The moment in UTC; the zone is that of one without."""
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def _since_1970(number: float) -> datetime:
    for most, seconds in ((1e11, 1), (1e14, 1_000), (1e17, 1_000_000)):
        if 0 < number < most:
            return datetime.fromtimestamp(number / seconds, UTC)
    if number <= 0:
        raise ValueError("times before 1970 are not supported")
    return datetime.fromtimestamp(number / 1_000_000_000, UTC)


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise MappingError(f"unknown time zone {name!r}", hint="use a name such as Europe/Berlin") from error


def to_json(value: Any) -> Any:  # Any: as above
    """The value as it is."""
    return value


def by_words(words: Mapping[str, Scalar]) -> Convert:
    """The meaning of each word; `"*"` is that of all others."""
    meanings = {word.strip().casefold(): meaning for word, meaning in words.items()}
    others = meanings.pop("*", None)

    def convert(value: Any) -> Any:  # Any: as above
        meaning = meanings.get(_word(value) or "", others)
        if meaning is None:
            return Problem(f"{shown(value)} is not in words", f"add it to words, or add a default: {_STAR}")
        return meaning

    return convert


_STAR = '"*" = ...'


def by_patterns(patterns: tuple[str, ...], *, else_absent: bool) -> Convert:
    """The first group of the first pattern that fits, anywhere in the text; None where none does and that may be."""
    compiled = [_compiled(pattern) for pattern in patterns]

    def convert(value: Any) -> Any:  # Any: as above
        text = plain_text(value)
        if text is None or len(text) > MAX_CHARS:
            return Problem(f"{shown(value)} is not a string of at most {MAX_CHARS:,} characters")
        for pattern in compiled:
            match = pattern.search(text)
            if match is not None:
                return match[1] if pattern.groups else match[0]
        return None if else_absent else Problem(f"no pattern matches {shown(value)}", 'or set else = "absent"')

    return convert


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise MappingError(f"{pattern[:100]!r} is not a valid regular expression: {error}") from error
    if _repeats_a_repeat(pattern):
        hint = "use a possessive or atomic inner repetition, such as (?:a++)* or (?>a+)*"
        raise MappingError(f"{pattern[:100]!r} has nested repetition, which can take exponential time", hint=hint)
    return compiled


_PATTERN_PART = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<opens>\((?:\?(?:P?<\w+>|<[=!]|[a-zA-Z-]*:|[=!>#]))?)|(?P<closes>\))"
    r"|(?P<repeat>[*+]|\{\d*,\})(?P<gives_nothing_back>\+)?|.",
    re.DOTALL,
)


def _repeats_a_repeat(pattern: str) -> bool:
    """Whether a part that repeats without a limit is repeated without a limit again."""
    opened: list[tuple[bool, bool]] = []  # of each open group, whether it is atomic and what was repeated before it
    is_repeated = group_repeats = False
    for part in _PATTERN_PART.finditer(pattern):
        if part["opens"]:
            opened.append((part["opens"].endswith(">") and "<" not in part["opens"], is_repeated))
            is_repeated = group_repeats = False
        elif part["closes"] and opened:
            is_atomic, before = opened.pop()
            group_repeats = is_repeated and not is_atomic
            is_repeated = before or group_repeats
        elif part["repeat"]:
            if group_repeats:
                return True
            is_repeated = is_repeated or not part["gives_nothing_back"]
        else:
            group_repeats = False
    return False
