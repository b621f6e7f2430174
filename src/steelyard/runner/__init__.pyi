from ._adapters import adapters as adapters
from ._harbor import write_harbor_job as write_harbor_job
from ._plan import PlanRead as PlanRead, load_plan as load_plan, plan_schema as plan_schema
from ._plan_executor import command_shown as command_shown
from ._plan_folder import PlanFolder as PlanFolder, known_lock as known_lock
from ._plan_records import (
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
from ._plan_run import (
    OpenedPlan as OpenedPlan,
    RunSettings as RunSettings,
    TrialState as TrialState,
    forecasts as forecasts,
    known_amounts as known_amounts,
    list_trials as list_trials,
    missing_here as missing_here,
    open_plan as open_plan,
    run_plan as run_plan,
    run_trial as run_trial,
    spending_of as spending_of,
    trial_states as trial_states,
)
from ._scheduler import PlanProgress as PlanProgress
from ._trial_records import (
    Ending as Ending,
    ExecutionOutcome as ExecutionOutcome,
    ExecutionResult as ExecutionResult,
    Trial as Trial,
    TrialResult as TrialResult,
)
