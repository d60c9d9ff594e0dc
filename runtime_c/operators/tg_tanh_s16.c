/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_sigmoid.h"

/* tanh(x) = 2 (sigmoid(2 x) - 1/2) */
void tg_tanh_s16(const struct tg_sigmoid_s16 *layer, const int16_t *input, int16_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t position = tg_sigmoid_position(layer, input[i]);
        const int32_t magnitude = position < 0 ? -position : position;
        const int32_t value = tg_sigmoid_above_half(layer->table, magnitude, 8, INT16_MAX);

        output[i] = (int16_t)((position < 0 ? 127 - value : 128 + value) >> 8);
    }
}
