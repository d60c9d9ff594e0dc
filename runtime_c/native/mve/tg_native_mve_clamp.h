/*
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef TG_NATIVE_MVE_CLAMP_H
#define TG_NATIVE_MVE_CLAMP_H

#include "tg_native_mve_arithmetic.h"

/** Limits bytes to [min, max]; nothing to do where that is the whole range. */
static inline void tg_mve_clamp(int8_t *values, int32_t size, int32_t min, int32_t max)
{
    if (min == INT8_MIN && max == INT8_MAX) {
        return;
    }
#if TG_NATIVE_MVE
    __asm volatile("vdup.8 q1, %[min]                       \n"
                   "vdup.8 q2, %[max]                       \n"
                   "wlstp.8 lr, %[size], 2f                 \n"
                   "1:                                      \n"
                   "vldrb.u8 q0, [%[values]]                \n"
                   "vmax.s8 q0, q0, q1                      \n"
                   "vmin.s8 q0, q0, q2                      \n"
                   "vstrb.8 q0, [%[values]], #16            \n"
                   "letp   lr, 1b                           \n"
                   "2:                                      \n"
        : [values] "+r"(values)
        : [size] "r"(size), [min] "r"(min), [max] "r"(max)
        : "lr", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "cc", "memory");
#else
    for (int32_t i = 0; i < size; i++) {
        values[i] = (int8_t)(values[i] < min ? min : values[i] > max ? max : values[i]);
    }
#endif
}

#endif
