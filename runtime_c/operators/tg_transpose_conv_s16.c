/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stddef.h>

#include "tg_int16.h"
#include "tg_scale_s16.h"

/** Sum of weights times inputs, over the channels of one pixel. */
static int64_t dot_product(const int8_t *weights, const int16_t *pixel, int32_t channels)
{
    int64_t sum = 0;

    for (int32_t c = 0; c < channels; c++) {
        sum += weights[c] * pixel[c];
    }
    return sum;
}

/** What all inputs that reach one output position add to it; y and x count from the uncut corner. */
static int64_t gather(
    const struct tg_convolution_s16 *layer, const int8_t *filter, const int16_t *input, int32_t y, int32_t x)
{
    const int32_t channels = layer->shape.input_channels;
    int64_t sum = 0;

    for (int32_t ky = y % layer->shape.stride_height; ky < layer->shape.filter_height && ky <= y;
        ky += layer->shape.stride_height) {
        const int32_t row = (y - ky) / layer->shape.stride_height;

        for (int32_t kx = x % layer->shape.stride_width; kx < layer->shape.filter_width && kx <= x;
            kx += layer->shape.stride_width) {
            const int32_t column = (x - kx) / layer->shape.stride_width;

            if (row < layer->shape.input_height && column < layer->shape.input_width) {
                sum += dot_product(filter + (ky * layer->shape.filter_width + kx) * channels,
                    input + (row * layer->shape.input_width + column) * channels, channels);
            }
        }
    }
    return sum;
}

void tg_transpose_conv_s16(const struct tg_convolution_s16 *layer, const int16_t *input, int16_t *output)
{
    const int32_t filter_size = layer->shape.filter_height * layer->shape.filter_width * layer->shape.input_channels;
    const int8_t *weights = layer->weights;

    for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
        for (int32_t y = layer->shape.pad_top; y < layer->shape.pad_top + layer->shape.output_height; y++) {
            for (int32_t x = layer->shape.pad_left; x < layer->shape.pad_left + layer->shape.output_width; x++) {
                for (int32_t channel = 0; channel < layer->shape.output_channels; channel++) {
                    const int64_t bias = layer->bias == NULL ? 0 : layer->bias[channel];
                    const int64_t sum = bias + gather(layer, weights + channel * filter_size, input, y, x);

                    *output++ = tg_scaled_s16(layer, sum, channel);
                }
            }
        }
        input += layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    }
}
