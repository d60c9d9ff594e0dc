/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_reduction.h"

void tg_sum_s8(
    const struct tg_extents *extents, const struct tg_sum_params *params, const int8_t *input, int8_t *output)
{
    const int32_t inner = extents->inner;
    const int32_t block = extents->second * inner;
    const int32_t plane = extents->middle * block;

    for (int32_t outer = 0; outer < extents->outer; outer++) {
        for (int32_t middle = 0; middle < extents->middle; middle++) {
            for (int32_t i = 0; i < inner; i++) {
                const int8_t *start = input + middle * block + i;
                int32_t sum = params->offset;
                for (int32_t first = 0; first < extents->first; first++) {
                    for (int32_t at = 0; at < block; at += inner) {
                        sum += start[at];
                    }
                    start += plane;
                }
                *output++ = tg_offset_s8(tg_scale(sum, params->multiplier, params->shift), params->output_zero_point);
            }
        }
        input += extents->first * plane;
    }
}
