"""Equivalent forms of expressions: small rewrites after which a program does the same, most of them both ways."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator

from steelyard.questions.repeatability._container_forms import container_rules
from steelyard.questions.repeatability._rewriting import Candidate, ExpressionRule, is_pure, rewritten_expressions, same
from steelyard.questions.repeatability._scopes import read_names

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
}
# Only pairs that are each other's negation for every value: `not a < b` is not `a >= b` for NaN and sets.
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


def _mirrored(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _MIRRORED:
        # Turned round, the right side is evaluated first: that shows unless one side is a name or a literal.
        if not isinstance(node.left, (ast.Name, ast.Constant)) and not isinstance(
            node.comparators[0], (ast.Name, ast.Constant)
        ):
            return None
        return ast.Compare(left=node.comparators[0], ops=[_MIRRORED[type(node.ops[0])]()], comparators=[node.left])
    return None


def _without_not(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return opposite(node.operand)
    return None


def _with_not(node: ast.expr) -> ast.expr | None:
    turned = opposite(node)
    return ast.UnaryOp(op=ast.Not(), operand=turned) if turned is not None else None


def opposite(node: ast.expr) -> ast.expr | None:
    """The comparison that is true exactly when this one is false; None where there is none for every value."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _NEGATED:
        return ast.Compare(left=node.left, ops=[_NEGATED[type(node.ops[0])]()], comparators=node.comparators)
    return None


def _chained(node: ast.expr) -> ast.expr | None:
    if not (isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) and len(node.values) == 2):
        return None
    first, second = node.values
    if not (isinstance(first, ast.Compare) and isinstance(second, ast.Compare)):
        return None
    middle = first.comparators[-1]
    if not isinstance(middle, (ast.Name, ast.Constant)) or not same(middle, second.left):
        return None
    return ast.Compare(
        left=first.left, ops=[*first.ops, *second.ops], comparators=[*first.comparators, *second.comparators]
    )


def _unchained(node: ast.expr) -> ast.expr | None:
    if (
        isinstance(node, ast.Compare)
        and len(node.ops) == 2
        and isinstance(node.comparators[0], (ast.Name, ast.Constant))
    ):
        middle = node.comparators[0]
        first = ast.Compare(left=node.left, ops=node.ops[:1], comparators=[middle])
        second = ast.Compare(left=copy.deepcopy(middle), ops=node.ops[1:], comparators=node.comparators[1:])
        return ast.BoolOp(op=ast.And(), values=[first, second])
    return None


def _midpoint_by_difference(node: ast.expr) -> ast.expr | None:
    # (a + b) // 2 is a + (b - a) // 2 for all whole numbers.
    if not (_is_floor_half(node) and isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp)):
        return None
    total = node.left
    if not isinstance(total.op, ast.Add) or not (is_pure(total.left) and is_pure(total.right)):
        return None
    difference = ast.BinOp(left=total.right, op=ast.Sub(), right=copy.deepcopy(total.left))
    half = ast.BinOp(left=difference, op=ast.FloorDiv(), right=ast.Constant(2))
    return ast.BinOp(left=total.left, op=ast.Add(), right=half)


def _midpoint_by_sum(node: ast.expr) -> ast.expr | None:
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and _is_floor_half(node.right)):
        return None
    half = node.right
    if not (isinstance(half, ast.BinOp) and isinstance(half.left, ast.BinOp) and isinstance(half.left.op, ast.Sub)):
        return None
    if not same(half.left.right, node.left) or not is_pure(node.left):
        return None
    return ast.BinOp(
        left=ast.BinOp(left=node.left, op=ast.Add(), right=half.left.left), op=ast.FloorDiv(), right=ast.Constant(2)
    )


def _is_floor_half(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.FloorDiv)
        and isinstance(node.right, ast.Constant)
        and node.right.value == 2
    )


def _range(node: ast.expr) -> list[ast.expr] | None:
    plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"
    return node.args if plain and isinstance(node, ast.Call) and not node.keywords else None


def _is_number(node: ast.expr, value: int) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value == value


def _shorter_range(node: ast.expr) -> ast.expr | None:
    given = _range(node)
    if given is not None and len(given) == 2 and _is_number(given[0], 0):
        return ast.Call(func=ast.Name("range", ast.Load()), args=given[1:], keywords=[])
    if given is not None and len(given) == 3 and _is_number(given[2], 1):
        return ast.Call(func=ast.Name("range", ast.Load()), args=given[:2], keywords=[])
    return None


def _longer_range(node: ast.expr) -> ast.expr | None:
    given = _range(node)
    if given is not None and len(given) == 1 and not isinstance(given[0], ast.Starred):
        return ast.Call(func=ast.Name("range", ast.Load()), args=[ast.Constant(0), *given], keywords=[])
    return None


def _empty_literal(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args and not node.keywords:
        forms: dict[str, ast.expr] = {"dict": ast.Dict(keys=[], values=[]), "list": ast.List(elts=[], ctx=ast.Load())}
        forms |= {"str": ast.Constant(""), "int": ast.Constant(0), "tuple": ast.Tuple(elts=[], ctx=ast.Load())}
        return forms.get(node.func.id)
    return None


def _empty_call(node: ast.expr) -> ast.expr | None:
    name = None
    if isinstance(node, ast.Dict) and not node.keys:
        name = "dict"
    elif isinstance(node, ast.List) and not node.elts and isinstance(node.ctx, ast.Load):
        name = "list"
    return ast.Call(func=ast.Name(name, ast.Load()), args=[], keywords=[]) if name else None


def _without_keys(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        call = node.comparators[0]
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "keys"
            and not call.args
        ):
            return ast.Compare(left=node.left, ops=node.ops, comparators=[call.func.value])
    return None


def _factor_swapped(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for side in (node.left, node.right):
            if isinstance(side, ast.Constant) and type(side.value) in (int, float):
                return ast.BinOp(left=node.right, op=ast.Mult(), right=node.left)
    return None


def _regex(node: ast.expr, pattern: str, by: str) -> ast.expr | None:
    """The call of `re` with its pattern changed; a class of one escape means the escape itself."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and bool(node.args)
    if not is_call or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    first = node.args[0]
    of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
    if not of_re or not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        return None
    changed = re.sub(pattern, by, first.value)
    if changed == first.value:
        return None
    return ast.Call(func=node.func, args=[ast.Constant(changed), *node.args[1:]], keywords=node.keywords)


def _regex_without_class(node: ast.expr) -> ast.expr | None:
    return _regex(node, r"(?<![\[\\])\[(\\[dswDSW])\]", r"\1")


def _regex_with_class(node: ast.expr) -> ast.expr | None:
    whole = node.args[0] if isinstance(node, ast.Call) and node.args else None
    if isinstance(whole, ast.Constant) and isinstance(whole.value, str) and "[" in whole.value:
        return None
    return _regex(node, r"(?<!\\)(\\[dswDSW])", r"[\1]")


EXPRESSION_RULES: tuple[ExpressionRule, ...] = (
    _mirrored,
    _without_not,
    _with_not,
    _chained,
    _unchained,
    _midpoint_by_difference,
    _midpoint_by_sum,
    _shorter_range,
    _longer_range,
    _empty_literal,
    _empty_call,
    _without_keys,
    _factor_swapped,
    _regex_without_class,
    _regex_with_class,
)


_ABOUT_BUILTINS = (_shorter_range, _longer_range, _empty_literal, _empty_call)


def operator_forms(tree: ast.Module, canon: ast.Module) -> Iterator[Candidate]:
    """Comparisons turned round, `not` moved, ranges, literals, midpoints and factors in their other form."""
    names = read_names(tree)
    hidden = {local.name for local in names.locals} | names.bound
    # A program with a `list` or `range` of its own means something else by it.
    left_out = _ABOUT_BUILTINS if hidden & {"range", "dict", "list", "str", "int", "tuple"} else ()
    rules = [rule for rule in EXPRESSION_RULES if rule not in left_out]
    return rewritten_expressions(tree, [*rules, *container_rules(tree, canon)])
