/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"

void tg_rescale_s32_s8(const struct tg_rescale *layer, const int32_t *input, int8_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t scaled = tg_scale(input[i], layer->multiplier, layer->shift);

        output[i] = tg_stored_s8(scaled, layer->output_zero_point, layer->min, layer->max);
    }
}
