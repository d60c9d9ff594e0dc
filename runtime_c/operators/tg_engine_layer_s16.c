/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_VALUE int16_t
#include "tg_engine_body.h"

static int16_t stored(const struct tg_engine_layer *layer, int64_t sum, int32_t channel)
{
    const int64_t whole = layer->wide_bias == NULL ? sum : held(layer, sum + layer->wide_bias[channel]);
    const int32_t multiplier = layer->multiplier[channel];
    const int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int32_t shift = layer->shift[channel];
    const int64_t scaled =
        layer->rounding == TG_ENGINE_SHIFT ? shifted(whole, 1 - shift) : shifted(whole * reduced, 15 - shift);

    if (scaled < layer->min) {
        return (int16_t)layer->min;
    }
    return (int16_t)(scaled > layer->max ? layer->max : scaled);
}

void tg_engine_layer_s16(const struct tg_engine_layer *layer, const int16_t *input, int16_t *output)
{
    compute(layer, input, output);
}
