/*
 * SPDX-License-Identifier: Apache-2.0
 */
#define TG_VALUE int8_t
#include "tg_engine_body.h"
#include "tg_fixed_point.h"

static int8_t stored(const struct tg_engine_layer *layer, int64_t sum, int32_t channel)
{
    const int64_t whole = layer->bias == NULL ? sum : held(layer, sum + layer->bias[channel]);
    const int32_t multiplier = layer->multiplier[channel];
    const int32_t shift = layer->shift[channel];
    int64_t scaled;

    if (layer->rounding == TG_ENGINE_DOUBLE) {
        scaled = tg_scale((int32_t)whole, multiplier, shift);
    } else if (layer->rounding == TG_ENGINE_SINGLE) {
        scaled = (whole * multiplier + ((int64_t)1 << (30 - shift))) >> (31 - shift);
    } else {
        scaled = shifted(whole, 1 - shift);
    }
    scaled += layer->output_zero_point;
    if (scaled < layer->min) {
        return (int8_t)layer->min;
    }
    return (int8_t)(scaled > layer->max ? layer->max : scaled);
}

void tg_engine_layer_s8(const struct tg_engine_layer *layer, const int8_t *input, int8_t *output)
{
    compute(layer, input, output);
}
