/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * F(4x4,3x3) with filters that are transformed in the call: a quarter of the flash, more instructions where there are
 * many tiles. All numbers are below 2**15, as 144 weights are.
 */
#include "tg_native_winograd.h"

#define SIZE 3
#define WIDTH 6

/* One line of a filter: the rows of 24 G, the last one of 3 G. */
static inline void transform_line(uint32_t a, uint32_t b, uint32_t c, uint32_t *to, int32_t step)
{
    const uint32_t a2 = tg_add16(a, a);
    const uint32_t b2 = tg_add16(b, b);
    const uint32_t c2 = tg_add16(c, c);
    const uint32_t a3 = tg_add16(a, a2);
    const uint32_t b4 = tg_add16(b2, b2);
    const uint32_t even = tg_add16(a, tg_add16(c2, c2));
    const uint32_t negative = tg_sub16(0U, tg_add16(tg_add16(a, c), b));
    const uint32_t negative2 = tg_add16(negative, negative);
    const uint32_t negative4 = tg_add16(negative2, negative2);

    to[0] = tg_add16(a3, a3);
    to[step] = negative4;
    to[2 * step] = tg_add16(tg_add16(negative4, b4), b4); /* 4 (b - a - c) */
    to[3 * step] = tg_add16(even, b2);
    to[4 * step] = tg_sub16(even, b2);
    to[5 * step] = tg_add16(c, c2);
}

/* Elements 0 and 2, or 1 and 3, of one channel. */
static void transform_two(const int32_t *stream, int32_t bits, int32_t step, uint32_t *filters)
{
    uint32_t lines[WIDTH * SIZE];

    for (int32_t x = 0; x < SIZE; x++) {
        const int32_t *const from = stream + 2 * x;
        const uint32_t a = tg_even_bytes((uint32_t)from[0] >> bits);
        const uint32_t b = tg_even_bytes((uint32_t)from[2 * SIZE] >> bits);
        const uint32_t c = tg_even_bytes((uint32_t)from[4 * SIZE] >> bits);
        transform_line(a, b, c, lines + x, SIZE);
    }
    for (int32_t y = 0; y < WIDTH * SIZE; y += SIZE) {
        transform_line(lines[y], lines[y + 1], lines[y + 2], filters, step);
        filters += WIDTH * step;
    }
}

static void transform(const int32_t *stream, int32_t quads, int32_t *filters)
{
    for (int32_t i = 0; i < 4 * quads; i += 4, stream += TG_WINOGRAD_BYTES) {
        uint32_t *const to = (uint32_t *)filters + i;
        transform_two(stream, 0, 4 * quads, to);
        transform_two(stream + 1, 0, 4 * quads, to + 1);
        transform_two(stream, 8, 4 * quads, to + 2);
        transform_two(stream + 1, 8, 4 * quads, to + 3);
    }
}

void tg_native_winograd_4x4_bytes_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_winograd_of_bytes(layer, input, output, scratch, &tg_native_winograd_4x4, transform);
}
