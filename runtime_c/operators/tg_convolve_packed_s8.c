/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_coded_s8.h"
#include "tg_packed.h"

#include <stddef.h>

void tg_convolve_packed_s8(
    const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch)
{
    static const int8_t levels_of_1_bit[] = {-1, 1};
    static const int8_t levels_of_2_bits[] = {0, 1, -2, -1};
    static const int8_t levels_of_4_bits[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
    const int8_t *const several = layer->weight_bits == 2 ? levels_of_2_bits : levels_of_4_bits;
    const struct tg_coded_convolution coded = {
        .shape = layer->shape,
        .input_offset = layer->input_offset,
        .output_zero_point = layer->output_zero_point,
        .min = layer->min,
        .max = layer->max,
        .bits = layer->weight_bits,
        .block = layer->shape.filter_depth,
        .is_signed = 1,
        .filters_at_once = layer->filters_at_once,
        .codes = (const uint8_t *)layer->weights,
        .levels = layer->weight_bits == 1 ? levels_of_1_bit : several,
        .bias = layer->bias,
        .multiplier = layer->multiplier,
        .shift = layer->shift,
    };

    tg_convolve_coded_s8(&coded, input, output, scratch);
}
