"""Trying a rewrite at each place of a syntax tree where it fits."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
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
    owner: ast.AST

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


def rewritten_expressions(tree: ast.Module, rule: ExpressionRule) -> Iterator[ast.Module]:
    """Copies of the tree with the rule applied everywhere it fits, and at each single place."""
    places = sum(1 for _ in _expressions(tree, rule))
    if places > 1:
        everywhere = copy.deepcopy(tree)
        # From the last place to the first: an inner rewrite must not be lost when its parent is replaced.
        for write, _ in reversed(list(_expressions(everywhere, rule))):
            write()
        yield everywhere
    for index in range(min(places, MOST_PLACES)):
        candidate = copy.deepcopy(tree)
        for number, (write, _) in enumerate(_expressions(candidate, rule)):
            if number == index:
                write()
                break
        yield candidate


def _expressions(tree: ast.AST, rule: ExpressionRule) -> Iterator[tuple[Callable[[], None], ast.expr]]:
    for parent in list(ast.walk(tree)):
        for name, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                result = rule(value)
                if result is not None:
                    yield _set_field(parent, name, result), value
            elif isinstance(value, list):
                for position, item in enumerate(value):
                    result = rule(item) if isinstance(item, ast.expr) else None
                    if result is not None:
                        yield _set_item(value, position, result), item


def _set_field(parent: ast.AST, name: str, value: ast.expr) -> Callable[[], None]:
    return lambda: setattr(parent, name, value)


def _set_item(items: list[ast.expr], position: int, value: ast.expr) -> Callable[[], None]:
    return lambda: items.__setitem__(position, value)


def blocks(
    tree: ast.AST, function: Function | None = None
) -> Iterator[tuple[list[ast.stmt], Function | None, ast.AST]]:
    """Every list of statements with the innermost function it belongs to."""
    for name, value in ast.iter_fields(tree):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield value, function, tree
        children = value if isinstance(value, list) else [value]
        for child in children:
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield from blocks(child, child)
            elif isinstance(child, ast.AST):
                yield from blocks(child, function)
        del name


def rewritten_blocks(tree: ast.Module, rule: BlockRule) -> Iterator[ast.Module]:
    """Copies of the tree with the rule applied at each single place."""
    made = 0
    count = sum(1 for _ in blocks(tree))
    for index in range(count):
        statements, function, owner = next(one for number, one in enumerate(blocks(tree)) if number == index)
        for at in range(len(statements)):
            for choice, _ in enumerate(rule(Block(statements, at, function, owner))):
                made += 1
                if made > MOST_PLACES:
                    return
                candidate = copy.deepcopy(tree)
                theirs = next(one for number, one in enumerate(blocks(candidate)) if number == index)
                found = next(
                    one
                    for number, one in enumerate(rule(Block(theirs[0], at, theirs[1], theirs[2])))
                    if number == choice
                )
                replaced, new = found
                theirs[0][at : at + replaced] = new
                yield ast.fix_missing_locations(candidate)


def names_in(node: ast.AST) -> set[str]:
    """Every name that is read or written."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def reads(node: ast.AST, name: str) -> int:
    """How often the name is read."""
    return sum(
        isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load) for inner in ast.walk(node)
    )


def is_plain_local(name: str, function: Function | None) -> bool:
    """Whether the name is the function's own and no inner function, `global` or `nonlocal` touches it."""
    if function is None:
        return False
    for node in ast.walk(function):
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


def ends(statements: list[ast.stmt]) -> bool:
    """Whether nothing after the block is reached through it."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    return isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))
