"""Execution of a trial: the agent works in a sandbox on a copy of the task. When it ends, no process of it is left."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from steelyard import sandbox
from steelyard.errors import AbortedError, SandboxUnavailableError, UsageError
from steelyard.records import Record
from steelyard.runner import _relay
from steelyard.runner._adapters import PLACES, Adapter, filled
from steelyard.runner._call_transcript import TRANSCRIPT
from steelyard.runner._metering_proxy import Admission, MeteringProxy
from steelyard.runner._metering_records import KEY_REJECTED, CallLimits, MeteredCalls
from steelyard.runner._model_apis import ModelAnswer, ModelQuestion, ask
from steelyard.runner._plan_records import AgentUse, ApiKind, PlanTask, Tier
from steelyard.runner._programs import program_named
from steelyard.runner._trial_records import Trial
from steelyard.sandbox import Content, Isolation, IsolationName, LimitName, Limits, SandboxResult, Stay, printable
from steelyard.scratch import scratch_folder

EndedBy = Literal["itself", "time_limit", "budget", "endpoint", "cancelled"]


@dataclass(frozen=True)
class Job:
    """Trial with everything needed to run it."""

    trial: Trial
    task: PlanTask
    use: AgentUse
    adapter: Adapter
    prompt: str
    """Prompt."""
    plan_folder: Path
    """Base directory of the plan's paths."""
    endpoint: str | None = None
    """The endpoint's name; None for an agent that uses none."""
    endpoint_kind: ApiKind | None = None
    """API kind of the endpoint."""
    experiment: str | None = None
    """The plan's name."""
    keeps_transcript: bool = False
    """Whether requests and responses of model calls are kept."""
    facts: dict[str, str] = field(default_factory=dict)
    """More origin fields of the Run: versions, digests, machine."""

    @property
    def tier(self) -> Tier:
        """The tier's overlay and variables."""
        return self.use.tiers.get(self.trial.tier or "", Tier())

    @property
    def uses_calls(self) -> bool:
        """Whether the execution uses an endpoint through the metering proxy."""
        return self.adapter.speaks is not None and self.endpoint is not None


class ExecutionEvidence(Record, frozen=True, kw_only=True):
    """Evidence of an execution before verification."""

    started_at: datetime
    """Start."""
    ended_at: datetime
    """Time when all its processes had ended."""
    ended_by: EndedBy
    """What ended it: `itself`, the time limit, the budget, an endpoint that rejects the key, or a cancellation."""
    exit_status: int | None = None
    """Exit status of the agent; None if it was stopped or did not start."""
    signal: int | None = None
    """Signal that ended it."""
    limit_hit: LimitName | None = None
    """Sandbox limit that ended it."""
    start_error: str | None = None
    """Why it did not start."""
    needs_calls: bool = False
    """Whether an execution without a model call counts as not started."""
    count: MeteredCalls | None = None
    """Model calls; None if not metered."""
    isolation: IsolationName | None = None
    """Isolation; None if no agent code ran."""
    dropped_bytes: int = 0
    """Bytes of dropped output."""
    left_processes: tuple[str, ...] = ()
    """Names of processes that were still running after the agent ended on its own."""
    network_attempts: int | None = None
    """Number of attempts to reach a network; None if unknown."""
    last_words: str | None = None
    """End of standard error, or of standard output."""

    @property
    def is_silent(self) -> bool:
        """Whether it made no model call: without a network and a metering proxy it cannot make any."""
        return self.count is None and self.isolation != "none"


_MAX_ARGUMENT_LENGTH = 128 * 1024 - 1
"""Maximum length of an argument on Linux."""
_MASKED = "***"


@dataclass(frozen=True)
class AgentCommand:
    """Command, files and variables of an agent in its sandbox."""

    line: list[str]
    variables: dict[str, str]
    work: dict[str, Content]
    """Files copied over the work tree."""
    home: dict[str, Content]
    """Files of its HOME."""
    stdin: bytes


def command_of(job: Job, *, endpoint: str, token: str) -> AgentCommand:
    """Return the agent's command with all placeholders filled; UsageError if the prompt is too long for it."""
    adapter = job.adapter
    values = _values(job, endpoint=endpoint, token=token)
    declared = _declared(job)
    line = [filled(word, values) for word in declared]
    for name, value in job.trial.setting.items():
        line += [word.replace("{value}", str(value)) for word in adapter.settings.get(name, ())]
    if max(len(word.encode()) for word in line) > _MAX_ARGUMENT_LENGTH:
        raise UsageError(
            f"the prompt of task {job.task.id!r} is too long for a command line",
            hint=f"write an adapter like {adapter.name} that reads it from {{prompt_file}} or stdin",
        )
    variables = {**adapter.env, **job.tier.env}
    names_prompt = any("{prompt" in word for word in declared)
    work, home = _files(job, values)
    return AgentCommand(
        line=line,
        variables={name: filled(value, values) for name, value in variables.items()},
        work=work,
        home=home,
        stdin=b"" if names_prompt else job.prompt.encode(),
    )


def shown_command(job: Job) -> list[str]:
    """The command as `--dry-run` shows it: the token masked, prompt, address and folders by their placeholders."""
    shown = {name: f"{{{name}}}" for name in ("prompt", "endpoint", *PLACES)}
    values = {**_values(job, endpoint="", token=_MASKED), **shown}
    return [filled(word, values) for word in _declared(job)]


def _declared(job: Job) -> tuple[str, ...]:
    if job.adapter.name == "oracle" and _solution(job).is_dir():
        return ("true",)  # it is copied over the work
    return job.use.command or job.adapter.command


def _solution(job: Job) -> Path:
    return (job.plan_folder / (job.task.oracle or "")).resolve()


def _values(job: Job, *, endpoint: str, token: str) -> dict[str, str]:
    return {
        **job.adapter.options,
        **{name: str(value) for name, value in job.use.options.items()},
        **PLACES,
        "prompt": job.prompt,
        "model": job.trial.model or "",
        "endpoint": endpoint,
        "token": token,
        "oracle": str(_solution(job)),
    }


def _files(job: Job, values: Mapping[str, str]) -> tuple[dict[str, Content], dict[str, Content]]:
    """Return the files copied over work and HOME: prompt, adapter's files, tier's files, solution."""
    work: dict[str, Content] = {}
    home: dict[str, Content] = {"prompt.md": job.prompt.encode()}
    for path, text in job.adapter.files.items():
        side, _, name = path.partition("/")
        (home if side == "home" else work)[name] = filled(text, values).encode()
    if job.tier.overlay:
        over = job.plan_folder / job.tier.overlay
        sides = [(over / "work", work), (over / "home", home)]
        for folder, files in sides if any(folder.is_dir() for folder, _ in sides) else [(over, work)]:
            files.update(files_below(folder))
    if job.adapter.name == "oracle" and job.task.oracle:
        work |= files_below(_solution(job))
    return work, home


def files_below(folder: Path) -> dict[str, Path]:
    """Every file and link below the folder by its relative path; none where there is no folder."""
    return {
        str(Path(place, name).relative_to(folder)): Path(place, name)
        for place, folders, files in os.walk(folder)
        for name in (*files, *(inner for inner in folders if Path(place, inner).is_symlink()))
    }


def initial_files(job: Job) -> dict[str, Content]:
    """The files of the work directory before the agent starts."""
    task = files_below(job.plan_folder / job.task.work) if job.task.work else {}
    return {**task, **_files(job, _values(job, endpoint="", token=""))[0]}


def seen_by(job: Job) -> list[Path]:
    """What the agent's sandbox must show besides its program: the oracle its patch."""
    is_patch = job.adapter.name == "oracle" and job.task.oracle and _solution(job).is_file()
    return [_solution(job)] if is_patch else []


MIB, GIB = 1 << 20, 1 << 30
AGENT_LIMITS = Limits(
    memory_bytes=4 * GIB,
    file_bytes=2 * GIB,
    disk_bytes=4 * GIB,
    disk_entries=1_000_000,
    processes=512,
    open_files=4096,
    output_bytes=64 * MIB,
)
GRACE_SECONDS = 10.0
"""Time for an agent to end after it is interrupted or its calls are rejected."""
KEY_GRACE_SECONDS = 2.0
"""The same where the endpoint rejects the key: there is no work to finish."""
_VERSION_LIMITS = msgspec.structs.replace(AGENT_LIMITS, wall_seconds=60.0, cpu_seconds=60, output_bytes=MIB)
_RELAY_PORT = 8791
"""Any port works: the sandbox has a private network."""
_POLL_SECONDS = 0.1
_LAST_WORDS_BYTES = 2_000
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)+(?:[-+.]?[0-9A-Za-z]+)*")


class _Clock:
    """Decides when an execution ends: at its time limit, or some time after the proxy began to reject calls."""

    def __init__(self, seconds: float, admission: Admission | None) -> None:
        self._deadline = time.monotonic() + seconds
        self._admission = admission
        self.ended_by: EndedBy = "itself"

    def is_over(self) -> bool:
        now = time.monotonic()
        rejection = self._admission.rejection if self._admission is not None else None
        if self.ended_by == "itself" and rejection is not None:
            # Most agents exit when their calls are rejected, and write their logs before they do.
            is_key = rejection == KEY_REJECTED
            self.ended_by = "endpoint" if is_key else "budget"
            self._deadline = min(self._deadline, now + (KEY_GRACE_SECONDS if is_key else GRACE_SECONDS))
        if now < self._deadline:
            return False
        if self.ended_by == "itself":
            self.ended_by = "time_limit"
            if self._admission is not None:
                self._admission.reject("time_limit")
        return True


def execute_trial(
    job: Job,
    folder: Path,
    *,
    proxy: MeteringProxy | None = None,
    call_limits: CallLimits | None = None,
    stop: threading.Event,
    no_sandbox: bool = False,
) -> ExecutionEvidence:
    """Execute a trial in an empty folder and return the evidence; `work`, `home`, `stdout` and `stderr` stay there.

    Without a working sandbox, raise SandboxUnavailableError unless `no_sandbox` is set.
    """
    started_at = datetime.now(UTC)
    count = None
    with contextlib.ExitStack() as opened:
        token = f"sk-{secrets.token_hex(24)}"
        admission = None
        if job.uses_calls:
            assert proxy is not None  # the runner opens one for every plan with an endpoint
            admission = opened.enter_context(_admitted(job, folder, proxy, call_limits or CallLimits(), token))
        if job.adapter.name == "model":
            assert admission is not None  # a plan without its endpoint is rejected
            evidence = _ask(job, folder, admission, token, stop)
        else:
            evidence = _run(job, folder, admission, token, stop, no_sandbox=no_sandbox)
        if admission is not None:
            count = admission.close()
    return msgspec.structs.replace(
        evidence,
        started_at=started_at,
        ended_at=datetime.now(UTC),
        count=count,
        needs_calls=job.uses_calls and job.adapter.needs_calls,
        last_words=_last_words(folder),
    )


@contextlib.contextmanager
def _admitted(job: Job, folder: Path, proxy: MeteringProxy, limits: CallLimits, token: str) -> Iterator[Admission]:
    """A way to the endpoint for this execution alone, which the token opens."""
    with scratch_folder() as scratch:
        scratch.chmod(0o711)  # the agent has a separate uid
        assert job.endpoint is not None  # job.uses_calls
        log = folder / "metering.jsonl"
        transcript = folder / TRANSCRIPT if job.keeps_transcript else None
        admission = proxy.admit(
            token, job.endpoint, log=log, limits=limits, socket_folder=scratch, transcript=transcript
        )
        try:
            yield admission
        finally:
            admission.close()


def _run(
    job: Job, folder: Path, admission: Admission | None, token: str, stop: threading.Event, *, no_sandbox: bool
) -> ExecutionEvidence:
    isolation = isolation_for(needs_loopback=admission is not None, no_sandbox=no_sandbox)
    endpoint = "" if admission is None else _address(admission, isolation)
    command = command_of(job, endpoint=endpoint, token=token)
    program = program_named(command.line[0], folder=job.plan_folder)
    if program is None:
        problem = missing_program(job.adapter, command.line[0])
        return msgspec.structs.replace(_evidence(None, "itself", isolation), start_error=problem)
    line = [program.path, *command.line[1:]]
    readable = [*program.readable, *seen_by(job)]
    if admission is not None and isolation.name == "bubblewrap":
        assert isolation.python is not None  # bubblewrap always has one
        relay = Path(_relay.__file__).resolve()
        line = [isolation.python, "-I", "-S", str(relay), str(admission.socket), str(_RELAY_PORT), "--", *line]
        readable += [relay, admission.socket.parent]
    clock = _Clock(job.trial.time_limit_seconds, admission)
    try:
        result = sandbox.run(
            line,
            copy=job.plan_folder / job.task.work if job.task.work else None,
            files=command.work,
            stdin=command.stdin,
            variables={**command.variables, "PATH": program.search_path},
            limits=_limits(job),
            readable=readable,
            stay=Stay(folder, home=command.home, is_over=clock.is_over, grace_seconds=GRACE_SECONDS),
            no_sandbox=no_sandbox,
            isolation=isolation,
            stop=stop,
        )
    except AbortedError:
        return _evidence(None, "cancelled", isolation)
    return _evidence(result, clock.ended_by, isolation)


def _limits(job: Job) -> Limits:
    """The adapter's limits. The time limit is the clock's; the sandbox's own comes after it, if all else fails."""
    limits = job.adapter.limits.limits(job.trial.time_limit_seconds + 3 * GRACE_SECONDS, default=AGENT_LIMITS)
    # A process with a thread on every processor has used this much when the time limit comes.
    return msgspec.structs.replace(limits, cpu_seconds=limits.cpu_seconds * (os.cpu_count() or 1))


def isolation_for(*, needs_loopback: bool, no_sandbox: bool) -> Isolation:
    """Return the isolation for an agent; the proxy needs a network namespace, which Landlock does not provide."""
    active = sandbox.active_isolation()
    if active.name == "landlock" and needs_loopback:
        if not no_sandbox:
            raise SandboxUnavailableError(f"agents that call a model need bubblewrap: {active.detail}")
        return sandbox.isolation_named("none")
    if active.name == "none" and not no_sandbox:
        raise SandboxUnavailableError(active.detail)
    return active


def _address(admission: Admission, isolation: Isolation) -> str:
    return f"http://127.0.0.1:{_RELAY_PORT}" if isolation.name == "bubblewrap" else admission.url_outside


def _evidence(result: SandboxResult | None, ended_by: EndedBy, isolation: Isolation) -> ExecutionEvidence:
    now = datetime.now(UTC)  # execute_trial knows when it began
    if result is None:
        return ExecutionEvidence(started_at=now, ended_at=now, ended_by=ended_by, isolation=isolation.name)
    return ExecutionEvidence(
        started_at=now,
        ended_at=now,
        ended_by=ended_by if result.was_interrupted else "itself",
        exit_status=result.exit_status,
        signal=result.signal,
        limit_hit=result.limit_hit,
        start_error=result.start_error,
        isolation=isolation.name,
        dropped_bytes=result.dropped_bytes,
        left_processes=result.left_processes,
        network_attempts=result.network_attempts,
    )


def missing_program(adapter: Adapter, name: str) -> str:
    """Return the message for a missing agent program."""
    if "/" in name:
        return f"no such executable file: {name!r}; relative paths start at the plan's directory"
    advice = f"; install it: {adapter.install}" if adapter.install else ""
    return f"program not found on PATH: {name!r}{advice}"


def _last_words(folder: Path) -> str | None:
    """The end of standard error, else of standard output, on one line."""
    for name in ("stderr", "stdout"):
        with contextlib.suppress(OSError), open(folder / name, "rb") as stream:
            stream.seek(max(0, os.fstat(stream.fileno()).st_size - _LAST_WORDS_BYTES))
            lines = stream.read(_LAST_WORDS_BYTES).decode(errors="replace").split("\n")
            if words := next((line.strip() for line in reversed(lines) if line.strip()), None):
                return printable(words)
    return None


def _ask(job: Job, folder: Path, admission: Admission, token: str, stop: threading.Event) -> ExecutionEvidence:
    """The agent `model`, which is our own code and needs no sandbox: one request, the text goes to `stdout`."""
    assert job.endpoint_kind is not None
    assert job.trial.model is not None  # a plan without one is rejected
    question = ModelQuestion(job.endpoint_kind, job.trial.model, job.prompt, job.trial.setting)
    answers: list[ModelAnswer] = []
    seconds = job.trial.time_limit_seconds
    url = admission.url_outside
    asking = threading.Thread(
        target=lambda: answers.append(ask(question, url=url, token=token, seconds=seconds)), daemon=True
    )
    clock = _Clock(seconds, admission)
    asking.start()
    ended_by: EndedBy = "itself"
    while asking.is_alive():
        asking.join(_POLL_SECONDS)
        if stop.is_set():
            ended_by = "cancelled"
        elif asking.is_alive() and clock.is_over():
            ended_by = clock.ended_by
        if ended_by != "itself":
            admission.close()  # cuts the call
            asking.join(GRACE_SECONDS)
            break
    answer = answers[0] if answers else ModelAnswer(None, None, "no response within the time limit")
    (folder / "stdout").write_text(answer.text or "", encoding="utf-8")
    (folder / "stderr").write_text(answer.problem or "", encoding="utf-8")
    now = datetime.now(UTC)
    status = (0 if answer.text is not None else 1) if ended_by == "itself" else None
    return ExecutionEvidence(started_at=now, ended_at=now, ended_by=ended_by, exit_status=status)


def agent_version(adapter: Adapter, *, no_sandbox: bool = False) -> str | None:
    """The version that the agent's program states; None where it states none or is not installed."""
    program = program_named(adapter.version[0]) if adapter.version else None
    if program is None:
        return None
    fixed = {name: value for name, value in adapter.env.items() if "{" not in value}
    result = sandbox.run(
        [program.path, *adapter.version[1:]],
        variables={**fixed, "PATH": program.search_path},
        limits=_VERSION_LIMITS,
        readable=program.readable,
        no_sandbox=no_sandbox,
    )
    outputs = (result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"))
    found = (_VERSION.search(text) for text in outputs)  # warnings hold numbers too
    return next((match[0] for match in found if match), None)
