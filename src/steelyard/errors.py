"""Exceptions of Steelyard. All derive from `SteelyardError`.

SteelyardError                  message, location and hint; exit status and HTTP status
├── UsageError                  invalid command, call or configuration (exit 2)
│   ├── UnknownNameError        unknown name, with the closest known name
│   │   ├── UnknownKeyError     unknown key to group or filter by
│   │   └── UnknownValueError   value that no run has for a key
│   ├── TaskExistsError         task id that is already defined differently
│   ├── ProfileError            invalid profile
│   ├── MappingError            invalid mapping
│   ├── PlanError               invalid plan, with every mistake in it
│   ├── AdapterError            invalid agent adapter
│   ├── PriceTableError         invalid price table
│   ├── StoreError              invalid store address, or a store this version cannot use
│   ├── MemoryLimitError        values that do not fit in memory
│   ├── SandboxUnavailableError no sandbox on this machine
│   └── MissingExtraError       optional dependency that is not installed
├── InputError                  invalid input (exit 1)
│   ├── RecordError             one invalid record, with file and line
│   ├── UnreadableFileError     file that cannot be read
│   │   └── InputLimitError     file beyond a size or nesting limit
│   ├── ContractError           invalid contract
│   ├── CanonExistsError        prompt that already has a canon
│   ├── CanonPromptError        canon that belongs to another prompt
│   ├── CanonVersionError       canon created with other versions
│   └── NoValidInputError       input without a single valid record
├── StoreUnavailableError       store that does not respond (exit 1)
│   └── UnsupportedValueError   value the database cannot store
├── ClusterError                failed Spark job (exit 1)
├── AuthenticationError         missing or invalid token (exit 2)
├── PermissionDeniedError       token without the required scope (exit 2)
├── DeclarationError            invalid declaration of a metric or format (programming error)
├── AbortedError                interrupted from outside, e.g. by Ctrl-C (exit 130)
└── RequestError                HTTP request that fails with its own status
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from steelyard.formatting import file_size
from steelyard.option_names import Surface, option, options_in, spell
from steelyard.suggestions import nearest

MAX_ERROR_CHARS = 200
"""Maximum length of a message from another program or library."""


class SteelyardError(Exception):
    """Base of all errors: a message, a location and a hint."""

    kind = "error"
    exit_code = 1
    http_status = 400
    parts: tuple[SteelyardError, ...] = ()
    """Errors that it summarizes, each with its location and hint."""
    surface: Surface = "python"
    """Where it is shown, which decides the spelling of options in its texts."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(spell(message, "python"))
        self._message, self._where, self._hint = message, where, hint

    @property
    def message(self) -> str:
        """What is wrong."""
        return spell(self._message, self.surface)

    @message.setter
    def message(self, message: str) -> None:
        self._message = message

    @property
    def where(self) -> str | None:
        """The file and line, the option or the record that is wrong."""
        return None if self._where is None else spell(self._where, self.surface)

    @where.setter
    def where(self, where: str | None) -> None:
        self._where = where

    @property
    def hint(self) -> str | None:
        """How to fix it."""
        return None if self._hint is None else spell(self._hint, self.surface)

    @hint.setter
    def hint(self, hint: str | None) -> None:
        self._hint = hint

    @property
    def options(self) -> list[tuple[str, str]]:
        """The options with values that its texts mention."""
        return [pair for text in (self._message, self._where, self._hint) for pair in options_in(text or "")]

    def shown_on(self, surface: Surface) -> SteelyardError:
        """Return the error with its options spelled for a surface."""
        self.surface = surface
        for part in self.parts:
            part.shown_on(surface)
        return self

    def __str__(self) -> str:
        location = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return "\n".join([f"{location}{self.message}{hint}", *map(str, self.parts)])

    def as_dict(self) -> dict[str, object]:
        """Return the object that `--json` prints as "error"."""
        shape: dict[str, object] = {
            "kind": self.kind,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }
        return {**shape, "parts": [part.as_dict() for part in self.parts]} if self.parts else shape


class UsageError(SteelyardError):
    """Invalid command, call or configuration."""

    kind = "usage"
    exit_code = 2


class UnknownNameError(UsageError):
    """Unknown name, with the closest known name as a hint."""

    kind = "unknown_name"
    http_status = 404

    def __init__(self, what: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(known)
        close = nearest(name, names)
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        hint = f"did you mean {close!r}?" if close else f"known: {shown or 'none'}"
        super().__init__(f"unknown {what} {name!r}", where=where, hint=hint)
        self.name = name
        self.nearest = close


class UnknownKeyError(UnknownNameError):
    """Unknown key to group or filter by."""


class UnknownValueError(UnknownNameError):
    """Value that no run has for a key. If no run has the key at all, the hint says how to set it."""

    def __init__(self, key: str, value: str, known: Iterable[str], *, where: str | None = None) -> None:
        super().__init__(key, value, values := list(known), where=where)
        if not values:
            self.message = f"no run has a value for {key}"
            to_map = f'add {key} = "COLUMN" to a mapping'
            is_label = key != "outcome"  # verdicts cannot be set
            self.hint = f"{to_map}, or use {option('set', f'{key}=NAME')} for all runs" if is_label else to_map


class TaskExistsError(UsageError):
    """Task id that is already defined differently. Tasks are immutable, so that their scores stay comparable."""

    kind = "task_exists"
    http_status = 409

    def __init__(self, task: str, *, other: str) -> None:
        hint = "use a new id for the changed task"
        super().__init__(f"a task with this id already exists with {other}", where=task, hint=hint)


class ProfileError(UsageError):
    """Invalid profile."""

    kind = "invalid_profile"


class MappingError(UsageError):
    """Invalid mapping."""

    kind = "invalid_mapping"


class PlanError(UsageError):
    """Invalid plan, with every mistake in it."""

    kind = "invalid_plan"

    def __init__(self, path: str, mistakes: Sequence[SteelyardError]) -> None:
        count = f"{len(mistakes)} error{'' if len(mistakes) == 1 else 's'}"
        super().__init__(f"the plan has {count}; no run was started", where=path)
        self.parts = tuple(mistakes)


class AdapterError(UsageError):
    """Invalid agent adapter."""

    kind = "invalid_adapter"


class StoreError(UsageError):
    """Invalid store address, or a store that this version cannot use."""

    kind = "invalid_store"


class PriceTableError(UsageError):
    """Invalid price table."""

    kind = "invalid_price_table"


class MissingExtraError(UsageError):
    """Optional dependency that is not installed."""

    kind = "missing_extra"

    def __init__(self, library: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} requires {library}", hint=f"pip install 'steelyard[{extra}]'")


class MemoryLimitError(UsageError):
    """Per-run values that do not fit in memory."""

    kind = "memory_limit"

    def __init__(self, runs: int, *, needed: int, free: int) -> None:
        message = (
            f"not enough memory for the per-run values of {runs:,} runs: needs about {file_size(needed)}, "
            f"{file_size(free)} available"
        )
        hint = f"select fewer runs with {option('where')} or fewer {option('metrics')}; measure has no such limit"
        super().__init__(message, hint=hint)


class SandboxUnavailableError(UsageError):
    """No sandbox for untrusted code on this machine."""

    kind = "sandbox_unavailable"

    def __init__(self, reason: str) -> None:
        hint = f"install bubblewrap, or run the code with resource limits only: {option('no_sandbox')}"
        super().__init__(f"no sandbox available for untrusted code: {reason}", hint=hint)
        self.reason = reason


class ClusterError(SteelyardError):
    """Failed Spark job."""

    kind = "cluster_failed"

    def __init__(self, said: str) -> None:
        hint = "see the cluster log"
        super().__init__(f"Spark job failed: {' '.join(said.split())[:MAX_ERROR_CHARS]}", hint=hint)


class AbortedError(SteelyardError):
    """Interrupted from outside, e.g. by Ctrl-C."""

    kind = "interrupted"
    exit_code = 130


class InputError(SteelyardError):
    """Invalid input. Valid records in the same input are still used."""

    kind = "invalid_input"
    http_status = 422


class RecordError(InputError):
    """One rejected record."""

    kind = "invalid_record"

    def __init__(self, reason: str, *, path: str, line: int | None = None, hint: str | None = None) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(reason, where=where, hint=hint)


class UnreadableFileError(InputError):
    """File that cannot be read."""

    kind = "unreadable_file"

    def __init__(self, path: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason, where=path, hint=hint)


NESTED_TOO_DEEPLY = "the values are nested too deeply"
"""Message for JSON beyond its parser's depth, and for TOML and XML beyond `settings.MAX_NESTING`."""


class InputLimitError(UnreadableFileError):
    """File beyond a size, count or nesting limit (`settings.Limit`)."""


class ContractError(InputError):
    """Invalid contract."""

    kind = "invalid_contract"

    def __init__(self, reason: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(reason, where=where, hint=hint)


class CanonExistsError(InputError):
    """Prompt that already has a canon. A canon is never replaced, only retired."""

    kind = "canon_exists"
    http_status = 409

    def __init__(self, prompt: str, *, signature: str) -> None:
        hint = "retire it first: steelyard repeatability canon retire PROMPT"
        super().__init__(f"prompt {prompt!r} already has a canon: {signature[:16]}", hint=hint)


class CanonPromptError(InputError):
    """Canon that belongs to another prompt. Outputs are only compared with a canon for the same prompt."""

    kind = "canon_prompt"
    http_status = 409

    def __init__(self, prompt: str, *, theirs: str, ours: str) -> None:
        hint = "change the id of the contract, or retire the canon"
        message = (
            f"the canon of {prompt!r} was created for another prompt: {_shortened(theirs)}, not {_shortened(ours)}"
        )
        super().__init__(message, hint=hint)


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 80 else f"{flat[:77]}...")


class CanonVersionError(InputError):
    """Canon created with other versions. Outputs are only compared with a canon of the same versions."""

    kind = "canon_versions"
    http_status = 409

    def __init__(self, prompt: str, differing: Iterable[tuple[str, str, str]]) -> None:
        shown = "; ".join(f"{what}: canon {theirs}, outputs {ours}" for what, theirs, ours in differing)
        hint = "use the level and versions of the canon, or retire the canon"
        super().__init__(f"the canon of {prompt!r} was created with different versions: {shown}", hint=hint)


class NoValidInputError(InputError):
    """Input without a single valid record."""

    kind = "no_valid_input"


class StoreUnavailableError(SteelyardError):
    """Store that does not respond, or fails during a request."""

    kind = "store_unavailable"
    http_status = 503

    def __init__(self, address: str, reason: str) -> None:
        hint = next((advice for sign, advice in _STORE_ADVICE.items() if sign in reason), _STORE_SERVER_ADVICE)
        super().__init__(reason, where=address, hint=hint)


class UnsupportedValueError(StoreUnavailableError):
    """Value the database cannot store. Validation should have caught it earlier."""

    kind = "unsupported_value"
    http_status = 422

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.hint = "remove the value: the database cannot store it (the transaction was rolled back)"


class RequestError(SteelyardError):
    """HTTP request that fails with its own status and headers."""

    def __init__(
        self, status: int, kind: str, message: str, *, hint: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.http_status = status
        self.kind = kind
        self.headers = dict(headers or {})


_STORE_SERVER_ADVICE = "check that the server is running and that this user has write access"
_STORE_ADVICE = {
    "is full": "free some space and try again; acknowledged writes are safe",
    "is locked": "another program is using the file; try again when it has finished",
    "readonly": "check that this user has write access to the file and its directory",
    "Read-only": "check that this user has write access to the file and its directory",
    "Permission denied": "check that this user has write access to the file and its directory",
    "unable to open": "check that this user has read and write access to the file and its directory",
    "not a database": "use a file created by steelyard, or a new one",
    "malformed": "the file is damaged; restore it from a backup",
}
"""Hint for each word of the database's message."""


class AuthenticationError(SteelyardError):
    """Missing or invalid token."""

    kind = "not_authenticated"
    exit_code = 2
    http_status = 401

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        asking = "ask the operator of the server for a token (steelyard serve token create)"
        super().__init__(message, where=where, hint=hint or asking)


class PermissionDeniedError(SteelyardError):
    """Token without the required scope."""

    kind = "permission_denied"
    exit_code = 2
    http_status = 403


class DeclarationError(SteelyardError):
    """Invalid declaration of a metric or format, or a plug-in that cannot be loaded."""

    kind = "invalid_declaration"
    http_status = 500


def error_message(error: BaseException) -> str:
    """Return the message of a system or library error: without its path, shortened, never empty.

    >>> error_message(OSError(2, "No such file or directory", "/somewhere")), error_message(MemoryError())
    ('No such file or directory', 'MemoryError')
    """
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if len(said) > MAX_ERROR_CHARS:
        return f"{said[:MAX_ERROR_CHARS]}..."
    return said or type(error).__name__
