/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"
#include "tg_running_sum.h"

void tg_divide_sums_f32(
    const float *sums, int32_t channels, int32_t count, const struct tg_bounds_f32 *bounds, float *output)
{
    for (int32_t channel = 0; channel < channels; channel++) {
        output[channel] = tg_limited_f32(sums[channel] / (float)count, bounds);
    }
}
