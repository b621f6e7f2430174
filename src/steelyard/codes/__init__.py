"""What repeatability does to source text: extract, normalise, sign, compare, check, repair."""
