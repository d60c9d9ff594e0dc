/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Windows of pixels are copied to scratch, four at a time. The last four overlap those before, where pixels are left
 * over, and are computed again; of fewer than 4 each is computed alone.
 */
#include "tg_native_rvv_products.h"

/* Whatever filters are: the windows of pixels from `pixel` on, one behind the other. */
static void pack(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t pixel, int32_t count, int8_t *windows)
{
    const int32_t height = layer->kernel_height;
    const int32_t width = layer->kernel_width;
    const int32_t depth = layer->depth;
    const int32_t row_bytes = layer->input_width * depth;
    const int32_t line_bytes = width * depth;
    int32_t line = (int32_t)((uint32_t)pixel / (uint32_t)layer->output_width);
    int32_t position = pixel - line * layer->output_width;

    for (; count > 0; count--, windows += height * line_bytes) {
        const int32_t y = line * layer->stride_height - layer->pad_top;
        const int32_t x = position * layer->stride_width - layer->pad_left;
        const int32_t top = y < 0 ? -y : 0; /* lines and positions of the filter beside the input */
        const int32_t left = x < 0 ? -x : 0;
        const int32_t bottom = y + height > layer->input_height ? layer->input_height - y : height;
        const int32_t right = x + width > layer->input_width ? layer->input_width - x : width;
        if (bottom - top < height || right - left < width) {
            tg_native_rvv_fill(windows, layer->zero_point, height * line_bytes);
        }
        if (top < bottom && left < right) {
            tg_native_rvv_copy(windows + top * line_bytes + left * depth, line_bytes,
                input + (y + top) * row_bytes + (x + left) * depth, row_bytes, bottom - top, (right - left) * depth);
        }
        if (++position == layer->output_width) {
            position = 0;
            line++;
        }
    }
}

void tg_native_rvv_windows(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, int8_t *scratch,
    int32_t elements, tg_native_rvv_products *of_4, tg_native_rvv_products *of_1)
{
    const struct tg_rvv_filters filters = tg_rvv_filters_of(layer, elements);
    const int32_t pixels = layer->output_height * layer->output_width;
    const int32_t at_once = pixels < 4 ? 1 : 4;
    const int32_t window_bytes = layer->kernel_height * layer->kernel_width * layer->depth;
    tg_native_rvv_products *const multiply = pixels < 4 ? of_1 : of_4;

    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t next = 0; next < pixels; next += at_once) {
            const int32_t first = next > pixels - at_once ? pixels - at_once : next;
            pack(layer, input, first, at_once, scratch);
            multiply(&filters, scratch, window_bytes, output + first * layer->channels);
        }
        input += layer->input_height * layer->input_width * layer->depth;
        output += pixels * layer->channels;
    }
}
