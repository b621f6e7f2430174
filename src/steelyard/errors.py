"""Every error Steelyard raises on purpose.

SteelyardError                 what, where, what to do; exit code and HTTP status
├── UsageError                 the call is wrong (exit 2)
│   ├── UnknownNameError            a name that is not known, answered with the nearest one
│   │   ├── UnknownKeyError         a key that no run can be grouped or chosen by
│   │   └── UnknownValueError       a value that no run has in a key
│   ├── TaskExistsError             a task whose id another definition has
│   ├── ProfileError             a profile file that cannot be used
│   ├── MappingError             a mapping that cannot be used
│   ├── PlanError                a plan that cannot be run, with every mistake in it
│   ├── AdapterError             a file that describes an agent and cannot be used
│   ├── PriceTableError           a price book that cannot be used
│   └── StoreError               a store address or a store that cannot be used
├── InputError                   the input is wrong (exit 1)
│   ├── RecordError              one record, with file and line
│   ├── UnreadableFileError         a whole file
│   │   └── InputLimitError          one that is larger, holds more or is nested deeper than is read
│   ├── ContractError            a contract that cannot be used
│   ├── CanonExistsError            a prompt whose canon is set already
│   ├── CanonPromptError            a canon that was set for another question than the one that is asked now
│   ├── CanonVersionError          a canon made under other versions than the outputs it is compared with
│   └── NoValidInputError          nothing of the input could be used
├── StoreUnavailableError           the store did not answer or broke off (exit 1)
│   └── UnsupportedValueError          the store takes no such value
├── ClusterError              work that a cluster was given and broke off (exit 1)
├── AuthenticationError           a server does not know who asks: no token, or one that does not hold (exit 2)
├── PermissionDeniedError                 the token does not allow what was asked (exit 2)
├── DeclarationError             a metric or format that contradicts itself or the catalog (a programming error)
├── AbortedError                the work was broken off from outside, as by Ctrl-C (exit 130)
├── RequestError             a request that a server does not answer, with its own HTTP status
├── SandboxUnavailableError                nothing on this machine can isolate code that is not trusted (exit 2)
└── MissingExtraError               an optional library is not installed (exit 2)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from steelyard.formatting import file_size

MAX_ERROR_CHARS = 200
"""Characters of another program's or a library's message that an error shows."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like `name`; None when nothing is close, as nothing twice as long is to two letters.

    >>> nearest("cost_of_pas", ["cost_usd", "cost_of_pass"])
    'cost_of_pass'
    >>> nearest("ts", ["task"])
    """
    possible = (each for each in known if len(name) > 2 or len(each) < 2 * len(name))
    close = get_close_matches(name, sorted(possible), n=1, cutoff=0.5)
    return close[0] if close else None


class SteelyardError(Exception):
    """The base of all our errors: a message, where it happened, and what to do about it."""

    kind = "error"
    exit_code = 1
    http_status = 400
    parts: tuple[SteelyardError, ...] = ()
    """The errors that it sums up, each with its own place and advice."""

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.hint})" if self.hint else ""
        return "\n".join([f"{place}{self.message}{advice}", *map(str, self.parts)])

    def as_dict(self) -> dict[str, object]:
        """The shape that `--json` prints under "error"."""
        shape: dict[str, object] = {
            "kind": self.kind,
            "message": self.message,
            "where": self.where,
            "hint": self.hint,
        }
        return {**shape, "parts": [part.as_dict() for part in self.parts]} if self.parts else shape


class UsageError(SteelyardError):
    """The command or call itself is wrong."""

    kind = "usage"
    exit_code = 2


class UnknownNameError(UsageError):
    """A name that is not known, with the nearest that is."""

    kind = "unknown_name"
    http_status = 404

    def __init__(self, what: str, name: str, known: Iterable[str], *, where: str | None = None) -> None:
        names = sorted(known)
        close = nearest(name, names)
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        hint = f"did you mean {close!r}?" if close else f"known: {shown or 'none'}"
        super().__init__(f"there is no {what} named {name!r}", where=where, hint=hint)
        self.name = name
        self.nearest = close


class UnknownKeyError(UnknownNameError):
    """A key that no run can be grouped or chosen by."""


class UnknownValueError(UnknownNameError):
    """A value that no run has in a key; where no run states the key, how to state it."""

    def __init__(self, key: str, value: str, known: Iterable[str], *, where: str | None = None) -> None:
        super().__init__(key, value, values := list(known), where=where)
        if not values:
            self.message = f"no run states its {key}"
            label = "" if key == "outcome" else f", and --set {key}=NAME for all runs alike"  # verdicts are no labels
            self.hint = f'{key} = "COLUMN" in a mapping states it for each run{label}'


class TaskExistsError(UsageError):
    """A task is never changed: scores made under it must keep their meaning."""

    kind = "task_exists"
    http_status = 409

    def __init__(self, task: str, *, other: str) -> None:
        hint = "give the changed task a new id"
        super().__init__(f"a task with this id already exists with {other}", where=task, hint=hint)


class ProfileError(UsageError):
    """A profile file that cannot be used."""

    kind = "invalid_profile"


class MappingError(UsageError):
    """A mapping that cannot be used."""

    kind = "invalid_mapping"


class PlanError(UsageError):
    """A plan that cannot be run; every mistake in it is told at once."""

    kind = "invalid_plan"

    def __init__(self, path: str, mistakes: Sequence[SteelyardError]) -> None:
        count = f"{len(mistakes)} mistake{'' if len(mistakes) == 1 else 's'}"
        super().__init__(f"the plan has {count}; nothing was started", where=path)
        self.parts = tuple(mistakes)


class AdapterError(UsageError):
    """A file that describes an agent and cannot be used."""

    kind = "invalid_adapter"


class StoreError(UsageError):
    """A store address that is none, or a store that cannot be used by this version."""

    kind = "invalid_store"


class PriceTableError(UsageError):
    """A price book that cannot be used."""

    kind = "invalid_price_table"


class MissingExtraError(UsageError):
    """An optional library that the asked-for work needs."""

    kind = "missing_extra"

    def __init__(self, library: str, *, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}", hint=f"pip install 'steelyard[{extra}]'")


class MemoryLimitError(UsageError):
    """Values of single runs that would not fit into memory."""

    kind = "memory_limit"

    def __init__(self, runs: int, *, needed: int, free: int) -> None:
        message = (
            f"this takes the values of all {runs:,} runs in memory at once, because it works on single runs: about "
            f"{file_size(needed)}, and {file_size(free)} are free"
        )
        super().__init__(message, hint="choose fewer runs with --where or fewer --metrics; measure has no such limit")


class SandboxUnavailableError(UsageError):
    """Nothing on this machine can isolate code that is not trusted."""

    kind = "sandbox_unavailable"

    def __init__(self, reason: str) -> None:
        hint = "install bubblewrap, or use --unsafe to run the code with resource limits only"
        super().__init__(f"untrusted code cannot be isolated: {reason}", hint=hint)
        self.reason = reason


class ClusterError(SteelyardError):
    """Work that a cluster was given and broke off."""

    kind = "cluster_failed"

    def __init__(self, said: str) -> None:
        hint = "see the cluster's own log"
        super().__init__(f"the cluster failed: {' '.join(said.split())[:MAX_ERROR_CHARS]}", hint=hint)


class AbortedError(SteelyardError):
    """The work was broken off from outside, as by Ctrl-C."""

    kind = "interrupted"
    exit_code = 130


class InputError(SteelyardError):
    """The input is wrong; good records beside it are still used."""

    kind = "invalid_input"
    http_status = 422


class RecordError(InputError):
    """One record that was rejected."""

    kind = "invalid_record"

    def __init__(self, reason: str, *, path: str, line: int | None = None, hint: str | None = None) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(reason, where=where, hint=hint)


class UnreadableFileError(InputError):
    """A file that could not be read at all."""

    kind = "unreadable_file"

    def __init__(self, path: str, reason: str, *, hint: str | None = None) -> None:
        super().__init__(reason, where=path, hint=hint)


NESTED_TOO_DEEPLY = "the values are nested too deeply"
"""What is said of JSON that its parser cannot go down, and of TOML and XML past `settings.MAX_NESTING`."""


class InputLimitError(UnreadableFileError):
    """A file that is larger, holds more or is nested deeper than is read of one input (`settings.Limit`)."""


class ContractError(InputError):
    """A contract that cannot be used."""

    kind = "invalid_contract"

    def __init__(self, reason: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(reason, where=where, hint=hint)


class CanonExistsError(InputError):
    """A prompt has one canon, and it is never replaced."""

    kind = "canon_exists"
    http_status = 409

    def __init__(self, prompt: str, *, signature: str) -> None:
        hint = "retire it first: steelyard repeatability canon retire PROMPT"
        super().__init__(f"the prompt {prompt!r} already has a canon, {signature[:16]}", hint=hint)


class CanonPromptError(InputError):
    """Answers to one question are never compared with the answer to another."""

    kind = "canon_prompt"
    http_status = 409

    def __init__(self, prompt: str, *, theirs: str, ours: str) -> None:
        hint = "give the contract another id, or retire the canon"
        message = f"the canon of {prompt!r} answers another prompt: {_shortened(theirs)}, not {_shortened(ours)}"
        super().__init__(message, hint=hint)


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return repr(flat if len(flat) <= 80 else f"{flat[:77]}...")


class CanonVersionError(InputError):
    """Texts of two versions are never compared."""

    kind = "canon_versions"
    http_status = 409

    def __init__(self, prompt: str, differing: Iterable[tuple[str, str, str]]) -> None:
        shown = "; ".join(f"{what}: the canon has {theirs}, the outputs {ours}" for what, theirs, ours in differing)
        hint = "use the level and versions of the canon, or retire it"
        super().__init__(f"the canon of {prompt!r} was made under other versions: {shown}", hint=hint)


class NoValidInputError(InputError):
    """A command that can use nothing of its input."""

    kind = "no_valid_input"


class StoreUnavailableError(SteelyardError):
    """The store did not answer, or broke off."""

    kind = "store_unavailable"
    http_status = 503

    def __init__(self, address: str, reason: str) -> None:
        hint = next((advice for sign, advice in _STORE_ADVICE.items() if sign in reason), _STORE_SERVER_ADVICE)
        super().__init__(reason, where=address, hint=hint)


class UnsupportedValueError(StoreUnavailableError):
    """The database takes no such value; whoever lets one get so far should have refused it."""

    kind = "unsupported_value"
    http_status = 422

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(address, reason)
        self.hint = "a value does not fit the database, and nothing written together with it was kept; remove it"


class RequestError(SteelyardError):
    """A request that a server does not answer: the status says why, `headers` what else belongs to it."""

    def __init__(
        self, status: int, kind: str, message: str, *, hint: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.http_status = status
        self.kind = kind
        self.headers = dict(headers or {})


_STORE_SERVER_ADVICE = "check that the server is running and that this user may write there"
_STORE_ADVICE = {
    "is full": "free some space and try again; whatever was acknowledged is kept",
    "is locked": "another program is using the file; try again when it has finished",
    "readonly": "check that this user may write to the file and its folder",
    "Read-only": "check that this user may write to the file and its folder",
    "Permission denied": "check that this user may write to the file and its folder",
    "unable to open": "check that this user may read and write the file and its folder",
    "not a database": "name a file that steelyard made, or a new one",
    "malformed": "the file is damaged; restore it from a backup",
}
"""What to do, by a word of the database's own message."""


class AuthenticationError(SteelyardError):
    """Who asks is not known: there is no token, or it does not hold."""

    kind = "not_authenticated"
    exit_code = 2
    http_status = 401

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, where=where, hint=hint or "ask whoever runs the server (steelyard token create)")


class PermissionDeniedError(SteelyardError):
    """Who asks is known, and may not do this."""

    kind = "permission_denied"
    exit_code = 2
    http_status = 403


class DeclarationError(SteelyardError):
    """A metric or format that contradicts itself or the catalog, or a plug-in that cannot be loaded."""

    kind = "invalid_declaration"
    http_status = 500


def said_by(error: BaseException) -> str:
    """What the system or a library says went wrong: without a path, which may be ours, bounded, never empty.

    >>> said_by(OSError(2, "No such file or directory", "/somewhere")), said_by(MemoryError())
    ('No such file or directory', 'MemoryError')
    """
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    if len(said) > MAX_ERROR_CHARS:
        return f"{said[:MAX_ERROR_CHARS]}..."
    return said or type(error).__name__
