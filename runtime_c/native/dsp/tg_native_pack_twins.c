/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Columns of two pixels in a word: x0 + 65536 x1, made of those of single pixels.
 */
#include "tg_native_arithmetic.h"
#include "tg_native_blocks.h"

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

/* file: tg_native_pack_shallow_twin.c */

void tg_native_pack_shallow_twin(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns)
{
    tg_native_pack_shallow(layer, input, first, columns);
    join_pixels(columns, layer->quads);
}
