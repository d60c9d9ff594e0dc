/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of up to four units of a recurrent layer, side by side: vectors where the core has them.
 */
#ifndef TG_UNITS_H
#define TG_UNITS_H

#include "tg_fixed_point.h"
#include "tg_sigmoid.h"

/* Units whose numbers are computed side by side. */
#define TG_UNITS 4

#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 1)

#include <arm_mve.h>

static inline int32x4_t tg_saturated_units(int32x4_t values)
{
    return vmovlbq_s16(vqmovnbq_s32(vreinterpretq_s16_s32(values), values)); /* no limits to load */
}

/* As tg_scale(). */
static inline int32x4_t tg_scaled_units(int32x4_t values, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift - left;
    const int32x4_t high = vqrdmulhq_n_s32(vshlq_r_s32(values, left), multiplier);
    const int32x4_t away = vshrq_n_s32(vandq_s32(high, vdupq_n_s32(right)), 31); /* -1 for what is negative */

    return vrshlq_n_s32(vqaddq_s32(high, away), right);
}

/* As tg_sigmoid_above_half(). */
static inline int32x4_t tg_above_half_units(const int16_t *table, int32x4_t magnitudes, int32_t bits, int32_t last)
{
    const uint32x4_t all = (uint32x4_t)vshlq_r_s32(magnitudes, -bits);
    const uint32x4_t index = vminq_u32(all, vdupq_n_u32(254));
    const int32x4_t first = vldrhq_gather_shifted_offset_s32(table, index);
    const int32x4_t second = vldrhq_gather_shifted_offset_s32(table + 1, index);
    const int32x4_t part = vandq_s32(magnitudes, vdupq_n_s32((1 << bits) - 1));
    const int32x4_t value = vmlaq_n_s32(vmulq_s32(part, vsubq_s32(second, first)), first, 1 << bits);

    return vpselq_s32(vdupq_n_s32(last << bits), value, vcmphiq_n_u32(all, 254));
}

/* As tg_sigmoid_of(), in place. */
static inline void tg_sigmoid_units(const int16_t *table, int32_t *positions, int32_t count)
{
    const int32x4_t own = vldrwq_s32(positions);
    const int32x4_t value = tg_above_half_units(table, vabsq_s32(own), 9, INT16_MAX - 1);
    const mve_pred16_t is_negative = vcmpltq_n_s32(own, 0);
    const int32x4_t above = vaddq_n_s32(value, (1 << 24) + 512);
    const int32x4_t below = vsubq_s32(vdupq_n_s32((1 << 24) + 511), value);
    (void)count;

    vstrwq_s32(positions, vshrq_n_s32(vpselq_s32(below, above, is_negative), 10));
}

/* As tg_tanh_of(), in place. */
static inline void tg_tanh_units(const int16_t *table, int32_t *positions, int32_t count)
{
    const int32x4_t own = vldrwq_s32(positions);
    const int32x4_t value = tg_above_half_units(table, vabsq_s32(own), 8, INT16_MAX);
    const mve_pred16_t is_negative = vcmpltq_n_s32(own, 0);
    const int32x4_t above = vaddq_n_s32(value, 128);
    const int32x4_t below = vsubq_s32(vdupq_n_s32(127), value);
    (void)count;

    vstrwq_s32(positions, vshrq_n_s32(vpselq_s32(below, above, is_negative), 8));
}

/* Scales numbers and saturates them to 16 bits, in place. */
static inline void tg_scale_units(int32_t *values, int32_t count, int32_t multiplier, int32_t shift)
{
    (void)count;
    vstrwq_s32(values, tg_saturated_units(tg_scaled_units(vldrwq_s32(values), multiplier, shift)));
}

/* Adds numbers and saturates the sums to 16 bits, in place. */
static inline void tg_add_units(int32_t *values, const int32_t *others, int32_t count)
{
    (void)count;
    vstrwq_s32(values, tg_saturated_units(vaddq_s32(vldrwq_s32(values), vldrwq_s32(others))));
}

/* Multiplies numbers, in place. */
static inline void tg_multiply_units(int32_t *values, const int32_t *others, int32_t count)
{
    (void)count;
    vstrwq_s32(values, vmulq_s32(vldrwq_s32(values), vldrwq_s32(others)));
}

/* Multiplies numbers with one, in place. */
static inline void tg_multiply_units_by(int32_t *values, int32_t factor, int32_t count)
{
    (void)count;
    vstrwq_s32(values, vmulq_n_s32(vldrwq_s32(values), factor));
}

#else

static inline void tg_sigmoid_units(const int16_t *table, int32_t *positions, int32_t count)
{
    for (int32_t each = 0; each < count; each++) {
        positions[each] = tg_sigmoid_of(table, positions[each]);
    }
}

static inline void tg_tanh_units(const int16_t *table, int32_t *positions, int32_t count)
{
    for (int32_t each = 0; each < count; each++) {
        positions[each] = tg_tanh_of(table, positions[each]);
    }
}

static inline void tg_scale_units(int32_t *values, int32_t count, int32_t multiplier, int32_t shift)
{
    for (int32_t each = 0; each < count; each++) {
        values[each] = tg_saturate_s16(tg_scale(values[each], multiplier, shift));
    }
}

static inline void tg_add_units(int32_t *values, const int32_t *others, int32_t count)
{
    for (int32_t each = 0; each < count; each++) {
        values[each] = tg_saturate_s16(values[each] + others[each]);
    }
}

static inline void tg_multiply_units(int32_t *values, const int32_t *others, int32_t count)
{
    for (int32_t each = 0; each < count; each++) {
        values[each] *= others[each];
    }
}

static inline void tg_multiply_units_by(int32_t *values, int32_t factor, int32_t count)
{
    for (int32_t each = 0; each < count; each++) {
        values[each] *= factor;
    }
}

#endif

#endif
