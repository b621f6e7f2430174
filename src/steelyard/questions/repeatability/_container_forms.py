"""Equivalent forms about lists, sets and dicts, where it shows in the program that a name holds one."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from steelyard.questions.repeatability._rewriting import ExpressionRule

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
    wanted: dict[frozenset[str], list[list[str]]] = {}
    for node in ast.walk(canon):
        if isinstance(node, (ast.Dict, ast.Set, ast.List, ast.Tuple)) and (order := _constants(node)):
            wanted.setdefault(frozenset(order), []).append(order)

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
    """Literals whose order is not observable: used only for membership tests, directly or by a name."""
    only_looked_up = _only_looked_up(tree)
    for node in ast.walk(tree):
        match node:
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.List() | ast.Tuple() | ast.Set() as literal]
            ):
                yield literal
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict() as literal):
                if kinds.get(name) == "dict" and name in only_looked_up:
                    yield literal


def _only_looked_up(tree: ast.Module) -> frozenset[str]:
    """Names that are read only to look something up in what they hold."""
    reads: Counter[str] = Counter()
    lookups: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                reads[name] += 1
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Load()):
                lookups[name] += 1
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[container]):
                if (viewed := _viewed(container)) is not None:
                    lookups[viewed] += 1
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get")):
                lookups[name] += 1
    # one that is never read is looked up in as often as it is read
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return frozenset(name for name in stored if reads[name] == lookups[name])


def _viewed(node: ast.expr) -> str | None:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attribute), args=[]):
            return name if attribute in _LOOKUPS else None
    return None


def _constants(node: ast.expr) -> list[str]:
    """Keys or elements of a literal that holds only constants, as text; nothing for any other."""
    parts: Sequence[ast.expr | None] = []
    if isinstance(node, ast.Dict):
        parts = node.keys if all(isinstance(value, ast.Constant) for value in node.values) else []
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        parts = node.elts
    shown = [repr(part.value) for part in parts if isinstance(part, ast.Constant)]
    return shown if len(shown) == len(parts) == len(set(shown)) else []


def _reordered(node: ast.expr, wanted: Mapping[frozenset[str], list[list[str]]]) -> ast.expr | None:
    mine = _constants(node)
    for order in wanted.get(frozenset(mine), ()):
        if order != mine:
            at_place = {part: place for place, part in enumerate(mine)}
            places = [at_place[part] for part in order]
            if isinstance(node, ast.Dict):
                return ast.Dict(keys=[node.keys[at] for at in places], values=[node.values[at] for at in places])
            if isinstance(node, ast.Set):
                return ast.Set(elts=[node.elts[at] for at in places])
            if isinstance(node, (ast.List, ast.Tuple)):
                return type(node)(elts=[node.elts[at] for at in places], ctx=node.ctx)
    return None
