"""One command for several questions: with a task, `arena leaderboard` asks another question than without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.cli._typed import typed_options
from steelyard.errors import UsageError
from steelyard.questions import Option, Question, question_named

Typed = tuple[Option, Any]  # Any: a type
"""An option with its type on the command line."""


class Variants:
    """A question and those that its command asks instead, by the parameter that selects them."""

    def __init__(self, question: Question) -> None:
        self._question = question
        self._variants = {selector: question_named(name) for selector, name in question.variants.items()}
        self.questions = (question, *self._variants.values())

    def options(self) -> list[Typed]:
        """Return the options of all questions. They have no defaults, so that stated ones are known."""
        merged: dict[str, Typed] = {}
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
                optional = declared._replace(text=self._help(name), default=None, positional=is_place)
                merged.setdefault(name, (optional, kind | None))
        return list(merged.values())

    def choose(self, given: Mapping[str, Any]) -> tuple[Question, dict[str, Any]]:  # Any: values of options
        """Return the question that the stated options select, and its options; reject those of other questions."""
        stated = {name: value for name, value in given.items() if not (value is None or value is False or value == ())}
        selector = next((name for name in self._variants if name in stated), None)
        question = self._question if selector is None else self._variants[selector]
        options: dict[str, Any] = {}  # Any: as above
        for name, value in stated.items():
            declared = question.options.declared.get(name)
            if declared is not None:
                options[name] = _single(name, value) if declared.annotation == "str" else value
            elif selector is None:
                needed = self._labels(name)
                raise UsageError(f"{_flag(name)} requires {needed}", hint=f"add {needed} or remove {_flag(name)}")
            elif name != selector:
                message = f"{_flag(name)} cannot be combined with {self._label(selector)}"
                raise UsageError(message, hint=f"remove {_flag(name)}")
        return question, options

    def _help(self, name: str) -> str:
        """Return the help of an option, with the parameters that it requires."""
        if name in self._question.options.declared:
            is_alone = not any(name in variant.options.declared for variant in self._variants.values())
            text = _text(self._question, name)
            return f"Without {self._label(next(iter(self._variants)))}: {_lower(text)}" if is_alone else text
        own = {selector: variant for selector, variant in self._variants.items() if name in variant.options.declared}
        texts = {_text(variant, name): None for variant in own.values()}
        if len(own) == 1 and name in own:  # the parameter that selects the question
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

    def _label(self, selector: str) -> str:
        return selector.upper() if _is_place(self._variants[selector], selector) else _flag(selector)


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
    return text[:1].lower() + text[1:]


def _single(name: str, value: Any) -> Any:  # Any: as above
    """Return the only value of an option that other questions repeat."""
    if not isinstance(value, tuple):
        return value
    if len(value) > 1:
        raise UsageError(f"{_flag(name)} can be given once", hint=f"name one: {_flag(name)} {value[0]}")
    return value[0]
