/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of int8 vectors, several elements at a time where the core has instructions for it.
 */
#ifndef TG_DOT_S8_H
#define TG_DOT_S8_H

#include "tg_lanes_s8.h"

#define TG_VALUE int8_t
#define tg_load_values tg_load
#include "tg_add_4x1_body.h"

/** A sum with the product of two vectors. */
static inline int32_t tg_add_dot(int32_t sum, const int8_t *weights, const int8_t *input, int32_t features)
{
    int32_t left = features;

    for (; left >= TG_FEWEST; left -= TG_STEP) {
        sum = tg_multiply(sum, tg_load(weights, left), tg_load(input, left));
        weights += TG_STEP;
        input += TG_STEP;
    }
    for (; left > 0; left--) {
        sum = tg_plus_product(sum, *weights++, *input++);
    }
    return sum;
}

/** The product of two vectors. */
static inline int32_t tg_dot(const int8_t *weights, const int8_t *input, int32_t features)
{
    return tg_add_dot(0, weights, input, features);
}

#endif
