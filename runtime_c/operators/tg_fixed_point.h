/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic that tinygen's own operators share.
 */
#ifndef TG_FIXED_POINT_H
#define TG_FIXED_POINT_H

#include <stdint.h>

/**
 * value * multiplier * 2^(shift - 31), rounded twice as TFLite Micro and CMSIS-NN do: the product to the nearest (ties
 * up), the right shift to the nearest (ties away from zero). multiplier >= 0, shift in -31..30; a left shift wraps.
 */
static inline int32_t tg_scale(int32_t value, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = left - shift;
    const int64_t product = (int64_t)(int32_t)((uint32_t)value << left) * multiplier;
    const int32_t high = (int32_t)((product + (1 << 30)) >> 31);
    const uint32_t fraction = (uint32_t)high & ((1U << right) - 1U);
    const uint32_t tie = (((1U << right) - 1U) >> 1) + (high < 0 ? 1U : 0U);

    return (high >> right) + (fraction > tie ? 1 : 0);
}

/** The nearest int8 value. */
static inline int8_t tg_saturate_s8(int32_t value)
{
    if (value < INT8_MIN) {
        return INT8_MIN;
    }
    return (int8_t)(value > INT8_MAX ? INT8_MAX : value);
}

/** The value, or the nearest end of the range, which lies within int8. */
static inline int8_t tg_clamp_s8(int32_t value, int32_t min, int32_t max)
{
    if (value < min) {
        return (int8_t)min;
    }
    return (int8_t)(value > max ? max : value);
}

/** value + zero_point modulo 2^32, as TFLite Micro and CMSIS-NN add it, or the nearest end of the range within int8. */
static inline int8_t tg_stored_s8(int32_t value, int32_t zero_point, int32_t min, int32_t max)
{
    return tg_clamp_s8((int32_t)((uint32_t)value + (uint32_t)zero_point), min, max);
}

/** The same within all of int8. */
static inline int8_t tg_offset_s8(int32_t value, int32_t zero_point)
{
    return tg_stored_s8(value, zero_point, INT8_MIN, INT8_MAX);
}

/** tg_clamp_s8() within int16. */
static inline int16_t tg_clamp_s16(int32_t value, int32_t min, int32_t max)
{
    if (value < min) {
        return (int16_t)min;
    }
    return (int16_t)(value > max ? max : value);
}

/** The nearest int16 value. */
static inline int32_t tg_saturate_s16(int32_t value)
{
#if defined(__ARM_FEATURE_SAT)
    int32_t nearest;

    __asm__("ssat %0, #16, %1" : "=r"(nearest) : "r"(value));
    return nearest;
#else
    return tg_clamp_s16(value, INT16_MIN, INT16_MAX);
#endif
}

#endif
