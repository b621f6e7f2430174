"""Local names of a Python program, with their positions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

_LOOKS_AT_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir", "globals"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


@dataclass(eq=False)
class Scope:
    """A region of the program in which a name means one thing; two are the same only if they are one object."""

    node: ast.AST
    parent: Scope | None
    is_class: bool = False
    is_comprehension: bool = False
    bound: set[str] = field(default_factory=set)
    pinned: set[str] = field(default_factory=set)
    global_names: set[str] = field(default_factory=set)
    nonlocal_names: set[str] = field(default_factory=set)
    looks_at_names: bool = False


@dataclass(frozen=True)
class _Occurrence:
    scope: Scope
    name: str
    write: Callable[[str], None]


@dataclass(eq=False)
class Local:
    """Local name of a function, with all its positions."""

    scope: Scope
    name: str
    can_be_renamed: bool
    writes: list[Callable[[str], None]] = field(default_factory=list)

    def rename(self, name: str) -> None:
        """Write another name at every place."""
        for write in self.writes:
            write(name)
        self.name = name


@dataclass(frozen=True)
class Names:
    """The names of a program: locals in order of appearance, and all others."""

    locals: list[Local]
    others: frozenset[str]
    keywords: frozenset[str]
    """Names used as keyword arguments in calls."""
    bound: frozenset[str]
    """Names that the module or a class assigns, imports or defines."""

    @cached_property
    def _by_function(self) -> dict[int, list[Local]]:
        return _grouped(self.locals, lambda local: _function_of(local.scope))

    @cached_property
    def _by_node(self) -> dict[int, list[Local]]:
        return _grouped(self.locals, lambda local: local.scope.node)

    def of(self, node: ast.AST) -> list[Local]:
        """The locals of one function, those of its comprehensions with them."""
        return self._by_function.get(id(node), [])

    def inside(self, node: ast.AST) -> list[Local]:
        """The locals whose region is this function or comprehension alone."""
        return self._by_node.get(id(node), [])


def _grouped(every: list[Local], node_of: Callable[[Local], ast.AST]) -> dict[int, list[Local]]:
    groups: dict[int, list[Local]] = {}
    for local in every:
        groups.setdefault(id(node_of(local)), []).append(local)
    return groups


def _function_of(scope: Scope) -> ast.AST:
    while scope.is_comprehension and scope.parent is not None:
        scope = scope.parent
    return scope.node


def _attribute(node: ast.AST, name: str) -> Callable[[str], None]:
    return lambda new: setattr(node, name, new)


def _item(names: list[str], index: int) -> Callable[[str], None]:
    return lambda new: names.__setitem__(index, new)


class _Reader(ast.NodeVisitor):
    def __init__(self, tree: ast.Module) -> None:
        self.scope = Scope(tree, None)
        self.module = self.scope
        self.occurrences: list[_Occurrence] = []
        self.keywords: set[str] = set()
        self.outer_scopes = [self.scope]
        for statement in tree.body:
            self.visit(statement)

    def _meet(self, name: str, write: Callable[[str], None], *, binds: bool, scope: Scope | None = None) -> None:
        where = scope or self.scope
        if binds and name not in where.global_names | where.nonlocal_names:
            where.bound.add(name)
        self.occurrences.append(_Occurrence(where, name, write))

    def _inside(self, scope: Scope, nodes: list[ast.AST]) -> None:
        outer, self.scope = self.scope, scope
        for node in nodes:
            self.visit(node)
        self.scope = outer

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in _LOOKS_AT_NAMES:
            scope: Scope | None = self.scope
            while scope is not None:
                scope.looks_at_names = True
                scope = scope.parent
        self._meet(node.id, _attribute(node, "id"), binds=not isinstance(node.ctx, ast.Load))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        owner = self.scope
        while owner.is_comprehension and owner.parent is not None:
            owner = owner.parent
        self._meet(node.target.id, _attribute(node.target, "id"), binds=True, scope=owner)

    def visit_Global(self, node: ast.Global) -> None:
        self.scope.global_names |= set(node.names)
        for index, name in enumerate(node.names):
            self._meet(name, _item(node.names, index), binds=False)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.scope.nonlocal_names |= set(node.names)
        for index, name in enumerate(node.names):
            self._meet(name, _item(node.names, index), binds=False)

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self.scope.bound.add(name)
            self.scope.pinned.add(name)

    visit_Import = _import  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_ImportFrom = _import  # noqa: N815 - the name that ast.NodeVisitor looks for

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is not None:
            self.visit(node.type)
        if node.name is not None:
            self._meet(node.name, _attribute(node, "name"), binds=True)
        for statement in node.body:
            self.visit(statement)

    def _capture(self, node: ast.MatchAs | ast.MatchStar) -> None:
        self.generic_visit(node)
        if node.name is not None:
            self._meet(node.name, _attribute(node, "name"), binds=True)

    visit_MatchAs = _capture  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_MatchStar = _capture  # noqa: N815 - the name that ast.NodeVisitor looks for

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest is not None:
            self._meet(node.rest, _attribute(node, "rest"), binds=True)

    def visit_Call(self, node: ast.Call) -> None:
        self.keywords |= {keyword.arg for keyword in node.keywords if keyword.arg is not None}
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for outer in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outer)
        self._meet(node.name, _attribute(node, "name"), binds=True)
        scope = Scope(node, self.scope, is_class=True)
        self.outer_scopes.append(scope)
        self._inside(scope, [*_type_parameters(node), *node.body])

    def _function(self, node: _Function) -> None:
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)
        body: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
        if not isinstance(node, ast.Lambda):
            for decorator in node.decorator_list:
                self.visit(decorator)
            for annotated in _arguments(arguments):
                if annotated.annotation is not None:
                    self.visit(annotated.annotation)
            if node.returns is not None:
                self.visit(node.returns)
            self._meet(node.name, _attribute(node, "name"), binds=True)
            body = [*_type_parameters(node), *body]
        scope = Scope(node, self.scope)
        for argument in _arguments(arguments):
            self._meet(argument.arg, _attribute(argument, "arg"), binds=True, scope=scope)
        self._inside(scope, body)

    visit_FunctionDef = _function  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_AsyncFunctionDef = _function  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_Lambda = _function  # noqa: N815 - the name that ast.NodeVisitor looks for

    def _comprehension(self, node: _Comprehension) -> None:
        self.visit(node.generators[0].iter)  # evaluated outside
        scope = Scope(node, self.scope, is_comprehension=True)
        inner: list[ast.AST] = []
        for index, generator in enumerate(node.generators):
            inner += [generator.target] if index == 0 else [generator.iter, generator.target]
            inner += generator.ifs
        inner += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._inside(scope, inner)

    visit_ListComp = _comprehension  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_SetComp = _comprehension  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_DictComp = _comprehension  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_GeneratorExp = _comprehension  # noqa: N815 - the name that ast.NodeVisitor looks for

    def visit_TypeVar(self, node: ast.AST) -> None:
        self.scope.bound.add(node.name)  # type: ignore[attr-defined]  # a node of Python 3.12 and later
        self.scope.pinned.add(node.name)  # type: ignore[attr-defined]  # as above
        self.generic_visit(node)

    visit_ParamSpec = visit_TypeVar  # noqa: N815 - the name that ast.NodeVisitor looks for
    visit_TypeVarTuple = visit_TypeVar  # noqa: N815 - the name that ast.NodeVisitor looks for


def _type_parameters(node: ast.AST) -> list[ast.AST]:
    return list(getattr(node, "type_params", []))


def _arguments(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from arguments.posonlyargs
    yield from arguments.args
    if arguments.vararg is not None:
        yield arguments.vararg
    yield from arguments.kwonlyargs
    if arguments.kwarg is not None:
        yield arguments.kwarg


def _owner(occurrence: _Occurrence, module: Scope) -> Scope:
    scope: Scope | None = occurrence.scope
    name = occurrence.name
    if name in occurrence.scope.global_names:
        return module
    while scope is not None:
        visible = not scope.is_class or scope is occurrence.scope
        if visible and name in scope.bound and name not in scope.nonlocal_names:
            return scope
        if visible and name in scope.global_names:
            return module
        scope = scope.parent
    return module


def read_names(tree: ast.Module) -> Names:
    """The names of the program. Renaming a local writes into the tree."""
    reader = _Reader(tree)
    by_key: dict[tuple[int, str], Local] = {}
    others: set[str] = set()
    for occurrence in reader.occurrences:
        owner = _owner(occurrence, reader.module)
        if owner is reader.module or owner.is_class:
            others.add(occurrence.name)
            continue
        key = id(owner), occurrence.name
        if key not in by_key:
            by_key[key] = Local(owner, occurrence.name, _can_be_renamed(owner, occurrence.name))
        by_key[key].writes.append(occurrence.write)
    bound = frozenset(name for scope in reader.outer_scopes for name in scope.bound)
    return Names(list(by_key.values()), frozenset(others), frozenset(reader.keywords), bound)


def _can_be_renamed(owner: Scope, name: str) -> bool:
    mangled = name.startswith("__") and not name.endswith("__")
    return not (owner.looks_at_names or name in owner.pinned or mangled)


def rename_locals_in_order(tree: ast.Module) -> None:
    """Name every local v0, v1, ... in order of appearance; names that must stay are passed over."""
    names = read_names(tree)
    taken = set(names.others) | set(dir(builtins)) | {local.name for local in names.locals if not local.can_be_renamed}
    number = 0
    for local in names.locals:
        if local.can_be_renamed:
            while f"v{number}" in taken:
                number += 1
            local.rename(f"v{number}")
            number += 1
