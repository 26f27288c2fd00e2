"""How to write: greedy, by chance, or with several hypotheses at once. Over any decoder."""
