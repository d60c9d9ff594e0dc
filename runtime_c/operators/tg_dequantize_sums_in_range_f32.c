/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dequantize_f32.h"

void tg_dequantize_sums_in_range_f32(
    const struct tg_sums *sums, const int32_t *input, const float *scale, float *output, struct tg_range *range)
{
    const struct tg_range_bits bits = tg_dequantize_groups(sums, 1, input, scale, output);

    *range = tg_range_of_bits(bits, output, sums->groups * sums->pixels * sums->channels);
}
