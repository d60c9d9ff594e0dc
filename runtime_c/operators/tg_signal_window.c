/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Frames of samples before they are transformed.
 */
#include "tg_fixed_point.h"
#include "tg_signal_arithmetic.h"

/* file: tg_auto_scale_s16.c */

void tg_auto_scale_s16(int32_t size, const int16_t *input, int16_t *output, int32_t *bits)
{
    int32_t largest = 0; /* within int16: 32768 becomes the smallest number, as in TFLite Micro */
    int32_t shift;

    for (int32_t i = 0; i < size; i++) {
        if (input[i] > largest) {
            largest = input[i];
        } else if (-input[i] > largest) {
            largest = (int16_t)-input[i];
        }
    }
    shift = largest > 0 ? 15 - tg_bit_length((uint32_t)largest) : 0;
    for (int32_t i = 0; i < size; i++) {
        output[i] = (int16_t)((uint32_t)input[i] << shift);
    }
    *bits = shift;
}

/* file: tg_signal_window.c */

void tg_signal_window(const struct tg_sample_window *layer, const int16_t *input, int16_t *output)
{
    for (int32_t row = 0; row < layer->rows; row++) {
        for (int32_t i = 0; i < layer->size; i++) {
            *output++ = tg_clamp_s16((*input++ * layer->factors[i]) >> layer->shift, INT16_MIN, INT16_MAX);
        }
    }
}
