/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The body of all variants of tg_native_gemm: as assembly and, for cores without the DSP extension, in C.
 */
#ifndef TG_NATIVE_GEMM_BODY_H
#define TG_NATIVE_GEMM_BODY_H

#include "tg_native_arithmetic.h"
#include "tg_native_gemm.h"

#if TG_NATIVE_DSP
#include "tg_native_gemm_dsp.h"
#elif TG_NATIVE_THUMB2
#include "tg_native_gemm_thumb2.h"
#elif TG_NATIVE_RV32
#include "tg_native_gemm_rv32.h"
#endif

#if TG_NATIVE_THUMB2

/* assembly in columns */
/* clang-format off */

/*
 * r0        stream
 * r1        columns
 * r2 - r5   sums of channel 0, pixels 0 to 3        r6 - r9   sums of channel 1
 * r10, r11  weights of channel 0 and 1, two each    r12, lr   activations of two pixels, two each
 *
 * Frame: [sp] columns, [sp, 4] output, [sp, 8] pixel_step, [sp, 12] end of the outputs of pixel 0,
 *        [sp, 16] where the loop is entered, [sp, 20] end of the elements
 *
 * The first 4 elements stand in front of the loop. The others do not fill its 16 the first time: it is entered in the
 * middle, or where 16 or none are left, at its end.
 */

/* Multiplier, offset and shift of one channel. */
#define TG_GEMM_SCALE "ldm    r0!, {r10-r12}          \n"

#define TG_GEMM_OUTPUTS                                                                                                \
    TG_GEMM_SCALE TG_GEMM_OUTPUT("r2") TG_GEMM_OUTPUT("r3") TG_GEMM_OUTPUT("r4") TG_GEMM_OUTPUT("r5")                  \
    TG_GEMM_SCALE TG_GEMM_OUTPUT("r6") TG_GEMM_OUTPUT("r7") TG_GEMM_OUTPUT("r8") TG_GEMM_OUTPUT("r9")

#define TG_GEMM_BODY(FIRST_2, TWO, BYTES_OF_4, OUTPUTS)                                                                \
    __asm volatile(                                                                                                    \
        ".p2align 2                      \n" /* for adr */                                                             \
        "push   {r4-r11, lr}             \n"                                                                           \
        "sub    sp, #28                  \n"                                                                           \
        "ldrd   r4, r5, [sp, #64]        \n" /* output, pixel_step */                                                  \
        "sub    r6, r2, #1               \n"                                                                           \
        "and    r6, #3                   \n"                                                                           \
        "rsb    r6, #4                   \n" /* parts of the loop that are left out at first */                        \
        "mov    r7, #" BYTES_OF_4 "             \n"                                                                    \
        "adr    r8, 2f                   \n"                                                                           \
        "mla    r6, r6, r7, r8           \n"                                                                           \
        "orr    r6, #1                   \n" /* a Thumb address */                                                     \
        "add    r7, r1, r2, lsl #5       \n" /* 4 elements: 32 bytes of columns */                                     \
        "add    r8, r4, r3, lsl #1       \n"                                                                           \
        "str    r1, [sp]                 \n"                                                                           \
        "strd   r4, r5, [sp, #4]         \n"                                                                           \
        "str    r8, [sp, #12]            \n"                                                                           \
        "strd   r6, r7, [sp, #16]        \n"                                                                           \
        "1:                              \n" /* a pair of channels */                                                  \
        FIRST_2 TWO                                                                                                    \
        "ldr    pc, [sp, #16]            \n"                                                                           \
        "2:                              \n" /* 16 elements */                                                         \
        TWO TWO TWO TWO TWO TWO TWO TWO                                                                                \
        "ldr    r12, [sp, #20]           \n"                                                                           \
        "cmp    r1, r12                  \n"                                                                           \
        "bne    2b                       \n"                                                                           \
        OUTPUTS                                                                                                        \
        "ldm    sp, {r1, r10-r12}        \n"                                                                           \
        "bfi    r2, r6, #8, #8           \n" /* both channels of a pixel lie side by side */                           \
        "strh   r2, [r10]                \n"                                                                           \
        "bfi    r3, r7, #8, #8           \n"                                                                           \
        "strh   r3, [r10, r11]           \n"                                                                           \
        "add    lr, r10, r11, lsl #1     \n"                                                                           \
        "bfi    r4, r8, #8, #8           \n"                                                                           \
        "strh   r4, [lr]                 \n"                                                                           \
        "bfi    r5, r9, #8, #8           \n"                                                                           \
        "strh   r5, [lr, r11]            \n"                                                                           \
        "add    r10, #2                  \n"                                                                           \
        "str    r10, [sp, #4]            \n"                                                                           \
        "cmp    r10, r12                 \n"                                                                           \
        "bne    1b                       \n"                                                                           \
        "add    sp, #28                  \n"                                                                           \
        "pop    {r4-r11, pc}             \n")

#define TG_GEMM_ASSEMBLY(name, FIRST_2, TWO, BYTES_OF_4, OUTPUTS)                                                      \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t pairs __attribute__((unused)),                                  \
        int8_t *output __attribute__((unused)), int32_t pixel_step __attribute__((unused)))                            \
    {                                                                                                                  \
        TG_GEMM_BODY(FIRST_2, TWO, BYTES_OF_4, OUTPUTS);                                                               \
    }

/* clang-format on */

#endif

static inline int8_t tg_gemm_output(uint32_t sum, const int32_t *scale, int32_t is_relu)
{
    return is_relu ? tg_linear((int32_t)sum, scale) : tg_rounded(tg_doubled((int32_t)sum), scale);
}

#if !TG_NATIVE_DSP

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

/* The same with joined weights. */
static inline struct tg_gemm_sums tg_gemm_joined_products(const int32_t *stream, const uint32_t *columns, int32_t quads)
{
    const int32_t *weights = stream + 2;
    uint32_t a = (uint32_t)stream[0];
    uint32_t b = (uint32_t)stream[1];
    uint32_t c = a;
    uint32_t d = b;

    for (int32_t i = 0; i < 2 * quads; i++, weights++, columns += 4) {
        for (int32_t k = 0; k < 2; k++) {
            const int32_t both = tg_half(weights, k);
            const int32_t first = tg_half(columns, k);
            const int32_t second = tg_half(columns, 2 + k);
            a = tg_mac((int8_t)(uint8_t)both, first, a);
            b = tg_mac(both, first, b);
            c = tg_mac((int8_t)(uint8_t)both, second, c);
            d = tg_mac(both, second, d);
        }
    }
    return (struct tg_gemm_sums){{a, tg_parted(b, a)}, {c, tg_parted(d, c)}};
}

/* A pair of channels of one pixel. */
static inline void tg_gemm_one(
    const int32_t *stream, const uint32_t *columns, int32_t quads, int8_t *output, int32_t is_joined, int32_t is_relu)
{
    const int32_t *const scale = stream + 2 + 2 * quads;
    const int8_t *weights = (const int8_t *)(stream + 2);
    uint32_t sum = (uint32_t)stream[0];
    uint32_t next = (uint32_t)stream[1];

    for (int32_t i = 0; i < 2 * quads; i++, weights += 4, columns += 4) {
        for (int32_t k = 0; k < 2; k++) {
            const int32_t x = tg_half(columns, k);
            sum = tg_mac(weights[2 * k], x, sum);
            next = tg_mac(is_joined ? tg_half(weights, k) : weights[2 * k + 1], x, next);
        }
    }
    next = is_joined ? tg_parted(next, sum) : next;
    output[0] = tg_gemm_output(sum, scale, is_relu);
    output[1] = tg_gemm_output(next, scale + (is_relu ? 2 : 3), is_relu);
}

/* A pair of channels of all 4 pixels. */
static inline void tg_gemm_pair(const int32_t *stream, const uint32_t *columns, int32_t quads, int8_t *output,
    int32_t pixel_step, int32_t is_joined, int32_t is_relu)
{
    const int32_t *const scale = stream + 2 + 2 * quads;

    for (int32_t pixel = 0; pixel < 4; pixel += 2, output += 2 * pixel_step) {
        const struct tg_gemm_sums sums = is_joined ? tg_gemm_joined_products(stream, columns + pixel, quads)
                                                   : tg_gemm_products(stream, columns + pixel, quads);
        for (int32_t lane = 0; lane < 2; lane++) {
            const int32_t *const own = scale + (is_relu ? 2 : 3) * lane;
            output[lane] = tg_gemm_output(sums.first[lane], own, is_relu);
            output[pixel_step + lane] = tg_gemm_output(sums.second[lane], own, is_relu);
        }
    }
}

#define TG_GEMM_C(name, IS_JOINED, IS_RELU)                                                                            \
    void name(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output,            \
        int32_t pixel_step)                                                                                            \
    {                                                                                                                  \
        for (int32_t pair = 0; pair < pairs; pair++, stream += 2 + 2 * quads + (IS_RELU ? 4 : 6)) {                    \
            tg_gemm_pair(stream, columns, quads, output + 2 * pair, pixel_step, IS_JOINED, IS_RELU);                   \
        }                                                                                                              \
    }

#define TG_GEMM_PIXEL_C(name, IS_JOINED, IS_RELU)                                                                      \
    void name(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output)            \
    {                                                                                                                  \
        for (int32_t pair = 0; pair < pairs; pair++, stream += 2 + 2 * quads + (IS_RELU ? 4 : 6)) {                    \
            tg_gemm_one(stream, columns, quads, output + 2 * pair, IS_JOINED, IS_RELU);                                \
        }                                                                                                              \
    }

#endif

/* clang-format off */

#if TG_NATIVE_THUMB2
#define TG_GEMM_FUNCTION(name, OUTPUTS, IS_RELU)                                                                       \
    TG_GEMM_ASSEMBLY(name, TG_GEMM_FIRST_2, TG_GEMM_2, TG_GEMM_4_BYTES, OUTPUTS)
#elif TG_NATIVE_RV32
#define TG_GEMM_FUNCTION(name, OUTPUTS, IS_RELU) TG_GEMM_RV32_FUNCTION_##IS_RELU(name)
#else
#define TG_GEMM_FUNCTION(name, OUTPUTS, IS_RELU) TG_GEMM_C(name, 0, IS_RELU)
#endif

#if TG_NATIVE_DSP
#define TG_GEMM_JOINED_FUNCTION(name, OUTPUTS, IS_RELU)                                                                \
    TG_GEMM_ASSEMBLY(name, TG_GEMM_JOINED_FIRST_2, TG_GEMM_JOINED_2, TG_GEMM_JOINED_4_BYTES, OUTPUTS)
#define TG_GEMM_PIXEL_FUNCTION(name, OUTPUTS, IS_RELU)                                                                 \
    TG_GEMM_PIXEL_ASSEMBLY(name, TG_GEMM_DOT, OUTPUTS)
#define TG_GEMM_JOINED_PIXEL_FUNCTION(name, OUTPUTS, IS_RELU)                                                          \
    TG_GEMM_PIXEL_ASSEMBLY(name, TG_GEMM_JOINED_DOT, OUTPUTS)
#else
#define TG_GEMM_JOINED_FUNCTION(name, OUTPUTS, IS_RELU) TG_GEMM_C(name, 1, IS_RELU)
#define TG_GEMM_PIXEL_FUNCTION(name, OUTPUTS, IS_RELU) TG_GEMM_PIXEL_C(name, 0, IS_RELU)
#define TG_GEMM_JOINED_PIXEL_FUNCTION(name, OUTPUTS, IS_RELU) TG_GEMM_PIXEL_C(name, 1, IS_RELU)
#endif

/* clang-format on */

#endif
