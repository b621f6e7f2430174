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
    from steelyard.client import (
        connect as connect,
    )
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
    from steelyard.questions import (
        LocalArena as Arena,
        MeasureOptions as MeasureOptions,
        RankOptions as RankOptions,
        ReadOptions as ReadOptions,
        TaskFiles as TaskFiles,
        init_arena as init_arena,
        open_arena as open_arena,
        upgrade_arena as upgrade_arena,
    )
    from steelyard.questions.compare import (
        CompareOptions as CompareOptions,
        compare as compare,
    )
    from steelyard.questions.completeness import (
        CompletenessOptions as CompletenessOptions,
        completeness as completeness,
    )
    from steelyard.questions.explain import (
        ExplainOptions as ExplainOptions,
        explain as explain,
    )
    from steelyard.questions.gate import (
        GateOptions as GateOptions,
        gate as gate,
    )
    from steelyard.questions.judges import (
        JudgesOptions as JudgesOptions,
        judges as judges,
    )
    from steelyard.questions.mapping import (
        suggest_mapping as suggest_mapping,
    )
    from steelyard.questions.matrix import (
        MatrixOptions as MatrixOptions,
        matrix as matrix,
    )
    from steelyard.questions.measure import (
        measure as measure,
    )
    from steelyard.questions.rank import (
        rank as rank,
    )
    from steelyard.questions.read import (
        read as read,
    )
    from steelyard.questions.repeatability import (
        RepeatabilityOptions as RepeatabilityOptions,
        repeatability as repeatability,
    )
    from steelyard.questions.report import (
        ReportOptions as ReportOptions,
        report as report,
    )
    from steelyard.questions.run import (
        RunOptions as RunOptions,
        run as run,
    )
    from steelyard.questions.run_list import (
        RunListOptions as RunListOptions,
        run_list as run_list,
    )
    from steelyard.questions.run_show import (
        RunShowOptions as RunShowOptions,
        run_show as run_show,
    )
    from steelyard.questions.show import (
        ShowOptions as ShowOptions,
        show as show,
    )
    from steelyard.questions.speedup import (
        SpeedupOptions as SpeedupOptions,
        speedup as speedup,
    )
    from steelyard.questions.token import (
        create_token as create_token,
        list_tokens as list_tokens,
        revoke_token as revoke_token,
    )
    from steelyard.questions.usage import (
        UsageOptions as UsageOptions,
        usage as usage,
    )
    from steelyard.records import (
        Finding as Finding,
        Missing as Missing,
        Run as Run,
        Submission as Submission,
        Task as Task,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
    __all__ += ["__version__"]
