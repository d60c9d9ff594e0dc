/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_fixed_point.h"
#include "tg_packed.h"

#include <stddef.h>

/** The filter of output channel `channel`, one byte a weight. Elements do not straddle bytes. */
static void unpack(const struct tg_packed_convolution *layer, int32_t channel, int8_t *filter)
{
    const int32_t count = layer->filter_height * layer->filter_width * layer->filter_depth;
    const int32_t bits = layer->weight_bits;
    const int32_t unused = 32 - bits;
    int32_t position = channel * count * bits;

    for (int32_t i = 0; i < count; i++) {
        const uint32_t code = (uint32_t)(uint8_t)layer->weights[position >> 3] >> (position & 7);

        filter[i] = (int8_t)(bits == 1 ? (int32_t)(code & 1U) * 2 - 1 : (int32_t)(code << unused) >> unused);
        position += bits;
    }
}

/** Sum of products of the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static int32_t dot(
    const struct tg_packed_convolution *layer, const int8_t *image, const int8_t *filter, int32_t top, int32_t left)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < layer->filter_height; i++) {
        const int32_t row = top + i * layer->dilation_height;

        for (int32_t j = 0; j < layer->filter_width; j++) {
            const int32_t column = left + j * layer->dilation_width;

            if (row >= 0 && row < layer->input_height && column >= 0 && column < layer->input_width) {
                const int8_t *pixel = image + (row * layer->input_width + column) * layer->input_channels;

                for (int32_t k = 0; k < layer->filter_depth; k++) {
                    sum += (pixel[k] + layer->input_offset) * filter[k];
                }
            }
            filter += layer->filter_depth;
        }
    }
    return sum;
}

/** One output channel of one image. */
static void convolve_channel(const struct tg_packed_convolution *layer, const int8_t *image, const int8_t *filter,
    int32_t channel, int8_t *output)
{
    const int32_t bias = layer->bias == NULL ? 0 : layer->bias[channel];

    for (int32_t y = 0; y < layer->output_height; y++) {
        for (int32_t x = 0; x < layer->output_width; x++) {
            const int32_t top = y * layer->stride_height - layer->pad_top;
            const int32_t left = x * layer->stride_width - layer->pad_left;
            const int32_t sum = dot(layer, image, filter, top, left) + bias;
            const int32_t scaled = tg_scale(sum, layer->multiplier[channel], layer->shift[channel]);

            *output = tg_clamp_s8(scaled + layer->output_zero_point, layer->min, layer->max);
            output += layer->output_channels;
        }
    }
}

void tg_convolve_packed_s8(
    const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const int32_t input_elements = layer->input_height * layer->input_width * layer->input_channels;
    const int32_t output_elements = layer->output_height * layer->output_width * layer->output_channels;

    for (int32_t channel = 0; channel < layer->output_channels; channel++) {
        const int32_t group = channel / layer->filters_of_group;

        unpack(layer, channel, scratch);
        for (int32_t batch = 0; batch < layer->batches; batch++) {
            convolve_channel(layer, input + batch * input_elements + group * layer->filter_depth, scratch, channel,
                output + batch * output_elements + channel);
        }
    }
}
