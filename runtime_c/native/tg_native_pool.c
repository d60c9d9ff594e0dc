/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_pool.h"

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
