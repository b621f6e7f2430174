"""Adapters: data that defines an agent's command, model, prompt and logs.

Our adapters are in `agents/`, custom ones in a directory `agents` next to the plan. Four are built in: `nop` does
nothing, `oracle` applies the task's reference solution, `model` sends one request to a model, and `command` runs a
command from the plan.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from steelyard.errors import AdapterError
from steelyard.files import errors_as, parse_toml, read_text
from steelyard.records import Record, problem_text, unknown_field
from steelyard.runner._plan_records import AgentUse, ApiKind, Bounds
from steelyard.sandbox import HOME_FOLDER, WORK_FOLDER
from steelyard.suggestions import nearest

OWN_AGENTS = "agents"
"""Directory next to a plan with custom adapters."""
PLACES = {"work": WORK_FOLDER, "home": HOME_FOLDER, "prompt_file": f"{HOME_FOLDER}/prompt.md"}
"""Placeholders that are resolved inside the sandbox."""
PLACEHOLDERS = frozenset({"prompt", "model", "endpoint", "token", "oracle", *PLACES})
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")
_SHIPPED = Path(__file__).parent / "agents"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


class Adapter(Record, frozen=True, kw_only=True):
    """Definition of an agent."""

    name: str = ""
    """Name in plans: the stem of its file."""
    about: str = ""
    """Short description."""
    install: str | None = None
    """Command that installs the agent."""
    version: tuple[str, ...] = ()
    """Command whose output contains the agent's version."""
    command: tuple[str, ...] = ()
    """Command. `{prompt}` passes the task as an argument, `{prompt_file}` as a file; otherwise it is standard input."""
    speaks: ApiKind | Literal["any"] | None = None
    """API kind of its endpoint; None for an agent without a model."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Environment variables."""
    files: dict[str, str] = msgspec.field(default_factory=dict)
    """Files to create, by a path that starts with `home/` or `work/`."""
    logs: tuple[str, ...] = ()
    """Logs: `stdout`, or patterns below `home/` and `work/`; `**` matches any directories."""
    logs_optional: bool = False
    """Whether logs are optional: unreadable logs are then not reported."""
    limits: Bounds = msgspec.field(default_factory=Bounds)
    """Resource limits."""
    settings: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Arguments for a setting of the plan, with `{value}`; other settings are not supported."""
    options: dict[str, str] = msgspec.field(default_factory=dict)
    """Custom placeholders with defaults, which a plan can override."""

    @property
    def digest(self) -> str:
        """Digest of the fields that affect an execution; documentation and reporting fields are excluded."""
        left_out = ("about", "install", "logs_optional")
        facts = {name: getattr(self, name) for name in self.__struct_fields__ if name not in left_out}
        return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()

    @property
    def needs_calls(self) -> bool:
        """Whether an execution without a model call counts as not started: agents, but not custom commands."""
        return self.speaks not in (None, "any") or self.name == "model"

    def problems(self, use: AgentUse, *, endpoint_kind: ApiKind | None) -> Iterator[str]:
        """Return the errors of a plan's agent entry; `endpoint_kind` is None without an endpoint."""
        if bool(use.command) != (self.name == "command"):
            yield "`command` is only valid for the agent `command`" if use.command else 'missing key: command = ["..."]'
        for name in sorted({name for setting in use.settings for name in setting} - set(self.settings)):
            known = f"supported: {', '.join(self.settings)}" if self.settings else "it supports no settings"
            yield f"{self.name} does not support the setting {name}: {known}"
        for name in sorted(set(use.options) - set(self.options)):
            yield f"unknown option {name!r} of {self.name}: {_known(name, self.options)}"
        if self.speaks is None:
            if use.models:
                yield f"{self.name} does not use a model: remove models"
        elif self.needs_calls and endpoint_kind is None:
            yield f"{self.name} needs an endpoint of kind {self.speaks}: add [endpoints.NAME] to the plan"
        elif self.speaks != "any" and endpoint_kind not in (None, *_SERVED_BY.get(self.speaks, (self.speaks,))):
            yield f"{self.name} needs an endpoint of kind {self.speaks}, not {endpoint_kind}: set endpoint = ..."
        if self.needs_calls and self._names_model and not use.models:
            yield f'{self.name} needs a model: models = ["..."]'

    @property
    def _names_model(self) -> bool:
        texts = (*self.command, *self.env.values(), *self.files.values())
        return self.name == "model" or any("{model}" in text for text in texts)


_SERVED_BY: Mapping[str, tuple[ApiKind, ...]] = {"chat": ("chat", "responses"), "responses": ("chat", "responses")}
"""Servers with one of OpenAI's APIs usually have both, and the metering proxy forwards both."""

BUILT_IN = {
    adapter.name: adapter
    for adapter in (
        Adapter(name="nop", about="does nothing", command=("true",)),
        Adapter(
            name="oracle",
            about="applies the task's reference solution",
            command=("git", "apply", "--whitespace=nowarn", "{oracle}"),
        ),
        Adapter(
            name="model",
            about="sends one request to a model; the response text is the output",
            speaks="any",
            settings=dict.fromkeys(("temperature", "seed", "top_p", "max_tokens", "system"), ()),
        ),
        Adapter(
            name="command",
            about="runs a command from the plan, with ENDPOINT, TOKEN, MODEL and PROMPT_FILE in its environment",
            speaks="any",
            env={"ENDPOINT": "{endpoint}", "TOKEN": "{token}", "MODEL": "{model}", "PROMPT_FILE": "{prompt_file}"},
            logs=("stdout",),
            logs_optional=True,
        ),
    )
}


class Adapters(Mapping[str, Adapter]):
    """Adapters by name. Custom files are read on demand, so an error affects only plans that use the file."""

    def __init__(self, shipped: Mapping[str, Adapter], files: Mapping[str, Path]) -> None:
        self._shipped, self._files = shipped, files
        self._loaded: dict[str, Adapter] = {}

    def __getitem__(self, name: str) -> Adapter:
        path = self._files.get(name)
        if path is None:
            return self._shipped[name]
        if name in self._shipped:
            raise AdapterError(f"the name {name!r} is already in use", where=str(path), hint="rename the file")
        if name not in self._loaded:
            self._loaded[name] = load_adapter(path)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._shipped or name in self._files

    def __iter__(self) -> Iterator[str]:
        return iter({**self._shipped, **self._files})

    def __len__(self) -> int:
        return len(self._shipped.keys() | self._files.keys())


def adapters(folder: Path | None = None) -> Adapters:
    """Return all adapters by name: built-in ones, ours, and those in the plan's directory."""
    own = sorted((folder / OWN_AGENTS).glob("*.toml")) if folder else []
    return Adapters({**BUILT_IN, **_shipped()}, {path.stem: path for path in own})


@cache
def _shipped() -> dict[str, Adapter]:
    return {path.stem: load_adapter(path) for path in sorted(_SHIPPED.glob("*.toml"))}


def load_adapter(path: Path) -> Adapter:
    """Load an adapter from a TOML file; raise AdapterError if it is invalid."""
    with errors_as(AdapterError):
        values = parse_toml(read_text(path), path)
    try:
        adapter = msgspec.convert({**values, "name": path.stem}, Adapter)
    except msgspec.ValidationError as error:
        message, hint = unknown_field(error, Adapter) or (problem_text(error), None)
        raise AdapterError(message, where=str(path), hint=hint) from error
    for message, hint in _mistakes(adapter):
        raise AdapterError(message, where=str(path), hint=hint)
    return adapter


def _mistakes(adapter: Adapter) -> Iterator[tuple[str, str]]:
    if not _NAME.fullmatch(adapter.name):
        yield f"invalid agent name {adapter.name!r}", "use lowercase letters, digits, dots and hyphens"
    if not adapter.command:
        yield "missing command", 'write command = ["program", "{prompt}"]'
    for path in (*adapter.files, *(pattern for pattern in adapter.logs if pattern != "stdout")):
        parts = Path(path).parts
        if len(parts) < 2 or parts[0] not in ("home", "work") or ".." in parts:
            yield f"{path!r} is not below home/ or work/", 'start the path with "home/" or "work/"'
    known = PLACEHOLDERS | set(adapter.options)
    for text in (*adapter.command, *adapter.env.values(), *adapter.files.values()):
        for name in _PLACEHOLDER.findall(text):
            if name not in known:
                yield f"unknown placeholder {{{name}}}", _known(name, known)
    for text in adapter.files.values():
        for name in {"prompt", *PLACES} & set(_PLACEHOLDER.findall(text)):
            yield f"{{{name}}} cannot be used in a file", "use it in command or env"
    for name, arguments in adapter.settings.items():
        if not any("{value}" in argument for argument in arguments):
            yield f"the setting {name} has no {{value}}", f'write {name} = ["--{name}", "{{value}}"]'


def _known(name: str, known: Mapping[str, str] | frozenset[str] | set[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else f"known: {', '.join(sorted(known)) or 'none'}"


def filled(text: str, values: Mapping[str, str]) -> str:
    """Replace the placeholders that have a value; keep other braces.

    >>> filled('{"a": {model}} {b}', {"model": "m"})
    '{"a": m} {b}'
    """
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)
