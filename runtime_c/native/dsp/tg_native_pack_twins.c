/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word: x0 + 65536 x1.
 */
#include "tg_native_arithmetic.h"
#include "tg_native_blocks.h"

/* Four elements of two pixels, in the order of the weights; a word of the other two pixels is between any of them. */
static inline void join_four(const int8_t *a, const int8_t *b, uint32_t *to)
{
    to[0] = (uint32_t)(a[0] + b[0] * 65536);
    to[2] = (uint32_t)(a[2] + b[2] * 65536);
    to[4] = (uint32_t)(a[1] + b[1] * 65536);
    to[6] = (uint32_t)(a[3] + b[3] * 65536);
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

/* file: tg_native_pack_windows_twin.c */

void tg_native_pack_windows_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    tg_native_pack_windows(layer, input, first, columns);
    join_pixels(columns, layer->quads);
}

/* file: tg_native_pack_pixels_twin.c */

void tg_native_pack_pixels_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    const int32_t depth = layer->depth;
    const int8_t *a = input + first * depth;
    const int8_t *const end = a + (depth & ~3);
    const int32_t rest = depth % 4;

    for (; a < end; a += 4, columns += 8) {
        join_four(a, a + depth, columns);
        join_four(a + 2 * depth, a + 3 * depth, columns + 1);
    }
    if (rest != 0) { /* zeros behind them */
        int8_t last[4][4] = {{0}};
        for (int32_t pixel = 0; pixel < 4; pixel++, a += depth) {
            for (int32_t i = 0; i < rest; i++) {
                last[pixel][i] = a[i];
            }
        }
        join_four(last[0], last[1], columns);
        join_four(last[2], last[3], columns + 1);
    }
}

/* file: tg_native_pack_shallow_twin.c */

void tg_native_pack_shallow_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    tg_native_pack_shallow(layer, input, first, columns);
    join_pixels(columns, layer->quads);
}
