/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_running_sum.h"

void tg_scale_sums_s8(const int32_t *sums, int32_t channels, int32_t offset, int32_t multiplier, int32_t shift,
    int32_t zero_point, int8_t *output)
{
    for (int32_t channel = 0; channel < channels; channel++) {
        output[channel] = tg_offset_s8(tg_scale(sums[channel] + offset, multiplier, shift), zero_point);
    }
}
