/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * F(2x2,3x3): 16 multiplications for 4 outputs. Weights are transformed by 2 G, so that a product is 4 accumulators.
 */
#include "tg_native_winograd.h"

#define WIDTH 4
#define TILES 4

/* One line of inputs: the rows of B'. */
static inline void spread_line(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t *to, int32_t step)
{
    to[0] = tg_sub16(a, c);
    to[step] = tg_add16(b, c);
    to[2 * step] = tg_sub16(c, b);
    to[3 * step] = tg_sub16(b, d);
}

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
    const int8_t *const *const at = taps->at;
    uint32_t even[WIDTH * WIDTH];
    uint32_t odd[WIDTH * WIDTH];
    const int32_t step = taps->step;
    const int32_t depth = taps->depth;

    for (int32_t channel = 0; channel < depth; channel += 4, values += 2 * TILES) {
        const int32_t first = channel > depth - 4 ? depth - 4 : channel;
        const int32_t bits = 8 * (channel - first);
        for (int32_t x = 0; x < WIDTH; x++) {
            const uint32_t a = tg_channels(at[x], first, bits);
            const uint32_t b = tg_channels(at[x + WIDTH], first, bits);
            const uint32_t c = tg_channels(at[x + 2 * WIDTH], first, bits);
            const uint32_t d = tg_channels(at[x + 3 * WIDTH], first, bits);
            spread_line(tg_even_bytes(a), tg_even_bytes(b), tg_even_bytes(c), tg_even_bytes(d), even + x, WIDTH);
            spread_line(tg_odd_bytes(a), tg_odd_bytes(b), tg_odd_bytes(c), tg_odd_bytes(d), odd + x, WIDTH);
        }
        for (int32_t y = 0; y < WIDTH * WIDTH; y += WIDTH) {
            uint32_t *const to = values + y * step;
            spread_line(even[y], even[y + 1], even[y + 2], even[y + 3], to, step);
            spread_line(odd[y], odd[y + 1], odd[y + 2], odd[y + 3], to + TILES, step);
        }
    }
}

/* The rows of A'. */
static inline void collect_lane(
    uint32_t *products, uint32_t bias, struct tg_native_scale scale, const struct tg_native_tile *tile, int32_t channel)
{
    const int32_t next = TG_WINOGRAD_LANES(TILES);
    uint32_t lines[2][WIDTH];
    const struct tg_native_tile where = *tile;
    int8_t *row = where.output + channel;

    products[(WIDTH + 1) * next] += bias; /* this one counts in all outputs */
    for (int32_t x = 0; x < WIDTH; x++) {
        const uint32_t *const from = products + x * next;
        const uint32_t b = from[WIDTH * next];
        const uint32_t c = from[2 * WIDTH * next];
        lines[0][x] = from[0] + b + c;
        lines[1][x] = b - c - from[3 * WIDTH * next];
    }
    for (int32_t y = 0; y < where.rows; y++, row += where.row_step) {
        const uint32_t *const line = lines[y];
        row[0] = tg_requantized((int32_t)(line[0] + line[1] + line[2]) >> 1, scale);
        if (where.columns > 1) {
            row[where.column_step] = tg_requantized((int32_t)(line[1] - line[2] - line[3]) >> 1, scale);
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

void tg_native_winograd_2x2_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    static const struct tg_native_winograd method = {
        .rows = 2,
        .columns = 2,
        .stride = 1,
        .tiles = TILES,
        .positions = WIDTH * WIDTH,
        .products = WIDTH * WIDTH,
        .filters = WIDTH * WIDTH,
        .filter_rows = 1,
        .multiply = tg_native_winograd_multiply_4,
        .spread = spread,
        .collect = collect,
    };

    tg_native_winograd(layer, input, output, scratch, &method);
}
