/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

static float extreme_of(const struct tg_extents *extents, float sign, const float *start)
{
    const int32_t block = extents->second * extents->inner;
    float best = sign * start[0];

    for (int32_t first = 0; first < extents->first; first++) {
        for (int32_t at = 0; at < block; at += extents->inner) {
            const float value = sign * start[at];
            best = value > best || value != value ? value : best;
        }
        start += extents->middle * block;
    }
    return sign * best;
}

void tg_reduce_extreme_f32(const struct tg_extents *extents, enum tg_extreme which, const float *input, float *output)
{
    const float sign = (float)which; /* the smallest value is the largest one after a change of sign */
    const int32_t block = extents->second * extents->inner;

    for (int32_t outer = 0; outer < extents->outer; outer++) {
        for (int32_t middle = 0; middle < extents->middle; middle++) {
            for (int32_t i = 0; i < extents->inner; i++) {
                *output++ = extreme_of(extents, sign, input + middle * block + i);
            }
        }
        input += extents->first * extents->middle * block;
    }
}
