"""A search that goes on by itself: from the logits of all hypotheses to what the next step is told.

The rules are those of `decoding/beam.py`; with one hypothesis they are those of a greedy search. A sentence that is
done leaves: the lines of the others move up, while what is remembered of them stays where it is.
"""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.rank import insert, rank_row
from regard.decoding.compiled.source.sharing import counters, done, take, wait
from regard.decoding.compiled.source.words import EXACT, FAST, floats, log, marks, whole

NONE = np.float32(-np.inf)


@njit(**FAST)
def ranking(call, phase):
    """The likeliest words of each row, of what is not forbidden."""
    search, counter, rows, words = whole(call[at.SEARCH]), counters(call, phase), call[at.ROWS], call[at.WORDS]
    count, shortest, ages = search[at.COUNT], search[at.SHORTEST], whole(search[at.AGES])
    stops, forbidden = whole(search[at.STOP_COLUMNS]), whole(search[at.FORBIDDEN_COLUMNS])
    row = take(counter)
    while row < rows:
        place = call[at.OUT] + 4 * row * words
        logits = floats(place)
        for i in range(search[at.FORBIDDEN]):
            logits[forbidden[i]] = NONE
        if ages[row // search[at.BEAMS]] < shortest:
            for i in range(search[at.STOPS]):
                logits[stops[i]] = NONE
        values = floats(search[at.RANKED] + 4 * row * count)
        columns = whole(search[at.RANKED_COLUMNS] + 8 * row * count)
        total = rank_row(place, words, count, values, columns)
        floats(search[at.RANKED_TOTALS])[row] = np.float32(log(np.float64(total)))
        done(counter)
        row = take(counter)
    wait(counter, rows)


@njit(**EXACT)
def chance(search, row, rank):
    """log P of one of the likeliest words of a row."""
    values = floats(search[at.RANKED] + 4 * row * search[at.COUNT])
    return values[rank] - values[0] - floats(search[at.RANKED_TOTALS])[row]


@njit(**EXACT)
def gather(search, sentence):
    """The best continuations of a sentence, the likeliest first; what nothing is known of has no chance."""
    size, count, most = search[at.BEAMS], search[at.COUNT], search[at.BEST]
    best, places = floats(search[at.BEST_SCORES]), whole(search[at.BEST_PLACES])
    for i in range(most):
        best[i], places[i] = NONE, -1
    for beam in range(size):
        row = sentence * size + beam
        before = floats(search[at.SCORES])[row]
        for i in range(count):
            score = before + chance(search, row, i)
            if not score > best[most - 1]:
                break  # nor are those behind it
            insert(score, beam * count + i, best, places, most)


@njit(**FAST)
def ends(search, column):
    """Whether a column ends a text."""
    stops, found = whole(search[at.STOP_COLUMNS]), False
    for i in range(search[at.STOPS]):
        found = found or stops[i] == column
    return found


@njit(**FAST)
def token_of(search, column):
    """The token that a column stands for."""
    return column if search[at.TOKEN_OF] == 0 else whole(search[at.TOKEN_OF])[column]


@njit(**FAST)
def note(search, sentence, number, parent, column):
    """A hypothesis has ended: which, and where the rest of it is found."""
    line = whole(search[at.ENDED] + 8 * at.ENDED_SIZE * search[at.ENDED_COUNT])
    line[at.ENDED_SENTENCE], line[at.ENDED_STEP] = whole(search[at.NUMBERS_OF])[sentence], number
    line[at.ENDED_PARENT] = parent
    line[at.ENDED_TOKEN], line[at.ENDED_STOPS] = token_of(search, column), 1 if ends(search, column) else 0
    search[at.ENDED_COUNT] += 1
    whole(search[at.NOTED])[sentence] += 1


@njit(**FAST)
def part(search, sentence, place, number, rows):
    """Note what ends among the K best, and let the K best others go on from a place; whether the sentence is done.

    At least so many others are there: K of those looked at go on, should all that can end here do so. Of all rows that
    there were at first each has a place in the lines of a step.
    """
    size, count = search[at.BEAMS], search[at.COUNT]
    best, places = floats(search[at.BEST_SCORES]), whole(search[at.BEST_PLACES])
    tokens, parents = whole(search[at.TOKENS]), whole(search[at.PARENTS])
    age = whole(search[at.AGES])[sentence] + 1
    over, going = age >= whole(search[at.LIMITS])[sentence], 0
    for i in range(search[at.BEST]):
        word = max(0, places[i])
        parent, rank = sentence * size + word // count, word % count
        column = whole(search[at.RANKED_COLUMNS] + 8 * parent * count)[rank]
        stops = places[i] >= 0 and ends(search, column)
        if i < size and best[i] > NONE and (stops or over):
            floats(search[at.ENDED_SCORES])[search[at.ENDED_COUNT]] = best[i]
            floats(search[at.ENDED_CHANCES])[search[at.ENDED_COUNT]] = chance(search, parent, rank)
            note(search, sentence, number, parent, column)
        if going < size and not stops:
            row = place * size + going
            tokens[number * rows + row], parents[number * rows + row] = token_of(search, column), parent
            floats(search[at.CHANCES])[number * rows + row] = chance(search, parent, rank)
            floats(search[at.SCORES])[row] = best[i]
            going += 1
    whole(search[at.AGES])[sentence] = age
    return over or not best[0] > NONE or whole(search[at.NOTED])[sentence] >= size


@njit(**FAST)
def move(call, search, sentence, place):
    """What is known of a sentence and its rows stands at a place before it from now on."""
    numbers, ages = whole(search[at.NUMBERS_OF]), whole(search[at.AGES])
    limits, noted = whole(search[at.LIMITS]), whole(search[at.NOTED])
    numbers[place], ages[place] = numbers[sentence], ages[sentence]
    limits[place], noted[place] = limits[sentence], noted[sentence]
    lines, size = whole(call[at.ROW_TABLE]), search[at.BEAMS] * at.ROW_SIZE
    for i in range(size):
        lines[place * size + i] = lines[sentence * size + i]


@njit(**FAST)
def see(call, search, sentence, place, number):
    """Each hypothesis sees what the one before it saw, and that one's own column."""
    size, columns = search[at.BEAMS], search[at.SEEING]
    parents = whole(search[at.PARENTS] + 8 * (number * call[at.MOST_ROWS] + place * size))
    row = whole(call[at.ROW_TABLE] + 8 * place * size * at.ROW_SIZE)
    here, spare, own = marks(row[at.SEEN]), marks(search[at.SPARE]), row[at.STOP]
    for beam in range(size):
        parent = parents[beam] - sentence * size
        for i in range(own):
            spare[beam * columns + i] = here[parent * columns + i]
        for i in range(size):
            spare[beam * columns + own + i] = 1 if i == parent else 0
    for beam in range(size):
        for i in range(own + size):
            here[beam * columns + i] = spare[beam * columns + i]


@njit(**FAST)
def embed(call, search, number):
    """What all rows are told next, each one column and one position on."""
    width, scale = call[at.WIDTH], floats(call[at.NUMBERS])[at.EMBED_SCALE]
    tokens = whole(search[at.TOKENS] + 8 * number * call[at.MOST_ROWS])
    for number_of_row in range(call[at.ROWS]):
        row = whole(call[at.ROW_TABLE] + 8 * number_of_row * at.ROW_SIZE)
        row[at.POSITION] += 1
        row[at.STOP] += search[at.BEAMS]
        row[at.OWN] += search[at.BEAMS]
        x = floats(call[at.X] + 4 * number_of_row * width)
        vector = floats(search[at.EMBEDDED] + 4 * tokens[number_of_row] * width)
        for i in range(width):
            x[i] = vector[i] * scale
        if search[at.PLACES] != 0:
            place = floats(search[at.PLACES] + 4 * row[at.POSITION] * width)
            for i in range(width):
                x[i] += place[i]


@njit(**FAST)
def choosing(call, phase, number):
    """What goes on of every sentence, by one thread for all; whether another step follows.

    Who comes late finds fewer rows than there were at its step, and none of their work left.
    """
    search, counter = whole(call[at.SEARCH]), counters(call, phase)
    if take(counter) == 0:
        place, parts = 0, whole(call[at.ROW_TABLE])[at.SEEN] != 0
        for sentence in range(search[at.SENTENCES]):
            gather(search, sentence)
            if part(search, sentence, place, number, call[at.MOST_ROWS]):
                continue
            if place < sentence:
                move(call, search, sentence, place)
            if parts:
                see(call, search, sentence, place, number)
            place += 1
        search[at.SENTENCES], call[at.ROWS] = place, place * search[at.BEAMS]
        if place <= search[at.FEWEST]:
            search[at.TAKEN] = number + 1
        if number + 1 < search[at.TAKEN]:
            embed(call, search, number)
        done(counter)
    wait(counter, min(call[at.MOST_ROWS], 1))
    return number + 1 < search[at.TAKEN]
