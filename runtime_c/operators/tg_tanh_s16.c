/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_sigmoid.h"

void tg_tanh_s16(const struct tg_sigmoid_s16 *layer, const int16_t *input, int16_t *output)
{
    for (int32_t i = 0; i < layer->size; i++) {
        output[i] = (int16_t)tg_tanh_of(layer->table, tg_sigmoid_position(layer, input[i]));
    }
}
