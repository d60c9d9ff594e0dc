/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_INVERSE_ROOT_H
#define TG_INVERSE_ROOT_H

#include "tg_fixed_point.h"

/** A number as tg_scale() takes it. */
struct tg_multiplier {
    int32_t multiplier;
    int32_t shift;
};

/** 1 / sqrt(value) of 1 or more, with a shift of at most 0: gemmlowp's five steps of Newton and Raphson in Q3.28. */
static inline struct tg_multiplier tg_inverse_root(int32_t value)
{
    static const int32_t ROOT_OF_HALF = 1518500250;
    static const int32_t HALF_THREE = 3 << 27;
    int32_t x = 1 << 28;
    int32_t halvings = 11;

    if (value <= 1) {
        return (struct tg_multiplier){.multiplier = INT32_MAX, .shift = 0};
    }
    for (; value >= 1 << 29; value /= 4) {
        halvings++;
    }
    for (; value < 1 << 27; value *= 4) {
        halvings--;
    }
    const int32_t half = ((value >> 1) + 1) >> 1;
    for (int32_t step = 0; step < 5; step++) {
        const int32_t cube = tg_scale(tg_scale(x, x, 0), x, 0) * 64;
        x = (tg_scale(x, HALF_THREE, 0) - tg_scale(cube, half, 0)) * 8;
    }
    const int32_t root = tg_scale(x, ROOT_OF_HALF, 0);
    return halvings < 0 ? (struct tg_multiplier){.multiplier = root * (1 << -halvings), .shift = 0}
                        : (struct tg_multiplier){.multiplier = root, .shift = -halvings};
}

#endif
