"""One decoding step of a whole Transformer decoder, or all that an encoder makes of sentences.

Every thread runs it; they share each phase's pieces.
"""

from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.attention import attend, attend_source, note_own
from regard.decoding.compiled.source.encoder import by_themselves, encode, looking_around
from regard.decoding.compiled.source.experts import expand, gather, route
from regard.decoding.compiled.source.functions import activate
from regard.decoding.compiled.source.norms import put_norm
from regard.decoding.compiled.source.products import laid, multiply, wide
from regard.decoding.compiled.source.rank import rank
from regard.decoding.compiled.source.search import choosing, ranking
from regard.decoding.compiled.source.sharing import bounds, counters, cut, done, take, wait
from regard.decoding.compiled.source.together import attend_together, make_ready
from regard.decoding.compiled.source.words import FAST, copy, floats, whole


@njit(**FAST)
def normed(call, place, scratch):
    """Where a sub-layer finds its input: norm(x), which every thread makes for itself, or x where norms come after."""
    if call[at.RESIDUAL] != at.PRE:
        return call[at.X]
    put_norm(call, whole(place), call[at.X], scratch, call[at.ROWS])
    return scratch


@njit(**FAST)
def ready_for(call, matrix, x, size, scratch):
    """Vectors as a product takes them; every thread lays many of them side by side for itself."""
    return laid(matrix, x, call[at.ROWS], size, scratch + call[at.PANEL])


@njit(**FAST)
def asking(call, phase, layer, scratch, source):
    """Queries, and in self-attention keys and values, of all rows."""
    counter, rows, size, asked = counters(call, phase), call[at.ROWS], call[at.WIDTH], call[at.ASKED]
    nothing = call[at.NOTHING]
    queries = call[at.HEADS] * call[at.HEAD_WIDTH]
    more = 2 * call[at.GROUPS] * call[at.HEAD_WIDTH]
    first, norm_place = at.QUERY, at.NORM_ATTENTION
    if source > 0:
        queries, more = call[at.CROSS_HEADS] * call[at.CROSS_HEAD_WIDTH], 0
        first, norm_place = at.CROSS_QUERY, at.NORM_CROSS
    query, both = whole(layer + 8 * first), whole(layer + 8 * at.KEY_VALUE)
    stride = queries + more
    large, small, pieces = cut(call, stride, size * wide(query))
    ready, given = False, call[at.X]
    piece = take(counter)
    while piece < pieces:
        if not ready:
            given, ready = normed(call, layer + 8 * norm_place, scratch), True
            given = ready_for(call, query, given, size, scratch)
        start, stop = bounds(call, piece, large, small, stride)
        multiply(query, given, rows, size, start, min(queries, stop), asked, stride, nothing)
        start, stop = max(start, queries) - queries, stop - queries
        multiply(both, given, rows, size, start, stop, asked + 4 * queries, stride, nothing)
        done(counter)
        piece = take(counter)
    wait(counter, pieces)


@njit(**FAST)
def looking(call, phase, past, scratch, source):
    """All heads of all rows. Where rows are positions of one line, each sees those before it: heads that share keys
    are one piece then, which goes through the positions in their order. Where hypotheses see lines of their own, a row
    is one piece: what it sees is the same for all heads."""
    counter, heads = counters(call, phase), call[at.CROSS_HEADS] if source > 0 else call[at.HEADS]
    steps, table, share = call[at.STEPS], whole(past), heads // call[at.GROUPS]
    lines, own = steps > 1 and source == 0, source == 0 and whole(call[at.ROW_TABLE])[at.SEEN] != 0
    pieces = call[at.ROWS] // steps * call[at.GROUPS] if lines else call[at.ROWS] * (1 if own else heads)
    nothing = call[at.NOTHING]
    piece = take(counter)
    while piece < pieces:
        if lines:
            row, head = piece // call[at.GROUPS] * steps, piece % call[at.GROUPS] * share
            for place in range(steps * share):
                attend(call, table, row + place // share, head + place % share, scratch, nothing)
        elif own:
            noted = note_own(call, piece, scratch)
            for head in range(heads):
                attend(call, table, piece, head, scratch, noted)
        elif source > 0:
            attend_source(call, table, piece // heads, piece % heads, scratch)
        else:
            attend(call, table, piece // heads, piece % heads, scratch, nothing)
        done(counter)
        piece = take(counter)
    wait(counter, pieces)


@njit(**FAST)
def looking_together(call, phase, past, scratch):
    """The same for many positions of each row, a tile of them at a time: those that see the most are taken first."""
    counter, rows, table, tile = counters(call, phase), call[at.ROWS], whole(past), call[at.TILED]
    steps, groups = call[at.STEPS], call[at.GROUPS]
    row = take(counter)
    while row < rows:
        make_ready(call, table, row, scratch)
        done(counter)
        row = take(counter)
    wait(counter, rows)
    counter, tiles = counters(call, phase + 1), (steps + tile - 1) // tile
    each = rows // steps * groups
    piece = take(counter)
    while piece < tiles * each:
        first, place = (tiles - 1 - piece // each) * tile, piece % each
        count = min(tile, steps - first)
        attend_together(call, table, place // groups * steps + first, count, place % groups, scratch)
        done(counter)
        piece = take(counter)
    wait(counter, tiles * each)


@njit(**FAST)
def expanding(call, phase, layer, scratch):
    """The first product of an MLP and its activation. A gate stands behind the rest of INNER."""
    counter, rows, size, hidden = counters(call, phase), call[at.ROWS], call[at.WIDTH], call[at.HIDDEN]
    kind, matrix, inner = call[at.ACTIVATION], whole(layer + 8 * at.UP), call[at.INNER]
    gates, experts, nothing = inner + 4 * rows * hidden, call[at.EXPERTS] > 0, call[at.NOTHING]
    large, small, each = cut(call, hidden, size * wide(matrix) * (2 if kind == at.SWIGLU else 1))
    pieces = each * rows * call[at.ACTIVE] if experts else each
    ready, given = False, call[at.X]
    piece = take(counter)
    while piece < pieces:
        if not ready:
            given, ready = normed(call, layer + 8 * at.NORM_MLP, scratch), True
            if experts:
                route(call, layer, given, scratch)
            else:
                given = ready_for(call, matrix, given, size, scratch)
        start, stop = bounds(call, piece % each, large, small, hidden)
        if experts:
            expand(call, layer, given, piece // each, start, stop, scratch)
        elif kind == at.SWIGLU:
            multiply(matrix, given, rows, size, start, stop, gates, hidden, nothing)
            multiply(matrix, given, rows, size, hidden + start, hidden + stop, inner - 4 * hidden, hidden, nothing)
        else:
            multiply(matrix, given, rows, size, start, stop, inner, hidden, nothing)
        for row in range(0 if experts else rows):
            values, gate = floats(inner + 4 * row * hidden), floats(gates + 4 * row * hidden)
            activate(kind, values, gate, start, stop)
        done(counter)
        piece = take(counter)
    wait(counter, pieces)


@njit(**FAST)
def closing(call, phase, matrix, given, size, norm_place, scratch):
    """The last product of a sub-layer, and the way around it: x + F(x), which some norm afterwards."""
    counter, rows, width, x = counters(call, phase), call[at.ROWS], call[at.WIDTH], call[at.X]
    base = call[at.NOTHING] if call[at.RESIDUAL] == at.NO_RESIDUAL else x
    large, small, pieces = cut(call, width, max(1, size) * wide(whole(matrix)))
    ready = size == 0
    piece = take(counter)
    while piece < pieces:
        if not ready:
            given, ready = ready_for(call, whole(matrix), given, size, scratch), True
        start, stop = bounds(call, piece, large, small, width)
        if size == 0:
            gather(call, matrix, start, stop, scratch)
        else:
            multiply(whole(matrix), given, rows, size, start, stop, x, width, base)
        done(counter)
        piece = take(counter)
    wait(counter, pieces)
    if call[at.RESIDUAL] == at.PRE:
        return
    counter = counters(call, phase + 1)
    row = take(counter)
    while row < rows:
        put_norm(call, norm_place, x + 4 * row * width, x + 4 * row * width, min(rows, 1))
        done(counter)
        row = take(counter)
    wait(counter, rows)


@njit(**FAST)
def ending(call, phase, scratch):
    """The states, or what the head makes of them."""
    counter, rows, width, words = counters(call, phase), call[at.ROWS], call[at.WIDTH], call[at.WORDS]
    close = whole(call[at.CALL] + 8 * at.CLOSE_NORM)
    head = whole(call[at.CALL] + 8 * at.HEAD)
    large, small, pieces = cut(call, words, width * wide(head))
    pieces = 1 if words == 0 else pieces
    given = call[at.OUT] if words == 0 else scratch
    ready = False
    piece = take(counter)
    while piece < pieces:
        if not ready:
            ready = True
            if call[at.CLOSES]:
                put_norm(call, close, call[at.X], given, rows)
            elif words == 0:
                copy(call[at.X], given, rows * width)
            else:
                given = call[at.X]
            if words > 0:
                given = ready_for(call, head, given, width, scratch)
        if words > 0:
            start, stop = bounds(call, piece, large, small, words)
            multiply(head, given, rows, width, start, stop, call[at.OUT], words, call[at.NOTHING])
        done(counter)
        piece = take(counter)
    wait(counter, pieces)


@njit(**FAST)
def through(call, phase, scratch):
    """All layers and the head; given back is the phase behind them."""
    nothing, source = call[at.NOTHING], call[at.CROSS_HEADS] * call[at.CROSS_HEAD_WIDTH]
    for number in range(call[at.LAYERS]):
        layer = call[at.LAYER_TABLE] + 8 * number * at.LAYER_SIZE
        past = call[at.PAST_TABLE] + 8 * number * at.PAST_SIZE
        asking(call, phase, layer, scratch, nothing)
        if call[at.PAST_TABLE] == 0:
            looking_around(call, phase + 11, scratch)
        elif call[at.TILED] > 0:
            looking_together(call, phase + 11, past, scratch)
        else:
            looking(call, phase + 1, past, scratch, nothing)
        size = call[at.HEADS] * call[at.HEAD_WIDTH]
        closing(
            call, phase + 2, layer + 8 * at.OUTPUT, call[at.MIXED], size, whole(layer + 8 * at.NORM_ATTENTION), scratch
        )
        if source > 0:
            asking(call, phase + 4, layer, scratch, source)
            looking(call, phase + 5, past, scratch, source)
            norms = whole(layer + 8 * at.NORM_CROSS)
            closing(call, phase + 6, layer + 8 * at.CROSS_OUTPUT, call[at.MIXED], source, norms, scratch)
        expanding(call, phase + 8, layer, scratch)
        norms = whole(layer + 8 * at.NORM_MLP)
        if call[at.EXPERTS] > 0:
            closing(call, phase + 9, layer, nothing, nothing, norms, scratch)
        else:
            closing(call, phase + 9, layer + 8 * at.DOWN, call[at.INNER], call[at.HIDDEN], norms, scratch)
        phase += at.PHASES
    ending(call, phase, scratch)
    return phase + 1


@njit("void(int64, int64)", **FAST)
def step(address, scratch):
    """All layers and the head, again and again where a search goes on by itself; or only the likeliest words.

    Given are addresses: the call's table, a thread's room.
    """
    call = whole(address)
    if call[at.THREADS] == 0:
        rank(call)
        return
    if by_themselves(call):
        encode(call, scratch)
        return
    phase, number, goes = call[at.NOTHING], call[at.NOTHING], True
    while goes:
        phase = through(call, phase, scratch)
        goes = False
        if call[at.SEARCH] != 0:
            ranking(call, phase)
            goes = choosing(call, phase + 1, number)
        phase += at.LAST_PHASES - 1
        number += 1
