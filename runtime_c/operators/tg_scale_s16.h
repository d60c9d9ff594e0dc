/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requantization of 48-bit sums of int16 layers.
 */
#ifndef TG_SCALE_S16_H
#define TG_SCALE_S16_H

#include "tg_int16.h"

/** value * multiplier * 2^(shift - 31) with 16 bits of the multiplier, to the nearest (ties up). */
static inline int64_t tg_scale_wide(int64_t value, int32_t multiplier, int32_t shift)
{
    const int32_t reduced = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    const int32_t bits = 15 - shift;

    return (value * reduced + ((int64_t)1 << (bits - 1))) >> bits;
}

/** The same by what a layer has for a channel, within the layer's range. */
static inline int16_t tg_scaled_s16(const struct tg_convolution_s16 *layer, int64_t value, int32_t channel)
{
    const int64_t result = tg_scale_wide(value, layer->multiplier[channel], layer->shift[channel]);

    if (result < layer->min) {
        return (int16_t)layer->min;
    }
    return (int16_t)(result > layer->max ? layer->max : result);
}

#endif
