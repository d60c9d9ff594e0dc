/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Requantization in assembly, with multiplier, offset and shift in r4, r5, r12: see tg_native_gemm.h.
 */
#ifndef TG_NATIVE_PLANE_OUTPUT_H
#define TG_NATIVE_PLANE_OUTPUT_H

/* assembly in columns */
/* clang-format off */

#define TG_PLANE_OUTPUT_RELU(sum)                                                                                      \
    "smmla  " sum ", " sum ", r4, r5         \n"                                                                       \
    "ssat   " sum ", #8, " sum ", asr #2     \n"

#define TG_PLANE_OUTPUT(sum)                                                                                           \
    "add    lr, r5, " sum ", asr #31        \n" /* halves of negative values go down */                                \
    "smmlar " sum ", " sum ", r4, lr        \n"                                                                        \
    "asr    " sum ", " sum ", r12           \n"                                                                        \
    "ssat   " sum ", #8, " sum "            \n"

/* clang-format on */

#endif
