/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_quantize.h"

#define LIMIT 1024 /* beyond every int8 value minus a zero point */

/** The nearest integer, halves away from zero; +-LIMIT beyond these, 0 for NaN. */
static int32_t round_limited(float value)
{
    int32_t whole;
    float fraction;

    if (value >= (float)LIMIT) {
        return LIMIT;
    }
    if (value <= (float)-LIMIT) {
        return -LIMIT;
    }
    if (value != value) {
        return 0;
    }
    whole = (int32_t)value;
    fraction = value - (float)whole;
    return whole + (fraction >= 0.5f ? 1 : 0) - (fraction <= -0.5f ? 1 : 0);
}

void tg_quantize_f32_s8(const float *input, int8_t *output, int32_t size, float scale, int32_t zero_point)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = tg_saturate_s8(round_limited(input[i] / scale) + zero_point);
    }
}
