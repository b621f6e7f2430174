"""Random Python programs that are total on small whole numbers, for laws about normal forms and repair."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ("a", "b", "c", "d", "total", "value")
PARAMETERS = ("x", "y")


def _expressions(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    atoms = st.sampled_from(names) | st.integers(-3, 9).map(lambda n: f"({n})" if n < 0 else str(n))
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.tuples(inner, operators, inner).map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda one: f"abs({one})"),
            st.tuples(inner, inner).map(lambda two: f"max({two[0]}, {two[1]})"),
            st.tuples(inner, inner).map(lambda two: f"({two[0]} + {two[1]}) // 2"),
            inner.map(lambda one: f"sum(i for i in range(0, {one}% 4))"),
        ),
        max_leaves=4,
    )


def _tests(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    comparison = st.tuples(
        _expressions(names), st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), _expressions(names)
    ).map(" ".join)
    return st.recursive(
        comparison,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: f"({' '.join(parts)})"),
            inner.map(lambda one: f"not ({one})"),
        ),
        max_leaves=3,
    )


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def _statements(draw: st.DrawFn, names: tuple[str, ...], depth: int, *, in_loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(["assign", "assign", "augment", "pair", "if", "for", "return", "note", "named"]))
        target = draw(st.sampled_from(NAMES))
        if kind == "assign":
            lines.append(f"{target} = {draw(_expressions(names))}")
        elif kind == "augment":
            lines.append(f"{target} {draw(st.sampled_from(['+=', '-=', '*=']))} {draw(_expressions(names))}")
        elif kind == "pair":
            other = draw(st.sampled_from([name for name in NAMES if name != target]))
            lines.append(f"{target}, {other} = {draw(_expressions(names))}, {draw(_expressions(names))}")
        elif kind == "note":
            lines.append(draw(st.sampled_from(["pass  # a note", '"a text"', "pass"])))
        elif kind == "named":
            lines += [f"{target} = {draw(_expressions(names))}", f"return {target}"]
        elif kind == "return":
            lines.append(f"return {draw(_expressions(names) | _tests(names))}")
        elif depth > 0 and kind == "if":
            lines.append(f"if {draw(_tests(names))}:")
            lines += _indent(draw(_statements(names, depth - 1, in_loop=in_loop)))
            if draw(st.booleans()):
                lines.append("else:")
                lines += _indent(draw(_statements(names, depth - 1, in_loop=in_loop)))
        elif depth > 0 and kind == "for":
            lines.append(f"for {target} in range({draw(_expressions(names))}% 3):")
            lines += _indent(draw(_statements(names, depth - 1, in_loop=True)))
            if draw(st.booleans()):
                lines += _indent([draw(st.sampled_from(["break", "continue"]))])
    return lines or ["pass"]


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program with a function `f(x, y)`: locals, branches, loops that end, notes, maybe a demo call."""
    lines = list(draw(st.sampled_from([[], ["import math"], ["# made up", "import math", "import sys"]])))
    annotated = draw(st.booleans())
    lines.append("def f(x: int, y: int) -> int:" if annotated else "def f(x, y):")
    body = ['"""Say what it does."""'] if draw(st.booleans()) else []
    body += [f"{name} = {draw(st.integers(0, 5))}" for name in NAMES]
    names = (*NAMES, *PARAMETERS)
    body += draw(_statements(names, 2, in_loop=False))
    body.append(f"return {draw(_expressions(names))}")
    lines += _indent(body)
    if draw(st.booleans()):
        lines += ["if __name__ == '__main__':", "    print(f(1, 2))"]
    return "\n".join(lines) + "\n"


def behavior(code: str) -> list[object]:
    """What `f` gives on small numbers; the name of the exception where it raises."""
    namespace: dict[str, object] = {"__name__": "answer"}
    exec(compile(code, "generated", "exec"), namespace)  # noqa: S102 - our own generated program
    found: list[object] = []
    for x in (-2, 0, 1, 3):
        for y in (-1, 0, 2):
            try:
                found.append(namespace["f"](x, y))  # type: ignore[operator]  # the program defines it
            except (ZeroDivisionError, OverflowError) as error:
                found.append(type(error).__name__)
    return found
