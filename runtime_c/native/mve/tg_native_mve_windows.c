/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_windows.h"
#include "tg_native_mve_copy.h"

/* The part of [first, first + size) that lies in [0, end). */
struct range {
    int32_t before; /* elements below 0 */
    int32_t inside;
};

static struct range clipped(int32_t first, int32_t size, int32_t end)
{
    const int32_t start = first < 0 ? 0 : first;
    const int32_t stop = first + size < end ? first + size : end;
    const struct range range = {start - first, stop - start};

    return range;
}

/* What the filter sees from `row` and `column` of the input on, where that is partly padding. */
static void pack_border(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int32_t row, int32_t column, int8_t *to)
{
    const int32_t depth = layer->depth;
    const struct range rows = clipped(row, layer->kernel_height, layer->input_height);
    const struct range columns = clipped(column, layer->kernel_width, layer->input_width);
    const int32_t line_bytes = layer->kernel_width * depth;
    const int32_t row_bytes = layer->input_width * depth;

    tg_mve_fill_rows(to, 0, layer->zero_point, 1, layer->kernel_height * line_bytes);
    if (rows.inside > 0 && columns.inside > 0) {
        const int8_t *const from = input + (row + rows.before) * row_bytes + (column + columns.before) * depth;
        to += rows.before * line_bytes + columns.before * depth;
        tg_mve_copy_rows(to, line_bytes, from, row_bytes, rows.inside, columns.inside * depth);
    }
}

static void convolve_one(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply)
{
    const int32_t line_bytes = layer->kernel_width * layer->depth;
    const int32_t window_bytes = layer->kernel_height * line_bytes;
    const int32_t row_bytes = layer->input_width * layer->depth;
    const int32_t last_row = layer->input_height - layer->kernel_height;
    const int32_t last_column = layer->input_width - layer->kernel_width;
    int8_t *to = scratch;
    int32_t count = 0;
    int32_t row = -layer->pad_top;

    for (int32_t y = 0; y < layer->output_height; y++, row += layer->stride_height) {
        int32_t column = -layer->pad_left;
        for (int32_t x = 0; x < layer->output_width; x++, column += layer->stride_width) {
            if (row < 0 || row > last_row || column < 0 || column > last_column) {
                pack_border(layer, input, row, column, to);
            } else {
                const int8_t *const from = input + row * row_bytes + column * layer->depth;
                tg_mve_copy_rows(to, line_bytes, from, row_bytes, layer->kernel_height, line_bytes);
            }
            to += window_bytes;
            if (++count == layer->pixels_at_once) {
                tg_native_mve_pixels(layer, scratch, window_bytes, window_bytes, count, output, multiply);
                output += count * layer->channels;
                to = scratch;
                count = 0;
            }
        }
    }
    tg_native_mve_pixels(layer, scratch, window_bytes, window_bytes, count, output, multiply);
}

void tg_native_mve_windows(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, multiply);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}
