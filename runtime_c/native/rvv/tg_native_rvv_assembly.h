/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What products of 4 pixels and of one share: channels are lanes, some vectors of them at a time.
 */
#ifndef TG_NATIVE_RVV_ASSEMBLY_H
#define TG_NATIVE_RVV_ASSEMBLY_H

#include "tg_native_arithmetic.h"
#include "tg_native_rv32.h"
#include "tg_native_rvv_products.h"

#if TG_NATIVE_RV32 && defined(__riscv_zve32x)
#define TG_NATIVE_RVV 1
#else
#define TG_NATIVE_RVV 0
#endif

/* What all products are given: in C by these names, in assembly as a0 to a3. */
#define TG_RVV_ARGUMENTS                                                                                               \
    const struct tg_rvv_filters *filters __attribute__((unused)), const int8_t *windows __attribute__((unused)),       \
        int32_t step __attribute__((unused)), int8_t *output __attribute__((unused))

/* assembly in columns */
/* clang-format off */

/*
 * s0  weights       s1  scales        s2  channels      s3  elements
 * s4  least         s5  largest       s6  bytes of a scale's channels
 * s7  channels that are left          a1, a4, a5, a6    windows of 4 pixels
 * a3, s8, s9, s10   their outputs     t0  channels at once
 */
#define TG_RVV_ENTER                                                                                                   \
    TG_RV32_ENTER                                                                                                      \
    ".option push                    \n"                                                                               \
    ".option arch, +zicsr            \n"                                                                               \
    "csrwi  vxrm, 0                  \n" /* halves go up */                                                            \
    ".option pop                     \n"                                                                               \
    "lw     s2, 8(a0)                \n"                                                                               \
    "lw     s3, 12(a0)               \n"                                                                               \
    "lw     s4, 16(a0)               \n"                                                                               \
    "lw     s5, 20(a0)               \n"                                                                               \
    "lw     s1, 4(a0)                \n"                                                                               \
    "lw     s0, 0(a0)                \n"                                                                               \
    "slli   s6, s2, 2                \n"                                                                               \
    "mv     s7, s2                   \n"

#define TG_RVV_WINDOWS_4                                                                                               \
    "add    a4, a1, a2               \n"                                                                               \
    "add    a5, a4, a2               \n"                                                                               \
    "add    a6, a5, a2               \n"                                                                               \
    "add    s8, a3, s2               \n"                                                                               \
    "add    s9, s8, s2               \n"                                                                               \
    "add    s10, s9, s2              \n"

/* Requantized: the first rounding, the offset, 1 less below zero, the second rounding. `sign` is free. */
#define TG_RVV_SCALED(sum, sign, multiplier, offset)                                                                   \
    "vsra.vi " sign ", " sum ", 31   \n"                                                                               \
    "vsmul.vv " sum ", " sum ", " multiplier "\n"                                                                      \
    "vadd.vv " sign ", " sign ", " offset "\n"                                                                         \
    "vadd.vv " sum ", " sum ", " sign "\n"

#define TG_RVV_STORED(bytes, halves, output)                                                                           \
    "vnclip.wi " bytes ", " halves ", 0\n"                                                                             \
    "vmax.vx " bytes ", " bytes ", s4\n"                                                                               \
    "vmin.vx " bytes ", " bytes ", s5\n"                                                                               \
    "vse8.v " bytes ", (" output ")  \n"                                                                               \
    "add    " output ", " output ", t0\n"

/* Sums v8, v12, v16, v20 of 4 pixels begin with their biases; 16-bit values are half as long. */
#define TG_RVV_FIRST_4                                                                                                 \
    "1:                              \n"                                                                               \
    "vsetvli t0, s7, e32, m4, ta, ma \n"                                                                               \
    "vle32.v v8, (s1)                \n"                                                                               \
    "vmv.v.v v12, v8                 \n"                                                                               \
    "vmv.v.v v16, v8                 \n"                                                                               \
    "vmv.v.v v20, v8                 \n"                                                                               \
    "mv     t2, s0                   \n"                                                                               \
    "mv     t3, a1                   \n"                                                                               \
    "mv     t4, a4                   \n"                                                                               \
    "mv     t5, a5                   \n"                                                                               \
    "mv     t6, a6                   \n"                                                                               \
    "vsetvli zero, t0, e16, m2, ta, ma\n"

/* Multipliers v4, offsets v24, shifts v28. */
#define TG_RVV_LAST_4                                                                                                  \
    "vsetvli zero, t0, e32, m4, ta, ma\n"                                                                              \
    "add    t1, s1, s6               \n"                                                                               \
    "vle32.v v4, (t1)                \n"                                                                               \
    "add    t1, t1, s6               \n"                                                                               \
    "vle32.v v24, (t1)               \n"                                                                               \
    "add    t1, t1, s6               \n"                                                                               \
    "vle32.v v28, (t1)               \n"                                                                               \
    TG_RVV_SCALED("v8", "v0", "v4", "v24") "vsra.vv v8, v8, v28             \n"                                        \
    TG_RVV_SCALED("v12", "v0", "v4", "v24") "vsra.vv v12, v12, v28           \n"                                       \
    TG_RVV_SCALED("v16", "v0", "v4", "v24") "vsra.vv v16, v16, v28           \n"                                       \
    TG_RVV_SCALED("v20", "v0", "v4", "v24") "vsra.vv v20, v20, v28           \n"                                       \
    "vsetvli zero, t0, e16, m2, ta, ma\n"                                                                              \
    "vnclip.wi v0, v8, 0             \n"                                                                               \
    "vnclip.wi v2, v12, 0            \n"                                                                               \
    "vnclip.wi v4, v16, 0            \n"                                                                               \
    "vnclip.wi v6, v20, 0            \n"                                                                               \
    "vsetvli zero, t0, e8, m1, ta, ma\n"                                                                               \
    TG_RVV_STORED("v24", "v0", "a3") TG_RVV_STORED("v25", "v2", "s8")                                                  \
    TG_RVV_STORED("v26", "v4", "s9") TG_RVV_STORED("v27", "v6", "s10")

/* The sums of one pixel, twice as many channels at once: v8. */
#define TG_RVV_FIRST_1                                                                                                 \
    "1:                              \n"                                                                               \
    "vsetvli t0, s7, e32, m8, ta, ma \n"                                                                               \
    "vle32.v v8, (s1)                \n"                                                                               \
    "mv     t2, s0                   \n"                                                                               \
    "mv     t3, a1                   \n"                                                                               \
    "vsetvli zero, t0, e16, m4, ta, ma\n"

#define TG_RVV_LAST_1                                                                                                  \
    "vsetvli zero, t0, e32, m8, ta, ma\n"                                                                              \
    "add    t1, s1, s6               \n"                                                                               \
    "vle32.v v16, (t1)               \n"                                                                               \
    "add    t1, t1, s6               \n"                                                                               \
    "vle32.v v24, (t1)               \n"                                                                               \
    TG_RVV_SCALED("v8", "v0", "v16", "v24")                                                                            \
    "add    t1, t1, s6               \n"                                                                               \
    "vle32.v v16, (t1)               \n"                                                                               \
    "vsra.vv v8, v8, v16             \n"                                                                               \
    "vsetvli zero, t0, e16, m4, ta, ma\n"                                                                              \
    "vnclip.wi v16, v8, 0            \n"                                                                               \
    "vsetvli zero, t0, e8, m2, ta, ma\n"                                                                               \
    TG_RVV_STORED("v24", "v16", "a3")

/* On to the channels that are left. */
#define TG_RVV_NEXT                                                                                                    \
    "add    s0, s0, t0               \n"                                                                               \
    "slli   t1, t0, 2                \n"                                                                               \
    "add    s1, s1, t1               \n"                                                                               \
    "sub    s7, s7, t0               \n"                                                                               \
    "bnez   s7, 1b                   \n"                                                                               \
    TG_RV32_LEAVE

/* clang-format on */

/** The output of a sum, as `TG_RVV_SCALED` and `TG_RVV_STORED` have it; `scales`: from the channel's bias on. */
static inline int8_t tg_rvv_output(const struct tg_rvv_filters *filters, int32_t sum, const int32_t *scales)
{
    const int32_t channels = filters->channels;
    const int32_t high = (int32_t)(((int64_t)sum * scales[channels] + (1 << 30)) >> 31);
    int32_t value = (high + scales[2 * channels] - (sum < 0)) >> scales[3 * channels];

    value = value > filters->max ? filters->max : value;
    return (int8_t)(value < filters->min ? filters->min : value);
}

#endif
