"""Variances of jointly estimated effects, such as tools and tasks."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg, sparse

from steelyard.statistics._interval import Floats, Ints

MAX_JOINT_EFFECTS = 3_000
"""Effects of the first side whose joint information is inverted; it takes some seconds. Above, each is separate."""
AT_ONCE = 1_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JointErrors:
    """Variances on the scale in which each effect of the second side has the variance 1 while the first is known."""

    own: Floats
    """Of the first side."""
    others: Floats
    """Of the second side."""
    pairs: Floats
    """Covariances of the second side's neighbors 0 and 1, 2 and 3, ..."""
    together: Floats | None
    """The first side's whole covariance; None above MAX_JOINT_EFFECTS."""

    def along(self, rows: Ints, columns: Ints, cross: sparse.csr_array) -> Floats:
        """Entries of the first side's covariance times `cross`, which must have them."""
        if self.together is None:
            return np.asarray(self.own[rows] * cross[rows, columns])
        products, by_column = np.empty(len(rows)), cross.tocsc()
        order = np.argsort(columns, kind="stable")
        ends = np.searchsorted(columns[order], np.arange(0, cross.shape[1] + AT_ONCE, AT_ONCE))
        for start, (begin, end) in enumerate(pairwise(ends)):
            chosen = order[begin:end]
            part = self.together @ by_column[:, start * AT_ONCE : (start + 1) * AT_ONCE].toarray()
            products[chosen] = part[rows[chosen], columns[chosen] - start * AT_ONCE]
        return products


def covariance_of_effects(information: Floats, cross: sparse.csr_array, fixed: Floats) -> JointErrors:
    """Invert [[diag(information), cross], [cross', identity]] without ever holding all of it.

    `fixed` has a row for each combination of the first side that is no estimate but a choice of scale, as their mean.
    """
    if len(information) > MAX_JOINT_EFFECTS:
        own = 1 / information
        together = None
    else:
        # a slight addition keeps a matrix invertible in which chance has left a direction open
        schur = np.diag(information * (1 + 1e-9)) - (cross @ cross.T).toarray()
        together = np.asarray(linalg.pinvh(schur) if len(schur) < 3 else _inverse(schur))
        if len(fixed):
            basis = np.asarray(linalg.orth(fixed.T))
            together = together - basis @ (basis.T @ together)
            together = together - (together @ basis) @ basis.T
        own = np.maximum(np.diag(together), 0)
    count = cross.shape[1]
    others, pairs = np.empty(count), np.empty(count // 2)
    columns = cross.tocsc()
    for start in range(0, count, AT_ONCE):
        part = columns[:, start : start + AT_ONCE].toarray()
        spread = own[:, None] * part if together is None else together @ part
        others[start : start + AT_ONCE] = 1 + np.sum(part * spread, axis=0)
        left, right = part[:, 0::2], spread[:, 1::2]
        pairs[start // 2 : start // 2 + right.shape[1]] = np.sum(left[:, : right.shape[1]] * right, axis=0)
    return JointErrors(own=own, others=others, pairs=pairs, together=together)


def _inverse(matrix: Floats) -> Floats:
    try:
        return np.asarray(linalg.cho_solve(linalg.cho_factor(matrix), np.eye(len(matrix))))
    except linalg.LinAlgError:
        return np.asarray(linalg.pinvh(matrix))
