/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_quantize.h"
#include "tg_rounding.h"

void tg_quantize_f32_s16(const float *input, int16_t *output, int32_t size, float scale, int32_t zero_point)
{
    for (int32_t i = 0; i < size; i++) {
        output[i] = tg_clamp_s16(tg_round_limited(input[i] / scale) + zero_point, INT16_MIN, INT16_MAX);
    }
}
