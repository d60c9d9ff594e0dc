/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_range_f32.h"

void tg_range_litert_f32(
    const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point, float *inverse)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size) {
        const struct tg_range range = tg_range_of(input, rows->size);
        tg_scale_litert_f32(&range, 1, scale + row, zero_point + row, inverse + row);
    }
}
