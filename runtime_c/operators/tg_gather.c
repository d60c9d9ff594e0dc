/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>
#include <string.h>

#include "tg_movement.h"

int tg_gather(const struct tg_gather *gather, const void *input, const int32_t *indices, void *output)
{
    const uint8_t *block = input;
    uint8_t *slice = output;

    for (int32_t batch = 0; batch < gather->batches; batch++) {
        for (int32_t outer = 0; outer < gather->outer; outer++) {
            for (int32_t i = 0; i < gather->index_count; i++) {
                if (indices[i] < 0 || indices[i] >= gather->axis_size) {
                    return 1;
                }
                memcpy(slice, block + indices[i] * gather->slice_bytes, (size_t)gather->slice_bytes);
                slice += gather->slice_bytes;
            }
            block += gather->axis_size * gather->slice_bytes;
        }
        indices += gather->index_count;
    }
    return 0;
}
