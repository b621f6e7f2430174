"""Which column is which field of a run, by the words in its header and by its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal
from unicodedata import combining, normalize

from steelyard.records import TOKEN_KINDS, Usage
from steelyard.sources.mappings._conversions import (
    ERROR_WORDS,
    FAIL_WORDS,
    PASS_WORDS,
    Problem,
    plain_text,
    to_duration,
    to_number,
    to_text,
    to_time,
    to_whole,
)
from steelyard.sources.mappings._layouts import Column
from steelyard.sources.mappings._mapping import Field, Numbers, Scalar, Unit

HEADERS: dict[str, tuple[str, ...]] = {
    "task": (
        "task", "task id", "instance id", "instance", "problem", "problem id", "question id", "test case", "case",
        "job", "job id", "goal", "scenario", "exercise", "ticket", "ticket id", "issue", "issue id", "bug", "story",
        "pr", "pull request", "aufgabe", "aufgaben id", "szenario", "fall", "testfall", "prueffall",
        "tache", "cas", "cas de test", "probleme", "tarea", "caso", "caso de prueba", "escenario", "problema",
        "exercice", "ejercicio", "uebung",
        "example", "example id", "item", "item id", "problem slug", "beispiel", "exemple", "ejemplo",
        "question", "prompt",
    ),
    "model": ("model", "model id", "llm", "modell", "modele", "modelo"),
    "agent": (
        "agent", "agent id", "scaffold", "harness", "tool", "provider id", "assistant", "bot", "werkzeug", "agente",
        "outil", "herramienta",
    ),
    "experiment": ("experiment", "experiment id", "suite", "benchmark", "dataset"),
    "id": ("id", "run id", "uuid", "trial id"),
    "attempt": (
        "attempt", "attempt id", "repeat", "repetition", "try", "sample", "trial", "rep", "versuch", "durchlauf",
        "essai", "tentative", "intento", "repeticion",
    ),
    "verdict": (
        "result", "outcome", "status", "passed", "pass", "resolved", "success", "verdict", "correct", "solved",
        "correctness", "ergebnis", "ok", "won", "worked", "work", "bestanden", "erfolg", "erfolgreich", "geloest",
        "korrekt", "loesung korrekt", "resultat", "reussi", "reussite", "succes", "verdict", "resultado", "aprobado",
        "exito", "superado", "estado",
    ),
    "impl_rate": ("score", "impl rate", "reward", "grade", "quality", "punkte", "erfuellungsgrad", "qualitaet"),
    "cost_usd": (
        "cost", "total cost", "price", "spend", "spent", "kosten", "usd", "bill", "cout", "prix", "coste", "costo",
        "precio",
    ),
    "started_at": (
        "started", "start", "started at", "start time", "date", "timestamp", "created at", "datum", "time",
        "ts", "t", "began", "beginn", "zeitstempel", "debut", "horodatage", "fecha", "inicio",
    ),
    "ended_at": ("ended", "end", "ended at", "end time", "finished", "finished at", "completed at", "ende", "fin"),
    "duration_seconds": (
        "duration", "elapsed", "time", "runtime", "latency", "dauer", "wall time", "seconds", "secs", "ms",
        "wall clock", "took", "minutes", "mins", "minuten", "hours", "time taken",
        "laufzeit", "sekunden", "stunden", "duree", "duracion", "tiempo", "latencia", "zeit", "temps",
    ),
    "tool_calls": ("tool calls", "tools called", "tool uses"),
    "iterations": ("iterations", "turns", "steps", "rounds"),
    "usage.input_tokens": (
        "tokens in", "input tokens", "prompt tokens", "total input tokens", "tokens eingabe", "tokens entree",
        "tokens entrada", "input", "prompt", "in",
    ),
    "usage.output_tokens": (
        "tokens out", "output tokens", "completion tokens", "total output tokens", "tokens ausgabe", "tokens sortie",
        "tokens salida", "output", "completion", "out",
    ),
    "usage.cache_read_tokens": ("cache read tokens", "cached tokens", "cache read", "cached"),
    "usage.reasoning_tokens": ("reasoning tokens", "reasoning", "thinking tokens"),
    "usage.total_tokens": ("total tokens", "tokens", "tokens total"),
    "output.text": ("answer", "response", "completion", "generation", "output"),
}  # fmt: skip
"""The words by which people call each field; the first ones are the usual ones."""
UNIT_WORDS: dict[str, Unit] = {
    "%": "percent",
    "percent": "percent",
    "pct": "percent",
    "cents": "cents",
    "cent": "cents",
    "ct": "cents",
    "us": "us",
    "ms": "ms",
    "msec": "ms",
    "millis": "ms",
    "milliseconds": "ms",
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "min": "min",
    "mins": "min",
    "minutes": "min",
    "minuten": "min",
    "sekunden": "s",
    "sek": "s",
    "segundos": "s",
    "seg": "s",
    "secondes": "s",
    "minutos": "min",
    "stunden": "h",
    "std": "h",
    "h": "h",
    "hr": "h",
    "hrs": "h",
    "hours": "h",
    "k": "thousand",
}
NOISE = frozenset({
    "$", "usd", "the", "of", "is", "de", "del", "la", "el", "name", "did", "it", "which", "what", "was", "used", "ai",
    "count", "nr", "en",
})  # fmt: skip
"""Words that do not identify a field."""
WEAK_TASK_WORDS = frozenset({"prompt", "question"})
"""Words that name the task in one table, and what is compared in another."""
FAILURE_WORDS = frozenset({
    "fail", "fails", "failed", "failing", "failure", "error", "errors", "errored", "broken", "wrong", "incorrect",
    "unsolved", "unresolved", "crashed", "fehler", "fehlerhaft", "fehlgeschlagen", "durchgefallen", "gescheitert",
    "falsch", "echec", "echoue", "erreur", "fallo", "fallido", "fallida", "fracaso", "suspenso",
})  # fmt: skip
"""Words of headers under which yes is no pass."""
NEGATIONS = frozenset({"not", "nicht", "non", "pas", "no"})
"""Words that turn the meaning of a header around."""
TOKEN_WORDS = frozenset({"tokens", "usage"})
"""Words without which a number called `prompt` or `in` may be an id."""
OTHER_MONEY = frozenset({"€", "eur", "euro", "euros", "£", "gbp", "chf", "jpy", "inr", "cny"})
"""Words of amounts that are not in dollars."""
CENT_WORDS = frozenset({"cent", "ct"})
"""Words of amounts in cents of the dollar or the euro."""
COMMENT_WORDS = frozenset({
    "comment", "comments", "note", "notes", "remark", "remarks", "bemerkung", "kommentar", "notiz", "commentaire",
    "remarque", "comentario",
})  # fmt: skip
"""Words of columns that describe a run, and are none of its fields."""
_WRITTEN_OUT = {"tok": "tokens", "toks": "tokens", "token": "tokens", "jetons": "tokens", "jeton": "tokens"}
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_ANSWER_KEY = re.compile(
    r"[(\[]\s*(?:y|yes|j|ja|o|oui|s|si|true|1)\s*[/|,]\s*(?:n|no|nein|non|false|0)\s*[)\]]", re.IGNORECASE
)
"""The possible answers in a header: `Passed (y/n)`."""
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[%$€£]")


def plain_letters(name: str) -> str:
    """The name without umlauts and accents, as it is written where there are none.

    >>> plain_letters("Erfüllungsgrad"), plain_letters("coût")
    ('Erfuellungsgrad', 'cout')
    """
    return "".join(
        char for char in normalize("NFKD", normalize("NFC", name).translate(_UMLAUTS)) if not combining(char)
    )


def header_words(name: str) -> list[str]:
    """The words of a header: `latencyMs`, `Score %` and `tokens_in` are two each."""
    words = [word.lower() for word in _WORD.findall(_ANSWER_KEY.sub(" ", plain_letters(name)))]
    return [_WRITTEN_OUT.get(word, word) for word in words]


SURE = 0.75
"""From this score on a field is suggested; below it, commented out."""
MIN_MATCH = 0.3
"""Below this nothing is suggested."""
DEPTH_COUNTS = 0.02
"""Of two paths that are alike, the one that is less deep wins."""
DISTINCT_WORDS = 12
"""A verdict has few words."""
TIME_FORMATS = (
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d.%m.%Y",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y/%m/%d",
    "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y",
    "%d/%m/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%d/%m/%Y",
)
"""Tried in this order; where two fit, the suggestion notes it."""
MAX_POINTS = 10
"""Numbers that are all smaller are no percentages but points or grades."""
SINCE_1970 = 1e8
"""Times are more seconds than this, and durations fewer."""
_MODEL = re.compile(
    r"(?:[\w.-]+/)*(?:gpt[- ]|chatgpt|claude|gemini|gemma|llama|mi[sx]tral|codestral|"
    r"devstral|qwen|deepseek|grok|kimi|glm-|command-|phi-|o[134](?:-|$))",
    re.IGNORECASE,
)
"""How the names of known families of models begin, with or without a provider."""
ANSWERS = frozenset({
    "yes", "no", "ja", "nein", "y", "j", "n", "true", "false", "wahr", "falsch", "nope", "ok", "1", "0",
    "oui", "non", "vrai", "faux", "sí", "si", "verdadero", "falso",
})  # fmt: skip
"""Words that answer any question, and not only whether a run passed."""
_MONEY = re.compile(r"[€£¥]|\b(?:EUR|GBP|CHF|JPY)\b")
_SPACED_NUMBER = re.compile(r"\d{1,3}(?:[ \u00a0\u202f]\d{3})+")
_SPACED = re.compile(rf"{_SPACED_NUMBER.pattern}[.,]")
_NUMERIC = re.compile(r"[-+$€£\s]*(?P<before>[\d.,' \u00a0\u202f]*?)(?P<sign>[.,])(?P<after>\d+)\s*[%kKmM€$]*")


@dataclass(frozen=True, slots=True)
class Match:
    """A column that may be a field."""

    field: str
    column: Column
    score: float
    spec: Field
    fits: int
    """Cells that can be read so."""
    remark: str = ""
    """What the user should decide."""
    question: str = ""
    """What the user must decide, where two readings fit."""


def matches(columns: Sequence[Column], numbers: Numbers) -> list[Match]:
    """The best column of each field and the best field of each column, the surest first; each is taken once."""
    fields = [name for name in HEADERS if name != "usage.total_tokens" or "total_tokens" in Usage.__struct_fields__]
    pairs = [match for column in columns for name in fields if (match := _match(name, column, numbers)) is not None]
    pairs = [_only_answers(pair, pairs) for pair in pairs] + _by_cells(columns, pairs)
    pairs += _rewards(pairs)
    order = {column.name: at for at, column in enumerate(columns)}
    pairs.sort(key=lambda pair: (-pair.score, fields.index(pair.field), order[pair.column.name]))
    chosen: list[Match] = []
    for pair in pairs:
        if all(pair.field != other.field and pair.column.name != other.column.name for other in chosen):
            chosen.append(pair)
    return sorted(chosen, key=lambda pair: fields.index(pair.field))


def _only_answers(match: Match, others: Sequence[Match]) -> Match:
    """The only column of verdicts is sure where its header has more words than those of a verdict."""
    if match.field != "verdict" or match.score >= SURE or match.question:
        return match
    if match.fits < len(match.column.present) or any(
        other is not match and other.field == "verdict" for other in others
    ):
        return match
    return replace(match, score=SURE, remark="assumed to be the verdict: the only column of verdicts")


def _rewards(pairs: Sequence[Match]) -> list[Match]:
    """A reward or score of 0 and 1 alone is a verdict where nothing else is."""
    if any(pair.field == "verdict" and pair.score >= SURE for pair in pairs):
        return []
    rewards = [
        pair
        for pair in pairs
        if pair.field == "impl_rate" and {plain_text(cell) for cell in pair.column.present} <= {"0", "1", "0.0", "1.0"}
    ]
    remark = "assumed to be the verdict: all values are 0 or 1"
    return [
        replace(
            pair,
            field="verdict",
            spec=Field(from_=pair.column.name, at_least=1),
            score=pair.score + 0.01,
            remark=remark,
        )
        for pair in rewards
    ]


def _by_cells(columns: Sequence[Column], named: Sequence[Match]) -> list[Match]:
    """Match models and verdicts under unclear headers: the only column whose every cell looks like one.

    Flags and words that answer any question are a verdict that the user has to confirm.
    """
    sure = {match.column.name for match in named if match.score >= SURE}
    others = [column for column in columns if column.name not in sure and column.present]
    found: list[Match] = []
    models = [column for column in others if all(map(_is_model, column.present))]
    if len(models) == 1:
        remark = "assumed to be the model: all cells look like model names"
        found.append(_whole_match("model", models[0], Field(from_=models[0].name), SURE, remark))
    flags = [column for column in others if all(isinstance(cell, bool) for cell in column.present)]
    failures = list(filter(is_called_failure, others))
    found += [match for column in failures if (match := _inverted(column)) is not None]
    if len(flags) == 1 and flags[0] not in failures:
        remark = "possibly the verdict: the only boolean column"
        found.append(_whole_match("verdict", flags[0], Field(from_=flags[0].name), SURE / 2, remark))
    verdicts = [column for column in others if _are_verdicts(column) and column not in failures]
    spec = _as_verdict(verdicts[0], None, Numbers())[0] if len(verdicts) == 1 else None
    if spec is not None and {"passed", "failed"} <= set(spec.words.values()):
        is_clear = not {word.casefold() for word in spec.words} & ANSWERS
        remark = (
            "assumed to be the verdict, based on its values"
            if is_clear
            else "possibly the verdict, based on its values"
        )
        found.append(_whole_match("verdict", verdicts[0], spec, SURE if is_clear else SURE / 2, remark))
    return found


def _whole_match(field: str, column: Column, spec: Field, score: float, remark: str) -> Match:
    return Match(field, column, score, spec, len(column.present), remark)


def _is_model(cell: Any) -> bool:  # Any: a text or a JSON scalar
    return isinstance(cell, str) and _MODEL.match(cell.strip()) is not None


_ARM = re.compile(
    r"(?:version|variante?|prompt|agente?|modell?e?|modelo|config|baseline|basis|candidate|control|treatment|arm|group"
    r"|gruppe|old|new|alt|neu|before|after|v)?[\s_-]*(?:[a-z]|\d{1,2})?",
    re.IGNORECASE,
)
"""What the sides of a comparison are called: Baseline, Version B, A, v2."""


def is_arm_name(name: str) -> bool:
    """Return whether a column is called like a model, a version or a side of a comparison."""
    plain = plain_letters(name).strip()
    return bool(plain) and (_is_model(name) or _ARM.fullmatch(plain) is not None)


def is_called_task(column: Column) -> bool:
    """Return whether the header names a task, and not only what may be one."""
    words = header_words(column.name)
    return _likeness("task", words, None) >= SURE and not WEAK_TASK_WORDS & set(words)


def is_called_verdict(column: Column) -> bool:
    """Return whether the header has the words of a verdict."""
    return _likeness("verdict", header_words(column.name), None) >= MIN_MATCH


def is_called_failure(column: Column) -> bool:
    """Return whether yes or true in the column means that the run failed: `Failed?`, `Nicht bestanden`."""
    words = set(header_words(column.name))
    is_positive = any(meaning_of(word) == "passed" for word in words)
    is_failure = NEGATIONS & words if is_positive else FAILURE_WORDS & words
    return bool(is_failure) and answers_any_question(column)


def answers_any_question(column: Column) -> bool:
    """Return whether its cells are flags or yes and no, which may mean anything."""
    return all(isinstance(cell, bool) or (plain_text(cell) or "").casefold() in ANSWERS for cell in column.present)


def _are_verdicts(column: Column) -> bool:
    """Whether all cells are words of verdicts; 0 and 1 alone are any numbers."""
    if not all(isinstance(cell, str) for cell in column.present):
        return False
    words = set(map(str.strip, column.present))
    return len(words) <= DISTINCT_WORDS and not words <= {"0", "1"} and None not in set(map(meaning_of, words))


def may_be_task(column: Column) -> bool:
    """Whether its cells can be names of tasks: verdicts and comments are not."""
    are_flags = all(isinstance(cell, (bool, float)) for cell in column.present)
    is_comment = COMMENT_WORDS & set(header_words(column.name.rpartition(".")[2]))
    return not (are_flags or is_comment or _are_verdicts(column))


def number_signs(columns: Sequence[Column]) -> Numbers:
    """The decimal sign, by counting: one after a lone 0 or another sign, or not before three digits, is decimal."""
    texts = [cell for column in columns for cell in column.present if isinstance(cell, str)]
    numeric = [match for text in texts if len(text) < 40 and (match := _NUMERIC.fullmatch(text.strip()))]
    decimals = [
        match
        for match in numeric
        if match["before"] == "0" or (len(match["after"]) != 3 and match["sign"] not in match["before"])
    ]
    counts = Counter(match["sign"] for match in decimals)
    decimal: Literal[",", "."] = "," if counts[","] > counts["."] else "."
    if any(_SPACED.search(match["before"] + match["sign"]) for match in numeric) or any(
        _SPACED_NUMBER.fullmatch(text.strip()) for text in texts
    ):
        return Numbers(decimal=decimal, thousands=" ")
    return Numbers(decimal=",", thousands=".") if decimal == "," else Numbers()


def _match(field: str, column: Column, numbers: Numbers) -> Match | None:
    words = header_words(column.name.rpartition(".")[2] if "." in column.name else column.name)
    whole = header_words(column.name)
    unit = next((UNIT_WORDS[word] for word in reversed(words or whole) if word in UNIT_WORDS), None)
    likeness = max(_likeness(field, given, unit) for given in (words, whole))
    if likeness == 0 or not column.present:
        return None
    spec, remark = _READERS.get(field, _as_text)(column, unit, numbers)
    if spec is None:
        return None
    fits = fitting(field, spec, column.present, numbers)
    is_other_money = field == "cost_usd" and any(
        isinstance(cell, str) and _MONEY.search(cell) for cell in column.present
    )
    if is_other_money:
        fits = len(column.present)
    score = likeness * (fits / len(column.present)) - DEPTH_COUNTS * column.name.count(".")
    if field.startswith("usage.") and not any(plain_text(cell) != "0" for cell in column.present):
        score /= 2  # a count that is always 0 was not counted
    question = ""
    if field.startswith("usage.") and not TOKEN_WORDS & set(whole):
        score, question = score / 2, f"Is {column.name!r} a token count or an id?"
    if field == "cost_usd" and (is_other_money or OTHER_MONEY & {*words, *whole}):
        score, remark = score / 2, f'not in USD; set the exchange rate: {{ from = "{column.name}", times = 1.1 }}'
        question = f"{column.name!r} is not in USD: what is the exchange rate?"
    elif field == "cost_usd" and CENT_WORDS & {*words, *whole}:
        score, question = score / 2, f"Is {column.name!r} in US cents, or in cents of another currency?"
    if field == "verdict" and is_called_failure(column):
        return _inverted(column)
    if field == "verdict" and fits < len(column.present):
        unknown = [word for word in dict.fromkeys(map(plain_text, column.present)) if word not in spec.words]
        question = f"What do these values of {column.name!r} mean: {', '.join(map(repr, unknown))[:200]}?"
    if field in ("started_at", "ended_at") and remark:
        question = f"Is the day or the month first in {column.name!r}?"
    return Match(field, column, score, spec, fits, remark, question) if score >= MIN_MATCH else None


def _inverted(column: Column) -> Match | None:
    """The verdict of a column that names failures, for the user to confirm: its flags mean the opposite."""
    words = dict.fromkeys(plain_text(cell) or "" for cell in column.present)
    opposite = {"passed": "failed", "failed": "passed"}
    meanings: dict[str, Scalar] = {
        word: opposite[meaning] for word in words if (meaning := meaning_of(word)) in opposite and meaning is not None
    }
    if set(meanings) != set(words) or set(words) in ({"0"}, {"1"}):  # a count of errors that is always 0
        return None
    remark = "possibly the verdict, inverted: its header names failures"
    yes = next((word for word, meaning in meanings.items() if meaning == "failed"), next(iter(meanings)))
    question = f"Does {yes!r} in {column.name!r} mean that the run failed?"
    spec = Field(from_=column.name, words=meanings)
    return replace(_whole_match("verdict", column, spec, SURE / 2, remark), question=question)


def _likeness(field: str, words: Sequence[str], unit: Unit | None) -> float:
    """How well the header's words are those of the field: 1 where they are the same, less for each word more."""
    plain = {word for word in words if word not in NOISE | OTHER_MONEY and (word not in UNIT_WORDS or unit is None)}
    bare = plain or set(words)
    if field == "task" and len(bare) > 1 and not WEAK_TASK_WORDS & bare:
        bare -= {"id"}  # the id of a case is its name
    best = 0.0
    for place, text in enumerate(HEADERS[field]):
        wanted = set(text.split())
        shared = len(wanted & bare)
        if wanted <= bare:
            best = max(best, shared / len(bare | wanted) - 0.001 * place)
    return best


def fitting(field: str, spec: Field, cells: Sequence[Any], numbers: Numbers) -> int:  # Any: cells
    """How many cells can be read as the field."""
    convert: Callable[[Any], Any] = converter(field, spec, numbers)  # Any: as above
    return sum(not isinstance(convert(cell), Problem) for cell in cells)


def converter(field: str, spec: Field, numbers: Numbers) -> Callable[[Any], Any]:  # Any: cells
    """How the cells of a field are read."""
    if spec.words:
        known = {word.casefold() for word in spec.words}
        return lambda cell: cell if (plain_text(cell) or "").casefold() in known else Problem("no meaning")
    if field == "cost_usd":
        return _at_least_zero(to_number(numbers, spec, money=True))
    if field == "impl_rate":
        number = to_number(numbers, spec)
        return lambda cell: value if _in_fraction(value := number(cell)) else Problem("not a fraction")
    if field == "duration_seconds":
        return _at_least_zero(to_duration(numbers, spec))
    if field in ("started_at", "ended_at"):
        return to_time(spec)
    if field in ("attempt", "tool_calls", "iterations") or field.startswith("usage."):
        return _at_least_zero(to_whole(numbers, spec))
    if spec.at_least is not None:
        return to_number(numbers, spec)
    if field == "verdict":
        return lambda cell: cell if isinstance(cell, bool) else Problem("no flag")
    return to_text


def _in_fraction(value: Any) -> bool:  # Any: a number or a Problem
    return not isinstance(value, Problem) and 0 <= value <= 1


def _at_least_zero(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:  # Any: cells
    def checked(cell: Any) -> Any:  # Any: as above
        value = convert(cell)
        return Problem("negative") if not isinstance(value, Problem) and value < 0 else value

    return checked


Read = tuple[Field | None, str]


def _as_text(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    del unit, numbers
    return Field(from_=column.name), ""


def _as_task(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    return _as_text(column, unit, numbers) if may_be_task(column) else (None, "")


def _as_number(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    del numbers
    return Field(from_=column.name, unit=unit if unit in ("cents", "thousand", "million") else None), ""


def _as_cost(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    spec, _ = _as_number(column, unit, numbers)
    if spec is None or not any(plain_text(cell) == "0" for cell in column.present):
        return spec, ""
    remark = "0 is treated as unknown; remove `zero` if such runs were free"
    return Field(from_=spec.from_, unit=spec.unit, zero="unknown"), remark


def _as_tokens(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    spec, _ = _as_number(column, unit, numbers)
    return spec, "must exclude cached tokens; if it includes them, add `minus` with the column of cached tokens"


def _as_fraction(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    spec = Field(from_=column.name, unit="percent" if unit == "percent" else None)
    if unit != "percent" and fitting("impl_rate", spec, column.present, numbers) < len(column.present):
        percent = Field(from_=column.name, unit="percent")
        number = to_number(numbers, Field(from_=column.name))
        is_scale = all(
            not isinstance(value := number(cell), Problem) and value <= MAX_POINTS for cell in column.present
        )
        if is_scale:
            return None, ""  # points or grades: 1 to 5, 0 to 10
        if fitting("impl_rate", percent, column.present, numbers) == len(column.present):
            return percent, "assumed to be percentages: some values are above 1"
    return spec, ""


def _as_duration(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    convert = to_number(numbers, Field(from_=column.name))
    if unit is None and all(_is_since_1970(convert(cell)) for cell in column.present):
        return None, ""
    clocked = any(isinstance(cell, str) and re.fullmatch(r"\s*\d+:\d\d\s*", cell) for cell in column.present)
    is_time = unit in ("us", "ms", "s", "min", "h")
    spec = Field(from_=column.name, unit=unit if is_time and unit != "s" else None, clock="m:ss" if clocked else None)
    remarks = [] if is_time or clocked else ["assumed to be in seconds; otherwise, add `unit`"]
    remarks += ['1:30 is read as minutes and seconds; for hours and minutes, set clock = "h:mm"'] if clocked else []
    return spec, "; ".join(remarks)


def _is_since_1970(number: Any) -> bool:  # Any: a number or a Problem
    return not isinstance(number, Problem) and number >= SINCE_1970


def _as_time(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    del unit, numbers
    plain = Field(from_=column.name)
    present = column.present
    if not any(isinstance(to_time(plain)(cell), Problem) for cell in present):
        is_small = any(isinstance(cell, (int, float)) and cell < SINCE_1970 for cell in present)
        return (None, "") if is_small else (plain, "")
    fitting_formats = [
        written
        for written in TIME_FORMATS
        if not any(isinstance(to_time(Field(from_="x", format=written))(cell), Problem) for cell in present)
    ]
    if not fitting_formats:
        return None, ""
    remark = f"{fitting_formats[1]} also matches; check the order of day and month" if len(fitting_formats) > 1 else ""
    return Field(from_=column.name, format=fitting_formats[0]), remark


def _as_verdict(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    del unit, numbers
    present = column.present
    if all(isinstance(cell, bool) for cell in present):
        return Field(from_=column.name), ""
    words = list(dict.fromkeys(plain_text(cell) or "" for cell in present))
    if len(words) > DISTINCT_WORDS:
        return None, ""
    if set(words) <= {"0", "1", "0.0", "1.0"}:
        return Field(from_=column.name, at_least=1), ""
    meanings = {word: meaning for word in words if (meaning := meaning_of(word)) is not None}
    if not any(meaning in ("passed", "failed") for meaning in meanings.values()):
        return None, ""
    unknown = [word for word in words if word not in meanings]
    remark = (
        f"rows with these values are rejected; add them to `words`: {', '.join(map(repr, unknown))[:200]}"
        if unknown
        else ""
    )
    return Field(from_=column.name, words=dict[str, Scalar](meanings)), remark


def meaning_of(word: str) -> str | None:
    """The outcome that a word usually means; None where that is not clear."""
    plain = word.strip().casefold().replace(" ", "_")
    for meaning, known in (("passed", PASS_WORDS), ("failed", FAIL_WORDS), ("errored", ERROR_WORDS)):
        if plain in known:
            return meaning
    return "not_scored" if plain in ("not_scored", "unscored", "skipped", "pending") else None


def _as_output(column: Column, unit: Unit | None, numbers: Numbers) -> Read:
    del unit
    number = to_number(numbers, Field(from_=column.name))
    are_numbers = all(not isinstance(number(cell), Problem) for cell in column.present)  # such as ids of outputs
    is_text = any(isinstance(cell, str) for cell in column.present)
    return (Field(from_=column.name) if is_text and not (are_numbers and len(set(column.present)) > 1) else None), ""


_READERS: dict[str, Callable[[Column, Unit | None, Numbers], Read]] = {
    "task": _as_task,
    "verdict": _as_verdict,
    "impl_rate": _as_fraction,
    "cost_usd": _as_cost,
    "attempt": _as_number,
    "tool_calls": _as_number,
    "iterations": _as_number,
    "output.text": _as_output,
    "started_at": _as_time,
    "ended_at": _as_time,
    "duration_seconds": _as_duration,
    "usage.input_tokens": _as_tokens,
    **{f"usage.{kind}": _as_number for kind in (*TOKEN_KINDS, "total_tokens") if kind != "input_tokens"},
}
