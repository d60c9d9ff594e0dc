/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_DOT_PRODUCT_H
#define TG_DOT_PRODUCT_H

#include <stdint.h>

/** accumulator + sum of (input[i] + input_offset) * weights[i], modulo 2^32. */
static inline uint32_t dot_product(uint32_t accumulator, const int8_t *input, int32_t input_offset,
                                   const int8_t *weights, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
    {
        accumulator += (uint32_t)((input[i] + input_offset) * weights[i]);
    }
    return accumulator;
}

#endif
