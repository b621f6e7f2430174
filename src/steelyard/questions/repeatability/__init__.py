"""The same prompt many times: contract, oracle, canon, normalization, distance, repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.questions.repeatability._canon_choice import (
        CanonCache as CanonCache,
        ChosenCanon as ChosenCanon,
        canon_of_experiment as canon_of_experiment,
        choose_canon as choose_canon,
    )
    from steelyard.questions.repeatability._distance import (
        DISTANCE_VERSION as DISTANCE_VERSION,
        signature as signature,
    )
    from steelyard.questions.repeatability._extraction import (
        EXTRACTION_VERSION as EXTRACTION_VERSION,
    )
    from steelyard.questions.repeatability._languages import (
        PYTHON as PYTHON,
        language_named as language_named,
        language_of as language_of,
    )
    from steelyard.questions.repeatability._normalization import (
        Level as Level,
        default_level as default_level,
        level_named as level_named,
    )
    from steelyard.questions.repeatability._oracle import (
        Oracle as Oracle,
        Verdict as Verdict,
        oracle_version as oracle_version,
    )
    from steelyard.questions.repeatability._prompts import (
        KEYS as KEYS,
        Contracts as Contracts,
        Prompt as Prompt,
        read_prompts as read_prompts,
    )
    from steelyard.questions.repeatability._question import (
        measure_repeatability as measure_repeatability,
        repeatability as repeatability,
    )
    from steelyard.questions.repeatability._repair import (
        ORDINARY_BUDGET as ORDINARY_BUDGET,
        REPAIR_VERSION as REPAIR_VERSION,
        RepairBudget as RepairBudget,
        Repaired as Repaired,
        repair as repair,
    )
    from steelyard.questions.repeatability._skyt_files import (
        looks_like_experiment as looks_like_experiment,
    )
    from steelyard.questions.repeatability._workbench import (
        Compared as Compared,
        Workbench as Workbench,
        pair_distances as pair_distances,
        prompt_intervals as prompt_intervals,
        prompt_metrics as prompt_metrics,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
