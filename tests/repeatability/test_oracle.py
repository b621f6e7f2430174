from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hostile import ATTACKS, hostile_programs

from steelyard import sandbox
from steelyard.errors import SandboxUnavailableError
from steelyard.questions.repeatability._contract import Case, Constraints, Contract, ContractLimits, MethodCall, Program
from steelyard.questions.repeatability._oracle import Oracle, Verdict
from steelyard.sandbox import Isolation

SECONDS = 2.0
DOUBLE = Contract(
    id="double",
    entry_point="double",
    cases=tuple(Case(arguments=[n], expected=2 * n) for n in (1, 2, 21)),
    limits=ContractLimits(time_seconds=SECONDS, memory_mib=128),
)
IN_EVERY_TEST = (
    "endless loop",
    "fork bomb",
    "ten gigabytes",
    "write outside",
    "exit at once",
    "exit in the call",
    "print passed and exit",
    "equal to everything",
    "patch json",
    "patch the checker",
    "forge reports with the nonce",
    "kill everybody",
    "leave a daemon",
)


def left_behind() -> list[str]:
    """What sandboxed programs wrote outside."""
    return [path for path in ("/etc/steelyard-was-here", "/root/steelyard-was-here") if _exists(path)]


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except PermissionError:
        return False


def check_hostile(named: tuple[str, str], isolation: Isolation) -> tuple[str, Verdict, float]:
    began = time.monotonic()
    verdict = Oracle(DOUBLE, isolation=isolation).check(named[1])
    return named[0], verdict, time.monotonic() - began


@pytest.mark.parametrize("name", IN_EVERY_TEST)
def test_a_hostile_program_ends_in_a_clear_verdict_and_does_not_pass(name: str, isolation: Isolation) -> None:
    _, verdict, _ = check_hostile((name, ATTACKS[name]), isolation)
    assert not verdict.passed
    assert verdict.reason
    assert verdict.isolation == isolation.name
    assert left_behind() == []


@pytest.mark.long
def test_two_hundred_hostile_programs_neither_pass_nor_outlive_their_limits(isolation: Isolation) -> None:
    programs = hostile_programs(200)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda named: check_hostile(named, isolation), programs))
    assert [name for name, verdict, _ in results if verdict.passed] == []
    assert [name for name, verdict, _ in results if not verdict.reason] == []
    # The limit on the clock, the grace that a stubborn one gets before it is killed, and a slow machine.
    assert [(name, took) for name, _, took in results if took > SECONDS + 20] == []
    assert left_behind() == []


def test_a_right_program_passes(isolation: Isolation) -> None:
    verdict = Oracle(DOUBLE, isolation=isolation).check("def double(n):\n    print('working')\n    return n + n")
    assert (verdict.passed, verdict.pass_rate, verdict.reason) == (True, 1.0, "")
    assert verdict.version == "oracle-1"
    assert len(verdict.nonce) == 32


def test_the_expected_values_never_enter_the_sandbox(isolation: Isolation) -> None:
    snooping = Contract(id="s", entry_point="look", cases=(Case(arguments=[1], expected="a value nobody can guess"),))
    code = (
        "import sys, os\n"
        "def look(n):\n"
        "    seen = repr(sys._getframe(1).f_locals) + repr(sys._getframe(2).f_locals) + ' '.join(sys.argv)\n"
        "    for name in os.listdir('.'):\n"
        "        if os.path.isfile(name): seen += open(name).read()\n"
        "    return 'a value nobody can guess' if 'can guess' in seen.replace('look', '').split('code')[0] else ''\n"
    )
    assert not Oracle(snooping, isolation=isolation).check(code).passed


def test_some_cases_may_fail_when_the_contract_allows_it() -> None:
    code = "def double(n): return 2 if n == 1 else 4"  # right for 1 and 2 of three
    assert Oracle(DOUBLE).check(code).pass_rate == pytest.approx(2 / 3)
    assert not Oracle(DOUBLE).check(code).passed
    lenient = Contract(id="double", entry_point="double", cases=DOUBLE.cases, required_pass_rate=0.6)
    assert Oracle(lenient).check(code).passed


def test_each_distinct_program_runs_once_and_results_keep_their_order() -> None:
    oracle = Oracle(DOUBLE)
    right, wrong = "def double(n): return 2 * n", "def double(n): return 0"
    verdicts = oracle.check_all([right, wrong, right, wrong, right])
    assert [verdict.passed for verdict in verdicts] == [True, False, True, False, True]
    assert verdicts[0] is verdicts[2]


@pytest.mark.parametrize(
    ("case", "body", "passes"),
    [
        (Case(arguments=[], expected=True), "return 1", False),
        (Case(arguments=[], expected=1), "return True", False),
        (Case(arguments=[], expected=2), "return 2.0", True),
        (Case(arguments=[], expected=[1, 2]), "return (1, 2)", True),
        (Case(arguments=[], expected=[2, 1], comparison="unordered"), "return {1, 2}", True),
        (Case(arguments=[], expected=[1, 1, 2], comparison="unordered"), "return [1, 2, 2]", False),
        (Case(arguments=[], expected=0.3), "return 0.1 + 0.2", False),
        (Case(arguments=[], expected=0.3, comparison="close"), "return 0.1 + 0.2", True),
        (Case(arguments=[], expected={"1": [None]}), "return {1: [None]}", True),
        (Case(arguments=[], expected=None), "pass", True),
        (Case(arguments=[], raises="LookupError"), "return {}[1]", True),
        (Case(arguments=[], raises="TypeError"), "return {}[1]", False),
        (Case(arguments=[], raises="TypeError"), "return 1", False),
        (Case(keywords={"a": 3}, expected=3), "return a", True),
        (Case(input=[1, 2], expected=[1, 2]), "return a", True),
        (Case(arguments=[], expected=10**30), "return 10 ** 30", True),
        (Case(arguments=[], expected="é\n"), "return 'é\\n'", True),
    ],
)
def test_values_are_compared_as_the_case_says(case: Case, body: str, passes: bool) -> None:
    contract = Contract(id="f", entry_point="f", cases=(case,))
    assert Oracle(contract).check(f"def f(a=None):\n    {body}").passed == passes


@pytest.mark.parametrize(
    ("raised", "passes"),
    [
        ("class TypeError(Exception): pass", False),
        ("class TypeError(ValueError): pass", False),
        ("import builtins\n\nclass TypeError(builtins.TypeError): pass", True),
        ("class Own(TypeError): pass\n\nTypeError = Own", True),
        ("import builtins\n\nclass TypeError(Exception): pass\n\nbuiltins.TypeError = TypeError", False),
        ("class M(type):\n    __name__ = 'TypeError'\n\nclass TypeError(Exception, metaclass=M): pass", False),
        ("class TypeError(Exception):\n    def __str__(self): raise self", False),
    ],
)
def test_the_name_of_a_builtin_exception_means_the_builtin(raised: str, passes: bool) -> None:
    contract = Contract(id="f", entry_point="f", cases=(Case(arguments=[], raises="TypeError"),))
    verdict = Oracle(contract).check(f"{raised}\n\ndef f():\n    raise TypeError('no')\n")
    assert verdict.passed == passes
    assert "no result" not in verdict.reason
    own = Contract(id="f", entry_point="f", cases=(Case(arguments=[], raises="DecodeError"),))
    assert Oracle(own).check("class DecodeError(Exception): pass\n\ndef f():\n    raise DecodeError\n").passed


def test_a_list_is_spread_when_it_cannot_be_the_only_argument() -> None:
    contract = Contract(id="f", entry_point="f", cases=(Case(input=[[1, 2], 3], expected=[[1, 2], 3]),))
    assert Oracle(contract).check("def f(items, wanted): return [items, wanted]").passed
    assert Oracle(contract).check("def f(both): return both").passed


def test_a_class_is_tried_by_its_methods() -> None:
    contract = Contract(
        id="stack",
        entry_point="Stack",
        cases=(
            Case(
                arguments=[2],
                calls=(
                    MethodCall(method="push", arguments=[1]),
                    MethodCall(method="push", arguments=[5], expected=None),
                    MethodCall(method="pop", expected=5),
                ),
            ),
        ),
        constraints=Constraints(methods=("push", "pop")),
    )
    right = (
        "class Stack:\n"
        "    def __init__(self, size): self.items = []\n"
        "    def push(self, item): self.items.append(item)\n"
        "    def pop(self): return self.items.pop()\n"
    )
    assert Oracle(contract).check(right).passed
    assert not Oracle(contract).check(right.replace("pop()", "pop(0)")).passed
    assert "must define the method 'pop'" in Oracle(contract).check(right.replace("def pop", "def take")).reason


def test_a_program_is_run_with_its_input_and_its_output_compared() -> None:
    contract = Contract(
        id="shout",
        language="bash",
        program=Program(file="main.sh", command=("/bin/sh", "main.sh")),
        cases=(Case(stdin="quiet\n", expected="QUIET"),),
    )
    assert Oracle(contract).check("tr a-z A-Z").passed
    assert "printed" in Oracle(contract).check("cat").reason
    assert Oracle(contract).check("exit 3").reason == "exit status 3"


def test_a_returned_type_is_a_constraint_whatever_the_pass_rate() -> None:
    typed = Contract(
        id="double",
        entry_point="double",
        cases=DOUBLE.cases,
        required_pass_rate=0.1,
        constraints=Constraints(returns="integer"),
    )
    verdict = Oracle(typed).check("def double(n): return 2 * n if n < 3 else str(2 * n)")
    assert not verdict.passed
    assert "not of type integer" in verdict.reason


def test_without_isolation_nothing_is_run_unless_the_user_insists() -> None:
    bare = sandbox.isolation_named("none")
    code = "def double(n): return 2 * n"
    with pytest.raises(SandboxUnavailableError):
        Oracle(DOUBLE, isolation=bare).check(code)
    if bare.python is not None:
        verdict = Oracle(DOUBLE, isolation=bare, no_sandbox=True).check(code)
        assert (verdict.passed, verdict.isolation) == (True, "none")


@pytest.mark.parametrize(
    "code",
    [
        "def double(n): raise ValueError(chr(0xD800) + chr(27) + '[2J\\n')",
        "raise ValueError(chr(0xD800) + chr(27) + '[2J\\n')",
        "double = lambda n: type(chr(0xDFFF) + chr(27), (), {})()",
        "double = lambda n: chr(0xD800) + chr(27)",
    ],
    ids=["raised", "raised while loading", "type of the value", "value"],
)
def test_whatever_code_says_the_reason_can_be_stored_and_shown(code: str) -> None:
    verdict = Oracle(DOUBLE).check(code)
    assert not verdict.passed
    assert verdict.reason.isprintable()
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict


def test_what_an_answer_makes_of_a_set_is_the_same_each_time(isolation: Isolation) -> None:
    words = ["pear", "fig", "plum", "kiwi", "lime"]
    contract = Contract(id="distinct", entry_point="distinct", cases=(Case(arguments=[words], expected=words),))
    oracle = Oracle(contract, isolation=isolation)
    reasons = {oracle.check("def distinct(items):\n    return list(set(items))\n").reason for _ in range(6)}
    assert len(reasons) == 1
