/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The same for Cortex-M3; joined weights and single pixels run in C there.
 */
#ifndef TG_NATIVE_GEMM_THUMB2_H
#define TG_NATIVE_GEMM_THUMB2_H

/* assembly in columns */
/* clang-format off */

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
    "ldrd   r2, r6, [r0], #8        \n"                                                                                \
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

/* Multiplier and offset; the shift is TG_LINEAR_SHIFT. */
#define TG_GEMM_OUTPUTS_RELU                                                                                           \
    "ldrd   r10, r11, [r0], #8      \n" TG_GEMM_OUTPUT_RELU("r2") TG_GEMM_OUTPUT_RELU("r3") TG_GEMM_OUTPUT_RELU("r4")  \
        TG_GEMM_OUTPUT_RELU("r5") "ldrd   r10, r11, [r0], #8      \n" TG_GEMM_OUTPUT_RELU("r6")                        \
            TG_GEMM_OUTPUT_RELU("r7") TG_GEMM_OUTPUT_RELU("r8") TG_GEMM_OUTPUT_RELU("r9")

/* clang-format on */

#endif
