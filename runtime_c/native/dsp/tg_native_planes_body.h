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
 * Frame: [sp] multiplier, offset, [sp, 8] end of the blocks, [sp, 12] position_step, [sp, 16] shift, [sp, 20] bias,
 *        [sp, 24] weights of line 1, [sp, 32] of line 2, [sp, 40] block_bytes, rest, row_bytes, row_skip, lines,
 *        line_skip
 *
 * Loads stand in groups, as each behind another one takes half the time.
 */

/* Line 0 of the filter for 4 outputs: (x0 x1), (x2 x3), (x4 x5) in r12, lr, r5, and the bias. */
#define TG_PLANE_FIRST_BLOCK_1                                                                                         \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0], #4                    \n"                                                                       \
    "ldr    r5,  [r0]                        \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n" /* x0 w0 + x1 w1 */                                                   \
    "smlabt r8,  lr,  r7, r8                 \n" /* x2 w2 */                                                           \
    "smlatb r9,  r12, r6, r4                 \n" /* x1 w0 */                                                           \
    "smlad  r9,  lr,  r7, r9                 \n" /* x2 w1 + x3 w2 */                                                   \
    "smlad  r10, lr,  r6, r4                 \n"                                                                       \
    "smlabt r10, r5,  r7, r10                \n"                                                                       \
    "smlatb r11, lr,  r6, r4                 \n"                                                                       \
    "smlad  r11, r5,  r7, r11                \n"

/* Other lines, whose weights stand at `w` and `v` of the frame; (x4 x5) follows in r12. */
#define TG_PLANE_NEXT_BLOCK_1(line, w, v)                                                                              \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "smlabt r8,  lr,  r5, r8                 \n"                                                                       \
    "smlatb r9,  r12, r4, r9                 \n"                                                                       \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlad  r9,  lr,  r5, r9                 \n"                                                                       \
    "smlad  r10, lr,  r4, r10                \n"                                                                       \
    "smlabt r10, r12, r5, r10                \n"                                                                       \
    "smlatb r11, lr,  r4, r11                \n"                                                                       \
    "smlad  r11, r12, r5, r11                \n"

/* The same at stride 2, with three words more. */
#define TG_PLANE_FIRST_BLOCK_2                                                                                         \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0], #4                    \n"                                                                       \
    "ldr    r5,  [r0], #4                    \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n" /* x0 w0 + x1 w1 */                                                   \
    "smlabt r8,  lr,  r7, r8                 \n" /* x2 w2 */                                                           \
    "smlad  r9,  lr,  r6, r4                 \n" /* x2 w0 + x3 w1 */                                                   \
    "smlabt r9,  r5,  r7, r9                 \n" /* x4 w2 */                                                           \
    "smlad  r10, r5,  r6, r4                 \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0]                        \n"                                                                       \
    "smlabt r10, r12, r7, r10                \n"                                                                       \
    "smlad  r11, r12, r6, r4                 \n"                                                                       \
    "smlabt r11, lr,  r7, r11                \n"

#define TG_PLANE_NEXT_BLOCK_2(line, w, v)                                                                              \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "smlabt r8,  lr,  r5, r8                 \n"                                                                       \
    "smlad  r9,  lr,  r4, r9                 \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlabt r9,  r12, r5, r9                 \n"                                                                       \
    "smlad  r10, r12, r4, r10                \n"                                                                       \
    "smlabt r10, lr,  r5, r10                \n"                                                                       \
    "smlad  r11, lr,  r4, r11                \n"                                                                       \
    "ldr    r12, [" line "]                 \n"                                                                        \
    "smlabt r11, r12, r5, r11                \n"

/* The same for 2 outputs. */
#define TG_PLANE_FIRST_PAIR_1                                                                                          \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0]                        \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n"                                                                       \
    "smlabt r8,  lr,  r7, r8                 \n"                                                                       \
    "smlatb r9,  r12, r6, r4                 \n"                                                                       \
    "smlad  r9,  lr,  r7, r9                 \n"

#define TG_PLANE_NEXT_PAIR_1(line, w, v)                                                                               \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "]                 \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "smlabt r8,  lr,  r5, r8                 \n"                                                                       \
    "smlatb r9,  r12, r4, r9                 \n"                                                                       \
    "smlad  r9,  lr,  r5, r9                 \n"

#define TG_PLANE_FIRST_PAIR_2                                                                                          \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldr    lr,  [r0], #4                    \n"                                                                       \
    "ldrsh  r5,  [r0]                        \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n"                                                                       \
    "smlabt r8,  lr,  r7, r8                 \n"                                                                       \
    "smlad  r9,  lr,  r6, r4                 \n"                                                                       \
    "smlabt r9,  r5,  r7, r9                 \n"

#define TG_PLANE_NEXT_PAIR_2(line, w, v)                                                                               \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldr    lr,  [" line "], #4             \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "ldrsh  r12, [" line "]                 \n"                                                                        \
    "smlabt r8,  lr,  r5, r8                 \n"                                                                       \
    "smlad  r9,  lr,  r4, r9                 \n"                                                                       \
    "smlabt r9,  r12, r5, r9                 \n"

/* The same for 1 output. */
#define TG_PLANE_FIRST_SINGLE_1                                                                                        \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #2                    \n"                                                                       \
    "ldrsh  lr,  [r0, #2]                    \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n"                                                                       \
    "smlabt r8,  lr,  r7, r8                 \n"

#define TG_PLANE_NEXT_SINGLE_1(line, w, v)                                                                             \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #2             \n"                                                                        \
    "ldrsh  lr,  [" line ", #2]             \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "smlabt r8,  lr,  r5, r8                 \n"

#define TG_PLANE_FIRST_SINGLE_2                                                                                        \
    "ldr    r4,  [sp, #20]                   \n"                                                                       \
    "ldr    r12, [r0], #4                    \n"                                                                       \
    "ldrsh  lr,  [r0]                        \n"                                                                       \
    "smlad  r8,  r12, r6, r4                 \n"                                                                       \
    "smlabt r8,  lr,  r7, r8                 \n"

#define TG_PLANE_NEXT_SINGLE_2(line, w, v)                                                                             \
    "ldr    r4,  [sp, #" w "]                \n"                                                                       \
    "ldr    r5,  [sp, #" v "]                \n"                                                                       \
    "ldr    r12, [" line "], #4             \n"                                                                        \
    "ldrsh  lr,  [" line "]                 \n"                                                                        \
    "smlad  r8,  r12, r4, r8                 \n"                                                                       \
    "smlabt r8,  lr,  r5, r8                 \n"

/* The three lines of the filter. */
#define TG_PLANE_FILTER(OUTPUTS, STRIDE)                                                                               \
    TG_PLANE_FIRST_##OUTPUTS##_##STRIDE TG_PLANE_NEXT_##OUTPUTS##_##STRIDE("r1", "24", "28")                           \
        TG_PLANE_NEXT_##OUTPUTS##_##STRIDE("r2", "32", "36")

/*
 * How functions with and without a shift load what requantizes, in r4, r5, r12, and then end of the blocks and
 * position_step, in r12 and lr; at first both words and the shift come from the stream, at r0.
 */
#define TG_PLANE_OUTPUT_STORE                                                                                          \
    "strd   r5, r12, [sp]                    \n"                                                                       \
    "ldr    r5, [r0, #8]                     \n"                                                                       \
    "str    r5, [sp, #16]                    \n"
#define TG_PLANE_OUTPUT_SCALE                                                                                          \
    "ldrd   r4, r5, [sp]                     \n"                                                                       \
    "ldr    r12, [sp, #16]                   \n"
#define TG_PLANE_OUTPUT_STEP "ldrd   r12, lr, [sp, #8]                \n"
#define TG_PLANE_OUTPUT_RELU_STORE "strd   r5, r12, [sp]                    \n"
#define TG_PLANE_OUTPUT_RELU_SCALE "ldm    sp, {r4, r5, r12, lr}           \n"
#define TG_PLANE_OUTPUT_RELU_STEP

#define TG_PLANE_BODY(STRIDE, OUTPUT)                                                                                  \
    __asm volatile(                                                                                                    \
        "push   {r4-r11, lr}                     \n"                                                                   \
        "sub    sp, #64                          \n"                                                                   \
        "ldm    r0!, {r4, r6-r11}                \n"                                                                   \
        "ldrd   r5, r12, [r0]                    \n"                                                                   \
        OUTPUT##_STORE                                                                                                 \
        "add    lr, sp, #20                      \n"                                                                   \
        "stm    lr, {r4, r8-r11}                 \n"                                                                   \
        "ldm    r3, {r4, r5, r8-r12}             \n"                                                                   \
        "str    r4, [sp, #12]                    \n"                                                                   \
        "add    lr, sp, #40                      \n"                                                                   \
        "stm    lr, {r5, r8-r12}                 \n"                                                                   \
        "mov    r3, r2                           \n"                                                                   \
        "mov    r0, r1                           \n"                                                                   \
        "add    r1, r0, r9                       \n" /* row_bytes */                                                   \
        "add    r2, r1, r9                       \n"                                                                   \
        "1:                                      \n" /* a line of output */                                            \
        "ldr    r4, [sp, #40]                    \n" /* block_bytes */                                                 \
        "cmp    r4, #0                           \n"                                                                   \
        "add    r4, r0                           \n"                                                                   \
        "str    r4, [sp, #8]                     \n"                                                                   \
        "beq    3f                               \n"                                                                   \
        "2:                                      \n" /* 4 outputs */                                                   \
        TG_PLANE_FILTER(BLOCK, STRIDE)                                                                                 \
        OUTPUT##_SCALE OUTPUT("r8") OUTPUT("r9") OUTPUT("r10") OUTPUT("r11") OUTPUT##_STEP                             \
        "strb   r8, [r3]                         \n"                                                                   \
        "strb   r9, [r3, lr]                     \n"                                                                   \
        "add    r3, r3, lr, lsl #1               \n"                                                                   \
        "strb   r10, [r3]                        \n"                                                                   \
        "strb   r11, [r3, lr]                    \n"                                                                   \
        "add    r3, r3, lr, lsl #1               \n"                                                                   \
        "cmp    r0, r12                          \n"                                                                   \
        "bne    2b                               \n"                                                                   \
        "3:                                      \n"                                                                   \
        "ldr    r12, [sp, #44]                   \n" /* rest */                                                        \
        "cmp    r12, #1                          \n"                                                                   \
        "blt    5f                               \n"                                                                   \
        "beq    4f                               \n"                                                                   \
        TG_PLANE_FILTER(PAIR, STRIDE)                                                                                  \
        OUTPUT##_SCALE OUTPUT("r8") OUTPUT("r9") OUTPUT##_STEP                                                         \
        "ldr    r12, [sp, #44]                   \n"                                                                   \
        "strb   r8, [r3]                         \n"                                                                   \
        "strb   r9, [r3, lr]                     \n"                                                                   \
        "add    r3, r3, lr, lsl #1               \n"                                                                   \
        "cmp    r12, #2                          \n"                                                                   \
        "beq    5f                               \n"                                                                   \
        "4:                                      \n"                                                                   \
        TG_PLANE_FILTER(SINGLE, STRIDE)                                                                                \
        OUTPUT##_SCALE OUTPUT("r8") OUTPUT##_STEP                                                                      \
        "strb   r8, [r3]                         \n"                                                                   \
        "add    r3, lr                           \n"                                                                   \
        "5:                                      \n"                                                                   \
        "ldr    r4, [sp, #52]                    \n" /* row_skip */                                                    \
        "add    r0, r4                           \n"                                                                   \
        "add    r1, r4                           \n"                                                                   \
        "add    r2, r4                           \n"                                                                   \
        "ldrd   r4, r5, [sp, #56]                \n" /* lines, line_skip */                                            \
        "add    r3, r5                           \n"                                                                   \
        "subs   r4, #1                           \n"                                                                   \
        "str    r4, [sp, #56]                    \n"                                                                   \
        "bne    1b                               \n"                                                                   \
        "add    sp, #64                          \n"                                                                   \
        "pop    {r4-r11, pc}                     \n")

#define TG_PLANE_FUNCTION(name, STRIDE, OUTPUT, IS_RELU)                                                               \
    TG_NAKED void name(const int32_t *channel __attribute__((unused)), const int16_t *plane __attribute__((unused)),   \
        int8_t *output __attribute__((unused)), const struct tg_native_plane *geometry __attribute__((unused)))        \
    {                                                                                                                  \
        TG_PLANE_BODY(STRIDE, OUTPUT);                                                                                 \
    }

/* clang-format on */

#elif TG_NATIVE_RV32

#include "tg_native_planes_rv32.h"

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
