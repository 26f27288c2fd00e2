"""exp and the activations, without a branch, so that eight are computed at once."""

import numpy as np
from numba import njit

from regard.decoding.compiled import layout as at
from regard.decoding.compiled.source.words import EXACT, HALF, ONE, TWO, ZERO, bits_of, float_of

LEAST, MOST = np.float32(-87.0), np.float32(88.0)  # beyond, float32 has no exp
SHIFT = np.float32(1.5 * 2**23)  # added and taken away again, it rounds to a whole number
TO_TWO, LOG_HIGH, LOG_LOW = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
A1, A2, A3, A4, A5, A6 = (
    np.float32(each) for each in (0.5, 1.6666665e-1, 4.1665796e-2, 8.3334519e-3, 1.3981999e-3, 1.9875691e-4)
)
ROOT_HALF, GELU_ROOT, GELU_CUBE = (np.float32(each) for each in (0.70710678, 0.79788456, 0.044715))
# erf to 1.5e-7 [Abramowitz & Stegun 7.1.26]
P, E1, E2, E3, E4, E5 = (
    np.float32(each) for each in (0.3275911, 0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
)


@njit(**EXACT)
def exp(x):
    """e^x = 2^n · e^r with a whole n and |r| ≤ ln 2 / 2, where a polynomial is exact to the last places."""
    x = LEAST if x < LEAST else x
    x = MOST if x > MOST else x
    shifted = x * TO_TWO + SHIFT
    n = shifted - SHIFT
    r = x - n * LOG_HIGH - n * LOG_LOW
    p = ((((A6 * r + A5) * r + A4) * r + A3) * r + A2) * r + A1
    power = float_of(np.int32((bits_of(shifted) << np.int32(23)) + np.int32(0x3F800000)))
    return (p * r * r + r + ONE) * power


@njit(**EXACT)
def sigmoid(x):
    return ONE / (ONE + exp(-x))


@njit(**EXACT)
def gelu(x):
    """x/2 · (1 + erf(x/√2))"""
    z = abs(x) * ROOT_HALF
    t = ONE / (ONE + P * z)
    beyond = ((((E5 * t + E4) * t + E3) * t + E2) * t + E1) * t * exp(-z * z)  # 1 - erf(z)
    return HALF * x * (TWO - beyond if x > ZERO else beyond)


@njit(**EXACT)
def activate(kind, inner, gate, start, stop):
    """inner[i] = activation(inner[i]); with a gate, as in SwiGLU, swish(gate[i]) · inner[i]."""
    if kind == at.RELU:
        for i in range(start, stop):
            inner[i] = ZERO if inner[i] < ZERO else inner[i]
    elif kind == at.GELU:
        for i in range(start, stop):
            inner[i] = gelu(inner[i])
    elif kind == at.GELU_TANH:
        for i in range(start, stop):
            x = inner[i]
            inner[i] = x * sigmoid(TWO * GELU_ROOT * (x + GELU_CUBE * x * x * x))
    else:
        for i in range(start, stop):
            inner[i] = gate[i] * sigmoid(gate[i]) * inner[i]
