"""Repair: small, named steps toward the canon, each kept only if the distance falls and the oracle still passes.

It never takes text from the canon: it knows the canon's names, order and forms, and rewrites the output by rules.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise

import msgspec

from steelyard.errors import UnknownNameError
from steelyard.questions.repeatability import (
    _expression_forms as forms,
    _program_steps as tidying,
    _statement_forms as statements,
)
from steelyard.questions.repeatability._contract import Contract
from steelyard.questions.repeatability._distance import cut_alike, distance, edits, within
from steelyard.questions.repeatability._languages import PYTHON, language_named
from steelyard.questions.repeatability._normalization import Level, normalize
from steelyard.questions.repeatability._oracle import Oracle
from steelyard.questions.repeatability._python_source import parse_python
from steelyard.questions.repeatability._rewriting import Candidate, Pieces, Written

REPAIR_VERSION = "repair-2"
SCANS = 4
"""What the rules of a step take for each character of a program, whether or not they find a place for themselves."""
CELLS_A_UNIT = 30_000
"""Cells of a distance that take about as long as writing one character of a program."""
_Candidates = Callable[[ast.Module, ast.Module, Contract], Iterator[Candidate]]

STEPS: dict[str, _Candidates] = {
    "drop_comments": lambda tree, canon, _: tidying.plain_form(tree, canon),
    "drop_docstrings": lambda tree, canon, _: tidying.without_docstrings(tree, canon),
    "remove_demo_code": lambda tree, canon, contract: tidying.without_demo_code(tree, canon, contract.entry_point),
    "rename_entry_point": lambda tree, canon, contract: tidying.with_entry_point(tree, canon, contract.entry_point),
    "drop_annotations": lambda tree, canon, _: tidying.without_annotations(tree, canon),
    "place_imports": lambda tree, canon, _: tidying.with_imports_placed(tree, canon),
    "order_definitions": lambda tree, canon, _: tidying.with_canon_order(tree, canon),
    "rename_locals": lambda tree, canon, contract: tidying.with_canon_names(
        tree, canon, contract.constraints.fixed_names
    ),
    "operator_forms": lambda tree, canon, _: forms.operator_forms(tree, canon),
    "statement_forms": lambda tree, canon, _: statements.statement_forms(tree, canon),
}
"""The steps, in the order they are tried."""


class RepairBudget(msgspec.Struct, frozen=True, kw_only=True):
    """What the search for repairs of one output may take: counted, so that it always ends at the same place."""

    work: int = 4_000_000
    """Characters of programs written and looked through, some 2 s of processor time."""
    checks: int = 60
    """Programs run against the contract."""


ORDINARY_BUDGET = RepairBudget()


class AppliedStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step that was kept."""

    step: str
    """Its name."""
    before: float
    """Distance before it."""
    after: float
    """Distance after it."""


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """An output after repair, with the log of what was applied."""

    code: str
    """The program; the output as it was when nothing was applied."""
    before: float
    """Distance to the canon before repair."""
    after: float
    """Distance to the canon after repair."""
    steps: tuple[AppliedStep, ...] = ()
    """What was applied, in order."""
    reason: str
    """Why repair ended: it is the canon, nothing more helps, the bound is reached, or it could not begin."""
    is_bounded: bool = False
    """Whether the budget ended the search: more work might have led nearer."""
    version: str = REPAIR_VERSION
    """The version of the set of steps."""


def repair(code: str, *, canon: str, oracle: Oracle, level: Level, budget: RepairBudget = ORDINARY_BUDGET) -> Repaired:
    """The code moved toward the canon as far as steps and budget lead. Applied to its own result it changes nothing."""
    contract = oracle.contract
    unknown = [name for name in contract.repair.never if name not in STEPS]
    if unknown:
        raise UnknownNameError("repair step", unknown[0], STEPS)
    goal = normalize(canon, level=level, language=contract.language).text
    start = distance(normalize(code, level=level, language=contract.language).text, goal).value
    if start == 0:
        return Repaired(code=code, before=start, after=start, reason="equals the canon")
    tree, target = parse_python(code), parse_python(canon)
    if language_named(contract.language) != PYTHON:
        return Repaired(code=code, before=start, after=start, reason=f"no repair steps for {contract.language}")
    if tree is None or target is None:
        return Repaired(code=code, before=start, after=start, reason="does not parse")
    return _Search(target, goal, oracle, level, budget).climb(code, tree, start)


class _BudgetSpentError(Exception):
    """The budget is used up."""


@dataclass
class _Search:
    """The way of one output toward the canon, and what may still be spent on it."""

    target: ast.Module
    goal: str
    oracle: Oracle
    level: Level
    budget: RepairBudget

    def __post_init__(self) -> None:
        self.work_left, self.checks_left = self.budget.work, self.budget.checks

    def climb(self, code: str, tree: ast.Module, start: float) -> Repaired:
        """Step after step, each taken as often as it leads nearer, until a round of all of them does not."""
        bounds = self.oracle.contract.repair
        steps = {name: candidates for name, candidates in STEPS.items() if name not in bounds.never}
        best, current, applied = code, start, list[AppliedStep]()
        progressed, is_bounded, reason = True, False, "no further step reduces the distance"
        try:
            while progressed and current > 0:
                progressed = False
                for name, candidates in steps.items():
                    while current > 0 and len(applied) < bounds.max_steps:
                        better = self._better(tree, best, candidates, current)
                        if better is None:
                            break
                        tree, best, nearer = better
                        applied.append(AppliedStep(step=name, before=current, after=nearer))
                        current, progressed = nearer, True
            if current > 0 and len(applied) >= bounds.max_steps:
                reason = f"reached the limit of {bounds.max_steps} steps"
        except _BudgetSpentError as spent:
            is_bounded, reason = current > 0, str(spent)
        except RecursionError:  # a sum of a thousand terms is as many levels deep, which copies and visitors are not
            reason = "expressions are nested too deeply for Python"
        return Repaired(
            code=best,
            before=start,
            after=current,
            steps=tuple(applied),
            reason=reason if current else "equals the canon",
            is_bounded=is_bounded,
        )

    def _spend(self, work: int) -> None:
        if work > self.work_left:
            self.work_left = 0
            raise _BudgetSpentError(f"the repair budget is used up ({self.budget.work:,} units)")
        self.work_left -= work

    def _better(
        self, tree: ast.Module, code: str, candidates: _Candidates, current: float
    ) -> tuple[ast.Module, str, float] | None:
        """The nearest candidate that is nearer than now and that the oracle passes."""
        self._spend(SCANS * len(code))
        nearer = self._nearer(tree, candidates(tree, self.target, self.oracle.contract), current)
        for text, _ in sorted(nearer.items(), key=lambda item: item[1]):
            rewritten = parse_python(text)
            apart = distance(self._form(text), self.goal).value
            if rewritten is not None and apart < current and self._passes(text):
                return rewritten, text, apart
        return None

    def _passes(self, text: str) -> bool:
        if self.checks_left == 0:
            raise _BudgetSpentError(f"the repair budget is used up ({self.budget.checks:,} checks)")
        self.checks_left -= 1
        return self.oracle.check(text).passed

    def _nearer(self, tree: ast.Module, candidates: Iterator[Candidate], current: float) -> dict[str, float]:
        """Candidates that are nearer, with their distance; one is the best rewrite of every statement together."""
        pieces = Pieces(tree)
        nearer: dict[str, float] = {}
        best: dict[int, tuple[float, str]] = {}
        with suppress(_BudgetSpentError):  # what was found by then is still tried; the next step ends the search
            alignment = self._alignment(pieces)
            for candidate in candidates:
                written, number = pieces.written(candidate), candidate.changed
                if written is None or written.text in nearer:
                    continue
                apart = self._apart(written, number, alignment, current)
                if apart < current:
                    nearer[written.text] = apart
                    if number is not None:
                        best[number] = min((apart, written.piece), best.get(number, (current, "")))
                if apart == 0:
                    return nearer
            if len(best) > 1:
                together = pieces.together({number: piece for number, (_, piece) in best.items()})
                nearer[together] = self._distance(together, 0, current)
        return nearer

    def _apart(self, written: Written, number: int | None, alignment: _Alignment | None, current: float) -> float:
        if alignment is None or number is None or not self._is_plain(written.text):
            return self._distance(written.text, written.characters, current)
        self._spend(written.characters)
        return alignment.distance(number, written, self._spend)

    def _alignment(self, pieces: Pieces) -> _Alignment | None:
        """Align the program with the canon; None if its text is not its normal form, or is a single statement."""
        texts = pieces.texts
        if texts is None or len(texts) < 2 or not self._is_plain(text := "".join(texts)):
            return None
        self._spend(3 * len(text) * len(self.goal) // CELLS_A_UNIT)
        return _Alignment(texts, self.goal)

    def _is_plain(self, text: str) -> bool:
        """Whether text that was just written from a tree is its own normal form."""
        return self.level == "ast" and '"""' not in text and "'''" not in text

    def _distance(self, text: str, written: int, current: float) -> float:
        """The distance of text that was just written from a tree; 1 for one that is not nearer than now."""
        is_plain = self._is_plain(text)
        self._spend(written + (0 if is_plain else len(text)) + len(text) * len(self.goal) // CELLS_A_UNIT)
        form = f"{text}\n" if is_plain else self._form(text)
        return distance(form, self.goal).value if within(form, self.goal, tau=current) else 1.0

    def _form(self, text: str) -> str:
        return normalize(text, level=self.level, language=self.oracle.contract.language).text


class _Alignment:
    """Program cut into statements and aligned parts of the canon, so that a statement is compared with its own part.

    What a rewrite gains there is far cheaper to find than the distance of the whole, and nearly always the same; the
    candidate that is taken is compared as a whole.
    """

    def __init__(self, texts: Sequence[str], goal: str) -> None:
        whole, wanted = "".join(texts), goal[:-1]  # the goal ends with a line end, the texts do not
        ends = list(accumulate(map(len, texts)))
        statements = [match.start() for match in _STATEMENT.finditer(wanted)]
        places = [0]
        for text, place in zip(texts, cut_alike(whole, wanted, ends[:-1]), strict=False):
            # an edit passes a cut somewhere near the canon's own, and where a statement ends is what is wanted
            nearest = min(_around(statements, place), key=lambda own: abs(own - place), default=place)
            places.append(max(places[-1], nearest if 2 * abs(nearest - place) <= len(text) else place))
        self._texts = texts
        self._parts = [wanted[start:end] for start, end in pairwise([*places, len(wanted)])]
        self._edits = [edits(text, part)[0] for text, part in zip(texts, self._parts, strict=True)]
        self._total = edits(whole, wanted)[0]
        self._length, self._wanted_length = len(whole), len(wanted)

    def distance(self, number: int, written: Written, spend: Callable[[int], None]) -> float:
        """About the distance with this statement in that place."""
        part = self._parts[number]
        spend(len(written.piece) * len(part) // CELLS_A_UNIT)
        total = self._total - self._edits[number] + edits(written.piece, part)[0]
        length = self._length - len(self._texts[number]) + len(written.piece)
        return total / (max(length, self._wanted_length) + 1)


_STATEMENT = re.compile(r"\n\n?(?=\S)")


def _around(places: Sequence[int], place: int) -> Sequence[int]:
    after = bisect(places, place)
    return places[max(after - 1, 0) : after + 1]
