"""Where each number stands in the tables that the machine code reads: whole numbers of 64 bits, addresses among them.

Both sides import this file, the one that fills the tables and the one that is compiled; it needs nothing itself.
"""

from collections.abc import Mapping

MATRIX = 7  # address of the weights; …
SCALES = 1  # … of their scales, or 0 where the weights are float32; of the bias, or 0; …
PACKED = 3  # … the same as panels, or 0 where they are not packed; a packed bias is always there; …
BEGINS = 6  # … what sums of rows in seven bits begin with, or 0 where rows are not rounded so
NORM = 2  # address of the weight; of the bias, or 0

# one call: what is the same for all layers and rows
(
    NOTHING,  # always 0. A 0 that stands in the source makes numba compile a function once more, for just that 0
    CALL,  # the address of this table itself
    LAYERS,
    ROWS,
    MOST_ROWS,  # rows at the first step: pieces are cut for so many, also by who comes late when some have left
    STEPS,  # positions of each row of the memory: so many rows follow each other
    THREADS,
    WIDTH,
    HEADS,
    GROUPS,
    HEAD_WIDTH,
    CROSS_HEADS,  # 0: no source
    CROSS_GROUPS,
    CROSS_HEAD_WIDTH,
    ACTIVATION,
    HIDDEN,
    EXPERTS,  # 0: one MLP for all
    ACTIVE,  # of them
    AMONG_ALL,  # whether an expert counts its share among all
    NORM_KIND,
    RESIDUAL,
    CLOSES,  # whether a norm ends the stack
    WORDS,  # columns of the head; 0: states are wanted, no logits
    SPAN,  # room for so many scores
    TURNS,  # address of rotary's table, or 0
    SLOPES,  # address of alibi's slopes, or 0
    NUMBERS,  # address of the numbers that are not whole
    LAYER_TABLE,
    PAST_TABLE,  # 0: nothing is remembered, rows see those of their sentence from LOW to before STOP
    ROW_TABLE,
    TICKETS,  # address of the counters by which threads share the work
    X,  # addresses of what threads write for each other: the stream through all layers, …
    ASKED,  # … queries, keys and values, …
    MIXED,  # … what attention found, …
    INNER,  # … the inside of an MLP, …
    CHOSEN,  # … the experts of each row, …
    OUT,  # … states or logits
    PANEL,  # where in a thread's own room, in bytes, many rows are laid side by side
    TILED,  # so many positions of a row, a sentence or an image look together; 0: each by itself
    SEARCH,  # address of the table of a search that goes on by itself, or 0: one step
    CLOSE_NORM,
    _,
    HEAD,
    _,
    _,
    _,
    _,
    _,
    _,
    CALL_SIZE,
) = range(50)

# a call that has no layers is one product, by the head; one that has no threads either looks for the likeliest words
(
    RANK_ROWS,
    RANK_WORDS,
    RANK_COUNT,
    RANK_LOGITS,  # addresses: of the rows, without a gap, …
    RANK_VALUES,  # … of the largest numbers of each, …
    RANK_COLUMNS,  # … of where they stand, …
    RANK_TOTALS,  # … of Σ exp(x - the largest)
    RANK_SIZE,
) = range(THREADS + 1, THREADS + 9)

# a search that goes on by itself, some steps at a time
(
    TAKEN,  # steps after which it ends; fewer than were asked for, where few sentences are left before
    SENTENCES,  # that go on; what is known of each moves up where others are done
    FEWEST,  # it ends where no more of them are left
    BEAMS,  # hypotheses of each
    COUNT,  # likeliest words of each of them that are looked at
    BEST,  # continuations of a sentence that are looked at
    SHORTEST,  # tokens before which no text may end
    STOPS,  # columns that end a text: how many, …
    STOP_COLUMNS,  # … and their address
    FORBIDDEN,  # columns that are never written, alike
    FORBIDDEN_COLUMNS,
    TOKEN_OF,  # address of the token of every column, or 0: it is the column
    NUMBERS_OF,  # addresses of the number that each sentence had at first, …
    AGES,  # … of its tokens so far, …
    LIMITS,  # … of how many it may have, …
    NOTED,  # … and of how many of its hypotheses have ended
    SCORES,  # address of log P of each hypothesis so far
    RANKED,  # addresses of the likeliest words of each, as `rank` finds them: logits, …
    RANKED_COLUMNS,  # … columns, …
    RANKED_TOTALS,  # … and log Σ exp(x - the largest)
    BEST_SCORES,  # addresses of the best continuations of a sentence: log P, …
    BEST_PLACES,  # … and which words of which hypothesis they are
    TOKENS,  # addresses of what is written, step by step: the token of each row, …
    CHANCES,  # … log P of it, …
    PARENTS,  # … and the row it came from
    ENDED,  # addresses of the hypotheses that have ended, one line each, …
    ENDED_SCORES,  # … of their log P, …
    ENDED_CHANCES,  # … of that of their last token, …
    ENDED_COUNT,  # … and how many there are
    SEEING,  # columns that a row has marks for
    SPARE,  # address of room for the marks of a sentence
    EMBEDDED,  # address of the vectors of tokens
    PLACES,  # address of the vectors of positions, or 0
    SEARCH_SIZE,
) = range(34)

# a hypothesis that has ended: its last token came at this step, behind this row
ENDED_SENTENCE, ENDED_STEP, ENDED_PARENT, ENDED_TOKEN, ENDED_STOPS, ENDED_SIZE = range(6)

# numbers that are not whole
EPS, SCALE, CROSS_SCALE, EMBED_SCALE = range(4)

# a layer: matrices and norms
QUERY, KEY_VALUE, OUTPUT, CROSS_QUERY, CROSS_OUTPUT, UP, DOWN, ROUTE = range(0, 8 * MATRIX, MATRIX)
NORM_ATTENTION, NORM_CROSS, NORM_MLP, LAYER_SIZE = range(8 * MATRIX, 8 * MATRIX + 4 * NORM, NORM)

# what a layer remembers: addresses, and strides counted in numbers
(
    KEYS,
    VALUES,
    ROW_STRIDE,
    HEAD_STRIDE,
    STRIDE,
    FIRST_KEYS,
    FIRST_VALUES,
    FIRST_ROW_STRIDE,
    FIRST_HEAD_STRIDE,
    FIRST_STRIDE,
    SOURCE_KEYS,
    SOURCE_VALUES,
    SOURCE_ROW_STRIDE,
    SOURCE_HEAD_STRIDE,
    SOURCE_STRIDE,
    PAST_SIZE,
) = range(16)

# a row: where it stands, and what it sees
(
    PLACE,  # its row in the memory
    POSITION,
    LOW,  # it sees the columns from LOW to before STOP …
    STOP,
    OWN,  # … and its own, which is written
    FIRST,  # so many first positions, held apart, are seen too
    FIRST_OWN,  # its position is one of them and written there, or -1
    SOURCE,  # its row among the sources
    SOURCE_LENGTH,
    SEEN,  # address of a mark for every column, or 0: all are seen
    AT,  # address of the position of every column, or 0: they follow each other
    ROW_SIZE,
) = range(12)

LAYER_NORM, RMS_NORM = range(2)
PRE, POST, NO_RESIDUAL = range(3)
RELU, GELU, GELU_TANH, SWIGLU = range(4)


def columns_at_once(features: Mapping[str, bool]) -> int:
    """Columns of whole numbers that a processor multiplies and adds up in one step of a lane; 0: no faster than others.

    With VNNI four products of eight bits; with AVX2 two of sixteen, in which what comes in loses next to nothing.
    """
    if features.get("avx512vnni"):
        return 4
    return 2 if features.get("avx2") and not features.get("avx512f") else 0


def positions_at_once(share: int, span: int) -> int:
    """So many positions look back together, where so many heads share keys and each sees so many."""
    return max(6, min(TILE, 48 // share, SCORES_AT_ONCE // (share * (span + TILE + WIDEST))) // 6 * 6)


def lanes(features: Mapping[str, bool]) -> int:
    """Numbers that a processor takes at once."""
    return 16 if features.get("avx512f") else 8


TILE = 64  # rows that go at once, at most
WIDEST = 32  # outputs of a panel, at most
SCORES_AT_ONCE = 2**17  # numbers, of positions that look back together: about as many as a core's cache holds
BLOCK = 64  # columns that share a scale in eight bits
PHASES = 13  # of a layer, at most; each has a line of the cache for its two counters
LAST_PHASES = 3  # behind all layers: the head, the ranking, the choice
LINE = 8  # numbers in a line
