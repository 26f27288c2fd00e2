"""Positions that look together, as those of a prompt, a sentence or an image do: softmax(Q Kᵀ) V by panels.

Keys are packed once for the positions of a tile and all heads that share them; values are read as they lie. What a
position may not see is scored with the rest and weighs exactly nothing.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.attention import divide, keep, turn, weigh, weigh_few
from regard.decoding.compiled.source.packed import AT_ONCE, add_up, copy_edge, edge_room
from regard.decoding.compiled.source.panels import PANEL
from regard.decoding.compiled.source.passing import bias_room, turn_lines
from regard.decoding.compiled.source.tiles import room
from regard.decoding.compiled.source.words import FAST, ONE, ZERO, floats, whole

totals_room = room(at.TILE)


@njit(**FAST)
def make_ready(call, past, number, scratch):
    """Queries of one row turned and scaled where they stand; its keys and values are kept."""
    heads, groups, width = call[at.HEADS], call[at.GROUPS], call[at.HEAD_WIDTH]
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    asked, turned = call[at.ASKED] + 4 * number * (heads + 2 * groups) * width, floats(scratch)
    scale = floats(call[at.NUMBERS])[at.SCALE]
    for head in range(heads + groups):
        numbers, factor = floats(asked + 4 * head * width), scale if head < heads else ONE
        if call[at.TURNS] != 0:
            turn(numbers, turned, floats(call[at.TURNS]), row[at.POSITION], width)
            for j in range(width):
                numbers[j] = turned[j] * factor
        else:
            for j in range(width):
                numbers[j] *= factor
    for group in range(groups):
        key, value = asked + 4 * (heads + group) * width, asked + 4 * (heads + groups + group) * width
        keep(past, row, group, floats(key), floats(value), width)


@njit(**FAST)
def clear(bias):
    """Nothing is added to what a panel comes to."""
    numbers = floats(bias)
    for o in range(PANEL):
        numbers[o] = ZERO


@njit(**FAST)
def lines_of(call, scratch):
    """In a thread's own room: a panel of keys, one of all values that are seen, and scores; addresses."""
    values = scratch + 4 * at.WIDEST * call[at.HEAD_WIDTH]
    return scratch, values, values + 4 * at.WIDEST * (call[at.SPAN] + at.TILE)


@njit(**FAST)
def seen_by(row, low):
    """How many columns from `low` on end with a row's own."""
    return row[at.STOP] + 1 - low


@njit(**FAST)
def weigh_row(row, low, columns, scores, slope):
    """Scores of one row become weights, whose sum is given back: what it does not see is zero."""
    stop, first, numbers = seen_by(row, low), row[at.LOW] - low, floats(scores)
    if slope != ZERO:
        for i in range(first, stop):
            numbers[i] -= slope * np.float32(stop - 1 - i)
    for i in range(first):
        numbers[i] = ZERO
    for i in range(stop, columns):
        numbers[i] = ZERO
    return weigh(floats(scores + 4 * first), stop - first)


@njit(**FAST)
def score_tile(call, keys, between, number, count, group, columns, seen, stride, scratch):
    """Scores of some positions and all heads that share keys, a panel of keys at a time.

    Keys are so many numbers apart; of the columns the first position has `seen` so many, each further one one more.
    """
    heads, groups, width = call[at.HEADS], call[at.GROUPS], call[at.HEAD_WIDTH]
    panel, _, scores = lines_of(call, scratch)
    share, nothing = heads // groups, call[at.NOTHING]
    bias, apart, line = bias_room(), 4 * PANEL, 4 * (heads + 2 * groups) * width
    clear(bias)
    for key in range(0, columns, PANEL):
        turn_lines(keys + 4 * key * between, between, min(PANEL, columns - key), width, panel)
        begin = max(0, key + 1 - seen) // AT_ONCE * AT_ONCE  # those before see none of these keys
        for head in range(share):
            asked = call[at.ASKED] + number * line + 4 * (group * share + head) * width
            out = scores + 4 * (head * count * stride + key)
            for first in range(begin, count, AT_ONCE):
                here, x, to = min(AT_ONCE, count - first), asked + first * line, out + 4 * first * stride
                add_up(panel, apart, nothing, bias, x, line, here, width, to, 4 * stride, nothing)


@njit(**FAST)
def mix_head(call, values, between, number, count, head, columns, seen, stride, scores, scratch):
    """Values weighed for some positions of one head, a panel of their columns at a time; they are so far apart."""
    heads, width, nothing, edge = call[at.HEADS], call[at.HEAD_WIDTH], call[at.NOTHING], edge_room()
    _, panel, _ = lines_of(call, scratch)
    bias = bias_room()
    clear(bias)
    out, apart = call[at.MIXED] + 4 * (number * heads + head) * width, 4 * heads * width
    for column in range(0, width, PANEL):
        given, gap, wide = values + 4 * column, 4 * between, min(PANEL, width - column)
        if wide < PANEL:
            copy_values(given, between, wide, columns, panel)
            given, gap = panel, 4 * PANEL
        for first in range(0, count, AT_ONCE):
            here = min(AT_ONCE, count - first)
            x, to, size = scores + 4 * first * stride, out + first * apart, min(columns, seen + first + here - 1)
            if wide == PANEL:
                add_up(given, gap, nothing, bias, x, 4 * stride, here, size, to + 4 * column, apart, nothing)
            else:
                add_up(given, gap, nothing, bias, x, 4 * stride, here, size, edge, 4 * PANEL, nothing)
                copy_edge(edge, here, column, column, width, to, heads * width, nothing)


@njit(**FAST)
def copy_values(values, stride, wide, count, panel):
    """The last columns of values as a panel that is filled up with zeros."""
    for i in range(count):
        given, written = floats(values + 4 * i * stride), floats(panel + 4 * i * PANEL)
        for j in range(PANEL):
            written[j] = given[j] if j < wide else ZERO


@njit(**FAST)
def attend_together(call, past, number, count, group, scratch):
    """Self-attention of some positions that follow each other, for all heads that share keys and values."""
    heads, width = call[at.HEADS], call[at.HEAD_WIDTH]
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    low, share, between = row[at.LOW], heads // call[at.GROUPS], past[at.STRIDE]
    seen = seen_by(row, low)
    columns = seen + count - 1
    stride = (columns + PANEL - 1) // PANEL * PANEL
    place = row[at.PLACE] * past[at.ROW_STRIDE] + group * past[at.HEAD_STRIDE] + low * between
    keys, values = past[at.KEYS] + 4 * place, past[at.VALUES] + 4 * place
    score_tile(call, keys, between, number, count, group, columns, seen, stride, scratch)
    _, _, scores = lines_of(call, scratch)
    held = totals_room()
    totals = floats(held)
    for head in range(group * share, (group + 1) * share):
        slope = ZERO if call[at.SLOPES] == 0 else floats(call[at.SLOPES])[head]
        these = scores + 4 * (head - group * share) * count * stride
        for i in range(count):
            seeing = whole(call[at.ROW_TABLE] + 8 * (number + i) * at.ROW_SIZE)
            totals[i] = weigh_row(seeing, low, columns, these + 4 * i * stride, slope)
        mix_head(call, values, between, number, count, head, columns, seen, stride, these, scratch)
        for i in range(count):
            divide(floats(call[at.MIXED] + 4 * ((number + i) * heads + head) * width), totals[i], width)


@njit(**FAST)
def attend_all_together(call, number, count, group, scratch):
    """Self-attention of some positions of a sentence or an image, each of which sees all; nothing is kept."""
    heads, groups, width = call[at.HEADS], call[at.GROUPS], call[at.HEAD_WIDTH]
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    share, between, columns = heads // groups, (heads + 2 * groups) * width, row[at.STOP] - row[at.LOW]
    stride, scale = (columns + PANEL - 1) // PANEL * PANEL, floats(call[at.NUMBERS])[at.SCALE]
    keys = call[at.ASKED] + 4 * (row[at.LOW] * between + (heads + group) * width)
    values = keys + 4 * groups * width
    for i in range(count):
        queries = floats(call[at.ASKED] + 4 * ((number + i) * between + group * share * width))
        for j in range(share * width):
            queries[j] *= scale
    score_tile(call, keys, between, number, count, group, columns, columns, stride, scratch)
    _, _, scores = lines_of(call, scratch)
    held = totals_room()
    totals = floats(held)
    for head in range(group * share, (group + 1) * share):
        these = scores + 4 * (head - group * share) * count * stride
        for i in range(count):
            totals[i] = weigh_few(these + 4 * i * stride, columns)
        mix_head(call, values, between, number, count, head, columns, columns, stride, these, scratch)
        for i in range(count):
            divide(floats(call[at.MIXED] + 4 * ((number + i) * heads + head) * width), totals[i], width)
