"""What a plan says: tasks, agents, endpoints, judges, and how much of everything.

Format history (the version goes into every trial's id):
    1  2026-11  first version
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

import msgspec

from steelyard.records import Amount, Count, Record
from steelyard.sandbox import Limits

FORMAT_VERSION = 1
ENVIRONMENT = "env:"
"""What a value begins with that names a variable of the environment."""

ApiKind = Literal["chat", "responses", "messages", "gemini"]
"""What an endpoint speaks: OpenAI chat completions or responses, Anthropic messages, Gemini."""
Scalar: TypeAlias = str | int | float | bool
PlainName = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
FromOne = Annotated[int, msgspec.Meta(ge=1)]
Positive = Annotated[float, msgspec.Meta(gt=0)]

_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(s|m|h|d)")
_SIZE = re.compile(r"([0-9]{1,9})\s*(KiB|MiB|GiB)")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def seconds_of(text: str) -> float:
    """A duration in seconds.

    >>> seconds_of("20m"), seconds_of("1.5h")
    (1200.0, 5400.0)
    """
    match = _DURATION.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
    if not seconds:
        raise ValueError(f"invalid duration {text[:40]!r}: write 90s, 20m, 2h or 1d")
    return seconds


def bytes_of(text: str) -> int:
    """A size in bytes.

    >>> bytes_of("4GiB")
    4294967296
    """
    match = _SIZE.fullmatch(text.strip())
    size = int(match[1]) * _BYTES[match[2]] if match else 0
    if not size:
        raise ValueError(f"invalid size {text[:40]!r}: write 512MiB or 4GiB")
    return size


class Bounds(Record, frozen=True, kw_only=True):
    """What a command may use; the time limit stands elsewhere."""

    memory: str | None = None
    """Memory of each process and of all together: `512MiB`, `4GiB`."""
    disk: str | None = None
    """What it may write: `1GiB`."""
    processes: FromOne | None = None
    """Processes and threads alive at the same time."""
    open_files: FromOne | None = None
    """Files a process may hold open."""
    cpu_seconds: FromOne | None = None
    """Processor time of each process; the time limit by default."""
    output: str | None = None
    """What is kept of standard output and of standard error: `16MiB`."""

    def __post_init__(self) -> None:
        for size in (self.memory, self.disk, self.output):
            if size is not None:
                bytes_of(size)

    def limits(self, wall_seconds: float, *, default: Limits) -> Limits:
        """The sandbox's limits: these, else the default's."""
        disk = bytes_of(self.disk) if self.disk else default.disk_bytes
        return Limits(
            wall_seconds=wall_seconds,
            cpu_seconds=self.cpu_seconds or max(1, round(wall_seconds)),
            memory_bytes=bytes_of(self.memory) if self.memory else default.memory_bytes,
            file_bytes=max(disk, default.file_bytes) if self.disk else default.file_bytes,
            disk_bytes=disk,
            processes=self.processes or default.processes,
            open_files=self.open_files or default.open_files,
            output_bytes=bytes_of(self.output) if self.output else default.output_bytes,
        )


class Budget(Record, frozen=True, kw_only=True):
    """What the plan, and a single trial, may spend."""

    usd: Positive | None = None
    """Dollars of the whole plan, all executions counted. Needs a price for every model."""
    tokens: FromOne | None = None
    """Tokens of the whole plan, all kinds added."""
    hours: Positive | None = None
    """Hours of running, all executions of all trials added up."""
    trial_usd: Positive | None = None
    """Dollars of a trial; its calls are refused beyond."""
    trial_tokens: FromOne | None = None
    """Tokens of a trial; its calls are refused beyond."""


class EndpointPrice(Record, frozen=True, kw_only=True):
    """What an endpoint charges, in dollars per million tokens."""

    input_usd: Amount
    """Input."""
    output_usd: Amount
    """Output, reasoning included."""
    cache_read_usd: Amount | None = None
    """Input served from a cache; the price of input by default."""
    cache_write_usd: Amount | None = None
    """Input written to a cache; the price of input by default."""


class Endpoint(Record, frozen=True, kw_only=True):
    """A model server that agents reach through the metering proxy."""

    kind: ApiKind
    """What it speaks: `chat`, `responses`, `messages` or `gemini`."""
    url: PlainName
    """Its address, or `env:NAME` for the variable that holds it."""
    key: str | None = None
    """`env:NAME`, the variable that holds the key; it never enters the sandbox. None for a server without keys."""
    parallel: FromOne = 8
    """Calls that are open at the same time."""
    requests_per_minute: FromOne | None = None
    """Calls started in a minute; None for no limit."""
    price: EndpointPrice | None = None
    """What it charges; None takes the price table's."""

    def __post_init__(self) -> None:
        if self.key is not None and not self.key.startswith(ENVIRONMENT):
            raise ValueError('a plan must not contain a key: write key = "env:NAME" and set that variable')


class Verify(Record, frozen=True, kw_only=True):
    """How a task's work is checked: on a copy, in a sandbox of its own, after the agent has ended."""

    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """The command; status 0 passes where no report is named."""
    report: str | None = None
    """A file that the command writes and that decides: test by test."""
    format: str | None = None
    """The format of the report; recognized by content by default."""
    hidden: str | None = None
    """A folder that is laid over the copy first, which the agent never sees."""
    time_limit: str | None = None
    """How long the command may take; ten minutes by default."""
    limits: Bounds | None = None
    """What the command may use."""


class PlanTask(Record, frozen=True, kw_only=True):
    """A task, with what the agent is asked and how its work is checked."""

    id: PlainName
    """Its name in runs."""
    prompt: str | None = None
    """What the agent is asked."""
    prompt_file: str | None = None
    """The file that says it."""
    work: str | None = None
    """The folder that the agent starts from; an empty one by default."""
    verify: Verify | None = None
    """How the work is checked; None leaves runs without a verdict."""
    oracle: str | None = None
    """The known solution, for the agent `oracle`: a patch file, or a folder that is laid over the work."""
    contract: str | None = None
    """The contract of the answer, for repeatability."""
    category: str | None = None
    """The task's category."""
    time_limit: str | None = None
    """How long an execution may take; the agent's, else the plan's, by default."""

    def __post_init__(self) -> None:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("a task needs either prompt or prompt_file")


class Tier(Record, frozen=True, kw_only=True):
    """One configuration of an agent."""

    overlay: str | None = None
    """A directory whose `work/` and `home/` are copied over those of the execution; without both, over `work/`."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the environment."""


class AgentUse(Record, frozen=True, kw_only=True):
    """An agent of the plan: an adapter, and the models, settings and tiers to run it with."""

    use: PlainName
    """The adapter: `nop`, `oracle`, `model`, `command`, or the name of an agent file."""
    name: PlainName | None = None
    """Its name in runs; the adapter's by default."""
    models: tuple[PlainName, ...] = ()
    """The models; the adapter's own default where none is named."""
    endpoint: str | None = None
    """The endpoint; the only one of the plan by default."""
    settings: tuple[dict[str, Scalar], ...] = ({},)
    """Settings, one trial each: `{ temperature = 0.0, seed = 7 }`."""
    tiers: dict[str, Tier] = msgspec.field(default_factory=dict)
    """Tiers by name, one trial each."""
    command: tuple[str, ...] = ()
    """The command of the agent `command`."""
    time_limit: str | None = None
    """How long an execution may take; the plan's by default."""
    options: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """Values for the adapter's own placeholders."""

    @property
    def label(self) -> str:
        """Its name in runs."""
        return self.name or self.use


class JudgeUse(Record, frozen=True, kw_only=True):
    """A judge of the finished runs."""

    use: PlainName
    """The adapter that asks the model."""
    model: PlainName
    """The model."""
    rubric: str
    """The file with the criteria."""
    endpoint: str | None = None
    """The endpoint; the only one of the plan by default."""
    name: PlainName | None = None
    """Its name in judgments; the model's by default."""
    pairs: bool = False
    """Whether runs of a task are compared two by two, in both orders."""
    samples: FromOne = 1
    """How often it judges each run."""

    @property
    def label(self) -> str:
        """Its name in judgments."""
        return self.name or self.model


class Measure(Record, frozen=True, kw_only=True):
    """How the speed of finished work is measured, apart from the running of agents."""

    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    """The command that measures."""
    format: str
    """The format of its timings."""
    repeats: FromOne = 5
    """How often each side is measured, interleaved."""
    cores: tuple[Count, ...] = ()
    """Cores that the command is pinned to."""
    report: str | None = None
    """The file or folder that holds the timings; standard output by default."""
    hidden: str | None = None
    """A folder that is laid over each copy first, so that no agent brings its own benchmarks; `{task}` stands for the
    task's id."""
    time_limit: str | None = None
    """How long one measuring may take; ten minutes by default."""

    def hidden_of(self, task: str) -> str:
        """The folder that is laid over copies of the task's work."""
        return (self.hidden or "").replace("{task}", task)


class PlanSettings(Record, frozen=True, kw_only=True):
    """The table `[plan]`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """The plan's name, the experiment of its runs and the folder they go to."""
    attempts: FromOne = 1
    """Runs for each task, agent, model, tier and setting."""
    parallel: FromOne = 2
    """Trials that run at the same time."""
    time_limit: str = "20m"
    """How long an execution may take."""
    retries: Count = 2
    """More executions after infrastructure failures."""
    retry_wait: str = "5s"
    """How long the second execution waits; twice as long each time."""
    seed: int = 0
    """What shuffling starts from."""
    budget: Budget | None = None
    """What may be spent."""
    measure: Measure | None = None
    """How speed is measured afterwards."""
    deliver: str | None = None
    """The arena that finished runs are submitted to: `arena` for the default store, else a store's address."""
    tasks_from: Literal["arena"] | None = None
    """Where tasks come from besides the plan."""


class Plan(Record, frozen=True, kw_only=True):
    """A plan file."""

    plan: PlanSettings
    """Name, attempts, limits and budget."""
    endpoints: dict[str, Endpoint] = msgspec.field(default_factory=dict)
    """Model servers by name."""
    tasks: tuple[PlanTask, ...] = ()
    """What is to be done."""
    agents: Annotated[tuple[AgentUse, ...], msgspec.Meta(min_length=1)]
    """Who is to do it."""
    judges: tuple[JudgeUse, ...] = ()
    """Who judges it."""

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.plan.name
