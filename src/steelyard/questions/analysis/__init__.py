"""Statistics of compare, rank, gate and matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.doors import open_door

if TYPE_CHECKING:
    from steelyard.questions.analysis._differences import (
        Difference as Difference,
        StatisticsOptions as StatisticsOptions,
        difference as difference,
    )
    from steelyard.questions.analysis._intervals import (
        check_method as check_method,
    )
    from steelyard.questions.analysis._samples import (
        Mask as Mask,
        Samples as Samples,
        TaskMeans as TaskMeans,
        chosen_rows as chosen_rows,
        comparable as comparable,
        counted_otherwise as counted_otherwise,
        groups_of as groups_of,
        joined as joined,
        pooled as pooled,
        read_filter as read_filter,
        samples_of as samples_of,
        scores_of as scores_of,
    )
    from steelyard.questions.analysis._weightings import (
        uneven_groups as uneven_groups,
        weights_differ as weights_differ,
    )
else:
    __getattr__, __dir__, __all__ = open_door(__name__)
