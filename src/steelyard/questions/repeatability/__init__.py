"""Measure how repeatable outputs are, before and after repair.

Outputs of the same prompt are compared with each other and with a reference output (canon), which is the first output
that meets the contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from steelyard.questions._options import MapOptions, ProfileName
from steelyard.questions._question import Names, doc, question
from steelyard.questions._run_input import PathInput, RunsInput
from steelyard.questions.repeatability._answer import PromptResult as PromptResult, Repeatability as Repeatability
from steelyard.questions.repeatability._page import page as page
from steelyard.records import Run

RepeatabilityInput: TypeAlias = RunsInput | Sequence[PathInput | Run]


class RepeatabilityOptions(MapOptions):
    """Options of `repeatability`."""

    contract: Path | None = doc(
        "Contract: a TOML or JSON file with the requirements for outputs, or a directory of contracts matched "
        "to tasks by id.",
        default=None,
        local=True,
    )
    prompt: str | None = doc("Only this prompt.", default=None)
    tau: float | None = doc(
        "Maximum distance at which an output counts as near the canon (default: the profile's, 0.10).",
        default=None,
    )
    normalize: str | None = doc(
        "Normalization: text, ast, tree or names (default: from the contract or language).",
        default=None,
    )
    language: str | None = doc("Default language of outputs that do not specify one.", default=None)
    repair: bool = doc("Repair outputs toward the canon.", default=True, local=True)
    by: Names = doc(
        "Comma-separated grouping keys; outputs in the same group are compared with each other.",
        default=("task", "agent", "model"),
    )
    code: bool = doc("Include the code of every output, before and after repair, in JSON and CSV.", default=False)
    profile: ProfileName = doc(
        "Scoring profile: a built-in name (see: steelyard profiles) or a TOML file.",
        default="repeatability-1",
    )
    store: str | None = doc(
        "Store URL for canons: sqlite:///FILE, postgresql://USER@HOST/NAME (default: none).",
        default=None,
        local=True,
    )
    csv_dir: Path | None = doc(
        "Directory for CSV files of distances, repairs and metrics, written prompt by prompt.",
        default=None,
        local=True,
    )
    no_sandbox: bool = doc(
        "If no sandbox is available, run code anyway, with only resource limits.",
        default=False,
        local=True,
    )


@question(
    RepeatabilityOptions,
    examples=({"": "outputs/", "contract": "binary_search.toml"},),
    all_parts="Also show every output, pairs of outputs, further metrics and canons.",
    input_help="Run records with output.text (- for stdin), directories of output files, or SKYT experiment files.",
)
def repeatability(outputs: RepeatabilityInput, options: RepeatabilityOptions) -> Repeatability:
    """Measure how repeatable the outputs of each prompt are.

    Outputs are files of run records with `output.text`, folders of output files, SKYT experiment files, or Runs.

    >>> import steelyard as sy
    >>> answers = [{"task": "t", "output": {"language": "python", "text": text}} for text in ("x = 1", "x=1", "x = 2")]
    >>> repeated = sy.repeatability(answers, repair=False)
    >>> round(repeated.prompts[0].metrics["r_raw"], 4)
    0.6667
    """
    from steelyard.questions.repeatability._measurement import measure_prompts  # brings rapidfuzz

    return measure_prompts(outputs, options)
