/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * 3x3 filters at stride 2, tiles of 2x2: 25 multiplications for 4 outputs. Along a line of 5 inputs, a to e, the outer
 * taps g0 and g2 of a filter meet every other input, as a filter of two taps at stride 1 does: F(2,2) takes 3
 * multiplications for 4. The tap between, g1, meets the inputs between. With
 *
 *     p = (a - c) g0 + b g1      q = c (g0 + g2)      r = (e - c) g2 + d g1
 *
 * the outputs are p + q and q + r. In two dimensions these are 9 sums of 1, 2 or 4 products. Weights are doubled, so
 * that a sum is 2 accumulators.
 */
#include "tg_native_winograd.h"

#define WIDTH 5 /* values of a line: those of p, of q and of r, as they stand above */
#define TILES 4

/*
 * Sums over products whose filters follow one another in the stream, which are in this order: the rows are g0, g0 + g2,
 * g2 and g1 of a column, with the same of a line.
 *
 *      0 12  8  1
 *      9 15 11 10
 *      4 14  6  5
 *      3 13  7  2
 */
static const struct tg_native_winograd_sum SUMS[] = {
    {0, 4},  /* pp */
    {2, 4},  /* rp */
    {5, 3},  /* rr */
    {2, 1},  /* rr, too */
    {7, 2},  /* pr */
    {1, 2},  /* pr, too */
    {9, 2},  /* qp */
    {10, 2}, /* qr */
    {12, 2}, /* pq */
    {13, 2}, /* rq */
    {15, 1}, /* qq */
};
enum { PP, RP, RR, RR_TOO, PR, PR_TOO, QP, QR, PQ, RQ, QQ };

static inline void spread_line(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t *to)
{
    to[0] = tg_sub16(a, c);
    to[1] = b;
    to[2] = c;
    to[3] = tg_sub16(e, c);
    to[4] = d;
}

/* So many words on; compilers would keep all 25 places on the stack. */
static inline uint32_t *moved(uint32_t *at, int32_t words)
{
    at += words;
    __asm__ volatile("" : "+r"(at));
    return at;
}

/* A line of columns to the places of its values in the order of the sums; those of p, then of r, stand side by side. */
static inline void spread_row(
    const uint32_t *line, int32_t p0, int32_t p1, int32_t q, int32_t r0, int32_t r1, uint32_t *values, int32_t step)
{
    uint32_t row[WIDTH];
    uint32_t *to = moved(values, p0 * step);

    spread_line(line[0], line[WIDTH], line[2 * WIDTH], line[3 * WIDTH], line[4 * WIDTH], row);
    *to = row[0];
    to = moved(to, (p1 - p0) * step);
    *to = row[1];
    to = moved(to, (r0 - p1) * step);
    *to = row[3];
    to = moved(to, (r1 - r0) * step);
    *to = row[4];
    to = moved(to, (q - r1) * step);
    *to = row[2];
}

static inline void spread_rows(const uint32_t *columns, uint32_t *values, int32_t step)
{
    spread_row(columns, 0, 1, 20, 13, 14, values, step);
    spread_row(columns + 1, 3, 2, 21, 12, 15, values, step);
    spread_row(columns + 2, 16, 17, 24, 19, 18, values, step);
    spread_row(columns + 3, 6, 7, 23, 9, 8, values, step);
    spread_row(columns + 4, 5, 4, 22, 10, 11, values, step);
}

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    const int8_t *const *const at = taps->at;
    uint32_t even[WIDTH * WIDTH]; /* column after column */
    uint32_t odd[WIDTH * WIDTH];
    const int32_t depth = taps->depth;

    for (int32_t channel = 0; channel < depth; channel += 4, values += 2 * TILES) {
        const int32_t first = channel > depth - 4 ? depth - 4 : channel;
        const int32_t bits = 8 * (channel - first);
        for (int32_t x = 0; x < WIDTH; x++) {
            const uint32_t a = tg_channels(at[x], first, bits);
            const uint32_t b = tg_channels(at[x + WIDTH], first, bits);
            const uint32_t c = tg_channels(at[x + 2 * WIDTH], first, bits);
            const uint32_t d = tg_channels(at[x + 3 * WIDTH], first, bits);
            const uint32_t e = tg_channels(at[x + 4 * WIDTH], first, bits);
            spread_line(tg_even_bytes(a), tg_even_bytes(b), tg_even_bytes(c), tg_even_bytes(d), tg_even_bytes(e),
                even + WIDTH * x);
            spread_line(
                tg_odd_bytes(a), tg_odd_bytes(b), tg_odd_bytes(c), tg_odd_bytes(d), tg_odd_bytes(e), odd + WIDTH * x);
        }
        spread_rows(even, values, taps->step);
        spread_rows(odd, values + TILES, taps->step);
    }
}

static void multiply(const int32_t *stream, const uint32_t *values, int32_t quads, int32_t sums, uint32_t *products)
{
    tg_native_winograd_multiply_sums(stream, values, quads, SUMS, sums, products);
}

static inline void collect_lane(const uint32_t *products, uint32_t bias, struct tg_native_scale scale,
    const struct tg_native_tile *tile, int32_t channel)
{
    const int32_t next = TG_WINOGRAD_LANES(TILES);
    const uint32_t middle = products[QQ * next] + bias;
    const uint32_t left = products[QP * next] + middle;
    const uint32_t right = products[QR * next] + middle;
    const uint32_t top = products[PQ * next];
    const uint32_t bottom = products[RQ * next];
    const uint32_t top_left = products[PP * next] + top + left;
    const uint32_t top_right = products[PR * next] + products[PR_TOO * next] + top + right;
    const uint32_t bottom_left = products[RP * next] + bottom + left;
    const uint32_t bottom_right = products[RR * next] + products[RR_TOO * next] + bottom + right;
    const struct tg_native_tile where = *tile;
    int8_t *const upper = where.output + channel;
    int8_t *const lower = upper + where.row_step;

    upper[0] = tg_requantized((int32_t)top_left, scale);
    if (where.columns > 1) {
        upper[where.column_step] = tg_requantized((int32_t)top_right, scale);
    }
    if (where.rows > 1) {
        lower[0] = tg_requantized((int32_t)bottom_left, scale);
        if (where.columns > 1) {
            lower[where.column_step] = tg_requantized((int32_t)bottom_right, scale);
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

void tg_native_winograd_2x2_stride2_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    static const struct tg_native_winograd method = {
        .rows = 2,
        .columns = 2,
        .stride = 2,
        .tiles = TILES,
        .positions = WIDTH * WIDTH,
        .products = sizeof SUMS / sizeof SUMS[0],
        .filters = 16,
        .filter_rows = 1,
        .multiply = multiply,
        .spread = spread,
        .collect = collect,
    };

    tg_native_winograd(layer, input, output, scratch, &method);
}
