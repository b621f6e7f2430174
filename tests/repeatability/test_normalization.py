from __future__ import annotations

import ast
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from programs import behavior, programs

from steelyard.errors import UnknownNameError, UsageError
from steelyard.questions.repeatability._distance import signature
from steelyard.questions.repeatability._normalization import (
    LEVELS,
    Level,
    default_level,
    level_named,
    normalization_version,
    normalize,
)
from steelyard.questions.repeatability._scopes import read_names
from steelyard.questions.repeatability._source_code import known_languages, language_named

any_text = st.text(max_size=80) | st.text(alphabet="`~ \t\n\r\\\"'#:=()xdef pas", max_size=80)


@pytest.mark.parametrize("level", ["text", "ast", "names"])
@settings(max_examples=120, deadline=None)
@given(text=any_text)
def test_normalizing_any_text_twice_is_normalizing_it_once(level: Level, text: str) -> None:
    once = normalize(text, level=level)
    assert normalize(once.text, level=level).text == once.text
    assert once.text == "" or once.text.endswith("\n")


@pytest.mark.parametrize("level", ["ast", "names"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(code=programs())
def test_normalizing_a_program_twice_is_normalizing_it_once(level: Level, code: str) -> None:
    once = normalize(code, level=level)
    assert once.fell_back is None
    assert normalize(once.text, level=level) == once


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_the_normal_form_of_a_program_does_what_it_does(code: str) -> None:
    assert behavior(normalize(code, level="ast").text) == behavior(code)
    assert behavior(normalize(code, level="names").text) == behavior(code)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_names_and_layout_do_not_matter_at_the_names_level(code: str) -> None:
    renamed = code.replace("total", "running").replace("value", "item").replace("    ", "  ")
    assert normalize(renamed, level="names").text == normalize(code, level="names").text


def test_the_text_level_touches_only_fences_line_ends_and_blanks() -> None:
    assert normalize("\n\n```python\r\nx = 1  \r\n\r\n```\n", level="text").text == "x = 1\n"
    assert normalize("", level="text").text == ""
    assert normalize(" \n\t\n", level="text").text == ""
    assert normalize("a\n\n\nb", level="text").text == "a\n\n\nb\n"


def test_docstrings_go_until_none_is_left() -> None:
    code = 'def f():\n    "first"\n    "second"\n    "third"\n'
    assert normalize(code).text == "def f():\n    pass\n"
    assert normalize('"""module"""\n"again"\nx = 1').text == "x = 1\n"
    assert normalize('class A:\n    """A."""').text == "class A:\n    pass\n"


def test_code_that_does_not_parse_falls_back_to_text_and_is_marked() -> None:
    broken = normalize("def f(:\n  pass   \n")
    assert (broken.text, broken.fell_back) == ("def f(:\n  pass\n", "does not parse as python")


@pytest.mark.parametrize("code", ["(" * 500, "x" + ".a" * 20_000, "-" * 30_000 + "1", "\0", "\ud800", "x = '\ud800'"])
def test_hostile_text_is_normalized_without_a_crash(code: str) -> None:
    for level in ("text", "ast", "names"):
        assert signature(normalize(code, level=level_named(level)).text)


def test_odd_escapes_raise_no_warning() -> None:
    assert normalize("x = '\\d'").text == "x = '\\\\d'\n"


def test_versions_name_the_level_and_what_it_depends_on() -> None:
    python = f"cpython{sys.version_info.major}.{sys.version_info.minor}"
    assert normalization_version("text") == "text-1"
    assert normalization_version("ast") == f"ast-1+{python}"
    assert normalization_version("names") == f"names-1+{python}"
    assert normalization_version("tree", "go").startswith("tree-1+go+tree-sitter-language-pack")
    assert default_level("python") == "ast"
    assert default_level("rust") == "tree"
    assert default_level(None) == "text"


def test_signatures_do_not_depend_on_the_hash_seed() -> None:
    script = (
        "from steelyard.questions.repeatability._normalization import normalize;"
        "from steelyard.questions.repeatability._distance import signature;"
        "code = 'def f(a, b, *c, d=1, **e):\\n  return {a, b} | set(c) | {d} | set(e)';"
        "print([signature(normalize(code, level=level).text) for level in ('text', 'ast', 'names')])"
    )
    found = set()
    for seed in ("0", "1", "77"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, env=environment)
        found.add(done.stdout)
    assert len(found) == 1


def test_a_wrong_level_is_answered_with_the_nearest() -> None:
    assert all(level_named(level) == level for level in LEVELS)
    with pytest.raises(UnknownNameError, match="'ast'"):
        level_named("asst")


def test_a_python_level_is_refused_for_another_language() -> None:
    with pytest.raises(UsageError, match="tree"):
        normalize("let a = 1", level="ast", language="javascript")


SNIPPETS = {
    "javascript": ("// note\nfunction f(a) { return a + 1; }", "function f(a)\n{\n  /* note */ return a+1;\n}"),
    "typescript": ("let a: number = 1; // note", "let a : number=1;"),
    "tsx": ("const a = <b>{1}</b>; // note", "const a = <b>{ 1 }</b>;"),
    "java": ("class A { int a = 1; /* note */ }", "class A {\n  int a=1;\n}"),
    "go": ("package main\n// note\nfunc f() int { return 1 }", "package main\nfunc f() int {\n\treturn 1\n}"),
    "rust": ("// note\nfn f() -> i32 { 1 }", "fn f()->i32{1}"),
    "c": ("/* note */ int f(void) { return 1; }", "int f(void)\n{ return 1; }"),
    "cpp": ("// note\nint f() { return 1; }", "int f(){return 1;}"),
    "csharp": ("class A { /* note */ int a = 1; }", "class A {\n int a=1; }"),
    "ruby": ("# note\ndef f(a)\n  a + 1\nend", "def f(a)\n  a   +   1\nend"),
    "php": ("<?php // note\nfunction f() { return 1; }", "<?php\nfunction f(){return 1;}"),
    "bash": ("# note\nf() { echo one; }", "f() {   echo one; }"),
    "sql": ("-- note\nSELECT a FROM b;", "SELECT  a\nFROM b;"),
}


@pytest.mark.parametrize("language", [name for name in known_languages() if name != "python"])
def test_comments_and_blanks_do_not_matter_in_any_language(language: str) -> None:
    pytest.importorskip("tree_sitter_language_pack")
    first, second = (normalize(code, level="tree", language=language) for code in SNIPPETS[language])
    assert first.fell_back is None
    assert first.text == second.text
    assert normalize(first.text, level="tree", language=language).text == first.text


def test_blanks_inside_a_text_matter() -> None:
    pytest.importorskip("tree_sitter_language_pack")
    spaced, tight = (
        normalize(f"let a = `x{gap}${{b}}`;", level="tree", language="javascript").text for gap in (" ", "")
    )
    assert spaced != tight


def test_languages_go_by_their_common_names() -> None:
    assert [language_named(name) for name in ("py", "C++", "C#", "JS", "sh", "golang")] == [
        "python", "cpp", "csharp", "javascript", "bash", "go",
    ]  # fmt: skip
    with pytest.raises(UnknownNameError, match="rust"):
        language_named("rusty")


def test_locals_are_told_from_names_of_others() -> None:
    code = (
        "import os\n"
        "LIMIT = 3\n"
        "class Stack:\n"
        "    size = 0\n"
        "    def push(self, item, *rest, key=None, **more):\n"
        "        global LIMIT\n"
        "        import math\n"
        "        total = [x + self.size for x in rest if (seen := x)]\n"
        "        def inner(y):\n"
        "            nonlocal total\n"
        "            total = y + item + LIMIT\n"
        "        try:\n"
        "            inner(math.pi)\n"
        "        except ValueError as problem:\n"
        "            print(problem, seen)\n"
        "        return lambda z: z + total\n"
    )
    names = read_names(ast.parse(code))
    found = {local.name for local in names.locals if local.can_be_renamed}
    assert found == {"self", "item", "rest", "key", "more", "x", "seen", "total", "inner", "y", "problem", "z"}
    assert {"LIMIT", "Stack", "size", "ValueError", "print"} <= names.others | names.bound
    assert {local.name for local in names.locals if not local.can_be_renamed} == {"math"}


def test_a_function_that_looks_at_its_names_keeps_them() -> None:
    assert normalize("def f(a):\n    return locals()", level="names").text == "def f(a):\n    return locals()\n"
