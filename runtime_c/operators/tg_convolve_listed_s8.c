/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_arithmetic_f32.h"
#include "tg_dot_s8.h"
#include "tg_listed_numbers_s8.h"

#define TG_MOST_FILTERS 4

/** Filters of one group that are expanded together, one behind the other. */
struct expanded {
    const int8_t *weights;
    int32_t count;
    int32_t size;                  /**< elements of one */
    int32_t sums[TG_MOST_FILTERS]; /**< of all weights of each */
};

/** One filter and the sum of its weights; `stored` counts the stored weights before it, and then those of it, too. */
static int32_t expand(
    const struct tg_listed_convolution *layer, int32_t channel, int32_t size, int32_t *stored, int8_t *filter)
{
    const int8_t *levels = tg_int8_levels_of(layer, channel);
    int32_t sum = 0;

    for (int32_t i = 0; i < size; i++) {
        int32_t number = 0;

        if (tg_is_stored(&layer->list, channel * size + i)) {
            number = tg_listed_weight(layer, levels, *stored);
            *stored += 1;
        }
        filter[i] = (int8_t)number;
        sum += number;
    }
    return sum;
}

/** Adds the products of elements that follow each other with those of each filter from `first` on. */
static void add_products(
    const struct expanded *filters, int32_t first, const int8_t *input, int32_t length, int32_t *sums)
{
    const int8_t *weights = filters->weights + first;

    if (filters->count == TG_MOST_FILTERS) {
        tg_add_4x1(weights, filters->size, input, length, sums);
    } else {
        for (int32_t i = 0; i < filters->count; i++) {
            sums[i] += tg_dot(weights + i * filters->size, input, length);
        }
    }
}

/** The sum of the weights of one filter that lie on the image. */
static int32_t covered_sum(
    const struct tg_geometry *shape, const int8_t *filter, const struct tg_taps *rows, const struct tg_taps *columns)
{
    const int32_t line = shape->filter_width * shape->filter_depth;
    int32_t sum = 0;

    for (int32_t y = rows->first; y < rows->end; y++) {
        for (int32_t i = columns->first * shape->filter_depth; i < columns->end * shape->filter_depth; i++) {
            sum += filter[y * line + i];
        }
    }
    return sum;
}

/** All filters on the window whose first row and column (perhaps in the padding) are `top` and `left`. */
static void convolve_window(const struct tg_listed_convolution *layer, const int8_t *image,
    const struct expanded *filters, int32_t top, int32_t left, int32_t *sums)
{
    const struct tg_geometry *shape = &layer->shape;
    const struct tg_taps rows = tg_taps_within(top, shape->filter_height, shape->dilation_height, shape->input_height);
    const struct tg_taps columns = tg_taps_within(left, shape->filter_width, shape->dilation_width, shape->input_width);
    const int is_whole =
        rows.end - rows.first == shape->filter_height && columns.end - columns.first == shape->filter_width;
    const int is_line = shape->dilation_width == 1 && shape->filter_depth == shape->input_channels;
    const int32_t taps = is_line ? columns.end - columns.first : 1;

    for (int32_t i = 0; i < filters->count; i++) {
        const int32_t covered =
            is_whole ? filters->sums[i] : covered_sum(shape, filters->weights + i * filters->size, &rows, &columns);

        sums[i] += layer->input_offset * covered;
    }
    for (int32_t y = rows.first; y < rows.end; y++) {
        const int32_t row = (top + y * shape->dilation_height) * shape->input_width + left;

        for (int32_t x = columns.first; x < columns.end; x += taps) {
            const int8_t *pixel = image + (row + x * shape->dilation_width) * shape->input_channels;

            add_products(
                filters, (y * shape->filter_width + x) * shape->filter_depth, pixel, taps * shape->filter_depth, sums);
        }
    }
}

/** Some output channels, from `channel` on, of one image. */
static void convolve_channels(const struct tg_listed_convolution *layer, const int8_t *image,
    const struct expanded *filters, int32_t channel, int8_t *output)
{
    for (int32_t y = 0; y < layer->shape.output_height; y++) {
        for (int32_t x = 0; x < layer->shape.output_width; x++) {
            const int32_t top = y * layer->shape.stride_height - layer->shape.pad_top;
            const int32_t left = x * layer->shape.stride_width - layer->shape.pad_left;
            int32_t sums[TG_MOST_FILTERS] = {0};

            for (int32_t i = 0; i < filters->count; i++) {
                sums[i] = layer->bias == NULL ? 0 : layer->bias[channel + i];
            }
            convolve_window(layer, image, filters, top, left, sums);
            for (int32_t i = 0; i < filters->count; i++) {
                output[i] = tg_listed_output(layer, channel + i, sums[i]);
            }
            output += layer->shape.output_channels;
        }
    }
}

void tg_convolve_listed_s8(
    const struct tg_listed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch)
{
    const struct tg_geometry *shape = &layer->shape;
    const int32_t input_elements = shape->input_height * shape->input_width * shape->input_channels;
    const int32_t output_elements = shape->output_height * shape->output_width * shape->output_channels;
    struct expanded filters = {scratch, 0, shape->filter_height * shape->filter_width * shape->filter_depth, {0}};
    int32_t stored = 0;

    for (int32_t channel = 0; channel < shape->output_channels; channel += filters.count) {
        const int32_t group = channel / shape->filters_of_group;
        const int32_t left = (group + 1) * shape->filters_of_group - channel;

        filters.count = left < TG_MOST_FILTERS ? left : TG_MOST_FILTERS;
        for (int32_t i = 0; i < filters.count; i++) {
            filters.sums[i] = expand(layer, channel + i, filters.size, &stored, scratch + i * filters.size);
        }
        for (int32_t batch = 0; batch < shape->batches; batch++) {
            convolve_channels(layer, input + batch * input_elements + group * shape->filter_depth, &filters, channel,
                output + batch * output_elements + channel);
        }
    }
}
