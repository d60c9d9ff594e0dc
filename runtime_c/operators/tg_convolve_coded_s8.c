/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_coded_s8.h"
#include "tg_dot_s8_s16.h"
#include "tg_fixed_point.h"

#include <stddef.h>

static int32_t number_of(const struct tg_coded_convolution *layer, uint32_t code)
{
    int32_t number;

    if (layer->bits < 8) {
        number = layer->levels[code];
    } else {
        number = layer->is_signed != 0 ? (int32_t)(int8_t)code : (int32_t)code;
    }
    return number;
}

/** The numbers of one filter, less their zero points. */
static void decode(const struct tg_coded_convolution *layer, int32_t channel, int16_t *numbers)
{
    const int32_t taps = layer->shape.filter_height * layer->shape.filter_width;
    const uint32_t mask = (1U << layer->bits) - 1U;
    int32_t position = channel * taps * layer->shape.filter_depth * layer->bits;

    for (int32_t tap = 0; tap < taps; tap++) {
        int32_t block = channel * layer->next_zero;

        for (int32_t first = 0; first < layer->shape.filter_depth; first += layer->block) {
            const int32_t zero = layer->zero_points == NULL ? 0 : number_of(layer, layer->zero_points[block]);

            for (int32_t i = 0; i < layer->block; i++) {
                const uint32_t code = ((uint32_t)layer->codes[position >> 3] >> (position & 7)) & mask;

                numbers[tg_place_s16(i, layer->block)] = (int16_t)(number_of(layer, code) - zero);
                position += layer->bits;
            }
            numbers += layer->block;
            block++;
        }
    }
}

/** Products of all blocks under one tap, each times its factor; `factor` is the filter's first. */
static int64_t tap_sum(
    const struct tg_coded_convolution *layer, const int8_t *pixel, const int16_t *numbers, int32_t factor)
{
    int64_t sum = 0;

    for (int32_t first = 0; first < layer->shape.filter_depth; first += layer->block) {
        const int64_t products = tg_dot_s8_s16(pixel + first, layer->input_offset, numbers + first, layer->block);

        if (layer->factors != NULL) {
            sum += products * layer->factors[factor];
        } else if (layer->powers != NULL) {
            sum += products * ((int64_t)1 << layer->powers[factor]);
        } else {
            sum += products;
        }
        factor++;
    }
    return sum;
}

/** Products of the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static int64_t window_sum(const struct tg_coded_convolution *layer, const int8_t *image, const int16_t *numbers,
    int32_t channel, int32_t top, int32_t left)
{
    const int32_t factor = channel * (layer->shape.filter_depth / layer->block);
    int64_t sum = 0;

    for (int32_t i = 0; i < layer->shape.filter_height; i++) {
        const int32_t row = top + i * layer->shape.dilation_height;

        for (int32_t j = 0; j < layer->shape.filter_width; j++) {
            const int32_t column = left + j * layer->shape.dilation_width;

            if (row >= 0 && row < layer->shape.input_height && column >= 0 && column < layer->shape.input_width) {
                const int32_t pixel = (row * layer->shape.input_width + column) * layer->shape.input_channels;

                sum += tap_sum(layer, image + pixel, numbers, factor);
            }
            numbers += layer->shape.filter_depth;
        }
    }
    return sum;
}

/** One output channel of one image. */
static void convolve_channel(const struct tg_coded_convolution *layer, const int8_t *image, const int16_t *numbers,
    int32_t channel, int8_t *output)
{
    const int32_t lost = layer->sum_shift[channel];
    const int64_t half = lost == 0 ? 0 : (int64_t)1 << (lost - 1);
    const int64_t start = (layer->bias == NULL ? 0 : layer->bias[channel]) + half;

    for (int32_t y = 0; y < layer->shape.output_height; y++) {
        for (int32_t x = 0; x < layer->shape.output_width; x++) {
            const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
            const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;
            const int64_t sum = start + window_sum(layer, image, numbers, channel, top, left);
            const int32_t scaled = tg_scale((int32_t)(sum >> lost), layer->multiplier[channel], layer->shift[channel]);

            *output = tg_clamp_s8(scaled + layer->output_zero_point, layer->min, layer->max);
            output += layer->shape.output_channels;
        }
    }
}

void tg_convolve_coded_s8(
    const struct tg_coded_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch)
{
    const int32_t input_elements = layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    const int32_t output_elements =
        layer->shape.output_height * layer->shape.output_width * layer->shape.output_channels;

    for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
        const int32_t group = channel / layer->shape.filters_of_group;

        decode(layer, channel, scratch);
        for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
            convolve_channel(layer, input + batch * input_elements + group * layer->shape.filter_depth, scratch,
                channel, output + batch * output_elements + channel);
        }
    }
}
