"""Events in the outbox, and how they reach their targets."""
