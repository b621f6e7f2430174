"""Repair steps on the whole program: omissions, names and order."""

from __future__ import annotations

import ast
import builtins
import copy
from collections import Counter
from collections.abc import Iterator

from steelyard.questions.repeatability._normalization import drop_docstrings
from steelyard.questions.repeatability._rewriting import Candidate, Function, functions, is_pure
from steelyard.questions.repeatability._scopes import Local, Names, read_names

MAX_NAMES = 60
MAX_NEW_NAMES = 8
_BUILTINS = frozenset(dir(builtins))
_IMPORTS = (ast.Import, ast.ImportFrom)


def plain_form(tree: ast.Module, _canon: ast.Module) -> Iterator[Candidate]:
    """The program without comments and in plain layout: what is left once it has been parsed."""
    yield Candidate(tree)


def without_docstrings(tree: ast.Module, _canon: ast.Module) -> Iterator[Candidate]:
    """The program without docstrings."""
    candidate = copy.deepcopy(tree)
    drop_docstrings(candidate)
    yield Candidate(candidate)


def without_annotations(tree: ast.Module, _canon: ast.Module) -> Iterator[Candidate]:
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


def with_entry_point(tree: ast.Module, _canon: ast.Module, entry_point: str | None) -> Iterator[Candidate]:
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
        (numbers[id(function)], _Renaming(names, function, fixed), canon_names.of(theirs[path]))
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


class _Renaming:
    """Which locals of a function can take which names. What is asked again and again is read once."""

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
