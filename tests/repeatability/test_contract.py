from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.errors import ContractError
from steelyard.questions.repeatability._contract import contract_from, contract_from_skyt, read_contract
from steelyard.questions.repeatability._oracle import broken_constraints, is_recursive, occurs


def test_a_toml_contract_is_read_with_every_field(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        'id = "f"\nprompt = "Write f."\nentry_point = "f"\nlevel = "names"\nrequired_pass_rate = 0.5\n'
        '[limits]\ntime_seconds = 2\nmemory_mib = 64\n[repair]\nmax_steps = 3\nnever = ["rename_locals"]\n'
        '[constraints]\nrecursion = "forbidden"\nforbidden = ["eval(...)"]\nreturns = "integer"\n'
        '[[cases]]\narguments = [1]\nexpected = 2\ncomparison = "close"\ntolerance = 0.5\n'
        '[[cases]]\narguments = [0]\nraises = "ValueError"\n'
    )
    contract = read_contract(path)
    assert (contract.id, contract.level, contract.repair.max_steps) == ("f", "names", 3)
    assert contract.cases[1].raises == "ValueError"
    assert contract_from(json.loads(contract.snapshot())) == contract


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"entry_pont": "f"}, "entry_point"),
        ({"cases": [{"arguments": [1], "expcted": 2}]}, "expected"),
        ({"cases": [{"arguments": [1]}]}, "exactly one of expected and raises"),
        ({"cases": [{"arguments": [1], "input": 1, "expected": 1}]}, "not both"),
        ({"cases": [], "constraints": {}}, "needs cases or constraints"),
        ({"required_pass_rate": 1.5}, "<= 1.0"),
        ({"language": "cobol"}, "unknown language 'cobol'"),
        ({"language": "rust"}, "use program"),
        ({"entry_point": None}, "entry_point and program"),
        ({"level": "asst"}, "asst"),
        ({"limits": {"time_seconds": 0}}, "> 0"),
        ({"id": "a\0"}, "NUL"),
        ({"id": "\u6f22" * 342}, "longer than 1024 bytes"),  # 1,026 bytes
    ],
)
def test_what_would_not_be_used_is_refused(change: dict[str, Any], said: str) -> None:
    values = {"id": "f", "entry_point": "f", "cases": [{"arguments": [1], "expected": 2}], **change}
    with pytest.raises(ContractError) as caught:
        contract_from(values)
    assert said in str(caught.value)


def test_a_contract_that_is_no_table_is_refused(tmp_path: Path) -> None:
    for name, text in (("a.json", "[1]"), ("b.json", "{"), ("c.toml", "x =")):
        (tmp_path / name).write_text(text)
        with pytest.raises(ContractError, match=name):
            read_contract(tmp_path / name)
    with pytest.raises(ContractError):
        read_contract(tmp_path / "absent.toml")


SKYT: dict[str, Any] = {
    "id": "half",
    "task_intent": "halve",
    "prompt": "Write half.",
    "algorithm_family": "half",
    "constraints": {
        "function_name": "half",
        "requires_recursion": False,
        "output_type": "integer",
        "variable_naming": {"fixed_variables": ["n"], "flexible_variables": ["m"], "naming_policy": "strict"},
        "forbidden_patterns": ["while"],
        "nasa_power_of_10": {"p10_1": "No recursion"},
    },
    "oracle_requirements": {
        "test_cases": [{"input": 4, "expected": 2, "description": "even"}],
        "correctness_threshold": 1.0,
        "required_pass_rate": 0.8,
    },
    "rescue_bounds": {"allow_function_rename": False, "allow_print_removal": True, "max_transformations": 5},
    "ood_spec": {"policy": "must_return", "return_value": 0, "examples": [{"n": -1}, {"n": -2}], "max_checks": 1},
    "run_id": None,
}


def test_skyts_contract_becomes_ours_with_every_demand_kept() -> None:
    read = contract_from_skyt(SKYT, where="x.json")
    contract = read.contract
    assert (contract.entry_point, contract.required_pass_rate) == ("half", 0.8)
    assert contract.constraints.recursion == "forbidden"
    assert contract.constraints.forbidden == ("while",)
    assert contract.constraints.fixed_names == ("n",)
    assert (contract.repair.max_steps, contract.repair.never) == (5, ("rename_entry_point",))
    assert [case.expected for case in contract.cases] == [2, 0]
    assert contract.cases[1].keywords == {"n": -1}
    assert "constraints.nasa_power_of_10" in read.notes


def test_skyts_operations_become_method_calls() -> None:
    operations = [{"op": "init", "args": [2]}, {"op": "get", "args": [1], "expected": -1}]
    values = {
        "id": "lru",
        "constraints": {"class_name": "LRU", "methods": ["get"]},
        "oracle_requirements": {"test_cases": [{"description": "d", "operations": operations}]},
    }
    case = contract_from_skyt(values, where="x").contract.cases[0]
    assert (case.arguments, case.calls[0].method, case.calls[0].expected) == ([2], "get", -1)


@pytest.mark.parametrize("where", ["top", "constraints", "oracle_requirements", "rescue_bounds"])
def test_an_unknown_field_of_skyts_is_refused(where: str) -> None:
    values = json.loads(json.dumps(SKYT))
    (values if where == "top" else values[where])["surprise"] = 1
    with pytest.raises(ContractError, match="surprise"):
        contract_from_skyt(values, where="x.json")


@pytest.mark.parametrize(
    ("pattern", "code", "found"),
    [
        ("while", "while_ = 'while'", False),
        ("while", "while x: pass", True),
        ("continue", "for a in b:\n    continue", True),
        ("continue", "# continue\nx = 'continue'", False),
        ("for i in range", "for i in range(2, n): pass", True),
        ("for i in range", "for j in range(2, n): pass", False),
        ("for _ in range(...)", "for j in range(2, n): pass", True),
        ("eval", "eval('1')", True),
        ("eval(...)", "medieval(1)", False),
        ("import os", "import os", True),
        ("import os", "import os.path", False),
        ("_.sort()", "a.b.sort()", True),
        ("_.sort()", "sorted(a)", False),
        ("lambda", "f = lambda: 1", True),
        ("x ** 0.5", "y = x**0.5", True),
        ("print(...)", "print()", True),
        ("print(...)", "print(1, 2)", True),
        ("comprehension", "[a for a in b]", True),
        ("def f(n)", "def f(n):\n    return n", True),
        ("if _ == 0", "if n % 2 == 0:\n    pass\nelse:\n    pass", True),
    ],
)
def test_patterns_are_found_in_the_syntax_tree_and_not_in_the_text(pattern: str, code: str, found: bool) -> None:
    assert occurs(pattern, ast.parse(code)) == found


def test_a_pattern_that_is_no_python_is_refused() -> None:
    with pytest.raises(ContractError, match="is not valid Python"):
        occurs("for for", ast.parse(""))


@pytest.mark.parametrize(
    ("code", "recursive"),
    [
        ("def f(n): return f(n - 1)", True),
        ("def f(n): return g(n)\ndef g(n): return f(n)", True),
        ("def f(n):\n    def inner(m): return inner(m - 1)\n    return inner(n)", True),
        ("def f(n): return n", False),
        ("def f(n): return 'f(n)'  # f(n)", False),
        ("def g(n): return g(n)\ndef f(n): return n", False),
    ],
)
def test_recursion_is_found_through_other_functions(code: str, recursive: bool) -> None:
    assert is_recursive(ast.parse(code), "f") == recursive


def test_constraints_of_other_languages_are_node_types() -> None:
    pytest.importorskip("tree_sitter_language_pack")
    contract = contract_from(
        {
            "id": "js",
            "language": "javascript",
            "program": {"file": "a.js", "command": ["node", "a.js"]},
            "constraints": {"forbidden": ["while_statement"], "required": ["function_declaration"]},
        }
    )
    assert broken_constraints("function f() { return 1; }", contract) == []
    assert broken_constraints("while (true) {}", contract) == [
        "must contain 'function_declaration'",
        "must not contain 'while_statement'",
    ]
