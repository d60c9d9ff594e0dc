/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd_multiply.h"

#if TG_NATIVE_DSP

/* clang-format off */

/* r6 - r9  weights of two elements of channel 0 and 1, then of two more; r10 - lr  so of tile 0 and 1. 10 instructions
 * for 16 multiplications. */
#define FOUR(FIRST, SECOND)                                                                                            \
    "ldm    r0!, {r6-r9}            \n"                                                                                \
    "ldm    r1!, {r10-r12, lr}      \n"                                                                                \
    FIRST("r2", "r6", "r10") FIRST("r3", "r6", "r11") FIRST("r4", "r7", "r10") FIRST("r5", "r7", "r11")                \
    SECOND("r2", "r8", "r12") SECOND("r3", "r8", "lr") SECOND("r4", "r9", "r12") SECOND("r5", "r9", "lr")

#define FIRST_4 FOUR(TG_WINOGRAD_PRODUCT, TG_WINOGRAD_ADDED)
#define NEXT_4 FOUR(TG_WINOGRAD_ADDED, TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_2, "4", FIRST_4, NEXT_4, "r2-r5")

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_2, 2)

#endif
