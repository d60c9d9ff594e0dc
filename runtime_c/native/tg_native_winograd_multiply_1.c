/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_winograd_multiply.h"

#if TG_NATIVE_DSP

/* clang-format off */

/* r4 - r7  weights of two elements of channel 0 and 1, then of two more; r8, r9  values. 6 instructions for 8
 * multiplications. */
#define FOUR(FIRST, SECOND)                                                                                            \
    "ldm    r0!, {r4-r7}            \n"                                                                                \
    "ldm    r1!, {r8, r9}           \n"                                                                                \
    FIRST("r2", "r4", "r8") FIRST("r3", "r5", "r8") SECOND("r2", "r6", "r9") SECOND("r3", "r7", "r9")

#define FIRST_4 FOUR(TG_WINOGRAD_PRODUCT, TG_WINOGRAD_ADDED)
#define NEXT_4 FOUR(TG_WINOGRAD_ADDED, TG_WINOGRAD_ADDED)

/* clang-format on */

TG_WINOGRAD_MULTIPLY(tg_native_winograd_multiply_1, "3", FIRST_4, NEXT_4, "r2, r3")

#else

TG_WINOGRAD_MULTIPLY_C(tg_native_winograd_multiply_1, 1)

#endif
