"""Signatures and distances of normalized texts."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import msgspec
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from steelyard import statistics
from steelyard.metrics import catalog
from steelyard.questions.repeatability._normalization import Level, NormalForm, normalization_version, normalize
from steelyard.records import Missing
from steelyard.statistics import Interval

DISTANCE_VERSION = "levenshtein-1"
EXACT_CELLS = 100_000_000_000
"""Length times length up to which a distance is exact: about 300,000 characters on each side, a few seconds of work."""
_BAND_CHARACTERS = 20_000
_MAX_LINES = 20_000


class Distance(msgspec.Struct, frozen=True, kw_only=True):
    """How far two normalized texts are apart, 0 to 1."""

    value: float
    """Edits over the length of the longer text."""
    approximate: bool = False
    """Whether it is an upper bound, because the exact value exceeded the budget."""


def signature(text: str) -> str:
    """SHA-256 of the text in UTF-8, as 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", errors="surrogatepass")).hexdigest()


def edits(first: str, second: str, *, budget: int = EXACT_CELLS) -> tuple[int, bool]:
    """Levenshtein distance by code point, and whether it is only an upper bound.

    >>> edits("kitten", "sitting")
    (3, False)
    """
    if first == second:
        return 0, False
    if len(first) * len(second) <= budget:
        return int(Levenshtein.distance(first, second)), False
    # Sorted, so that the bound is the same both ways.
    first, second = sorted((first, second), key=lambda text: (len(text), text))
    return min(_by_lines(first, second), _by_bands(first, second)), True


def distance(first: str, second: str, *, budget: int = EXACT_CELLS) -> Distance:
    """Edits over the longer length: 0 exactly for equal texts, 1 between nothing and something.

    >>> distance("", "abc").value, distance("", "").value
    (1.0, 0.0)
    """
    longest = max(len(first), len(second))
    if longest == 0:
        return Distance(value=0.0)
    count, approximate = edits(first, second, budget=budget)
    return Distance(value=count / longest, approximate=approximate)


def cut_alike(text: str, goal: str, cuts: Sequence[int]) -> list[int]:
    """Where a shortest edit from text to goal passes the cuts, in order, of the text: the parts' edits add up to it.

    >>> cut_alike("abcd", "abXXcd", [2])
    [2]
    """
    blocks = Levenshtein.opcodes(text, goal)
    places, number = [], 0
    for cut in cuts:
        while number < len(blocks) and blocks[number].src_end < cut:
            number += 1
        block = blocks[number] if number < len(blocks) else None
        places.append(len(goal) if block is None else min(block.dest_start + cut - block.src_start, block.dest_end))
    return places


def within(first: str, second: str, *, tau: float) -> bool:
    """Whether the distance is at most tau, about ten times faster than asking for the distance."""
    return bool(Levenshtein.normalized_distance(first, second, score_cutoff=tau) <= tau)


def pairs_within(texts: Sequence[str], counts: Sequence[int], *, tau: float) -> int:
    """Return how many pairs of outputs are at most tau apart, given distinct texts and their counts."""
    import numpy as np  # heavy: only needed for all pairs

    weights = np.asarray(counts, dtype=np.int64)
    among_equals = int((weights * (weights - 1) // 2).sum())
    if len(texts) < 2:
        return among_equals
    is_near = cdist(texts, texts, scorer=Levenshtein.normalized_distance, score_cutoff=tau, dtype=np.float64) <= tau
    both = np.triu(is_near, k=1)
    return among_equals + int(weights @ both.astype(np.int64) @ weights)


def _by_bands(first: str, second: str) -> int:
    """Edits when both texts are cut into as many pieces and each piece may only be matched with its twin."""
    pieces = max(1, -(-max(len(first), len(second)) // _BAND_CHARACTERS))
    total = 0
    for piece in range(pieces):
        left = first[piece * len(first) // pieces : (piece + 1) * len(first) // pieces]
        right = second[piece * len(second) // pieces : (piece + 1) * len(second) // pieces]
        total += Levenshtein.distance(left, right)
    return total


def _by_lines(first: str, second: str) -> int:
    """Return the edits when whole lines are matched first and only the rest is compared by character."""
    left, right = first.splitlines(keepends=True), second.splitlines(keepends=True)
    if max(len(left), len(right)) > _MAX_LINES:
        return max(len(first), len(second))
    total = 0
    for block in Levenshtein.opcodes(left, right):
        if block.tag != "equal":
            gone = "".join(left[block.src_start : block.src_end])
            come = "".join(right[block.dest_start : block.dest_end])
            total += _by_bands(gone, come)
    return total


PAIR_CELLS = 100_000_000_000
"""Character comparisons up to which the mean over all pairs is computed: some seconds of work."""
MAX_DISTINCT = 54
"""Distinct outputs whose distances are stored one by one: this many fit a figure."""
_NO_CANON = Missing("no canon to repair toward")
_NO_OUTPUTS = Missing("no outputs")


@dataclass
class Workbench:
    """What is known of texts at one level in one language."""

    level: Level
    language: str | None
    _forms: dict[str, NormalForm] = field(default_factory=dict)
    _distances: dict[tuple[str, str], Distance] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """The version of the normal form."""
        return normalization_version(self.level, self.language)

    def form(self, code: str) -> NormalForm:
        """The code in normal form."""
        if code not in self._forms:
            self._forms[code] = normalize(code, level=self.level, language=self.language)
        return self._forms[code]

    def signature(self, code: str) -> str:
        """The signature of the code's normal form."""
        return signature(self.form(code).text)

    def distance(self, code: str, canon: str | None) -> Distance:
        """Distance of the code to a canon in normal form; 1 without a canon."""
        if canon is None:
            return Distance(value=1.0)
        text = self.form(code).text
        if (text, canon) not in self._distances:
            self._distances[text, canon] = distance(text, canon)
        return self._distances[text, canon]


@dataclass(frozen=True)
class MetricInputs:
    """What the metrics of a prompt are made of: they depend on nothing else."""

    signatures: Sequence[str]
    digests: Sequence[str]
    d_pre: Sequence[float]
    d_post: Sequence[float]
    texts: Sequence[str]
    """Normal forms before repair."""
    has_canon: bool
    distances: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Of every two distinct texts (`pair_distances`), where they are known already."""


def pair_distances(texts: Sequence[str]) -> dict[tuple[str, str], float]:
    """The distance of every two distinct texts, the later one first; empty where they are too many or too long."""
    distinct = sorted(set(texts))
    if len(distinct) > MAX_DISTINCT or _pair_cells(distinct) > PAIR_CELLS:
        return {}
    return {
        (text, other): distance(text, other).value for place, text in enumerate(distinct) for other in distinct[:place]
    }


def prompt_metrics(compared: MetricInputs, *, tau: float) -> dict[str, float | Missing]:
    """Every repeatability metric of one prompt, by name."""
    known: dict[str, object] = {
        "signatures": list(compared.signatures),
        "digests": list(compared.digests),
        "d_pre": list(compared.d_pre),
        "d_post": list(compared.d_post),
        **_pairs(compared.texts, tau, compared.distances),
    }
    metrics: dict[str, float | Missing] = {}
    for declared in catalog().at("prompt"):  # each comes after those it needs
        if not compared.signatures:
            value = _NO_OUTPUTS if declared.defined_when_empty is None else declared.defined_when_empty
        elif declared.needs_canon and not compared.has_canon:
            value = _NO_CANON
        else:
            constants = {"tau": tau} if "tau" in declared.constants else {}
            value = declared(**{name: known[name] for name in declared.inputs}, **constants)
        metrics[declared.name] = known[declared.name] = value
    return {name: metrics[name] for name in sorted(metrics)}


def _pair_cells(distinct: Sequence[str]) -> int:
    """What comparing every two of the texts takes."""
    lengths = [len(text) for text in distinct]
    return (sum(lengths) ** 2 - sum(length**2 for length in lengths)) // 2


def _pairs(texts: Sequence[str], tau: float, distances: Mapping[tuple[str, str], float]) -> dict[str, object]:
    """Sums over all pairs of outputs, from distinct texts and their counts."""
    counts = sorted(Counter(texts).items())
    distinct, weights = [text for text, _ in counts], [count for _, count in counts]
    outputs = len(texts)
    pairs = outputs * (outputs - 1) // 2
    if pairs == 0:
        nothing = Missing("fewer than two outputs")
        return {"pair_distance_sum": nothing, "output_pairs": nothing, "near_pairs": nothing}
    known: dict[str, object] = {"output_pairs": pairs, "near_pairs": pairs_within(distinct, weights, tau=tau)}
    if _pair_cells(distinct) > PAIR_CELLS:
        known["pair_distance_sum"] = Missing("too many long outputs to compare every pair; see pairs_within_tau")
    else:
        pairs_at: Counter[float] = Counter()
        for row in range(len(distinct)):
            for column in range(row):
                pair = distinct[row], distinct[column]
                apart = distances[pair] if distances else distance(*pair).value
                pairs_at[apart] += weights[row] * weights[column]
        # exact, so that the mean is rounded once
        known["pair_distance_sum"] = sum((Fraction(value) * count for value, count in pairs_at.items()), Fraction())
    return known


def prompt_intervals(compared: MetricInputs, metrics: dict[str, float | Missing]) -> dict[str, Interval]:
    """Exact intervals: Clopper and Pearson's for fractions of outputs, and that of the modal mass."""
    n = len(compared.signatures)
    intervals: dict[str, Interval] = {}
    if not n:
        return intervals
    for declared in catalog().at("prompt"):
        value = metrics[declared.name]
        if declared.counts_outputs and not isinstance(value, Missing):
            intervals[declared.name] = statistics.clopper_pearson(round(value * n), n)
    intervals["r_raw"] = statistics.modal_mass(list(Counter(compared.signatures).values()))
    return intervals
