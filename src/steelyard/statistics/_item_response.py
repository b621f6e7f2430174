"""Two-parameter logistic item response model: task difficulty and ability, with intervals.

The chance that tool i is right at task j is 1 / (1 + exp(-a_j (t_i - b_j))) (Birnbaum 1968): ability t, difficulty b,
discrimination a. Abilities are integrated out (marginal maximum likelihood by EM, Bock and Aitkin 1981) with nodes laid
around each tool's own posterior, since one that tried a thousand tasks is known far better than a fixed grid resolves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from steelyard.statistics._crossed_effects import JointErrors, covariance_of_effects
from steelyard.statistics._estimates import Floats, Ints

NODES = 21
POOLED_NODES = 11
TASK_NODES = 5
"""In each of two directions."""
ITERATIONS = 2_000
TOLERANCE = 1e-7
POOLED_TOLERANCE = 5e-4
"""Far below the errors of the parameters, which are some hundredths at best."""
MAX_STEP = 1.0
FIRST_SPREAD = 0.5
PRIOR_TASKS = 2.0
"""The spread of discriminations is learned as if this many tasks with the first spread had been seen before."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Responses:
    """Answers counted by who gave them and to what: one entry a pair."""

    tools: Ints
    """The number of the tool, from 0."""
    tasks: Ints
    """The number of the task, from 0."""
    attempts: Floats
    """How many answers."""
    right: Floats
    """How many of them were right; an answer may be right in part."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItemResponse:
    """Estimates with their standard errors. Abilities have the mean 0 and the standard deviation 1."""

    ability: Floats
    ability_error: Floats
    difficulty: Floats
    """The ability at which every second attempt is right."""
    difficulty_error: Floats
    log_discrimination: Floats
    log_discrimination_error: Floats
    dispersion: float
    """How much more pairs of tool and task differ than chance would have it, as attempts repeat; at least 1."""
    log_likelihood: float
    iterations: int
    converged: bool


class _Fit:
    """The parameters on their way."""

    def __init__(self, seen: Responses, people: Floats, *, is_pooled: bool) -> None:
        order = np.argsort(seen.tasks, kind="stable")
        self.tools, self.tasks = seen.tools[order], seen.tasks[order]
        self.attempts, self.right = seen.attempts[order], seen.right[order]
        self.people, self.is_pooled = people, is_pooled
        self.starts = np.flatnonzero(np.diff(self.tasks, prepend=-1))  # every task has an entry
        self.by_tool = np.argsort(self.tools, kind="stable")
        self.tool_starts = np.flatnonzero(np.diff(self.tools[self.by_tool], prepend=-1))
        self.x, self.w = np.polynomial.hermite.hermgauss(POOLED_NODES if is_pooled else NODES)
        counted = people[self.tools]
        share = (self.of_tasks(counted * self.right) + 0.5) / (self.of_tasks(counted * self.attempts) + 1)
        self.slope = np.zeros(len(share))  # log discrimination
        self.difficulty = np.log((1 - share) / share)
        own_fraction = (self.of_tools(self.right) + 0.5) / (self.of_tools(self.attempts) + 1)
        self.middle = np.log(own_fraction / (1 - own_fraction)).clip(-2, 2)
        self.width = self.min_width()
        self.prior_slope = (0.0, FIRST_SPREAD if is_pooled else np.inf)
        self.prior_difficulty = (float(np.mean(self.difficulty)), 2.0) if is_pooled else (0.0, np.inf)
        self.information = np.zeros((len(share), 3))

    def of_tasks(self, values: Floats) -> Floats:
        """Sums over the entries of each task."""
        return np.asarray(np.add.reduceat(values, self.starts, axis=0))

    def of_tools(self, values: Floats) -> Floats:
        """Sums over the entries of each tool."""
        return np.asarray(np.add.reduceat(values[self.by_tool], self.tool_starts, axis=0))

    def logits(self, ability: Floats) -> Floats:
        """Entry by entry, for abilities given by tool (and node)."""
        slope, difficulty = np.exp(self.slope)[self.tasks], self.difficulty[self.tasks]
        chosen = ability[self.tools]
        if chosen.ndim > 1:
            slope, difficulty = slope[:, None], difficulty[:, None]
        return np.asarray(slope * (chosen - difficulty))

    def min_width(self) -> Floats:
        """Return the posterior deviation of each ability at the maximum information of every answer."""
        return np.asarray((1 + 0.25 * self.of_tools(self.attempts * np.exp(self.slope)[self.tasks] ** 2)) ** -0.5)

    def expect(self) -> tuple[Floats, Floats, Floats, float]:
        """Nodes and their posterior weights by tool, chances by entry and node, and the log-likelihood."""
        nodes = self.middle[:, None] + np.sqrt(2) * self.width[:, None] * self.x
        logits = self.logits(nodes)
        # log p and log (1 - p) at once: right x logit - attempts x log(1 + exp(logit))
        log_odds = np.logaddexp(0, logits)
        log_likelihood = self.of_tools(self.right[:, None] * logits - self.attempts[:, None] * log_odds)
        prior = -0.5 * nodes**2
        joint = log_likelihood + prior + np.log(self.w) + self.x**2 + np.log(self.width)[:, None] - 0.5 * np.log(np.pi)
        top = joint.max(axis=1, keepdims=True)
        weights = np.exp(joint - top)
        total = weights.sum(axis=1, keepdims=True)
        likelihood = float(self.people @ (top + np.log(total))[:, 0])
        return nodes, weights / total, np.exp(logits - log_odds), likelihood

    def step(self) -> tuple[float, float]:
        """One round of EM with one step of Fisher scoring: the largest change, and the log-likelihood before it."""
        nodes, weights, chance, likelihood = self.expect()
        self.middle = (weights * nodes).sum(axis=1)
        width = np.sqrt((weights * (nodes - self.middle[:, None]) ** 2).sum(axis=1))
        self.width = np.maximum(width, 0.5 * self.min_width())  # nodes too far apart see one point only
        counted = (weights * self.people[:, None])[self.tools]
        pull = counted * (self.right[:, None] - self.attempts[:, None] * chance)
        sure = counted * self.attempts[:, None] * chance * (1 - chance)
        slope = np.exp(self.slope)
        above = slope[self.tasks, None] * (nodes[self.tools] - self.difficulty[self.tasks, None])
        entries = (pull * above, pull, sure * above**2, sure * above, sure)
        sums = self.of_tasks(np.stack([entry.sum(axis=1) for entry in entries], axis=1))
        usual, slope_deviation = self.prior_slope
        center, deviation = self.prior_difficulty
        g_slope = sums[:, 0] - (self.slope - usual) / slope_deviation**2
        g_difficulty = -slope * sums[:, 1] - (self.difficulty - center) / deviation**2
        slopes, both = sums[:, 2] + slope_deviation**-2, -slope * sums[:, 3]
        difficulties = slope**2 * sums[:, 4] + deviation**-2
        self.information = np.stack([slopes, both, difficulties], axis=1)
        determinant = np.maximum(slopes * difficulties - both**2, 1e-12)
        change = np.stack(
            [
                (difficulties * g_slope - both * g_difficulty) / determinant,
                (slopes * g_difficulty - both * g_slope) / determinant,
            ]
        ).clip(-MAX_STEP, MAX_STEP)
        before = self.slope, self.difficulty
        self.slope, self.difficulty = self.slope + change[0], self.difficulty + change[1]
        moved = self._pool() if self.is_pooled else 0.0
        for old, new in zip(before, (self.slope, self.difficulty), strict=True):
            moved = max(moved, float(np.abs(new - old).max()))
        return moved, likelihood

    def _pool(self) -> float:
        """Learn how far tasks are apart; place the mean ability at 0 and the spread of abilities at 1."""
        total = self.people.sum()
        shift = float(self.people @ self.middle / total)
        around = float(self.people @ ((self.middle - shift) ** 2 + self.width**2) / total)
        scale = max(np.sqrt(around), 1e-3)
        self.middle, self.width = (self.middle - shift) / scale, self.width / scale
        self.difficulty = (self.difficulty - shift) / scale
        self.slope = self.slope + np.log(scale)
        before = (*self.prior_slope, *self.prior_difficulty)
        self.information[:, 1:] *= np.array([scale, scale**2])
        means, variances = self.moments()
        self.prior_slope = _learned(means[:, 0], variances[:, 0], PRIOR_TASKS)
        self.prior_difficulty = _learned(means[:, 1], variances[:, 1], 0.0)
        after = (*self.prior_slope, *self.prior_difficulty)
        return max(abs(new - old) for new, old in zip(after, before, strict=True))

    def roots(self) -> tuple[Floats, Floats, Floats]:
        """The lower triangle of the root of each task's inverse information: own, under it, last."""
        slopes, both, difficulties = self.information.T
        determinant = np.maximum(slopes * difficulties - both**2, 1e-12)
        own = np.sqrt(difficulties / determinant)
        under = -both / determinant / own
        return own, under, np.sqrt(np.maximum(slopes / determinant - under**2, 0))

    def moments(self) -> tuple[Floats, Floats]:
        """Posterior means and variances of log discrimination and difficulty at the present abilities.

        The posterior is skewed where few tried a task: its mode is no mean, and its curvature there no variance.
        """
        x, w = np.polynomial.hermite.hermgauss(TASK_NODES)
        across, along = (side.ravel() for side in np.meshgrid(x, x, indexing="ij"))
        own, under, last = (np.sqrt(2) * root[:, None] for root in self.roots())
        slope = self.slope[:, None] + own * across
        difficulty = self.difficulty[:, None] + under * across + last * along
        logits = np.exp(slope)[self.tasks] * (self.middle[self.tools][:, None] - difficulty[self.tasks])
        log_likelihood = self.right[:, None] * logits - self.attempts[:, None] * np.logaddexp(0, logits)
        joint = self.of_tasks(self.people[self.tools][:, None] * log_likelihood) + across**2 + along**2
        for values, (center, deviation) in ((slope, self.prior_slope), (difficulty, self.prior_difficulty)):
            joint = joint - 0.5 * ((values - center) / deviation) ** 2
        weights = np.outer(w, w).ravel() * np.exp(joint - joint.max(axis=1, keepdims=True))
        weights = weights / weights.sum(axis=1, keepdims=True)
        both = np.stack([slope, difficulty], axis=2)
        means = np.einsum("jq,jqk->jk", weights, both)
        return means, np.einsum("jq,jqk->jk", weights, (both - means[:, None, :]) ** 2)


def _learned(values: Floats, variances: Floats, before: float) -> tuple[float, float]:
    """Mean and deviation of what the values estimate, as if `before` values with the first spread had been seen."""
    center = float(np.mean(values))
    squares = float(np.sum((values - center) ** 2 + variances)) + before * FIRST_SPREAD**2
    return center, max(np.sqrt(squares / (len(values) + before)), 1e-3)


def item_response(seen: Responses, *, people: Floats | None = None, is_pooled: bool = True) -> ItemResponse:
    """Fit the model. `people` is the number with the same answers as each tool (default: one).

    Pooled, log discriminations and difficulties come from normal distributions that are learned from all tasks
    (empirical Bayes): a task that few tried leans toward the others. Not pooled, it is plain marginal maximum
    likelihood with abilities from the standard normal distribution, as item response programs fit it to thousands of
    people; its errors are too small where each of them answered few questions.

    An answer that is right in part counts as that part of a right and the rest of a wrong one (Papke and Wooldridge
    1996): the same as right or wrong where all are, and errors that are never too small where they are not.
    Every tool and every task from 0 on needs an entry.
    """
    tools = int(seen.tools.max()) + 1
    fit = _Fit(seen, np.ones(tools) if people is None else people, is_pooled=is_pooled)
    tolerance = POOLED_TOLERANCE if is_pooled else TOLERANCE
    moved, likelihood, rounds = np.inf, -np.inf, 0
    while moved > tolerance and rounds < ITERATIONS:
        moved, likelihood = fit.step()
        rounds += 1
    return _with_errors(fit, likelihood, rounds, converged=moved <= tolerance)


def _with_errors(fit: _Fit, likelihood: float, rounds: int, *, converged: bool) -> ItemResponse:
    """The estimates with errors from the information of abilities and task parameters together.

    An ability's error thus contains what is not known about the tasks, and a task's what is not known about the tools.
    """
    chance = 1 / (1 + np.exp(-fit.logits(fit.middle)))
    sure = fit.attempts * chance * (1 - chance)
    low, under, last = fit.roots()
    effects = _effects(fit, sure)
    first, between, second = effects.others[0::2], effects.pairs, effects.others[1::2]
    slope_variance = low**2 * first
    difficulty_variance = under**2 * first + 2 * under * last * between + last**2 * second
    slope, difficulty = fit.slope, fit.difficulty
    if fit.is_pooled:  # what the tools leave open comes on top of the posterior at known abilities
        means, variances = fit.moments()
        slope, difficulty = means.T
        slope_variance += variances[:, 0] - low**2
        difficulty_variance += variances[:, 1] - (under**2 + last**2)
    dispersion = _dispersion(fit, chance, sure)
    more = np.sqrt(dispersion)
    return ItemResponse(
        ability=fit.middle,
        ability_error=more * np.sqrt(effects.own),
        difficulty=difficulty,
        difficulty_error=more * np.sqrt(difficulty_variance),
        log_discrimination=slope,
        log_discrimination_error=more * np.sqrt(slope_variance),
        dispersion=dispersion,
        log_likelihood=likelihood,
        iterations=rounds,
        converged=converged,
    )


def _effects(fit: _Fit, sure: Floats) -> JointErrors:
    """Variances of abilities and, two a task and in units of its own root, of its parameters; all known at once."""
    a = np.exp(fit.slope)[fit.tasks]
    of_ability = fit.of_tools(sure * a**2) + 1
    above = fit.middle[fit.tools] - fit.difficulty[fit.tasks]
    cross = (sure * a**2)[:, None] * np.stack([above, -np.ones(len(a))], axis=1)
    # two columns a task: the cross information times the root of the inverse of the task's own
    low, under, last = (root[fit.tasks] for root in fit.roots())
    columns = [cross[:, 0] * low + cross[:, 1] * under, cross[:, 1] * last]
    root = np.sqrt(fit.people[fit.tools])[:, None] * np.stack(columns, axis=1)
    tools, tasks = len(fit.people), len(fit.slope)
    places = np.concatenate([2 * fit.tasks, 2 * fit.tasks + 1])
    rows = np.concatenate([fit.tools, fit.tools])
    joined = sparse.csr_array((root.T.reshape(-1), (rows, places)), shape=(tools, 2 * tasks))
    fixed = np.ones((1, tools)) if fit.is_pooled else np.empty((0, tools))
    return covariance_of_effects(of_ability, joined, fixed)


def _dispersion(fit: _Fit, chance: Floats, sure: Floats) -> float:
    """Return the dispersion of the answers relative to chance, at least 1."""
    counted, answers = fit.people[fit.tools], len(fit.tools)
    spare = max(answers - len(fit.people) - len(fit.slope), answers // 2, 1)
    residuals = float(np.sum(counted * (fit.right - fit.attempts * chance) ** 2))
    return max(1.0, residuals / max(float(counted @ sure), 1e-12) * answers / spare)
