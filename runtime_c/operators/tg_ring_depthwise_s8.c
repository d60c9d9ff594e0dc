/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "tg_ring_layer.h"

#if defined(__ARM_FEATURE_DSP) && defined(__ARM_FEATURE_UNALIGNED) && !defined(__ARM_FEATURE_MVE)

/* Products of four channels, added to their sums. */
static inline void add_four(const int8_t *values, const int8_t *weights, int32_t *sums)
{
    uint32_t value;
    uint32_t weight;
    uint32_t values_even;
    uint32_t values_odd;
    uint32_t weights_even;
    uint32_t weights_odd;

    memcpy(&value, values, sizeof value); /* one load each */
    memcpy(&weight, weights, sizeof weight);
    __asm__("sxtb16 %0, %1" : "=r"(values_even) : "r"(value));
    __asm__("sxtb16 %0, %1" : "=r"(weights_even) : "r"(weight));
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sums[0]) : "r"(values_even), "r"(weights_even));
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sums[2]) : "r"(values_even), "r"(weights_even));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(values_odd) : "r"(value));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(weights_odd) : "r"(weight));
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sums[1]) : "r"(values_odd), "r"(weights_odd));
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sums[3]) : "r"(values_odd), "r"(weights_odd));
}

#else

static inline void add_four(const int8_t *values, const int8_t *weights, int32_t *sums)
{
    sums[0] += values[0] * weights[0];
    sums[1] += values[1] * weights[1];
    sums[2] += values[2] * weights[2];
    sums[3] += values[3] * weights[3];
}

#endif

/* What lies under each tap of a filter whose first one is on `row`, counted from the oldest of the ring. */
static void find_taps(const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, int32_t place,
    int32_t row, const int8_t **taps)
{
    for (int32_t i = 0; i < layer->taps; i++, row += layer->dilation) {
        const int32_t behind = row + place < layer->ring_rows ? 0 : layer->ring_rows;

        *taps++ = row < layer->ring_rows ? ring + (row + place - behind) * layer->units
                                         : input + (row - layer->ring_rows) * layer->units;
    }
}

static void convolve_row(const struct tg_ring_layer *layer, const int8_t *const *taps, int8_t *output)
{
    int32_t channel = 0;

    for (; channel + 4 <= layer->units; channel += 4) {
        const int8_t *weights = layer->weights + channel;
        int32_t sums[4];

        memcpy(sums, layer->starts + channel, sizeof sums);
        for (int32_t tap = 0; tap < layer->taps; tap++) {
            add_four(taps[tap] + channel, weights, sums);
            weights += layer->units;
        }
        for (int32_t i = 0; i < 4; i++) {
            *output++ = tg_ring_finished(layer, channel + i, sums[i]);
        }
    }
    for (; channel < layer->units; channel++) {
        int32_t sum = layer->starts[channel];

        for (int32_t tap = 0; tap < layer->taps; tap++) {
            sum += taps[tap][channel] * layer->weights[tap * layer->units + channel];
        }
        *output++ = tg_ring_finished(layer, channel, sum);
    }
}

void tg_ring_depthwise_s8(
    const struct tg_ring_layer *layer, const int8_t *input, const int8_t *ring, const int32_t *place, int8_t *output)
{
    const int8_t *taps[TG_RING_MOST_TAPS];

    for (int32_t row = 0; row < layer->outputs; row++) {
        find_taps(layer, input, ring, *place, row * layer->stride, taps);
        convolve_row(layer, taps, output);
        output += layer->units;
    }
}
