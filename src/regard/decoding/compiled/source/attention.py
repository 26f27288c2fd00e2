"""One head of one row: softmax(q Kᵀ) V over what the memory holds."""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.functions import exp
from regard.decoding.compiled.source.heads import call_four, mix_four, score_four, weigh_eights
from regard.decoding.compiled.source.products import dot
from regard.decoding.compiled.source.words import FAST, ONE, ZERO, floats, marks, whole

NONE = np.float32(-np.inf)
EIGHT = 8


@njit(**FAST)
def turn(x, out, turns, position, width):
    """Each pair turned by its angle, as rotary positions do; the table holds cos, sin for every pair."""
    start = position * width
    for i in range(0, width, 2):
        cos, sin = turns[start + i], turns[start + i + 1]
        out[i] = x[i] * cos - x[i + 1] * sin
        out[i + 1] = x[i] * sin + x[i + 1] * cos


@njit(**FAST)
def score(scores, count, query, keys, stride, start, stop, width, ahead):
    """q · k for the keys from start to stop, noted from `count` on; query, scores and keys are addresses.

    Four at a time: where fewer are left the last one is taken again, and noted behind the others for nobody. What lies
    so many bytes `ahead` of each key will be needed next.
    """
    i, gap, last = start, 4 * stride, stop - 1
    while i < stop and width % 8 == 0:
        key, two = keys + i * gap, keys + min(i + 1, last) * gap
        three, four = keys + min(i + 2, last) * gap, keys + min(i + 3, last) * gap
        call_four(key + ahead, two + ahead, three + ahead, four + ahead, width)
        score_four(query, key, two, three, four, width, scores + 4 * (count + i - start))
        i += 4
    while i < stop:
        floats(scores)[count + i - start] = dot(floats(query), floats(keys + i * gap), width)
        i += 1
    return count + stop - start


@njit(**FAST)
def weigh(scores, count):
    """Weights before they are divided by their sum, which is given back; exactly 0 where nothing may be seen."""
    most = NONE
    for i in range(count):
        most = scores[i] if scores[i] > most else most
    if most == NONE:
        most = ZERO  # nothing is seen, or nothing is a number
    total = ZERO
    for i in range(count):
        weight = exp(scores[i] - most)
        weight = ZERO if scores[i] == NONE else weight
        scores[i] = weight
        total += weight
    return total


@njit(**FAST)
def weigh_few(scores, count):
    """The same of an address behind which there is room: what fills up the last eight is 0."""
    noted, whole_count = floats(scores), (count + EIGHT - 1) // EIGHT * EIGHT
    for i in range(count, whole_count):
        noted[i] = NONE
    return weigh_eights(scores, whole_count)


@njit(**FAST)
def mix(out, scores, count, values, stride, start, stop, fours, width, ahead):
    """out += Σ_i weight_i v_i for the values from start to stop; all are addresses.

    Those before `fours` are taken four at a time: where weights behind the last are 0, all, the last one again. What
    lies so many bytes `ahead` of each will be needed next.
    """
    i, gap, last = start, 4 * stride, stop - 1
    while i < fours and width % 8 == 0:
        value, two = values + i * gap, values + min(i + 1, last) * gap
        three, four = values + min(i + 2, last) * gap, values + min(i + 3, last) * gap
        call_four(value + ahead, two + ahead, three + ahead, four + ahead, width)
        mix_four(out, value, two, three, four, width, scores + 4 * (count + i - start))
        i += 4
    while i < stop:
        mix_one(out, values + i * gap, floats(scores)[count + i - start], width)
        i += 1
    return count + stop - start


@njit(**FAST)
def mix_one(out, value, weight, width):
    """out += weight · v"""
    mixed, numbers = floats(out), floats(value)
    for j in range(width):
        mixed[j] += weight * numbers[j]


@njit(**FAST)
def divide(out, total, width):
    """Weights sum to one; who sees nothing gets zeros."""
    share = ONE / total if total != ZERO else ZERO
    for j in range(width):
        out[j] *= share


@njit(**FAST)
def slant(scores, row, first, slope):
    """Alibi: a score loses its head's slope for every step of distance."""
    position, low, columns = row[at.POSITION], row[at.LOW], row[at.STOP]
    for i in range(first):
        scores[i] -= slope * np.float32(position - i)
    for i in range(low, columns):
        scores[first + i - low] -= slope * np.float32(columns - i)


@njit(**FAST)
def columns_at(call, scratch):
    """Where in a thread's own room columns are noted: behind a query, a key and the scores, which whole eights hold."""
    return scratch + 8 * call[at.HEAD_WIDTH] + 8 * (call[at.SPAN] // 2 + EIGHT)


@njit(**FAST)
def note_own(call, number, scratch):
    """Where several hypotheses wrote, each sees its own line only: its columns are noted, and counted."""
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    seen, columns, count = marks(row[at.SEEN]), whole(columns_at(call, scratch)), 0
    for i in range(row[at.LOW], row[at.STOP]):
        columns[count] = i
        count += 1 if seen[i] != 0 else 0
    return count


@njit(**FAST)
def score_own(scores, columns, count, query, keys, stride, row, width, slope, ahead):
    """q · k for the columns that were noted, the last of them again where fewer than four are left; addresses."""
    i, gap, noted, last = 0, 4 * stride, floats(scores), count - 1
    while i < count and width % 8 == 0:
        one, two = keys + columns[i] * gap, keys + columns[min(i + 1, last)] * gap
        three, four = keys + columns[min(i + 2, last)] * gap, keys + columns[min(i + 3, last)] * gap
        call_four(one + ahead, two + ahead, three + ahead, four + ahead, width)
        score_four(query, one, two, three, four, width, scores + 4 * i)
        i += 4
    while i < count:
        noted[i] = dot(floats(query), floats(keys + columns[i] * gap), width)
        i += 1
    if slope != ZERO:
        stands, position = whole(row[at.AT]), row[at.POSITION]
        for k in range(count):
            noted[k] -= slope * np.float32(position - stands[columns[k]])


@njit(**FAST)
def mix_own(out, scores, columns, count, values, stride, width, ahead):
    """out += Σ_i weight_i v_i for the columns that were noted, four at a time; weights behind the last are 0."""
    i, gap, last = 0, 4 * stride, count - 1
    while i < count and width % 8 == 0:
        one, two = values + columns[i] * gap, values + columns[min(i + 1, last)] * gap
        three, four = values + columns[min(i + 2, last)] * gap, values + columns[min(i + 3, last)] * gap
        call_four(one + ahead, two + ahead, three + ahead, four + ahead, width)
        mix_four(out, one, two, three, four, width, scores + 4 * i)
        i += 4
    while i < count:
        mix_one(out, values + columns[i] * gap, floats(scores)[i], width)
        i += 1


@njit(**FAST)
def keep(past, row, group, key, value, width):
    """Write a new key and value where the memory has room for them."""
    place = row[at.PLACE] * past[at.ROW_STRIDE] + group * past[at.HEAD_STRIDE] + row[at.OWN] * past[at.STRIDE]
    keys, values = floats(past[at.KEYS] + 4 * place), floats(past[at.VALUES] + 4 * place)
    for j in range(width):
        keys[j], values[j] = key[j], value[j]
    if row[at.FIRST_OWN] >= 0:
        place = row[at.PLACE] * past[at.FIRST_ROW_STRIDE] + group * past[at.FIRST_HEAD_STRIDE]
        place += row[at.FIRST_OWN] * past[at.FIRST_STRIDE]
        keys, values = floats(past[at.FIRST_KEYS] + 4 * place), floats(past[at.FIRST_VALUES] + 4 * place)
        for j in range(width):
            keys[j], values[j] = key[j], value[j]


@njit(**FAST)
def finish(noting, count, query, key, out, value, width):
    """The row's own key comes last; all become weights, and the mixture begins with its own value.

    What then stands behind the others are zeros.
    """
    scores = floats(noting)
    scores[count] = dot(query, key, width)
    total = weigh_few(noting, count + 1)
    own = scores[count]
    for j in range(width):
        out[j] = own * value[j]
    for i in range(count, count + 4):
        scores[i] = ZERO
    return total


@njit(**FAST)
def attend(call, past, number, head, scratch, noted):
    """Self-attention of one head: its key and value are kept, then all that the row sees is mixed.

    Where hypotheses see their own lines, so many columns were noted for this row.
    """
    heads, groups, width = call[at.HEADS], call[at.GROUPS], call[at.HEAD_WIDTH]
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    share = heads // groups
    group = head // share
    asked = call[at.ASKED] + 4 * number * (heads + 2 * groups) * width
    query, key = floats(asked + 4 * head * width), floats(asked + 4 * (heads + group) * width)
    value = floats(asked + 4 * (heads + groups + group) * width)
    own_query, own_key, noting = floats(scratch), floats(scratch + 4 * width), scratch + 8 * width
    if call[at.TURNS] != 0:
        turn(query, own_query, floats(call[at.TURNS]), row[at.POSITION], width)
        turn(key, own_key, floats(call[at.TURNS]), row[at.POSITION], width)
    else:
        for j in range(width):
            own_query[j], own_key[j] = query[j], key[j]
    scale = floats(call[at.NUMBERS])[at.SCALE]
    for j in range(width):
        own_query[j] *= scale
    if head % share == 0:
        keep(past, row, group, own_key, value, width)
    place = 4 * (row[at.PLACE] * past[at.ROW_STRIDE] + group * past[at.HEAD_STRIDE])
    slope = ZERO if call[at.SLOPES] == 0 else floats(call[at.SLOPES])[head]
    mixed = call[at.MIXED] + 4 * (number * heads + head) * width
    out = floats(mixed)
    values, following = past[at.VALUES] - past[at.KEYS], past[at.KEYS] - past[at.VALUES] + 4 * past[at.HEAD_STRIDE]
    if row[at.SEEN] != 0:
        columns, stride = whole(columns_at(call, scratch)), past[at.STRIDE]
        score_own(noting, columns, noted, scratch, past[at.KEYS] + place, stride, row, width, slope, values)
        total = finish(noting, noted, own_query, own_key, out, value, width)
        mix_own(mixed, noting, columns, noted, past[at.VALUES] + place, stride, width, following)
        divide(out, total, width)
        return
    first, nothing, between = row[at.FIRST], call[at.NOTHING], past[at.FIRST_STRIDE]
    apart = 4 * (row[at.PLACE] * past[at.FIRST_ROW_STRIDE] + group * past[at.FIRST_HEAD_STRIDE])
    stride, low, stop = past[at.STRIDE], row[at.LOW], row[at.STOP]
    count = score(noting, nothing, scratch, past[at.FIRST_KEYS] + apart, between, nothing, first, width, nothing)
    count = score(noting, count, scratch, past[at.KEYS] + place, stride, low, stop, width, values)
    if slope != ZERO:
        slant(floats(noting), row, first, slope)
    total = finish(noting, count, own_query, own_key, out, value, width)
    held, fours = past[at.FIRST_VALUES] + apart, first - 3
    count = mix(mixed, noting, nothing, held, between, nothing, first, fours, width, nothing)
    mix(mixed, noting, count, past[at.VALUES] + place, stride, low, stop, stop, width, following)
    divide(out, total, width)


@njit(**FAST)
def attend_source(call, past, number, head, scratch):
    """Cross-attention of one head to what was read of the source: all of it is seen, and nothing is written."""
    heads, width = call[at.CROSS_HEADS], call[at.CROSS_HEAD_WIDTH]
    row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
    group, own = head // (heads // call[at.CROSS_GROUPS]), 4 * (number * heads + head) * width
    place = 4 * (row[at.SOURCE] * past[at.SOURCE_ROW_STRIDE] + group * past[at.SOURCE_HEAD_STRIDE])
    keys, values, stride = past[at.SOURCE_KEYS] + place, past[at.SOURCE_VALUES] + place, past[at.SOURCE_STRIDE]
    query, own_query, scale = floats(call[at.ASKED] + own), floats(scratch), floats(call[at.NUMBERS])[at.CROSS_SCALE]
    nothing, noting, stop, out = call[at.NOTHING], scratch + 8 * width, row[at.SOURCE_LENGTH], call[at.MIXED] + own
    mixed = floats(out)
    for j in range(width):
        own_query[j], mixed[j] = query[j] * scale, ZERO
    score(noting, nothing, scratch, keys, stride, nothing, stop, width, values - keys)
    total = weigh_few(noting, stop)
    following = keys - values + 4 * past[at.SOURCE_HEAD_STRIDE]
    mix(out, noting, nothing, values, stride, nothing, stop, stop, width, following)
    divide(mixed, total, width)
