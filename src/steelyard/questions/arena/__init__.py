"""Questions about an arena: `history.py` contains `arena_history`, the command `steelyard arena history`.

They take an arena, the address of its store, or a server (`sy.connect`).
"""
