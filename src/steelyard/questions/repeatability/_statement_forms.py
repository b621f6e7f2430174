"""Equivalent forms of statements: small rewrites after which a program does the same, most of them both ways."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from itertools import pairwise

from steelyard.questions.repeatability._expression_forms import opposite
from steelyard.questions.repeatability._rewriting import (
    Block,
    Candidate,
    FunctionFacts,
    Replacement,
    blocks,
    ends,
    is_pure,
    names_in,
    plain_assignment,
    reads,
    rewritten_blocks,
)


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
        _Put(name, value).visit(changed)
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


class _Put(ast.NodeTransformer):
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
