"""Build the app of the commands, and run one."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Sequence
from typing import Any

from cyclopts import App, CycloptsError, Parameter

from steelyard import cli, questions
from steelyard.cli._print import console, print_error, print_text, silence_stream
from steelyard.errors import SteelyardError, UnknownNameError
from steelyard.settings import STDIN
from steelyard.version import __version__

HELP = "Statistics for AI coding-agent evaluations."
HELP_FLAGS = ("--help", "-h")

COMPLETION = "--install-completion"
OPTIONAL_VALUES = {"--steps": (re.compile(r"\d*:?\d*"), ":")}
"""Options whose value may be omitted, with the values that they accept and the one that an omitted value means."""
GC_THRESHOLD = 50_000
"""Number of new objects between garbage collections; the imports of a command create tens of thousands."""


def build_app(*, only: str | None = None) -> App:
    """Return the app with every command, or with `only` one, so that no other is imported."""
    module = None if only is None else _module(only)
    modules = _modules() if only is None or module is None else {only: module}
    app = _app(completes=module is None)
    for name, home in modules.items():
        app.command(_command(name, home), name=name)
    return app


def _command(name: str, module: str) -> Any:  # Any: a function or an app
    """Return the command of a module here, or the one derived from a question."""
    if module.startswith(cli.__name__):
        return getattr(importlib.import_module(module), name)
    return cli.command_named(name)


def add_question(app: App, name: str, *, word: str = "", **placement: Any) -> None:  # Any: group and sort key
    """Add the command of a question below another command, such as `arena history`; it is imported when it runs.

    `word` is its name there (default: the rest of the question's name).
    """
    word = word or name.partition(f"{app.name[0]}_")[2].replace("_", "-")
    app.command(
        f"steelyard.cli._question_commands:{name}", name=word, help=questions.question_summary(name), **placement
    )


def outline() -> App:
    """Return the app with the names and summaries of all commands, without importing them."""
    app = _app(completes=True)
    for name, module in _modules().items():
        summary = _summary(module, name) if module.startswith(cli.__name__) else questions.question_summary(name)
        app.command(App(name=name, help=summary))
    return app


def _summary(module: str, name: str) -> str:
    """Return the first line of a command's help: the docstring of its module, or else of its function.

    It is taken from the code, because importing every command takes four times as long.
    """
    spec = importlib.util.find_spec(module)
    loader: Any = spec and spec.loader  # Any: whatever imports Python modules has their code
    code = loader.get_code(module)
    texts = [
        code.co_consts[0],
        *(const.co_consts[0] for const in code.co_consts if getattr(const, "co_name", "") == name),
    ]
    return next(text for text in texts if isinstance(text, str)).partition("\n")[0]


def command_names() -> list[str]:
    """Return the names of the commands."""
    return list(_modules())


def _modules() -> dict[str, str]:
    """Return the module of each command: a file here, or a question."""
    own = [info.name.rstrip("_") for info in pkgutil.iter_modules(cli.__path__) if not info.name.startswith("_")]
    derived = [name for name in questions.question_names() if "_" not in name]  # `run_list` is a command of `run`
    return {name: module for name in sorted({*own, *derived}) if (module := _module(name))}


def _module(name: str) -> str | None:
    """Return the module of a command. It ends in an underscore if a function here has the command's name."""
    if not name.isidentifier() or name.startswith("_"):
        return None
    for own in (name, f"{name}_"):
        if importlib.util.find_spec(f"{cli.__name__}.{own}") is not None:
            return f"{cli.__name__}.{own}"

    return f"steelyard.questions.{name}" if questions.is_question(name) else None


def _app(*, completes: bool) -> App:
    flags = Parameter(negative_bool=(), negative_iterable=())
    app = App(name="steelyard", help=HELP, version=__version__, help_format="plaintext", default_parameter=flags)
    if completes:
        app.register_install_completion_command(name=COMPLETION, help="Install shell completion.")
    return app


def _app_for(tokens: Sequence[str]) -> App:
    """Return the part of the app that the tokens need."""
    return outline() if not tokens or tokens[0] in (*HELP_FLAGS, "--version") else build_app(only=tokens[0])


def _print_help(tokens: Sequence[str]) -> None:
    """Print the help of the command that the tokens start with."""
    app = _app_for(tokens if tokens and _module(tokens[0]) else [])
    words: list[str] = []
    for token in tokens:
        if token.startswith("-"):
            break
        if token not in app:
            if app.default_command is None:
                raise UnknownNameError("command", token, [name for name in app if not name.startswith("-")])
            break
        app = app[token]
        words.append(token)
    print_text(cli.help_text(app, words, width=console().width))


def main(arguments: list[str] | None = None) -> None:
    """Run one command and exit with its status."""
    if sys.stdout is None:  # it was closed before Python began
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 # open until Python ends
    gc.freeze()  # what was imported stays: to look for circles in it again and again takes a tenth of the start
    gc.set_threshold(GC_THRESHOLD)
    gc.enable()
    status = run(sys.argv[1:] if arguments is None else arguments)
    gc.freeze()  # what is left goes with the process: no last look for circles
    sys.exit(status)


def run(tokens: list[str]) -> int:
    """Run one command and return its exit status."""
    as_json, status = "--json" in tokens, 0
    tokens = [f"./{word}" if word == STDIN else word for word in tokens]  # a parser takes a bare dash for an option
    tokens = [value for at, word in enumerate(tokens) for value in (word, *_omitted(word, tokens[at + 1 : at + 2]))]
    if tokens[:1] == ["help"]:
        tokens = [*tokens[1:], "--help"]
    try:
        if tokens == ["--version"]:
            print_text(f"{__version__}\n")
        elif not tokens or any(flag in tokens[: tokens.index("--") if "--" in tokens else None] for flag in HELP_FLAGS):
            _print_help(tokens)
        else:
            status = _app_for(tokens)(tokens, exit_on_error=False, print_error=False, result_action="return_value") or 0
        sys.stdout.flush()  # what cannot be written is an error here, and no complaint when Python ends
    except SteelyardError as error:
        return _failed(error, as_json=as_json)
    except CycloptsError as error:
        return _failed(cli.usage_error(error, tokens), as_json=as_json)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader (head, less) has what it wanted
        silence_stream()
    except OSError as error:
        where = None if error.filename is None else str(error.filename)
        return _failed(SteelyardError(error.strerror or str(error), where=where), as_json=as_json)
    return status


def _omitted(word: str, following: Sequence[str]) -> list[str]:
    """Return the value of an option if what follows it is not one.

    >>> _omitted("--steps", ["log.jsonl"]), _omitted("--steps", ["1:9"]), _omitted("--run", [])
    ([':'], [], [])
    """
    if word not in OPTIONAL_VALUES:
        return []
    accepted, value = OPTIONAL_VALUES[word]
    return [] if following and following[0] and accepted.fullmatch(following[0]) else [value]


def _failed(error: SteelyardError, *, as_json: bool) -> int:
    """Print the error, on stderr alone if stdout cannot be written, and return its exit status."""
    try:
        print_error(error, as_json=as_json)
        sys.stdout.flush()
    except OSError:
        silence_stream()
        if as_json:
            print_error(error, as_json=False)
    return error.exit_code
