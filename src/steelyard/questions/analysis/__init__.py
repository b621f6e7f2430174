"""Statistics of compare, rank, gate and matrix."""
