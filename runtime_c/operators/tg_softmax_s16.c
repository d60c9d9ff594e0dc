/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_int16.h"
#include "tg_interpolation.h"

/** exp() of the difference, in Q15. */
static int32_t exponential(const struct tg_softmax_s16 *layer, int32_t difference)
{
    const int32_t position = tg_scale(difference, layer->multiplier, layer->shift) + INT16_MAX;

    return tg_interpolate(layer->exponential, position < INT16_MIN ? INT16_MIN : position);
}

static void softmax_row(const struct tg_softmax_s16 *layer, const int16_t *input, int16_t *output)
{
    int32_t max = input[0];
    int32_t sum = 0;
    int32_t headroom = 0;

    for (int32_t i = 1; i < layer->row_size; i++) {
        max = input[i] > max ? input[i] : max;
    }
    for (int32_t i = 0; i < layer->row_size; i++) {
        const int32_t value = exponential(layer, input[i] - max);

        output[i] = (int16_t)value;
        sum += value;
    }
    while ((uint32_t)sum << headroom < 1U << 30) {
        headroom++;
    }

    const int32_t mantissa = (int32_t)((((uint32_t)sum << headroom) + (1U << 13)) >> 14); /* 1.0 is 65536 */
    const int32_t position = mantissa - 98304;
    const int32_t reciprocal = tg_interpolate(layer->reciprocal, position > INT16_MAX ? INT16_MAX : position);
    const int32_t shift = 30 - headroom;

    for (int32_t i = 0; i < layer->row_size; i++) {
        const int32_t value = (output[i] * reciprocal + (1 << (shift - 1))) >> shift;

        output[i] = tg_clamp_s16(value, 0, INT16_MAX);
    }
}

void tg_softmax_s16(const struct tg_softmax_s16 *layer, const int16_t *input, int16_t *output)
{
    for (int32_t row = 0; row < layer->rows; row++) {
        softmax_row(layer, input, output);
        input += layer->row_size;
        output += layer->row_size;
    }
}
