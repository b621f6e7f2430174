"""Steelyard weighs what AI coding agents deliver against what they cost.

>>> import steelyard as sy
>>> runs = sy.demo_runs()
>>> result = sy.measure(runs, by=["tier"])
>>> result.groups[0].key["tier"]
'T0'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door
from steelyard.version import __version__ as __version__

if TYPE_CHECKING:
    from steelyard.demo import (
        demo_runs as demo_runs,
    )
    from steelyard.errors import (
        SteelyardError as SteelyardError,
    )
    from steelyard.profiles import (
        Profile as Profile,
        load_profile as load_profile,
    )
    from steelyard.records import (
        Finding as Finding,
        Missing as Missing,
        Run as Run,
        Submission as Submission,
        Task as Task,
    )
    from steelyard.surfaces.client import (
        connect as connect,
    )
    from steelyard.workflow import (
        CompareOptions as CompareOptions,
        ExplainOptions as ExplainOptions,
        GateOptions as GateOptions,
        JudgesOptions as JudgesOptions,
        LocalArena as Arena,
        MatrixOptions as MatrixOptions,
        MeasureOptions as MeasureOptions,
        RankOptions as RankOptions,
        ReadOptions as ReadOptions,
        RepeatabilityOptions as RepeatabilityOptions,
        ReportOptions as ReportOptions,
        SpeedupOptions as SpeedupOptions,
        TaskFiles as TaskFiles,
        init_arena as init_arena,
        open_arena as open_arena,
        task_leaderboard as task_leaderboard,
        upgrade_arena as upgrade_arena,
    )
    from steelyard.workflow.compare import (
        compare as compare,
    )
    from steelyard.workflow.completeness import (
        CompletenessOptions as CompletenessOptions,
        completeness as completeness,
    )
    from steelyard.workflow.explain import (
        explain as explain,
    )
    from steelyard.workflow.gate import (
        gate as gate,
    )
    from steelyard.workflow.judges import (
        judges as judges,
    )
    from steelyard.workflow.mapping import (
        suggest_mapping as suggest_mapping,
    )
    from steelyard.workflow.matrix import (
        matrix as matrix,
    )
    from steelyard.workflow.measure import (
        measure as measure,
    )
    from steelyard.workflow.rank import (
        rank as rank,
    )
    from steelyard.workflow.read import (
        read as read,
    )
    from steelyard.workflow.repeatability import (
        repeatability as repeatability,
    )
    from steelyard.workflow.report import (
        report as report,
    )
    from steelyard.workflow.run import (
        RunOptions as RunOptions,
        run as run,
    )
    from steelyard.workflow.show import (
        ShowOptions as ShowOptions,
        show as show,
    )
    from steelyard.workflow.speedup import (
        speedup as speedup,
    )
    from steelyard.workflow.token import (
        create_token as create_token,
        list_tokens as list_tokens,
        revoke_token as revoke_token,
    )
    from steelyard.workflow.usage import (
        UsageOptions as UsageOptions,
        usage as usage,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
    __all__ += ["__version__"]
