"""How threads share the work of a phase: each takes the next piece until none is left, then waits for the others.

Whoever comes late finds less to do, and who never comes is not missed. Nobody waits in a busy loop for long: a thread
that sleeps leaves its core to the one it is waiting for, should that have lost its own to another process.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.words import EXACT, add_one, look, pause, sleep

SMALL = 2**14  # bytes of weights in a small piece: a microsecond
MANY = 48  # outputs of a small piece where rows are many, too: whole panels, and whole tiles
SPINS = 2000  # looks before a thread lies down: up to a tenth of a millisecond
NAP = np.uint32(20)  # microseconds


@njit(**EXACT)
def cut(call, outputs, size):
    """How many outputs a large piece has, how many a small one, and how many pieces there are in all.

    Everybody takes one large piece first, weights that follow each other; small ones of what is left even out the end.
    """
    threads, grain = call[at.THREADS], MANY if call[at.MOST_ROWS] >= 4 and outputs >= 4 * MANY else 4
    small = max(grain, SMALL // size // grain * grain)
    large = outputs if threads == 1 else outputs * 7 // (8 * threads) // grain * grain
    rest = outputs - threads * large
    return large, small, threads + (rest + small - 1) // small


@njit(**EXACT)
def bounds(call, piece, large, small, outputs):
    """The first output of a piece, and the one behind its last."""
    threads = call[at.THREADS]
    if piece < threads:
        return piece * large, (piece + 1) * large
    start = threads * large + (piece - threads) * small
    return start, min(outputs, start + small)


@njit(**EXACT)
def counters(call, phase):
    """The address of the counters of a phase: pieces taken, and 8 bytes on, pieces done."""
    return call[at.TICKETS] + 8 * at.LINE * phase


@njit(**EXACT)
def take(counter):
    """The number of a piece that nobody else has."""
    return add_one(counter)


@njit(**EXACT)
def done(counter):
    """One piece more is done."""
    add_one(counter + 8)


@njit(**EXACT)
def wait(counter, pieces):
    """Until all pieces are done."""
    looks = 0
    while look(counter + 8) < pieces:
        looks += 1
        if looks < SPINS:
            pause()
        else:
            sleep(NAP)
