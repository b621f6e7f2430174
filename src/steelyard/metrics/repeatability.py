"""Repeatability of outputs for one prompt, before and after repair (repeatability specification).

Inputs are lists with one entry an output: signatures, digests of the bytes, and distances to the canon.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from steelyard.metrics._declare import Example, Optional, Param, Required, metric
from steelyard.metrics._words import Value, missing
from steelyard.records import exact_mean

_NONE = "there are no outputs"
_MIXED_PRE = [0.5, 0.5, 0.8, 0.2]
_MIXED_POST = [0.0, 0.0, 0.3, 0.0]


def _share(values: Sequence[Any], holds: Sequence[bool]) -> Value:  # Any: signatures or distances
    return sum(holds) / len(values) if values else missing(_NONE)


def _mean(values: Sequence[float]) -> Value:
    return exact_mean(values) if values else missing(_NONE)


def _modal_mass(values: Sequence[str]) -> float:
    return max(Counter(values).values()) / len(values) if values else 0.0


def _rescued(d_pre: Sequence[float], d_post: Sequence[float]) -> list[bool]:
    return [before > 0 and after == 0 for before, after in zip(d_pre, d_post, strict=True)]


@metric(
    level="prompt",
    title="Raw repeatability",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="largest count of one signature / N",
    example=Example({"signatures": ["sig1", "sig1", "sig2", "sig3"]}, 0.5),
    defined_when_empty=0.0,
)
def r_raw(*, signatures: Optional = None) -> Value:
    """Relative frequency of the most common signature among the outputs before repair."""
    return _modal_mass(signatures)


@metric(
    level="prompt",
    title="Byte repeatability",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="largest count of one extracted text / N",
    example=Example({"digests": ["a", "a", "b", "c"]}, 0.5),
)
def r_bytes(*, digests: Required) -> Value:
    """Relative frequency of the most common extracted text, compared byte for byte."""
    return _modal_mass(digests) if digests else missing(_NONE)


@metric(
    level="prompt",
    title="Canonical repeatability",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_post = 0) / N",
    example=Example({"d_post": _MIXED_POST}, 0.75),
    defined_when_empty=0.0,
    counts_outputs=True,
)
def r_anchor(*, d_post: Optional = None) -> Value:
    """Fraction of outputs that equal the canon after repair."""
    return _share(d_post, [distance == 0 for distance in d_post]) if d_post else 0.0


@metric(
    level="prompt",
    title="Canonical repeatability before repair",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_pre = 0) / N",
    example=Example({"d_pre": [0.0, 0.5, 0.0, 0.2]}, 0.5),
    counts_outputs=True,
)
def r_anchor_pre(*, d_pre: Required) -> Value:
    """Fraction of outputs that equal the canon before repair, as measured (the specification sets it to 0)."""
    return _share(d_pre, [distance == 0 for distance in d_pre])


@metric(
    level="prompt",
    title="Rescue rate",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_pre > 0 and d_post = 0) / N",
    example=Example({"d_pre": _MIXED_PRE, "d_post": _MIXED_POST}, 0.75),
    needs_canon=True,
    counts_outputs=True,
)
def rescue_rate(*, d_pre: Required, d_post: Required) -> Value:
    """Fraction of all outputs that repair turned into the canon."""
    return _share(d_pre, _rescued(d_pre, d_post))


@metric(
    level="prompt",
    title="Rescue rate of non-canonical outputs",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_pre > 0 and d_post = 0) / count(d_pre > 0)",
    # One of the two that were not the canon.
    example=Example({"d_pre": [0.0, 0.5, 0.2], "d_post": [0.0, 0.0, 0.1]}, 0.5),
    needs_canon=True,
)
def rescue_rate_noncanonical(*, d_pre: Required, d_post: Required) -> Value:
    """Fraction of the non-canonical outputs that repair turned into the canon."""
    away = sum(1 for distance in d_pre if distance > 0)
    if not d_pre:
        return missing(_NONE)
    return sum(_rescued(d_pre, d_post)) / away if away else missing("all outputs equal the canon before repair")


@metric(
    level="prompt",
    title="Mean distance before repair",
    unit="distance",
    better="lower",
    bounds=(0, 1),
    spec="repeatability",
    formula="sum(d_pre) / N",
    example=Example({"d_pre": _MIXED_PRE}, 0.5),
)
def mu_pre(*, d_pre: Required) -> Value:
    """Mean distance of the outputs to the canon before repair."""
    return _mean(d_pre)


@metric(
    level="prompt",
    title="Mean distance after repair",
    unit="distance",
    better="lower",
    bounds=(0, 1),
    spec="repeatability",
    formula="sum(d_post) / N",
    example=Example({"d_post": _MIXED_POST}, 0.075),
)
def mu_post(*, d_post: Required) -> Value:
    """Mean distance of the outputs to the canon after repair."""
    return _mean(d_post)


@metric(
    level="prompt",
    title="Within tau before repair",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_pre <= tau) / N",
    example=Example({"d_pre": [0.1, 0.11, 0.0, 0.5]}, 0.5),
    counts_outputs=True,
)
def p_tau_pre(*, d_pre: Required, tau: Param) -> Value:
    """Fraction of outputs within tau of the canon before repair."""
    return _share(d_pre, [distance <= tau for distance in d_pre])


@metric(
    level="prompt",
    title="Within tau after repair",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="count(d_post <= tau) / N",
    example=Example({"d_post": _MIXED_POST}, 0.75),
    counts_outputs=True,
)
def p_tau_post(*, d_post: Required, tau: Param) -> Value:
    """Fraction of outputs within tau of the canon after repair."""
    return _share(d_post, [distance <= tau for distance in d_post])


@metric(
    level="prompt",
    title="Gain in canonical repeatability",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="r_anchor - 0",
    example=Example({"r_anchor": 0.75}, 0.75),
)
def delta_r_anchor(*, r_anchor: Required) -> Value:
    """Gain from repair; the specification defines the value before repair as 0.

    A prompt without a canon has the value 0, like its r_anchor.
    """
    return r_anchor


@metric(
    level="prompt",
    title="Measured gain in canonical repeatability",
    unit="fraction",
    better="higher",
    bounds=(-1, 1),
    spec="repeatability",
    formula="r_anchor - r_anchor_pre",
    example=Example({"r_anchor": 0.75, "r_anchor_pre": 0.25}, 0.5),
    needs_canon=True,
)
def delta_r_anchor_measured(*, r_anchor: Required, r_anchor_pre: Required) -> Value:
    """Increase due to repair in the fraction of outputs that equal the canon."""
    return r_anchor - r_anchor_pre


@metric(
    level="prompt",
    title="Change of mean distance",
    unit="distance",
    better="lower",
    bounds=(-1, 1),
    spec="repeatability",
    formula="mu_post - mu_pre",
    example=Example({"mu_post": 0.25, "mu_pre": 0.5}, -0.25),
    needs_canon=True,
)
def delta_mu(*, mu_post: Required, mu_pre: Required) -> Value:
    """Change in the mean distance due to repair; negative is better."""
    return mu_post - mu_pre


@metric(
    level="prompt",
    title="Change of the fraction within tau",
    unit="fraction",
    better="higher",
    bounds=(-1, 1),
    spec="repeatability",
    formula="p_tau_post - p_tau_pre",
    example=Example({"p_tau_post": 0.75, "p_tau_pre": 0.5}, 0.25),
    needs_canon=True,
)
def delta_p_tau(*, p_tau_post: Required, p_tau_pre: Required) -> Value:
    """Change due to repair in the fraction of outputs within tau of the canon."""
    return p_tau_post - p_tau_pre


@metric(
    level="prompt",
    title="Unique signatures",
    unit="signatures",
    better="lower",
    bounds=(1, math.inf),
    spec="repeatability",
    formula="number of distinct signatures",
    example=Example({"signatures": ["sig1", "sig1", "sig2", "sig3"]}, 3),
)
def unique_signatures(*, signatures: Required) -> Value:
    """Number of distinct programs before repair."""
    return len(set(signatures)) if signatures else missing(_NONE)


@metric(
    level="prompt",
    title="Signature entropy",
    unit="bits",
    better="lower",
    bounds=(0, math.inf),
    spec="repeatability",
    formula="-sum(p x log2 p) over the fractions p of the signatures",
    # Shares 1/2, 1/4, 1/4: 0.5 x 1 + 2 x 0.25 x 2.
    example=Example({"signatures": ["sig1", "sig1", "sig2", "sig3"]}, 1.5),
)
def signature_entropy(*, signatures: Required) -> Value:
    """Entropy of the distribution of distinct programs: 0 if all outputs agree, log2 N if none do."""
    if not signatures:
        return missing(_NONE)
    total = len(signatures)
    shares = [count / total for count in Counter(signatures).values()]
    return max(0.0, -math.fsum(share * math.log2(share) for share in shares))


@metric(
    level="prompt",
    title="Mean pairwise distance",
    unit="distance",
    better="lower",
    bounds=(0, 1),
    spec="repeatability",
    formula="sum of distances over all pairs of outputs / number of pairs",
    # Three outputs, two of them equal: distances 0, 0.6 and 0.6.
    example=Example({"pair_distance_sum": 1.2, "output_pairs": 3}, 0.4),
)
def mean_pairwise_distance(*, pair_distance_sum: Required, output_pairs: Required) -> Value:
    """Mean distance between two outputs before repair; computed over unique signatures, weighted by their counts."""
    return pair_distance_sum / output_pairs if output_pairs else missing("fewer than two outputs")


@metric(
    level="prompt",
    title="Pairs within tau",
    unit="fraction",
    better="higher",
    bounds=(0, 1),
    spec="repeatability",
    formula="pairs of outputs at most tau apart / number of pairs",
    example=Example({"near_pairs": 3, "output_pairs": 6}, 0.5),
)
def pairs_within_tau(*, near_pairs: Required, output_pairs: Required) -> Value:
    """Fraction of pairs of outputs within tau of each other before repair; no canon is needed."""
    return near_pairs / output_pairs if output_pairs else missing("fewer than two outputs")
