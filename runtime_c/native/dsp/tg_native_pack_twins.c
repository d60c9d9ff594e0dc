/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word: x0 + 65536 x1, from bytes where 4 pixels lie side by side, else made of those of
 * single pixels. Of each element there is a word of pixels 0 and 1, then one of 2 and 3.
 */
#include "tg_native_arithmetic.h"
#include "tg_native_blocks.h"

/* Filters of 4 pixels inside of some rows, `row_bytes` apart; those of pixels are `step` bytes apart. */
struct side_by_side {
    const int8_t *from;
    int32_t step;
    int32_t row_bytes;
    int32_t rows;
    int32_t length; /* bytes of a row under a filter */
};

static inline uint32_t joined(int8_t a, int8_t b)
{
    return (uint32_t)(a + b * 65536);
}

/* Four elements of two pixels, in the order of the weights. */
static inline void join_four(const int8_t *a, const int8_t *b, uint32_t *to)
{
    to[0] = joined(a[0], b[0]);
    to[2] = joined(a[2], b[2]);
    to[4] = joined(a[1], b[1]);
    to[6] = joined(a[3], b[3]);
}

/* Eight elements of all four. */
static inline void join_eight(const int8_t *a, int32_t step, uint32_t *to)
{
    const int8_t *const b = a + step;
    const int8_t *const c = b + step;
    const int8_t *const d = c + step;

    join_four(a, b, to);
    join_four(c, d, to + 1);
    join_four(a + 4, b + 4, to + 8);
    join_four(c + 4, d + 4, to + 9);
}

/* One element of all four: the one with this number among those of a word of weights. */
static inline void join_one(const int8_t *from, int32_t step, int32_t number, uint32_t *to)
{
    uint32_t *const at = to + 2 * ((number >> 1) + 2 * (number & 1));

    at[0] = joined(from[0], from[step]);
    at[1] = joined(from[2 * step], from[3 * step]);
}

static inline void join_nothing(int32_t number, uint32_t *to)
{
    static const int8_t zeros[4] = {0};

    join_one(zeros, 1, number, to);
}

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

/* As tg_native_pack_windows puts them: whole words of each row, then the bytes that are left. */
static TG_NOINLINE void join_any(const struct side_by_side *all, uint32_t *to)
{
    const int32_t step = all->step;
    const int32_t rest = all->length % 4;
    uint32_t *rest_to = to + 2 * (all->length - rest) * all->rows;
    const int8_t *row = all->from;
    int32_t filled = 0;

    for (int32_t y = 0; y < all->rows; y++, row += all->row_bytes) {
        const int8_t *a = row;
        for (const int8_t *const end = row + (all->length & ~7); a < end; a += 8, to += 16) {
            join_eight(a, step, to);
        }
        if ((all->length & 4) != 0) {
            join_four(a, a + step, to);
            join_four(a + 2 * step, a + 3 * step, to + 1);
            a += 4;
            to += 8;
        }
        for (int32_t i = 0; i < rest; i++) {
            join_one(a + i, step, filled++, rest_to);
        }
        if (filled > 0 && (filled + rest > 4 || y == all->rows - 1)) {
            for (; filled < 4; filled++) {
                join_nothing(filled, rest_to);
            }
            rest_to += 8;
            filled = 0;
        }
    }
}

static inline void join(const struct side_by_side *all, uint32_t *to)
{
    if (all->length == 9 && all->rows == 3) {
        join_3x3x3(all, to);
    } else {
        join_any(all, to);
    }
}

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

/* file: tg_native_pack_pixels_twin.c */

void tg_native_pack_pixels_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t depth = layer->depth;

    join_any(&(struct side_by_side){.from = input + first * depth, .step = depth, .rows = 1, .length = depth}, columns);
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
