"""How to learn: one explicit loop, its optimisers and schedules."""
