"""An encoder whose weights are packed: rows go by themselves from one look to the next, some of them at a time.

What a product leaves, the next one finds in the cache, and threads wait for each other only where rows look at others.
"""

from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.functions import activate
from regard.decoding.compiled.source.norms import put_norm
from regard.decoding.compiled.source.products import laid, multiply
from regard.decoding.compiled.source.sharing import counters, done, take, wait
from regard.decoding.compiled.source.together import attend_all_together
from regard.decoding.compiled.source.words import FAST, copy, floats, whole

LARGE, SMALL = 48, 12  # rows of a piece; small ones even out the end


@njit(**FAST)
def looking_around(call, phase, scratch):
    """All positions of sentences or images that are read, a tile of one of them at a time; nothing is remembered."""
    counter, groups, tile = counters(call, phase), call[at.GROUPS], call[at.TILED]
    pieces = call[at.ROWS] * groups
    piece = take(counter)
    while piece < pieces:
        number = piece // groups
        row = whole(call[at.ROW_TABLE] + 8 * number * at.ROW_SIZE)
        if (number - row[at.LOW]) % tile == 0:  # or it is in the tile of another
            attend_all_together(call, number, min(tile, row[at.STOP] - number), piece % groups, scratch)
        done(counter)
        piece = take(counter)
    wait(counter, pieces)


@njit(**FAST)
def by_themselves(call):
    """Whether rows go so: nothing is remembered, and what they are multiplied by is packed."""
    if call[at.PAST_TABLE] != 0 or call[at.LAYERS] == 0 or call[at.EXPERTS] > 0:
        return False
    return whole(call[at.LAYER_TABLE])[at.QUERY + at.PACKED] != 0


@njit(**FAST)
def large_pieces(call):
    """So many pieces are large: about as many rows as each thread takes at once are left for small ones."""
    return max(call[at.NOTHING], call[at.ROWS] - LARGE * call[at.THREADS]) // LARGE


@njit(**FAST)
def pieces_of(call):
    """How many pieces all rows are cut into; the last one takes in what would be less than a small one."""
    large = large_pieces(call)
    return large + max(1, (call[at.ROWS] - LARGE * large) // SMALL)


@njit(**FAST)
def rows_of(call, piece):
    """The first row of a piece, and how many there are."""
    large = large_pieces(call)
    first = min(piece, large) * LARGE + max(call[at.NOTHING], piece - large) * SMALL
    left = call[at.ROWS] - first
    if piece < pieces_of(call) - 1:
        left = LARGE if piece < large else SMALL
    return first, left


@njit(**FAST)
def made_ready(call, matrix, norm, first, count, scratch):
    """Some rows of the stream as a sub-layer's first product takes them."""
    x, width = call[at.X] + 4 * first * call[at.WIDTH], call[at.WIDTH]
    if call[at.RESIDUAL] == at.PRE:
        put_norm(call, norm, x, scratch, count)
        x = scratch
    return laid(matrix, x, count, width, scratch + call[at.PANEL])


@njit(**FAST)
def ask(call, layer, first, count, scratch):
    """Queries, keys and values of some rows."""
    nothing, width = call[at.NOTHING], call[at.WIDTH]
    queries, more = call[at.HEADS] * call[at.HEAD_WIDTH], 2 * call[at.GROUPS] * call[at.HEAD_WIDTH]
    query, both = whole(layer + 8 * at.QUERY), whole(layer + 8 * at.KEY_VALUE)
    given = made_ready(call, query, whole(layer + 8 * at.NORM_ATTENTION), first, count, scratch)
    asked = call[at.ASKED] + 4 * first * (queries + more)
    multiply(query, given, count, width, nothing, queries, asked, queries + more, nothing)
    multiply(both, given, count, width, nothing, more, asked + 4 * queries, queries + more, nothing)


@njit(**FAST)
def close(call, matrix, given, size, norm, first, count, scratch):
    """The last product of a sub-layer for some rows, and the way around it."""
    width, nothing = call[at.WIDTH], call[at.NOTHING]
    x = call[at.X] + 4 * first * width
    given = laid(matrix, given + 4 * first * size, count, size, scratch + call[at.PANEL])
    base = nothing if call[at.RESIDUAL] == at.NO_RESIDUAL else x
    multiply(matrix, given, count, size, nothing, width, x, width, base)
    if call[at.RESIDUAL] != at.PRE:
        put_norm(call, norm, x, x, count)


@njit(**FAST)
def expand(call, layer, first, count, scratch):
    """The first product of an MLP for some rows, and its activation; a gate stands behind the rest of INNER."""
    nothing, width, hidden, kind = call[at.NOTHING], call[at.WIDTH], call[at.HIDDEN], call[at.ACTIVATION]
    matrix, inner = whole(layer + 8 * at.UP), call[at.INNER] + 4 * first * hidden
    gates = inner + 4 * call[at.ROWS] * hidden
    given = made_ready(call, matrix, whole(layer + 8 * at.NORM_MLP), first, count, scratch)
    if kind == at.SWIGLU:
        multiply(matrix, given, count, width, nothing, hidden, gates, hidden, nothing)
        multiply(matrix, given, count, width, hidden, 2 * hidden, inner - 4 * hidden, hidden, nothing)
    else:
        multiply(matrix, given, count, width, nothing, hidden, inner, hidden, nothing)
    activate(kind, floats(inner), floats(gates), nothing, count * hidden)


@njit(**FAST)
def go_on(call, layer, first, count, scratch):
    """All of a layer that is behind its look, for some rows."""
    output, norm = whole(layer + 8 * at.OUTPUT), whole(layer + 8 * at.NORM_ATTENTION)
    close(call, output, call[at.MIXED], call[at.HEADS] * call[at.HEAD_WIDTH], norm, first, count, scratch)
    expand(call, layer, first, count, scratch)
    down, norm = whole(layer + 8 * at.DOWN), whole(layer + 8 * at.NORM_MLP)
    close(call, down, call[at.INNER], call[at.HIDDEN], norm, first, count, scratch)


@njit(**FAST)
def end(call, first, count):
    """The states of some rows."""
    place, width = 4 * first * call[at.WIDTH], call[at.WIDTH]
    if call[at.CLOSES]:
        put_norm(call, whole(call[at.CALL] + 8 * at.CLOSE_NORM), call[at.X] + place, call[at.OUT] + place, count)
    else:
        copy(call[at.X] + place, call[at.OUT] + place, count * width)


@njit(**FAST)
def encode(call, scratch):
    """All layers: what rows ask, a look, and what follows until they ask again or are done."""
    phase, pieces = call[at.NOTHING], pieces_of(call)
    for number in range(call[at.LAYERS] + 1):
        layer = call[at.LAYER_TABLE] + 8 * number * at.LAYER_SIZE
        counter = counters(call, phase)
        piece = take(counter)
        while piece < pieces:
            first, count = rows_of(call, piece)
            if number > 0:
                go_on(call, layer - 8 * at.LAYER_SIZE, first, count, scratch)
            if number < call[at.LAYERS]:
                ask(call, layer, first, count, scratch)
            else:
                end(call, first, count)
            done(counter)
            piece = take(counter)
        wait(counter, pieces)
        if number < call[at.LAYERS]:
            looking_around(call, phase + 11, scratch)
        phase += at.PHASES
