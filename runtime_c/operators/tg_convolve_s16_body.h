/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A convolution of int16; TG_FUNCTION is its name, TG_WEIGHT the type of a weight.
 */
#include "tg_int16.h"
#include "tg_scale_s16.h"

#include <stddef.h>

/** Sum of products of the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static int64_t dot(
    const struct tg_convolution_s16 *layer, const int16_t *image, const TG_WEIGHT *filter, int32_t top, int32_t left)
{
    int64_t sum = 0;

    for (int32_t i = 0; i < layer->shape.filter_height; i++) {
        const int32_t row = top + i * layer->shape.dilation_height;

        for (int32_t j = 0; j < layer->shape.filter_width; j++) {
            const int32_t column = left + j * layer->shape.dilation_width;

            if (row >= 0 && row < layer->shape.input_height && column >= 0 && column < layer->shape.input_width) {
                const int16_t *pixel = image + (row * layer->shape.input_width + column) * layer->shape.input_channels;

                for (int32_t k = 0; k < layer->shape.filter_depth; k++) {
                    sum += pixel[k] * filter[k];
                }
            }
            filter += layer->shape.filter_depth;
        }
    }
    return sum;
}

/** All output channels of one pixel. */
static void convolve_pixel(
    const struct tg_convolution_s16 *layer, const int16_t *image, int32_t top, int32_t left, int16_t *output)
{
    const TG_WEIGHT *filters = (const TG_WEIGHT *)layer->weights;
    const int32_t filter_size = layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;

    for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
        const int16_t *group = image + channel / layer->shape.filters_of_group * layer->shape.filter_depth;
        const int64_t bias = layer->bias == NULL ? 0 : layer->bias[channel];
        const int64_t sum = dot(layer, group, filters + channel * filter_size, top, left) + bias;

        output[channel] = tg_scaled_s16(layer, sum, channel);
    }
}

void TG_FUNCTION(const struct tg_convolution_s16 *layer, const int16_t *input, int16_t *output)
{
    for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
        for (int32_t y = 0; y < layer->shape.output_height; y++) {
            for (int32_t x = 0; x < layer->shape.output_width; x++) {
                const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
                const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;

                convolve_pixel(layer, input, top, left, output);
                output += layer->shape.output_channels;
            }
        }
        input += layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    }
}
