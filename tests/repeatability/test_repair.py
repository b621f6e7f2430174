from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from programs import behavior, programs

from steelyard.errors import UnknownNameError
from steelyard.questions.repeatability._contract import Case, Constraints, Contract, RepairBounds
from steelyard.questions.repeatability._distance import distance
from steelyard.questions.repeatability._normalization import normalize
from steelyard.questions.repeatability._oracle import Oracle
from steelyard.questions.repeatability._repair import RepairResult, repair

# ruff: noqa: E501 - programs stand in one line each
# Constraints alone need no process, so a law can be tried on many programs.
# Shrinking repairs hundreds of programs; the first counterexample is short enough to read.
QUICK = {"deadline": None, "phases": [Phase.explicit, Phase.generate], "suppress_health_check": list(HealthCheck)}
LENIENT = Contract(id="law", entry_point="f", constraints=Constraints(forbidden=("eval",)))


def toward(code: str, canon: str, contract: Contract = LENIENT) -> RepairResult:
    return repair(code, canon=canon, oracle=Oracle(contract), level="ast")


@settings(max_examples=25, **QUICK)
@given(programs(), programs())
def test_repair_moves_only_nearer_keeps_behavior_and_is_idempotent(code: str, canon: str) -> None:
    repaired = toward(code, canon)
    goal = normalize(canon).text
    assert repaired.before == distance(normalize(code).text, goal).value
    assert repaired.after == distance(normalize(repaired.code).text, goal).value
    assert repaired.after <= repaired.before
    assert behavior(repaired.code) == behavior(code)
    if not repaired.reason.startswith("the bound"):
        again = toward(repaired.code, canon)
        assert (again.code, again.steps) == (repaired.code, ())


@pytest.mark.long
@settings(max_examples=400, **QUICK)
@given(programs(), programs())
def test_repair_keeps_behavior_on_many_programs(code: str, canon: str) -> None:
    assert behavior(toward(code, canon).code) == behavior(code)


@settings(max_examples=25, **QUICK)
@given(programs())
def test_a_program_is_repaired_into_itself_from_other_names_and_layout(code: str) -> None:
    renamed = code.replace("total", "running").replace("value", "item") + "\nprint(f(1, 1))  # shown\n"
    repaired = toward(renamed, code)
    assert repaired.after <= repaired.before
    assert behavior(repaired.code) == behavior(code)


CANON = """def find(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = low + (high - low) // 2
        if items[middle] == wanted:
            return middle
        elif items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
"""
CONTRACT = Contract(
    id="find",
    entry_point="find",
    cases=(
        Case(arguments=[[1, 3, 5], 5], expected=2),
        Case(arguments=[[1, 3, 5], 2], expected=-1),
        Case(arguments=[[], 2], expected=-1),
    ),
)
STRAY = '''"""An answer."""
import math
from typing import List

def search(numbers: List[int], goal: int) -> int:
    """Looks for the goal."""
    first = 0
    last = len(numbers) - 1
    while first <= last:
        # halfway
        center = (first + last) // 2
        if numbers[center] == goal:
            return center
        if goal > numbers[center]:
            first += 1 + center - first
        else:
            last = center - 1
    return -1

if __name__ == "__main__":
    print(search([1, 2, 3], 2))
'''


def test_an_answer_that_differs_in_form_reaches_the_canon() -> None:
    stray = STRAY.replace("first += 1 + center - first", "first = center + 1")
    repaired = repair(stray, canon=CANON, oracle=Oracle(CONTRACT), level="ast")
    assert (repaired.after, repaired.reason) == (0.0, "equals the canon")
    assert {"remove_demo_code", "rename_entry_point", "drop_annotations", "rename_locals"} <= {
        step.step for step in repaired.steps
    }
    befores, afters = [step.before for step in repaired.steps], [step.after for step in repaired.steps]
    assert befores[1:] == afters[:-1]
    assert all(after < before for before, after in zip(befores, afters, strict=True))


def test_a_step_that_the_oracle_refuses_is_not_kept() -> None:
    required = Contract(
        id="find", entry_point="find", cases=CONTRACT.cases, constraints=Constraints(required=("center",))
    )
    renamed = CANON.replace("middle", "center")
    # the canon's name would bring it to distance 0, and the contract asks for the other one
    assert repair(renamed, canon=CANON, oracle=Oracle(CONTRACT), level="ast").after == 0
    repaired = repair(renamed, canon=CANON, oracle=Oracle(required), level="ast")
    assert (repaired.code, repaired.steps) == (renamed, ())
    assert repaired.after == repaired.before > 0


def test_a_wrong_answer_is_not_repaired_into_a_right_one() -> None:
    wrong = CANON.replace("return -1", "return None")
    repaired = repair(wrong, canon=CANON, oracle=Oracle(CONTRACT), level="ast")
    assert (repaired.code, repaired.steps) == (wrong, ())


def test_the_bound_on_steps_holds() -> None:
    bounded = Contract(id="find", entry_point="find", cases=CONTRACT.cases, repair=RepairBounds(max_steps=2))
    repaired = repair(STRAY, canon=CANON, oracle=Oracle(bounded), level="ast")
    assert len(repaired.steps) == 2
    assert repaired.reason == "reached the limit of 2 steps"


def test_a_step_that_the_contract_rules_out_is_not_used() -> None:
    never = Contract(id="find", entry_point="find", cases=CONTRACT.cases, repair=RepairBounds(never=("rename_locals",)))
    renamed = CANON.replace("middle", "center")
    assert repair(renamed, canon=CANON, oracle=Oracle(never), level="ast").steps == ()
    assert repair(renamed, canon=CANON, oracle=Oracle(CONTRACT), level="ast").after == 0


def test_names_that_the_contract_fixes_stay() -> None:
    fixed = Contract(
        id="find", entry_point="find", cases=CONTRACT.cases, constraints=Constraints(fixed_names=("center",))
    )
    renamed = CANON.replace("middle", "center")
    assert "center" in repair(renamed, canon=CANON, oracle=Oracle(fixed), level="ast").code


def test_an_unknown_step_is_answered_with_the_nearest() -> None:
    wrong = Contract(
        id="f", entry_point="f", constraints=LENIENT.constraints, repair=RepairBounds(never=("rename_local",))
    )
    with pytest.raises(UnknownNameError, match="rename_locals"):
        toward("def f(x, y): return 1", "def f(x, y): return 2", wrong)


def test_text_that_does_not_parse_is_left_alone() -> None:
    repaired = toward("def f(:", "def f(x, y): return 2")
    assert (repaired.code, repaired.reason) == ("def f(:", "does not parse")


@pytest.mark.parametrize(
    ("code", "canon"),
    [
        ("def f(x, y):\n    z = x + y\n    return z", "def f(x, y):\n    return x + y"),
        ("def f(x, y):\n    return x + y", "def f(x, y):\n    z = x + y\n    return z"),
        ("def f(x, y):\n    return (x + y) // 2", "def f(x, y):\n    return x + (y - x) // 2"),
        ("def f(x, y):\n    return x + (y - x) // 2", "def f(x, y):\n    return (x + y) // 2"),
        ("def f(x, y):\n    return y > x", "def f(x, y):\n    return x < y"),
        ("def f(x, y):\n    return not x == y", "def f(x, y):\n    return x != y"),
        ("def f(x, y):\n    if x < y:\n        return True\n    return False", "def f(x, y):\n    return x < y"),
        ("def f(x, y):\n    return x < y", "def f(x, y):\n    if x < y:\n        return True\n    return False"),
        ("def f(x, y):\n    if x:\n        return 1\n    else:\n        return 2", "def f(x, y):\n    if x:\n        return 1\n    return 2"),
        ("def f(x, y):\n    if x:\n        return 1\n    return 2", "def f(x, y):\n    if x:\n        return 1\n    else:\n        return 2"),
        ("def f(x, y):\n    a = 1\n    b = 2\n    return a + b + x", "def f(x, y):\n    a, b = 1, 2\n    return a + b + x"),
        ("def f(x, y):\n    a, b = 1, 2\n    return a + b + x", "def f(x, y):\n    a = 1\n    b = 2\n    return a + b + x"),
        ("def f(x, y):\n    for i in range(0, x): y += 1\n    return y", "def f(x, y):\n    for i in range(x): y = y + 1\n    return y"),
        ("def f(x, y):\n    r = []\n    return [c for c in r]", "def f(x, y):\n    r = list()\n    return [item for item in r]"),
        ("import re\ndef f(x, y):\n    return re.sub('[\\\\s]+', '', x)", "import re\ndef f(x, y):\n    return re.sub('\\\\s+', '', x)"),
        ("import re\ndef f(x, y):\n    return re.sub('a', '', x)", "def f(x, y):\n    import re\n    return re.sub('a', '', x)"),
        ("def f(x, y):\n    import re\n    return re.sub('a', '', x)", "import re\ndef f(x, y):\n    return re.sub('a', '', x)"),
        ("def f(x, y):\n    return g(x)\ndef g(x):\n    return x", "def g(x):\n    return x\ndef f(x, y):\n    return g(x)"),
        ("import sys\nimport math\ndef f(x, y):\n    return 1", "import math\nimport sys\ndef f(x, y):\n    return 1"),
        ("def f(x: int, y) -> int:\n    z: int = 1\n    return z", "def f(x, y):\n    z = 1\n    return z"),
        ("def f(x, y):\n    return x * 2", "def f(x, y):\n    return 2 * x"),
        ("def f(x, y):\n    while 1:\n        return x", "def f(x, y):\n    while True:\n        return x"),
        ("def f(x, y):\n    if x != y:\n        return 1\n    else:\n        x = 2\n    return x", "def f(x, y):\n    if x == y:\n        x = 2\n    else:\n        return 1\n    return x"),
        ("def f(p, q):\n    return p - q\nprint(f(1, 2))\nassert f(1, 1) == 0", "def f(x, y):\n    return x - y"),
        ("def f(x, y):\n    return 0 < x and x < y", "def f(x, y):\n    return 0 < x < y"),
        ("def f(x, y):\n    s = []\n    return len(s) == 0", "def f(x, y):\n    s = []\n    return not s"),
        ("def f(x, y):\n    s = []\n    return not s", "def f(x, y):\n    s = []\n    return len(s) == 0"),
        ("def f(x, y):\n    d = {1: 2, 3: 4}\n    return x in d", "def f(x, y):\n    d = {3: 4, 1: 2}\n    return x in d.keys()"),
        ("def f(x, y):\n    return x in [1, 2, 3]", "def f(x, y):\n    return x in [3, 1, 2]"),
    ],
)  # fmt: skip
def test_equivalent_forms_meet(code: str, canon: str) -> None:
    assert toward(code, canon).after == 0


@pytest.mark.parametrize(
    ("code", "canon"),
    [
        # The result is read again when the function ends.
        ("def f(x, y):\n    try:\n        z = x\n        return z\n    finally:\n        print(z)", "def f(x, y):\n    try:\n        return x\n    finally:\n        print(z)"),
        # A list that others hold would change.
        ("def f(x, y):\n    x = x + y\n    return x", "def f(x, y):\n    x += y\n    return x"),
        # The second value needs the first.
        ("def f(x, y):\n    a = x\n    b = a\n    return b", "def f(x, y):\n    a, b = x, a\n    return b"),
        # Callers name the parameter.
        ("def f(x, y):\n    return g(k=x)\ndef g(k):\n    return k", "def f(x, y):\n    return g(k=x)\ndef g(key):\n    return key"),
        # The module's own `list` is not the builtin.
        ("def list(): return 3\ndef f(x, y):\n    return list()", "def list(): return 3\ndef f(x, y):\n    return []"),
        # The order of the dict is seen, and so is that of the list.
        ("def f(x, y):\n    d = {1: 2, 3: 4}\n    return list(d)", "def f(x, y):\n    d = {3: 4, 1: 2}\n    return list(d)"),
        ("def f(x, y):\n    return [1, 2]", "def f(x, y):\n    return [2, 1]"),
        # It may be a number or nothing.
        ("def f(x, y):\n    return not x", "def f(x, y):\n    return len(x) == 0"),
        # What it does when it is loaded may be needed.
        ("import sys\nsys.setrecursionlimit(5000)\ndef f(x, y):\n    return x", "def f(x, y):\n    return x"),
    ],
)  # fmt: skip
def test_what_would_change_behavior_is_not_done(code: str, canon: str) -> None:
    assert toward(code, canon).after > 0


def test_comments_and_docstrings_are_dropped_where_the_level_counts_them() -> None:
    noted = CANON.replace("    while", "    # search\n    while").replace(
        "):\n    low", '):\n    """Find it."""\n    low'
    )
    plain = repair(CANON.replace("low, high = 0", "low, high = 0 "), canon=CANON, oracle=Oracle(CONTRACT), level="text")
    assert plain.before > 0  # layout counts at this level
    repaired = repair(noted, canon=normalize(CANON).text, oracle=Oracle(CONTRACT), level="text")
    assert [step.step for step in repaired.steps] == ["drop_comments", "drop_docstrings"]
    assert repaired.after == 0
