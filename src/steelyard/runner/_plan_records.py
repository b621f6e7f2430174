"""Records of a plan: tasks, agents, endpoints, judges, limits and budgets.

Format history (the version goes into every trial's id):
    1  2026-11  first version
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

import msgspec

from steelyard.grading import Framework
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
        raise ValueError(f"invalid size {text[:40]!r}: use a value such as 512MiB or 4GiB")
    return size


class Bounds(Record, frozen=True, kw_only=True):
    """Resource limits of a command, except the time limit."""

    memory: str | None = None
    """Memory per process and in total: `512MiB`, `4GiB`."""
    disk: str | None = None
    """Maximum size of written files: `1GiB`."""
    processes: FromOne | None = None
    """Maximum number of processes and threads."""
    open_files: FromOne | None = None
    """Maximum number of open files per process."""
    cpu_seconds: FromOne | None = None
    """CPU time per process (default: the time limit)."""
    output: str | None = None
    """Maximum size of standard output and of standard error: `16MiB`."""

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
    """Budget of the plan and of a single trial."""

    usd: Positive | None = None
    """Dollars for the whole plan, including retries. Needs a price for every model."""
    tokens: FromOne | None = None
    """Tokens of all kinds for the whole plan."""
    hours: Positive | None = None
    """Total hours of all executions."""
    trial_usd: Positive | None = None
    """Dollars per trial; further calls are rejected."""
    trial_tokens: FromOne | None = None
    """Tokens per trial; further calls are rejected."""


class EndpointPrice(Record, frozen=True, kw_only=True):
    """Prices of an endpoint, in dollars per million tokens."""

    input_usd: Amount
    """Input."""
    output_usd: Amount
    """Output, including reasoning."""
    cache_read_usd: Amount | None = None
    """Cached input (default: the input price)."""
    cache_write_usd: Amount | None = None
    """Input written to a cache (default: the input price)."""


class Endpoint(Record, frozen=True, kw_only=True):
    """Model server that agents reach through the metering proxy."""

    kind: ApiKind
    """API: `chat`, `responses`, `messages` or `gemini`."""
    url: PlainName
    """URL, or `env:NAME` for an environment variable with the URL."""
    id: PlainName | None = None
    """Identity of the server in trial ids (default: its URL). Set it if one server has different URLs, for example on
    several machines or after a restart."""
    key: str | None = None
    """`env:NAME`: environment variable with the key, which never enters the sandbox. None for a server without keys."""
    parallel: FromOne = 8
    """Maximum number of open calls."""
    requests_per_minute: FromOne | None = None
    """Maximum number of calls started per minute; None for no limit."""
    price: EndpointPrice | None = None
    """Prices (default: from the price table)."""

    def __post_init__(self) -> None:
        if self.key is not None and not self.key.startswith(ENVIRONMENT):
            raise ValueError('a plan must not contain an API key: write key = "env:NAME" and set that variable')


class Verify(Record, frozen=True, kw_only=True):
    """Check of a task's work: on a copy, in a separate sandbox, after the agent has ended."""

    tests: str | None = None
    """Directory with the tests, which the agent never sees. They run in one sandbox, the agent's code in another."""
    framework: Framework | None = None
    """Test framework (default: `pytest` if the tests use it, else `unittest`)."""
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Command instead of `tests`; without a report, exit status 0 counts as a pass. Marked `weak_check` unless the
    agent's code runs as `program`."""
    program: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Command that starts the program under test, in a separate sandbox with the agent's work. The checking `command`
    then has only the files in `hidden`, reads the program's output from descriptor 3 and writes its input to 4."""
    report: str | None = None
    """Test report that the command writes; it gives the result of each test."""
    format: str | None = None
    """Format of the report (default: detected from its content)."""
    hidden: str | None = None
    """Directory copied over the work first; the agent never sees it."""
    time_limit: str | None = None
    """Time limit of the command (default: ten minutes)."""
    limits: Bounds | None = None
    """Resource limits of the check."""

    def __post_init__(self) -> None:
        if (self.tests is None) == (self.command is None):
            raise ValueError("a check needs either tests or command")
        if self.tests is not None and (self.report, self.hidden, self.program) != (None, None, None):
            raise ValueError("program, report and hidden are for a command, not for tests")


class PlanTask(Record, frozen=True, kw_only=True):
    """Task: prompt, work directory and check."""

    id: PlainName
    """Name in runs."""
    prompt: str | None = None
    """Prompt of the agent."""
    prompt_file: str | None = None
    """File with the prompt."""
    work: str | None = None
    """Directory that the agent starts with (default: empty)."""
    verify: Verify | None = None
    """Check of the work; None for runs without a verdict."""
    oracle: str | None = None
    """Reference solution, for the agent `oracle`: a patch file, or a directory copied over the work."""
    contract: str | None = None
    """Contract of the output, for repeatability."""
    category: str | None = None
    """Category of the task."""
    time_limit: str | None = None
    """Time limit of an execution (default: the agent's, else the plan's)."""

    def __post_init__(self) -> None:
        if (self.prompt is None) == (self.prompt_file is None):
            raise ValueError("a task needs either prompt or prompt_file")


class Tier(Record, frozen=True, kw_only=True):
    """Configuration of an agent."""

    overlay: str | None = None
    """A directory whose `work/` and `home/` are copied over those of the execution; without both, over `work/`."""
    env: dict[str, str] = msgspec.field(default_factory=dict)
    """Environment variables."""


class AgentUse(Record, frozen=True, kw_only=True):
    """Agent of the plan: an adapter with models, settings and tiers."""

    use: PlainName
    """Adapter: `nop`, `oracle`, `model`, `command`, or the name of an agent file."""
    name: PlainName | None = None
    """Name in runs (default: the adapter's name)."""
    models: tuple[PlainName, ...] = ()
    """Models (default: the adapter's default model)."""
    endpoint: str | None = None
    """Endpoint (default: the only one in the plan)."""
    settings: tuple[dict[str, Scalar], ...] = ({},)
    """Settings, one trial per entry: `{ temperature = 0.0, seed = 7 }`."""
    tiers: dict[str, Tier] = msgspec.field(default_factory=dict)
    """Tiers by name, one trial per tier."""
    command: tuple[str, ...] = ()
    """Command of the agent `command`."""
    time_limit: str | None = None
    """Time limit of an execution (default: the plan's)."""
    options: dict[str, Scalar] = msgspec.field(default_factory=dict)
    """Values of the adapter's custom placeholders."""

    @property
    def label(self) -> str:
        """Name in runs."""
        return self.name or self.use


class JudgeUse(Record, frozen=True, kw_only=True):
    """Judge of the finished runs."""

    use: PlainName
    """Adapter that calls the model."""
    model: PlainName
    """Model."""
    rubric: str
    """Rubric file with the criteria."""
    endpoint: str | None = None
    """Endpoint (default: the only one in the plan)."""
    name: PlainName | None = None
    """Name in judgments (default: the model)."""
    pairs: bool = False
    """Whether runs of a task are compared in pairs, in both orders."""
    samples: FromOne = 1
    """Number of judgments per run."""

    @property
    def label(self) -> str:
        """Its name in judgments."""
        return self.name or self.model


class Measure(Record, frozen=True, kw_only=True):
    """Speed measurement of finished work, separate from running agents."""

    calls: str | None = None
    """Directory with benchmarks (`bench_*.py`), each with the name of a function of the work and a function that makes
    its arguments; `{task}` is the task's id. The clock and the arguments are in another sandbox than the work."""
    command: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)] | None = None
    """Command that measures, instead of `calls`. Marked `weak_timing`."""
    format: str | None = None
    """Format of the timings of a command."""
    repeats: FromOne = 5
    """Number of measurements of each version, interleaved."""
    cores: tuple[Count, ...] = ()
    """CPU cores that the command is pinned to."""
    report: str | None = None
    """File or directory with the timings (default: standard output)."""
    hidden: str | None = None
    """Directory copied over each version first, so that agents cannot supply their own benchmarks; `{task}` is the
    task's id."""
    time_limit: str | None = None
    """Time limit of one measurement (default: ten minutes)."""

    def __post_init__(self) -> None:
        if (self.calls is None) == (self.command is None):
            raise ValueError("a measurement needs either calls or command")
        if self.calls is not None and (self.format, self.report, self.hidden) != (None, None, None):
            raise ValueError("format, report and hidden are for a command, not for calls")
        if self.command is not None and self.format is None:
            raise ValueError("specify the format of the timings that the command writes")

    def folder_of(self, task: str) -> str | None:
        """Return the directory with the benchmarks of the task."""
        folder = self.calls or self.hidden
        return None if folder is None else folder.replace("{task}", task)


class PlanSettings(Record, frozen=True, kw_only=True):
    """Table `[plan]`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    """Name of the plan, of its output directory and of the experiment in its runs."""
    attempts: FromOne = 1
    """Number of runs per task, agent, model, tier and setting."""
    parallel: FromOne = 2
    """Number of trials to run in parallel."""
    time_limit: str = "20m"
    """Time limit of an execution."""
    retries: Count = 2
    """Maximum number of retries after infrastructure failures."""
    retry_wait: str = "5s"
    """Wait before the first retry; doubled each time."""
    seed: int = 0
    """Random seed for shuffling."""
    budget: Budget | None = None
    """Budget."""
    measure: Measure | None = None
    """Speed measurement after all trials."""
    deliver: str | None = None
    """Arena to which finished runs are submitted: `arena` for the default store, or a store URL."""
    tasks_from: Literal["arena"] | None = None
    """Additional source of tasks."""
    keep: Literal["transcript"] | None = None
    """`transcript`: keep requests and responses of all model calls, compressed and redacted."""


class Plan(Record, frozen=True, kw_only=True):
    """Plan file."""

    plan: PlanSettings
    """Name, attempts, limits and budget."""
    endpoints: dict[str, Endpoint] = msgspec.field(default_factory=dict)
    """Model servers by name."""
    tasks: tuple[PlanTask, ...] = ()
    """Tasks."""
    agents: Annotated[tuple[AgentUse, ...], msgspec.Meta(min_length=1)]
    """Agents."""
    judges: tuple[JudgeUse, ...] = ()
    """Judges."""

    @property
    def name(self) -> str:
        """The plan's name."""
        return self.plan.name
