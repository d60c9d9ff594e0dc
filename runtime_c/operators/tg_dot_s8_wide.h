/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 with int16 vectors in 64 bits, several elements at a time where the core has instructions for it.
 */
#ifndef TG_DOT_S8_WIDE_H
#define TG_DOT_S8_WIDE_H

#include "tg_lanes_s8_s16.h"

#define TG_VALUE int16_t
#include "tg_add_4x1_body.h"

enum { TG_WIDE_BLOCK = 256 }; /* products that are added in 32 bits: each has 23 */

/** Adds the products of one vector with four others, which begin `stride` elements apart, to four sums. */
static inline void tg_add_4x1_wide(
    const int8_t *weights, int32_t stride, const int16_t *values, int32_t size, int64_t *sums)
{
    for (int32_t first = 0; first < size; first += TG_WIDE_BLOCK) {
        const int32_t left = size - first;
        int32_t block[4] = {0};

        tg_add_4x1(weights + first, stride, values + first, left < TG_WIDE_BLOCK ? left : TG_WIDE_BLOCK, block);
        for (int32_t i = 0; i < 4; i++) {
            sums[i] += block[i];
        }
    }
}

/** Adds the product of two vectors to a sum. */
static inline int64_t tg_add_dot_wide(int64_t sum, const int8_t *weights, const int16_t *values, int32_t size)
{
    for (int32_t first = 0; first < size; first += TG_WIDE_BLOCK) {
        int32_t left = size - first < TG_WIDE_BLOCK ? size - first : TG_WIDE_BLOCK;
        int32_t block = 0;

        for (; left >= TG_FEWEST; left -= TG_STEP) {
            block = tg_multiply(block, tg_load(weights, left), tg_load_values(values, left));
            weights += TG_STEP;
            values += TG_STEP;
        }
        for (; left > 0; left--) {
            block = tg_plus_product(block, *weights++, *values++);
        }
        sum += block;
    }
    return sum;
}

#endif
