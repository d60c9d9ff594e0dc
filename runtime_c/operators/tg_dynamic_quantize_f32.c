/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

#define LARGEST 255.0f

void tg_dynamic_quantize_f32(
    const float *input, int32_t size, const float *scale, const float *zero_point, float *output)
{
    for (int32_t i = 0; i < size; i++) {
        const float level = rintf(input[i] / *scale) + *zero_point;
        const float limited = level < LARGEST ? level : LARGEST;
        output[i] = level > 0.0f ? limited : 0.0f; /* and 0 where 0 was divided by 0 */
    }
}
