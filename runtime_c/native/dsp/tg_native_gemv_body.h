/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_gemv: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_GEMV_BODY_H
#define TG_NATIVE_GEMV_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_gemv.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream                     r1        vector
 * r2 - r9   sums of 8 units            r10, r11  two activations each
 * r12, lr   weights of one unit, or of two that are joined
 *
 * Frame: [sp] vector, [sp, 4] end of its part that is a multiple of 16 elements, [sp, 8] end of all, [sp, 12] output,
 *        [sp, 16] end of the outputs
 */

#define TG_GEMV_UNIT(sum)                                                                                              \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "sxtb16 lr, r12                          \n"                                                                       \
    "sxtb16 r12, r12, ror #8                 \n"                                                                       \
    "smlad  " sum ", lr, r10, " sum "       \n"                                                                        \
    "smlad  " sum ", r12, r11, " sum "      \n"

/* 41 instructions for 32 multiplications. */
#define TG_GEMV_4                                                                                                      \
    "ldrd   r10, r11, [r1], #8              \n" TG_GEMV_UNIT("r2") TG_GEMV_UNIT("r3") TG_GEMV_UNIT("r4")               \
    TG_GEMV_UNIT("r5") TG_GEMV_UNIT("r6") TG_GEMV_UNIT("r7") TG_GEMV_UNIT("r8") TG_GEMV_UNIT("r9")

/*
 * Joined weights are multiplied as they are, for `both` to hold 256 sums of the second unit and one of the first.
 * LDRD takes the time of two loads that stand alone.
 */
#define TG_GEMV_PAIR(sum, both)                                                                                        \
    "ldrd   r12, lr, [r0], #8                \n"                                                                       \
    TG_GEMV_PAIR_OF_LOADED(sum, both)

#define TG_GEMV_PAIR_OF_LOADED(sum, both)                                                                              \
    "smlad  " both ", r12, r10, " both "    \n"                                                                        \
    "smlad  " both ", lr, r11, " both "     \n"                                                                        \
    "sxtb16 r12, r12                         \n"                                                                       \
    "sxtb16 lr, lr                           \n"                                                                       \
    "smlad  " sum ", r12, r10, " sum "      \n"                                                                        \
    "smlad  " sum ", lr, r11, " sum "       \n"

/* 31 instructions; four loads in a row take less time than LDRD and two. */
#define TG_GEMV_JOINED_4                                                                                               \
    "ldr    r10, [r1], #4                    \n"                                                                       \
    "ldr    r11, [r1], #4                    \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0], #4                    \n"                                                                       \
    TG_GEMV_PAIR_OF_LOADED("r2", "r3") TG_GEMV_PAIR("r4", "r5") TG_GEMV_PAIR("r6", "r7") TG_GEMV_PAIR("r8", "r9")

/* Multiplier, offset and shift; the sum is doubled after its sign is known. */
#define TG_GEMV_OUTPUT(sum, DOUBLED)                                                                                   \
    "ldm    r0!, {r10-r12}                   \n"                                                                       \
    "add    r11, r11, " sum ", asr #31      \n" /* halves of negative values go down */                                \
    DOUBLED                                                                                                            \
    "smmlar " sum ", " sum ", r10, r11      \n"                                                                        \
    "asr    " sum ", " sum ", r12           \n"                                                                        \
    "ssat   " sum ", #8, " sum "            \n"                                                                        \
    "strb   " sum ", [lr], #1               \n"

#define TG_GEMV_PLAIN(sum) TG_GEMV_OUTPUT(sum, "lsl    " sum ", " sum ", #1             \n")
#define TG_GEMV_PARTED(sum) TG_GEMV_OUTPUT(sum, "asr    " sum ", " sum ", #7             \n")

#define TG_GEMV_OUTPUTS                                                                                                \
    TG_GEMV_PLAIN("r2") TG_GEMV_PLAIN("r3") TG_GEMV_PLAIN("r4") TG_GEMV_PLAIN("r5")                                    \
    TG_GEMV_PLAIN("r6") TG_GEMV_PLAIN("r7") TG_GEMV_PLAIN("r8") TG_GEMV_PLAIN("r9")

#define TG_GEMV_JOINED_OUTPUTS                                                                                         \
    "sub    r3, r2                           \n"                                                                       \
    "sub    r5, r4                           \n"                                                                       \
    "sub    r7, r6                           \n"                                                                       \
    "sub    r9, r8                           \n"                                                                       \
    TG_GEMV_PLAIN("r2") TG_GEMV_PARTED("r3") TG_GEMV_PLAIN("r4") TG_GEMV_PARTED("r5")                                  \
    TG_GEMV_PLAIN("r6") TG_GEMV_PARTED("r7") TG_GEMV_PLAIN("r8") TG_GEMV_PARTED("r9")

#define TG_GEMV_ASSEMBLY(name, FOUR, OUTPUTS)                                                                          \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *vector __attribute__((unused)),  \
        int32_t quads __attribute__((unused)), int32_t groups __attribute__((unused)),                                 \
        int8_t *output __attribute__((unused)))                                                                        \
    {                                                                                                                  \
        __asm volatile(                                                                                                \
            "push   {r4-r11, lr}                     \n"                                                               \
            "sub    sp, #20                          \n"                                                               \
            "ldr    r4, [sp, #56]                    \n" /* output */                                                  \
            "add    r5, r4, r3, lsl #3               \n"                                                               \
            "lsr    r6, r2, #2                       \n"                                                               \
            "add    r6, r1, r6, lsl #5               \n" /* 16 elements: 32 bytes of the vector */                     \
            "add    r7, r1, r2, lsl #3               \n"                                                               \
            "str    r1, [sp]                         \n"                                                               \
            "strd   r6, r7, [sp, #4]                 \n"                                                               \
            "strd   r4, r5, [sp, #12]                \n"                                                               \
            "1:                                      \n" /* a group of units */                                        \
            "ldm    r0!, {r2-r9}                     \n"                                                               \
            "ldr    r12, [sp, #4]                    \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "beq    3f                               \n"                                                               \
            "2:                                      \n" /* 16 elements */                                             \
            FOUR FOUR FOUR FOUR                                                                                        \
            "ldr    r12, [sp, #4]                    \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "bne    2b                               \n"                                                               \
            "3:                                      \n"                                                               \
            "ldr    r12, [sp, #8]                    \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "beq    5f                               \n"                                                               \
            "4:                                      \n" /* 4 of the rest */                                           \
            FOUR                                                                                                       \
            "ldr    r12, [sp, #8]                    \n"                                                               \
            "cmp    r1, r12                          \n"                                                               \
            "bne    4b                               \n"                                                               \
            "5:                                      \n"                                                               \
            "ldr    lr, [sp, #12]                    \n"                                                               \
            OUTPUTS                                                                                                    \
            "str    lr, [sp, #12]                    \n"                                                               \
            "ldr    r12, [sp, #16]                   \n"                                                               \
            "ldr    r1, [sp]                         \n"                                                               \
            "cmp    lr, r12                          \n"                                                               \
            "bne    1b                               \n"                                                               \
            "add    sp, #20                          \n"                                                               \
            "pop    {r4-r11, pc}                     \n");                                                             \
    }

#define TG_GEMV_FUNCTION(name) TG_GEMV_ASSEMBLY(name, TG_GEMV_4, TG_GEMV_OUTPUTS)
#define TG_GEMV_JOINED_FUNCTION(name) TG_GEMV_ASSEMBLY(name, TG_GEMV_JOINED_4, TG_GEMV_JOINED_OUTPUTS)

/* clang-format on */

#else

#if TG_NATIVE_RV32
#include "tg_native_gemv_rv32.h"
#endif

/* Two units, which share what is read of the vector. */
static inline void tg_gemv_two(const int8_t *weights, const uint32_t *vector, int32_t quads, const int32_t *bias,
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

/* The same with joined weights. */
static inline void tg_gemv_joined_two(const int8_t *weights, const uint32_t *vector, int32_t quads, const int32_t *bias,
    const int32_t *scale, int8_t *output)
{
    uint32_t sum = (uint32_t)bias[0];
    uint32_t both = (uint32_t)bias[1];

    for (const uint32_t *const end = vector + 2 * quads; vector < end; vector += 2, weights += 4 * TG_NATIVE_UNITS) {
        for (int32_t i = 0; i < 4; i++) {
            const int32_t pair = tg_half(weights, i);
            const int32_t x = tg_half(vector, i);
            sum = tg_mac((int8_t)(uint8_t)pair, x, sum);
            both = tg_mac(pair, x, both);
        }
    }
    output[0] = tg_rounded(tg_doubled((int32_t)sum), scale);
    output[1] = tg_rounded(tg_doubled((int32_t)tg_parted(both, sum)), scale + 3);
}

#define TG_GEMV_C(name, TWO)                                                                                           \
    void name(const int32_t *stream, const uint32_t *vector, int32_t quads, int32_t groups, int8_t *output)            \
    {                                                                                                                  \
        for (; groups > 0; groups--, stream += tg_native_group_words(quads)) {                                         \
            const int32_t *const weights = stream + TG_NATIVE_UNITS;                                                   \
            const int32_t *const scale = weights + TG_NATIVE_UNITS * quads;                                            \
            for (int32_t unit = 0; unit < TG_NATIVE_UNITS; unit += 2, output += 2) {                                   \
                TWO((const int8_t *)(weights + unit), vector, quads, stream + unit, scale + 3 * unit, output);         \
            }                                                                                                          \
        }                                                                                                              \
    }

#if TG_NATIVE_RV32
#define TG_GEMV_FUNCTION(name) TG_GEMV_RV32_FUNCTION(name)
#else
#define TG_GEMV_FUNCTION(name) TG_GEMV_C(name, tg_gemv_two)
#endif
#define TG_GEMV_JOINED_FUNCTION(name) TG_GEMV_C(name, tg_gemv_joined_two)

#endif

#endif
