"""The likeliest words of many rows: the largest numbers of each, and what all of its chances sum up to."""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.functions import exp
from regard.decoding.compiled.source.tiles import largest_of_block
from regard.decoding.compiled.source.words import FAST, ZERO, floats, whole

NONE = np.float32(-np.inf)


@njit(**FAST)
def largest(x, start, stop):
    """The largest of a block of numbers, or of the last ones."""
    if stop - start == at.BLOCK:
        return largest_of_block(x + 4 * start)
    most, numbers = NONE, floats(x)
    for i in range(start, stop):
        most = numbers[i] if numbers[i] > most else most
    return most


@njit(**FAST)
def chances(x, words, most):
    """Σ exp(x - most)"""
    total = ZERO
    for i in range(words):
        total += exp(x[i] - most)
    return total


@njit(**FAST)
def insert(number, column, values, columns, count):
    """Take a number in among the largest so far, which are in order; the least of them goes."""
    place = count - 1
    while place > 0 and number > values[place - 1]:
        values[place], columns[place] = values[place - 1], columns[place - 1]
        place -= 1
    values[place], columns[place] = number, column


@njit(**FAST)
def rank_row(place, words, count, values, columns):
    """The `count` largest of a row of logits, the first of equal ones first; given back is Σ exp(x - the largest)."""
    x = floats(place)
    for i in range(count):
        values[i], columns[i] = NONE, i
    for start in range(0, words, at.BLOCK):
        stop = min(words, start + at.BLOCK)
        if largest(place, start, stop) > values[count - 1]:
            for i in range(start, stop):
                if x[i] > values[count - 1]:
                    insert(x[i], i, values, columns, count)
    return chances(x, words, values[0])


@njit(**FAST)
def rank(call):
    """For every row of logits its `count` largest, and Σ exp(x - the largest)."""
    words, count = call[at.RANK_WORDS], call[at.RANK_COUNT]
    totals = floats(call[at.RANK_TOTALS])
    for row in range(call[at.RANK_ROWS]):
        values = floats(call[at.RANK_VALUES] + 4 * row * count)
        columns = whole(call[at.RANK_COLUMNS] + 8 * row * count)
        totals[row] = rank_row(call[at.RANK_LOGITS] + 4 * row * words, words, count, values, columns)
