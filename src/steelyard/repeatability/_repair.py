"""Repair: small, named steps toward the canon, each kept only if the distance falls and the oracle still passes.

It never takes text from the canon: it knows the canon's names, order and forms, and rewrites the output by rules.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

import msgspec

from steelyard.errors import UnknownName
from steelyard.repeatability import (
    _expression_forms as forms,
    _program_steps as tidying,
    _statement_forms as statements,
)
from steelyard.repeatability._contract import Contract
from steelyard.repeatability._distance import distance, within
from steelyard.repeatability._languages import PYTHON, language_named
from steelyard.repeatability._normalization import Level, normalize
from steelyard.repeatability._oracle import Oracle
from steelyard.repeatability._python_source import parse_python, unparse_python

REPAIR_VERSION = "repair-1"
CANDIDATE_CHARACTERS = 4_000_000
"""Text that one step may look through for a better candidate: some 2,000 candidates for 60 lines, fewer for more."""
_Candidates = Callable[[ast.Module, ast.Module, Contract], Iterator[ast.Module]]

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
    version: str = REPAIR_VERSION
    """The version of the set of steps."""


def repair(code: str, *, canon: str, oracle: Oracle, level: Level) -> Repaired:
    """The code moved toward the canon as far as the steps lead. Applied to its own result it changes nothing."""
    contract = oracle.contract
    unknown = [name for name in contract.repair.never if name not in STEPS]
    if unknown:
        raise UnknownName("repair step", unknown[0], STEPS)
    goal = normalize(canon, level=level, language=contract.language).text
    start = _distance(code, goal, level, contract)
    if start == 0:
        return Repaired(code=code, before=start, after=start, reason="it is the canon")
    tree, target = parse_python(code), parse_python(canon)
    if language_named(contract.language) != PYTHON:
        return Repaired(code=code, before=start, after=start, reason=f"no steps are written for {contract.language}")
    if tree is None or target is None:
        return Repaired(code=code, before=start, after=start, reason="it does not parse")
    return _climb(code, tree, target, goal, start, oracle, level)


def _climb(
    code: str, tree: ast.Module, target: ast.Module, goal: str, start: float, oracle: Oracle, level: Level
) -> Repaired:
    contract = oracle.contract
    best, current = code, start
    applied: list[AppliedStep] = []
    progressed = True
    while progressed and current > 0:
        progressed = False
        for name, candidates in STEPS.items():
            if name in contract.repair.never:
                continue
            while current > 0 and len(applied) < contract.repair.max_steps:
                better = _better(candidates(tree, target, contract), goal, current, oracle, level)
                if better is None:
                    break
                tree, best, nearer = better
                applied.append(AppliedStep(step=name, before=current, after=nearer))
                current, progressed = nearer, True
    if current == 0:
        reason = "it is the canon"
    elif len(applied) >= contract.repair.max_steps:
        reason = f"the bound of {contract.repair.max_steps} steps is reached"
    else:
        reason = "nothing more helps"
    return Repaired(code=best, before=start, after=current, steps=tuple(applied), reason=reason)


def _better(
    candidates: Iterator[ast.Module], goal: str, current: float, oracle: Oracle, level: Level
) -> tuple[ast.Module, str, float] | None:
    """The nearest candidate that is nearer than now and that the oracle passes."""
    nearer: dict[str, float] = {}
    looked_through = 0
    for candidate in candidates:
        text = unparse_python(candidate)
        if text is None or text in nearer:
            continue
        looked_through += len(text)
        if looked_through > CANDIDATE_CHARACTERS:
            break
        quick_distance = _quick_distance(text, goal, current, level, oracle.contract)
        if quick_distance < current:
            nearer[text] = quick_distance
        if quick_distance == 0:
            break
    for text, _ in sorted(nearer.items(), key=lambda item: item[1]):
        tree = parse_python(text)
        distance = _distance(text, goal, level, oracle.contract)
        if tree is not None and distance < current and oracle.check(text).passed:
            return tree, text, distance
    return None


def _quick_distance(text: str, goal: str, current: float, level: Level, contract: Contract) -> float:
    """The distance of text that was just written from a tree; 1 for one that is not nearer than now."""
    written_plainly = level == "ast" and '"""' not in text and "'''" not in text
    form = f"{text}\n" if written_plainly else normalize(text, level=level, language=contract.language).text
    return distance(form, goal).value if within(form, goal, tau=current) else 1.0


def _distance(code: str, goal: str, level: Level, contract: Contract) -> float:
    return distance(normalize(code, level=level, language=contract.language).text, goal).value
