"""Laws of every verb: one options class, and the same names and defaults in it, in Python and on the command line."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cyclopts import App

import steelyard as sy
from steelyard import questions
from steelyard.cli import build_app, run
from steelyard.errors import NoValidInputError, SteelyardError, UnknownNameError, UsageError
from steelyard.questions import REQUIRED, doc
from steelyard.questions.read import RunReading

ASKED_INSTEAD = {"show_steps"}
"""Questions that the command of another one asks."""


def _verbs() -> dict[str, type[Any]]:
    """Every question with an input, with its options class. `steelyard.formats` is a package, not a question."""
    found: dict[str, type[Any]] = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(questions.__path__)):
        work = getattr(importlib.import_module(f"steelyard.questions.{module}"), module, None)
        parameters = inspect.signature(work).parameters if callable(work) else {}
        declaration = getattr(work, "question", None)
        has_input = declaration is None or declaration.takes != "nothing"
        if declaration is not None and declaration.name in ASKED_INSTEAD:
            continue
        if "options" in parameters and not module.startswith("_") and has_input:
            options = parameters["options"].annotation
            for name in (module, options):  # its class is as public as the verb
                assert name in sy.__all__, f"{name} is not in src/steelyard/__init__.pyi: run make docs"
            found[module] = getattr(sy, options)
    return found


VERBS = _verbs()
OVER_PLANS = ("run", "run_list", "run_show")
OVER_RUNS = [name for name in VERBS if name not in ("repeatability", "speedup", *OVER_PLANS)]
WITH_TABLES = [name for name in VERBS if name != "run"]
SURFACE = {"json", "csv", "no_csv_escape", "out", "figure", "allow_rejected", "quiet"}
"""How a command prints and ends: no options of the verb."""
COMMAND_ONLY = {
    "measure": {"all"},
    "judges": {"all"},
    "show": {"all", "steps", "step"},
    "gate": {"summary"},
    "repeatability": {"all"},
    "run": {"list", "as"},
}
"""What else only a command takes: how much it shows and where."""
APP = build_app()


def declared(options: type[Any]) -> dict[str, object]:
    """The fields of an options class with their defaults."""
    return {name: option.default for name, option in options.declared.items()}


def in_python(verb: str) -> dict[str, object]:
    """The keywords of the Python function with their defaults."""
    _, *others, whole = inspect.signature(getattr(sy, verb)).parameters.values()
    assert whole.name == "options"
    missing = REQUIRED
    return {one.name: missing if one.default is inspect.Parameter.empty else one.default for one in others}


def command_of(app: App, verb: str) -> App:
    """The command of a verb: `run list` of `run_list`."""
    for word in verb.split("_"):
        app = app[word]
    return app


def on_command_line(app: App, verb: str) -> dict[str, object]:
    """The options of the command with their defaults, those of printing left out; positional arguments too."""
    found: dict[str, object] = {}
    for argument in command_of(app, verb).assemble_argument_collection(parse_docstring=False):
        name = argument.name.removeprefix("--").replace("-", "_").lower()
        if (
            name != "*"
            and argument.parameter.parse is not False
            and name not in (SURFACE - declared(VERBS[verb]).keys()) | COMMAND_ONLY.get(verb, set())
        ):
            missing = argument.field_info.default is argument.field_info.empty
            found[name] = REQUIRED if missing else argument.field_info.default
    return found


def breaches(verb: str, options: type[Any], app: App = APP) -> Iterator[str]:
    """Where the three differ."""
    fields = declared(options)
    if in_python(verb) != fields:
        yield f"the Python function takes {in_python(verb)}"
    typed = on_command_line(app, verb)
    inputs = [name for name in typed if name in ("files", "paths", "file", "inputs", "plan")]
    typed = {name: default for name, default in typed.items() if name not in inputs}
    if len(inputs) != 1:
        yield f"the command takes its input as {inputs}"
    if set(typed) != set(fields):
        yield f"the command has {sorted(set(typed) ^ set(fields))} more or less"
    for name in set(typed) & set(fields):
        if typed[name] != fields[name]:
            yield f"the command's default of {name} is {typed[name]!r}"


@pytest.mark.parametrize("verb", VERBS)
def test_options_python_and_command_line_say_the_same(verb: str) -> None:
    assert not list(breaches(verb, VERBS[verb]))


def test_the_law_is_of_every_verb_that_python_has() -> None:
    named = {
        re.sub(r"(?<!^)(?=[A-Z])", "_", name.removesuffix("Options")).lower()
        for name in dir(sy)
        if name.endswith("Options")
    }
    named.remove("show_steps")  # `show --steps`
    assert named == set(VERBS) >= {"read", "measure", "compare", "rank", "gate", "judges", "report", "explain"}
    assert all(getattr(sy, verb).__name__ == verb for verb in VERBS)


OTHERWISE = {
    "arena": "sy.open_arena",
    "demo": "sy.demo_runs",
    "mapping": "sy.suggest_mapping",
    "doctor": "the installation",
    **dict.fromkeys(("formats", "metrics", "prices", "profiles", "schema"), "what is there to be used"),
    "serve": "a server",
}
"""Commands that Python has otherwise, or that are about no runs."""


def test_every_command_over_runs_is_a_function_of_the_same_name() -> None:
    commands = {name for name in APP if not name.startswith("-")}
    assert {name for name in commands if not callable(getattr(sy, name, None))} == set(OTHERWISE)


def test_the_law_can_fail() -> None:
    class Longer(sy.JudgesOptions):
        weight_by: str = doc("Unit.", default="runs")

    class Surer(sy.JudgesOptions):
        confidence: float = doc("Confidence level.", default=0.99)

    assert [told[:19] for told in breaches("judges", Longer)] == ["the Python function", "the command has ['w"]
    assert [told[-29:] for told in breaches("judges", Surer)][1:] == ["default of confidence is 0.95"]


@pytest.mark.parametrize("verb", OVER_RUNS)
def test_runs_are_chosen_with_the_same_words(verb: str) -> None:
    assert {"set", "where", "since", "until"} <= set(declared(VERBS[verb]))


@pytest.mark.parametrize("verb", OVER_RUNS)
def test_the_prices_asked_for_are_those_that_runs_are_read_with(verb: str) -> None:
    required = {name: "x" for name, default in declared(VERBS[verb]).items() if default is REQUIRED}
    if "prices" in declared(VERBS[verb]):
        assert VERBS[verb](**required, prices="spec").reading().prices == "spec"


@pytest.mark.parametrize("verb", WITH_TABLES)
def test_every_result_with_tables_comes_out_in_the_same_ways(verb: str) -> None:
    names = {argument.name for argument in command_of(APP, verb).assemble_argument_collection(parse_docstring=False)}
    assert {"--json", "--csv", "--out"} <= names


@pytest.mark.parametrize("verb", VERBS)
def test_every_field_has_its_sentence_in_help_and_on_the_command_line(verb: str) -> None:
    sentences = {name: option.text for name, option in VERBS[verb].declared.items()}
    assert all(sentence.endswith((".", "...")) for sentence in sentences.values())
    assert all(f"{name}: {sentence}" in getattr(sy, verb).__doc__ for name, sentence in sentences.items())
    helps = {
        argument.name: argument.parameter.help
        for argument in command_of(APP, verb).assemble_argument_collection(parse_docstring=False)
    }
    for name, option in VERBS[verb].declared.items():
        if not option.positional:
            assert helps[f"--{name.replace('_', '-')}"] == sentences[name]


def _commands(app: App, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in app:
        if not name.startswith("-"):
            yield from _commands(app[name], (*words, name))
    if words and app.default_command is not None:
        yield words, app


@pytest.mark.parametrize(("words", "app"), [pytest.param(*each, id=" ".join(each[0])) for each in _commands(APP)])
def test_every_command_shows_an_example_of_itself(words: tuple[str, ...], app: App) -> None:
    assert f"Example: steelyard {' '.join(words)}" in (app.default_command.__doc__ or "")


def test_options_can_be_handed_over_whole_but_not_beside_single_ones() -> None:
    runs = list(sy.demo_runs())
    options = sy.MeasureOptions(by=["tier"], confidence=0.9, interval="auto")
    whole = sy.measure(runs, options=options)
    assert whole.to_dict() == sy.measure(runs, by=["tier"], confidence=0.9, interval="auto").to_dict()
    with pytest.raises(UsageError, match="not both"):
        sy.measure(runs, options=options, by=["tier"])  # type: ignore[call-overload]


def test_an_unknown_keyword_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"option of measure.*confidense") as told:
        sy.measure(sy.demo_runs(), confidense=0.9)
    assert told.value.nearest == "confidence"
    with pytest.raises(UsageError, match="missing option rule"):
        sy.gate(sy.demo_runs())
    with pytest.raises(UsageError, match="no candidate to compare"):  # files could be the sides instead
        sy.compare(sy.demo_runs(), baseline="tier=T0")


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        (["measure", "runs.jsonl", "--level", "0.9"], "--level"),
        (["rank", "runs.jsonl", "--on", "pass_rate"], "--on"),
        (["sources"], "sources"),
    ],
)
def test_unknown_words_get_the_ordinary_message(
    words: list[str], unknown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    shown = capsys.readouterr().err.splitlines()[0].lower()
    assert shown.startswith("steelyard: unknown")
    assert unknown in shown


def test_a_flag_of_today_is_not_taken_for_the_option_of_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = str(Path(__file__).parent / "samples" / "repeatability" / "clamp_experiment.json")
    for words in (["--csv", experiment], [experiment, "--csv"], [experiment, "--csv", "--quiet"]):
        assert run(["repeatability", *words, "--no-repair"]) == 0
        assert capsys.readouterr().out.startswith("prompt,")


def _runs() -> list[dict[str, Any]]:
    day = "2026-01-31"
    times = [f"{day}T00:00:00Z", f"{day}T12:00:00Z", f"{day}T23:59:59.999999Z", "2026-02-01T00:00:00Z", None]
    keys = [("a", "T0"), ("a", "T1"), ("b", "T0"), ("b", "T1"), (None, "T0")]
    return [
        {"id": f"r{place}", "task": "t", "tier": tier, "passed": True}
        | ({"agent": agent} if agent else {})
        | ({"started_at": time} if time else {})
        for place, ((agent, tier), time) in enumerate(zip(keys, times, strict=True))
    ]


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ({}, 5),
        ({"where": "agent=a"}, 2),
        ({"where": "agent!=a"}, 3),  # nothing says that the run without an agent is a's
        ({"where": ["agent=a", "tier!=T0"]}, 1),
        ({"where": {"agent": "b", "tier": "T1"}}, 1),
        ({"where": "agent=b,tier=T1"}, 1),
        ({"until": "2026-01-31"}, 3),  # the whole day
        ({"until": "2026-01-31T12:00:00Z"}, 1),  # before noon
        ({"since": "2026-02-01"}, 1),
        ({"since": "2026-01-31", "until": "2026-01-31", "where": "agent=b"}, 1),
    ],
)
def test_the_same_runs_are_chosen_everywhere(chosen: dict[str, Any], count: int, tmp_path: Path) -> None:
    records = _runs()
    assert sy.read(records, **chosen).n == count
    assert sy.read(sy.read(records), **chosen).n == count
    assert sy.measure(records, **chosen).n == count
    assert sy.explain(records, "pass_rate", by=["tier"], **chosen).n == count
    file = tmp_path / "runs.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    assert len(list(RunReading([file], options=sy.ReadOptions(**chosen)))) == count


@pytest.mark.parametrize("verb", ["read", "measure", "judges"])
def test_a_value_that_no_run_has_is_answered_with_the_nearest(verb: str) -> None:
    with pytest.raises(UnknownNameError) as told:
        getattr(sy, verb)(sy.demo_runs(), where="tier=T9")
    assert told.value.hint is not None
    assert told.value.hint.startswith("known: T0, T1, ")
    with pytest.raises(UsageError, match="together"):
        getattr(sy, verb)(sy.demo_runs(), where="tier=T0,tier!=T0")
    left_out = getattr(sy, verb)(sy.demo_runs(), where="tier!=T9")
    assert "where_unmatched" in [finding.code for finding in left_out.findings]


def test_limits_of_time_that_leave_no_run_are_an_error() -> None:
    for verb in (sy.measure, sy.judges):
        with pytest.raises(NoValidInputError, match="outside the requested time range"):
            verb(_runs(), since="2027-01-01")  # type: ignore[operator]
    with pytest.raises(UsageError, match="until is before since"):
        sy.measure(_runs(), since="2026-02-02", until="2026-02-01")


@pytest.mark.parametrize("ending", [".json", ".csv", ".parquet"])
@pytest.mark.parametrize("verb", ["measure", "rank", "judges"])
def test_a_result_is_written_as_the_ending_says(verb: str, ending: str, tmp_path: Path) -> None:
    file, out = tmp_path / "runs.jsonl", tmp_path / f"result{ending}"
    assert run(["demo", "--write", str(file)]) == 0
    words = [verb, str(file), "--quiet", *(["--by", "tier"] if verb != "judges" else [])]
    assert run([*words, "--out", str(out)]) == 0
    assert out.stat().st_size > 0
    assert run([*words, "--out", str(tmp_path / "result.txt")]) == 2


def test_a_gate_is_written_as_markdown_too(tmp_path: Path) -> None:
    file, out = tmp_path / "runs.jsonl", tmp_path / "gate.md"
    assert run(["demo", "--write", str(file)]) == 0
    rule = ["--rule", "pass_rate >= -1"]
    assert run(["gate", str(file), "--baseline", str(file), *rule, "--out", str(out), "--quiet"]) == 0
    assert "Steelyard gate: passed" in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("verb", "option"),
    [(verb, name) for verb in VERBS for name in ("unscored", "weight_by") if name in in_python(verb)],
)
def test_a_word_that_an_option_does_not_take_is_refused_before_anything_is_read(verb: str, option: str) -> None:
    needed = {name: "x" for name, default in in_python(verb).items() if default is REQUIRED}
    for call in (
        lambda: getattr(sy, verb)("nowhere", **needed, **{option: "sometimes"}),
        lambda: getattr(sy, verb)("nowhere", options=VERBS[verb](**needed, **{option: "sometimes"})),
    ):
        with pytest.raises(UsageError, match=f"unknown value 'sometimes' for {option}.*one of: "):
            call()


@pytest.mark.parametrize("verb", VERBS)
def test_one_text_stands_for_several_names_as_on_the_command_line(verb: str) -> None:
    kinds = {name: option.annotation for name, option in VERBS[verb].declared.items()}
    required = {name: "x" for name, default in declared(VERBS[verb]).items() if default is REQUIRED}
    for name in (name for name, kind in kinds.items() if kind in ("Names", "Texts")):
        made = VERBS[verb](**{**required, name: "tier, agent"})
        assert getattr(made, name) == (("tier", "agent") if kinds[name] == "Names" else ("tier, agent",))


def test_a_metric_may_be_named_alone_in_python() -> None:
    runs = [{"task": f"t{n}", "agent": "ab"[n % 2], "passed": n % 3 == 0} for n in range(6)]
    alone, listed = (sy.measure(runs, by="agent", metrics=metrics) for metrics in ("pass_rate", ["pass_rate"]))
    assert alone.to_dict() == listed.to_dict()
    assert list(alone.groups[0].metrics) == ["pass_rate"]


RUNS = [{"task": "t", "agent": "a", "passed": True, "started_at": "2026-01-02T03:04:05Z"}]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: sy.measure(RUNS, since="someday"), "since 'someday' is not a date"),
        (lambda: sy.usage(RUNS, budget=-1), "budget must be a non-negative amount in USD (got -1) (budget=50)"),
        (
            lambda: sy.compare(RUNS, baseline="agent=a", candidate=[]),
            "no candidate to compare (candidate='agent=NAME,model=NAME')",
        ),
        (lambda: sy.rank(RUNS, by=["agent"], min_task_coverage=2), "min_task_coverage must be between 0 and 1 (got 2"),
        (lambda: sy.gate(RUNS, rule="pass_rate >= baseline"), "needs a baseline (baseline='main.jsonl')"),
        (lambda: sy.matrix(RUNS, by=["task"]), "(by='agent,model')"),
        (lambda: sy.explain(RUNS, metric="pass_rate", run="x", by=["agent"]), "run and by cannot be combined"),
        (lambda: sy.measure(RUNS, since="2027-01-01"), "(check since and until)"),
    ],
    ids=["since", "budget", "compare", "min_task_coverage", "baseline", "by", "exclude", "until"],
)
def test_an_error_of_a_call_names_keywords_and_no_options_of_the_command_line(
    call: Callable[[], object], told: str
) -> None:
    with pytest.raises(SteelyardError) as raised:
        call()
    assert told in str(raised.value)
    assert "--" not in str(raised.value)


def test_an_error_of_a_command_names_its_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text('{"task": "t"}\n', "utf-8")
    assert run(["measure", str(path), "--since", "someday"]) == 2
    assert "--since 'someday' is not a date" in capsys.readouterr().err
