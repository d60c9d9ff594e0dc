/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Parts of tg_native_gemm in assembly for cores with the DSP extension; registers are those of tg_native_gemm_body.h.
 */
#ifndef TG_NATIVE_GEMM_DSP_H
#define TG_NATIVE_GEMM_DSP_H

/* assembly in columns */
/* clang-format off */

#define TG_GEMM_4_BYTES "112" /* of code: 4 for each instruction */
#define TG_GEMM_JOINED_4_BYTES "104"

/*
 * 14 instructions for 16 multiplications: 2 elements, 2 channels, 4 pixels. LDRD takes the time of two loads; of three in
 * a row the last two take less.
 */
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
    "ldrd   r12, lr, [r1], #8       \n"                                                                                \
    "smlad  r4, r10, r12, r4        \n"                                                                                \
    "smlad  r8, r11, r12, r8        \n"                                                                                \
    "smlad  r5, r10, lr,  r5        \n"                                                                                \
    "smlad  r9, r11, lr,  r9        \n"

/* The first ones of a pair, and the biases. */
#define TG_GEMM_FIRST_2                                                                                                \
    "ldm    r0!, {r2, r6, r10}       \n"                                                                               \
    "ldr    r12, [r1], #4            \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "sxtb16 r11, r10, ror #8         \n"                                                                               \
    "sxtb16 r10, r10                 \n"                                                                               \
    "smlad  r3, r10, lr,  r2         \n"                                                                               \
    "smlad  r7, r11, lr,  r6         \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "smlad  r4, r10, lr,  r2         \n"                                                                               \
    "smlad  r8, r11, lr,  r6         \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "smlad  r5, r10, lr,  r2         \n"                                                                               \
    "smlad  r9, r11, lr,  r6         \n"                                                                               \
    "smlad  r2, r10, r12, r2         \n"                                                                               \
    "smlad  r6, r11, r12, r6         \n"

/* 13 instructions: joined weights are multiplied as they are; r6 to r9 get 256 times channel 1 plus channel 0. */
#define TG_GEMM_JOINED_2                                                                                               \
    "ldr    r10, [r0], #4            \n" /* 256 c1[k] + c0[k], 256 c1[k'] + c0[k'] */                                  \
    "ldr    r12, [r1], #4            \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "sxtb16 r11, r10                 \n" /* c0[k] c0[k'] */                                                            \
    "smlad  r6, r10, r12, r6         \n"                                                                               \
    "smlad  r2, r11, r12, r2         \n"                                                                               \
    "smlad  r7, r10, lr,  r7         \n"                                                                               \
    "smlad  r3, r11, lr,  r3         \n"                                                                               \
    "ldrd   r12, lr, [r1], #8        \n"                                                                               \
    "smlad  r8, r10, r12, r8         \n"                                                                               \
    "smlad  r4, r11, r12, r4         \n"                                                                               \
    "smlad  r9, r10, lr,  r9         \n"                                                                               \
    "smlad  r5, r11, lr,  r5         \n"

#define TG_GEMM_JOINED_FIRST_2                                                                                         \
    "ldm    r0!, {r2, r6, r10}       \n"                                                                               \
    "ldr    r12, [r1], #4            \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "sxtb16 r11, r10                 \n"                                                                               \
    "smlad  r7, r10, lr,  r6         \n"                                                                               \
    "smlad  r3, r11, lr,  r2         \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "smlad  r8, r10, lr,  r6         \n"                                                                               \
    "smlad  r4, r11, lr,  r2         \n"                                                                               \
    "ldr    lr,  [r1], #4            \n"                                                                               \
    "smlad  r9, r10, lr,  r6         \n"                                                                               \
    "smlad  r5, r11, lr,  r2         \n"                                                                               \
    "smlad  r6, r10, r12, r6         \n"                                                                               \
    "smlad  r2, r11, r12, r2         \n"

/* From twice a sum. */
#define TG_GEMM_OUTPUT_DOUBLED(sum)                                                                                    \
    "smmlar " sum ", " sum ", r10, lr        \n"                                                                       \
    "asr    " sum ", " sum ", r12            \n"                                                                       \
    "ssat   " sum ", #8, " sum "             \n"

#define TG_GEMM_OUTPUT(sum)                                                                                            \
    "add    lr, r11, " sum ", asr #31        \n" /* halves of negative values go down */                               \
    "lsl    " sum ", " sum ", #1             \n"                                                                       \
    TG_GEMM_OUTPUT_DOUBLED(sum)

/* Of channel 1, joined with that of channel 0, which has been taken from it. */
#define TG_GEMM_OUTPUT_JOINED(sum)                                                                                     \
    "add    lr, r11, " sum ", asr #31        \n"                                                                       \
    "asr    " sum ", " sum ", #7             \n"                                                                       \
    TG_GEMM_OUTPUT_DOUBLED(sum)

#define TG_GEMM_TAKE(sum, other) "sub    " sum ", " sum ", " other "         \n"

#define TG_GEMM_OUTPUT_RELU(sum, multiplier, offset)                                                                   \
    "smmla  " sum ", " sum ", " multiplier ", " offset " \n"                                                           \
    "ssat   " sum ", #8, " sum ", asr #2     \n"

/* Multiplier and offset of both channels; the shift is TG_LINEAR_SHIFT. */
#define TG_GEMM_OUTPUTS_RELU                                                                                           \
    "ldm    r0!, {r10-r12, lr}      \n"                                                                                \
    TG_GEMM_OUTPUT_RELU("r2", "r10", "r11") TG_GEMM_OUTPUT_RELU("r3", "r10", "r11")                                    \
    TG_GEMM_OUTPUT_RELU("r4", "r10", "r11") TG_GEMM_OUTPUT_RELU("r5", "r10", "r11")                                    \
    TG_GEMM_OUTPUT_RELU("r6", "r12", "lr") TG_GEMM_OUTPUT_RELU("r7", "r12", "lr")                                      \
    TG_GEMM_OUTPUT_RELU("r8", "r12", "lr") TG_GEMM_OUTPUT_RELU("r9", "r12", "lr")

#define TG_GEMM_JOINED_OUTPUTS_RELU                                                                                    \
    TG_GEMM_TAKE("r6", "r2") TG_GEMM_TAKE("r7", "r3") TG_GEMM_TAKE("r8", "r4") TG_GEMM_TAKE("r9", "r5")                \
    "asr    r6, r6, #8              \n"                                                                                \
    "asr    r7, r7, #8              \n"                                                                                \
    "asr    r8, r8, #8              \n"                                                                                \
    "asr    r9, r9, #8              \n"                                                                                \
    TG_GEMM_OUTPUTS_RELU

#define TG_GEMM_JOINED_OUTPUTS                                                                                         \
    TG_GEMM_TAKE("r6", "r2") TG_GEMM_TAKE("r7", "r3") TG_GEMM_TAKE("r8", "r4") TG_GEMM_TAKE("r9", "r5")                \
    TG_GEMM_SCALE TG_GEMM_OUTPUT("r2") TG_GEMM_OUTPUT("r3") TG_GEMM_OUTPUT("r4") TG_GEMM_OUTPUT("r5")                  \
    TG_GEMM_SCALE TG_GEMM_OUTPUT_JOINED("r6") TG_GEMM_OUTPUT_JOINED("r7") TG_GEMM_OUTPUT_JOINED("r8")                  \
    TG_GEMM_OUTPUT_JOINED("r9")

/*
 * One pixel, for those that are no block of 4; r1 goes from word to word of its own.
 *
 * r2, r6    sums of channels 0 and 1     r3 - r5, r7  weights of both     r8 - r11  activations     lr  their end
 *
 * Frame: [sp] columns, [sp, 4] their end, [sp, 8] output, [sp, 12] its end, [sp, 16] quads
 */
#define TG_GEMM_DOT(weights, x)                                                                                        \
    "sxtb16 r12, " weights ", ror #8        \n"                                                                        \
    "sxtb16 " weights ", " weights "          \n"                                                                      \
    "smlad  r6, r12, " x ", r6          \n"                                                                            \
    "smlad  r2, " weights ", " x ", r2        \n"

#define TG_GEMM_JOINED_DOT(weights, x)                                                                                 \
    "smlad  r6, " weights ", " x ", r6        \n"                                                                      \
    "sxtb16 " weights ", " weights "          \n"                                                                      \
    "smlad  r2, " weights ", " x ", r2        \n"

#define TG_GEMM_DOT_OUTPUTS                                                                                            \
    TG_GEMM_SCALE TG_GEMM_OUTPUT("r2") TG_GEMM_SCALE TG_GEMM_OUTPUT("r6")

#define TG_GEMM_DOT_OUTPUTS_RELU                                                                                       \
    "ldm    r0!, {r10-r12, lr}        \n"                                                                              \
    TG_GEMM_OUTPUT_RELU("r2", "r10", "r11") TG_GEMM_OUTPUT_RELU("r6", "r12", "lr")

#define TG_GEMM_JOINED_DOT_OUTPUTS                                                                                     \
    TG_GEMM_TAKE("r6", "r2")                                                                                           \
    TG_GEMM_SCALE TG_GEMM_OUTPUT("r2") TG_GEMM_SCALE TG_GEMM_OUTPUT_JOINED("r6")

#define TG_GEMM_JOINED_DOT_OUTPUTS_RELU                                                                                \
    TG_GEMM_TAKE("r6", "r2")                                                                                           \
    "asr    r6, r6, #8                \n"                                                                              \
    "ldm    r0!, {r10-r12, lr}        \n"                                                                              \
    TG_GEMM_OUTPUT_RELU("r2", "r10", "r11") TG_GEMM_OUTPUT_RELU("r6", "r12", "lr")

#define TG_GEMM_PIXEL_ASSEMBLY(name, DOT, OUTPUTS)                                                                     \
    TG_NAKED void name(const int32_t *stream __attribute__((unused)), const uint32_t *columns __attribute__((unused)), \
        int32_t quads __attribute__((unused)), int32_t pairs __attribute__((unused)),                                  \
        int8_t *output __attribute__((unused)))                                                                        \
    {                                                                                                                  \
        __asm volatile(                                                                                                \
            "push   {r4-r11, lr}              \n"                                                                      \
            "sub    sp, #20                   \n"                                                                      \
            "ldr    r4, [sp, #56]             \n" /* output */                                                         \
            "add    r5, r1, r2, lsl #5        \n" /* 4 elements: 32 bytes of columns */                                \
            "add    r6, r4, r3, lsl #1        \n"                                                                      \
            "strd   r1, r5, [sp]              \n"                                                                      \
            "strd   r4, r6, [sp, #8]          \n"                                                                      \
            "str    r2, [sp, #16]             \n"                                                                      \
            "1:                               \n" /* a pair of channels */                                             \
            "ldr    r3, [sp, #16]             \n"                                                                      \
            "ldrd   r1, lr, [sp]              \n"                                                                      \
            "ldm    r0!, {r2, r6}             \n"                                                                      \
            "lsls   r3, r3, #31               \n"                                                                      \
            "beq    2f                        \n"                                                                      \
            "ldm    r0!, {r3, r4}             \n" /* 4 elements of an odd number of fours */                           \
            "ldr    r8, [r1], #16             \n"                                                                      \
            "ldr    r9, [r1], #16             \n"                                                                      \
            DOT("r3", "r8") DOT("r4", "r9")                                                                            \
            "cmp    r1, lr                    \n"                                                                      \
            "beq    3f                        \n"                                                                      \
            "2:                               \n" /* 8 elements */                                                     \
            "ldm    r0!, {r3-r5, r7}          \n"                                                                      \
            "ldr    r8, [r1], #16             \n"                                                                      \
            "ldr    r9, [r1], #16             \n"                                                                      \
            "ldr    r10, [r1], #16            \n"                                                                      \
            "ldr    r11, [r1], #16            \n"                                                                      \
            DOT("r3", "r8") DOT("r4", "r9") DOT("r5", "r10") DOT("r7", "r11")                                          \
            "cmp    r1, lr                    \n"                                                                      \
            "bne    2b                        \n"                                                                      \
            "3:                               \n"                                                                      \
            OUTPUTS                                                                                                    \
            "ldrd   r10, r11, [sp, #8]        \n"                                                                      \
            "bfi    r2, r6, #8, #8            \n"                                                                      \
            "strh   r2, [r10], #2             \n"                                                                      \
            "str    r10, [sp, #8]             \n"                                                                      \
            "cmp    r10, r11                  \n"                                                                      \
            "bne    1b                        \n"                                                                      \
            "add    sp, #20                   \n"                                                                      \
            "pop    {r4-r11, pc}              \n");                                                                    \
    }

/* clang-format on */

#endif
