/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_range_f32.h"

void tg_widen_range_f32(const float *input, int32_t size, int32_t is_first, struct tg_range *range)
{
    const struct tg_range found = tg_range_of(input, size);

    if (is_first || found.smallest < range->smallest) {
        range->smallest = found.smallest;
    }
    if (is_first || found.largest > range->largest) {
        range->largest = found.largest;
    }
}
