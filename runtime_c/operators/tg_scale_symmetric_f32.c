/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dynamic.h"

#define MOST 127.0f

void tg_scale_symmetric_f32(
    const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point, float *inverse)
{
    for (int32_t i = 0; i < count; i++) {
        const struct tg_range range = ranges[i];
        const float magnitude = -range.smallest > range.largest ? -range.smallest : range.largest;
        scale[i] = magnitude > 0.0f ? magnitude / MOST : 1.0f;
        zero_point[i] = 0;
        if (inverse) {
            inverse[i] = magnitude > 0.0f ? MOST / magnitude : 1.0f;
        }
    }
}
