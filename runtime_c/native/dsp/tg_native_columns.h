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
