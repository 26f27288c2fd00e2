"""What a model looks at, for people to see."""
