/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_INTERPOLATION_H
#define TG_INTERPOLATION_H

#include <stdint.h>

/** Between the entries around `position`, which counts from INT16_MIN in 1/128 of an entry. */
static inline int32_t tg_interpolate(const int16_t *table, int32_t position)
{
    const int32_t index = 256 + (position >> 7);
    const int32_t slope = table[index + 1] - table[index];

    return table[index] + ((slope * (position & 0x7F) + 64) >> 7);
}

#endif
