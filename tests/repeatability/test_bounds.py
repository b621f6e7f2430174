"""Hostile and long answers take bounded work: what is written, looked at and parsed is counted."""

from __future__ import annotations

import ast
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.errors import ProfileError
from steelyard.questions.repeatability import _rewrites, _source_code
from steelyard.questions.repeatability._contract import Constraints, Contract
from steelyard.questions.repeatability._normalization import normalize
from steelyard.questions.repeatability._oracle import Oracle
from steelyard.questions.repeatability._repair import STEPS, RepairBudget, RepairResult, repair
from steelyard.questions.repeatability._source_code import extract_code

LENIENT = Contract(id="law", entry_point="f", constraints=Constraints(forbidden=("eval",)))
CANON = "import m1\n\ndef f(x):\n    import m2\n    d = {3: 4, 1: 2}\n    result = x + 1\n    return result\n"


def in_function(line: str) -> Callable[[int], str]:
    def program(lines: int) -> str:
        body = "".join(f"    {line.format(n=n)}\n" for n in range(lines))
        return f"def f(y):\n{body}    return y + 1\n"

    return program


def in_module(line: str) -> Callable[[int], str]:
    return lambda lines: "".join(f"{line.format(n=n)}\n" for n in range(lines)) + "def f(y):\n    return y + 1\n"


SHAPES = {
    "assignments": in_function("v{n} = y + 1"),
    "tuples": in_function("a{n}, b{n} = 1, 2"),
    "branches": in_function("if y == {n}: return {n}"),
    "dicts": in_function("d{n} = {{1: 2, 3: 4}}"),
    "imports in a function": in_function("import m{n}"),
    "inner functions": in_function("def g{n}(a): return a"),
    "imports": in_module("import m{n}"),
    "functions": in_module("def g{n}(a): return a < 1"),
    "a chain of names": in_module("v{n} = v{n}0"),
    "demo code": in_module("if x: print(x)"),
}


def toward_canon(code: str, *, canon: str = CANON, work: int = 4_000_000, checks: int = 60) -> RepairResult:
    budget = RepairBudget(work=work, checks=checks)
    return repair(code, canon=canon, oracle=Oracle(LENIENT), level="ast", budget=budget)


def honest_program(functions: int, seed: int, names: tuple[str, str, str]) -> str:
    """Functions of a dozen lines, in one of several forms each."""
    chosen = random.Random(seed)
    data, kept, at = names
    parts = []
    for number in range(functions):
        start, test, grown, ending = (chosen.random() < 0.5 for _ in range(4))
        parts.append(
            f"def step_{number}({data}):\n"
            f"    {kept} = []\n"
            f"    total = 0\n"
            f"    for {at} in range({'0, ' if start else ''}len({data})):\n"
            f"        if {data}[{at}] > {number}:\n"
            f"            {kept}.append({data}[{at}])\n"
            f"        else:\n"
            f"            {kept}.append({number})\n"
            f"        {'total += 1' if grown else 'total = total + 1'}\n"
            f"    if {'0 < total' if test else 'total > 0'}:\n"
            f"        return total\n"
            + ("    return len(kept)\n" if ending else "    result = len(kept)\n    return result\n").replace(
                "kept", kept
            )
        )
    calls = " + ".join(f"step_{number}(x)" for number in range(functions))
    return "\n".join([*parts, f"def f(x):\n    return {calls}\n"])


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters each program, or part of one, had that was written."""
    counts: list[int] = []
    original = _rewrites.unparse_python

    def counting(tree: ast.AST) -> str | None:
        text = original(tree)
        counts.append(len(text or ""))
        return text

    monkeypatch.setattr(_rewrites, "unparse_python", counting)
    return counts


@pytest.mark.parametrize("lines", [250, 500])
@pytest.mark.parametrize("shape", ["assignments", "tuples", "dicts"])
def test_the_search_for_repairs_writes_no_more_than_its_budget(shape: str, lines: int, written: list[int]) -> None:
    code = SHAPES[shape](lines)
    repaired = toward_canon(code, work=600_000)
    assert repaired.is_bounded
    assert repaired.reason == "the repair budget is used up (600,000 units)"
    assert sum(written) < 600_000 + 25 * len(code)  # each step writes the program once before it looks for others
    assert repaired.after <= repaired.before
    assert toward_canon(code, work=600_000) == repaired  # counted, not timed


def test_what_was_reached_within_the_budget_is_kept() -> None:
    code = SHAPES["assignments"](250)
    reached = [toward_canon(code, work=work).after for work in (50_000, 700_000)]
    assert reached[1] < reached[0]


def test_an_honest_answer_of_500_lines_is_repaired_to_the_end(written: list[int]) -> None:
    names = ("values", "kept", "index"), ("data", "out", "i")
    canon, code = honest_program(40, 1, names[0]), honest_program(40, 2, names[1])
    assert 480 < len(code.splitlines()) < 600
    began = time.process_time()
    repaired = toward_canon(code, canon=canon)
    seconds = time.process_time() - began
    assert (repaired.reason, repaired.is_bounded) == ("equals the canon", False)
    assert sum(written) < 2_000_000
    assert seconds < 6  # about 1.5 on a quiet machine; it was 50


def test_the_checks_of_a_repair_are_counted_too() -> None:
    checked: list[str] = []

    class Refusing(Oracle):
        def check(self, code: str):  # type: ignore[no-untyped-def]  # as the original
            checked.append(code)
            return super().check("eval(1)")

    budget = RepairBudget(checks=7)
    repaired = repair(SHAPES["branches"](60), canon=CANON, oracle=Refusing(LENIENT), level="ast", budget=budget)
    assert repaired.is_bounded
    assert repaired.steps == ()
    assert len(checked) == 7


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_lines_are_twice_the_nodes_looked_at(shape: str, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = 0
    children = ast.iter_child_nodes

    def counting(node: ast.AST):  # type: ignore[no-untyped-def]  # as the original
        nonlocal nodes
        nodes += 1
        return children(node)

    def looked_at(lines: int) -> int:
        nonlocal nodes
        tree, canon = ast.parse(SHAPES[shape](lines)), ast.parse(CANON)
        nodes = 0
        for _ in STEPS[step](tree, canon, LENIENT):
            pass
        return nodes

    monkeypatch.setattr(ast, "iter_child_nodes", counting)
    few, many = looked_at(40), looked_at(160)  # four times the lines; quadratic would be 16 times
    assert many <= 5 * few + 1000


@pytest.mark.parametrize("code", [*(shape(12) for shape in SHAPES.values()), honest_program(6, 3, ("a", "b", "c"))])
def test_a_program_written_in_pieces_is_the_program(code: str) -> None:
    for source in (code, f'"""A docstring."""\n{code}', f"# nothing\n{code}\n@g\nclass C:\n    x: int = 1\n'text'\n"):
        tree = ast.parse(source)
        pieces = _rewrites.Pieces(tree)
        assert pieces.together({}) == ast.unparse(tree)
        for number in range(len(tree.body)):
            made = pieces.written(_rewrites.Candidate(tree, number))
            assert made is not None
            assert made.text == ast.unparse(tree)


def test_an_answer_too_deep_to_copy_is_left_as_it_is() -> None:
    deep = "def f(y):\n    return " + " + ".join(["y"] * 900) + "\n"
    repaired = toward_canon(deep)
    assert (repaired.code, repaired.reason) == (deep, "expressions are nested too deeply for Python")


def test_an_output_at_the_bound_is_marked_and_counted(tmp_path: Path) -> None:
    contract = tmp_path / "t.toml"
    contract.write_text('id = "t"\nentry_point = "f"\n[constraints]\nforbidden = ["eval"]\n')
    profile = tmp_path / "small.toml"
    small = 'name = "small"\nspec = "repeatability"\nextends = "repeatability-1"\n[constants]\nrepair_work = {}\n'
    profile.write_text(small.format(9_000))
    texts = [CANON, SHAPES["branches"](30), CANON.replace("result", "total")]
    answers = [{"task": "t", "output": {"language": "python", "text": text}} for text in texts]
    result = sy.repeatability(answers, contract=contract, profile=str(profile))
    [prompt] = result.prompts
    assert [sample.repair_bound for sample in prompt.samples] == [False, True, False]
    assert prompt.samples[1].repair_ended == "the repair budget is used up (9,000 units)"
    [finding] = [finding for finding in result.findings if finding.code == "repair_bound"]
    assert "1 of 3 outputs" in finding.message
    [whole] = sy.repeatability(answers, contract=contract).prompts
    assert not any(sample.repair_bound for sample in whole.samples)
    profile.write_text(small.format(-1))
    with pytest.raises(ProfileError, match="repair_work"):
        sy.repeatability(answers, contract=contract, profile=str(profile))


@pytest.mark.parametrize(
    "answer",
    [
        "`" * 100_000,
        "~" * 100_000 + "`",
        "```" + "a" * 100_000 + "`",
        "```\n" * 33_000,
        "```" + " " * 100_000 + "`",
        " " * 100_000 + "```",
        "\ufeff```\n" * 20_000,
    ],
    ids=["backticks", "tildes", "label", "fences", "blanks", "indent", "marks"],
)
def test_an_answer_of_fences_takes_linear_time(answer: str) -> None:
    began = time.process_time()
    code = extract_code(answer).code
    for level in ("text", "ast"):
        normalize(code, level=level)
    assert time.process_time() - began < 2  # 0.05; the first took 13 s, others longer


@pytest.mark.parametrize("line", ["x = 1\n" * 199 + "x = )\n" * 199, "x = ('''\n" * 399], ids=["half", "quotes"])
def test_the_search_for_lines_of_code_parses_a_bounded_number(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = 0
    parse = _source_code.parse_python

    def counting(text: str) -> ast.Module | None:
        nonlocal lines
        lines += text.count("\n") + 1
        return parse(text)

    monkeypatch.setattr(_source_code, "parse_python", counting)
    assert extract_code(line).rule == "whole"
    assert lines < 402_000
