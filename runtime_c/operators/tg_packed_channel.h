/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One output channel of a convolution, from a filter of one byte a weight.
 */
#ifndef TG_PACKED_CHANNEL_H
#define TG_PACKED_CHANNEL_H

#include "tg_fixed_point.h"
#include "tg_packed.h"

#include <stddef.h>

/** Sum of products of the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static inline int32_t tg_packed_dot(
    const struct tg_packed_convolution *layer, const int8_t *image, const int8_t *filter, int32_t top, int32_t left)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < layer->shape.filter_height; i++) {
        const int32_t row = top + i * layer->shape.dilation_height;

        for (int32_t j = 0; j < layer->shape.filter_width; j++) {
            const int32_t column = left + j * layer->shape.dilation_width;

            if (row >= 0 && row < layer->shape.input_height && column >= 0 && column < layer->shape.input_width) {
                const int8_t *pixel = image + (row * layer->shape.input_width + column) * layer->shape.input_channels;

                for (int32_t k = 0; k < layer->shape.filter_depth; k++) {
                    sum += (pixel[k] + layer->input_offset) * filter[k];
                }
            }
            filter += layer->shape.filter_depth;
        }
    }
    return sum;
}

/** One output channel of one image. */
static inline void tg_packed_channel(const struct tg_packed_convolution *layer, const int8_t *image,
    const int8_t *filter, int32_t channel, int8_t *output)
{
    const int32_t bias = layer->bias == NULL ? 0 : layer->bias[channel];

    for (int32_t y = 0; y < layer->shape.output_height; y++) {
        for (int32_t x = 0; x < layer->shape.output_width; x++) {
            const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
            const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;
            const int32_t sum = tg_packed_dot(layer, image, filter, top, left) + bias;
            const int32_t scaled = tg_scale(sum, layer->multiplier[channel], layer->shift[channel]);

            *output = tg_stored_s8(scaled, layer->output_zero_point, layer->min, layer->max);
            output += layer->shape.output_channels;
        }
    }
}

#endif
