/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_sigmoid.h"

void tg_logistic_s16(const struct tg_sigmoid_s16 *layer, const int16_t *input, int16_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        const int32_t position = tg_sigmoid_position(layer, input[i]);
        const int32_t magnitude = position < 0 ? -position : position;
        const int32_t value = tg_sigmoid_above_half(layer->table, magnitude, 9, INT16_MAX - 1);

        output[i] = (int16_t)(((1 << 24) + (position < 0 ? 511 - value : 512 + value)) >> 10);
    }
}
