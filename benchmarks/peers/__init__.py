"""Other toolkits, each in a file of its own: a model of the same shape, doing the same work.

`prepare_…` functions give a callable that does one turn of work and returns how many tokens that was,
so that equal work can be checked and rates compared.
"""
