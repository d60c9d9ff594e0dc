/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of all variants of F(2,3) along the rows: 12 multiplications for 2 outputs side by side, 4 for each row of
 * the filter. Weights are transformed by 2 G, so that a product is 2 accumulators.
 */
#ifndef TG_NATIVE_WINOGRAD_1X2_BODY_H
#define TG_NATIVE_WINOGRAD_1X2_BODY_H

#include "tg_native_winograd.h"

#define TG_1X2_HEIGHT 3 /* of the input under a tile */
#define TG_1X2_WIDTH 4

/** Transforms the inputs under a tile, one row after the other. The rows of B': a - c, b + c, c - b, b - d. */
static inline void tg_spread_1x2(const struct tg_native_taps *taps, uint32_t *values, int32_t tiles)
{
    const int32_t step = taps->step;
    const int32_t depth = taps->depth;

    for (const int8_t *const *at = taps->at; at < taps->at + TG_1X2_HEIGHT * TG_1X2_WIDTH; at += TG_1X2_WIDTH) {
        for (int32_t channel = 0; channel < depth; channel += 4) {
            const int32_t first = channel > depth - 4 ? depth - 4 : channel;
            const int32_t bits = 8 * (channel - first);
            uint32_t a = tg_channels(at[0], first, bits);
            uint32_t b = tg_channels(at[1], first, bits);
            uint32_t c = tg_channels(at[2], first, bits);
            uint32_t d = tg_channels(at[3], first, bits);
            for (int32_t i = 0; i < 2; i++, a >>= 8, b >>= 8, c >>= 8, d >>= 8, values += tiles) {
                values[0] = tg_sub16(tg_even_bytes(a), tg_even_bytes(c));
                values[step] = tg_add16(tg_even_bytes(b), tg_even_bytes(c));
                values[2 * step] = tg_sub16(tg_even_bytes(c), tg_even_bytes(b));
                values[3 * step] = tg_sub16(tg_even_bytes(b), tg_even_bytes(d));
            }
        }
    }
}

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/**
 * The same for multiples of 4 channels; `bytes`: those of the channels, NEXT: those from a value of a tile to its next.
 *
 * r0 - r3   where the values of each position go   r4 - r7  pixels of a row   r8  end of the first of them
 * r9 - r12, lr  two channels each
 *
 * Frame: [sp] next row of `at`, [sp, 4] their end, [sp, 8] `bytes`
 */
#define TG_SPREAD_1X2(name, NEXT)                                                                                      \
    TG_NAKED static void name(const int8_t *const *at __attribute__((unused)),                                         \
        uint32_t *values __attribute__((unused)), int32_t step __attribute__((unused)),                                \
        int32_t bytes __attribute__((unused)))                                                                         \
    {                                                                                                                  \
        __asm volatile("push   {r4-r11, lr}            \n"                                                             \
                       "sub    sp, #12                 \n"                                                             \
                       "add    r4, r0, #48             \n" /* 3 rows of 4 pixels */                                    \
                       "strd   r4, r3, [sp, #4]        \n"                                                             \
                       "mov    r9, r0                  \n"                                                             \
                       "mov    r0, r1                  \n"                                                             \
                       "add    r1, r0, r2, lsl #2      \n"                                                             \
                       "add    r3, r1, r2, lsl #3      \n"                                                             \
                       "add    r2, r0, r2, lsl #3      \n"                                                             \
                       "1:                             \n" /* a row */                                                 \
                       "ldm    r9!, {r4-r7}            \n"                                                             \
                       "ldr    r8, [sp, #8]            \n"                                                             \
                       "str    r9, [sp]                \n"                                                             \
                       "add    r8, r4                  \n"                                                             \
                       "2:                             \n" /* 4 channels */                                            \
                       "ldr    r9, [r4], #4            \n"                                                             \
                       "ldr    r10, [r6], #4           \n"                                                             \
                       "sxtb16 r11, r9                 \n"                                                             \
                       "sxtb16 r12, r10                \n"                                                             \
                       "ssub16 r11, r11, r12           \n"                                                             \
                       "str    r11, [r0], #" NEXT "    \n"                                                             \
                       "sxtb16 r9, r9, ror #8          \n"                                                             \
                       "sxtb16 r10, r10, ror #8        \n"                                                             \
                       "ssub16 r9, r9, r10             \n"                                                             \
                       "str    r9, [r0], #" NEXT "     \n"                                                             \
                       "ldr    r9, [r5], #4            \n"                                                             \
                       "sxtb16 r11, r9                 \n"                                                             \
                       "sxtb16 r9, r9, ror #8          \n"                                                             \
                       "sadd16 lr, r11, r12            \n"                                                             \
                       "str    lr, [r1], #" NEXT "     \n"                                                             \
                       "sadd16 lr, r9, r10             \n"                                                             \
                       "str    lr, [r1], #" NEXT "     \n"                                                             \
                       "ssub16 r12, r12, r11           \n"                                                             \
                       "str    r12, [r2], #" NEXT "    \n"                                                             \
                       "ssub16 r10, r10, r9            \n"                                                             \
                       "str    r10, [r2], #" NEXT "    \n"                                                             \
                       "ldr    r10, [r7], #4           \n"                                                             \
                       "sxtb16 r12, r10                \n"                                                             \
                       "ssub16 r12, r11, r12           \n"                                                             \
                       "str    r12, [r3], #" NEXT "    \n"                                                             \
                       "sxtb16 r10, r10, ror #8        \n"                                                             \
                       "ssub16 r10, r9, r10            \n"                                                             \
                       "str    r10, [r3], #" NEXT "    \n"                                                             \
                       "cmp    r4, r8                  \n"                                                             \
                       "bne    2b                      \n"                                                             \
                       "ldrd   r9, r10, [sp]           \n"                                                             \
                       "cmp    r9, r10                 \n"                                                             \
                       "bne    1b                      \n"                                                             \
                       "add    sp, #12                 \n"                                                             \
                       "pop    {r4-r11, pc}            \n");                                                           \
    }

/* clang-format on */

#define TG_1X2_SPREAD(name, TILES, NEXT)                                                                               \
    TG_SPREAD_1X2(spread_words, NEXT)                                                                                  \
                                                                                                                       \
    static void name(const struct tg_native_taps *taps, uint32_t *values)                                              \
    {                                                                                                                  \
        if (taps->depth % 4 == 0) {                                                                                    \
            spread_words(taps->at, values, taps->step, taps->depth);                                                   \
        } else {                                                                                                       \
            tg_spread_1x2(taps, values, TILES);                                                                        \
        }                                                                                                              \
    }

#else

#define TG_1X2_SPREAD(name, TILES, NEXT)                                                                               \
    static void name(const struct tg_native_taps *taps, uint32_t *values)                                              \
    {                                                                                                                  \
        tg_spread_1x2(taps, values, TILES);                                                                            \
    }

#endif

/** The rows of A'. */
static inline void tg_collect_1x2(const uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles,
    int32_t count, int32_t channel, int32_t at_once)
{
    const int32_t next = TG_WINOGRAD_LANES(at_once);

    for (int32_t i = 0; i < 2; i++, scales += TG_WINOGRAD_SCALES, products += at_once) {
        const struct tg_native_scale scale = tg_scale_at(scales + 1);
        const uint32_t bias = (uint32_t)scales[0];
        for (int32_t tile = 0; tile < count; tile++) {
            const uint32_t *const from = products + tile;
            int8_t *const output = tiles[tile].output + channel + i;
            const uint32_t b = from[next] + bias; /* this one counts in both outputs */
            const uint32_t c = from[2 * next];
            if (tiles[tile].columns > 1) {
                output[tiles[tile].column_step] = tg_requantized((int32_t)(b - c - from[3 * next]), scale);
            }
            output[0] = tg_requantized((int32_t)(from[0] + b + c), scale);
        }
    }
}

/** NEXT: bytes from a value of a tile to its next. */
#define TG_WINOGRAD_1X2_FUNCTION(name, TILES, NEXT, MULTIPLY)                                                          \
    TG_1X2_SPREAD(spread, TILES, NEXT)                                                                                 \
                                                                                                                       \
    static void collect(                                                                                               \
        uint32_t *products, const int32_t *scales, const struct tg_native_tile *tiles, int32_t count, int32_t channel) \
    {                                                                                                                  \
        tg_collect_1x2(products, scales, tiles, count, channel, TILES);                                                \
    }                                                                                                                  \
                                                                                                                       \
    void name(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)              \
    {                                                                                                                  \
        static const struct tg_native_winograd method = {                                                              \
            .rows = 1,                                                                                                 \
            .columns = 2,                                                                                              \
            .stride = 1,                                                                                               \
            .tiles = TILES,                                                                                            \
            .positions = TG_1X2_WIDTH,                                                                                 \
            .products = TG_1X2_WIDTH,                                                                                  \
            .filters = TG_1X2_WIDTH,                                                                                   \
            .filter_rows = TG_1X2_HEIGHT,                                                                              \
            .multiply = MULTIPLY,                                                                                      \
            .spread = spread,                                                                                          \
            .collect = collect,                                                                                        \
        };                                                                                                             \
                                                                                                                       \
        tg_native_winograd(layer, input, output, scratch, &method);                                                    \
    }

#endif
