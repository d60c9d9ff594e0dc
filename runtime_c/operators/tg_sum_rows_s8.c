/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_running_sum.h"

void tg_sum_rows_s8(const int8_t *input, int32_t pixels, int32_t channels, int32_t *sums)
{
    for (int32_t pixel = 0; pixel < pixels; pixel++) {
        for (int32_t channel = 0; channel < channels; channel++) {
            sums[channel] += *input++;
        }
    }
}
