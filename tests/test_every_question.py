"""Laws over every question that is declared once: each surface shows the same answer."""

from __future__ import annotations

import ast
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import pytest
from cyclopts import App

import steelyard as sy
from question_cases import CASES, COMMAND_CASES, Case, CommandCase, store_address, write_inputs
from serving import Served, serving
from steelyard.cli import build_app, run
from steelyard.pages import Page, PageTable, csv_text, page_text, text as html_text
from steelyard.pages._html import PLAIN_ROWS
from steelyard.questions import (
    Answer,
    ArenaSource,
    RunsSource,
    module_name,
    option_texts,
    question_named,
    question_names,
    read_answer,
)
from test_report import agrees, numbers_in, unpacked

ROOT = Path(__file__).parent.parent / "src" / "steelyard"
AnyCase: TypeAlias = Case | CommandCase
Ask: TypeAlias = Callable[[AnyCase], Answer]
RESERVED = {"limit", "after", "sort", "find", "json", "csv", "out", "figure", "quiet", "summary", "all"}
"""Names of paging and of output, which no option of a question may use."""
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
EACH_COMMAND = pytest.mark.parametrize("case", COMMAND_CASES, ids=lambda case: case.name)
EACH_ANSWER = pytest.mark.parametrize("case", [*CASES, *COMMAND_CASES], ids=lambda case: case.name)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_inputs(tmp_path_factory.mktemp("questions"))


@pytest.fixture(scope="module")
def ask(inputs: Path) -> Ask:
    """The answer of a case; it is computed once."""
    return cache(lambda case: case.ask(*case.inputs(inputs)))


@pytest.fixture(scope="module")
def served(inputs: Path) -> Iterator[Callable[[Case], Served]]:
    """The server over the input of a case."""
    with ExitStack() as servers:
        start = cache(lambda source: servers.enter_context(serving(_source(inputs, source))))
        yield lambda case: start(case.source or "runs.jsonl")


def _source(inputs: Path, name: str) -> RunsSource | ArenaSource:
    return ArenaSource(store_address(inputs, name)) if name.endswith(".db") else RunsSource([inputs / name])


def whole(body: dict[str, Any], paged: str) -> dict[str, Any]:  # Any: JSON values
    """A response with the list that it returns in pages under the name of the answer's field."""
    if not paged:
        return body
    assert (body["next"], body["total"]) == (None, len(body["items"]))
    paging = ("items", "total", "next", "version", "as_of")
    return {name: value for name, value in body.items() if name not in paging} | {paged: body["items"]}


def pages_of(answer: Answer) -> list[Page]:
    """The page of an answer, and those of its parts."""
    page = answer.page()
    return [page, *page.parts]


def tables_of(answer: Answer) -> list[PageTable]:
    return [table for page in pages_of(answer) for table in page.tables]


def printed(
    *words: str, monkeypatch: pytest.MonkeyPatch, width: int = 80, statuses: tuple[int, ...] = (0, 3, 4)
) -> str:
    """What a command prints on stdout."""
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert run(list(words)) in statuses
    return out.getvalue()


def as_served(answer: Answer, folder: Path) -> Any:  # Any: JSON values
    """The JSON of the answer over HTTP: a server tells the names of its files, not their folder."""
    return json.loads(json.dumps(answer.to_dict()).replace(f"{folder}/", ""))


def test_every_question_has_a_case() -> None:
    actions = {name for name in question_names() if question_named(name).scope is not None}  # test_every_action.py
    streams = {name for name in question_names() if question_named(name).is_stream}  # their own tests
    assert {case.question for case in CASES} | actions | streams == set(question_names())


@EACH
@pytest.mark.parametrize("width", [40, 80, 160])
def test_question_prints_the_same_in_python_and_on_the_command_line(
    case: Case, width: int, ask: Ask, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(inputs)
    shown = printed(*case.words(inputs), monkeypatch=monkeypatch, width=width)
    answer = ask(case)
    assert answer.text(width) == str(answer)
    expected = answer.text(width)
    if file := case.declared.file:  # the command writes it and prints the sentences of the page
        assert (inputs / file).read_text("utf-8") == answer.document()
        expected = f"{page_text(replace(answer.page(), parts=()), width)}\nwrote {file}"
    assert shown.rstrip("\n") == expected
    assert all(len(line) <= width for line in answer.text(width).splitlines())


@EACH
def test_question_gives_the_same_json_everywhere(
    case: Case,
    ask: Ask,
    inputs: Path,
    served: Callable[[Case], Served],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shape = ask(case).to_dict()
    assert json.loads(printed(*case.words(inputs), "--json", monkeypatch=monkeypatch)) == shape
    if not case.is_remote:
        return
    path = case.declared.path
    declared = case.declared.options.declared
    pairs = [
        (name, quote(text, safe=""))
        for name, value in case.options.items()
        for text in option_texts(value, is_repeated=declared[name].is_repeated)
    ]
    query = "&".join(f"{name}={text}" for name, text in pairs if f"{{{name}}}" not in path)
    body = served(case).api(f"{path.format_map(dict(pairs))}?{query}")
    assert whole(body, case.declared.paged) == as_served(ask(case), inputs)


@pytest.mark.parametrize("case", [case for case in CASES if case.source and case.is_remote], ids=lambda case: case.name)
def test_question_is_asked_of_a_server_as_of_a_file(
    case: Case, ask: Ask, inputs: Path, served: Callable[[Case], Served]
) -> None:
    answer = case.ask(sy.connect(served(case).address))
    assert answer == read_answer(type(answer), as_served(ask(case), inputs))


WRONG = {"Sequence": ("no such name",), "bool": True, "float": 2.0, "int": -1}
"""Values by type; other options are texts."""


def wrong_cases() -> Iterator[Case]:
    """One case per option of each question about an arena, with a value that is mostly wrong."""
    firsts = {case.question: case for case in reversed(CASES) if case.declared.takes == "store" and case.is_remote}
    for case in firsts.values():
        for name, option in case.declared.options.declared.items():
            hint = str(case.declared.options.types()[name])
            wrong = next((value for kind, value in WRONG.items() if kind in hint), "no such name")
            if not option.local:
                yield replace(case, options=case.options | {name: wrong})


def outcome(ask: Callable[[], Answer]) -> Any:  # Any: an answer, or what an error says
    try:
        return ask()
    except sy.SteelyardError as error:
        return type(error), error.message, error.hint


@pytest.mark.parametrize("case", list(wrong_cases()), ids=lambda case: case.name)
def test_server_and_file_reject_the_same_options_alike(
    case: Case, inputs: Path, served: Callable[[Case], Served]
) -> None:
    here = outcome(lambda: case.ask(*case.inputs(inputs)))
    there = outcome(lambda: case.ask(sy.connect(served(case).address)))
    assert there == (read_answer(type(here), as_served(here, inputs)) if isinstance(here, Answer) else here)


def test_most_wrong_options_are_rejected(inputs: Path) -> None:
    cases = list(wrong_cases())
    rejected = [case for case in cases if isinstance(outcome(partial(case.ask, *case.inputs(inputs))), tuple)]
    assert len(rejected) > len(cases) / 2


def test_options_in_errors_of_a_server_are_spelled_as_in_python(inputs: Path, served: Callable[[Case], Served]) -> None:
    address = served(next(case for case in CASES if case.question == "matrix")).address
    for source in (inputs / "runs.jsonl", sy.connect(address)):
        with pytest.raises(sy.SteelyardError) as raised:
            sy.matrix(source, by=["task"])
        assert raised.value.hint == "by='agent,model'"


@EACH_COMMAND
@pytest.mark.parametrize("width", [40, 80, 160])
def test_command_prints_the_text_and_the_json_of_its_answer(
    case: CommandCase,
    width: int,
    ask: Ask,
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = ask(case)
    shown = printed(*case.words_in(inputs), monkeypatch=monkeypatch, width=width, statuses=(0, 1))
    assert shown.rstrip("\n") == answer.text(width, everything=case.everything)
    assert all(len(line) <= width for line in shown.splitlines())
    shape = json.loads(printed(*case.words_in(inputs), "--json", monkeypatch=monkeypatch, statuses=(0, 1)))
    assert shape == answer.to_dict()
    rows = printed(*case.words_in(inputs), "--csv", monkeypatch=monkeypatch, statuses=(0, 1))
    assert rows == csv_text(answer.to_dicts())


@EACH_ANSWER
def test_answer_is_read_from_its_own_json(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    assert read_answer(type(answer), json.loads(json.dumps(answer.to_dict()))) == answer


@EACH_ANSWER
def test_rows_are_flat_and_have_the_same_columns(case: AnyCase, ask: Ask) -> None:
    rows = ask(case).to_dicts()
    assert rows
    assert all(row.keys() == rows[0].keys() for row in rows)
    scalars = (str, int, float, bool, type(None))
    assert all(isinstance(value, scalars) for row in rows for value in row.values())
    assert ask(case).to_polars().height == len(rows)


@EACH_ANSWER
def test_every_number_of_a_table_is_in_the_json(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    known = set(numbers_in(answer.to_dict()))
    missing = [
        f"{table.caption}: {column.title} {value}"
        for table in tables_of(answer)
        for column in table.columns
        for value in column.values
        if isinstance(value, (int, float)) and value not in known
    ]
    assert missing == []


@EACH_ANSWER
def test_every_column_has_a_title_and_a_name_of_its_own(case: AnyCase, ask: Ask) -> None:
    for table in tables_of(ask(case)):
        assert all(column.title.strip() for column in table.columns)
        assert len({column.name for column in table.columns}) == len(table.columns)


@EACH_ANSWER
def test_every_cell_and_sentence_is_in_the_html(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    document = unpacked(answer.document())
    for page in pages_of(answer):
        for sentence in (page.answer, *page.notes, *page.details, *page.legend):
            assert html_text(sentence, longest=600) in document
    for table in tables_of(answer):
        assert html_text(table.caption) in document
        for column in table.in_words.columns:
            assert html_text(column.title.replace("\n", " ")) in document
            for row in range(table.rows):
                assert html_text(column.shown(row).replace("\n", ", ")) in document


@EACH_ANSWER
def test_every_cell_sentence_and_figure_is_in_a_notebook(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    shown = answer._repr_html_()
    for page in pages_of(answer):
        for sentence in (page.answer, *page.notes, *page.details, *page.legend):
            assert html_text(sentence, longest=600) in shown
        assert all(figure.svg in shown for figure in page.figures)
    for table in tables_of(answer):
        for column in table.in_words.columns:
            assert html_text(column.title.replace("\n", " ")) in shown
            for row in range(min(table.rows, PLAIN_ROWS)):
                assert html_text(column.shown(row).replace("\n", ", ")) in shown


@EACH_ANSWER
def test_every_cell_of_the_first_table_is_in_the_markdown(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    markdown = answer.markdown().replace("\\", "")
    for column in tables_of(answer)[0].in_words.columns:
        assert column.shown(0).replace("\n", ", ").replace("<", "&lt;").replace(">", "&gt;") in markdown


@EACH_ANSWER
def test_no_text_of_an_answer_contains_a_flag(case: AnyCase, ask: Ask) -> None:
    answer = ask(case)
    texts = f"{answer.text(None, everything=True)}\n{json.dumps(answer.to_dict())}\n{answer.markdown()}"
    for command in getattr(answer, "commands", {}).values():  # a report states how to reproduce its numbers
        texts = texts.replace(command, "").replace(command.replace("_", "\\_"), "")
    texts = re.sub(r"`(?!steelyard)[^`]*`", "", texts.replace("\\", ""))  # the commands of other tools have flags
    assert re.findall(r"(?<!\S)--[a-z][a-z-]+", texts) == []


@pytest.mark.parametrize("name", question_names())
def test_no_option_has_a_reserved_name(name: str) -> None:
    assert not RESERVED & question_named(name).options.declared.keys()


OUTPUTS = {"--json", "--csv", "--out", "--quiet"}
OTHER_OUTPUT = {
    "demo": "a tour of other commands",
    "mapping show": "prints a TOML file",
    "mapping suggest": "prints a TOML file",
    "run trial": "writes to the results directory of the plan",
    "schema": "prints a JSON Schema",
    "serve": "runs a server",
    "serve token create": "prints a secret once",
}
"""Commands that do not have all options of output, with the reason."""


def output_options(words: str) -> set[str]:
    """The options of output that a command has."""
    app = APP
    for word in words.split():
        app = app[word]
    names = (name for each in app.assemble_argument_collection(parse_docstring=False) for name in each.names)
    return OUTPUTS & set(names)


def commands(app: App, words: str = "") -> Iterator[str]:
    for name in app:
        if not name.startswith("-"):
            yield from commands(app[name], f"{words} {name}".strip())
    if words and app.default_command is not None:
        yield words


APP = build_app()


@pytest.mark.parametrize("name", question_names())
def test_every_question_has_all_options_of_output(name: str) -> None:
    words = question_named(name).command.split()
    assert output_options(" ".join(word for word in words if word[0] not in "-{")) == OUTPUTS


def test_every_other_command_has_all_options_of_output_or_a_reason() -> None:
    assert {words for words in commands(APP) if output_options(words) != OUTPUTS} == set(OTHER_OUTPUT)


def test_only_pages_build_terminal_tables_and_json() -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if re.search(r"def _shape\b|import .*\bplain_table\b", path.read_text("utf-8"))
    }
    assert found == set()


def renderers(source: str, answers: set[str]) -> Iterator[str]:
    """Functions outside a question that take its answer, and classes that list its rows or JSON a second time."""
    tree = ast.parse(source)
    # the runner has a class Gate too
    answers = answers - {
        node.name for node in tree.body if isinstance(node, ast.ClassDef) and "Answer" not in ast.unparse(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for argument in (*node.args.args, *node.args.kwonlyargs):
                if argument.annotation is not None and ast.unparse(argument.annotation) in answers:
                    yield f"{node.name}({argument.arg}: {ast.unparse(argument.annotation)})"
        elif isinstance(node, ast.ClassDef) and any(ast.unparse(base) in {"Answer", *answers} for base in node.bases):
            own = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            yield from (f"{node.name}.{name}" for name in own & {"_shape", "to_dict", "to_dicts", "to_polars"})


def is_home(path: str, function: str, homes: tuple[str, ...]) -> bool:
    """Return whether a function may render there: in a question, or as the page that several questions share."""
    return path.startswith(homes) or (path.startswith("questions/") and function.startswith("page("))


def test_no_second_renderer_schema_or_row_list() -> None:
    answers = {question_named(name).answer.__name__ for name in question_names()}
    homes = tuple(module_name(name).removeprefix("steelyard.").replace(".", "/") for name in question_names())
    found = [
        f"{path.relative_to(ROOT)}: {each}"
        for path in sorted(ROOT.rglob("*.py"))
        if (source := path.read_text("utf-8"))
        for each in renderers(source, answers)
        if "." in each.partition("(")[0] or not is_home(path.relative_to(ROOT).as_posix(), each, homes)
    ]
    assert found == []


@pytest.mark.parametrize(
    "planted",
    [
        "def usage_table(result: UsageSummary) -> str: ...",
        "class Again(Answer):\n    def to_dicts(self): ...",
    ],
)
def test_a_second_renderer_is_noticed(planted: str) -> None:
    assert list(renderers(planted, {"UsageSummary"}))


def test_numbers_are_recognized_in_cells() -> None:
    assert agrees("48.3%", 0.483)
    assert not agrees("48.3%", 0.5)
