/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd_multiply.h"

#if TG_NATIVE_DSP

/* clang-format off */

/* r10, r11  weights of channel 0 and 1; r12, lr  values of two tiles. 14 instructions for 16 multiplications. */
#define TWO(MULTIPLY)                                                                                                  \
    "ldr    r10, [r0], #4           \n"                                                                                \
    "ldr    r11, [r0], #4           \n"                                                                                \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    MULTIPLY("r2", "r10", "r12") MULTIPLY("r6", "r11", "r12") MULTIPLY("r3", "r10", "lr") MULTIPLY("r7", "r11", "lr")  \
    "ldr    r12, [r1], #4           \n"                                                                                \
    "ldr    lr,  [r1], #4           \n"                                                                                \
    MULTIPLY("r4", "r10", "r12") MULTIPLY("r8", "r11", "r12") MULTIPLY("r5", "r10", "lr") MULTIPLY("r9", "r11", "lr")

#define FIRST_4 TWO(TG_WINOGRAD_PRODUCT) TWO(TG_WINOGRAD_ADDED)
#define NEXT_4 TWO(TG_WINOGRAD_ADDED) TWO(TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_4, "5", FIRST_4, NEXT_4, "r2-r9")

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_4, 4)

#endif
