"""The step as it is compiled: plain loops that numba turns into machine code. Imported only where that is made.

words       what numba has no words for: addresses, counters that threads share, waiting
functions   exp and the activations
products    vectors times a matrix, in float32 or with weights in eight bits
vectors     the innermost loop of a few vectors
packed      many vectors times packed weights
passing     the same by weights that are packed in passing, for large models
panels      the innermost loops of packed weights
eighths     those of weights in eight bits
many        many vectors times weights as they stand
laying      how these are laid side by side
tiles       the innermost loops of many vectors
rank        the likeliest words
norms       LayerNorm and RMSNorm
attention   one head of one row, over what the memory holds
heads       its innermost loops
together    many positions of a row at once, as those of a prompt
experts     which MLPs work on a row, and what they say together
sharing     how threads share the work of a phase
search      a search between two steps
encoder     sentences and images that are read: rows go by themselves from one look to the next
step        one decoding step of a whole model, or one after another
linking     all of it as one module, optimised once
make        from here to a file
"""
