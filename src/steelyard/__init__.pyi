from .client import connect as connect
from .demo import demo_runs as demo_runs
from .errors import SteelyardError as SteelyardError
from .profiles import Profile as Profile, load_profile as load_profile
from .questions import (
    Arena as Arena,
    MeasureOptions as MeasureOptions,
    RankOptions as RankOptions,
    ReadOptions as ReadOptions,
    TaskFiles as TaskFiles,
    init_arena as init_arena,
    open_arena as open_arena,
)
from .questions._transcripts import steps as steps
from .questions.arena.upgrade import arena_upgrade as arena_upgrade
from .questions.compare import CompareOptions as CompareOptions, compare as compare
from .questions.completeness import CompletenessOptions as CompletenessOptions, completeness as completeness
from .questions.explain import ExplainOptions as ExplainOptions, explain as explain
from .questions.failures import FailuresOptions as FailuresOptions, failures as failures
from .questions.find import FindOptions as FindOptions, find as find
from .questions.gate import GateOptions as GateOptions, gate as gate
from .questions.integrity import IntegrityOptions as IntegrityOptions, integrity as integrity
from .questions.judges import JudgesOptions as JudgesOptions, judges as judges
from .questions.mapping import suggest_mapping as suggest_mapping
from .questions.matrix import MatrixOptions as MatrixOptions, matrix as matrix
from .questions.measure import measure as measure
from .questions.power import power as power
from .questions.rank import rank as rank
from .questions.read import read as read
from .questions.repeatability import RepeatabilityOptions as RepeatabilityOptions, repeatability as repeatability
from .questions.report import ReportOptions as ReportOptions, report as report
from .questions.run import RunOptions as RunOptions, run as run
from .questions.run_list import RunListOptions as RunListOptions, run_list as run_list
from .questions.run_show import RunShowOptions as RunShowOptions, run_show as run_show
from .questions.show import ShowOptions as ShowOptions, show as show
from .questions.show_steps import ShowStepsOptions as ShowStepsOptions, show_steps as show_steps
from .questions.speedup import SpeedupOptions as SpeedupOptions, speedup as speedup
from .questions.token import create_token as create_token, list_tokens as list_tokens, revoke_token as revoke_token
from .questions.usage import UsageOptions as UsageOptions, usage as usage
from .records import Finding as Finding, Missing as Missing, Run as Run, Submission as Submission, Task as Task
from .version import __version__ as __version__
