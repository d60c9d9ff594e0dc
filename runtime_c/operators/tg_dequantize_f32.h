/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * int32 sums as real numbers, and the range of these where it is asked for.
 */
#ifndef TG_DEQUANTIZE_F32_H
#define TG_DEQUANTIZE_F32_H

#include <math.h>

#include "tg_arithmetic_f32.h"
#include "tg_dynamic.h"
#include "tg_levels_f32.h"
#include "tg_range_f32.h"

#if defined(__GNUC__)
#define TG_NOINLINE __attribute__((noinline))
#else
#define TG_NOINLINE
#endif

/** Two numbers in the order in which they are multiplied: one is the scale, the other 1. */
struct tg_scales {
    float of_factor;  /* the factors of the weights are multiplied with it */
    float of_product; /* the products of sums and factors are */
};

/** Channels of one pixel; each step is rounded, so no two of them may be one expression. */
static inline void tg_dequantize_pixel(const struct tg_sums *sums, struct tg_scales scales, int has_bounds,
    const int32_t *input, float *output, struct tg_range_bits *range)
{
    struct tg_range_bits found = range ? *range : TG_RANGE_OF_ZERO;
    const int32_t step = sums->factor_step;
    const int32_t bias_step = sums->bias ? 1 : 0;
    const int32_t *const end = input + sums->channels;
    const float none = 0.0f;
    const float *factors = sums->factors;
    const float *bias = sums->bias ? sums->bias : &none;
    const struct tg_bounds_f32 bounds = sums->bounds;

    while (input < end) {
        const float factor = *factors * scales.of_factor;
        const float product = (float)*input++ * factor;
        const float scaled = product * scales.of_product;
        const float real = scaled + *bias;
        const float limited = has_bounds ? tg_limited_f32(real, &bounds) : real;
        *output++ = limited;
        if (range) {
            found = tg_range_with(found, limited);
        }
        factors += step;
        bias += bias_step;
    }
    if (range) {
        *range = found;
    }
}

/** The same, and the range: a function of its own has registers for all that the loop needs. */
static TG_NOINLINE void tg_dequantize_and_widen(const struct tg_sums *sums, struct tg_scales scales, int has_bounds,
    const int32_t *input, float *output, struct tg_range_bits *range)
{
    if (has_bounds) {
        tg_dequantize_pixel(sums, scales, 1, input, output, range);
    } else {
        tg_dequantize_pixel(sums, scales, 0, input, output, range);
    }
}

#if TG_HAS_FLOAT_VECTORS

/** Channels of all pixels of a group, side by side: those that are left of four take the other lanes for nothing. */
static inline struct tg_range_bits tg_dequantize_vectors(const struct tg_sums *sums, struct tg_scales scales,
    int has_range, const int32_t *input, float *output, struct tg_range_bits range)
{
    const int32_t left = sums->channels & 3;
    const mve_pred16_t lanes = vctp32q((uint32_t)left);
    const float32x4_t min = vdupq_n_f32(sums->bounds.min);
    const float32x4_t max = vdupq_n_f32(sums->bounds.max);
    const float *const first_factor = sums->factor_step ? sums->factors : NULL;
    const float of_all = *sums->factors * scales.of_factor;
    uint32x4_t smallest = vdupq_n_u32(range.smallest);
    int32x4_t largest = vdupq_n_s32(range.largest);

    for (int32_t pixel = 0; pixel < sums->pixels; pixel++) {
        const float *factors = first_factor;
        const float *bias = sums->bias;
        float32x4_t factor = vdupq_n_f32(of_all);
        for (int32_t quad = sums->channels >> 2; quad > 0; quad--) {
            if (factors) {
                factor = vmulq_n_f32(vldrwq_f32(factors), scales.of_factor);
                factors += 4;
            }
            float32x4_t real = vmulq_f32(vcvtq_f32_s32(vldrwq_s32(input)), factor);
            real = vmulq_n_f32(real, scales.of_product);
            if (bias) {
                real = vaddq_f32(real, vldrwq_f32(bias));
                bias += 4;
            }
            real = vminnmq_f32(vmaxnmq_f32(real, min), max);
            vstrwq_f32(output, real);
            if (has_range) {
                smallest = vmaxq_u32(smallest, vreinterpretq_u32_f32(real));
                largest = vmaxq_s32(largest, vreinterpretq_s32_f32(real));
            }
            input += 4;
            output += 4;
        }
        if (left) {
            if (factors) {
                factor = vmulq_n_f32(vldrwq_z_f32(factors, lanes), scales.of_factor);
            }
            float32x4_t real = vmulq_f32(vcvtq_f32_s32(vldrwq_z_s32(input, lanes)), factor);
            real = vmulq_n_f32(real, scales.of_product);
            if (bias) {
                real = vaddq_f32(real, vldrwq_z_f32(bias, lanes));
            }
            real = vminnmq_f32(vmaxnmq_f32(real, min), max);
            vstrwq_p_f32(output, real, lanes);
            if (has_range) {
                smallest = vmaxq_m_u32(smallest, smallest, vreinterpretq_u32_f32(real), lanes);
                largest = vmaxq_m_s32(largest, largest, vreinterpretq_s32_f32(real), lanes);
            }
            input += left;
            output += left;
        }
    }
    return (struct tg_range_bits){vmaxvq_u32(range.smallest, smallest), vmaxvq_s32(range.largest, largest)};
}

#endif

/** Pixels of a group. */
static inline struct tg_range_bits tg_dequantize_group(const struct tg_sums *sums, float scale, int has_range,
    const int32_t *input, float *output, struct tg_range_bits range)
{
    const struct tg_scales scales = {sums->factors_first ? 1.0f : scale, sums->factors_first ? scale : 1.0f};
    const int has_bounds = !isinf(sums->bounds.min) || !isinf(sums->bounds.max);

#if TG_HAS_FLOAT_VECTORS
    if (sums->is_normal && tg_suits_vectors(scale)) {
        return tg_dequantize_vectors(sums, scales, has_range, input, output, range);
    }
#endif
    for (int32_t pixel = 0; pixel < sums->pixels; pixel++) {
        if (has_range) {
            tg_dequantize_and_widen(sums, scales, has_bounds, input, output, &range);
        } else if (has_bounds) {
            tg_dequantize_pixel(sums, scales, 1, input, output, NULL);
        } else {
            tg_dequantize_pixel(sums, scales, 0, input, output, NULL);
        }
        input += sums->channels;
        output += sums->channels;
    }
    return range;
}

/** All groups. The range is that of all numbers, or where it is not asked for, nothing. */
static inline struct tg_range_bits tg_dequantize_groups(
    const struct tg_sums *sums, int has_range, const int32_t *input, const float *scale, float *output)
{
    const int32_t size = sums->pixels * sums->channels;
    struct tg_range_bits range = TG_RANGE_OF_ZERO;

    for (int32_t group = 0; group < sums->groups; group++) {
        range = tg_dequantize_group(sums, scale[group], has_range, input, output, range);
        input += size;
        output += size;
    }
    return range;
}

#endif
