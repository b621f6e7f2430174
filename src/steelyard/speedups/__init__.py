"""From timings of nop, oracle and agents to speedups, advantages and how sure they are."""
