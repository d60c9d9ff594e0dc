/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What sigmoid and hyperbolic tangent of int16 share.
 */
#ifndef TG_SIGMOID_H
#define TG_SIGMOID_H

#include "tg_int16.h"

/** The input in 1 / 12288. */
static inline int32_t tg_sigmoid_position(const struct tg_sigmoid_s16 *layer, int32_t input)
{
    const int32_t half = layer->shift > 0 ? 1 << (layer->shift - 1) : 0;

    return (input * layer->multiplier + half) >> layer->shift;
}

/** sigmoid() - 1/2 with `bits` places more than Q16, 2^bits positions from one entry to the next; `last` beyond them.
 */
static inline int32_t tg_sigmoid_above_half(const int16_t *table, int32_t magnitude, int32_t bits, int32_t last)
{
    const int32_t index = magnitude >> bits;

    if (index >= 255) {
        return last << bits;
    }
    return (table[index] << bits) + (magnitude & ((1 << bits) - 1)) * (table[index + 1] - table[index]);
}

/** The sigmoid in Q15 at a position in 1 / 12288. */
static inline int32_t tg_sigmoid_of(const int16_t *table, int32_t position)
{
    const int32_t magnitude = position < 0 ? -position : position;
    const int32_t value = tg_sigmoid_above_half(table, magnitude, 9, INT16_MAX - 1);

    return ((1 << 24) + (position < 0 ? 511 - value : 512 + value)) >> 10;
}

/** The hyperbolic tangent in Q15, which is 2 (sigmoid(2 x) - 1/2). */
static inline int32_t tg_tanh_of(const int16_t *table, int32_t position)
{
    const int32_t magnitude = position < 0 ? -position : position;
    const int32_t value = tg_sigmoid_above_half(table, magnitude, 8, INT16_MAX);

    return (position < 0 ? 127 - value : 128 + value) >> 8;
}

#endif
