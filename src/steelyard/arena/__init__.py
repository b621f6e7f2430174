"""The arena: submissions scored against the living baseline of their task, ranked, and never lost."""
