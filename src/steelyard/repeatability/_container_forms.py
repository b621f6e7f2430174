"""Equivalent forms about lists, sets and dicts, where it shows in the program that a name holds one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from steelyard.repeatability._rewriting import ExpressionRule

_DISPLAYS = {
    ast.List: "list",
    ast.Dict: "dict",
    ast.Set: "set",
    ast.Tuple: "tuple",
    ast.ListComp: "list",
    ast.DictComp: "dict",
}
_LOOKUPS = frozenset({"get", "keys", "values", "items"})


def container_rules(tree: ast.Module, canon: ast.Module) -> list[ExpressionRule]:
    """Rules for this program: emptiness, membership, and the order of literals where order cannot be seen."""
    kinds = _kinds(tree)
    unordered = {id(node) for node in _displays_without_order(tree, kinds)}
    orders = [
        _constants(node) for node in ast.walk(canon) if isinstance(node, (ast.Dict, ast.Set, ast.List, ast.Tuple))
    ]
    wanted = [order for order in orders if order]

    def not_empty_form(node: ast.expr) -> ast.expr | None:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=name) as container) if name in kinds:
                length = ast.Call(func=ast.Name("len", ast.Load()), args=[container], keywords=[])
                return ast.Compare(left=length, ops=[ast.Eq()], comparators=[ast.Constant(0)])
        return None

    def with_keys(node: ast.expr) -> ast.expr | None:
        match node:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name) as container]):
                if kinds.get(name) == "dict":
                    keys = ast.Call(
                        func=ast.Attribute(value=container, attr="keys", ctx=ast.Load()), args=[], keywords=[]
                    )
                    return ast.Compare(left=left, ops=node.ops, comparators=[keys])
        return None

    def reordered(node: ast.expr) -> ast.expr | None:
        return _reordered(node, wanted) if id(node) in unordered else None

    return [_empty_form, not_empty_form, with_keys, reordered]


def _empty_form(node: ast.expr) -> ast.expr | None:
    """`len(x) == 0` as `not x`: what has a length is false exactly when it is 0."""
    match node:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="len"), args=[ast.Name() as container]),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            return ast.UnaryOp(op=ast.Not(), operand=container)
    return None


def _kinds(tree: ast.Module) -> dict[str, str]:
    """Names that hold one kind of container wherever the program assigns them."""
    kinds_by_name: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                kinds_by_name.setdefault(name, set()).add(_DISPLAYS.get(type(value), "other"))
            case ast.arg(arg=name) | ast.alias(name=name) | ast.ExceptHandler(name=str(name)):
                kinds_by_name.setdefault(name, set()).add("other")
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                kinds_by_name.setdefault(name, set()).add("other")
    plain = {id(target) for node in ast.walk(tree) if isinstance(node, ast.Assign) for target in node.targets}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) and id(node) not in plain:
            kinds_by_name.setdefault(node.id, set()).add("other")
    return {name: kinds.pop() for name, kinds in kinds_by_name.items() if len(kinds) == 1 and "other" not in kinds}


def _displays_without_order(tree: ast.Module, kinds: dict[str, str]) -> Iterator[ast.expr]:
    """Literals whose order nobody can see: tested for membership on the spot, or held by a name only looked up in."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.List() | ast.Tuple() | ast.Set() as literal]
            ):
                yield literal
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as literal):
                if kinds.get(name) == "dict" and _is_only_looked_up(name, tree):
                    yield literal


def _is_only_looked_up(name: str, tree: ast.Module) -> bool:
    reads = lookups = 0
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=identifier, ctx=ast.Load()) if identifier == name:
                reads += 1
            case ast.Subscript(value=ast.Name(id=identifier), ctx=ast.Load()) if identifier == name:
                lookups += 1
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[container]):
                lookups += _is_view_of(container, name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=identifier), attr="get")) if identifier == name:
                lookups += 1
    return reads == lookups


def _is_view_of(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Name(id=identifier):
            return identifier == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=identifier), attr=attribute), args=[]):
            return identifier == name and attribute in _LOOKUPS
    return False


def _constants(node: ast.expr) -> list[str]:
    """Keys or elements of a literal that holds only constants, as text; nothing for any other."""
    parts: Sequence[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        parts = node.keys if all(isinstance(value, ast.Constant) for value in node.values) else []
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = node.elts
    shown = [repr(part.value) for part in parts if isinstance(part, ast.Constant)]
    return shown if len(shown) == len(parts) == len(set(shown)) else []


def _reordered(node: ast.expr, wanted: list[list[str]]) -> ast.expr | None:
    mine = _constants(node)
    for order in wanted:
        if mine and order != mine and sorted(order) == sorted(mine):
            places = [mine.index(part) for part in order]
            if isinstance(node, ast.Dict):
                return ast.Dict(keys=[node.keys[at] for at in places], values=[node.values[at] for at in places])
            if isinstance(node, ast.Set):
                return ast.Set(elts=[node.elts[at] for at in places])
            if isinstance(node, (ast.List, ast.Tuple)):
                return type(node)(elts=[node.elts[at] for at in places], ctx=node.ctx)
    return None
