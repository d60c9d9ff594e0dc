/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * From int32 accumulators to int8 outputs: the double rounding that TFLite Micro and CMSIS-NN share.
 */
#ifndef TG_REQUANTIZE_H
#define TG_REQUANTIZE_H

#include "arm_nn_types.h"
#include "tg_portable_names.h"

/** Sum modulo 2^32: accumulators wrap as they do in hardware, which C leaves undefined for signed types. */
static inline int32_t wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

/**
 * value * multiplier / 2^31 * 2^shift, for shift in -31..30.
 *
 * Rounds twice: the product to the nearest (ties up), the right shift to the nearest (ties away from zero). A left
 * shift comes before the product and wraps.
 */
static inline int32_t requantize_inline(int32_t value, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = left - shift;
    const int64_t product = (int64_t)(int32_t)((uint32_t)value << left) * multiplier;
    const int32_t high = (int32_t)((product + (1 << 30)) >> 31);
    const uint32_t mask = (1U << right) - 1U;
    const uint32_t tie = (mask >> 1) + (high < 0 ? 1U : 0U);
    return (high >> right) + (((uint32_t)high & mask) > tie ? 1 : 0);
}

/** requantize_inline() as a function that all kernels of a program share. */
int32_t tg_requantize(int32_t value, int32_t multiplier, int32_t shift);

/** The shared function where size counts, inline code where speed does. */
static inline int32_t requantize(int32_t value, int32_t multiplier, int32_t shift)
{
#ifdef __OPTIMIZE_SIZE__
    return tg_requantize(value, multiplier, shift);
#else
    return requantize_inline(value, multiplier, shift);
#endif
}

/** The value, or the nearest end of the range. */
static inline int8_t clamp_s8(int32_t value, int32_t min, int32_t max)
{
    value = value > min ? value : min;
    return (int8_t)(value < max ? value : max);
}

/** The same for int16. */
static inline int16_t clamp_s16(int32_t value, int32_t min, int32_t max)
{
    value = value > min ? value : min;
    return (int16_t)(value < max ? value : max);
}

#endif
