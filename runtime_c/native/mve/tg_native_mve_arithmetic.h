/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What the MVE kernels share: for the host and other cores, C with the results of their instructions.
 */
#ifndef TG_NATIVE_MVE_ARITHMETIC_H
#define TG_NATIVE_MVE_ARITHMETIC_H

#include <stdint.h>

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)
#define TG_NATIVE_MVE 1
#else
#define TG_NATIVE_MVE 0
#endif

#define TG_MVE_NAKED __attribute__((naked, noinline, aligned(4))) /* adr counts in words */
#define TG_MVE_TEXT(value) TG_MVE_TEXT_OF(value)
#define TG_MVE_TEXT_OF(value) #value

/** sum + value * weight, modulo 2**32. */
static inline int32_t tg_mve_mac(int32_t sum, int32_t value, int32_t weight)
{
    return (int32_t)((uint32_t)sum + (uint32_t)value * (uint32_t)weight);
}

/**
 * A sum requantized and clamped. `shift` is negative, to the right. Halves go away from zero; with `is_relu` they go
 * up, which is the same where the clamp hides negative values.
 */
static inline int8_t tg_mve_requantized(
    int32_t sum, int32_t multiplier, int32_t shift, int32_t is_relu, int32_t zero_point, int32_t min, int32_t max)
{
    const int64_t scaled = ((int64_t)sum * multiplier + (1 << 30)) >> 31;
    const int64_t lowered = scaled - (!is_relu && scaled < 0);
    const int64_t half = shift < 0 ? (int64_t)1 << (-shift - 1) : 0;
    const int64_t value = ((lowered + half) >> -shift) + zero_point;

    return (int8_t)(value < min ? min : value > max ? max : value);
}

#endif
