/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Pooling, four channels at a time.
 */
#include "tg_native_pool.h"

/* file: tg_native_pool.c */

static inline int32_t clipped(int32_t value, int32_t end)
{
    return value < 0 ? 0 : value > end ? end : value;
}

/* One position of the window: `from` and `to` point at the first channel. */
static void reduce_channels(const struct tg_native_window *window, const int8_t *from, int8_t *to,
    tg_native_reduce *reduce_four, tg_native_reduce *reduce_one)
{
    int32_t channel = 0;

    for (; channel <= window->channels - 4; channel += 4) {
        reduce_four(from + channel, window, to + channel);
    }
    for (; channel < window->channels; channel++) {
        reduce_one(from + channel, window, to + channel);
    }
}

void tg_native_pool(const struct tg_native_pool *layer, const int8_t *input, int8_t *output,
    tg_native_reduce *reduce_four, tg_native_reduce *reduce_one)
{
    const int32_t channels = layer->channels;
    int8_t *to = output;

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t y = -layer->pad_top, i = 0; i < layer->output_height; i++, y += layer->stride_height) {
            const int32_t top = clipped(y, layer->input_height);
            const int32_t bottom = clipped(y + layer->kernel_height, layer->input_height);
            for (int32_t x = -layer->pad_left, j = 0; j < layer->output_width; j++, x += layer->stride_width) {
                const int32_t left = clipped(x, layer->input_width);
                const int32_t columns = clipped(x + layer->kernel_width, layer->input_width) - left;
                const struct tg_native_window window = {
                    .rows = bottom - top,
                    .columns = columns,
                    .count = (bottom - top) * columns,
                    .channels = channels,
                    .row_skip = (layer->input_width - columns) * channels,
                };
                const int8_t *const from = input + (top * layer->input_width + left) * channels;
                reduce_channels(&window, from, to, reduce_four, reduce_one);
                to += channels;
            }
        }
        input += layer->input_height * layer->input_width * channels;
    }
    tg_native_clamp_s8(output, (int32_t)(to - output), layer->min, layer->max);
}

/* file: tg_native_average_pool_s8.c */

static inline int8_t mean(int32_t sum, const struct tg_native_window *window)
{
    const int32_t half = window->count / 2;

    return (int8_t)((sum > 0 ? sum + half : sum - half) / window->count); /* halves away from zero */
}

/* Four channels: sums of 16 bits hold 255 values. */
static void average_four(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    uint32_t even = 0;
    uint32_t odd = 0;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            const uint32_t word = tg_word(from);
            even = tg_add_even_bytes(even, word);
            odd = tg_add_odd_bytes(odd, word);
        }
    }
    output[0] = mean(tg_low(even), window);
    output[1] = mean(tg_low(odd), window);
    output[2] = mean(tg_high(even), window);
    output[3] = mean(tg_high(odd), window);
}

static void average_one(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    int32_t sum = 0;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            sum += *from;
        }
    }
    *output = mean(sum, window);
}

void tg_native_average_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_pool(layer, input, output, average_four, average_one);
}

/* file: tg_native_max_pool_s8.c */

static void largest_of_four(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    uint32_t largest = tg_word(from);

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            largest = tg_larger_bytes(largest, tg_word(from));
        }
    }
    memcpy(output, &largest, sizeof largest);
}

static void largest_of_one(const int8_t *from, const struct tg_native_window *window, int8_t *output)
{
    int8_t largest = *from;

    for (int32_t row = 0; row < window->rows; row++, from += window->row_skip) {
        for (int32_t column = 0; column < window->columns; column++, from += window->channels) {
            largest = *from > largest ? *from : largest;
        }
    }
    *output = largest;
}

void tg_native_max_pool_s8(const struct tg_native_pool *layer, const int8_t *input, int8_t *output)
{
    tg_native_pool(layer, input, output, largest_of_four, largest_of_one);
}
