/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Where sums of products of stored values start, so that zero points are taken off in the end.
 */
#ifndef TG_INTEGER_SUMS_H
#define TG_INTEGER_SUMS_H

#include "tg_integer.h"

/** For one vector: - zero_point * sum(weights) - their zero point * (sum(vector) - elements * zero_point). */
static inline void tg_start_integer_sums(const struct tg_integer_filters *filters, int32_t first, int32_t count,
    const int8_t *vector, int32_t zero_point, int32_t *sums)
{
    int32_t centered = 0;

    if (filters->zero_points) {
        for (int32_t i = 0; i < filters->elements; i++) {
            centered += vector[i] - zero_point;
        }
    }
    for (int32_t channel = 0; channel < count; channel++) {
        uint32_t start = 0u - (uint32_t)zero_point * (uint32_t)filters->sums[first + channel];
        if (filters->zero_points) {
            start -= (uint32_t)filters->zero_points[first + channel] * (uint32_t)centered;
        }
        sums[channel] = (int32_t)start;
    }
}

#endif
