"""A mixture of experts: each row goes through a few MLPs that a router picks for it."""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.functions import activate, exp
from regard.decoding.compiled.source.products import laid, multiply
from regard.decoding.compiled.source.words import FAST, ZERO, floats, whole

NONE = np.float32(-np.inf)


@njit(**FAST)
def room(call, scratch):
    """Behind normed rows in a thread's own room: a matrix, and the portions of the experts; addresses."""
    matrix = scratch + 8 * ((call[at.ROWS] * call[at.WIDTH] + 1) // 2)
    return matrix, matrix + 8 * at.MATRIX


@njit(**FAST)
def route(call, layer, given, scratch):
    """Which experts work on each row, and what each counts. Every thread finds the same, and notes it in one go."""
    rows, width, experts, active = call[at.ROWS], call[at.WIDTH], call[at.EXPERTS], call[at.ACTIVE]
    _, beside = room(call, scratch)
    portions, scores = floats(beside), floats(beside + 4 * rows * active)
    chosen, single, nothing = whole(call[at.CHOSEN]), min(rows, 1), call[at.NOTHING]
    router = whole(layer + 8 * at.ROUTE)
    for row in range(rows):
        address = beside + 4 * rows * active
        x = laid(router, given + 4 * row * width, single, width, scratch + call[at.PANEL])
        multiply(router, x, single, width, nothing, experts, address, experts, nothing)
        most = NONE
        for i in range(experts):
            most = scores[i] if scores[i] > most else most
        everyone, these = ZERO, ZERO
        for i in range(experts):
            everyone += exp(scores[i] - most)
        for place in range(row * active, (row + 1) * active):
            best = 0
            for i in range(experts):
                best = i if scores[i] > scores[best] else best
            portions[place] = exp(scores[best] - most)
            these += portions[place]
            scores[best] = NONE
            chosen[place] = best
        for place in range(row * active, (row + 1) * active):
            portions[place] /= everyone if call[at.AMONG_ALL] else these


@njit(**FAST)
def expand(call, layer, given, which, start, stop, scratch):
    """Part of the inside of one expert for one row, which counts its portion; `which` counts experts of rows."""
    width, hidden, active = call[at.WIDTH], call[at.HIDDEN], call[at.ACTIVE]
    address, beside = room(call, scratch)
    matrix, gated = whole(address), call[at.ACTIVATION] == at.SWIGLU
    expert, row = whole(call[at.CHOSEN])[which], which // active
    matrix[0] = whole(layer)[at.UP] + 4 * expert * width * (2 * hidden if gated else hidden)
    matrix[1] = matrix[2] = matrix[at.PACKED] = 0
    inner, gates = call[at.INNER] + 4 * which * hidden, call[at.INNER] + 4 * (call[at.ROWS] * active + which) * hidden
    x, single, nothing = given + 4 * row * width, min(active, 1), call[at.NOTHING]
    if gated:
        multiply(matrix, x, single, width, start, stop, gates, hidden, nothing)
        multiply(matrix, x, single, width, hidden + start, hidden + stop, inner - 4 * hidden, hidden, nothing)
    else:
        multiply(matrix, x, single, width, start, stop, inner, hidden, nothing)
    values, portion = floats(inner), floats(beside)[which]
    activate(call[at.ACTIVATION], values, floats(gates), start, stop)
    for i in range(start, stop):
        values[i] *= portion


@njit(**FAST)
def gather(call, layer, start, stop, scratch):
    """x + Σ of what the experts of each row say, for the outputs from start to stop."""
    width, hidden, active, x = call[at.WIDTH], call[at.HIDDEN], call[at.ACTIVE], call[at.X]
    matrix, chosen = whole(room(call, scratch)[0]), whole(call[at.CHOSEN])
    matrix[1] = matrix[2] = matrix[at.PACKED] = 0
    for which in range(call[at.ROWS] * active):
        row = x + 4 * (which // active) * width
        base = call[at.NOTHING] if call[at.RESIDUAL] == at.NO_RESIDUAL and which % active == 0 else row
        matrix[0] = whole(layer)[at.DOWN] + 4 * chosen[which] * width * hidden
        multiply(matrix, call[at.INNER] + 4 * which * hidden, min(active, 1), hidden, start, stop, row, width, base)
