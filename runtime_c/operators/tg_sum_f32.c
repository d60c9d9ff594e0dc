/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

/** One output: partial sums along the second group of axes, which loses less than one long sum. */
static float sum_of(const struct tg_extents *extents, const float *start)
{
    const int32_t block = extents->second * extents->inner;
    float total = 0.0f;

    for (int32_t first = 0; first < extents->first; first++) {
        float part = 0.0f;
        for (int32_t at = 0; at < block; at += extents->inner) {
            part += start[at];
        }
        total += part;
        start += extents->middle * block;
    }
    return total;
}

void tg_sum_f32(const struct tg_extents *extents, float factor, const float *input, float *output)
{
    const int32_t block = extents->second * extents->inner;

    for (int32_t outer = 0; outer < extents->outer; outer++) {
        for (int32_t middle = 0; middle < extents->middle; middle++) {
            for (int32_t i = 0; i < extents->inner; i++) {
                *output++ = sum_of(extents, input + middle * block + i) * factor;
            }
        }
        input += extents->first * extents->middle * block;
    }
}
