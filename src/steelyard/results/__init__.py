"""What every verb gives: frozen records that turn into dictionaries, JSON and data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard._doors import open_door

if TYPE_CHECKING:
    from steelyard.results._group_explanation import (
        GroupsExplanation as GroupsExplanation,
    )
    from steelyard.results._json_shapes import (
        number as number,
        numbers as numbers,
    )
    from steelyard.results._measurement import (
        STATISTICS as STATISTICS,
        Across as Across,
        ComponentShare as ComponentShare,
        Group as Group,
        GroupValue as GroupValue,
        Measurement as Measurement,
        Statistics as Statistics,
        json_number as json_number,
    )
    from steelyard.results._read_summary import (
        FormatCount as FormatCount,
        ReadSummary as ReadSummary,
    )
    from steelyard.results._receipts import (
        CriterionResult as CriterionResult,
        Receipt as Receipt,
    )
    from steelyard.results._repeatability import (
        CanonFacts as CanonFacts,
        CsvLogs as CsvLogs,
        OutputSample as OutputSample,
        PromptResult as PromptResult,
        RepairStep as RepairStep,
        Versions as Versions,
        plain as plain,
        prompts_json as prompts_json,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
