/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_listed_numbers_s8.h"

void tg_fully_connected_listed_s8(const struct tg_listed_convolution *layer, const int8_t *input, int8_t *output)
{
    int32_t weight = 0;
    int32_t stored = 0;

    for (int32_t unit = 0; unit < layer->shape.output_channels; unit++) {
        const int8_t *levels = tg_int8_levels_of(layer, unit);
        int32_t sum = layer->bias == NULL ? 0 : layer->bias[unit];

        for (int32_t i = 0; i < layer->shape.input_channels; i++) {
            if (tg_is_stored(&layer->list, weight)) {
                sum += (input[i] + layer->input_offset) * tg_listed_weight(layer, levels, stored);
                stored++;
            }
            weight++;
        }
        output[unit] = tg_listed_output(layer, unit, sum);
    }
}
