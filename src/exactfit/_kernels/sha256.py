"""SHA-256 of many short messages of one length, where a call for each of them would take longer than its hash.

Messages go side by side, a lane each: inner loops run along the lanes, where the compiler finds whole vectors.
"""

from __future__ import annotations

import numpy as np

from .compile import compiled, inlined

# FIPS 180-4: the first 32 bits of the fractional parts of the square roots of the first 8 primes, and of the cube
# roots of the first 64.
START = np.array(
    [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19], np.uint32
)
ROUNDS = np.array(
    [
        0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
        0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
        0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
        0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
        0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
        0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
        0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
        0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
    ],
    np.uint32,
)  # fmt: skip
LANES = 32  # messages side by side: four AVX2 vectors hide one another's latency


@inlined
def turned(word, by):
    """A 32-bit word rotated to the right."""
    return np.uint32(np.uint32(word >> np.uint32(by)) | np.uint32(word << np.uint32(32 - by)))


@compiled
def read_block(messages, first, count, low, words):
    """The 16 big-endian words of a block of so many messages."""
    for lane in range(count):
        row = messages[first + lane]
        for t in range(16):
            word = np.uint32(0)
            for k in range(4):
                word = np.uint32(np.uint32(word << np.uint32(8)) | np.uint32(row[low + 4 * t + k]))
            words[t, lane] = word


@compiled
def expand(words):
    """The message schedule: 48 words after the first 16."""
    for t in range(16, 64):
        far, early, middle, late, out = words[t - 16], words[t - 15], words[t - 7], words[t - 2], words[t]
        for lane in range(LANES):
            a, b = early[lane], late[lane]
            s0 = np.uint32(turned(a, 7) ^ turned(a, 18) ^ np.uint32(a >> np.uint32(3)))
            s1 = np.uint32(turned(b, 17) ^ turned(b, 19) ^ np.uint32(b >> np.uint32(10)))
            out[lane] = np.uint32(far[lane] + s0 + middle[lane] + s1)


@inlined
def one_round(constant, words, va, vb, vc, vd, ve, vf, vg, vh):
    """A round: what the standard moves along its eight variables stays in place, and the caller renames them."""
    for lane in range(LANES):
        a, b, c, e = va[lane], vb[lane], vc[lane], ve[lane]
        s1 = np.uint32(turned(e, 6) ^ turned(e, 11) ^ turned(e, 25))
        first = np.uint32(vh[lane] + s1 + np.uint32((e & vf[lane]) ^ (~e & vg[lane])) + constant + words[lane])
        s0 = np.uint32(turned(a, 2) ^ turned(a, 13) ^ turned(a, 22))
        vd[lane] = np.uint32(vd[lane] + first)
        vh[lane] = np.uint32(first + s0 + np.uint32((a & b) ^ (a & c) ^ (b & c)))


@compiled
def compress(state, words, v):
    """One block of every lane into the state; ``v`` is room for eight variables."""
    expand(words)
    v[:] = state
    for t in range(64):
        a = -t % 8
        b, c, d, e, f, g, h = (a + 1) % 8, (a + 2) % 8, (a + 3) % 8, (a + 4) % 8, (a + 5) % 8, (a + 6) % 8, (a + 7) % 8
        one_round(ROUNDS[t], words[t], v[a], v[b], v[c], v[d], v[e], v[f], v[g], v[h])
    for k in range(8):
        for lane in range(LANES):
            state[k, lane] = np.uint32(state[k, lane] + v[k, lane])


@compiled
def sha256_rows(messages, out):
    """out[r] = SHA-256 of the bytes of row r; ``messages`` are padded to whole blocks of 64 bytes."""
    words, state, room = (
        np.zeros((64, LANES), np.uint32),
        np.empty((8, LANES), np.uint32),
        np.empty((8, LANES), np.uint32),
    )
    for first in range(0, messages.shape[0], LANES):
        count = min(LANES, messages.shape[0] - first)
        for k in range(8):
            state[k] = START[k]
        for low in range(0, messages.shape[1], 64):
            read_block(messages, first, count, low, words)
            compress(state, words, room)
        for lane in range(count):
            for t in range(8):
                for k in range(4):
                    out[first + lane, 4 * t + k] = np.uint8((state[t, lane] >> np.uint32(24 - 8 * k)) & np.uint32(255))
