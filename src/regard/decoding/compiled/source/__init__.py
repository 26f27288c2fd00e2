"""The step as it is compiled: plain loops that numba turns into machine code. Imported only where that is made.

words       what numba has no words for: addresses, counters that threads share, waiting
functions   exp and the activations
products    vectors times a matrix, in float32 or with weights in eight bits
vectors     the innermost loop of a few vectors
many        the same of many vectors
laying      how these are laid side by side
tiles       the innermost loops of many vectors
rank        the likeliest words
norms       LayerNorm and RMSNorm
attention   one head of one row, over what the memory holds
experts     which MLPs work on a row, and what they say together
sharing     how threads share the work of a phase
beam        a beam search between two steps
step        one decoding step of a whole model, or one after another
make        from here to a file
"""
