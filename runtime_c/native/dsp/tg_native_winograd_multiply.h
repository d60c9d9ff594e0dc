/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_winograd_multiply_*: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_WINOGRAD_MULTIPLY_H
#define TG_NATIVE_WINOGRAD_MULTIPLY_H

#include "tg_native_winograd.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0  stream, r1  values, r2 and up  sums: of channel 0 for each tile, then of channel 1; the others hold weights and
 * values of two elements each. FIRST_4 and NEXT_4 take 4 elements, SHIFT is 2 to the power of their bytes of values.
 *
 * Frame: [sp] products, [sp, 4] their end, [sp, 8] bytes of values of a position that are no multiple of 16 elements,
 *        [sp, 12] those that are, [sp, 16] end of these
 */

#define TG_WINOGRAD_MULTIPLY(name, SHIFT, FIRST_4, NEXT_4, SUMS)                                                       \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *values __attribute__((unused)),  \
        int32_t quads __attribute__((unused)), int32_t positions __attribute__((unused)),                              \
        uint32_t *products __attribute__((unused)))                                                                    \
    {                                                                                                                  \
        __asm volatile("push   {r4-r11, lr}            \n"                                                             \
                       "sub    sp, #20                 \n"                                                             \
                       "ldr    r4, [sp, #56]           \n" /* products */                                              \
                       "add    r5, r4, r3, lsl #" SHIFT " \n"                                                          \
                       "and    r6, r2, #3              \n"                                                             \
                       "sub    r7, r2, r6              \n"                                                             \
                       "lsl    r6, r6, #" SHIFT "      \n"                                                             \
                       "lsl    r7, r7, #" SHIFT "      \n"                                                             \
                       "strd   r4, r5, [sp]            \n"                                                             \
                       "strd   r6, r7, [sp, #8]        \n"                                                             \
                       "1:                             \n" /* a position */                                            \
                       "ldr    r10, [sp, #8]           \n"                                                             \
                       "ldr    r11, [sp, #12]          \n"                                                             \
                       "cmp    r10, #0                 \n"                                                             \
                       "bne    5f                      \n"                                                             \
                       "add    r12, r1, r11            \n"                                                             \
                       "str    r12, [sp, #16]          \n" FIRST_4 NEXT_4 NEXT_4 NEXT_4                                \
                       "ldr    r12, [sp, #16]          \n"                                                             \
                       "cmp    r1, r12                 \n"                                                             \
                       "beq    4f                      \n"                                                             \
                       "3:                             \n" /* 16 elements */                                           \
            NEXT_4 NEXT_4 NEXT_4 NEXT_4                                                                                \
                       "ldr    r12, [sp, #16]          \n"                                                             \
                       "cmp    r1, r12                 \n"                                                             \
                       "bne    3b                      \n"                                                             \
                       "4:                             \n"                                                             \
                       "ldrd   r12, lr, [sp]           \n"                                                             \
                       "stm    r12!, {" SUMS "}        \n"                                                             \
                       "str    r12, [sp]               \n"                                                             \
                       "cmp    r12, lr                 \n"                                                             \
                       "bne    1b                      \n"                                                             \
                       "add    sp, #20                 \n"                                                             \
                       "pop    {r4-r11, pc}            \n"                                                             \
                       "5:                             \n" /* elements that do not fill 16, 4 at a time */             \
                       "add    r12, r1, r10            \n"                                                             \
                       "str    r12, [sp, #16]          \n" FIRST_4                                                     \
                       "ldr    r12, [sp, #16]          \n"                                                             \
                       "cmp    r1, r12                 \n"                                                             \
                       "beq    7f                      \n"                                                             \
                       "6:                             \n" NEXT_4                                                      \
                       "ldr    r12, [sp, #16]          \n"                                                             \
                       "cmp    r1, r12                 \n"                                                             \
                       "bne    6b                      \n"                                                             \
                       "7:                             \n"                                                             \
                       "ldr    r11, [sp, #12]          \n"                                                             \
                       "cmp    r11, #0                 \n"                                                             \
                       "beq    4b                      \n"                                                             \
                       "add    r12, r1, r11            \n"                                                             \
                       "str    r12, [sp, #16]          \n"                                                             \
                       "b      3b                      \n");                                                           \
    }

/* Products of two elements each, as the first ones of a sum and as further ones. */
#define TG_WINOGRAD_PRODUCT(sum, weights, values) "smuad  " sum ", " weights ", " values "\n"
#define TG_WINOGRAD_ADDED(sum, weights, values) "smlad  " sum ", " weights ", " values ", " sum "\n"

/* Two elements of 4 tiles. r10, r11  weights of channel 0 and 1; r12, lr  values of two tiles. 13 instructions for 16
 * multiplications. */
#define TG_WINOGRAD_TWO_OF_4(MULTIPLY)                                                                                 \
    "ldr    r10, [r0], #4           \n"                                                                                \
    "ldr    r11, [r0], #4           \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    MULTIPLY("r2", "r10", "r12") MULTIPLY("r6", "r11", "r12") MULTIPLY("r3", "r10", "lr") MULTIPLY("r7", "r11", "lr")  \
    "ldrd   r12, lr, [r1], #8       \n"                                                                                \
    MULTIPLY("r4", "r10", "r12") MULTIPLY("r8", "r11", "r12") MULTIPLY("r5", "r10", "lr") MULTIPLY("r9", "r11", "lr")

#define TG_WINOGRAD_FIRST_4_OF_4                                                                                       \
    TG_WINOGRAD_TWO_OF_4(TG_WINOGRAD_PRODUCT) TG_WINOGRAD_TWO_OF_4(TG_WINOGRAD_ADDED)
#define TG_WINOGRAD_NEXT_4_OF_4 TG_WINOGRAD_TWO_OF_4(TG_WINOGRAD_ADDED) TG_WINOGRAD_TWO_OF_4(TG_WINOGRAD_ADDED)

/* clang-format on */

#else

/* Two channels of one tile. */
static inline void tg_winograd_tile(
    const int32_t *weights, const uint32_t *values, int32_t quads, int32_t tiles, uint32_t *products)
{
    uint32_t a = 0;
    uint32_t b = 0;

    for (int32_t i = 0; i < 2 * quads; i++, weights += 2, values += tiles) {
        a = tg_mac(tg_half(weights, 0), tg_half(values, 0), a);
        b = tg_mac(tg_half(weights, 2), tg_half(values, 0), b);
        a = tg_mac(tg_half(weights, 1), tg_half(values, 1), a);
        b = tg_mac(tg_half(weights, 3), tg_half(values, 1), b);
    }
    products[0] = a;
    products[tiles] = b;
}

/* Two channels of two tiles. */
static inline void tg_winograd_two_tiles(
    const int32_t *weights, const uint32_t *values, int32_t quads, int32_t tiles, uint32_t *products)
{
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;

    for (int32_t i = 0; i < 2 * quads; i++, weights += 2, values += tiles) {
        const int32_t w0 = tg_half(weights, 0);
        const int32_t w1 = tg_half(weights, 1);
        const int32_t v0 = tg_half(weights, 2);
        const int32_t v1 = tg_half(weights, 3);
        a = tg_mac(w0, tg_half(values, 0), a);
        b = tg_mac(v0, tg_half(values, 0), b);
        c = tg_mac(w0, tg_half(values, 2), c);
        d = tg_mac(v0, tg_half(values, 2), d);
        a = tg_mac(w1, tg_half(values, 1), a);
        b = tg_mac(v1, tg_half(values, 1), b);
        c = tg_mac(w1, tg_half(values, 3), c);
        d = tg_mac(v1, tg_half(values, 3), d);
    }
    products[0] = a;
    products[1] = c;
    products[tiles] = b;
    products[tiles + 1] = d;
}

#define TG_WINOGRAD_MULTIPLY_C(name, TILES)                                                                            \
    void name(const int32_t *stream, const uint32_t *values, int32_t quads, int32_t positions, uint32_t *products)     \
    {                                                                                                                  \
        for (int32_t position = 0; position < positions; position++) {                                                 \
            int32_t tile = 0;                                                                                          \
            for (; tile <= (TILES) - 2; tile += 2) {                                                                   \
                tg_winograd_two_tiles(stream, values + tile, quads, (TILES), products + tile);                         \
            }                                                                                                          \
            if (tile < (TILES)) {                                                                                      \
                tg_winograd_tile(stream, values + tile, quads, (TILES), products + tile);                              \
            }                                                                                                          \
            stream += 4 * quads;                                                                                       \
            values += 2 * (TILES) * quads;                                                                             \
            products += TG_WINOGRAD_LANES(TILES);                                                                      \
        }                                                                                                              \
    }

#endif

#endif
