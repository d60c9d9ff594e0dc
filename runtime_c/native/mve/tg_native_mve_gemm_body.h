/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_mve_gemm: as assembly and, for other cores, in C.
 */
#ifndef TG_NATIVE_MVE_GEMM_BODY_H
#define TG_NATIVE_MVE_GEMM_BODY_H

#include "tg_native_mve_arithmetic.h"
#include "tg_native_mve_gemm.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0 r2 r4 r6      sums of 4 channels, pixel 0      r8 r10 r12 lr   pixel 1 (sums must be even registers)
 * r1               stream                           r3, r5          the two pixels
 * r7               rounds of the loop of 4 steps    r9, r11         where to go behind the sums; where the loop starts
 * q0, q1           weights, in turn                 q2, q3          16 elements of the two pixels
 * q4, q6 / q5, q7  16 outputs of pixel 0 / pixel 1 as 16-bit values: channels 4i, 4i + 2 / 4i + 1, 4i + 3
 *
 * Frame, in bytes from sp:
 *   0 pixel 0   4 pixel 1 (less the lanes that the first step leaves out)   8 rounds       12 lanes of the first step
 *  16 output 0  20 output 1                  24 zero point                  28 whether min and max narrow int8
 *  32 blocks of 16 channels left             36 channels behind them left   40 pairs left  44 stream
 *  48 bytes between pairs of pixels          52 from the end of a pair of outputs to the next one
 *  56 blocks    60 channels behind them      64 min, 16 times               80 max, 16 times
 */

/*
 * sums: 16 multiplications by each of 4 channels and 2 pixels. step: the same with its two loads of 4 bytes, like all
 * its instructions. requantized: outputs in q0, q1 but for zero point and clamp. four: narrowed into halves of a and b.
 */
TG_MVE_NAKED void TG_MVE_GEMM_NAME(const struct tg_native_mve_gemm *gemm __attribute__((unused)))
{
    __asm volatile(
        ".macro sums, operation                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r0, q2, q0                      \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation r8, q3, q0                      \n"
        "\\operation r2, q2, q1                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "\\operation r10, q3, q1                     \n"
        "\\operation r4, q2, q0                      \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "\\operation r12, q3, q0                     \n"
        "\\operation r6, q2, q1                      \n"
        "\\operation lr, q3, q1                      \n"
        ".endm                                       \n"
        ".macro step                                 \n"
        "vldrb.u8 q2, [r3], #16                      \n"
        "vldrb.u8 q3, [r5], #16                      \n"
        "sums   vmladava.s8                          \n"
        ".endm                                       \n"
        ".macro requantized                          \n"
        "vmov   q0[2], q0[0], r0, r4                 \n"
        "vldrw.u32 q2, [r1], #16                     \n" /* biases */
        "vmov   q0[3], q0[1], r2, r6                 \n"
        "vmov   q1[2], q1[0], r8, r12                \n"
        "vadd.i32 q0, q0, q2                         \n"
        "vldrw.u32 q3, [r1], #16                     \n" /* multipliers */
        "vmov   q1[3], q1[1], r10, lr                \n"
        "vqrdmulh.s32 q0, q0, q3                     \n"
        "vadd.i32 q1, q1, q2                         \n"
        "vldrw.u32 q2, [r1], #16                     \n" /* shifts */
        "vqrdmulh.s32 q1, q1, q3                     \n"
        ".if " TG_MVE_TEXT(TG_MVE_GEMM_IS_RELU) " == 0\n"
        "mov    r0, #1                               \n"
        "vqdmlah.s32 q0, q0, r0                      \n" /* -1 for negative values: their halves go down */
        "vqdmlah.s32 q1, q1, r0                      \n"
        ".endif                                      \n"
        "vrshl.s32 q0, q0, q2                        \n"
        "vrshl.s32 q1, q1, q2                        \n"
        ".endm                                       \n"
        ".macro four, half, a, b                     \n"
        "ldrd   r3, r5, [sp]                         \n"
        "adr.w  r9, 7f                               \n"
        "b      21b                                  \n"
        ".p2align 2                                  \n"
        "7:                                          \n"
        "requantized                                 \n"
        "vqmovn\\half\\().s32 \\a, q0                \n"
        "vqmovn\\half\\().s32 \\b, q1                \n"
        ".endm                                       \n"
        "push   {r4-r11, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "sub    sp, #100                             \n"
        "ldrd   r2, r3, [r0, #8]                     \n" /* stream, pairs */
        "strd   r3, r2, [sp, #40]                    \n"
        "ldrd   r3, r4, [r0]                         \n" /* pixels, output */
        "ldrd   r5, r6, [r0, #16]                    \n" /* pixel_step, output_step */
        "lsl    r8, r5, #1                           \n"
        "lsl    r9, r6, #1                           \n"
        "add    r5, r3                               \n"
        "add    r6, r4                               \n"
        "strd   r4, r6, [sp, #16]                    \n"
        "ldr    r1, [r0, #28]                        \n" /* channels */
        "lsr    r2, r1, #4                           \n"
        "and    r4, r1, #15                          \n"
        "strd   r2, r4, [sp, #56]                    \n"
        "add    r1, #3                               \n"
        "bic    r1, #3                               \n"
        "sub    r9, r1                               \n"
        "strd   r8, r9, [sp, #48]                    \n"
        "ldr    r7, [r0, #24]                        \n" /* elements */
        "and    r8, r7, #15                          \n"
        "rsb    r8, r8, #16                          \n"
        "and    r8, r8, #15                          \n" /* lanes before those of the first step */
        "sub    r3, r8                               \n"
        "sub    r5, r8                               \n"
        "strd   r3, r5, [sp]                         \n"
        "mov    r10, #0xffff                         \n"
        "lsl    r10, r8                              \n"
        "uxth   r10, r10                             \n"
        "vmsr   p0, r10                              \n"
        "add    r7, #15                              \n"
        "lsr    r7, #4                               \n"
        "subs   r7, #1                               \n" /* steps behind the first */
        "adr.w  r11, 6f                              \n"
        "beq    2f                                   \n"
        "sub    r11, #4                              \n" /* the loop's end: two instructions */
        "subs   r2, r7, #1                           \n"
        "and    r2, #3                               \n"
        "add    r2, #1                               \n" /* steps of the first round */
        "mov    r8, #56                              \n" /* bytes of a step */
        "mls    r11, r2, r8, r11                     \n"
        "add    r7, #3                               \n"
        "lsr    r7, #2                               \n"
        "2:                                          \n"
        "strd   r7, r10, [sp, #8]                    \n"
        "ldrd   r7, r8, [r0, #32]                    \n" /* zero_point, min */
        "ldr    r10, [r0, #40]                       \n" /* max */
        "vdup.8 q0, r8                               \n"
        "vdup.8 q1, r10                              \n"
        "add    r12, sp, #64                         \n"
        "vstrw.32 q0, [r12]                          \n"
        "vstrw.32 q1, [r12, #16]                     \n"
        "sub    r10, r8                              \n"
        "subs   r10, #255                            \n" /* 0: nothing is clamped */
        "strd   r7, r10, [sp, #24]                   \n"
        "b      3f                                   \n"
        "21:                                         \n" /* sums of 4 channels and 2 pixels; goes on at r9 */
        "vpstt                                       \n"
        "vldrbt.u8 q2, [r3], #16                     \n"
        "vldrbt.u8 q3, [r5], #16                     \n"
        "sums   vmladav.s8                           \n"
        "ldr    r7, [sp, #8]                         \n"
        "mov    pc, r11                              \n"
        ".p2align 2                                  \n"
        "9:                                          \n"
        "step                                        \n"
        "step                                        \n"
        "step                                        \n"
        "step                                        \n"
        "subs.n r7, #1                               \n"
        "bne.n  9b                                   \n"
        ".p2align 2                                  \n"
        "6:                                          \n"
        "mov    pc, r9                               \n"
        "3:                                          \n" /* a pair of pixels */
        "ldrd   r4, r6, [sp, #56]                    \n"
        "ldr    r1, [sp, #44]                        \n"
        "strd   r4, r6, [sp, #32]                    \n"
        "cmp    r4, #0                               \n"
        "beq    5f                                   \n"
        "4:                                          \n" /* 16 channels */
        "four   b, q4, q5                            \n"
        "four   t, q4, q5                            \n"
        "four   b, q6, q7                            \n"
        "four   t, q6, q7                            \n"
        "ldrd   r0, r2, [sp, #24]                    \n"
        "vqadd.s16 q4, q4, r0                        \n"
        "vqadd.s16 q5, q5, r0                        \n"
        "vqadd.s16 q6, q6, r0                        \n"
        "vqadd.s16 q7, q7, r0                        \n"
        "vqmovnb.s16 q4, q4                          \n"
        "vqmovnb.s16 q5, q5                          \n"
        "vqmovnt.s16 q4, q6                          \n"
        "vqmovnt.s16 q5, q7                          \n"
        "cbz    r2, 8f                               \n"
        "add    r4, sp, #64                          \n"
        "vldrw.u32 q0, [r4]                          \n"
        "vldrw.u32 q1, [r4, #16]                     \n"
        "vmax.s8 q4, q4, q0                          \n"
        "vmax.s8 q5, q5, q0                          \n"
        "vmin.s8 q4, q4, q1                          \n"
        "vmin.s8 q5, q5, q1                          \n"
        "8:                                          \n"
        "ldrd   r0, r2, [sp, #16]                    \n"
        "vstrb.8 q4, [r0], #16                       \n"
        "vstrb.8 q5, [r2], #16                       \n"
        "strd   r0, r2, [sp, #16]                    \n"
        "ldr    r4, [sp, #32]                        \n"
        "subs   r4, #1                               \n"
        "str    r4, [sp, #32]                        \n"
        "bne    4b                                   \n"
        "5:                                          \n" /* channels that are left, 4 by 4 */
        "ldr    r4, [sp, #36]                        \n"
        "cmp    r4, #0                               \n"
        "beq    8f                                   \n"
        "9:                                          \n"
        "ldrd   r3, r5, [sp]                         \n"
        "adr.w  r9, 7f                               \n"
        "b      21b                                  \n"
        ".p2align 2                                  \n"
        "7:                                          \n"
        "requantized                                 \n"
        "ldr    r0, [sp, #24]                        \n"
        "add    r4, sp, #64                          \n"
        "vadd.i32 q0, q0, r0                         \n"
        "vldrw.u32 q2, [r4]                          \n"
        "vadd.i32 q1, q1, r0                         \n"
        "vldrw.u32 q3, [r4, #16]                     \n"
        "vqmovnb.s32 q0, q0                          \n"
        "vqmovnb.s32 q1, q1                          \n"
        "vqmovnb.s16 q0, q0                          \n"
        "vqmovnb.s16 q1, q1                          \n"
        "vmax.s8 q0, q0, q2                          \n"
        "vmax.s8 q1, q1, q2                          \n"
        "vmin.s8 q0, q0, q3                          \n"
        "ldrd   r0, r2, [sp, #16]                    \n"
        "vmin.s8 q1, q1, q3                          \n"
        "ldr    r4, [sp, #36]                        \n"
        "vctp.32 r4                                  \n"
        "vpstt                                       \n"
        "vstrbt.32 q0, [r0], #4                      \n"
        "vstrbt.32 q1, [r2], #4                      \n"
        "ldr    r6, [sp, #12]                        \n"
        "vmsr   p0, r6                               \n"
        "strd   r0, r2, [sp, #16]                    \n"
        "subs   r4, #4                               \n"
        "str    r4, [sp, #36]                        \n"
        "bgt    9b                                   \n"
        "8:                                          \n"
        "ldr    r0, [sp, #40]                        \n"
        "subs   r0, #1                               \n"
        "str    r0, [sp, #40]                        \n"
        "beq    8f                                   \n"
        "ldrd   r0, r2, [sp, #48]                    \n"
        "ldrd   r3, r5, [sp]                         \n"
        "add    r3, r0                               \n"
        "add    r5, r0                               \n"
        "strd   r3, r5, [sp]                         \n"
        "ldrd   r4, r6, [sp, #16]                    \n"
        "add    r4, r2                               \n"
        "add    r6, r2                               \n"
        "strd   r4, r6, [sp, #16]                    \n"
        "b      3b                                   \n"
        "8:                                          \n"
        "add    sp, #100                             \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r11, pc}                         \n"
        ".purgem sums                                \n"
        ".purgem step                                \n"
        ".purgem requantized                         \n"
        ".purgem four                                \n"
    );
}

/* clang-format on */

#else

/* The channel in the place `i` of a piece of 16 channels. */
static inline int32_t tg_mve_channel(int32_t i)
{
    static const int32_t firsts[4] = {0, 2, 1, 3};
    return firsts[i / 4] + 4 * (i % 4);
}

/* One channel of one pixel; `piece` has 4 channels. */
static inline int8_t tg_mve_gemm_output(
    const struct tg_native_mve_gemm *gemm, const int8_t *pixel, const int32_t *piece, int32_t lane)
{
    const int32_t steps = (gemm->elements + 15) / 16;
    const int32_t missing = 16 * steps - gemm->elements;
    const int32_t *const scales = piece + 16 * steps;
    int32_t sum = scales[lane];

    for (int32_t i = 0; i < gemm->elements; i++) {
        const int32_t place = missing + i;
        const int8_t *const weights = (const int8_t *)(piece + 16 * (place / 16) + 4 * lane);
        sum = tg_mve_mac(sum, pixel[i], weights[place % 16]);
    }
    return tg_mve_requantized(
        sum, scales[4 + lane], scales[8 + lane], TG_MVE_GEMM_IS_RELU, gemm->zero_point, gemm->min, gemm->max);
}

void TG_MVE_GEMM_NAME(const struct tg_native_mve_gemm *gemm)
{
    const int32_t piece_words = (gemm->elements + 15) / 16 * 16 + 12;
    const int32_t whole = gemm->channels / 16 * 16;

    for (int32_t pixel = 0; pixel < 2 * gemm->pairs; pixel++) {
        const int8_t *const input = gemm->pixels + pixel * gemm->pixel_step;
        int8_t *const output = gemm->output + pixel * gemm->output_step;
        for (int32_t i = 0; i < gemm->channels; i++) {
            const int32_t channel = i < whole ? i / 16 * 16 + tg_mve_channel(i % 16) : i;
            output[channel] = tg_mve_gemm_output(gemm, input, gemm->stream + i / 4 * piece_words, i % 4);
        }
    }
}

#endif

#endif
