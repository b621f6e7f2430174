from ._examples import EXAMPLES as EXAMPLES, demo_files as demo_files
from ._runs import EXPERIMENT as EXPERIMENT, demo_runs as demo_runs
