"""The decoding step as machine code: of a few rows it reads weights as fast as the memory gives them.

For one to a few rows a step of torch is some hundred small calls, and its products read weights at a third of the
memory's speed. Here the whole step of a Transformer decoder is one function, in float32 or with weights in eight bits.
It works on the same memory, so that any step may be this one or torch's; sources and prompts are read by it, too.
Where torch has to read them, it is lent the products in eight bits.

source          the step in plain loops, compiled by numba once for this machine, by a process of its own
layout          the tables through which both sides understand each other
machine_code    the compiled file in the cache, made where it is missing, loaded without numba
plan            what of a model is covered, and where its weights are
packing         weights as panels, for many rows
positions       where rows stand, and what they see
team            the threads that share a step
caller          one call: its table is filled in, and there is room for what it writes
leap            several steps of a search in one call
stepper         one step, a block of a prompt, or several steps of a search
reader          sources, and what a decoder remembers of them
images          patches of images, where nothing is learnt
product         one product in eight bits
ranking         the likeliest words of many rows
steps           which steps are compiled, and which blocks of prompts
"""
