/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word: from bytes where 4 pixels lie side by side, else made of those of single pixels.
 */
#include "tg_native_arithmetic.h"
#include "tg_native_blocks.h"
#include "tg_native_side_by_side.h"

/* Columns of single pixels anew: for each element a word of pixels 0 and 1, and one of 2 and 3. */
static TG_NOINLINE void join_pixels(uint32_t *columns, int32_t quads)
{
    const uint32_t *const end = columns + 8 * quads;

    for (; columns < end; columns += 4) {
        const uint32_t a = columns[0];
        const uint32_t b = columns[1];
        const uint32_t c = columns[2];
        const uint32_t d = columns[3];
        columns[0] = (uint32_t)tg_low(a) + (b << 16);
        columns[1] = (uint32_t)tg_low(c) + (d << 16);
        columns[2] = (uint32_t)tg_high(a) + (b & 0xffff0000U);
        columns[3] = (uint32_t)tg_high(c) + (d & 0xffff0000U);
    }
}

/* file: tg_native_pack_windows_twin.c */

void tg_native_pack_windows_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t row = (int32_t)((uint32_t)first / (uint32_t)layer->output_width);
    const int32_t position = first - row * layer->output_width;
    const int32_t y = row * layer->stride_height - layer->pad_top;
    const int32_t x = position * layer->stride_width - layer->pad_left;

    if (position > layer->output_width - 4 || x < 0 || y < 0 || y > layer->input_height - layer->kernel_height ||
        x > layer->input_width - layer->kernel_width - 3 * layer->stride_width) {
        tg_native_pack_windows(layer, input, first, columns);
        join_pixels(columns, layer->quads);
        return;
    }
    join_any(&(struct side_by_side){.from = input + (y * layer->input_width + x) * layer->depth,
                 .step = layer->stride_width * layer->depth,
                 .row_bytes = layer->input_width * layer->depth,
                 .rows = layer->kernel_height,
                 .length = layer->kernel_width * layer->depth},
        columns);
}

/* file: tg_native_pack_shallow_twin.c */

/* 3x3 of three channels, the filter of most first layers. */
static TG_NOINLINE void join_3x3x3(const struct side_by_side *all, uint32_t *to)
{
    const int32_t step = all->step;
    const int8_t *const first = all->from;
    const int8_t *const second = first + all->row_bytes;
    const int8_t *const third = second + all->row_bytes;

    join_eight(first, step, to);
    join_eight(second, step, to + 16);
    join_eight(third, step, to + 32);
    join_one(first + 8, step, 0, to + 48);
    join_one(second + 8, step, 1, to + 48);
    join_one(third + 8, step, 2, to + 48);
    join_nothing(3, to + 48);
}

static inline void join(const struct side_by_side *all, uint32_t *to)
{
    if (all->length == 9 && all->rows == 3) {
        join_3x3x3(all, to);
    } else {
        join_any(all, to);
    }
}

void tg_native_pack_shallow_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t row = (int32_t)((uint32_t)first / (uint32_t)layer->output_width);
    const int32_t position = first - row * layer->output_width;
    const int32_t step = layer->stride_width * layer->depth;
    const int32_t *const filled = (const int32_t *)(columns + 8 * layer->quads);

    if (first == 0 || *filled != row || position > layer->output_width - 4) { /* fills the band as well */
        tg_native_pack_shallow(layer, input, first, columns);
        join_pixels(columns, layer->quads);
        return;
    }
    join(&(struct side_by_side){.from = (const int8_t *)(filled + 1) + position * step,
             .step = step,
             .row_bytes = tg_native_band_bytes(layer),
             .rows = layer->kernel_height,
             .length = layer->kernel_width * layer->depth},
        columns);
}
