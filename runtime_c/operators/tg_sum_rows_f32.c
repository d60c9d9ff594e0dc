/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_running_sum.h"

void tg_sum_rows_f32(const float *input, int32_t pixels, int32_t channels, float *sums)
{
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
        for (int32_t channel = 0; channel < channels; channel++) {
            sums[channel] += *input++;
        }
    }
}
