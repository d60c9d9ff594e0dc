/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_ARG_MAX_H
#define TG_ARG_MAX_H

#include <stdint.h>

/** Index of the first largest of `size` values that lie `stride` apart. */
static inline int32_t tg_first_largest(const int8_t *values, int32_t size, int32_t stride)
{
    int32_t best = 0;
    for (int32_t i = 1; i < size; i++) {
        if (values[i * stride] > values[best * stride]) {
            best = i;
        }
    }
    return best;
}

#endif
