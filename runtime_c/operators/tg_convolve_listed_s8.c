/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_dot_s8_s16.h"
#include "tg_listed_numbers_s8.h"

/** One filter; `stored` counts the stored weights before it, and then those of it, too. */
static void expand(const struct tg_listed_convolution *layer, int32_t channel, int32_t *stored, int16_t *filter)
{
    const int32_t taps = layer->shape.filter_height * layer->shape.filter_width;
    const int32_t depth = layer->shape.filter_depth;
    const int8_t *levels = tg_int8_levels_of(layer, channel);
    int32_t weight = channel * taps * depth;

    for (int32_t tap = 0; tap < taps; tap++) {
        for (int32_t i = 0; i < depth; i++) {
            int32_t number = 0;

            if (tg_is_stored(&layer->list, weight)) {
                number = tg_listed_weight(layer, levels, *stored);
                *stored += 1;
            }
            filter[tg_place_s16(i, depth)] = (int16_t)number;
            weight++;
        }
        filter += depth;
    }
}

/** Products of the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static int32_t window_sum(
    const struct tg_listed_convolution *layer, const int8_t *image, const int16_t *filter, int32_t top, int32_t left)
{
    const struct tg_geometry *shape = &layer->shape;
    int32_t sum = 0;

    for (int32_t i = 0; i < shape->filter_height; i++) {
        const int32_t row = top + i * shape->dilation_height;

        for (int32_t j = 0; j < shape->filter_width; j++) {
            const int32_t column = left + j * shape->dilation_width;

            if (row >= 0 && row < shape->input_height && column >= 0 && column < shape->input_width) {
                const int8_t *pixel = image + (row * shape->input_width + column) * shape->input_channels;

                sum += tg_dot_s8_s16(pixel, layer->input_offset, filter, shape->filter_depth);
            }
            filter += shape->filter_depth;
        }
    }
    return sum;
}

/** One output channel of one image. */
static void convolve_channel(const struct tg_listed_convolution *layer, const int8_t *image, const int16_t *filter,
    int32_t channel, int8_t *output)
{
    const int32_t bias = layer->bias == NULL ? 0 : layer->bias[channel];

    for (int32_t y = 0; y < layer->shape.output_height; y++) {
        for (int32_t x = 0; x < layer->shape.output_width; x++) {
            const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
            const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;

            *output = tg_listed_output(layer, channel, window_sum(layer, image, filter, top, left) + bias);
            output += layer->shape.output_channels;
        }
    }
}

void tg_convolve_listed_s8(
    const struct tg_listed_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch)
{
    const struct tg_geometry *shape = &layer->shape;
    const int32_t input_elements = shape->input_height * shape->input_width * shape->input_channels;
    const int32_t output_elements = shape->output_height * shape->output_width * shape->output_channels;
    int32_t stored = 0;

    for (int32_t channel = 0; channel < shape->output_channels; channel++) {
        const int32_t group = channel / shape->filters_of_group;

        expand(layer, channel, &stored, scratch);
        for (int32_t batch = 0; batch < shape->batches; batch++) {
            convolve_channel(layer, input + batch * input_elements + group * shape->filter_depth, scratch, channel,
                output + batch * output_elements + channel);
        }
    }
}
