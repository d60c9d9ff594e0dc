/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of all variants of tg_native_plane_function: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_PLANES_BODY_H
#define TG_NATIVE_PLANES_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_planes.h"

#if TG_NATIVE_DSP

/* clang-format off: assembly in columns */

/*
 * r0 - r2   the three lines of the plane under the filter       r3        output
 * r6, r7    weights of line 0                                   r4, r5    of lines 1 and 2, then multiplier and offset
 * r8 - r11  doubled sums of 4 outputs                           r12, lr   two activations each
 *
 * Frame: [sp] bias, [sp, 4] weights of line 1, [sp, 12] of line 2, [sp, 20] multiplier, offset, shift,
 *        [sp, 32] the geometry's fields, [sp, 60] end of the blocks, [sp, 64] and of the line, [sp, 68] next line
 */

/* 4 outputs of one line of the filter: with (x0 x1), (x2 x3), (x4 x5) in turn in r12, lr, r12. */
#define TG_PLANE_ROW_1(line, w01, w12)                                                                                 \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", r8           \n" /* x0 w0 + x1 w1 */                                                    \
    "smlabt r8,  lr,  " w12 ", r8           \n" /* x2 w2 */                                                            \
    "smlatb r9,  r12, " w01 ", r9           \n" /* x1 w0 */                                                            \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlad  r9,  lr,  " w12 ", r9           \n" /* x2 w1 + x3 w2 */                                                    \
    "smlad  r10, lr,  " w01 ", r10          \n"                                                                        \
    "smlabt r10, r12, " w12 ", r10          \n"                                                                        \
    "smlatb r11, lr,  " w01 ", r11          \n"                                                                        \
    "smlad  r11, r12, " w12 ", r11          \n"

#define TG_PLANE_ROW_2(line, w01, w12)                                                                                 \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", r8           \n" /* x0 w0 + x1 w1 */                                                    \
    "smlabt r8,  lr,  " w12 ", r8           \n" /* x2 w2 */                                                            \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "smlad  r9,  lr,  " w01 ", r9           \n" /* x2 w0 + x3 w1 */                                                    \
    "smlabt r9,  r12, " w12 ", r9           \n" /* x4 w2 */                                                            \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r10, r12, " w01 ", r10          \n"                                                                        \
    "smlabt r10, lr,  " w12 ", r10          \n"                                                                        \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlad  r11, lr,  " w01 ", r11          \n"                                                                        \
    "smlabt r11, r12, " w12 ", r11          \n"

/* One output of one line of the filter. */
#define TG_PLANE_SINGLE_1(line, w01, w12)                                                                              \
    "ldr    r12, [" line "], #2             \n"                                                                        \
    "ldrsh  lr,  [" line ", #2]             \n"                                                                        \
    "smlad  r8,  r12, " w01 ", r8           \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"

#define TG_PLANE_SINGLE_2(line, w01, w12)                                                                              \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldrsh  lr,  [" line "]                 \n"                                                                        \
    "smlad  r8,  r12, " w01 ", r8           \n"                                                                        \
    "smlabt r8,  lr,  " w12 ", r8           \n"

/* The three lines of the filter. */
#define TG_PLANE_FILTER(ROW)                                                                                           \
    ROW("r0", "r6", "r7")                                                                                              \
    "ldrd   r4, r5, [sp, #4]                \n" ROW("r1", "r4", "r5") "ldrd   r4, r5, [sp, #12]               \n" ROW( \
        "r2", "r4", "r5")

#define TG_PLANE_OUTPUT_RELU(sum)                                                                                      \
    "smmlar " sum ", " sum ", r4, r5        \n"                                                                        \
    "asr    " sum ", " sum ", r12           \n"                                                                        \
    "ssat   " sum ", #8, " sum "            \n"

#define TG_PLANE_OUTPUT(sum)                                                                                           \
    "add    lr, r5, " sum ", asr #31        \n" /* halves of negative values go down */                                \
    "smmlar " sum ", " sum ", r4, lr        \n"                                                                        \
    "asr    " sum ", " sum ", r12           \n"                                                                        \
    "ssat   " sum ", #8, " sum "            \n"

#define TG_PLANE_BODY(ROW, SINGLE, OUTPUT)                                                                             \
    __asm volatile(                                                                                                    \
        "push   {r4-r11, lr}                    \n"                                                                    \
        "sub    sp, #76                         \n"                                                                    \
        "ldm    r0!, {r4, r6, r7}               \n"                                                                    \
        "str    r4, [sp]                        \n"                                                                    \
        "ldm    r0, {r4, r5, r8-r12}            \n"                                                                    \
        "add    lr, sp, #4                      \n"                                                                    \
        "stm    lr, {r4, r5, r8-r12}            \n"                                                                    \
        "ldm    r3, {r4, r5, r8-r12}            \n"                                                                    \
        "add    lr, sp, #32                     \n"                                                                    \
        "stm    lr, {r4, r5, r8-r12}            \n"                                                                    \
        "str    r1, [sp, #68]                   \n"                                                                    \
        "mov    r3, r2                          \n"                                                                    \
        "1:                                     \n" /* a line of output */                                             \
        "ldr    r0, [sp, #68]                   \n"                                                                    \
        "ldrd   r4, r5, [sp, #44]               \n" /* row_bytes, line_advance */                                      \
        "add    r5, r0                          \n"                                                                    \
        "str    r5, [sp, #68]                   \n"                                                                    \
        "add    r1, r0, r4                      \n"                                                                    \
        "add    r2, r1, r4                      \n"                                                                    \
        "ldrd   r4, r5, [sp, #36]               \n" /* block_bytes, rest_bytes */                                      \
        "add    r4, r0                          \n"                                                                    \
        "add    r5, r4                          \n"                                                                    \
        "strd   r4, r5, [sp, #60]               \n"                                                                    \
        "cmp    r0, r4                          \n"                                                                    \
        "beq    3f                              \n"                                                                    \
        "2:                                     \n" /* 4 outputs */                                                    \
        "ldr    r8, [sp]                        \n"                                                                    \
        "mov    r9, r8                          \n"                                                                    \
        "mov    r10, r8                         \n"                                                                    \
        "mov    r11, r8                         \n" TG_PLANE_FILTER(                                                   \
            ROW) "ldrd   r4, r5, [sp, #20]               \n"                                                           \
                 "ldr    r12, [sp, #28]                  \n" OUTPUT("r8") OUTPUT("r9") OUTPUT("r10") OUTPUT(           \
                     "r11") "ldr    lr, [sp, #32]                   \n" /* position_step */                            \
                            "ldr    r12, [sp, #60]                  \n"                                                \
                            "strb   r8, [r3]                        \n"                                                \
                            "strb   r9, [r3, lr]                    \n"                                                \
                            "add    r3, r3, lr, lsl #1              \n"                                                \
                            "strb   r10, [r3]                       \n"                                                \
                            "strb   r11, [r3, lr]                   \n"                                                \
                            "add    r3, r3, lr, lsl #1              \n"                                                \
                            "cmp    r0, r12                         \n"                                                \
                            "bne    2b                              \n"                                                \
                            "3:                                     \n"                                                \
                            "ldr    r12, [sp, #64]                  \n"                                                \
                            "cmp    r0, r12                         \n"                                                \
                            "beq    5f                              \n"                                                \
                            "4:                                     \n" /* one of the rest */                          \
                            "ldr    r8, [sp]                        \n" TG_PLANE_FILTER(                               \
                                SINGLE) "ldrd   r4, r5, [sp, #20]               \n"                                    \
                                        "ldr    r12, [sp, #28]                  \n" OUTPUT(                            \
                                            "r8") "ldr    lr, [sp, #32]                   \n"                          \
                                                  "ldr    r12, [sp, #64]                  \n"                          \
                                                  "strb   r8, [r3]                        \n"                          \
                                                  "add    r3, lr                          \n"                          \
                                                  "cmp    r0, r12                         \n"                          \
                                                  "bne    4b                              \n"                          \
                                                  "5:                                     \n"                          \
                                                  "ldrd   r4, r5, [sp, #52]               \n" /* lines, line_skip */   \
                                                  "add    r3, r5                          \n"                          \
                                                  "subs   r4, #1                          \n"                          \
                                                  "str    r4, [sp, #52]                   \n"                          \
                                                  "bne    1b                              \n"                          \
                                                  "add    sp, #76                         \n"                          \
                                                  "pop    {r4-r11, pc}                    \n")

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    TG_NAKED void name(const int32_t *channel __attribute__((unused)), const int16_t *plane __attribute__((unused)),   \
        int8_t *output __attribute__((unused)), const struct tg_native_plane *geometry __attribute__((unused)))        \
    {                                                                                                                  \
        TG_PLANE_BODY(TG_PLANE_ROW_##STRIDE, TG_PLANE_SINGLE_##STRIDE, OUTPUT);                                        \
    }

/* clang-format on */

#else

static inline int8_t tg_plane_output(const int32_t *channel, const int16_t *plane, int32_t width, int32_t is_relu)
{
    int32_t sum = channel[0];

    for (int32_t line = 0; line < 3; line++, plane += width) {
        const uint32_t weights = (uint32_t)channel[1 + 2 * line];
        const uint32_t last = (uint32_t)channel[2 + 2 * line] >> 16;
        sum = tg_dual_mac(tg_pair(plane[0], plane[1]), weights, sum);
        sum = tg_dual_mac(tg_pair(plane[2], 0), last, sum);
    }
    return (int8_t)tg_saturated(tg_scaled(sum, channel[7], channel[8] - (!is_relu && sum < 0)) >> channel[9]);
}

static inline void tg_plane_lines(const int32_t *channel, const int16_t *plane, int8_t *output,
    const struct tg_native_plane *geometry, int32_t stride, int32_t is_relu)
{
    const int32_t positions = (geometry->block_bytes + geometry->rest_bytes) / (2 * stride);

    for (int32_t line = 0; line < geometry->lines; line++) {
        for (int32_t i = 0; i < positions; i++) {
            *output = tg_plane_output(channel, plane + i * stride, geometry->row_bytes / 2, is_relu);
            output += geometry->position_step;
        }
        output += geometry->line_skip;
        plane += geometry->line_advance / 2;
    }
}

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    void name(const int32_t *channel, const int16_t *plane, int8_t *output, const struct tg_native_plane *geometry)    \
    {                                                                                                                  \
        tg_plane_lines(channel, plane, output, geometry, STRIDE, IS_RELU);                                             \
    }

#endif

#endif
