"""Which files a task's speedup is measured from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from steelyard.errors import UsageError
from steelyard.settings import is_stdin, named_path


@dataclass(frozen=True, kw_only=True)
class TaskFiles:
    """The files of one task."""

    nop: Path
    """Timings of the unchanged code."""
    agents: Mapping[str, Path]
    """Timings under each agent's change, by `agent:model`."""
    oracle: Path | None = None
    """Timings of the reference solution; advantages are missing without it."""
    nop_repeat: Path | None = None
    """Second measurement of the unchanged code, for the noise floor."""
    tests: Path | None = None
    """Test results by `agent:model` and `oracle` (JSON); or one agent's test report (JUnit XML and others)."""
    test_reports: Mapping[str, Path] = field(default_factory=dict)
    """Test reports by `agent:model` and `oracle`."""
    snapshot: Path | None = None
    """Snapshot results by `agent:model` and `oracle`."""
    runs: Path | None = None
    """`cost_usd` and `trajectory_length` by `agent:model`."""
    logs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    """Logs and recordings of each agent, to count its interactions in."""
    task: str = "task"
    """The task's name."""

    def __post_init__(self) -> None:
        """Take paths given as text, too."""
        for name in ("nop", "oracle", "nop_repeat", "tests", "snapshot", "runs"):
            if isinstance(given := getattr(self, name), str):
                object.__setattr__(self, name, named_path(given))
        for name in ("agents", "test_reports"):
            object.__setattr__(self, name, {key: named_path(path) for key, path in getattr(self, name).items()})
        object.__setattr__(
            self, "logs", {key: [named_path(path) for path in paths] for key, paths in self.logs.items()}
        )
        given = (
            *(self.nop, self.oracle, self.nop_repeat, self.tests, self.snapshot, self.runs),
            *(*self.agents.values(), *self.test_reports.values()),
        )
        if sum(path is not None and is_stdin(path) for path in given) > 1:
            raise UsageError("only one file can be read from stdin", hint="pass the others as files")
