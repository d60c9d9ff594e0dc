/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_DOT_PRODUCT_H
#define TG_DOT_PRODUCT_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE_SIZE__)
#define TG_UNROLL_4 _Pragma("GCC unroll 4")
#else
#define TG_UNROLL_4
#endif

/** sum + all (input[i] + input_offset) * (weights[i] + weight_offset), modulo 2^32; nothing for a count <= 0. */
static inline uint32_t dot_product(uint32_t sum, const int8_t *input, int32_t input_offset, const int8_t *weights,
    int32_t weight_offset, int32_t count)
{
    /* Backwards: a count to zero needs no register for its end. */
    int32_t i = count;
    TG_UNROLL_4
    while (--i >= 0) {
        sum += (uint32_t)((input[i] + input_offset) * (weights[i] + weight_offset));
    }
    return sum;
}

#endif
