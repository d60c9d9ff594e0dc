/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_mve_lanes: as assembly and, for other cores, in C.
 */
#ifndef TG_NATIVE_MVE_LANES_BODY_H
#define TG_NATIVE_MVE_LANES_BODY_H

#include "tg_native_mve_arithmetic.h"
#include "tg_native_mve_lanes.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0   lanes          r1   stream           r2   an element's input         r3   next of taps
 * r4   bytes from taps to the channels      r5   output                     r6   channels left
 * r7   pixels left    r8   bytes from taps to the pixel                     r12  pairs
 * r9, r10, r11        zero point, min, max
 * q0   input, products     q1   an element of the filter
 * q2, q3   products of even and odd channels, or sums of two, 16 bits
 * q4, q5, q6, q7   sums of channels 0 4 8 12, 2 6 10 14, 1 5 9 13, 3 7 11 15
 *
 * first, second: products of an element of the filter, with `predicate` t for less than 16 channels.
 */
TG_MVE_NAKED void TG_MVE_LANES_NAME(const struct tg_native_mve_lanes *lanes __attribute__((unused)))
{
    __asm volatile(
        ".macro element, predicate                   \n"
        "ldr    r2, [r3], #4                         \n"
        "add    r2, r4                               \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        ".ifc \\predicate, t                         \n"
        "vpst                                        \n"
        ".endif                                      \n"
        "vldrb\\predicate\\().u8 q0, [r2]            \n"
        ".endm                                       \n"
        ".macro first, predicate                     \n"
        "element \\predicate                         \n"
        "vmullb.s8 q2, q0, q1                        \n"
        "vmullt.s8 q3, q0, q1                        \n"
        ".endm                                       \n"
        ".macro second, predicate                    \n"
        "element \\predicate                         \n"
        "vmullb.s8 q0, q0, q1                        \n"
        "vadd.i16 q2, q2, q0                         \n"
        ".ifc \\predicate, t                         \n"
        "vpst                                        \n"
        ".endif                                      \n"
        "vldrb\\predicate\\().u8 q0, [r2]            \n"
        "vmullt.s8 q0, q0, q1                        \n"
        "vadd.i16 q3, q3, q0                         \n"
        ".endm                                       \n"
        ".macro added                                \n"
        "vmovlb.s16 q0, q2                           \n"
        "vmovlt.s16 q2, q2                           \n"
        "vadd.i32 q4, q4, q0                         \n"
        "vmovlb.s16 q1, q3                           \n"
        "vadd.i32 q5, q5, q2                         \n"
        "vmovlt.s16 q3, q3                           \n"
        "vadd.i32 q6, q6, q1                         \n"
        "vadd.i32 q7, q7, q3                         \n"
        ".endm                                       \n"
        ".macro elements, predicate                  \n"
        "ldr    r2, [r0, #32]                        \n" /* is_odd */
        "cbz    r2, 7f                               \n"
        "first  \\predicate                          \n"
        "added                                       \n"
        "7:                                          \n"
        "wls    lr, r12, 9f                          \n"
        "8:                                          \n"
        "first  \\predicate                          \n"
        "second \\predicate                          \n"
        "added                                       \n"
        "le     lr, 8b                               \n"
        "9:                                          \n"
        ".endm                                       \n"
        "push   {r4-r12, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "ldrd   r5, r7, [r0, #8]                     \n" /* output, pixels */
        "ldr    r12, [r0, #28]                       \n" /* pairs */
        "ldrd   r9, r10, [r0, #36]                   \n" /* zero_point, min */
        "ldr    r11, [r0, #44]                       \n" /* max */
        "mov    r8, #0                               \n"
        "1:                                          \n" /* a pixel */
        "ldr    r1, [r0, #4]                         \n"
        "ldr    r6, [r0, #24]                        \n" /* channels */
        "mov    r4, r8                               \n"
        "2:                                          \n" /* 16 channels */
        "vctp.8 r6                                   \n"
        "vldrw.u32 q4, [r1], #16                     \n"
        "vldrw.u32 q5, [r1], #16                     \n"
        "vldrw.u32 q6, [r1], #16                     \n"
        "vldrw.u32 q7, [r1], #16                     \n"
        "ldr    r3, [r0]                             \n"
        "subs   r6, #16                              \n"
        "blt.w  4f                                   \n"
        "elements                                    \n"
        "5:                                          \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "vqrdmulh.s32 q4, q4, q0                     \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "vqrdmulh.s32 q5, q5, q1                     \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "vqrdmulh.s32 q6, q6, q0                     \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "vqrdmulh.s32 q7, q7, q1                     \n"
        ".if " TG_MVE_TEXT(TG_MVE_LANES_IS_RELU) " == 0\n"
        "mov    r2, #1                               \n"
        "vqdmlah.s32 q4, q4, r2                      \n" /* -1 for negative values: their halves go down */
        "vqdmlah.s32 q5, q5, r2                      \n"
        "vqdmlah.s32 q6, q6, r2                      \n"
        "vqdmlah.s32 q7, q7, r2                      \n"
        ".endif                                      \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "vrshl.s32 q4, q4, q0                        \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "vrshl.s32 q5, q5, q1                        \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        "vrshl.s32 q6, q6, q0                        \n"
        "vldrw.u32 q1, [r1], #16                     \n"
        "vrshl.s32 q7, q7, q1                        \n"
        "vqmovnb.s32 q0, q4                          \n"
        "vqmovnt.s32 q0, q5                          \n"
        "vqmovnb.s32 q1, q6                          \n"
        "vqmovnt.s32 q1, q7                          \n"
        "vqadd.s16 q0, q0, r9                        \n"
        "vdup.8 q2, r10                              \n"
        "vqadd.s16 q1, q1, r9                        \n"
        "vdup.8 q3, r11                              \n"
        "vqmovnb.s16 q0, q0                          \n"
        "vqmovnt.s16 q0, q1                          \n"
        "vmax.s8 q0, q0, q2                          \n"
        "vmin.s8 q0, q0, q3                          \n"
        "vpst                                        \n"
        "vstrbt.8 q0, [r5], #16                      \n"
        "add    r4, #16                              \n"
        "cmp    r6, #0                               \n"
        "bgt.w  2b                                   \n"
        "ldrd   r2, r3, [r0, #16]                    \n" /* input_step, output_gap */
        "add    r5, r6                               \n"
        "add    r5, r3                               \n"
        "add    r8, r2                               \n"
        "subs   r7, #1                               \n"
        "bne.w  1b                                   \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r12, pc}                         \n"
        "4:                                          \n"
        "elements t                                  \n"
        "b.w    5b                                   \n"
        ".purgem element                             \n"
        ".purgem first                               \n"
        ".purgem second                              \n"
        ".purgem added                               \n"
        ".purgem elements                            \n"
    );
}

/* clang-format on */

#else

/* One channel of a pixel; `place`: of its group of 16 channels, `lane` that of its sum. */
static inline int8_t tg_mve_lane(
    const struct tg_native_mve_lanes *lanes, int32_t at, const int32_t *piece, int32_t place)
{
    const int32_t elements = 2 * lanes->pairs + lanes->is_odd;
    const int32_t lane = place % 4 / 2 * 4 + place % 2 * 8 + place / 4;
    const int8_t *const filter = (const int8_t *)(piece + 16);
    const int32_t *const scales = piece + 16 + 4 * elements + lane;
    int32_t sum = piece[lane];

    for (int32_t i = 0; i < elements; i++) {
        sum = tg_mve_mac(sum, lanes->taps[i][at], filter[16 * i + place]);
    }
    return tg_mve_requantized(
        sum, scales[0], scales[16], TG_MVE_LANES_IS_RELU, lanes->zero_point, lanes->min, lanes->max);
}

void TG_MVE_LANES_NAME(const struct tg_native_mve_lanes *lanes)
{
    const int32_t piece_words = 48 + 4 * (2 * lanes->pairs + lanes->is_odd);
    int8_t *output = lanes->output;

    for (int32_t pixel = 0; pixel < lanes->pixels; pixel++) {
        for (int32_t i = 0; i < lanes->channels; i++) {
            *output++ = tg_mve_lane(lanes, pixel * lanes->input_step + i, lanes->stream + i / 16 * piece_words, i % 16);
        }
        output += lanes->output_gap;
    }
}

#endif

#endif
