/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of all variants of tg_native_plane_function for filters of 3x3: as assembly and, for cores without the DSP
 * extension, in C.
 */
#ifndef TG_NATIVE_PLANES_BODY_H
#define TG_NATIVE_PLANES_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_plane_output.h"
#include "tg_native_planes.h"

#if TG_NATIVE_DSP

/* assembly in columns */
/* clang-format off */

/*
 * r0 - r2   the three lines of the plane under the filter       r3        output
 * r6, r7    weights of line 0                                   r4, r5    of lines 1 and 2, then multiplier and offset
 * r8 - r11  doubled sums of 4 outputs                           r12, lr   two activations each
 *
 * Frame: [sp] bias, [sp, 4] weights of line 1, [sp, 12] of line 2, [sp, 20] multiplier, offset, shift,
 *        [sp, 32] the geometry's fields, [sp, 60] end of the blocks, [sp, 64] position_step again
 */

/*
 * One line of the filter for 4 outputs: with (x0 x1), (x2 x3), (x4 x5) in turn in r12, lr, r12. a to d is what the
 * products are added to: the bias, or the sums of the lines before.
 */
#define TG_PLANE_ROW_1(line, w01, w12, a, b, c, d)                                                                     \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n" /* x0 w0 + x1 w1 */                                                    \
    "smlabt r8,  lr,  " w12 ", r8           \n" /* x2 w2 */                                                            \
    "smlatb r9,  r12, " w01 ", " b "        \n" /* x1 w0 */                                                            \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlad  r9,  lr,  " w12 ", r9           \n" /* x2 w1 + x3 w2 */                                                    \
    "smlad  r10, lr,  " w01 ", " c "        \n"                                                                        \
    "smlabt r10, r12, " w12 ", r10          \n"                                                                        \
    "smlatb r11, lr,  " w01 ", " d "        \n"                                                                        \
    "smlad  r11, r12, " w12 ", r11          \n"

#define TG_PLANE_ROW_2(line, w01, w12, a, b, c, d)                                                                     \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n" /* x0 w0 + x1 w1 */                                                    \
    "smlabt r8,  lr,  " w12 ", r8           \n" /* x2 w2 */                                                            \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "smlad  r9,  lr,  " w01 ", " b "        \n" /* x2 w0 + x3 w1 */                                                    \
    "smlabt r9,  r12, " w12 ", r9           \n" /* x4 w2 */                                                            \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r10, r12, " w01 ", " c "        \n"                                                                        \
    "smlabt r10, lr,  " w12 ", r10          \n"                                                                        \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlad  r11, lr,  " w01 ", " d "        \n"                                                                        \
    "smlabt r11, r12, " w12 ", r11          \n"

/* The same for 2 outputs. */
#define TG_PLANE_PAIR_1(line, w01, w12, a, b, c, d)                                                                    \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "]                 \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"                                                                        \
    "smlatb r9,  r12, " w01 ", " b "        \n"                                                                        \
    "smlad  r9,  lr,  " w12 ", r9           \n"

#define TG_PLANE_PAIR_2(line, w01, w12, a, b, c, d)                                                                    \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"                                                                        \
    "ldrsh  r12, [" line "]                 \n"                                                                        \
    "smlad  r9,  lr,  " w01 ", " b "        \n"                                                                        \
    "smlabt r9,  r12, " w12 ", r9           \n"

/* The same for 1 output. */
#define TG_PLANE_SINGLE_1(line, w01, w12, a, b, c, d)                                                                  \
    "ldr    r12, [" line "], #2             \n"                                                                        \
    "ldrsh  lr,  [" line ", #2]             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"

#define TG_PLANE_SINGLE_2(line, w01, w12, a, b, c, d)                                                                  \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldrsh  lr,  [" line "]                 \n"                                                                        \
    "smlad  r8,  r12, " w01 ", " a "        \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"

/* The three lines of the filter; leaves multiplier and offset in r4 and r5. */
#define TG_PLANE_FILTER(ROW, SHIFT)                                                                                    \
    "ldr    r4, [sp]                        \n" ROW(                                                                   \
        "r0", "r6", "r7", "r4", "r4", "r4", "r4") "ldrd   r4, r5, [sp, #4]                \n" ROW("r1", "r4", "r5",    \
        "r8", "r9", "r10", "r11") "ldrd   r4, r5, [sp, #12]               \n" ROW("r2", "r4", "r5", "r8", "r9", "r10", \
        "r11") "ldrd   r4, r5, [sp, #20]               \n" SHIFT

/* The shift in r12, for functions that read one. */
#define TG_PLANE_OUTPUT_SHIFT "ldr    r12, [sp, #28]                  \n"
#define TG_PLANE_OUTPUT_RELU_SHIFT

#define TG_PLANE_BODY(ROW, PAIR, SINGLE, OUTPUT, SHIFT)                                                                \
    __asm volatile("push   {r4-r11, lr}                    \n"                                                         \
                   "sub    sp, #68                         \n"                                                         \
                   "ldm    r0!, {r4, r6, r7}               \n"                                                         \
                   "str    r4, [sp]                        \n"                                                         \
                   "ldm    r0, {r4, r5, r8-r12}            \n"                                                         \
                   "add    lr, sp, #4                      \n"                                                         \
                   "stm    lr, {r4, r5, r8-r12}            \n"                                                         \
                   "ldm    r3, {r4, r5, r8-r12}            \n"                                                         \
                   "str    r4, [sp, #64]                   \n"                                                         \
                   "add    lr, sp, #32                     \n"                                                         \
                   "stm    lr, {r4, r5, r8-r12}            \n"                                                         \
                   "mov    r3, r2                          \n"                                                         \
                   "mov    r0, r1                          \n"                                                         \
                   "add    r1, r0, r9                      \n" /* row_bytes */                                         \
                   "add    r2, r1, r9                      \n"                                                         \
                   "1:                                     \n" /* a line of output */                                  \
                   "ldr    r4, [sp, #36]                   \n" /* block_bytes */                                       \
                   "cmp    r4, #0                          \n"                                                         \
                   "add    r4, r0                          \n"                                                         \
                   "str    r4, [sp, #60]                   \n"                                                         \
                   "beq    3f                              \n"                                                         \
                   "2:                                     \n" /* 4 outputs */                                         \
        TG_PLANE_FILTER(ROW, SHIFT) OUTPUT("r8") OUTPUT("r9") OUTPUT("r10")                                            \
            OUTPUT("r11") "ldrd   r12, lr, [sp, #60]              \n"                                                  \
                          "strb   r8, [r3]                        \n"                                                  \
                          "strb   r9, [r3, lr]                    \n"                                                  \
                          "add    r3, r3, lr, lsl #1              \n"                                                  \
                          "strb   r10, [r3]                       \n"                                                  \
                          "strb   r11, [r3, lr]                   \n"                                                  \
                          "add    r3, r3, lr, lsl #1              \n"                                                  \
                          "cmp    r0, r12                         \n"                                                  \
                          "bne    2b                              \n"                                                  \
                          "3:                                     \n"                                                  \
                          "ldr    r12, [sp, #40]                  \n" /* rest */                                       \
                          "cmp    r12, #1                         \n"                                                  \
                          "blt    5f                              \n"                                                  \
                          "beq    4f                              \n" TG_PLANE_FILTER(PAIR, SHIFT) OUTPUT("r8") OUTPUT(\
                              "r9") "ldr    lr, [sp, #32]                   \n"                                        \
                                    "ldr    r12, [sp, #40]                  \n"                                        \
                                    "strb   r8, [r3]                        \n"                                        \
                                    "strb   r9, [r3, lr]                    \n"                                        \
                                    "add    r3, r3, lr, lsl #1              \n"                                        \
                                    "cmp    r12, #2                         \n"                                        \
                                    "beq    5f                              \n"                                        \
                                    "4:                                     \n" TG_PLANE_FILTER(SINGLE, SHIFT) OUTPUT( \
                                        "r8") "ldr    lr, [sp, #32]                   \n"                              \
                                              "strb   r8, [r3]                        \n"                              \
                                              "add    r3, lr                          \n"                              \
                                              "5:                                     \n"                              \
                                              "ldr    r4, [sp, #48]                   \n" /* row_skip */               \
                                              "add    r0, r4                          \n"                              \
                                              "add    r1, r4                          \n"                              \
                                              "add    r2, r4                          \n"                              \
                                              "ldrd   r4, r5, [sp, #52]               \n" /* lines, line_skip */       \
                                              "add    r3, r5                          \n"                              \
                                              "subs   r4, #1                          \n"                              \
                                              "str    r4, [sp, #52]                   \n"                              \
                                              "bne    1b                              \n"                              \
                                              "add    sp, #68                         \n"                              \
                                              "pop    {r4-r11, pc}                    \n")

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    TG_NAKED void name(const int32_t *channel __attribute__((unused)), const int16_t *plane __attribute__((unused)),   \
        int8_t *output __attribute__((unused)), const struct tg_native_plane *geometry __attribute__((unused)))        \
    {                                                                                                                  \
        TG_PLANE_BODY(TG_PLANE_ROW_##STRIDE, TG_PLANE_PAIR_##STRIDE, TG_PLANE_SINGLE_##STRIDE, OUTPUT, OUTPUT##_SHIFT);\
    }

/* clang-format on */

#else

/* One output, or two of a line, `stride` elements apart, so that each weight is loaded once for both. */
static inline void tg_plane_outputs(const int32_t *channel, const int16_t *plane, int8_t *output, int32_t count,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    uint32_t sum = (uint32_t)channel[0];
    uint32_t next = sum;

    for (int32_t line = 0; line < 3; line++, plane += geometry->row_bytes / 2) {
        const int32_t *const pairs = channel + 1 + 2 * line;
        const int32_t w0 = tg_half(pairs, 0);
        const int32_t w1 = tg_half(pairs, 1);
        const int32_t w2 = tg_half(pairs, 3);
        sum = tg_mac(w2, plane[2], tg_mac(w1, plane[1], tg_mac(w0, plane[0], sum)));
        if (count == 2) {
            next = tg_mac(w0, plane[stride], next);
            next = tg_mac(w1, plane[stride + 1], next);
            next = tg_mac(w2, plane[stride + 2], next);
        }
    }
    output[0] = is_relu ? tg_linear((int32_t)sum, channel + 7) : tg_rounded((int32_t)sum, channel + 7);
    if (count == 2) {
        output[geometry->position_step] =
            is_relu ? tg_linear((int32_t)next, channel + 7) : tg_rounded((int32_t)next, channel + 7);
    }
}

static inline void tg_plane_lines(const int32_t *channel, const int16_t *plane, int8_t *output,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    const int32_t positions = geometry->block_bytes / (2 * stride) + geometry->rest;

    for (int32_t line = 0; line < geometry->lines; line++) {
        int32_t left = positions;
        for (; left >= 2; left -= 2) {
            tg_plane_outputs(channel, plane, output, 2, geometry, stride, is_relu);
            output += 2 * geometry->position_step;
            plane += 2 * stride;
        }
        if (left > 0) {
            tg_plane_outputs(channel, plane, output, 1, geometry, stride, is_relu);
            output += geometry->position_step;
            plane += stride;
        }
        output += geometry->line_skip;
        plane += geometry->row_skip / 2;
    }
}

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    void name(const int32_t *channel, const int16_t *plane, int8_t *output, const struct tg_native_plane *geometry)    \
    {                                                                                                                  \
        tg_plane_lines(channel, plane, output, geometry, STRIDE, IS_RELU);                                             \
    }

#endif

#endif
