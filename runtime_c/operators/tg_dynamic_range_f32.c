/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_float.h"

#define LARGEST 255.0f

void tg_dynamic_range_f32(const float *input, int32_t size, float *scale, float *zero_point)
{
    float largest = 0.0f;
    float smallest = 0.0f;

    for (int32_t i = 0; i < size; i++) {
        largest = input[i] > largest ? input[i] : largest;
        smallest = input[i] < smallest ? input[i] : smallest;
    }
    *scale = largest > smallest ? (largest - smallest) / LARGEST : 1.0f;
    /* where the scale underflows to 0, this is infinite or no number */
    const float origin = 0.0f - smallest / *scale;
    *zero_point = origin < LARGEST ? rintf(origin) : LARGEST;
}
