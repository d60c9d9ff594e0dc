/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions that read the input where it lies, pixel by pixel: by how weights are multiplied.
 */
#include <stdbool.h>

#include "tg_native_runs.h"

/* file: tg_native_convolve_runs_s8.c */

void tg_native_convolve_runs_s8(
    const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_run_by_run(layer, input, output, scratch, tg_native_multiply_runs_s8);
}

/* file: tg_native_convolve_runs_joined_s8.c */

void tg_native_convolve_runs_joined_s8(
    const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_run_by_run(layer, input, output, scratch, tg_native_multiply_runs_joined_s8);
}

/* file: tg_native_run_by_run.c */

#include "tg_native_arithmetic.h"

/* The largest of two numbers, and the smallest. */
static inline int32_t largest(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t smallest(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* Where a run of `width` pixels at row y and column x of the input begins. */
static int32_t offset_of(const struct tg_native_convolve_runs *layer, int32_t y, int32_t x, int32_t width)
{
    const bool is_inside = y >= 0 && y < layer->input_height && x >= 0 && x + width <= layer->input_width;
    return is_inside ? (y * layer->input_width + x) * layer->depth : TG_NATIVE_PADDING;
}

/* Of all runs under a filter whose first element is at row y and column x. */
static void find_runs(const struct tg_native_convolve_runs *layer, int32_t y, int32_t x, int32_t *offsets)
{
    const int32_t width = 4 * layer->quads / layer->depth;

    for (int32_t row = 0; row < layer->kernel_height; row++) {
        for (int32_t column = 0; column < layer->kernel_width; column += width) {
            *offsets++ = offset_of(layer, y + row, x + column, width);
        }
    }
}

/* All elements under a filter as one run, filled up to whole words. */
static void gather(const struct tg_native_convolve_runs *layer, const int8_t *input, int32_t y, int32_t x, int8_t *run)
{
    const int32_t depth = layer->depth;
    const int32_t first = largest(0, -x);
    const int32_t bytes = (smallest(layer->kernel_width, layer->input_width - x) - first) * depth;

    memset(run, layer->zero_point, (size_t)(4 * layer->quads));
    for (int32_t row = largest(0, -y); row < smallest(layer->kernel_height, layer->input_height - y); row++) {
        if (bytes > 0) {
            memcpy(run + (row * layer->kernel_width + first) * depth,
                input + ((y + row) * layer->input_width + x + first) * depth, (size_t)bytes);
        }
    }
}

/* All channels of a pixel; those that fill no group are computed beside it. */
static void multiply_all(const struct tg_native_convolve_runs *layer, const struct tg_native_runs *runs,
    tg_native_multiply_runs *multiply, int8_t *output)
{
    const int32_t groups = layer->channels / TG_NATIVE_UNITS;
    const int32_t whole = groups * TG_NATIVE_UNITS;

    if (groups > 0) {
        multiply(layer->stream, runs, groups, output);
    }
    if (whole < layer->channels) {
        int8_t last[TG_NATIVE_UNITS];
        multiply(layer->stream + groups * tg_native_group_words(runs->count * runs->quads), runs, 1, last);
        memcpy(output + whole, last, (size_t)(layer->channels - whole));
    }
}

void tg_native_run_by_run(const struct tg_native_convolve_runs *layer, const int8_t *input, int8_t *output,
    void *scratch, tg_native_multiply_runs *multiply)
{
    int32_t only = 0; /* offset of a single run */
    int32_t *const offsets = layer->runs > 1 ? scratch : &only;
    int8_t *const bytes = layer->runs > 1 ? (int8_t *)(offsets + layer->runs) : scratch;
    struct tg_native_runs runs = {
        bytes, bytes, layer->runs > 1 ? offsets : NULL, layer->runs > 1 ? layer->runs : 1, layer->quads};

    if (layer->padding > 0) {
        memset(bytes, layer->zero_point, (size_t)layer->padding);
    }
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        for (int32_t y = 0; y < layer->output_height; y++) {
            for (int32_t x = 0; x < layer->output_width; x++) {
                const int32_t top = y * layer->stride_height - layer->pad_top;
                const int32_t left = x * layer->stride_width - layer->pad_left;
                if (layer->runs > 0) {
                    find_runs(layer, top, left, offsets);
                    runs.input = only < 0 ? runs.padding : input + only;
                } else { /* at `runs.input`, which is where scratch begins */
                    gather(layer, input, top, left, scratch);
                }
                multiply_all(layer, &runs, multiply, output);
                output += layer->channels;
            }
        }
        input += layer->input_height * layer->input_width * layer->depth;
    }
    const int32_t outputs = layer->batches * layer->output_height * layer->output_width * layer->channels;
    tg_native_clamp_s8(output - outputs, outputs, layer->min, layer->max);
}
