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
 * r1               the vector of the stream that was loaded last: behind all sums of 4 channels their biases
 * r7               rounds of the loop of 4 steps, or the biases of the last channels
 * r3, r5           outputs of the two pixels
 * r9, r11          the two pixels, or 1 and the zero point where filters are one vector
 * q0, q1, q4       weights, in turn: q0 has the first ones of the next step, or biases, then shifts
 * q2, q3           16 elements of the two pixels
 * q5, q6, q7       multipliers, outputs of pixel 0, then of both, outputs of pixel 1
 *
 * Frame, in bytes from sp:
 *   0 biases of the last channels   4 pixel 0   8 pixel 1 (less the lanes that the first step leaves out)
 *  12 1          16 zero point               20 where the loop starts       24 rounds       28 stream
 *  32 pairs left                             36 bytes between pairs of pixels
 *  40 bytes from the last 4 outputs of a pixel to the first ones of the pixel after next
 *  44 how many these last ones are           48 lanes of the first step
 *
 * Sums of 4 channels are requantized while those of the next 4 begin: neighbours are of different kinds, so that they
 * overlap.
 *
 * step: 16 multiplications by each of 4 channels and 2 pixels, `first` those that start sums, of all its instructions
 * of 4 bytes each. lowered: -1 for negative values, whose halves go down. channels: sums become outputs, and the first
 * step of the next 4 channels; `loads` the pixels for it where filters are several vectors. zero: the zero point.
 */
TG_MVE_NAKED void TG_MVE_GEMM_NAME(const struct tg_native_mve_gemm *gemm __attribute__((unused)))
{
    __asm volatile(
        ".macro pixel, is_first, to, from            \n"
        ".if \\is_first                              \n"
        "vpst                                        \n"
        "vldrbt.u8 \\to, [\\from], #16               \n"
        ".else                                       \n"
        "vldrb.u8 \\to, [\\from], #16                \n"
        ".endif                                      \n"
        ".endm                                       \n"
        ".macro step, operation, is_first            \n"
        "pixel  \\is_first, q2, r9                   \n"
        "\\operation r0, q2, q0                      \n"
        "pixel  \\is_first, q3, r11                  \n"
        "\\operation r8, q3, q0                      \n"
        "vldrw.u32 q1, [r1, #16]!                    \n"
        "\\operation r2, q2, q1                      \n"
        "vldrw.u32 q0, [r1, #16]!                    \n"
        "\\operation r10, q3, q1                     \n"
        "vldrw.u32 q1, [r1, #16]!                    \n"
        "\\operation r4, q2, q0                      \n"
        "\\operation r12, q3, q0                     \n"
        "vldrw.u32 q0, [r1, #16]!                    \n"
        "\\operation r6, q2, q1                      \n"
        "\\operation lr, q3, q1                      \n"
        ".endm                                       \n"
        ".macro lowered, values, one                 \n"
        ".if " TG_MVE_TEXT(TG_MVE_GEMM_IS_RELU) " == 0\n"
        "vqdmlah.s32 \\values, \\values, \\one       \n"
        ".endif                                      \n"
        ".endm                                       \n"
        ".macro channels, loads, one, zero           \n"
        "vmov   q6[2], q6[0], r0, r4                 \n"
        "vldrw.u32 q4, [r1, #48]                     \n"
        "vmov   q6[3], q6[1], r2, r6                 \n"
        ".if \\loads                                 \n"
        "pixel  1, q2, r9                            \n"
        ".endif                                      \n"
        "vmov   q7[2], q7[0], r8, r12                \n"
        "vmladav.s8 r0, q2, q4                       \n"
        "vmov   q7[3], q7[1], r10, lr                \n"
        ".if \\loads                                 \n"
        "ldrd   \\one, \\zero, [sp, #12]             \n"
        "pixel  1, q3, r11                           \n"
        ".endif                                      \n"
        "vadd.i32 q6, q6, q0                         \n"
        "vmladav.s8 r8, q3, q4                       \n"
        "vadd.i32 q7, q7, q0                         \n"
        "vldrw.u32 q5, [r1, #16]                     \n" /* multipliers */
        "vqrdmulh.s32 q6, q6, q5                     \n"
        "vldrw.u32 q0, [r1, #32]                     \n" /* shifts */
        "vqrdmulh.s32 q7, q7, q5                     \n"
        "vldrw.u32 q1, [r1, #64]                     \n"
        "vmladav.s8 r2, q2, q1                       \n"
        "lowered q6, \\one                           \n"
        "vrshl.s32 q6, q6, q0                        \n"
        "vmladav.s8 r10, q3, q1                      \n"
        "lowered q7, \\one                           \n"
        "vrshl.s32 q7, q7, q0                        \n"
        "vldrw.u32 q4, [r1, #80]                     \n"
        "vqmovnb.s32 q6, q6                          \n"
        "vmladav.s8 r4, q2, q4                       \n"
        "vqmovnt.s32 q6, q7                          \n"
        "vldrw.u32 q1, [r1, #96]!                    \n"
        "vqadd.s16 q6, q6, \\zero                    \n"
        "vmladav.s8 r12, q3, q4                      \n"
        "vqmovnb.s16 q6, q6                          \n"
        "vmladav.s8 r6, q2, q1                       \n"
        "vstrb.32 q6, [r3], #4                       \n"
        "vmladav.s8 lr, q3, q1                       \n"
        "vshr.u32 q6, q6, #16                        \n"
        "vldrw.u32 q0, [r1, #16]!                    \n"
        "vstrb.32 q6, [r5], #4                       \n"
        ".endm                                       \n"
        "push   {r4-r11, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "sub    sp, #52                              \n"
        "ldrd   r9, r3, [r0]                         \n" /* pixels, output */
        "ldrd   r2, r4, [r0, #8]                     \n" /* stream, pairs */
        "strd   r2, r4, [sp, #28]                    \n"
        "ldrd   r11, r6, [r0, #16]                   \n" /* pixel_step, output_step */
        "lsl    r8, r11, #1                          \n"
        "str    r8, [sp, #36]                        \n"
        "add    r11, r9                              \n"
        "add    r5, r3, r6                           \n"
        "ldrd   r7, r10, [r0, #24]                   \n" /* elements, channels */
        "ldr    r12, [r0, #32]                       \n" /* zero_point */
        "mov    r4, #1                               \n"
        "strd   r4, r12, [sp, #12]                   \n"
        "sub    r4, r10, #1                          \n"
        "lsr    r4, #2                               \n" /* fours before the last one */
        "sub    r10, r10, r4, lsl #2                 \n"
        "lsl    r6, #1                               \n"
        "sub    r6, r6, r4, lsl #2                   \n"
        "strd   r6, r10, [sp, #40]                   \n"
        "add    r8, r7, #15                          \n"
        "lsr    r8, #4                               \n" /* steps */
        "lsl    r12, r8, #6                          \n"
        "add    lr, r12, #48                         \n"
        "add    r12, r2                              \n"
        "mla    r4, r4, lr, r12                      \n"
        "str    r4, [sp]                             \n"
        "and    r7, #15                              \n"
        "rsb    r7, r7, #16                          \n"
        "and    r7, #15                              \n" /* lanes before those of the first step */
        "sub    r9, r7                               \n"
        "sub    r11, r7                              \n"
        "strd   r9, r11, [sp, #4]                    \n"
        "mov    r4, #0xffff                          \n"
        "lsl    r4, r7                               \n"
        "uxth   r4, r4                               \n"
        "vmsr   p0, r4                               \n"
        "str    r4, [sp, #48]                        \n"
        "subs   r8, #1                               \n"
        "adr.w  r4, 6f                               \n"
        "beq    1f                                   \n"
        "sub    r4, #3                               \n" /* the loop's end: two instructions; 1 for Thumb */
        "subs   r6, r8, #1                           \n"
        "and    r6, #3                               \n"
        "add    r6, #1                               \n" /* steps of the first round */
        "mov    r10, #56                             \n" /* bytes of a step */
        "mls    r4, r6, r10, r4                      \n"
        "add    r8, #3                               \n"
        "lsr    r8, #2                               \n"
        "1:                                          \n"
        "strd   r4, r8, [sp, #20]                    \n"
        "3:                                          \n" /* a pair of pixels */
        "ldr    r1, [sp, #28]                        \n"
        "ldrd   r9, r11, [sp, #4]                    \n"
        "ldr    r7, [sp, #24]                        \n"
        "vldrw.u32 q0, [r1]                          \n"
        "step   vmladav.s8, 1                        \n"
        "cmp    r7, #0                               \n"
        "beq.w  4f                                   \n"
        "ldr    pc, [sp, #20]                        \n"
        ".p2align 2                                  \n"
        "9:                                          \n"
        "step   vmladava.s8, 0                       \n"
        "step   vmladava.s8, 0                       \n"
        "step   vmladava.s8, 0                       \n"
        "step   vmladava.s8, 0                       \n"
        "subs.n r7, #1                               \n"
        "bne.n  9b                                   \n"
        ".p2align 2                                  \n"
        "6:                                          \n" /* sums of 4 channels */
        "ldm    sp, {r7, r9, r11}                    \n"
        "cmp    r1, r7                               \n"
        "beq.w  7f                                   \n"
        "channels 1, r12, lr                         \n"
        "ldr    r7, [sp, #24]                        \n"
        "ldr    pc, [sp, #20]                        \n"
        "4:                                          \n" /* filters of one vector */
        "ldr    r7, [sp]                             \n"
        "ldrd   r9, r11, [sp, #12]                   \n"
        "cmp    r1, r7                               \n"
        "beq    7f                                   \n"
        "5:                                          \n"
        "channels 0, r9, r11                         \n"
        "cmp    r1, r7                               \n"
        "bne    5b                                   \n"
        "7:                                          \n" /* the last channels */
        "vmov   q6[2], q6[0], r0, r4                 \n"
        "vldrw.u32 q5, [r1, #16]                     \n"
        "vmov   q6[3], q6[1], r2, r6                 \n"
        "ldrd   r4, r6, [sp, #44]                    \n"
        "ldrd   r0, r2, [sp, #12]                    \n"
        "vadd.i32 q6, q6, q0                         \n"
        "vqrdmulh.s32 q6, q6, q5                     \n"
        "vmov   q7[2], q7[0], r8, r12                \n"
        "lowered q6, r0                              \n"
        "vmov   q7[3], q7[1], r10, lr                \n"
        "vldrw.u32 q1, [r1, #32]                     \n"
        "vadd.i32 q7, q7, q0                         \n"
        "vqrdmulh.s32 q7, q7, q5                     \n"
        "vrshl.s32 q6, q6, q1                        \n"
        "lowered q7, r0                              \n"
        "vqmovnb.s32 q6, q6                          \n"
        "vrshl.s32 q7, q7, q1                        \n"
        "vqmovnt.s32 q6, q7                          \n"
        "vqadd.s16 q6, q6, r2                        \n"
        "vctp.32 r4                                  \n"
        "vqmovnb.s16 q6, q6                          \n"
        "vpst                                        \n"
        "vstrbt.32 q6, [r3]                          \n"
        "vshr.u32 q6, q6, #16                        \n"
        "vpst                                        \n"
        "vstrbt.32 q6, [r5]                          \n"
        "vmsr   p0, r6                               \n"
        "ldr    r0, [sp, #32]                        \n"
        "ldrd   r2, r4, [sp, #36]                    \n"
        "subs   r0, #1                               \n"
        "str    r0, [sp, #32]                        \n"
        "beq    8f                                   \n"
        "ldrd   r9, r11, [sp, #4]                    \n"
        "add    r3, r4                               \n"
        "add    r5, r4                               \n"
        "add    r9, r2                               \n"
        "add    r11, r2                              \n"
        "strd   r9, r11, [sp, #4]                    \n"
        "b      3b                                   \n"
        "8:                                          \n"
        "add    sp, #52                              \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r11, pc}                         \n"
        ".purgem pixel                               \n"
        ".purgem step                                \n"
        ".purgem lowered                             \n"
        ".purgem channels                            \n"
    );
}

/* clang-format on */

#else

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
        sum, scales[4 + lane], scales[8 + lane], TG_MVE_GEMM_IS_RELU, gemm->zero_point, INT8_MIN, INT8_MAX);
}

void TG_MVE_GEMM_NAME(const struct tg_native_mve_gemm *gemm)
{
    const int32_t piece_words = (gemm->elements + 15) / 16 * 16 + 12;

    for (int32_t pixel = 0; pixel < 2 * gemm->pairs; pixel++) {
        const int8_t *const input = gemm->pixels + pixel * gemm->pixel_step;
        int8_t *const output = gemm->output + pixel * gemm->output_step;
        for (int32_t i = 0; i < gemm->channels; i++) {
            output[i] = tg_mve_gemm_output(gemm, input, gemm->stream + i / 4 * piece_words, i % 4);
        }
    }
}

#endif

#endif
