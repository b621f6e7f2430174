"""Trying a rewrite at each place of a syntax tree where it fits."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from steelyard.questions.repeatability._source_code import unparse_python

Function = ast.FunctionDef | ast.AsyncFunctionDef
ExpressionRule = Callable[[ast.expr], ast.expr | None]


class Candidate(NamedTuple):
    """A program to try; the tree itself, changed until the next is asked for, where copies would take most time."""

    tree: ast.Module
    changed: int | None = None
    """The only statement of the module that differs from the program's; None where others may."""


class RewrittenText(NamedTuple):
    """A candidate as text."""

    text: str
    characters: int
    """Number of rewritten characters."""
    piece: str
    """The statement that differs, with the line ends before it; empty where others may."""


class Pieces:
    """Program as the texts of its statements, so that only a changed statement is rewritten."""

    def __init__(self, tree: ast.Module) -> None:
        texts = [_piece(tree, number) for number in range(len(tree.body))]
        self.texts = None if None in texts else [text for text in texts if text is not None]
        """Of each statement, with the line ends before it; None for a program that cannot be written."""

    def written(self, candidate: Candidate) -> RewrittenText | None:
        """The candidate as text; None for one that cannot be written."""
        if candidate.changed is None:
            text = unparse_python(candidate.tree)
            return None if text is None else RewrittenText(text, len(text), "")
        piece = _piece(candidate.tree, candidate.changed)
        if piece is None or self.texts is None:
            return None
        return RewrittenText(self.together({candidate.changed: piece}), len(piece), piece)

    def together(self, pieces: Mapping[int, str]) -> str:
        """The program with other texts for some of its statements."""
        return "".join(pieces.get(number, text) for number, text in enumerate(self.texts or ()))


_WITH_SPACE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _piece(tree: ast.Module, number: int) -> str | None:
    """One statement as it is written in its module, where a text that comes first is a docstring."""
    part = tree.body[number]
    if number == 0:
        return unparse_python(ast.Module(body=[part], type_ignores=[]))
    text = unparse_python(part)
    return None if text is None else ("\n\n" if isinstance(part, _WITH_SPACE) else "\n") + text


@dataclass(frozen=True)
class Block:
    """A list of statements, where in it we look, and the function it belongs to."""

    statements: list[ast.stmt]
    at: int
    function: FunctionFacts | None

    def following(self, count: int) -> list[ast.stmt]:
        """That many statements from here on; fewer at the end of the block."""
        return self.statements[self.at : self.at + count]


class FunctionFacts:
    """Facts about a function, computed once: per statement they would take quadratic time."""

    def __init__(self, function: Function) -> None:
        self._function = function

    @cached_property
    def _nodes(self) -> list[ast.AST]:
        return list(ast.walk(self._function))

    @cached_property
    def reads(self) -> Counter[str]:
        """How often each name is read."""
        return Counter(node.id for node in self._nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))

    @cached_property
    def stores(self) -> Counter[str]:
        """How often each name is written."""
        return Counter(
            node.id for node in self._nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )

    @cached_property
    def catches(self) -> bool:
        """Whether it sees exceptions, so that what was assigned before one can matter."""
        return any(isinstance(node, (ast.Try, ast.TryStar)) for node in self._nodes)

    @cached_property
    def _shared(self) -> frozenset[str]:
        """Names that an inner function, `global`, `nonlocal` or `finally` touches."""
        names: set[str] = set()
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
        for node in self._nodes:
            if isinstance(node, (ast.Try, ast.TryStar)):
                names.update(name for last in node.finalbody for name in names_in(last))
            elif isinstance(node, (ast.Global, ast.Nonlocal)):
                names.update(node.names)
            elif isinstance(node, inner) and node is not self._function:
                names |= names_in(node)
        return frozenset(names)

    def has_plain(self, name: str) -> bool:
        """Whether the name is the function's own: no inner function, `global`, `nonlocal` or `finally` touches it."""
        return name not in self._shared

    @cached_property
    def plain_values(self) -> frozenset[str]:
        """Names that only ever hold numbers or texts, as far as their assignments show."""
        plain: Counter[str] = Counter()
        parameters = {node.arg for node in self._nodes if isinstance(node, ast.arg)}
        for node in self._nodes:
            assigned = plain_assignment(node) if isinstance(node, ast.stmt) else None
            if assigned is not None:
                name, whole = assigned
                value = whole.left if isinstance(whole, ast.BinOp) else whole
                is_itself = isinstance(whole, ast.BinOp) and isinstance(value, ast.Name) and value.id == name
                is_literal = isinstance(value, ast.Constant) and type(value.value) in (int, float, str)
                plain[name] += is_itself or is_literal
            elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                plain[node.target.id] += 1
        return frozenset(name for name, count in plain.items() if self.stores[name] == count > 0) - parameters


def plain_assignment(statement: ast.stmt) -> tuple[str, ast.expr] | None:
    """Name and value of a plain `name = value`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return None


Replacement = tuple[int, list[ast.stmt]]
"""How many statements are replaced, and by which."""
BlockRule = Callable[[Block], Iterator[Replacement]]


def same(first: ast.AST, second: ast.AST) -> bool:
    """Whether two trees are equal, places in the text aside."""
    return ast.dump(first) == ast.dump(second)


def functions(tree: ast.AST, path: str = "") -> Iterator[tuple[str, Function]]:
    """Every function with its path, such as `Stack.push`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{path}.{node.name}" if path else node.name
            if not isinstance(node, ast.ClassDef):
                yield inner, node
            yield from functions(node, inner)
        else:
            yield from functions(node, path)


@dataclass(frozen=True)
class _Slot:
    """A place in the tree that holds an expression."""

    parent: ast.AST
    field: str
    index: int | None

    def get(self) -> ast.expr:
        value = getattr(self.parent, self.field)
        expression: ast.expr = value if self.index is None else value[self.index]
        return expression

    def put(self, value: ast.expr) -> None:
        if self.index is None:
            setattr(self.parent, self.field, value)
        else:
            getattr(self.parent, self.field)[self.index] = value


def _slots(tree: ast.AST) -> Iterator[_Slot]:
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                yield _Slot(parent, name, None)
            elif isinstance(value, list):
                for position, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield _Slot(parent, name, position)


def rewritten_expressions(tree: ast.Module, rules: Sequence[ExpressionRule]) -> Iterator[Candidate]:
    """The tree with each rule applied everywhere it fits, and at each single place."""
    slots = [(number, slot, slot.get()) for number, part in enumerate(tree.body) for slot in _slots(part)]
    for rule in rules:
        places = [(number, slot, old, new) for number, slot, old in slots if (new := rule(old)) is not None]
        if len(places) > 1:
            # From the last place to the first: an inner rewrite must not be lost when its parent is replaced.
            for _, slot, _, new in reversed(places):
                slot.put(new)
            yield Candidate(tree)
            for _, slot, old, _ in places:
                slot.put(old)
        for number, slot, old, new in places:
            slot.put(new)
            yield Candidate(tree, number)
            slot.put(old)


def blocks(tree: ast.AST, function: Function | None = None) -> Iterator[tuple[list[ast.stmt], Function | None]]:
    """Every list of statements with the innermost function it belongs to."""
    for _, value in ast.iter_fields(tree):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value, function
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from blocks(child, child)
            elif isinstance(child, ast.AST):
                yield from blocks(child, function)


def rewritten_blocks(tree: ast.Module, rules: Sequence[BlockRule]) -> Iterator[Candidate]:
    """The tree with a rule applied at one place."""
    every: list[tuple[int | None, list[ast.stmt], FunctionFacts | None]] = [(None, tree.body, None)]
    facts: dict[int, FunctionFacts] = {}
    for number, part in enumerate(tree.body):
        function = part if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
        for statements, owner in blocks(part, function):
            known = None if owner is None else facts.setdefault(id(owner), FunctionFacts(owner))
            every.append((number, statements, known))
    for rule in rules:
        for changed, statements, known in every:
            for at in range(len(statements)):
                for replaced, new in list(rule(Block(statements, at, known))):
                    old = statements[at : at + replaced]
                    statements[at : at + replaced] = [ast.copy_location(statement, old[0]) for statement in new]
                    yield Candidate(tree, changed)
                    statements[at : at + len(new)] = old


def names_in(node: ast.AST) -> set[str]:
    """Every name that is read or written."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def reads(node: ast.AST, name: str) -> int:
    """How often the name is read."""
    return sum(
        isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load) for inner in ast.walk(node)
    )


_PURE = frozenset(
    [
        "abs",
        "all",
        "any",
        "bool",
        "dict",
        "divmod",
        "enumerate",
        "float",
        "int",
        "isinstance",
        "len",
        "list",
        "max",
        "min",
        "ord",
        "pow",
        "range",
        "reversed",
        "round",
        "set",
        "sorted",
        "str",
        "sum",
        "tuple",
        "zip",
    ]
)


def is_pure(expression: ast.expr) -> bool:
    """Whether evaluating it a little earlier or later changes nothing: names, literals, operators, plain builtins."""
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in _PURE):
                return False
        elif isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Lambda)):
            return False
    return True


def ends(statements: list[ast.stmt]) -> bool:
    """Whether nothing after the block is reached through it."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))
