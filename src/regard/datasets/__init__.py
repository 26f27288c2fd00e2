"""What to learn: sentence pairs, tokens, batches."""
