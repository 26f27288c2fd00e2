"""The examples of the notes, made here: small models that learn them, looked at, and what the numbers say."""
