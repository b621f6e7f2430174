"""Commands derived from the declarations of questions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from cyclopts import Parameter

from steelyard.cli._options import OnePath, PathOrStore, PathsOrStores, StoreOption, option_parameter, typed_options
from steelyard.cli._output import OUTPUT, OUTPUTS, Output, print_written, save_result
from steelyard.cli._print import console, print_findings, print_pieces, print_text, progress_bar
from steelyard.errors import UsageError
from steelyard.pages import check_file, csv_text, writing
from steelyard.plain_text import clean, visible_json
from steelyard.questions import Option, Question, command_text, is_question, question_named, reporting
from steelyard.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from steelyard.questions import Answer, Progress

TypedOption = tuple[Option, Any]  # Any: a type
"""An option with its type on the command line."""


class Variants:
    """A question and those that its command asks instead, by the parameter that selects them.

    With a task, `arena leaderboard` asks another question than without one, and so does `show` with steps.
    """

    def __init__(self, question: Question) -> None:
        self._question = question
        self._variants = {selector: question_named(name) for selector, name in question.variants.items()}
        self.questions = (question, *self._variants.values())

    def options(self) -> list[TypedOption]:
        """Return the options of all questions; most have no defaults, so that stated ones are known."""
        merged: dict[str, TypedOption] = {}
        for selector, variant in self._variants.items():
            if selector not in variant.options.declared:
                summary = variant.help.partition("\n")[0]
                flag = Option(
                    selector, "bool", summary, default=False, short="", local=False, positional=False, flag=""
                )
                merged[selector] = (flag, bool)
        for question in (*self._variants.values(), self._question):
            for declared, kind in typed_options(question.options):
                name = declared.name
                is_place = declared.positional and _is_place(question, name)
                if self._is_kept(name):
                    merged[name] = (self._question.options.declared[name], kind)
                    continue
                optional = declared._replace(text=self._help(name), default=None, positional=is_place)
                merged.setdefault(name, (optional, kind | None))
        return list(merged.values())

    def choose(self, given: Mapping[str, Any]) -> tuple[Question, dict[str, Any]]:  # Any: values of options
        """Return the question that the stated options select, and its options; reject those of other questions."""
        stated = {name: value for name, value in given.items() if self._is_stated(name, value)}
        selector = next((name for name in self._variants if name in stated), None)
        question = self._question if selector is None else self._variants[selector]
        options: dict[str, Any] = {}  # Any: as above
        for name, value in stated.items():
            declared = question.options.declared.get(name)
            if declared is not None:
                options[name] = _single(name, value) if declared.annotation == "str" else value
            elif selector is None:
                needed, label = self._labels(name), self._label(name)
                raise UsageError(f"{label} requires {needed}", hint=f"add {needed} or remove {label}")
            elif name != selector:
                label = self._label(name)
                message = f"{label} cannot be combined with {self._label(selector)}"
                raise UsageError(message, hint=f"remove {label}")
        for name, declared in question.options.declared.items():
            if declared.is_required and name not in options:
                others = " or ".join(map(self._label, self._variants))
                raise UsageError(f"missing {self._label(name)} or {others}", hint=f"add {self._label(name)}")
        return question, options

    def _is_kept(self, name: str) -> bool:
        """Return whether an option is as the main question declares it: those over runs have the same defaults."""
        return self._question.takes != "store" and name in self._question.options.declared

    def _is_stated(self, name: str, value: Any) -> bool:  # Any: a value of the option
        if self._is_kept(name):
            return bool(value != self._question.options.declared[name].default)
        return not (value is None or value is False or value == ())

    def _help(self, name: str) -> str:
        """Return the help of an option, with the parameters that it requires."""
        if name in self._question.options.declared:
            is_alone = not any(name in variant.options.declared for variant in self._variants.values())
            is_alone = is_alone and not _is_place(self._question, name)
            text = _text(self._question, name)
            return f"Without {self._label(next(iter(self._variants)))}: {_lower(text)}" if is_alone else text
        own = {selector: variant for selector, variant in self._variants.items() if name in variant.options.declared}
        texts = {_text(variant, name): None for variant in own.values()}
        if len(texts) == 1 and name in own:  # the parameter that selects the question
            return next(iter(texts))
        if len(texts) == 1:
            return f"With {self._labels(name)}: {_lower(next(iter(texts)))}"
        others = {selector: variant for selector, variant in own.items() if selector != name}
        with_others = [f"With {self._label(key)}: {_lower(_text(variant, name))}" for key, variant in others.items()]
        return " ".join([*([_text(own[name], name)] if name in own else []), *with_others])

    def _labels(self, name: str) -> str:
        """Return the parameters that select the questions with an option."""
        own = [selector for selector, variant in self._variants.items() if name in variant.options.declared]
        return " or ".join(map(self._label, own))

    def _label(self, name: str) -> str:
        return name.upper() if any(_is_place(question, name) for question in self.questions) else _flag(name)


def _is_place(question: Question, name: str) -> bool:
    """Return whether an option is an argument without a flag in the question's command."""
    words = question.command.split()
    part = f"{{{name}}}"
    return part in words and not words[words.index(part) - 1].startswith("--")


def _text(question: Question, name: str) -> str:
    """Return the help of an option, with its default."""
    declared = question.options.declared[name]
    if declared.default in (None, ()) or declared.is_required or "default:" in declared.text:
        return declared.text
    default = ",".join(declared.default) if isinstance(declared.default, tuple) else str(declared.default)
    return f"{declared.text.removesuffix('.')} (default: {default})."


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _lower(text: str) -> str:
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]  # an abbreviation stays


def _single(name: str, value: Any) -> Any:  # Any: as above
    """Return the only value of an option that other questions repeat."""
    if not isinstance(value, tuple):
        return value
    if len(value) > 1:
        raise UsageError(f"{_flag(name)} can be given only once", hint=f"use one of them: {_flag(name)} {value[0]}")
    return value[0]


INPUT_NAMES = {"files": "files", "file": "file", "logs": "paths"}


def __getattr__(name: str) -> Callable[..., int]:
    """Return the command of a question: cyclopts imports commands by module and attribute."""
    if not is_question(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return command_named(name)


def command_named(name: str) -> Callable[..., int]:
    """Return the command of a question: its input, its options and the options of output."""
    question = question_named(name)
    variants = Variants(question)
    parameters = _parameters(question, variants)
    places = [each.name for each in parameters if each.kind is inspect.Parameter.POSITIONAL_ONLY]

    def command(
        *given: Any,  # Any: `__signature__` has the types
        output: Output = OUTPUT,
        all_parts: bool = False,
        summary: Path | None = None,
        **options: Any,  # Any: as above
    ) -> int:
        if question.file and not (output.json or output.csv or output.out):
            output = replace(output, out=Path(question.file))
        source = options.pop("store", DEFAULT_STORE) if question.has_store_option else None
        is_reading = question.takes != "nothing" and not question.has_store_option
        if is_reading:
            given = given[-1:] + given[:-1] if question.input_last else given
            source, given = (given or [None])[0] or None, given[1:]
        asked = question
        if question.variants:
            asked, options = variants.choose({**dict(zip(places[is_reading:], given, strict=False)), **options})
            given = ()
        output.check_answer(asked.answer)
        if summary is not None:
            check_file(summary)
        with _progress(asked, shown=not output.quiet) as progress, reporting(progress):
            answer = asked.ask(source, asked.options(*given, **options))
        if asked.is_stream:
            return _deliver_stream(answer, output)
        status = answer.exit_status or output.status(answer.rejected_count, useless=answer.is_empty)
        answer = answer.ended(status)
        if summary is not None:
            with writing(summary), summary.open("a", encoding="utf-8") as file:
                file.write(answer.markdown())
        deliver(answer, output, everything=all_parts)
        if not output.quiet:
            print_findings(answer.findings, whole_off_terminal=question.scope is not None)
        return status

    signature = inspect.Signature(parameters)
    command.__name__ = question.command.rpartition(" ")[2]
    examples = dict.fromkeys(line for each in variants.questions for line in _examples(each))
    command.__doc__ = "\n".join([f"{question.help}\n", *examples])
    command.__signature__ = signature  # type: ignore[attr-defined] # cyclopts reads it from there
    command.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    return command


def _progress(question: Question, *, shown: bool) -> AbstractContextManager[Progress | None]:
    """Return what shows the progress: a bar that counts records, or a line per step of changing a store."""
    if question.takes == "address":
        return nullcontext(_print_step if shown else None)
    if question.sends:
        return progress_bar(shown=shown, doing="submitting", noun=question.sends)
    return progress_bar(shown=shown and not question.has_store_option, doing="reading", noun="runs")


def _print_step(step: str, _count: int) -> None:
    console(stderr=True).print(clean(step))


def _parameters(question: Question, variants: Variants) -> list[inspect.Parameter]:
    needed, named = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.KEYWORD_ONLY
    parameters = []
    if question.has_store_option:
        parameters.append(inspect.Parameter("store", named, annotation=StoreOption, default=DEFAULT_STORE))
    elif question.takes != "nothing":
        kind: Any = PathOrStore if question.takes == "file" else PathsOrStores  # Any: types
        kind = kind if question.needs_input else kind | None
        hint: Any = Annotated[kind, Parameter(help=question.input_help)]  # Any: as above
        default = inspect.Parameter.empty if question.needs_input else None
        parameters.append(inspect.Parameter(INPUT_NAMES[question.takes], needed, annotation=hint, default=default))
    options = variants.options() if question.variants else typed_options(question.options)
    for option, kind in sorted(options, key=lambda each: not each[0].positional):
        hint = option_parameter(option, kind)
        parameters.append(
            inspect.Parameter(
                option.name, needed if option.positional else named, annotation=hint, default=option.default
            )
        )
    if question.all_parts:
        shown = Annotated[bool, Parameter(name="--all", help=question.all_parts, negative="")]
        parameters.append(inspect.Parameter("all_parts", named, annotation=shown, default=False))
    if question.appends_summary:
        file = Annotated[OnePath | None, Parameter(help="Append a Markdown summary to this file.")]
        parameters.append(inspect.Parameter("summary", named, annotation=file, default=None))
    output = OUTPUTS[question.is_drawn, "rejected_count" in question.answer.__struct_fields__]
    parameters.append(inspect.Parameter("output", named, annotation=type(output), default=output))
    if question.input_last:
        parameters.sort(key=lambda parameter: parameter.name in INPUT_NAMES.values())
    return sorted(parameters, key=lambda parameter: parameter.kind)


def _examples(question: Question) -> list[str]:
    """Return the examples as command lines."""
    lines = []
    for example in question.examples:
        given = dict(example)
        source = given.pop("", "runs.jsonl" if question.takes in ("files", "file") else "")
        command = [word.format_map(given) for word in question.command.split()]
        given = {name: value for name, value in given.items() if f"{{{name}}}" not in question.command}
        places = [name for name, option in question.options.declared.items() if option.positional]
        others = [given.pop(name, "") for name in places]
        sources = source if isinstance(source, tuple) else (source,)
        words = [str(each) for each in ((*others, *sources) if question.input_last else (*sources, *others)) if each]
        flags = {name: option.flag for name, option in question.options.declared.items() if option.flag}
        given = {flags.get(name, name): value for name, value in given.items()}
        lines.append(f"Example: {command_text(command, words, given)}")
    return lines


def _deliver_stream(answers: Iterator[Answer], output: Output) -> int:
    """Deliver answers as they come: JSON as one line each, CSV with one header, and the file again each time."""
    status = 0
    for number, answer in enumerate(answers):
        status, text = answer.exit_status, ""
        if output.json:
            text = visible_json(msgspec.json.encode(answer.to_dict()).decode()) + "\n"
        elif output.csv:
            text = csv_text(answer.to_dicts(), raw=output.no_csv_escape)
            text = text.partition("\n")[2] if number else text
        if output.json or output.csv:
            save_result(answer, output.figure_name, output.out, no_csv_escape=output.no_csv_escape)
            print_text(text)
        elif not (number and answer.is_idle):
            deliver(answer, output)
        if not output.quiet:
            print_findings(answer.findings, whole_off_terminal=True)
        sys.stdout.flush()
    return status


def deliver(answer: Answer, output: Output, *, everything: bool = False) -> None:
    """Write the file, and print JSON, CSV or the page; next to a file, only the sentences of the page."""
    save_result(answer, output.figure_name, output.out, no_csv_escape=output.no_csv_escape)
    if output.json:
        print_pieces(answer.json_pieces())
    elif output.csv:
        print_text(csv_text(answer.to_dicts(), raw=output.no_csv_escape))
    elif output.out is None:
        console().print_page(answer.page(), everything=everything)
    else:
        page = answer.page()
        if everything:
            console().print_page(page, everything=True)
        print_written(output.out, () if everything else filter(None, (page.answer, *page.notes)))
