/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * F(4x4,3x3): 36 multiplications for 16 outputs. Weights are transformed by multiples of G, 24 times or, in the last
 * row, 3 times, so that with A below a product is 576 = 64 * 9 accumulators, modulo 2**32.
 */
#include "tg_native_winograd.h"

#define SIZE 4
#define WIDTH 6
#define TILES 4
#define LANES TG_WINOGRAD_LANES(TILES)
#define INVERSE_OF_9 0x38e38e39U /* modulo 2**32 */

#if TG_NATIVE_RV32

/* A sum as a half; compilers would narrow what is added instead, by two shifts each. */
static inline int16_t half_of(int32_t sum)
{
    __asm__ volatile("" : "+r"(sum));
    return (int16_t)sum;
}

/* One line of inputs: the rows of B'. */
static inline void spread_line(
    int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f, tg_aliased_half *to, int32_t step)
{
    const int32_t outer = e - 4 * c;
    const int32_t inner = d - 4 * b;
    const int32_t near = e - c;
    const int32_t slope2 = 2 * (d - b);

    to[0] = half_of(4 * (a - c) + near);
    to[step] = half_of(outer + inner);
    to[2 * step] = half_of(outer - inner);
    to[3 * step] = half_of(near + slope2);
    to[4 * step] = half_of(near - slope2);
    to[5 * step] = half_of(f - d - 2 * slope2);
}

/* Channel after channel; the halves of a word are of two channels that are two apart. */
static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    tg_aliased_half lines[4][WIDTH * WIDTH];
    tg_aliased_half *to = (tg_aliased_half *)values;
    const int32_t step = 2 * taps->step;

    for (int32_t channel = 0; channel < taps->depth; channel += 4, to += 4 * TILES) {
        const int32_t count = taps->depth - channel < 4 ? taps->depth - channel : 4;
        for (int32_t x = 0; x < WIDTH; x++) {
            const int8_t *a = taps->at[x] + channel;
            const int8_t *b = taps->at[WIDTH + x] + channel;
            const int8_t *c = taps->at[2 * WIDTH + x] + channel;
            const int8_t *d = taps->at[3 * WIDTH + x] + channel;
            const int8_t *e = taps->at[4 * WIDTH + x] + channel;
            const int8_t *f = taps->at[5 * WIDTH + x] + channel;
            if (count == 4) { /* without an index */
                spread_line(a[0], b[0], c[0], d[0], e[0], f[0], lines[0] + x, WIDTH);
                spread_line(a[1], b[1], c[1], d[1], e[1], f[1], lines[1] + x, WIDTH);
                spread_line(a[2], b[2], c[2], d[2], e[2], f[2], lines[2] + x, WIDTH);
                spread_line(a[3], b[3], c[3], d[3], e[3], f[3], lines[3] + x, WIDTH);
                continue;
            }
            for (int32_t i = 0; i < count; i++) {
                spread_line(a[i], b[i], c[i], d[i], e[i], f[i], lines[i] + x, WIDTH);
            }
        }
        for (int32_t i = 0; i < count; i++) {
            tg_aliased_half *const first = to + (i & 1) * 2 * TILES + (i >> 1);
            for (int32_t y = 0; y < WIDTH * WIDTH; y += WIDTH) {
                const tg_aliased_half *const p = lines[i] + y;
                spread_line(p[0], p[1], p[2], p[3], p[4], p[5], first + y * step, step);
            }
        }
    }
}

#else

/* One line of inputs: the rows of B'. */
static inline void spread_line(
    uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f, uint32_t *to, int32_t step)
{
    const uint32_t c2 = tg_add16(c, c);
    const uint32_t b2 = tg_add16(b, b);
    const uint32_t outer = tg_sub16(tg_sub16(e, c2), c2); /* e - 4 c */
    const uint32_t inner = tg_sub16(tg_sub16(d, b2), b2); /* d - 4 b */
    const uint32_t near = tg_sub16(e, c);
    const uint32_t slope = tg_sub16(d, b);
    const uint32_t slope2 = tg_add16(slope, slope);
    const uint32_t first = tg_sub16(a, c);
    const uint32_t first2 = tg_add16(first, first);

    to[0] = tg_add16(tg_add16(first2, first2), near); /* 4 a - 5 c + e */
    to[step] = tg_add16(outer, inner);
    to[2 * step] = tg_sub16(outer, inner);
    to[3 * step] = tg_add16(near, slope2);
    to[4 * step] = tg_sub16(near, slope2);
    to[5 * step] = tg_sub16(tg_sub16(tg_sub16(f, d), slope2), slope2); /* 4 b - 5 d + f */
}

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    uint32_t even[WIDTH * WIDTH];
    uint32_t odd[WIDTH * WIDTH];
    const int32_t step = taps->step;
    const int32_t depth = taps->depth;

    for (int32_t channel = 0; channel < depth; channel += 4, values += 2 * TILES) {
        const int32_t first = channel > depth - 4 ? depth - 4 : channel;
        const int32_t bits = 8 * (channel - first);
        for (int32_t x = 0; x < WIDTH; x++) {
            const int8_t *const *const at = taps->at + x;
            const uint32_t a = tg_channels(at[0], first, bits);
            const uint32_t b = tg_channels(at[WIDTH], first, bits);
            const uint32_t c = tg_channels(at[2 * WIDTH], first, bits);
            const uint32_t d = tg_channels(at[3 * WIDTH], first, bits);
            const uint32_t e = tg_channels(at[4 * WIDTH], first, bits);
            const uint32_t f = tg_channels(at[5 * WIDTH], first, bits);
            spread_line(tg_even_bytes(a), tg_even_bytes(b), tg_even_bytes(c), tg_even_bytes(d), tg_even_bytes(e),
                tg_even_bytes(f), even + x, WIDTH);
            spread_line(tg_odd_bytes(a), tg_odd_bytes(b), tg_odd_bytes(c), tg_odd_bytes(d), tg_odd_bytes(e),
                tg_odd_bytes(f), odd + x, WIDTH);
        }
        for (int32_t y = 0; y < WIDTH * WIDTH; y += WIDTH) {
            const uint32_t *const p = even + y;
            const uint32_t *const q = odd + y;
            uint32_t *const to = values + y * step;
            spread_line(p[0], p[1], p[2], p[3], p[4], p[5], to, step);
            spread_line(q[0], q[1], q[2], q[3], q[4], q[5], to + TILES, step);
        }
    }
}

#endif

/* One line of products, `step` words apart: the rows of A'. */
static inline void collect_line(const uint32_t *from, int32_t step, uint32_t *to, int32_t to_step)
{
    const uint32_t sum = from[step] + from[2 * step];
    const uint32_t difference = from[step] - from[2 * step];
    const uint32_t sum2 = from[3 * step] + from[4 * step];
    const uint32_t difference2 = from[3 * step] - from[4 * step];

    to[0] = from[0] + sum + sum2;
    to[to_step] = difference + 2 * difference2;
    to[2 * to_step] = sum + 4 * sum2;
    to[3 * to_step] = difference + 8 * (difference2 + from[5 * step]);
}

static inline int8_t output_of(uint32_t sum, struct tg_native_scale scale)
{
    return tg_requantized((int32_t)(sum * INVERSE_OF_9) >> 5, scale); /* twice the accumulator */
}

static inline void collect_lane(
    uint32_t *products, uint32_t bias, struct tg_native_scale scale, const struct tg_native_tile *tile, int32_t channel)
{
    const int32_t step = tile->column_step;
    uint32_t lines[SIZE * WIDTH];
    const struct tg_native_tile where = *tile;
    int8_t *row = where.output + channel;

    products[(WIDTH + 1) * LANES] += bias; /* this one counts in all outputs */
    for (int32_t x = 0; x < WIDTH; x++) {
        collect_line(products + x * LANES, WIDTH * LANES, lines + x, WIDTH);
    }
    for (int32_t y = 0; y < where.rows; y++, row += where.row_step) {
        uint32_t sums[SIZE];
        collect_line(lines + y * WIDTH, 1, sums, 1);
        if (where.columns == SIZE) {
            row[0] = output_of(sums[0], scale);
            row[step] = output_of(sums[1], scale);
            row[2 * step] = output_of(sums[2], scale);
            row[3 * step] = output_of(sums[3], scale);
        } else {
            for (int32_t x = 0; x < where.columns; x++) {
                row[x * step] = output_of(sums[x], scale);
            }
        }
    }
}

static void collect(
    uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles, int32_t count, int32_t channel)
{
    for (int32_t i = 0; i < 2; i++, products += TILES, scales += TG_WINOGRAD_SCALES) {
        const struct tg_native_scale scale = tg_scale_at(scales + 1);
        for (int32_t tile = 0; tile < count; tile++) {
            collect_lane(products + tile, (uint32_t)scales[0], scale, tiles + tile, channel + i);
        }
    }
}

void tg_native_winograd_4x4_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    static const struct tg_native_winograd method = {
        .rows = SIZE,
        .columns = SIZE,
        .tiles = TILES,
        .positions = WIDTH * WIDTH,
        .filter_rows = 1,
        .multiply = tg_native_winograd_multiply_4,
        .spread = spread,
        .collect = collect,
    };

    tg_native_winograd(layer, input, output, scratch, &method);
}
