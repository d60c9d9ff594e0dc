/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of both variants of tg_native_gemm: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_GEMM_BODY_H
#define TG_NATIVE_GEMM_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_gemm.h"

#if TG_NATIVE_THUMB2

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream
 * r1        columns
 * r2 - r5   sums of channel 0, pixels 0 to 3        r6 - r9   sums of channel 1
 * r10, r11  weights of channel 0 and 1, two each    r12, lr   activations of two pixels, two each
 *
 * Frame: [sp] where the loop is entered, [sp, 4] end of the elements, [sp, 8] end of the outputs of pixel 0,
 *        [sp, 12] columns, [sp, 16] output, [sp, 20] pixel_step
 *
 * The first 4 elements stand in front of the loop. The others do not fill its 16 the first time: it is entered in the
 * middle, or where 16 or none are left, at its end.
 */

#if TG_NATIVE_DSP

#define TG_GEMM_4_BYTES "120" /* of code: 4 for each instruction */

/* 15 instructions for 16 multiplications: 2 elements, 2 channels, 4 pixels. */
#define TG_GEMM_2                                                                                                      \
    "ldr    r10, [r0], #4           \n" /* c0[k] c1[k] c0[k'] c1[k'] */                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    "sxtb16 r11, r10, ror #8        \n"                                                                                \
    "sxtb16 r10, r10                \n"                                                                                \
    "smlad  r2, r10, r12, r2        \n"                                                                                \
    "smlad  r6, r11, r12, r6        \n"                                                                                \
    "smlad  r3, r10, lr,  r3        \n"                                                                                \
    "smlad  r7, r11, lr,  r7        \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    "smlad  r4, r10, r12, r4        \n"                                                                                \
    "smlad  r8, r11, r12, r8        \n"                                                                                \
    "smlad  r5, r10, lr,  r5        \n"                                                                                \
    "smlad  r9, r11, lr,  r9        \n"

/* The first ones of a pair, with the biases in r2 and r6. */
#define TG_GEMM_FIRST_2                                                                                                \
    "ldr    r10, [r0], #4           \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    "sxtb16 r11, r10, ror #8        \n"                                                                                \
    "sxtb16 r10, r10                \n"                                                                                \
    "smlad  r3, r10, lr,  r2        \n"                                                                                \
    "smlad  r7, r11, lr,  r6        \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    "smlad  r4, r10, lr,  r2        \n"                                                                                \
    "smlad  r8, r11, lr,  r6        \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    "smlad  r5, r10, lr,  r2        \n"                                                                                \
    "smlad  r9, r11, lr,  r6        \n"                                                                                \
    "smlad  r2, r10, r12, r2        \n"                                                                                \
    "smlad  r6, r11, r12, r6        \n"

#define TG_GEMM_OUTPUT(sum)                                                                                            \
    "add    lr, r11, " sum ", asr #31        \n" /* halves of negative values go down */                               \
    "lsl    " sum ", " sum ", #1             \n"                                                                       \
    "smmlar " sum ", " sum ", r10, lr        \n"                                                                       \
    "asr    " sum ", " sum ", r12            \n"                                                                       \
    "ssat   " sum ", #8, " sum "             \n"

#define TG_GEMM_OUTPUT_RELU(sum)                                                                                       \
    "smmla  " sum ", " sum ", r10, r11       \n"                                                                       \
    "ssat   " sum ", #8, " sum ", asr #2     \n"

#else

#define TG_GEMM_4_BYTES "232"

/* 29 instructions for the same without the DSP extension: r10 and r11 hold one weight each, r12 and lr one activation.
 */
#define TG_GEMM_2                                                                                                      \
    "ldrsb  r10, [r0], #1           \n" /* c0[k] c1[k] */                                                              \
    "ldrsb  r11, [r0], #1           \n"                                                                                \
    "ldrsh  r12, [r1]               \n"                                                                                \
    "ldrsh  lr,  [r1, #4]           \n"                                                                                \
    "mla    r2, r10, r12, r2        \n"                                                                                \
    "mla    r6, r11, r12, r6        \n"                                                                                \
    "mla    r3, r10, lr,  r3        \n"                                                                                \
    "mla    r7, r11, lr,  r7        \n"                                                                                \
    "ldrsh  r12, [r1, #8]           \n"                                                                                \
    "ldrsh  lr,  [r1, #12]          \n"                                                                                \
    "mla    r4, r10, r12, r4        \n"                                                                                \
    "mla    r8, r11, r12, r8        \n"                                                                                \
    "mla    r5, r10, lr,  r5        \n"                                                                                \
    "mla    r9, r11, lr,  r9        \n" TG_GEMM_SECOND

#define TG_GEMM_SECOND                                                                                                 \
    "ldrsb  r10, [r0], #1           \n" /* c0[k'] c1[k'] */                                                            \
    "ldrsb  r11, [r0], #1           \n"                                                                                \
    "ldrsh  r12, [r1, #6]           \n"                                                                                \
    "ldrsh  lr,  [r1, #10]          \n"                                                                                \
    "mla    r3, r10, r12, r3        \n"                                                                                \
    "mla    r7, r11, r12, r7        \n"                                                                                \
    "mla    r4, r10, lr,  r4        \n"                                                                                \
    "mla    r8, r11, lr,  r8        \n"                                                                                \
    "ldrsh  r12, [r1, #14]          \n"                                                                                \
    "ldrsh  lr,  [r1, #2]           \n"                                                                                \
    "add    r1, #16                 \n"                                                                                \
    "mla    r5, r10, r12, r5        \n"                                                                                \
    "mla    r9, r11, r12, r9        \n"                                                                                \
    "mla    r2, r10, lr,  r2        \n"                                                                                \
    "mla    r6, r11, lr,  r6        \n"

#define TG_GEMM_FIRST_2                                                                                                \
    "ldrsb  r10, [r0], #1           \n"                                                                                \
    "ldrsb  r11, [r0], #1           \n"                                                                                \
    "ldrsh  r12, [r1, #4]           \n"                                                                                \
    "ldrsh  lr,  [r1, #8]           \n"                                                                                \
    "mla    r3, r10, r12, r2        \n"                                                                                \
    "mla    r7, r11, r12, r6        \n"                                                                                \
    "mla    r4, r10, lr,  r2        \n"                                                                                \
    "mla    r8, r11, lr,  r6        \n"                                                                                \
    "ldrsh  r12, [r1, #12]          \n"                                                                                \
    "ldrsh  lr,  [r1]               \n"                                                                                \
    "mla    r5, r10, r12, r2        \n"                                                                                \
    "mla    r9, r11, r12, r6        \n"                                                                                \
    "mla    r2, r10, lr,  r2        \n"                                                                                \
    "mla    r6, r11, lr,  r6        \n" TG_GEMM_SECOND

#define TG_GEMM_OUTPUT(sum)                                                                                            \
    "lsl    " sum ", " sum ", #1             \n"                                                                       \
    "smull  lr, " sum ", " sum ", r10        \n"                                                                       \
    "lsr    lr, lr, #31                      \n" /* rounds the high word */                                            \
    "add    lr, lr, " sum ", asr #31         \n" /* halves of negative values go down */                               \
    "add    " sum ", lr                      \n"                                                                       \
    "add    " sum ", r11                     \n"                                                                       \
    "asr    " sum ", " sum ", r12            \n"                                                                       \
    "ssat   " sum ", #8, " sum "             \n"

#define TG_GEMM_OUTPUT_RELU(sum)                                                                                       \
    "smull  lr, " sum ", " sum ", r10        \n"                                                                       \
    "add    " sum ", r11                     \n"                                                                       \
    "ssat   " sum ", #8, " sum ", asr #2     \n"

#endif

#define TG_GEMM_4 TG_GEMM_2 TG_GEMM_2

/* Multiplier, offset and shift of one channel in r10, r11, r12. */
#define TG_GEMM_OUTPUTS                                                                                                \
    "ldm    r0!, {r10-r12}          \n" TG_GEMM_OUTPUT("r2") TG_GEMM_OUTPUT("r3") TG_GEMM_OUTPUT("r4")                 \
        TG_GEMM_OUTPUT("r5") "ldm    r0!, {r10-r12}          \n" TG_GEMM_OUTPUT("r6") TG_GEMM_OUTPUT("r7")             \
            TG_GEMM_OUTPUT("r8") TG_GEMM_OUTPUT("r9")

/* Multiplier and offset; the shift is TG_LINEAR_SHIFT. */
#define TG_GEMM_OUTPUTS_RELU                                                                                           \
    "ldrd   r10, r11, [r0], #8      \n" TG_GEMM_OUTPUT_RELU("r2") TG_GEMM_OUTPUT_RELU("r3") TG_GEMM_OUTPUT_RELU("r4")  \
        TG_GEMM_OUTPUT_RELU("r5") "ldrd   r10, r11, [r0], #8      \n" TG_GEMM_OUTPUT_RELU("r6")                        \
            TG_GEMM_OUTPUT_RELU("r7") TG_GEMM_OUTPUT_RELU("r8") TG_GEMM_OUTPUT_RELU("r9")

#define TG_GEMM_BODY(OUTPUTS)                                                                                          \
    __asm volatile(                                                                                                    \
        ".p2align 2                     \n" /* for adr */                                                              \
        "push   {r4-r11, lr}            \n"                                                                            \
        "sub    sp, #28                 \n"                                                                            \
        "ldrd   r4, r5, [sp, #64]       \n" /* output, pixel_step */                                                   \
        "sub    r6, r2, #1              \n"                                                                            \
        "and    r6, #3                  \n"                                                                            \
        "rsb    r6, #4                  \n" /* parts of the loop that are left out at first */                         \
        "mov    r7, #" TG_GEMM_4_BYTES "\n"                                                                            \
        "adr    r8, 2f                  \n"                                                                            \
        "mla    r6, r6, r7, r8          \n"                                                                            \
        "orr    r6, #1                  \n" /* a Thumb address */                                                      \
        "add    r7, r1, r2, lsl #5      \n" /* 4 elements: 32 bytes of columns */                                      \
        "add    r8, r4, r3, lsl #1      \n"                                                                            \
        "strd   r6, r7, [sp]            \n"                                                                            \
        "strd   r8, r1, [sp, #8]        \n"                                                                            \
        "strd   r4, r5, [sp, #16]       \n"                                                                            \
        "1:                             \n" /* a pair of channels */                                                   \
        "ldrd   r2, r6, [r0], #8        \n" TG_GEMM_FIRST_2 TG_GEMM_2 "ldr    pc, [sp]                \n"              \
        "2:                             \n" /* 16 elements */                                                          \
        TG_GEMM_4 TG_GEMM_4 TG_GEMM_4 TG_GEMM_4 "ldr    r12, [sp, #4]           \n"                                    \
        "cmp    r1, r12                 \n"                                                                            \
        "bne    2b                      \n" OUTPUTS "ldrd   r12, r1, [sp, #8]       \n"                                \
        "ldrd   r10, r11, [sp, #16]     \n"                                                                            \
        "bfi    r2, r6, #8, #8          \n" /* both channels of a pixel lie side by side */                            \
        "strh   r2, [r10]               \n"                                                                            \
        "bfi    r3, r7, #8, #8          \n"                                                                            \
        "strh   r3, [r10, r11]          \n"                                                                            \
        "add    lr, r10, r11, lsl #1    \n"                                                                            \
        "bfi    r4, r8, #8, #8          \n"                                                                            \
        "strh   r4, [lr]                \n"                                                                            \
        "bfi    r5, r9, #8, #8          \n"                                                                            \
        "strh   r5, [lr, r11]           \n"                                                                            \
        "add    r10, #2                 \n"                                                                            \
        "str    r10, [sp, #16]          \n"                                                                            \
        "cmp    r10, r12                \n"                                                                            \
        "bne    1b                      \n"                                                                            \
        "add    sp, #28                 \n"                                                                            \
        "pop    {r4-r11, pc}            \n")

#define TG_GEMM_FUNCTION(name, OUTPUTS, IS_RELU)                                                                       \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t pairs __attribute__((unused)),                                  \
        int8_t *output __attribute__((unused)), int32_t pixel_step __attribute__((unused)))                            \
    {                                                                                                                  \
        TG_GEMM_BODY(OUTPUTS);                                                                                         \
    }

/* clang-format on */

#else

/* Two channels of two pixels: as many sums as cores without the DSP extension have registers for. */
struct tg_gemm_sums {
    uint32_t first[2]; /* channel 0 and 1 of the first pixel */
    uint32_t second[2];
};

static inline struct tg_gemm_sums tg_gemm_products(const int32_t *stream, const uint32_t *columns, int32_t quads)
{
    const int8_t *weights = (const int8_t *)(stream + 2);
    uint32_t a = (uint32_t)stream[0];
    uint32_t b = (uint32_t)stream[1];
    uint32_t c = a;
    uint32_t d = b;

    for (int32_t i = 0; i < 2 * quads; i++, weights += 4, columns += 4) {
        for (int32_t k = 0; k < 2; k++) {
            const int32_t first = tg_half(columns, k);
            const int32_t second = tg_half(columns, 2 + k);
            a = tg_mac(weights[2 * k], first, a);
            b = tg_mac(weights[2 * k + 1], first, b);
            c = tg_mac(weights[2 * k], second, c);
            d = tg_mac(weights[2 * k + 1], second, d);
        }
    }
    return (struct tg_gemm_sums){{a, b}, {c, d}};
}

static inline int8_t tg_gemm_output(uint32_t sum, const int32_t *scale, int32_t is_relu)
{
    return is_relu ? tg_linear((int32_t)sum, scale) : tg_rounded(tg_doubled((int32_t)sum), scale);
}

/* A pair of channels of all 4 pixels. */
static inline void tg_gemm_pair(
    const int32_t *stream, const uint32_t *columns, int32_t quads, int8_t *output, int32_t pixel_step, int32_t is_relu)
{
    const int32_t *const scale = stream + 2 + 2 * quads;

    for (int32_t pixel = 0; pixel < 4; pixel += 2, output += 2 * pixel_step) {
        const struct tg_gemm_sums sums = tg_gemm_products(stream, columns + pixel, quads);
        for (int32_t lane = 0; lane < 2; lane++) {
            const int32_t *const own = scale + (is_relu ? 2 : 3) * lane;
            output[lane] = tg_gemm_output(sums.first[lane], own, is_relu);
            output[pixel_step + lane] = tg_gemm_output(sums.second[lane], own, is_relu);
        }
    }
}

#define TG_GEMM_FUNCTION(name, OUTPUTS, IS_RELU)                                                                       \
    void name(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output,            \
        int32_t pixel_step)                                                                                            \
    {                                                                                                                  \
        for (int32_t pair = 0; pair < pairs; pair++, stream += 2 + 2 * quads + (IS_RELU ? 4 : 6)) {                    \
            tg_gemm_pair(stream, columns, quads, output + 2 * pair, pixel_step, IS_RELU);                              \
        }                                                                                                              \
    }

#endif

#endif
