/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_asymmetric.h"
#include "tg_dot_s8.h"
#include "tg_fixed_point.h"

#define TG_FILTERS 4 /* at a time */

/** The elements of a window whose first row and column (perhaps in the padding) are `top` and `left`. */
static void gather(
    const struct tg_asymmetric_convolution *layer, const int8_t *image, int32_t top, int32_t left, int8_t *window)
{
    const int32_t depth = layer->shape.filter_depth;

    for (int32_t i = 0; i < layer->shape.filter_height; i++) {
        const int32_t row = top + i * layer->shape.dilation_height;

        for (int32_t j = 0; j < layer->shape.filter_width; j++) {
            const int32_t column = left + j * layer->shape.dilation_width;

            if (row >= 0 && row < layer->shape.input_height && column >= 0 && column < layer->shape.input_width) {
                memcpy(window, image + (row * layer->shape.input_width + column) * layer->shape.input_channels,
                    (size_t)depth);
            } else {
                memset(window, layer->input_zero_point, (size_t)depth);
            }
            window += depth;
        }
    }
}

static int32_t sum_of(const int8_t *values, int32_t count)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

static int8_t finish(const struct tg_asymmetric_convolution *layer, int32_t channel, int32_t products, int32_t sum)
{
    const uint32_t correction = (uint32_t)layer->constant[channel] - (uint32_t)(layer->zero_point[channel] * sum);
    const int32_t total = (int32_t)((uint32_t)products + correction);
    const int32_t scaled = tg_scale(total, layer->multiplier[channel], layer->shift[channel]);

    return tg_stored_s8(scaled, layer->output_zero_point, layer->min, layer->max);
}

/** The output channels of one group, of one pixel. */
static void multiply(const struct tg_asymmetric_convolution *layer, const int8_t *window, int32_t group, int8_t *output)
{
    const int32_t elements = layer->shape.filter_height * layer->shape.filter_width * layer->shape.filter_depth;
    const int32_t sum = sum_of(window, elements);
    const int32_t end = (group + 1) * layer->shape.filters_of_group;
    int32_t channel = group * layer->shape.filters_of_group;
    const int8_t *filter = layer->weights + channel * elements;

    for (; channel + TG_FILTERS <= end; channel += TG_FILTERS) {
        int32_t products[TG_FILTERS] = {0};

        tg_add_4x1(filter, elements, window, elements, products);
        for (int32_t i = 0; i < TG_FILTERS; i++) {
            output[channel + i] = finish(layer, channel + i, products[i], sum);
        }
        filter += TG_FILTERS * elements;
    }
    for (; channel < end; channel++) {
        output[channel] = finish(layer, channel, tg_dot(filter, window, elements), sum);
        filter += elements;
    }
}

static void convolve(
    const struct tg_asymmetric_convolution *layer, const int8_t *image, int8_t *output, int8_t *scratch)
{
    const int32_t groups = layer->shape.output_channels / layer->shape.filters_of_group;

    for (int32_t y = 0; y < layer->shape.output_height; y++) {
        const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;

        for (int32_t x = 0; x < layer->shape.output_width; x++) {
            const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;

            for (int32_t group = 0; group < groups; group++) {
                gather(layer, image + group * layer->shape.filter_depth, top, left, scratch);
                multiply(layer, scratch, group, output);
            }
            output += layer->shape.output_channels;
        }
    }
}

void tg_convolve_asymmetric_s8(
    const struct tg_asymmetric_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const int32_t input_elements = layer->shape.input_height * layer->shape.input_width * layer->shape.input_channels;
    const int32_t output_elements =
        layer->shape.output_height * layer->shape.output_width * layer->shape.output_channels;

    for (int32_t batch = 0; batch < layer->shape.batches; batch++) {
        convolve(layer, input, output, scratch);
        input += input_elements;
        output += output_elements;
    }
}
