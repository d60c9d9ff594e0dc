/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"

void tg_rescale_s16_s32(const struct tg_rescale *layer, const int16_t *input, int32_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t scaled = tg_scale(input[i] + layer->input_offset, layer->multiplier, layer->shift);

        output[i] = scaled;
    }
}
