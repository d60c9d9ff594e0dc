/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_pools.h"

static int32_t clipped(int32_t value, int32_t end)
{
    return value < 0 ? 0 : value > end ? end : value;
}

void tg_native_mve_pools(
    const struct tg_native_pool *layer, const int8_t *input, int8_t *output, tg_native_mve_reduce *reduce)
{
    const int32_t channels = layer->channels;
    struct tg_native_mve_window window = {.output = output, .channels = channels, .min = layer->min, .max = layer->max};

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t y = -layer->pad_top, i = 0; i < layer->output_height; i++, y += layer->stride_height) {
            const int32_t top = clipped(y, layer->input_height);
            window.rows = clipped(y + layer->kernel_height, layer->input_height) - top;
            for (int32_t x = -layer->pad_left, j = 0; j < layer->output_width; j++, x += layer->stride_width) {
                const int32_t left = clipped(x, layer->input_width);
                const int32_t columns = clipped(x + layer->kernel_width, layer->input_width) - left;
                const uint32_t count = (uint32_t)(window.rows * columns);
                window.columns = columns;
                window.row_skip = (layer->input_width - columns) * channels;
                window.from = input + (top * layer->input_width + left) * channels;
                window.count = (int32_t)count;
                window.reciprocal = (0x80000000U + count - 1) / count;
                reduce(&window);
                window.output += channels;
            }
        }
        input += layer->input_height * layer->input_width * channels;
    }
}
