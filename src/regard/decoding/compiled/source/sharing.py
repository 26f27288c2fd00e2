"""How threads share the work of a phase: each takes the next piece until none is left, then waits for the others.

Whoever comes late finds less to do, and who never comes is not missed. Nobody waits in a busy loop for long: a thread
that sleeps leaves its core to the one it is waiting for, should that have lost its own to another process.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.words import EXACT, add_one, look, pause, sleep

SPINS = 2000  # looks before a thread lies down: some twenty microseconds
NAP = np.uint32(20)  # microseconds


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
