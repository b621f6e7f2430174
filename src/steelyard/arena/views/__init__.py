"""What people ask of an arena: leaderboard, leaders, history, evaluations, other profiles."""
