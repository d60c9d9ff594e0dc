/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of tg_native_mve_tiles and tg_native_mve_shifts: as assembly and, for other cores, in C.
 */
#ifndef TG_NATIVE_MVE_TILES_BODY_H
#define TG_NATIVE_MVE_TILES_BODY_H

#include "tg_native_mve_arithmetic.h"
#include "tg_native_mve_planes.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0 r4 r8 r12     sums of 4 positions, line 0      r2 r6 r10 lr    line 1 (sums must be even registers)
 * r1               plane                            r3, r5, r7      multiplier, shift, bias
 * r9               output, one round before         r11             outputs left in the pair of lines, less 8
 * q0               words of positions 0 to 3, then 2 to 5           q1, q2   outputs of line 0 and 1
 * q4, q5 / q6, q7  filter under position 0, line 0 and 1 / under position 1
 * q3               distances of outputs in bytes
 *
 * With TG_MVE_TILES_IS_LINE, 8 positions of one line instead: even ones for line 0, odd ones for line 1; q0 is
 * what lies under positions 0 to 3, then 4 to 7, q4 to q7 the filter moved by 0 to 3 positions.
 *
 * A round requantizes 8 sums while it computes the next 8: neighbours are of different kinds, so that they overlap.
 *
 * Frame: [sp] planes, [sp, 4] pairs of lines left, [sp, 8] plane, [sp, 12] output of the next pair of lines,
 *        [sp, 16] bytes between the first outputs of two rounds, [sp, 20] zero point
 *
 * load: what lies under half of 8 outputs. next: an instruction for the next 8 sums. lowered: -1 for negative
 * values, whose halves go down. round: 8 outputs, the last ones of a pair of lines or others.
 */
TG_MVE_NAKED void TG_MVE_TILES_NAME(struct tg_native_mve_planes *planes __attribute__((unused)))
{
    __asm volatile(
        ".macro load, half                           \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_LINE) "   \n"
        ".if \\half                                  \n"
        "vldrw.u32 q0, [r1, #-4]                     \n"
        ".else                                       \n"
        "vldrw.u32 q0, [r1], #8                      \n"
        ".endif                                      \n"
        ".elseif \\half                              \n"
        "vldrw.u32 q0, [r1, #-8]                     \n"
        ".else                                       \n"
        "vldrw.u32 q0, [r1], #16                     \n"
        ".endif                                      \n"
        ".endm                                       \n"
        ".macro next, is_last, operation:vararg      \n"
        ".if \\is_last == 0                          \n"
        "\\operation                                 \n"
        ".endif                                      \n"
        ".endm                                       \n"
        ".macro lowered, values                      \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_RELU) " == 0\n"
        "vqdmlah.s32 \\values, \\values, r8          \n"
        ".endif                                      \n"
        ".endm                                       \n"
        ".macro round, is_last                       \n"
        "vmov   q1[2], q1[0], r0, r8                 \n"
        "next   \\is_last, load 0                    \n"
        "vmov   q1[3], q1[1], r4, r12                \n"
        "next   \\is_last, vmladav.s8 r0, q0, q4     \n"
        "vadd.i32 q1, q1, r7                         \n"
        "next   \\is_last, vmladav.s8 r4, q0, q6     \n"
        "vmov   q2[2], q2[0], r2, r10                \n"
        "vqrdmulh.s32 q1, q1, r3                     \n"
        "vmov   q2[3], q2[1], r6, lr                 \n"
        "next   \\is_last, vmladav.s8 r2, q0, q5     \n"
        "ldrd   r10, lr, [sp, #16]                   \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_RELU) " == 0\n"
        "mov    r8, #1                               \n"
        ".endif                                      \n"
        "next   \\is_last, subs r11, #8              \n"
        "add    r9, r10                              \n"
        "vadd.i32 q2, q2, r7                         \n"
        "lowered q1                                  \n"
        "vqrdmulh.s32 q2, q2, r3                     \n"
        "vrshl.s32 q1, r5                            \n"
        "next   \\is_last, vmladav.s8 r6, q0, q7     \n"
        "vqmovnb.s32 q1, q1                          \n"
        "next   \\is_last, load 1                    \n"
        "lowered q2                                  \n"
        "vrshl.s32 q2, r5                            \n"
        "next   \\is_last, vmladav.s8 r8, q0, q4     \n"
        "vqmovnt.s32 q1, q2                          \n"
        "next   \\is_last, vmladav.s8 r12, q0, q6    \n"
        "vqadd.s16 q1, q1, lr                        \n"
        "next   \\is_last, vmladav.s8 r10, q0, q5    \n"
        "vqmovnb.s16 q1, q1                          \n"
        "next   \\is_last, vmladav.s8 lr, q0, q7     \n"
        ".endm                                       \n"
        "push   {r4-r11, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "sub    sp, #24                              \n"
        "str    r0, [sp]                             \n"
        "ldr    r3, [r0, #36]                        \n" /* position_step */
        "mov    r2, #0                               \n"
        "vidup.u16 q3, r2, #1                        \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_LINE) "   \n"
        "vmul.i16 q3, q3, r3                         \n"
        "lsl    r3, #3                               \n"
        ".else                                       \n"
        "ldr    r1, [r0, #28]                        \n" /* output_line_step, of a pair */
        "lsr    r1, #1                               \n"
        "lsl    r1, #16                              \n"
        "vshr.u16 q3, q3, #1                         \n" /* 0 0 1 1 2 2 3 3 */
        "vmul.i16 q3, q3, r3                         \n"
        "vdup.32 q0, r1                              \n"
        "vadd.i16 q3, q3, q0                         \n"
        "lsl    r3, #2                               \n"
        ".endif                                      \n"
        "ldr    r2, [r0, #52]                        \n"
        "strd   r3, r2, [sp, #16]                    \n"
        "1:                                          \n" /* a channel */
        "ldr    r0, [sp]                             \n"
        "ldr    r2, [r0]                             \n"
        "vldrw.u32 q4, [r2, #4]                      \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_LINE) "   \n"
        "vldrb.u8 q5, [r2, #3]                       \n"
        "vldrb.u8 q6, [r2, #2]                       \n"
        "vldrb.u8 q7, [r2, #1]                       \n"
        ".else                                       \n"
        "vldrw.u32 q6, [r2]                          \n"
        "vshl.i32 q5, q4, #8                         \n"
        "vshl.i32 q7, q6, #8                         \n"
        ".endif                                      \n"
        "ldrd   r7, r3, [r2, #20]                    \n"
        "ldr    r5, [r2, #28]                        \n"
        "add    r2, #32                              \n"
        "str    r2, [r0]                             \n"
        "ldr    r2, [r0, #20]                        \n" /* lines */
        "str    r2, [sp, #4]                         \n"
        "ldrd   r1, r9, [r0, #4]                     \n" /* plane, output */
        "strd   r1, r9, [sp, #8]                     \n"
        "ldr    r2, [r0, #16]                        \n"
        "add    r1, r2                               \n"
        "add    r9, #1                               \n"
        "strd   r1, r9, [r0, #4]                     \n"
        "2:                                          \n" /* a pair of lines */
        "ldr    r0, [sp]                             \n"
        "ldrd   r1, r9, [sp, #8]                     \n"
        "ldrd   r2, r4, [r0, #24]                    \n" /* line_bytes, output_line_step */
        "add    r2, r1                               \n"
        "add    r4, r9                               \n"
        "strd   r2, r4, [sp, #8]                     \n"
        "ldr    r11, [r0, #32]                       \n" /* positions */
        "ldr    r2, [sp, #16]                        \n"
        ".if " TG_MVE_TEXT(TG_MVE_TILES_IS_LINE) " == 0\n"
        "lsl    r11, #1                              \n"
        ".endif                                      \n"
        "sub    r9, r2                               \n"
        "load   0                                    \n"
        "vmladav.s8 r0, q0, q4                       \n"
        "vmladav.s8 r4, q0, q6                       \n"
        "vmladav.s8 r2, q0, q5                       \n"
        "vmladav.s8 r6, q0, q7                       \n"
        "load   1                                    \n"
        "vmladav.s8 r8, q0, q4                       \n"
        "vmladav.s8 r12, q0, q6                      \n"
        "vmladav.s8 r10, q0, q5                      \n"
        "vmladav.s8 lr, q0, q7                       \n"
        "subs   r11, #8                              \n"
        "ble    4f                                   \n"
        "3:                                          \n" /* 8 outputs */
        "round  0                                    \n"
        "vstrb.16 q1, [r9, q3]                       \n"
        "bgt    3b                                   \n"
        "4:                                          \n" /* the last 1 to 8 */
        "round  1                                    \n"
        "add    r11, #8                              \n"
        "vctp.16 r11                                 \n"
        "vpst                                        \n"
        "vstrbt.16 q1, [r9, q3]                      \n"
        "ldr    r2, [sp, #4]                         \n"
        "subs   r2, #1                               \n"
        "str    r2, [sp, #4]                         \n"
        "bne    2b                                   \n"
        "ldr    r0, [sp]                             \n"
        "ldr    r2, [r0, #12]                        \n" /* channels */
        "subs   r2, #1                               \n"
        "str    r2, [r0, #12]                        \n"
        "bne    1b                                   \n"
        "add    sp, #24                              \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r11, pc}                         \n"
        ".purgem load                                \n"
        ".purgem next                                \n"
        ".purgem lowered                             \n"
        ".purgem round                               \n"
    );
}

/* clang-format on */

#else

/* One output: products of words of the plane with words of the filter. */
static inline int8_t tg_mve_tile_output(
    const struct tg_native_mve_planes *planes, const int8_t *values, const int32_t *filter, int32_t words)
{
    const int32_t *const channel = planes->stream;
    int32_t sum = channel[5];

    for (int32_t i = 0; i < words; i++) {
        const int8_t *const taps = (const int8_t *)(filter + i);
        for (int32_t row = 0; row < 4; row++) {
            sum = tg_mve_mac(sum, values[4 * i + row], taps[row]);
        }
    }
    return tg_mve_requantized(
        sum, channel[6], channel[7], TG_MVE_TILES_IS_RELU, planes->zero_point, INT8_MIN, INT8_MAX);
}

#if TG_MVE_TILES_IS_LINE

enum { TG_MVE_TILE_LINES = 1, TG_MVE_TILE_POSITION = 1, TG_MVE_TILE_WORDS = 4 };

#else

enum { TG_MVE_TILE_LINES = 2, TG_MVE_TILE_POSITION = 4, TG_MVE_TILE_WORDS = 3 };

#endif

void TG_MVE_TILES_NAME(struct tg_native_mve_planes *planes)
{
    const int32_t lines = TG_MVE_TILE_LINES;

    for (; planes->channels > 0; planes->channels--) {
        for (int32_t line = 0; line < lines * planes->lines; line++) {
            const int8_t *const values = planes->plane + line / lines * planes->line_bytes + line % lines;
            int8_t *const output = planes->output + line * (planes->output_line_step / lines);
            for (int32_t i = 0; i < planes->positions; i++) {
                output[i * planes->position_step] = tg_mve_tile_output(
                    planes, values + TG_MVE_TILE_POSITION * i, planes->stream + 1, TG_MVE_TILE_WORDS);
            }
        }
        planes->stream += 8;
        planes->plane += planes->plane_bytes;
        planes->output++;
    }
}

#endif

#endif
