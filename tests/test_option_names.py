"""Options are mentioned once and spelled by each surface; no text below the surfaces contains a flag."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.cli import run
from steelyard.errors import UnknownValueError, UsageError
from steelyard.option_names import Surface, option, spell

ROOT = Path(__file__).parent.parent / "src" / "steelyard"
SURFACES = ("cli", "server", "client")
_FLAG = re.compile(r"""(?:^|[\s"'(\[`])(--[a-z][a-z-]+)""")

FOREIGN: dict[str, set[str]] = {
    "sources/formats/claude_json.py": {"--output-format"},
    "sources/formats/claude_stream_json.py": {"--output-format"},
    "sources/formats/cline.py": {"--json"},
    "sources/formats/codex_exec.py": {"--json"},
    "sources/formats/copilot_cli.py": {"--output-format"},
    "sources/formats/gemini_cli.py": {"--output-format"},
    "sources/formats/lm_eval.py": {"--log"},  # --log_samples
    "sources/formats/opencode.py": {"--format"},
    "sources/formats/promptfoo.py": {"--no-cache"},
    "sources/formats/qwen_code.py": {"--output-format"},
    "sources/formats/scylla.py": {"--model"},
    "grading/_test_process.py": {"--continue-on-collection-errors"},
    "questions/integrity/_actions.py": {"--expression", "--in-place"},
    "questions/integrity/_run_check.py": {"--create", "--dest", "--output", "--prefix", "--source", "--target"},
    "questions/find.py": {"--all"},  # git log --all
    "records/_redaction.py": {"--cookie", "--user"},
    "runner/_adapters.py": {"--whitespace"},
}
"""Flags of other programs: agents, harnesses and git."""
FOREIGN_FILES = {"sandbox/_commands.py"}
"""Files that start another program (bubblewrap) with many flags."""
COMMANDS: dict[str, set[str]] = {
    "demo/_examples.py": {"--by", "--baseline", "--rule", "--contract", "--store", "--out"},
    "sources/mappings/_suggestion.py": {"--by", "--interval", "--map", "--metrics"},
    "option_names.py": {"--no-"},
    "questions/_question.py": {"--no-"},
    "questions/_sources.py": {"--store", "--map"},
    "questions/arena/agent.py": {"--agent"},
    "questions/arena/all_leaderboards.py": {"--all-tasks"},
    "questions/arena/submit_runs.py": {"--from-runs"},
    "questions/report/_sections.py": {"--json"},
    "store/_store.py": {"--store"},
}
"""Whole commands to copy: examples, the commands that pages show, and how to create or upgrade a store."""


def flags_in(source: str) -> set[str]:
    """Return the flags in the texts of a module, without its docstrings."""
    tree = ast.parse(source)
    bare = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in bare
    )
    return {flag for text in texts for flag in _FLAG.findall(text)}


def _below_the_surfaces() -> Iterator[tuple[str, set[str]]]:
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(tuple(f"{surface}/" for surface in SURFACES)) and name not in FOREIGN_FILES:
            flags = flags_in(path.read_text(encoding="utf-8"))
            if flags:
                yield name, flags


def findings_with_mentions(source: str) -> list[int]:
    """Lines of the findings whose message contains `option(...)`, directly or through a variable of the function."""
    lines = []
    for function in ast.walk(ast.parse(source)):
        if not isinstance(function, ast.FunctionDef):
            continue
        mentions: set[str] = set()
        for node in ast.walk(function):
            if isinstance(node, ast.Assign | ast.AugAssign) and _mentions_option(node.value, mentions):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                mentions |= {target.id for target in targets if isinstance(target, ast.Name)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Finding", "Place"):
                messages = (keyword.value for keyword in node.keywords if keyword.arg == "message")
                lines += [node.lineno for message in messages if _mentions_option(message, mentions)]
    return lines


def _mentions_option(value: ast.AST, variables: set[str]) -> bool:
    return any(isinstance(node, ast.Name) and (node.id == "option" or node.id in variables) for node in ast.walk(value))


@pytest.mark.checkout
def test_findings_name_options_in_words() -> None:
    assert findings_with_mentions("def f():\n m = 'a'\n m += option('b')\n return Finding(message=m)") == [4]
    assert findings_with_mentions("def f():\n m = option('b')\n return Finding(code=m, message='a')") == []
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted(ROOT.rglob("*.py"))
        if (lines := findings_with_mentions(path.read_text(encoding="utf-8")))
    }
    assert found == {}, "no surface spells options in findings: write 'the option name'"


@pytest.mark.checkout
def test_no_text_below_the_surfaces_contains_a_flag() -> None:
    allowed = {**FOREIGN, **COMMANDS}
    found = {name: sorted(flags - allowed.get(name, set())) for name, flags in _below_the_surfaces()}
    assert not {name: flags for name, flags in found.items() if flags}, "write option('name'), or reword the finding"


@pytest.mark.checkout
@pytest.mark.parametrize("exceptions", [FOREIGN, COMMANDS], ids=["foreign", "commands"])
def test_every_exception_is_needed(exceptions: dict[str, set[str]]) -> None:
    found = dict(_below_the_surfaces())
    assert not {name: rest for name, flags in exceptions.items() if (rest := flags - found.get(name, set()))}


@pytest.mark.checkout
def test_every_excepted_file_has_flags() -> None:
    for name in FOREIGN_FILES:
        assert flags_in((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "flags"),
    [
        ('raise UsageError("--until is before --since")', {"--until", "--since"}),
        ('hint = f"add --where {key}=NAME"', {"--where"}),
        ('message = "excluded (--unscored exclude)"', {"--unscored"}),
        ('"""Module with `--since`."""', set()),
        ('class Options:\n    since: str\n    """As `--since`."""', set()),
        ('def f():\n    "--since"\n    return option("since")  # --since', set()),
        ('text = "a--b, -- and ---"', set()),
    ],
)
def test_a_flag_is_found_in_texts_but_not_in_docstrings(source: str, flags: set[str]) -> None:
    assert flags_in(source) == flags


@pytest.mark.parametrize(
    ("mention", "cli", "python", "http"),
    [
        (option("since"), "--since", "since", "since"),
        (option("weight_by"), "--weight-by", "weight_by", "weight_by"),
        (option("by", "agent,model"), "--by agent,model", "by='agent,model'", "?by=agent,model"),
        (option("where", "agent=a b"), "--where 'agent=a b'", "where='agent=a b'", "?where=agent=a b"),
        (option("confidence", 0.95), "--confidence 0.95", "confidence=0.95", "?confidence=0.95"),
        (option("repair", False), "--no-repair", "repair=False", "?repair=False"),
        (option("accept_drift", True), "--accept-drift", "accept_drift=True", "?accept_drift=True"),
        (option(option("by"), "tier"), "--by tier", "by='tier'", "?by=tier"),
        (
            f"{option('baseline', 'a.json')} {option('candidate', 'b.json')}",
            "--baseline a.json --candidate b.json",
            "baseline='a.json', candidate='b.json'",
            "?baseline=a.json, ?candidate=b.json",
        ),
        ("no option", "no option", "no option", "no option"),
    ],
)
def test_each_surface_spells_an_option_its_own_way(mention: str, cli: str, python: str, http: str) -> None:
    spelled: dict[Surface, str] = {"cli": cli, "python": python, "http": http}
    assert {surface: spell(mention, surface) for surface in spelled} == spelled


def test_an_error_is_spelled_where_it_is_shown() -> None:
    error = UsageError(
        f"{option('until')} is before {option('since')}", where=option("since"), hint=option("by", "day")
    )
    assert str(error) == "since: until is before since (by='day')"
    assert repr(error) == "UsageError('until is before since')"
    assert str(copy.copy(error).shown_on("cli")) == "--since: --until is before --since (--by day)"
    assert error.shown_on("http").hint == "?by=day"


def test_a_value_that_no_run_has_is_explained_on_every_surface() -> None:
    error = UnknownValueError("model", "gpt", [], where=option("where"))
    assert str(error).endswith("or use set='model=NAME' for all runs)")
    assert str(error.shown_on("cli")).startswith("--where: no run has a value for model")
    assert str(error).endswith("or use --set model=NAME for all runs)")
    assert UnknownValueError("outcome", "passed", []).hint == 'add outcome = "COLUMN" to a mapping'


def test_the_same_mistake_is_spelled_for_commands_and_calls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [{"task": "a", "agent": agent, "passed": True} for agent in ("x", "y", "z")]
    with pytest.raises(UsageError) as raised:
        sy.matrix(runs, by=["agent"], order="disagreement")
    assert raised.value.hint == "baseline='agent=NAME', candidate='agent=NAME'"
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(f'{{"task": "a", "agent": "{agent}", "passed": true}}\n' for agent in "xyz"), "utf-8")
    assert run(["matrix", str(file), "--by", "agent", "--order", "disagreement"]) == 2
    assert "hint: --baseline agent=NAME --candidate agent=NAME" in capsys.readouterr().err


def test_a_finding_names_an_option_alike_on_every_surface() -> None:
    runs = [{"task": "a", "agent": "x", "passed": True}]
    (found,) = (each for each in sy.measure(runs, where="agent!=y").findings if each.code == "where_unmatched")
    assert (found.where, found.message) == ("where", "unknown agent 'y', so it excludes nothing; known: x")
    (found,) = (each for each in sy.measure(runs, where="model!=y").findings if each.code == "where_unmatched")
    assert found.message == "no run has a value for model, so it excludes nothing"
