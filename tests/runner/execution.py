"""Executions of an agent against the scripted model, through proxy, relay and sandbox."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agents.model_server import ModelServer, Script, model_server
from steelyard import sandbox
from steelyard.records import Finding, Run
from steelyard.runner import Ending, Trial
from steelyard.runner._adapters import Adapter, adapters
from steelyard.runner._execution import ExecutionEvidence, Job, execute_trial
from steelyard.runner._metering_proxy import MeteringProxy
from steelyard.runner._metering_records import CallLimits, ResolvedEndpoint
from steelyard.runner._plan_executor import ending_of
from steelyard.runner._plan_records import AgentUse, ApiKind, PlanTask, Tier, Verify
from steelyard.runner._run_of_trial import run_of_trial
from steelyard.runner._verification import VerifyEvidence, verify

needs_bubblewrap = pytest.mark.skipif(
    sandbox.active_isolation().name != "bubblewrap", reason="an agent with a model needs bubblewrap"
)
SHELL_AGENT = Path(__file__).with_name("shell_agent.sh").read_bytes()
SAYS_HELLO = Verify(command=("grep", "-qx", "hello", "hello.txt"))
KEY = "key-of-the-endpoint"
TRIAL = "0123456789abcdef"


def job_of(
    adapter: Adapter,
    folder: Path,
    *,
    seconds: float = 60,
    model: str | None = "m-1",
    kind: ApiKind | None = "chat",
    setting: dict[str, Any] | None = None,
    command: tuple[str, ...] = (),
    tier: Tier | None = None,
    **task: Any,
) -> Job:
    """A trial of a plan in the folder; without a kind it has no endpoint."""
    planned = PlanTask(id="hello", prompt="Write hello into the file hello.txt.", **task)
    trial = Trial(
        id=TRIAL,
        task="hello",
        agent=adapter.name,
        model=model,
        tier=None if tier is None else "T1",
        time_limit_seconds=seconds,
        setting=setting or {},
    )
    use = AgentUse(
        use=adapter.name,
        models=() if model is None else (model,),
        command=command,
        tiers={} if tier is None else {"T1": tier},
    )
    assert planned.prompt is not None
    return Job(
        trial=trial,
        task=planned,
        use=use,
        adapter=adapter,
        prompt=planned.prompt,
        plan_folder=folder,
        endpoint=None if kind is None else "scripted",
        endpoint_kind=kind,
        experiment="plan",
    )


def shell_job(folder: Path, *arguments: str, **options: Any) -> Job:
    """A trial of the shell agent, which lies in its own work tree."""
    work = folder / "repository"
    work.mkdir(exist_ok=True)
    (work / "agent.sh").write_bytes(SHELL_AGENT)
    command = ("bash", "agent.sh", *(arguments or ("agent",)))
    return job_of(
        adapters()["command"], folder, command=command, **{"work": "repository", "verify": SAYS_HELLO, **options}
    )


@dataclass
class Executed:
    """An execution, what came of it, and what the model counted."""

    evidence: ExecutionEvidence
    verified: VerifyEvidence | None
    ending: Ending
    run: Run
    findings: tuple[Finding, ...]
    server: ModelServer
    folder: Path


@dataclass
class Bench:
    """A scripted model with a metering proxy before it."""

    server: ModelServer
    proxy: MeteringProxy
    stop: threading.Event = field(default_factory=threading.Event)

    def executed(
        self, job: Job, folder: Path, *, limits: CallLimits | None = None, no_sandbox: bool = False
    ) -> Executed:
        """One execution in the folder, which is made, verified and told as a Run."""
        folder.mkdir(parents=True)
        evidence = execute_trial(
            job, folder, proxy=self.proxy, call_limits=limits, stop=self.stop, no_sandbox=no_sandbox
        )
        is_verified = ending_of(evidence).is_verified
        verified = verify(job, folder, stop=self.stop, no_sandbox=no_sandbox) if is_verified else None
        ending = ending_of(evidence, verified)
        run, findings = run_of_trial(job, folder, evidence, ending, verified=verified)
        return Executed(evidence, verified, ending, run, findings, self.server, folder)


@contextmanager
def bench(script: Script | None = None, kind: ApiKind = "chat") -> Iterator[Bench]:
    """A scripted model and a metering proxy that passes calls on to it, while the block runs."""
    with model_server(script) as server:
        endpoint = ResolvedEndpoint(name="scripted", kind=kind, url=server.url, key=KEY)
        with MeteringProxy({"scripted": endpoint}) as proxy:
            yield Bench(server, proxy)
