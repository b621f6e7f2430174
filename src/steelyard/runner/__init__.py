"""Runner of plans: a plan expands to trials; a trial has one or more executions and produces one Run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.runner._adapters import adapters as adapters
    from steelyard.runner._executor import (
        command_shown as command_shown,
    )
    from steelyard.runner._harbor import (
        write_harbor_job as write_harbor_job,
    )
    from steelyard.runner._plan import (
        PlanRead as PlanRead,
        load_plan as load_plan,
        plan_schema as plan_schema,
    )
    from steelyard.runner._plan_folder import (
        PlanFolder as PlanFolder,
        known_lock as known_lock,
    )
    from steelyard.runner._plan_records import (
        AgentUse as AgentUse,
        Budget as Budget,
        Endpoint as Endpoint,
        JudgeUse as JudgeUse,
        Measure as Measure,
        Plan as Plan,
        PlanTask as PlanTask,
        Tier as Tier,
        Verify as Verify,
    )
    from steelyard.runner._plan_run import (
        OpenedPlan as OpenedPlan,
        RunSettings as RunSettings,
        TrialState as TrialState,
        cost_of_executions as cost_of_executions,
        forecasts as forecasts,
        list_trials as list_trials,
        missing_here as missing_here,
        open_plan as open_plan,
        run_plan as run_plan,
        run_trial as run_trial,
        spending_of as spending_of,
        trial_states as trial_states,
    )
    from steelyard.runner._scheduler import (
        PlanProgress as PlanProgress,
    )
    from steelyard.runner._trial_records import (
        Ending as Ending,
        ExecutionOutcome as ExecutionOutcome,
        ExecutionResult as ExecutionResult,
        Trial as Trial,
        TrialResult as TrialResult,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
