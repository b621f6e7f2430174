"""Equivalent forms of expressions, containers and statements: rewrites that keep what a program does.

Most are applied in both directions.
"""

from __future__ import annotations

import ast
import copy
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from steelyard.questions.repeatability._rewrites import (
    Block,
    Candidate,
    ExpressionRule,
    FunctionFacts,
    Replacement,
    blocks,
    ends,
    is_pure,
    names_in,
    plain_assignment,
    reads,
    rewritten_blocks,
    rewritten_expressions,
    same,
)
from steelyard.questions.repeatability._scopes import read_names

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


def _return_directly(block: Block) -> Iterator[Replacement]:
    match block.following(2):
        case [ast.Assign() as first, ast.Return(value=ast.Name(id=name))]:
            assigned = plain_assignment(first)
            if (
                assigned is not None
                and assigned[0] == name
                and block.function is not None
                and block.function.has_plain(name)
            ):
                yield 2, [ast.Return(value=assigned[1])]


def _inlined(block: Block) -> Iterator[Replacement]:
    """A value that is used once, by the next statement, put where it is used."""
    here = block.following(2)
    assigned = plain_assignment(here[0]) if len(here) == 2 else None
    if assigned is None or block.function is None:
        return
    name, value = assigned
    function = block.function
    if not (function.reads[name] == function.stores[name] == 1 and function.has_plain(name)) or function.catches:
        return
    spot = _evaluated_once(here[1])
    if spot is None or reads(spot, name) != 1:
        return
    if is_pure(value) and is_pure(spot) and _is_always_read(spot, name):
        changed = copy.deepcopy(here[1])
        _Substitution(name, value).visit(changed)
        yield 2, [changed]


def _is_always_read(expression: ast.expr, name: str) -> bool:
    """Whether evaluating the expression evaluates the name, whatever its other parts give."""
    for node in ast.walk(expression):
        maybe: list[ast.expr] = []
        if isinstance(node, ast.BoolOp):
            maybe = node.values[1:]
        elif isinstance(node, ast.IfExp):
            maybe = [node.body, node.orelse]
        elif isinstance(node, ast.Compare):
            maybe = node.comparators[1:]
        if any(reads(part, name) for part in maybe):
            return False
    return True


class _Substitution(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name and isinstance(node.ctx, ast.Load) else node


def _evaluated_once(statement: ast.stmt) -> ast.expr | None:
    """The expression that the statement evaluates exactly once, first, and outside any inner function."""
    expression: ast.expr | None = None
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr)):
        expression = statement.value
    elif isinstance(statement, ast.If):
        expression = statement.test
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        expression = statement.iter
    repeats = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)
    if expression is not None and any(isinstance(node, repeats) for node in ast.walk(expression)):
        return None
    return expression


def _flat_if(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    if isinstance(statement, ast.If) and statement.orelse and ends(statement.body):
        yield 1, [ast.If(test=statement.test, body=statement.body, orelse=[]), *statement.orelse]


def _nested_if(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    rest = block.statements[block.at + 1 :]
    if not (isinstance(statement, ast.If) and not statement.orelse and ends(statement.body) and rest):
        return
    if isinstance(rest[0], ast.If):
        yield 2, [ast.If(test=statement.test, body=statement.body, orelse=rest[:1])]
    yield 1 + len(rest), [ast.If(test=statement.test, body=statement.body, orelse=rest)]


def _other_branch_first(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    if not isinstance(statement, ast.If) or not statement.orelse:
        return
    test = statement.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        turned: ast.expr | None = test.operand
    else:
        turned = opposite(test)
    if turned is not None:
        yield 1, [ast.If(test=turned, body=statement.orelse, orelse=statement.body)]


def _catches(block: Block) -> bool:
    return block.function is not None and block.function.catches


def _split_tuple(block: Block) -> Iterator[Replacement]:
    match block.statements[block.at]:
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            plain = [name.id for name in names if isinstance(name, ast.Name)]
            if len(plain) == len(names) and _independent(plain, values) and not _catches(block):
                yield (
                    1,
                    [
                        ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)
                        for name, value in zip(plain, values, strict=True)
                    ],
                )


def _joined_tuple(block: Block) -> Iterator[Replacement]:
    assignments = []
    for statement in block.following(4):
        assigned = plain_assignment(statement)
        if assigned is None:
            break
        assignments.append(assigned)
        names, values = [name for name, _ in assignments], [value for _, value in assignments]
        if len(assignments) >= 2 and _independent(names, values) and not _catches(block):
            target = ast.Tuple(elts=[ast.Name(name, ast.Store()) for name in names], ctx=ast.Store())
            yield len(assignments), [ast.Assign(targets=[target], value=ast.Tuple(elts=values, ctx=ast.Load()))]


def _independent(names: list[str], values: list[ast.expr]) -> bool:
    """Whether no value reads a name that is assigned before it, and none has an effect."""
    distinct = len(set(names)) == len(names)
    return distinct and all(is_pure(value) and not names_in(value) & set(names[:at]) for at, value in enumerate(values))


def _is_boolean(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp):
        return all(_is_boolean(value) for value in test.values)
    return isinstance(test, ast.Compare) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _returned_test(block: Block) -> Iterator[Replacement]:
    here = block.following(2)
    first = here[0]
    if not (isinstance(first, ast.If) and _is_boolean(first.test) and _returns(first.body, value=True)):
        return
    if _returns(first.orelse, value=False):
        yield 1, [ast.Return(value=first.test)]
    elif not first.orelse and len(here) == 2 and _returns([here[1]], value=False):
        yield 2, [ast.Return(value=first.test)]


def _tested_return(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    if isinstance(statement, ast.Return) and statement.value is not None and _is_boolean(statement.value):
        yes, no = ast.Return(value=ast.Constant(True)), ast.Return(value=ast.Constant(False))
        yield 1, [ast.If(test=statement.value, body=[yes], orelse=[]), no]
        yield 1, [ast.If(test=statement.value, body=[yes], orelse=[no])]


def _returns(statements: list[ast.stmt], *, value: bool) -> bool:
    match statements:
        case [ast.Return(value=ast.Constant(value=constant))]:
            return constant is value
    return False


def _augmented(block: Block) -> Iterator[Replacement]:
    assigned = plain_assignment(block.statements[block.at])
    if assigned is None:
        return
    match assigned:
        case (name, ast.BinOp(left=ast.Name(id=left), op=op, right=right)):
            if left == name and _makes_new_value(name, op, right, block.function):
                yield 1, [ast.AugAssign(target=ast.Name(name, ast.Store()), op=op, value=right)]


def _spelled_out(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        if _makes_new_value(name, statement.op, statement.value, block.function):
            value = ast.BinOp(left=ast.Name(name, ast.Load()), op=statement.op, right=statement.value)
            yield 1, [ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)]


def _makes_new_value(name: str, op: ast.operator, other: ast.expr, function: FunctionFacts | None) -> bool:
    """Whether `name op= other` makes a new value, as `name = name op other` does, and changes none that others hold.

    So it is with a number added to it (a list would raise), and where the name only ever holds numbers or texts.
    """
    if isinstance(other, ast.Constant) and type(other.value) in (int, float) and not isinstance(op, ast.Mult):
        return True
    return function is not None and name in function.plain_values


def _while_true(block: Block) -> Iterator[Replacement]:
    statement = block.statements[block.at]
    if (
        isinstance(statement, ast.While)
        and isinstance(statement.test, ast.Constant)
        and statement.test.value in (1, True)
    ):
        other = ast.Constant(1 if statement.test.value is True else True)
        yield 1, [ast.While(test=other, body=statement.body, orelse=statement.orelse)]


_BLOCK_RULES = (
    _return_directly,
    _inlined,
    _flat_if,
    _nested_if,
    _other_branch_first,
    _split_tuple,
    _joined_tuple,
    _returned_test,
    _tested_return,
    _augmented,
    _spelled_out,
    _while_true,
)


def statement_forms(tree: ast.Module, canon: ast.Module) -> Iterator[Candidate]:
    """Statements in their other form: a result returned directly, branches flat or nested, tuples split or joined."""
    names = sorted(_result_names(canon))
    return rewritten_blocks(tree, [*_BLOCK_RULES, lambda block: _named_result(block, names)])


def _named_result(block: Block, names: Sequence[str]) -> Iterator[Replacement]:
    """`return value` as `name = value; return name`, under a name that the canon returns so."""
    statement = block.statements[block.at]
    if not isinstance(statement, ast.Return) or statement.value is None or block.function is None:
        return
    if isinstance(statement.value, (ast.Name, ast.Constant)):
        return
    for name in names:
        if block.function.has_plain(name):
            kept = ast.Assign(targets=[ast.Name(name, ast.Store())], value=statement.value)
            yield 1, [kept, ast.Return(value=ast.Name(name, ast.Load()))]


def _result_names(canon: ast.Module) -> set[str]:
    names = set()
    for statements, _ in blocks(canon):
        for first, second in pairwise(statements):
            assigned = plain_assignment(first)
            if assigned is not None and isinstance(second, ast.Return) and isinstance(second.value, ast.Name):
                names |= {assigned[0]} & {second.value.id}
    return names
