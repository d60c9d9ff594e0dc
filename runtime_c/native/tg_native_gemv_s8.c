/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemv.h"
#include "tg_native_arithmetic.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream                     r1        vector
 * r2 - r9   sums of 8 units            r10, r11  two activations each
 * r12, lr   weights of one unit
 *
 * Frame: [sp] vector, [sp, 4] end of its part that is a multiple of 16 elements, [sp, 8] end of all, [sp, 12] output,
 *        [sp, 16] end of the outputs
 */

#define UNIT(sum)                                                                                                      \
    "ldr    r12, [r0], #4                   \n"                                                                        \
    "sxtb16 lr, r12                         \n"                                                                        \
    "sxtb16 r12, r12, ror #8                \n"                                                                        \
    "smlad  " sum ", lr, r10, " sum "       \n"                                                                        \
    "smlad  " sum ", r12, r11, " sum "      \n"

/* 41 instructions for 32 multiplications. */
#define FOUR_ELEMENTS                                                                                                  \
    "ldrd   r10, r11, [r1], #8              \n" UNIT("r2") UNIT("r3") UNIT("r4") UNIT("r5") UNIT("r6") UNIT("r7")      \
        UNIT("r8") UNIT("r9")

#define OUTPUT(sum)                                                                                                    \
    "ldm    r0!, {r10-r12}                  \n"                                                                        \
    "add    r11, r11, " sum ", asr #31      \n" /* halves of negative values go down */                                \
    "lsl    " sum ", " sum ", #1            \n"                                                                        \
    "smmlar " sum ", " sum ", r10, r11      \n"                                                                        \
    "asr    " sum ", " sum ", r12           \n"                                                                        \
    "ssat   " sum ", #8, " sum "            \n"                                                                        \
    "strb   " sum ", [lr], #1               \n"

TG_NAKED void tg_native_gemv_s8(const int32_t *stream __attribute__((unused)),
    const uint32_t *vector __attribute__((unused)), int32_t quads __attribute__((unused)),
    int32_t groups __attribute__((unused)), int8_t *output __attribute__((unused)))
{
    __asm volatile("push   {r4-r11, lr}            \n"
                   "sub    sp, #20                 \n"
                   "ldr    r4, [sp, #56]           \n" /* output */
                   "add    r5, r4, r3, lsl #3      \n"
                   "lsr    r6, r2, #2              \n"
                   "add    r6, r1, r6, lsl #5      \n" /* 16 elements: 32 bytes of the vector */
                   "add    r7, r1, r2, lsl #3      \n"
                   "str    r1, [sp]                \n"
                   "strd   r6, r7, [sp, #4]        \n"
                   "strd   r4, r5, [sp, #12]       \n"
                   "1:                             \n" /* a group of units */
                   "ldm    r0!, {r2-r9}            \n"
                   "ldr    r12, [sp, #4]           \n"
                   "cmp    r1, r12                 \n"
                   "beq    3f                      \n"
                   "2:                             \n" /* 16 elements */
        FOUR_ELEMENTS FOUR_ELEMENTS FOUR_ELEMENTS FOUR_ELEMENTS "ldr    r12, [sp, #4]           \n"
                   "cmp    r1, r12                 \n"
                   "bne    2b                      \n"
                   "3:                             \n"
                   "ldr    r12, [sp, #8]           \n"
                   "cmp    r1, r12                 \n"
                   "beq    5f                      \n"
                   "4:                             \n" /* 4 of the rest */
        FOUR_ELEMENTS "ldr    r12, [sp, #8]           \n"
                   "cmp    r1, r12                 \n"
                   "bne    4b                      \n"
                   "5:                             \n"
                   "ldr    lr, [sp, #12]           \n" OUTPUT("r2") OUTPUT("r3") OUTPUT("r4") OUTPUT("r5") OUTPUT("r6")
                       OUTPUT("r7") OUTPUT("r8") OUTPUT("r9") "str    lr, [sp, #12]           \n"
                                                              "ldr    r12, [sp, #16]          \n"
                                                              "ldr    r1, [sp]                \n"
                                                              "cmp    lr, r12                 \n"
                                                              "bne    1b                      \n"
                                                              "add    sp, #20                 \n"
                                                              "pop    {r4-r11, pc}            \n");
}

/* clang-format on */

#else

/* Two units, which share what is read of the vector. */
static inline void two_units(const int8_t *weights, const uint32_t *vector, int32_t quads, const int32_t *bias,
    const int32_t *scale, int8_t *output)
{
    uint32_t sum = (uint32_t)bias[0];
    uint32_t next = (uint32_t)bias[1];

    for (const uint32_t *const end = vector + 2 * quads; vector < end; vector += 2, weights += 4 * TG_NATIVE_UNITS) {
        const int32_t x0 = tg_half(vector, 0);
        const int32_t x1 = tg_half(vector, 2);
        const int32_t x2 = tg_half(vector, 1);
        const int32_t x3 = tg_half(vector, 3);
        sum = tg_mac(weights[0], x0, sum);
        next = tg_mac(weights[4], x0, next);
        sum = tg_mac(weights[1], x1, sum);
        next = tg_mac(weights[5], x1, next);
        sum = tg_mac(weights[2], x2, sum);
        next = tg_mac(weights[6], x2, next);
        sum = tg_mac(weights[3], x3, sum);
        next = tg_mac(weights[7], x3, next);
    }
    output[0] = tg_rounded(tg_doubled((int32_t)sum), scale);
    output[1] = tg_rounded(tg_doubled((int32_t)next), scale + 3);
}

void tg_native_gemv_s8(const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output)
{
    for (; groups > 0; groups--, stream += tg_native_group_words(quads)) {
        const int32_t *const weights = stream + TG_NATIVE_UNITS;
        const int32_t *const scale = weights + TG_NATIVE_UNITS * quads;
        for (int32_t unit = 0; unit < TG_NATIVE_UNITS; unit += 2, output += 2) {
            two_units((const int8_t *)(weights + unit), vector, quads, stream + unit, scale + 3 * unit, output);
        }
    }
}

#endif
