"""Trying a rewrite at each place of a syntax tree where it fits."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

MOST_PLACES = 40
"""Candidates of one rule on one program; a longer program is rewritten place by place in later rounds."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
ExpressionRule = Callable[[ast.expr], ast.expr | None]


@dataclass(frozen=True)
class Block:
    """A list of statements, where in it we look, and the function it belongs to."""

    statements: list[ast.stmt]
    at: int
    function: Function | None

    def following(self, count: int) -> list[ast.stmt]:
        """That many statements from here on; fewer at the end of the block."""
        return self.statements[self.at : self.at + count]


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


def rewritten_expressions(tree: ast.Module, rules: Sequence[ExpressionRule]) -> Iterator[ast.Module]:
    """The tree with each rule applied everywhere it fits, and at each single place.

    It is the tree itself, changed until the next is asked for: copies would take most of the time.
    """
    slots = [(slot, slot.get()) for slot in _slots(tree)]
    for rule in rules:
        places = [(slot, old, new) for slot, old in slots if (new := rule(old)) is not None]
        if len(places) > 1:
            # From the last place to the first: an inner rewrite must not be lost when its parent is replaced.
            for slot, _, new in reversed(places):
                slot.put(new)
            yield tree
            for slot, old, _ in places:
                slot.put(old)
        for slot, old, new in places[:MOST_PLACES]:
            slot.put(new)
            yield tree
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


def rewritten_blocks(tree: ast.Module, rules: Sequence[BlockRule]) -> Iterator[ast.Module]:
    """The tree with a rule applied at one place; as above, the tree itself until the next is asked for."""
    every = list(blocks(tree))
    for rule in rules:
        places = [
            (statements, at, replaced, new)
            for statements, function in every
            for at in range(len(statements))
            for replaced, new in rule(Block(statements, at, function))
        ]
        for statements, at, replaced, new in places[:MOST_PLACES]:
            old = statements[at : at + replaced]
            statements[at : at + replaced] = [ast.fix_missing_locations(statement) for statement in new]
            yield tree
            statements[at : at + len(new)] = old


def names_in(node: ast.AST) -> set[str]:
    """Every name that is read or written."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def reads(node: ast.AST, name: str) -> int:
    """How often the name is read."""
    return sum(
        isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load) for inner in ast.walk(node)
    )


def is_plain_local(name: str, function: Function | None) -> bool:
    """Whether the name is the function's own: no inner function, `global`, `nonlocal` or `finally` touches it."""
    if function is None:
        return False
    for node in ast.walk(function):
        if isinstance(node, (ast.Try, ast.TryStar)) and any(name in names_in(last) for last in node.finalbody):
            return False
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return False
        inner = (
            isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)) and node is not function
        )
        if inner and name in names_in(node):
            return False
    return True


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


def catches(function: Function | None) -> bool:
    """Whether the function sees exceptions, so that what was assigned before one can matter."""
    return function is not None and any(isinstance(node, (ast.Try, ast.TryStar)) for node in ast.walk(function))


def ends(statements: list[ast.stmt]) -> bool:
    """Whether nothing after the block is reached through it."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))
