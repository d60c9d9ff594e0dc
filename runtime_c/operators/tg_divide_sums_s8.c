/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_running_sum.h"

void tg_divide_sums_s8(const int32_t *sums, int32_t channels, int32_t count, int32_t min, int32_t max, int8_t *output)
{
    const int32_t half = count / 2;

    for (int32_t channel = 0; channel < channels; channel++) {
        const int32_t sum = sums[channel];

        output[channel] = tg_clamp_s8((sum > 0 ? sum + half : sum - half) / count, min, max);
    }
}
