/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_mve_dots: as assembly and, for other cores, in C.
 */
#ifndef TG_NATIVE_MVE_DOTS_BODY_H
#define TG_NATIVE_MVE_DOTS_BODY_H

#include "tg_native_mve_arithmetic.h"
#include "tg_native_mve_planes.h"

#if TG_NATIVE_MVE

/* assembly in columns */
/* clang-format off */

/*
 * r0 r2 r4 r6 r8 r10 r12 lr   sums of 8 outputs (sums must be even registers)
 * r1   plane at the outputs          r3   behind the filter: bias, multiplier, shift
 * r7   output                        r9   outputs left            r11  the code for vectors and position_bytes
 * q0, q1   values, then requantized outputs: even and odd ones    q2   outputs to be stored
 * q3       their distances in bytes  q4   filter                  q5, q6   bias, zero point
 * Where a filter has several vectors, meanwhile: r3 filter, r7 vectors left, r9 plane under the vector,
 * r5 from behind 8 outputs to the next vector
 *
 * Frame: [sp] planes, [sp, 4] lines left, [sp, 8] plane, [sp, 12] output of the next line, [sp, 16] filter,
 *        [sp, 20] bytes of a channel of the stream, [sp, 24] bytes between 8 outputs, [sp, 28] r7, [sp, 32] r9
 */
TG_MVE_NAKED void TG_MVE_DOTS_NAME(struct tg_native_mve_planes *planes __attribute__((unused)))
{
    __asm volatile(
        ".macro products, operation, plane, bytes    \n"
        "vldrb.u8 q0, [\\plane], #\\bytes            \n"
        "\\operation r0, q0, q4                      \n"
        "vldrb.u8 q1, [\\plane], #\\bytes            \n"
        "\\operation r2, q1, q4                      \n"
        "vldrb.u8 q0, [\\plane], #\\bytes            \n"
        "\\operation r4, q0, q4                      \n"
        "vldrb.u8 q1, [\\plane], #\\bytes            \n"
        "\\operation r6, q1, q4                      \n"
        "vldrb.u8 q0, [\\plane], #\\bytes            \n"
        "\\operation r8, q0, q4                      \n"
        "vldrb.u8 q1, [\\plane], #\\bytes            \n"
        "\\operation r10, q1, q4                     \n"
        "vldrb.u8 q0, [\\plane], #\\bytes            \n"
        "\\operation r12, q0, q4                     \n"
        "vldrb.u8 q1, [\\plane], #\\bytes            \n"
        "\\operation lr, q1, q4                      \n"
        ".endm                                       \n"
        ".macro one_vector, bytes                    \n"
        "products vmladav.s8, r1, \\bytes            \n"
        "b      5f                                   \n"
        ".endm                                       \n"
        ".macro vectors, bytes                       \n"
        "strd   r7, r9, [sp, #28]                    \n"
        "ldr    r3, [sp, #16]                        \n"
        "ldr    r7, [sp, #20]                        \n"
        "lsr    r7, #4                               \n"
        "mov    r9, r1                               \n"
        "vldrw.u32 q4, [r3], #16                     \n"
        "products vmladav.s8, r9, \\bytes            \n"
        "mov    r1, r9                               \n"
        "subs   r7, #1                               \n"
        "9:                                          \n"
        "add    r9, r5                               \n"
        "vldrw.u32 q4, [r3], #16                     \n"
        "products vmladava.s8, r9, \\bytes           \n"
        "subs   r7, #1                               \n"
        "bne    9b                                   \n"
        "ldrd   r7, r9, [sp, #28]                    \n"
        "b      5f                                   \n"
        ".endm                                       \n"
        "push   {r4-r11, lr}                         \n"
        "vpush  {d8-d15}                             \n"
        "sub    sp, #36                              \n"
        "str    r0, [sp]                             \n"
        "ldr    r3, [r0, #36]                        \n" /* position_step */
        "mov    r2, #0                               \n"
        "vidup.u16 q3, r2, #1                        \n"
        "vmul.i16 q3, q3, r3                         \n"
        "lsl    r3, #3                               \n"
        "str    r3, [sp, #24]                        \n"
        "ldr    r2, [r0, #52]                        \n"
        "vdup.16 q6, r2                              \n"
        "ldr    r2, [r0, #44]                        \n" /* vectors */
        "lsl    r4, r2, #4                           \n"
        "add    r4, #12                              \n"
        "str    r4, [sp, #20]                        \n"
        "ldr    r4, [r0, #40]                        \n" /* position_bytes */
        "ldr    r5, [r0, #48]                        \n" /* vector_bytes */
        "sub    r5, r5, r4, lsl #3                   \n"
        "clz    r4, r4                               \n"
        "rsb    r4, r4, #31                          \n" /* 0 to 3 */
        "cmp    r2, #1                               \n"
        "it     ne                                   \n"
        "addne  r4, #4                               \n"
        "adr.w  r11, 6f                              \n"
        "ldr    r4, [r11, r4, lsl #2]                \n"
        "add    r11, r4                              \n"
        "1:                                          \n" /* a channel */
        "ldr    r0, [sp]                             \n"
        "ldr    r3, [r0]                             \n"
        "str    r3, [sp, #16]                        \n"
        "ldr    r2, [sp, #20]                        \n"
        "add    r2, r3                               \n"
        "str    r2, [r0]                             \n"
        "vldrw.u32 q4, [r3], #16                     \n"
        "ldr    r2, [r2, #-12]                       \n"
        "vdup.32 q5, r2                              \n"
        "ldrd   r4, r6, [r0, #4]                     \n" /* plane, output */
        "strd   r4, r6, [sp, #8]                     \n"
        "ldrd   r2, r8, [r0, #16]                    \n" /* plane_bytes, lines */
        "add    r4, r2                               \n"
        "add    r6, #1                               \n"
        "strd   r4, r6, [r0, #4]                     \n"
        "str    r8, [sp, #4]                         \n"
        "2:                                          \n" /* a line */
        "ldr    r0, [sp]                             \n"
        "ldrd   r1, r7, [sp, #8]                     \n"
        "ldrd   r2, r4, [r0, #24]                    \n" /* line_bytes, output_line_step */
        "ldr    r9, [r0, #32]                        \n" /* positions */
        "add    r2, r1                               \n"
        "add    r4, r7                               \n"
        "strd   r2, r4, [sp, #8]                     \n"
        "mov    pc, r11                              \n"
        ".p2align 2                                  \n"
        "6:                                          \n"
        ".word  11f - 6b, 12f - 6b, 14f - 6b, 18f - 6b, 21f - 6b, 22f - 6b, 24f - 6b, 28f - 6b\n"
        ".p2align 2                                  \n"
        "21:                                         \n"
        "vectors 1                                   \n"
        ".p2align 2                                  \n"
        "22:                                         \n"
        "vectors 2                                   \n"
        ".p2align 2                                  \n"
        "24:                                         \n"
        "vectors 4                                   \n"
        ".p2align 2                                  \n"
        "28:                                         \n"
        "vectors 8                                   \n"
        ".p2align 2                                  \n"
        "11:                                         \n"
        "one_vector 1                                \n"
        ".p2align 2                                  \n"
        "12:                                         \n"
        "one_vector 2                                \n"
        ".p2align 2                                  \n"
        "14:                                         \n"
        "one_vector 4                                \n"
        ".p2align 2                                  \n"
        "18:                                         \n"
        "one_vector 8                                \n"
        "5:                                          \n"
        "vmov   q0[2], q0[0], r0, r8                 \n"
        "vmov   q0[3], q0[1], r4, r12                \n"
        "vmov   q1[2], q1[0], r2, r10                \n"
        "vmov   q1[3], q1[1], r6, lr                 \n"
        "ldrd   r0, r2, [r3, #4]                     \n"
        "vadd.i32 q0, q0, q5                         \n"
        "vadd.i32 q1, q1, q5                         \n"
        "vqrdmulh.s32 q0, q0, r0                     \n"
        "vqrdmulh.s32 q1, q1, r0                     \n"
        ".if " TG_MVE_TEXT(TG_MVE_DOTS_IS_RELU) " == 0\n"
        "mov    r4, #1                               \n"
        "vqdmlah.s32 q0, q0, r4                      \n" /* -1 for negative values: their halves go down */
        "vqdmlah.s32 q1, q1, r4                      \n"
        ".endif                                      \n"
        "vrshl.s32 q0, r2                            \n"
        "vrshl.s32 q1, r2                            \n"
        "ldr    r4, [sp, #24]                        \n"
        "vqmovnb.s32 q2, q0                          \n"
        "vqmovnt.s32 q2, q1                          \n"
        "vqadd.s16 q2, q2, q6                        \n"
        "vqmovnb.s16 q2, q2                          \n"
        "vctp.16 r9                                  \n"
        "vpst                                        \n"
        "vstrbt.16 q2, [r7, q3]                      \n"
        "add    r7, r4                               \n"
        "subs   r9, #8                               \n"
        "ble    5f                                   \n"
        "mov    pc, r11                              \n"
        "5:                                          \n"
        "ldr    r2, [sp, #4]                         \n"
        "subs   r2, #1                               \n"
        "str    r2, [sp, #4]                         \n"
        "bne    2b                                   \n"
        "ldr    r0, [sp]                             \n"
        "ldr    r2, [r0, #12]                        \n" /* channels */
        "subs   r2, #1                               \n"
        "str    r2, [r0, #12]                        \n"
        "bne    1b                                   \n"
        "add    sp, #36                              \n"
        "vpop   {d8-d15}                             \n"
        "pop    {r4-r11, pc}                         \n"
        ".purgem products                            \n"
        ".purgem one_vector                          \n"
        ".purgem vectors                             \n"
    );
}

/* clang-format on */

#else

/* One output; `values`: the plane under the first vector of the filter. */
static inline int8_t tg_mve_dot(const struct tg_native_mve_planes *planes, const int8_t *values)
{
    const int32_t *const scales = planes->stream + 4 * planes->vectors;
    int32_t sum = scales[0];

    for (int32_t i = 0; i < 16 * planes->vectors; i++) {
        const int8_t *const filter = (const int8_t *)(planes->stream + 4 * (i / 16));
        sum = tg_mve_mac(sum, values[i / 16 * planes->vector_bytes + i % 16], filter[i % 16]);
    }
    return tg_mve_requantized(sum, scales[1], scales[2], TG_MVE_DOTS_IS_RELU, planes->zero_point, INT8_MIN, INT8_MAX);
}

void TG_MVE_DOTS_NAME(struct tg_native_mve_planes *planes)
{
    for (; planes->channels > 0; planes->channels--) {
        for (int32_t line = 0; line < planes->lines; line++) {
            const int8_t *const values = planes->plane + line * planes->line_bytes;
            int8_t *const output = planes->output + line * planes->output_line_step;
            for (int32_t i = 0; i < planes->positions; i++) {
                output[i * planes->position_step] = tg_mve_dot(planes, values + i * planes->position_bytes);
            }
        }
        planes->stream += 4 * planes->vectors + 3;
        planes->plane += planes->plane_bytes;
        planes->output++;
    }
}

#endif

#endif
