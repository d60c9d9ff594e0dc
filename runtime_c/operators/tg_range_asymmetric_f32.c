/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "tg_dynamic.h"
#include "tg_range_f32.h"

#define STEPS 255.0f

void tg_range_asymmetric_f32(const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point)
{
    for (int32_t row = 0; row < rows->count; row++, input += rows->size) {
        const struct tg_range range = tg_range_of(input, rows->size);
        scale[row] = range.largest > range.smallest ? (range.largest - range.smallest) / STEPS : 1.0f;
        /* where the scale underflows to 0, this is infinite or no number */
        const float origin = 0.0f - range.smallest / scale[row];
        zero_point[row] = (int8_t)((int32_t)(origin < STEPS ? rintf(origin) : STEPS) - 128);
    }
}
