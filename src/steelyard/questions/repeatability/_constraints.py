"""Patterns and constraints, decided on the syntax tree and never on the text.

A pattern is a piece of Python. `_` matches any expression or name, `...` anything: an expression, any number of
arguments, a whole body. A word that opens a statement matches the statement (`while`, `try`, `lambda`), and a piece
that is cut short is completed (`for i in range` means `for i in range(...): ...`). For other languages a pattern is
the name of a node type of the language's tree-sitter grammar (`while_statement`).
"""

from __future__ import annotations

import ast
from functools import cache

from steelyard.errors import ContractError
from steelyard.questions.repeatability._contract import Contract
from steelyard.questions.repeatability._languages import PYTHON, language_named
from steelyard.questions.repeatability._python_source import parse_python
from steelyard.questions.repeatability._token_streams import node_types

_WORDS: dict[str, tuple[type[ast.AST], ...]] = {
    "while": (ast.While,),
    "for": (ast.For, ast.AsyncFor),
    "if": (ast.If,),
    "try": (ast.Try, ast.TryStar),
    "with": (ast.With, ast.AsyncWith),
    "lambda": (ast.Lambda,),
    "import": (ast.Import, ast.ImportFrom),
    "class": (ast.ClassDef,),
    "def": (ast.FunctionDef, ast.AsyncFunctionDef),
    "global": (ast.Global,),
    "nonlocal": (ast.Nonlocal,),
    "return": (ast.Return,),
    "yield": (ast.Yield, ast.YieldFrom),
    "assert": (ast.Assert,),
    "raise": (ast.Raise,),
    "async": (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith),
    "await": (ast.Await,),
    "comprehension": (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
}
_COMPLETIONS = ("", ":\n    ...", "(...)", "(...):\n    ...", " in ...:\n    ...")
# Parts of a statement that a pattern leaves out and that the code may have.
_MAY_DIFFER = frozenset(
    {"orelse", "finalbody", "decorator_list", "returns", "type_comment", "type_params", "annotation"}
)


@cache
def _patterns(text: str) -> tuple[ast.AST | tuple[type[ast.AST], ...], ...]:
    """What the text can mean: every way in which it, or its completion, is a piece of Python."""
    if text.strip() in _WORDS:
        return (_WORDS[text.strip()],)
    meanings: list[ast.AST | tuple[type[ast.AST], ...]] = []
    for completion in _COMPLETIONS:
        tree = parse_python(text.strip() + completion)
        if tree is not None and len(tree.body) == 1:
            statement = tree.body[0]
            meanings.append(statement.value if isinstance(statement, ast.Expr) else statement)
    if not meanings:
        raise ContractError(f"the pattern {text!r} is not valid Python", hint="see docs/repeatability.md")
    return tuple(meanings)


def occurs(pattern: str, tree: ast.AST) -> bool:
    """Whether the pattern occurs anywhere in the tree.

    >>> occurs("for i in range", ast.parse("for i in range(3): print(i)"))
    True
    >>> occurs("while", ast.parse("while_loop = 'while'"))
    False
    """
    wanted = _patterns(pattern)
    return any(
        isinstance(node, meaning) if isinstance(meaning, tuple) else _matches(meaning, node)
        for node in ast.walk(tree)
        for meaning in wanted
    )


def _is_anything(node: object) -> bool:
    if isinstance(node, ast.Expr):
        node = node.value
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _matches(pattern: object, node: object) -> bool:
    if _is_anything(pattern) or (isinstance(pattern, ast.Name) and pattern.id == "_" and isinstance(node, ast.expr)):
        return True
    if isinstance(pattern, list):
        return isinstance(node, list) and _matches_lists(pattern, node)
    if not isinstance(pattern, ast.AST):
        return pattern in ("_", node)
    if type(pattern) is not type(node):
        return False
    if isinstance(pattern, ast.Call) and any(_is_anything(argument) for argument in pattern.args):
        return _matches(pattern.func, getattr(node, "func", None)) and _matches(
            pattern.args, getattr(node, "args", None)
        )
    if isinstance(pattern, ast.arguments) and any(argument.arg == "_" for argument in pattern.args):
        return True
    for name in pattern._fields:
        wanted = getattr(pattern, name, None)
        if name in ("ctx", "kind") or (name in _MAY_DIFFER and not wanted):
            continue
        if not _matches(wanted, getattr(node, name, None)):
            return False
    return True


def _matches_lists(pattern: list[object], nodes: list[object]) -> bool:
    if not pattern:
        return not nodes
    if _is_anything(pattern[0]):
        return any(_matches_lists(pattern[1:], nodes[skipped:]) for skipped in range(len(nodes) + 1))
    return bool(nodes) and _matches(pattern[0], nodes[0]) and _matches_lists(pattern[1:], nodes[1:])


def is_recursive(tree: ast.Module, entry_point: str) -> bool:
    """Whether the entry point reaches itself through calls of functions of this program, by name or as a method."""
    calls: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            called = calls.setdefault(node.name, set())
            for inner in ast.walk(node):
                match inner:
                    case ast.Call(func=ast.Name(id=name)):
                        called.add(name)
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
                        called.add(name)
    starts = [entry_point, *_inner_functions(tree, entry_point)]
    return any(_reaches(start, start, calls) for start in starts)


def _inner_functions(tree: ast.Module, name: str) -> list[str]:
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    for node in tree.body:
        if isinstance(node, (*functions, ast.ClassDef)) and node.name == name:
            return [inner.name for inner in ast.walk(node) if isinstance(inner, functions) and inner is not node]
    return []


def _reaches(start: str, goal: str, calls: dict[str, set[str]]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for called in calls.get(waiting.pop(), ()):
            if called == goal:
                return True
            if called not in seen:
                seen.add(called)
                waiting.append(called)
    return False


def broken_constraints(code: str, contract: Contract) -> list[str]:
    """What the code's syntax tree breaks of the contract, as sentences; empty when all holds."""
    wanted = contract.constraints
    if language_named(contract.language) != PYTHON:
        if not (wanted.required or wanted.forbidden):
            return []
        types = node_types(code, language_named(contract.language))
        missing = [f"must contain {pattern!r}" for pattern in wanted.required if pattern not in types]
        return missing + [f"must not contain {pattern!r}" for pattern in wanted.forbidden if pattern in types]
    tree = parse_python(code)
    if tree is None:
        return ["does not parse"]
    broken = [f"must contain {pattern!r}" for pattern in wanted.required if not occurs(pattern, tree)]
    broken += [f"must not contain {pattern!r}" for pattern in wanted.forbidden if occurs(pattern, tree)]
    if contract.entry_point is not None:
        broken += _entry_point_problems(tree, contract.entry_point, contract)
    return broken


def _entry_point_problems(tree: ast.Module, name: str, contract: Contract) -> list[str]:
    broken = []
    wanted = contract.constraints.recursion
    if wanted is not None and is_recursive(tree, name) != (wanted == "required"):
        broken.append(f"recursion is {wanted}")
    for method in contract.constraints.methods:
        owner = next((node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None)
        defined = {inner.name for inner in ast.walk(owner) if isinstance(inner, ast.FunctionDef)} if owner else set()
        if method not in defined:
            broken.append(f"must define the method {method!r}")
    return broken
