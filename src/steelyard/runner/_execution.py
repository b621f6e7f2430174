"""One execution of one trial: the agent works in a sandbox on a copy, and nothing of it is left when that is over."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from steelyard import sandbox
from steelyard.errors import AbortedError, SandboxUnavailableError
from steelyard.runner import _relay
from steelyard.runner._adapters import Adapter
from steelyard.runner._agent_command import command_of, seen_by
from steelyard.runner._asking import ModelAnswer, ModelQuestion, ask
from steelyard.runner._execution_records import EndedBy, ExecutionEvidence, Job
from steelyard.runner._metering_proxy import Admission, MeteringProxy
from steelyard.runner._metering_records import CallLimits
from steelyard.runner._programs import program_named
from steelyard.sandbox import Isolation, Limits, SandboxResult, Stay, printable
from steelyard.scratch import scratch_folder

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
        if self.ended_by == "itself" and self._admission is not None and self._admission.rejection is not None:
            # Most agents exit when their calls are rejected, and write their logs before they do.
            self.ended_by, self._deadline = "budget", min(self._deadline, now + GRACE_SECONDS)
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
        admission = proxy.admit(token, job.endpoint, log=log, limits=limits, socket_folder=scratch)
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
