/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "tg_dynamic.h"

#define STEPS 255.0f

void tg_scale_asymmetric_f32(const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point)
{
    for (int32_t i = 0; i < count; i++) {
        const struct tg_range range = ranges[i];
        scale[i] = range.largest > range.smallest ? (range.largest - range.smallest) / STEPS : 1.0f;
        /* where the scale underflows to 0, this is infinite or no number */
        const float origin = 0.0f - range.smallest / scale[i];
        zero_point[i] = (int8_t)((int32_t)(origin < STEPS ? rintf(origin) : STEPS) - 128);
    }
}
