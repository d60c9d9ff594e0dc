/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Packing of activations: two 16-bit values a word, words of 4 pixels in turn.
 */
#ifndef TG_NATIVE_COLUMNS_H
#define TG_NATIVE_COLUMNS_H

#include "tg_native_arithmetic.h"

/** Four values of one pixel as two words; `to` is advanced over the words of all four pixels. */
static inline uint32_t *tg_pack_word(uint32_t word, uint32_t *to)
{
    to[0] = tg_even_bytes(word);
    to[4] = tg_odd_bytes(word);
    return to + 8;
}

/** The same from four bytes; cores of RISC-V take them one by one, as unaligned words would be joined first. */
static inline uint32_t *tg_pack_four(const int8_t *from, uint32_t *to)
{
#if TG_NATIVE_RV32
    tg_aliased_half *const halves = (tg_aliased_half *)to;
    const int16_t a = from[0];
    const int16_t b = from[1];
    const int16_t c = from[2];
    const int16_t d = from[3];

    halves[0] = a;
    halves[1] = c;
    halves[8] = b;
    halves[9] = d;
    return to + 8;
#else
    return tg_pack_word(tg_word(from), to);
#endif
}

/** Up to 3 bytes, followed by zeros. */
static inline uint32_t tg_partial_word(const int8_t *from, int32_t count)
{
    uint32_t word = (uint8_t)from[0];
    if (count > 1) {
        word |= (uint32_t)(uint8_t)from[1] << 8;
    }
    if (count > 2) {
        word |= (uint32_t)(uint8_t)from[2] << 16;
    }
    return word;
}

#endif
