"""GGUF files: a table of values, then tensors in few bits. The head is parsed here, and trusted in nothing."""
