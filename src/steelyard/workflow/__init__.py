"""The verbs: where the layers are joined."""

from steelyard.workflow.measure import measure

__all__ = ["measure"]
