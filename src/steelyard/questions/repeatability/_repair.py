"""Repair: small, named steps toward the canon, each kept only if the distance falls and the oracle still passes.

It never takes text from the canon: it knows the canon's names, order and forms, and rewrites the output by rules.
"""

from __future__ import annotations

import ast
import builtins
import copy
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise

import msgspec

from steelyard.errors import UnknownNameError
from steelyard.questions.repeatability._contract import Contract
from steelyard.questions.repeatability._distance import cut_alike, distance, edits, within
from steelyard.questions.repeatability._equivalent_forms import operator_forms, statement_forms
from steelyard.questions.repeatability._normalization import Level, drop_docstrings, normalize
from steelyard.questions.repeatability._oracle import Oracle
from steelyard.questions.repeatability._rewrites import Candidate, Function, Pieces, RewrittenText, functions, is_pure
from steelyard.questions.repeatability._scopes import Local, Names, read_names
from steelyard.questions.repeatability._source_code import PYTHON, language_named, parse_python

MAX_NAMES = 60
MAX_NEW_NAMES = 8
_BUILTINS = frozenset(dir(builtins))
_IMPORTS = (ast.Import, ast.ImportFrom)


def plain_form(tree: ast.Module) -> Iterator[Candidate]:
    """The program without comments and in plain layout: what is left once it has been parsed."""
    yield Candidate(tree)


def without_docstrings(tree: ast.Module) -> Iterator[Candidate]:
    """The program without docstrings."""
    candidate = copy.deepcopy(tree)
    drop_docstrings(candidate)
    yield Candidate(candidate)


def without_annotations(tree: ast.Module) -> Iterator[Candidate]:
    """The program without type annotations; those in a class body stay, since they can mean something there."""
    candidate = copy.deepcopy(tree)
    _Unannotate().visit(candidate)
    yield Candidate(ast.fix_missing_locations(candidate))


class _Unannotate(ast.NodeTransformer):
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.body = [self.visit(part) if not isinstance(part, ast.AnnAssign) else part for part in node.body]
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        self.generic_visit(node)
        node.body = node.body or [ast.Pass()]
        return node

    visit_FunctionDef = _function  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_AsyncFunctionDef = _function  # noqa: N815 - the name that ast.NodeVisitor looks for

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt | None:
        if node.value is None:
            return None
        return ast.Assign(targets=[node.target], value=node.value)


def _is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"), comparators=[ast.Constant(value="__main__")])):
            return True
    return False


def _is_demo(statement: ast.stmt, shown: frozenset[str]) -> bool:
    """Whether a statement of the module only shows something: it prints, calls the entry point or main, or checks."""
    if _is_main_guard(statement) or isinstance(statement, ast.Assert):
        return True
    if isinstance(statement, ast.Expr):
        match statement.value:
            case ast.Call(func=ast.Name(id=name)):
                return name in shown
            case ast.Constant() | ast.Name() | ast.JoinedStr():
                return True
        return False
    if isinstance(statement, (ast.For, ast.If)):
        return all(_is_demo(inner, shown) for inner in (*statement.body, *statement.orelse))
    return False


def without_demo_code(tree: ast.Module, canon: ast.Module, entry_point: str | None) -> Iterator[Candidate]:
    """Return the program without code that the entry point does not need."""
    shown = frozenset({"print", "main", *([entry_point] if entry_point else [])})
    kept = [statement for statement in tree.body if not _is_demo(statement, shown)]
    for statements in (_needed(kept, entry_point, canon, shown), kept):
        if statements and len(statements) < len(tree.body):
            yield Candidate(ast.Module(body=statements, type_ignores=[]))
    for number, statement in enumerate(tree.body[:MAX_NAMES]):
        if _is_demo(statement, shown) and len(tree.body) > 1:
            yield Candidate(ast.Module(body=[*tree.body[:number], *tree.body[number + 1 :]], type_ignores=[]))


def _can_go(statement: ast.stmt, shown: frozenset[str]) -> bool:
    """Return whether a statement only binds names, so that it can be removed if they are unused."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return not statement.decorator_list
    if isinstance(statement, ast.Assign):
        call = statement.value
        shows = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in shown
        plain = all(isinstance(target, (ast.Name, ast.Tuple)) for target in statement.targets)
        return plain and (shows or is_pure(statement.value))
    return isinstance(statement, (ast.Import, ast.ImportFrom))


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    stored = (node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    return set(stored)


def _needed(
    statements: list[ast.stmt], entry_point: str | None, canon: ast.Module, shown: frozenset[str]
) -> list[ast.stmt]:
    """The statements that the entry point reaches by name, and those that do more than bind names."""
    binders: dict[str, list[int]] = {}
    for number, statement in enumerate(statements):
        for name in _bound(statement):
            binders.setdefault(name, []).append(number)
    kept = {number for number, statement in enumerate(statements) if not _can_go(statement, shown)}
    wanted = {entry_point} if entry_point else set()
    wanted |= {name for statement in canon.body for name in _bound(statement)}
    kept |= {number for name in wanted for number in binders.pop(name, ())}
    waiting = list(kept)
    while waiting:  # each statement and each name once
        for name in _used(statements[waiting.pop()]):
            reached = set(binders.pop(name, ())) - kept
            kept |= reached
            waiting += reached
    return [statements[number] for number in sorted(kept)]


def with_entry_point(tree: ast.Module, entry_point: str | None) -> Iterator[Candidate]:
    """The program with one of its functions or classes under the name that the contract asks for."""
    defined = [
        node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]
    if entry_point is None or entry_point in defined:
        return
    if entry_point in read_names(tree).others or any(local.name == entry_point for local in read_names(tree).locals):
        return
    for name in defined[:MAX_NAMES]:
        candidate = copy.deepcopy(tree)
        _RenameGlobal(candidate, name, entry_point)
        yield Candidate(candidate)


class _RenameGlobal:
    """Gives a name of the module another one, wherever it is not hidden by a local of the same name."""

    def __init__(self, tree: ast.Module, old: str, new: str) -> None:
        hidden = {id(local.scope.node) for local in read_names(tree).locals if local.name == old}
        self._walk(tree, old, new, hidden)

    def _walk(self, node: ast.AST, old: str, new: str, hidden: set[int]) -> None:
        if id(node) in hidden:
            return
        if isinstance(node, ast.Name) and node.id == old:
            node.id = new
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == old:
            node.name = new
        if isinstance(node, ast.Global):
            node.names = [new if name == old else name for name in node.names]
        for child in ast.iter_child_nodes(node):
            self._walk(child, old, new, hidden)


def with_canon_names(tree: ast.Module, canon: ast.Module, fixed: tuple[str, ...]) -> Iterator[Candidate]:
    """The program with locals named as the canon names those in the same place.

    First all locals of a function at once, matched in order of appearance; then one local at a time. It is the tree
    itself, changed until the next is asked for.
    """
    theirs = dict(functions(canon))
    canon_names = read_names(canon)
    names = read_names(tree)
    numbers = {id(node): number for number, part in enumerate(tree.body) for node in ast.walk(part)}
    matched = [
        (numbers[id(function)], _LocalNames(names, function, fixed), canon_names.of(theirs[path]))
        for path, function in functions(tree)
        if path in theirs
    ]
    orders = [(number, order) for number, room, wanted in matched if (order := room.in_order(wanted))]
    every = [(None, [pair for _, order in orders for pair in order])] if len(orders) > 1 else []
    for changed, pairs in [*every, *orders]:
        before = [(local, local.name) for local, _ in pairs]
        _rename(pairs)
        yield Candidate(tree, changed)
        _rename(before)
    for number, room, wanted in matched:
        for local, new in room.single_renames([canon_local.name for canon_local in wanted]):
            before_name = local.name
            local.rename(new)
            yield Candidate(tree, number)
            local.rename(before_name)


def _rename(pairs: list[tuple[Local, str]]) -> None:
    """Rename all at once: each local knows its own places, so two can swap names."""
    for local, new in pairs:
        local.rename(new)


class _LocalNames:
    """Locals of a function and the names they can take, read once."""

    def __init__(self, names: Names, function: Function, fixed: tuple[str, ...]) -> None:
        self._locals = names.of(function)
        self._fixed = fixed
        self._keywords = names.keywords
        nodes = list(ast.walk(function))
        self._used = {node.id for node in nodes if isinstance(node, ast.Name)} | {local.name for local in self._locals}
        self._parameters = {node.arg for node in nodes if isinstance(node, ast.arg)}
        own, mine = Counter(local.name for local in self._locals), set(self._locals)
        inner = {local.name for node in nodes for local in names.inside(node) if local not in mine}
        self._hidden = inner | {name for name, count in own.items() if count > 1}
        """Names that an inner function, or a second local of the same name, has for something else."""

    def _is_keyword(self, local: Local, new: str) -> bool:
        return (local.name in self._keywords or new in self._keywords) and local.name in self._parameters

    def _is_free(self, local: Local, new: str) -> bool:
        """Whether the local can take the name without meeting another meaning of it."""
        taken = new in self._used or new in self._parameters or new in _BUILTINS
        hides = local.name in self._hidden or new in self._hidden
        return local.can_be_renamed and not taken and not hides and not self._is_keyword(local, new)

    def in_order(self, wanted: list[Local]) -> list[tuple[Local, str]]:
        """The locals with the names wanted, first to first; nothing when one of them cannot take its name."""
        pairs = [
            (local, theirs.name)
            for local, theirs in zip(self._locals, wanted, strict=False)
            if local.name != theirs.name and local.name not in self._fixed
        ]
        moving = {local.name for local, _ in pairs}
        coming = {new for _, new in pairs}
        if len(coming) != len(pairs) or (moving | coming) & self._hidden:
            return []
        staying = self._used - moving
        for local, new in pairs:
            if not local.can_be_renamed or self._is_keyword(local, new) or new in staying or new in _BUILTINS:
                return []
        return pairs

    def single_renames(self, wanted: list[str]) -> Iterator[tuple[Local, str]]:
        """Yield pairs of a local and an unused name of the canon."""
        mine = {local.name for local in self._locals}
        open_names = [name for name in dict.fromkeys(wanted) if name not in mine][:MAX_NEW_NAMES]
        stays = {*self._fixed, *wanted}
        for local in self._locals:
            if local.name not in stays:
                yield from ((local, new) for new in open_names if self._is_free(local, new))


def with_imports_placed(tree: ast.Module, canon: ast.Module) -> Iterator[Candidate]:
    """The program with imports where the canon has them: at the top, or inside the only function that uses them."""
    inside: dict[str, list[str]] = {}
    for path, theirs in functions(canon):
        for written in {ast.dump(statement): None for statement in theirs.body if isinstance(statement, _IMPORTS)}:
            inside.setdefault(written, []).append(path)
    users: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _used(statement):
            users.setdefault(name, []).append(statement)
    mine = dict(functions(tree))
    for number, statement in enumerate(tree.body):
        if isinstance(statement, _IMPORTS):
            needs = {id(user): user for name in _bound(statement) for user in users.get(name, ())}
            for path in inside.get(ast.dump(statement), ()):
                if path in mine and list(needs) == [id(mine[path])]:
                    candidate = copy.deepcopy(tree)
                    moved = candidate.body[number]
                    dict(functions(candidate))[path].body.insert(0, moved)
                    candidate.body.remove(moved)
                    yield Candidate(candidate)
    at_top = {ast.dump(statement) for statement in canon.body if isinstance(statement, _IMPORTS)}
    for path, function in functions(tree):
        for number, statement in enumerate(function.body):
            if isinstance(statement, _IMPORTS) and ast.dump(statement) in at_top and len(function.body) > 1:
                candidate = copy.deepcopy(tree)
                moved = dict(functions(candidate))[path].body.pop(number)
                if not any(ast.dump(moved) == ast.dump(other) for other in candidate.body):
                    candidate.body.insert(0, moved)
                yield Candidate(candidate)


def _used(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def with_canon_order(tree: ast.Module, canon: ast.Module) -> Iterator[Candidate]:
    """The program with imports, and definitions that do not depend on each other's order, in the canon's order."""
    candidate = copy.deepcopy(tree)
    changed = _reorder(candidate.body, canon.body, (ast.Import, ast.ImportFrom))
    changed |= _reorder(candidate.body, canon.body, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    classes = {node.name: node for node in canon.body if isinstance(node, ast.ClassDef)}
    for node in candidate.body:
        if isinstance(node, ast.ClassDef) and node.name in classes:
            changed |= _reorder(node.body, classes[node.name].body, (ast.FunctionDef, ast.AsyncFunctionDef))
    if changed:
        yield Candidate(candidate)


def _reorder(statements: list[ast.stmt], wanted: list[ast.stmt], kinds: tuple[type[ast.stmt], ...]) -> bool:
    places = [number for number, statement in enumerate(statements) if isinstance(statement, kinds)]
    moving = [statements[place] for place in places]
    if any(not _is_free_to_move(statement) for statement in moving):
        return False
    order = {name: number for number, statement in enumerate(wanted) for name in _bound(statement)}
    last = len(wanted)
    moved = sorted(
        moving, key=lambda statement: min((order.get(name, last) for name in _bound(statement)), default=last)
    )
    for place, statement in zip(places, moved, strict=True):
        statements[place] = statement
    return moved != moving


def _is_free_to_move(statement: ast.stmt) -> bool:
    """Whether making the definition earlier or later changes nothing: making it runs no code of the program."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return not any(alias.name == "*" for alias in statement.names)
    if isinstance(statement, ast.ClassDef):
        plain = all(
            isinstance(part, (ast.FunctionDef, ast.Pass, ast.Expr)) and _is_free_to_move(part)
            for part in statement.body
        )
        return plain and not statement.decorator_list and not statement.keywords and not statement.bases
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        defaults = [*statement.args.defaults, *(default for default in statement.args.kw_defaults if default)]
        return not statement.decorator_list and all(isinstance(default, ast.Constant) for default in defaults)
    return isinstance(statement, (ast.Pass, ast.Expr))


REPAIR_VERSION = "repair-2"
SCANS = 4
"""What the rules of a step take for each character of a program, whether or not they find a place for themselves."""
CELLS_A_UNIT = 30_000
"""Cells of a distance that take about as long as writing one character of a program."""
_Candidates = Callable[[ast.Module, ast.Module, Contract], Iterator[Candidate]]

STEPS: dict[str, _Candidates] = {
    "drop_comments": lambda tree, *_: plain_form(tree),
    "drop_docstrings": lambda tree, *_: without_docstrings(tree),
    "remove_demo_code": lambda tree, canon, contract: without_demo_code(tree, canon, contract.entry_point),
    "rename_entry_point": lambda tree, _, contract: with_entry_point(tree, contract.entry_point),
    "drop_annotations": lambda tree, *_: without_annotations(tree),
    "place_imports": lambda tree, canon, _: with_imports_placed(tree, canon),
    "order_definitions": lambda tree, canon, _: with_canon_order(tree, canon),
    "rename_locals": lambda tree, canon, contract: with_canon_names(tree, canon, contract.constraints.fixed_names),
    "operator_forms": lambda tree, canon, _: operator_forms(tree, canon),
    "statement_forms": lambda tree, canon, _: statement_forms(tree, canon),
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


class RepairResult(msgspec.Struct, frozen=True, kw_only=True):
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


def repair(
    code: str, *, canon: str, oracle: Oracle, level: Level, budget: RepairBudget = ORDINARY_BUDGET
) -> RepairResult:
    """The code moved toward the canon as far as steps and budget lead. Applied to its own result it changes nothing."""
    contract = oracle.contract
    unknown = [name for name in contract.repair.never if name not in STEPS]
    if unknown:
        raise UnknownNameError("repair step", unknown[0], STEPS)
    goal = normalize(canon, level=level, language=contract.language).text
    start = distance(normalize(code, level=level, language=contract.language).text, goal).value
    if start == 0:
        return RepairResult(code=code, before=start, after=start, reason="equals the canon")
    tree, target = parse_python(code), parse_python(canon)
    if language_named(contract.language) != PYTHON:
        return RepairResult(code=code, before=start, after=start, reason=f"no repair steps for {contract.language}")
    if tree is None or target is None:
        return RepairResult(code=code, before=start, after=start, reason="does not parse")
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

    def climb(self, code: str, tree: ast.Module, start: float) -> RepairResult:
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
        return RepairResult(
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

    def _apart(self, written: RewrittenText, number: int | None, alignment: _Alignment | None, current: float) -> float:
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

    def distance(self, number: int, written: RewrittenText, spend: Callable[[int], None]) -> float:
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
