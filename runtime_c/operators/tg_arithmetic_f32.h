/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What operators on float32 share.
 */
#ifndef TG_ARITHMETIC_F32_H
#define TG_ARITHMETIC_F32_H

#include "tg_float.h"

/** The value within bounds; NaN remains. */
static inline float tg_limited_f32(float value, const struct tg_bounds_f32 *bounds)
{
    const float raised = value < bounds->min ? bounds->min : value;

    return raised > bounds->max ? bounds->max : raised;
}

/** Dot product in four partial sums, which loses less than one sum. */
static inline float tg_dot_f32(const float *a, const float *b, int32_t size)
{
    float sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    int32_t i = 0;

    for (; i + 4 <= size; i += 4) {
        sums[0] += a[i] * b[i];
        sums[1] += a[i + 1] * b[i + 1];
        sums[2] += a[i + 2] * b[i + 2];
        sums[3] += a[i + 3] * b[i + 3];
    }
    for (; i < size; i++) {
        sums[0] += a[i] * b[i];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/** Taps [first, end) of a window, along one axis, that lie within the input. */
struct tg_taps {
    int32_t first;
    int32_t end;
};

/** The taps from `start` on, `dilation` apart, that lie in [0, size). */
static inline struct tg_taps tg_taps_within(int32_t start, int32_t kernel, int32_t dilation, int32_t size)
{
    struct tg_taps taps = {0, kernel};

    while (taps.first < kernel && start + taps.first * dilation < 0) {
        taps.first++;
    }
    while (taps.end > taps.first && start + (taps.end - 1) * dilation >= size) {
        taps.end--;
    }
    return taps;
}

#endif
