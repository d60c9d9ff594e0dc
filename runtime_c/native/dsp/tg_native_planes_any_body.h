/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of all variants of tg_native_plane_function for filters of any size: as assembly and, for cores without the
 * DSP extension, in C.
 */
#ifndef TG_NATIVE_PLANES_ANY_BODY_H
#define TG_NATIVE_PLANES_ANY_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_plane_output.h"
#include "tg_native_planes.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0        line of the plane under the filter       r1        weights             r2   end of the line under the
 * filter r3        output                                   r4, r5    weights of two taps, then multiplier and offset
 * r6        first position of the block              r7        lines of the filter that are left
 * r8 - r11  doubled sums of 4 outputs                r12, lr   two activations each
 *
 * Frame: [sp] bias, [sp, 4] multiplier, offset, shift, [sp, 16] weights, [sp, 20] the geometry's fields,
 *        [sp, 60] end of the outputs, as a position of the plane, [sp, 64] next line of it
 */

/* Two taps at stride 1: x0 is under them for the first output, x1 for the third one; weights shifted by one for others.
 */
#define TG_PLANE_STEP(x0, x1)                                                                                          \
    "ldr    " x1 ", [r0], #4                \n"                                                                        \
    "ldr    r4, [r1], #4                    \n" /* w[k] w[k + 1] */                                                    \
    "ldr    r5, [r1], #4                    \n" /* w[k - 1] w[k] */                                                    \
    "smlad  r8,  " x0 ", r4, r8             \n"                                                                        \
    "smlad  r9,  " x0 ", r5, r9             \n"                                                                        \
    "smlad  r10, " x1 ", r4, r10            \n"                                                                        \
    "smlad  r11, " x1 ", r5, r11            \n"

/* A line of the filter; r5: filter_bytes. */
#define TG_PLANE_LINE_1                                                                                                \
    "tst    r5, #4                          \n"                                                                        \
    "ldr    lr, [r0], #4                    \n"                                                                        \
    "beq    5f                              \n" /* an odd number of steps */                                           \
    "mov    r12, lr                         \n"                                                                        \
    "4:                                     \n" TG_PLANE_STEP(                                                         \
        "r12", "lr") "5:                                     \n" TG_PLANE_STEP("lr", "r12")

#define TG_PLANE_LINE_2                                                                                                \
    "4:                                     \n"                                                                        \
    "ldr    r4, [r1], #4                    \n"                                                                        \
    "ldr    lr, [r0], #4                    \n"                                                                        \
    "ldr    r12, [r0]                       \n"                                                                        \
    "smlad  r8,  lr,  r4, r8                \n"                                                                        \
    "smlad  r9,  r12, r4, r9                \n"                                                                        \
    "ldr    lr, [r0, #4]                    \n"                                                                        \
    "ldr    r12, [r0, #8]                   \n"                                                                        \
    "smlad  r10, lr,  r4, r10               \n"                                                                        \
    "smlad  r11, r12, r4, r11               \n"

/* Bytes of the plane under the first positions of 4 outputs. */
#define TG_PLANE_BLOCK_1 "8"
#define TG_PLANE_BLOCK_2 "16"

#define TG_PLANE_ANY_BODY(LINE, BLOCK, OUTPUT)                                                                         \
    __asm volatile("push   {r4-r11, lr}                    \n"                                                         \
                   "sub    sp, #68                         \n"                                                         \
                   "ldm    r0!, {r4-r7}                    \n"                                                         \
                   "stm    sp, {r4-r7}                     \n"                                                         \
                   "str    r0, [sp, #16]                   \n"                                                         \
                   "str    r1, [sp, #64]                   \n"                                                         \
                   "ldm    r3!, {r4-r8}                    \n"                                                         \
                   "add    lr, sp, #20                     \n"                                                         \
                   "stm    lr!, {r4-r8}                    \n"                                                         \
                   "ldm    r3, {r4-r8}                     \n"                                                         \
                   "stm    lr, {r4-r8}                     \n"                                                         \
                   "mov    r3, r2                          \n"                                                         \
                   "1:                                     \n" /* a line of output */                                  \
                   "ldr    r6, [sp, #64]                   \n"                                                         \
                   "ldr    r4, [sp, #36]                   \n" /* row_skip: here from the start of a line */           \
                   "ldr    r5, [sp, #24]                   \n" /* block_bytes: here of all outputs */                  \
                   "add    r4, r6                          \n"                                                         \
                   "add    r5, r6                          \n"                                                         \
                   "str    r4, [sp, #64]                   \n"                                                         \
                   "str    r5, [sp, #60]                   \n"                                                         \
                   "2:                                     \n" /* 4 outputs */                                         \
                   "ldr    r8, [sp]                        \n"                                                         \
                   "ldr    r1, [sp, #16]                   \n"                                                         \
                   "ldrd   r7, r5, [sp, #48]               \n" /* filter_lines, filter_bytes */                        \
                   "mov    r9, r8                          \n"                                                         \
                   "mov    r10, r8                         \n"                                                         \
                   "mov    r11, r8                         \n"                                                         \
                   "mov    r0, r6                          \n"                                                         \
                   "3:                                     \n" /* a line of the filter */                              \
                   "add    r2, r0, r5                      \n" LINE "cmp    r0, r2                          \n"        \
                   "bne    4b                              \n"                                                         \
                   "subs   r7, #1                          \n"                                                         \
                   "beq    8f                              \n"                                                         \
                   "ldr    r5, [sp, #56]                   \n" /* filter_skip */                                       \
                   "add    r0, r5                          \n"                                                         \
                   "ldr    r5, [sp, #52]                   \n"                                                         \
                   "b      3b                              \n"                                                         \
                   "8:                                     \n"                                                         \
                   "ldrd   r4, r5, [sp, #4]                \n"                                                         \
                   "ldr    r12, [sp, #12]                  \n" OUTPUT("r8") OUTPUT("r9") OUTPUT("r10")                 \
                       OUTPUT("r11") "ldr    r7, [sp, #60]                   \n"                                       \
                                     "ldr    lr, [sp, #20]                   \n" /* position_step */                   \
                                     "add    r6, #" BLOCK "                  \n"                                       \
                                     "cmp    r6, r7                          \n"                                       \
                                     "bhi    6f                              \n"                                       \
                                     "strb   r8, [r3]                        \n"                                       \
                                     "strb   r9, [r3, lr]                    \n"                                       \
                                     "add    r3, r3, lr, lsl #1              \n"                                       \
                                     "strb   r10, [r3]                       \n"                                       \
                                     "strb   r11, [r3, lr]                   \n"                                       \
                                     "add    r3, r3, lr, lsl #1              \n"                                       \
                                     "bne    2b                              \n"                                       \
                                     "b      7f                              \n"                                       \
                                     "6:                                     \n" /* 1 to 3 of them count */            \
                                     "ldr    r12, [sp, #28]                  \n" /* rest */                            \
                                     "strb   r8, [r3]                        \n"                                       \
                                     "add    r3, lr                          \n"                                       \
                                     "cmp    r12, #2                         \n"                                       \
                                     "blt    7f                              \n"                                       \
                                     "strb   r9, [r3]                        \n"                                       \
                                     "add    r3, lr                          \n"                                       \
                                     "beq    7f                              \n"                                       \
                                     "strb   r10, [r3]                       \n"                                       \
                                     "add    r3, lr                          \n"                                       \
                                     "7:                                     \n"                                       \
                                     "ldrd   r4, r5, [sp, #40]               \n" /* lines, line_skip */                \
                                     "add    r3, r5                          \n"                                       \
                                     "subs   r4, #1                          \n"                                       \
                                     "str    r4, [sp, #40]                   \n"                                       \
                                     "bne    1b                              \n"                                       \
                                     "add    sp, #68                         \n"                                       \
                                     "pop    {r4-r11, pc}                    \n")

#define TG_PLANE_ANY_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                           \
    TG_NAKED void name(const int32_t *channel __attribute__((unused)), const int16_t *plane __attribute__((unused)),   \
        int8_t *output __attribute__((unused)), const struct tg_native_plane *geometry __attribute__((unused)))        \
    {                                                                                                                  \
        TG_PLANE_ANY_BODY(TG_PLANE_LINE_##STRIDE, TG_PLANE_BLOCK_##STRIDE, OUTPUT);                                    \
    }

/* clang-format on */

#else

static inline int8_t tg_plane_any_scaled(uint32_t sum, const int32_t *scale, int32_t is_relu)
{
    return is_relu ? tg_linear((int32_t)sum, scale) : tg_rounded((int32_t)sum, scale);
}

static inline int8_t tg_plane_any_output(const int32_t *channel, const int16_t *plane,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    const int32_t steps = geometry->filter_bytes / 4 - (stride == 1);
    const int32_t *weights = channel + 4;
    uint32_t sum = (uint32_t)channel[0];

    for (int32_t line = 0; line < geometry->filter_lines; line++, plane += geometry->row_bytes / 2) {
        for (int32_t i = 0; i < steps; i++, weights += stride == 1 ? 2 : 1) {
            sum = tg_mac(tg_half(weights, 0), plane[2 * i], sum);
            sum = tg_mac(tg_half(weights, 1), plane[2 * i + 1], sum);
        }
    }
    return tg_plane_any_scaled(sum, channel + 1, is_relu);
}

/* Outputs that are computed together, so that a weight is loaded once for all of them. */
#define TG_PLANE_ANY_AT_ONCE 4

static TG_INLINE void tg_plane_any_outputs(const int32_t *channel, const int16_t *plane, int8_t *output,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    const int32_t steps = geometry->filter_bytes / 4 - (stride == 1);
    const int32_t *weights = channel + 4;
    uint32_t a = (uint32_t)channel[0];
    uint32_t b = a;
    uint32_t c = a;
    uint32_t d = a;

    for (int32_t line = 0; line < geometry->filter_lines; line++, plane += geometry->row_bytes / 2) {
        const int32_t *const end = weights + (stride == 1 ? 2 : 1) * steps;
        const int16_t *at = plane;
        if (stride == 1) {
            int32_t first = at[0];
            int32_t second = at[1];
            int32_t third = at[2];
            for (; weights < end; weights += 2, at += 2) { /* outputs share what they see */
                const int32_t weight = tg_half(weights, 0);
                const int32_t next = tg_half(weights, 1);
                const int32_t fourth = at[3];
                const int32_t fifth = at[4];
                a = tg_mac(next, second, tg_mac(weight, first, a));
                b = tg_mac(next, third, tg_mac(weight, second, b));
                c = tg_mac(next, fourth, tg_mac(weight, third, c));
                d = tg_mac(next, fifth, tg_mac(weight, fourth, d));
                first = third;
                second = fourth;
                third = fifth;
            }
        }
        for (; weights < end; weights++) {
            for (int32_t k = 0; k < 2; k++, at++) {
                const int32_t weight = tg_half(weights, k);
                a = tg_mac(weight, at[0], a);
                b = tg_mac(weight, at[stride], b);
                c = tg_mac(weight, at[2 * stride], c);
                d = tg_mac(weight, at[3 * stride], d);
            }
        }
    }
    const int32_t scale[3] = {channel[1], channel[2], channel[3]}; /* once, as outputs may be stored to anything */
    const int32_t step = geometry->position_step;
    output[0] = tg_plane_any_scaled(a, scale, is_relu);
    output[step] = tg_plane_any_scaled(b, scale, is_relu);
    output[2 * step] = tg_plane_any_scaled(c, scale, is_relu);
    output[3 * step] = tg_plane_any_scaled(d, scale, is_relu);
}

static TG_INLINE void tg_plane_any_lines(const int32_t *channel, const int16_t *plane, int8_t *output,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    const int32_t positions = geometry->block_bytes / (2 * stride);

    for (int32_t line = 0; line < geometry->lines; line++) {
        int32_t i = 0;
#if TG_NATIVE_RV32
        for (; i <= positions - TG_PLANE_ANY_AT_ONCE; i += TG_PLANE_ANY_AT_ONCE) {
            tg_plane_any_outputs(channel, plane + i * stride, output, geometry, stride, is_relu);
            output += TG_PLANE_ANY_AT_ONCE * geometry->position_step;
        }
        if (i < positions && i > 0) { /* takes less than what is left alone: some are computed anew */
            output += (positions - i - TG_PLANE_ANY_AT_ONCE) * geometry->position_step;
            i = positions - TG_PLANE_ANY_AT_ONCE;
            tg_plane_any_outputs(channel, plane + i * stride, output, geometry, stride, is_relu);
            output += TG_PLANE_ANY_AT_ONCE * geometry->position_step;
            i = positions;
        }
#endif
        for (; i < positions; i++) {
            *output = tg_plane_any_output(channel, plane + i * stride, geometry, stride, is_relu);
            output += geometry->position_step;
        }
        output += geometry->line_skip;
        plane += geometry->row_skip / 2;
    }
}

#define TG_PLANE_ANY_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                           \
    void name(const int32_t *channel, const int16_t *plane, int8_t *output, const struct tg_native_plane *geometry)    \
    {                                                                                                                  \
        tg_plane_any_lines(channel, plane, output, geometry, STRIDE, IS_RELU);                                         \
    }

#endif

#endif
