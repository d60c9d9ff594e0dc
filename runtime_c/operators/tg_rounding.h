/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From real numbers to integers.
 */
#ifndef TG_ROUNDING_H
#define TG_ROUNDING_H

#include <stdint.h>

#define TG_ROUNDING_LIMIT 65536 /* beyond every 16-bit value minus a zero point */

/** The nearest integer, halves away from zero; +-TG_ROUNDING_LIMIT beyond these, 0 for NaN. */
static inline int32_t tg_round_limited(float value)
{
    int32_t whole;
    float fraction;

    if (value >= (float)TG_ROUNDING_LIMIT) {
        return TG_ROUNDING_LIMIT;
    }
    if (value <= (float)-TG_ROUNDING_LIMIT) {
        return -TG_ROUNDING_LIMIT;
    }
    if (value != value) {
        return 0;
    }
    whole = (int32_t)value;
    fraction = value - (float)whole;
    return whole + (fraction >= 0.5f ? 1 : 0) - (fraction <= -0.5f ? 1 : 0);
}

#endif
