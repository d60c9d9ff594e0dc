/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"

void tg_abs_s16(const struct tg_rescale *layer, const int16_t *input, int16_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t scaled = tg_scale(input[i] < 0 ? -input[i] : input[i], layer->multiplier, layer->shift);

        output[i] = tg_clamp_s16(scaled, layer->min, layer->max);
    }
}
