/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_windows.h"
#include "tg_native_mve_copy.h"

/* What the filters see of one row of the input: in each column of the strip its place behind the rows above. */
static void pack_row(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int32_t row, int32_t columns, int8_t *to)
{
    const int32_t depth = layer->depth;
    const int32_t step = layer->kernel_height * depth;
    const int32_t before = layer->pad_left < columns ? layer->pad_left : columns;
    const int32_t inside = columns - before < layer->input_width ? columns - before : layer->input_width;
    const int32_t end = before + inside;

    if (row < 0 || row >= layer->input_height) {
        tg_mve_fill_rows(to, step, layer->zero_point, columns, depth);
        return;
    }
    tg_mve_fill_rows(to, step, layer->zero_point, before, depth);
    tg_mve_copy_rows(to + before * step, step, input + row * layer->input_width * depth, depth, inside, depth);
    tg_mve_fill_rows(to + end * step, step, layer->zero_point, columns - end, depth);
}

static void convolve_one(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply)
{
    const int32_t column_bytes = layer->kernel_height * layer->depth;
    const int32_t columns = (layer->output_width - 1) * layer->stride_width + layer->kernel_width;

    for (int32_t y = 0; y < layer->output_height; y++) {
        const int32_t row = y * layer->stride_height - layer->pad_top;
        for (int32_t i = 0; i < layer->kernel_height; i++) {
            pack_row(layer, input, row + i, columns, scratch + i * layer->depth);
        }
        tg_native_mve_pixels(layer, scratch, layer->stride_width * column_bytes, layer->kernel_width * column_bytes,
            layer->output_width, output, multiply);
        output += layer->output_width * layer->channels;
    }
}

void tg_native_mve_strips(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, multiply);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}
