/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bytes that vectors move, 8 registers at once.
 */
#include "tg_native_rvv_assembly.h"

#if TG_NATIVE_RVV

/* assembly in columns */
/* clang-format off */

/* a0 to, a1 its step, a2 from, a3 its step, a4 rows, a5 bytes of a row; t1 bytes that are left */
TG_NAKED void tg_native_rvv_copy(int8_t *to __attribute__((unused)), int32_t to_step __attribute__((unused)),
    const int8_t *from __attribute__((unused)), int32_t from_step __attribute__((unused)),
    int32_t rows __attribute__((unused)), int32_t count __attribute__((unused)))
{
    __asm__ volatile(
    "sub    a1, a1, a5               \n"
    "sub    a3, a3, a5               \n"
    "1:                              \n"
    "mv     t1, a5                   \n"
    "2:                              \n"
    "vsetvli t0, t1, e8, m8, ta, ma  \n"
    "vle8.v v0, (a2)                 \n"
    "add    a2, a2, t0               \n"
    "vse8.v v0, (a0)                 \n"
    "add    a0, a0, t0               \n"
    "sub    t1, t1, t0               \n"
    "bnez   t1, 2b                   \n"
    "add    a0, a0, a1               \n"
    "add    a2, a2, a3               \n"
    "addi   a4, a4, -1               \n"
    "bnez   a4, 1b                   \n"
    "ret                             \n");
}

TG_NAKED void tg_native_rvv_fill(int8_t *to __attribute__((unused)), int32_t value __attribute__((unused)),
    int32_t count __attribute__((unused)))
{
    __asm__ volatile(
    "vsetvli t0, zero, e8, m8, ta, ma\n"
    "vmv.v.x v0, a1                  \n"
    "1:                              \n"
    "vsetvli t0, a2, e8, m8, ta, ma  \n"
    "vse8.v v0, (a0)                 \n"
    "add    a0, a0, t0               \n"
    "sub    a2, a2, t0               \n"
    "bnez   a2, 1b                   \n"
    "ret                             \n");
}

/* clang-format on */

#else

void tg_native_rvv_copy(int8_t *to, int32_t to_step, const int8_t *from, int32_t from_step, int32_t rows, int32_t count)
{
    for (int32_t row = 0; row < rows; row++) {
        memcpy(to + row * to_step, from + row * from_step, (size_t)count);
    }
}

void tg_native_rvv_fill(int8_t *to, int32_t value, int32_t count)
{
    memset(to, value, (size_t)count);
}

#endif
