/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Rows of bytes, moved by vectors.
 */
#ifndef TG_NATIVE_MVE_COPY_H
#define TG_NATIVE_MVE_COPY_H

#include "tg_native_mve_arithmetic.h"

#define TG_MVE_CLOBBERS "lr", "s0", "s1", "s2", "s3", "cc", "memory"

/** Copies `rows` rows of `count` bytes; steps are bytes between rows. */
static inline void tg_mve_copy_rows(
    int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t rows, int32_t count)
{
#if TG_NATIVE_MVE
    if (count <= 16) {
        __asm volatile("vctp.8 %[count]                         \n"
                       "wls    lr, %[rows], 2f                  \n"
                       "1:                                      \n"
                       "vpstt                                   \n"
                       "vldrbt.u8 q0, [%[from]]                 \n"
                       "vstrbt.8 q0, [%[to]]                    \n"
                       "add    %[from], %[from_step]            \n"
                       "add    %[to], %[to_step]                \n"
                       "le     lr, 1b                           \n"
                       "2:                                      \n"
            : [to] "+r"(to), [from] "+r"(from)
            : [to_step] "r"(to_step), [from_step] "r"(from_step), [rows] "r"(rows), [count] "r"(count)
            : TG_MVE_CLOBBERS);
        return;
    }
    for (; rows > 0; rows--, to += to_step, from += from_step) {
        const int8_t *row = from;
        int8_t *next = to;
        __asm volatile("wlstp.8 lr, %[count], 2f                \n"
                       "1:                                      \n"
                       "vldrb.u8 q0, [%[row]], #16              \n"
                       "vstrb.8 q0, [%[next]], #16              \n"
                       "letp   lr, 1b                           \n"
                       "2:                                      \n"
            : [row] "+r"(row), [next] "+r"(next)
            : [count] "r"(count)
            : TG_MVE_CLOBBERS);
    }
#else
    for (; rows > 0; rows--, to += to_step, from += from_step) {
        for (int32_t i = 0; i < count; i++) {
            to[i] = from[i];
        }
    }
#endif
}

/** Sets `rows` rows of `count` bytes. */
static inline void tg_mve_fill_rows(int8_t *to, int32_t to_step, int32_t value, int32_t rows, int32_t count)
{
#if TG_NATIVE_MVE
    for (; rows > 0; rows--, to += to_step) {
        int8_t *next = to;
        __asm volatile("vdup.8 q0, %[value]                     \n"
                       "wlstp.8 lr, %[count], 2f                \n"
                       "1:                                      \n"
                       "vstrb.8 q0, [%[next]], #16              \n"
                       "letp   lr, 1b                           \n"
                       "2:                                      \n"
            : [next] "+r"(next)
            : [value] "r"(value), [count] "r"(count)
            : TG_MVE_CLOBBERS);
    }
#else
    for (; rows > 0; rows--, to += to_step) {
        for (int32_t i = 0; i < count; i++) {
            to[i] = (int8_t)value;
        }
    }
#endif
}

#endif
