/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream                                  r1        values
 * r2 - r5   sums of channel 0, tiles 0 to 3         r6 - r9   sums of channel 1
 * r10, r11  weights of channel 0 and 1, two each    r12, lr   values of two tiles, two each
 *
 * Frame: [sp] products, [sp, 4] their end, [sp, 8] bytes of values of a position that are no multiple of 16 elements,
 *        [sp, 12] those that are, [sp, 16] end of these
 */

/* 14 instructions for 16 multiplications: 2 elements, 2 channels, 4 tiles. */
#define TWO(MULTIPLY, SUMS)                                                                                            \
    "ldr    r10, [r0], #4           \n"                                                                                \
    "ldr    r11, [r0], #4           \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n" MULTIPLY                                                                       \
    "  r2, r10, r12" SUMS("r2") "\n" MULTIPLY "  r6, r11, r12" SUMS("r6") "\n" MULTIPLY "  r3, r10, lr " SUMS(         \
        "r3") "\n" MULTIPLY                                                                                            \
              "  r7, r11, lr " SUMS("r7") "\n"                                                                         \
                                          "ldr    r12, [r1], #4           \n"                                          \
                                          "ldr    lr,  [r1], #4           \n" MULTIPLY                                 \
                                          "  r4, r10, r12" SUMS("r4") "\n" MULTIPLY "  r8, r11, r12" SUMS(             \
                                              "r8") "\n" MULTIPLY                                                      \
                                                    "  r5, r10, lr " SUMS("r5") "\n" MULTIPLY                          \
                                                                                "  r9, r11, lr " SUMS("r9") "\n"

#define ADDED(sum) ", " sum
#define NONE(sum) ""

#define FIRST_2 TWO("smuad", NONE)
#define NEXT_2 TWO("smlad", ADDED)
#define NEXT_4 NEXT_2 NEXT_2
#define NEXT_12 NEXT_4 NEXT_4 NEXT_4

TG_NAKED void tg_native_winograd_multiply(const int32_t *stream __attribute__((unused)),
    const uint32_t *values __attribute__((unused)), int32_t quads __attribute__((unused)),
    int32_t positions __attribute__((unused)), uint32_t *products __attribute__((unused)))
{
    __asm volatile("push   {r4-r11, lr}            \n"
                   "sub    sp, #20                 \n"
                   "ldr    r4, [sp, #56]           \n" /* products */
                   "add    r5, r4, r3, lsl #5      \n" /* 8 words for each position */
                   "and    r6, r2, #3              \n"
                   "sub    r7, r2, r6              \n"
                   "lsl    r6, r6, #5              \n" /* 4 elements: 32 bytes */
                   "lsl    r7, r7, #5              \n"
                   "strd   r4, r5, [sp]            \n"
                   "strd   r6, r7, [sp, #8]        \n"
                   "1:                             \n" /* a position */
                   "ldr    r10, [sp, #8]           \n"
                   "ldr    r11, [sp, #12]          \n"
                   "cmp    r10, #0                 \n"
                   "bne    5f                      \n"
                   "add    r12, r1, r11            \n"
                   "str    r12, [sp, #16]          \n" FIRST_2 NEXT_2 NEXT_12 "ldr    r12, [sp, #16]          \n"
                   "cmp    r1, r12                 \n"
                   "beq    4f                      \n"
                   "3:                             \n" /* 16 elements */
        NEXT_4 NEXT_12 "ldr    r12, [sp, #16]          \n"
                   "cmp    r1, r12                 \n"
                   "bne    3b                      \n"
                   "4:                             \n"
                   "ldr    r12, [sp]               \n"
                   "ldr    lr, [sp, #4]            \n"
                   "str    r2, [r12], #4           \n"
                   "str    r3, [r12], #4           \n"
                   "str    r4, [r12], #4           \n"
                   "str    r5, [r12], #4           \n"
                   "str    r6, [r12], #4           \n"
                   "str    r7, [r12], #4           \n"
                   "str    r8, [r12], #4           \n"
                   "str    r9, [r12], #4           \n"
                   "str    r12, [sp]               \n"
                   "cmp    r12, lr                 \n"
                   "bne    1b                      \n"
                   "add    sp, #20                 \n"
                   "pop    {r4-r11, pc}            \n"
                   "5:                             \n" /* elements that do not fill 16, 4 at a time */
                   "add    r12, r1, r10            \n"
                   "str    r12, [sp, #16]          \n" FIRST_2 NEXT_2 "ldr    r12, [sp, #16]          \n"
                   "cmp    r1, r12                 \n"
                   "beq    7f                      \n"
                   "6:                             \n" NEXT_4 "ldr    r12, [sp, #16]          \n"
                   "cmp    r1, r12                 \n"
                   "bne    6b                      \n"
                   "7:                             \n"
                   "ldr    r11, [sp, #12]          \n"
                   "cmp    r11, #0                 \n"
                   "beq    4b                      \n"
                   "add    r12, r1, r11            \n"
                   "str    r12, [sp, #16]          \n"
                   "b      3b                      \n");
}

/* clang-format on */

#else

/* Two channels of two tiles. */
static void multiply(const int32_t *weights, const uint32_t *values, int32_t quads, uint32_t *products)
{
    uint32_t a = 0;
    uint32_t b = 0;
    uint32_t c = 0;
    uint32_t d = 0;

    for (int32_t i = 0; i < 2 * quads; i++, weights += 2, values += TG_WINOGRAD_TILES) {
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
    products[TG_WINOGRAD_TILES] = b;
    products[TG_WINOGRAD_TILES + 1] = d;
}

void tg_native_winograd_multiply(
    const int32_t *stream, const uint32_t *values, int32_t quads, int32_t positions, uint32_t *products)
{
    for (int32_t position = 0; position < positions; position++) {
        multiply(stream, values, quads, products);
        multiply(stream, values + 2, quads, products + 2);
        stream += 4 * quads;
        values += 8 * quads;
        products += TG_WINOGRAD_LANES;
    }
}

#endif
