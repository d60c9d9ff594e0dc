/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dynamic.h"
#include "tg_range_f32.h"

#define MOST 127.0f

void tg_range_symmetric_f32(
    const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point, float *inverse)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size) {
        const struct tg_range range = tg_range_of(input, rows->size);
        const float magnitude = -range.smallest > range.largest ? -range.smallest : range.largest;
        scale[row] = magnitude > 0.0f ? magnitude / MOST : 1.0f;
        zero_point[row] = 0;
        if (inverse) {
            inverse[row] = magnitude > 0.0f ? MOST / magnitude : 1.0f;
        }
    }
}
