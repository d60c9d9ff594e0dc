/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One tile at a time: a quarter of the scratch of four, more loads.
 */
#include "tg_native_winograd_1x2.h"

#define TILES 1

#if TG_NATIVE_DSP
TG_SPREAD_1X2(spread_words, "4")
#endif

static void spread(const struct tg_native_taps *taps, uint32_t *values)
{
#if TG_NATIVE_DSP
    if (taps->depth % 4 == 0) {
        spread_words(taps->at, values, taps->step, taps->depth);
        return;
    }
#endif
    tg_spread_1x2(taps, values, TILES);
}

static void collect(
    uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles, int32_t count, int32_t channel)
{
    tg_collect_1x2(products, scales, tiles, count, channel, TILES);
}

void tg_native_winograd_1x2_single_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    static const struct tg_native_winograd method = {
        .rows = 1,
        .columns = 2,
        .tiles = TILES,
        .positions = TG_1X2_WIDTH,
        .filter_rows = TG_1X2_HEIGHT,
        .multiply = tg_native_winograd_multiply_1,
        .spread = spread,
        .collect = collect,
    };

    tg_native_winograd(layer, input, output, scratch, &method);
}
