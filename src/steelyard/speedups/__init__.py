"""Code made faster: timings of nop, oracle and agents to speedups, advantages and how sure they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.speedups._attempts import (
        Speedups as Speedups,
        speedups_of as speedups_of,
    )
    from steelyard.speedups._inputs import (
        SpeedupConstants as SpeedupConstants,
        TaskFiles as TaskFiles,
        options_of as options_of,
    )
    from steelyard.speedups._records import (
        BenchmarkLevel as BenchmarkLevel,
        BenchmarkSpeedup as BenchmarkSpeedup,
        SampleCount as SampleCount,
        SpeedupAttempt as SpeedupAttempt,
        SpeedupRun as SpeedupRun,
        SpeedupSummary as SpeedupSummary,
        Verdict as Verdict,
    )
    from steelyard.speedups._timing_files import (
        TimingReading as TimingReading,
        read_folder as read_folder,
        read_task as read_task,
        read_trial_file as read_trial_file,
        timings_in as timings_in,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
