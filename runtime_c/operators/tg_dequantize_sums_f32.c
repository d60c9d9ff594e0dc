/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "tg_arithmetic_f32.h"
#include "tg_dynamic.h"
#include "tg_levels_f32.h"

/** Two numbers in the order in which they are multiplied: one is the scale, the other 1. */
struct scales {
    float of_factor;  /* the factors of the weights are multiplied with it */
    float of_product; /* the products of sums and factors are */
};

static struct scales scales_of(const struct tg_sums *sums, float scale)
{
    return sums->factors_first ? (struct scales){1.0f, scale} : (struct scales){scale, 1.0f};
}

/** Channels of one pixel; each step is rounded, so no two of them may be one expression. */
static inline void dequantize_pixel(
    const struct tg_sums *sums, struct scales scales, int has_bounds, const int32_t *input, float *output)
{
    const int32_t channels = sums->channels;
    const int32_t step = sums->factor_step;
    const int32_t bias_step = sums->bias ? 1 : 0;
    const float none = 0.0f;
    const float *factors = sums->factors;
    const float *bias = sums->bias ? sums->bias : &none;
    const struct tg_bounds_f32 bounds = sums->bounds;

    for (int32_t channel = 0; channel < channels; channel++) {
        const float factor = *factors * scales.of_factor;
        const float product = (float)input[channel] * factor;
        const float scaled = product * scales.of_product;
        const float real = scaled + *bias;
        output[channel] = has_bounds ? tg_limited_f32(real, &bounds) : real;
        factors += step;
        bias += bias_step;
    }
}

static void dequantize(const struct tg_sums *sums, float scale, const int32_t *input, float *output)
{
    if (isinf(sums->bounds.min) && isinf(sums->bounds.max)) {
        dequantize_pixel(sums, scales_of(sums, scale), 0, input, output);
    } else {
        dequantize_pixel(sums, scales_of(sums, scale), 1, input, output);
    }
}

#if TG_HAS_FLOAT_VECTORS

static void dequantize_vectors(const struct tg_sums *sums, float scale, const int32_t *input, float *output)
{
    const struct scales scales = scales_of(sums, scale);
    const int32_t channels = sums->channels;
    const float *const factors = sums->factors;
    const float *const bias = sums->bias;
    const int has_factors = sums->factor_step == 1;
    const float32x4_t min = vdupq_n_f32(sums->bounds.min);
    const float32x4_t max = vdupq_n_f32(sums->bounds.max);
    float32x4_t factor = vmulq_n_f32(vdupq_n_f32(*factors), scales.of_factor);

    for (int32_t channel = 0; channel < channels; channel += 4) {
        const mve_pred16_t lanes = vctp32q((uint32_t)(channels - channel));
        const float32x4_t sum = vcvtq_f32_s32(vldrwq_z_s32(input + channel, lanes));
        if (has_factors) {
            factor = vmulq_n_f32(vldrwq_z_f32(factors + channel, lanes), scales.of_factor);
        }
        float32x4_t real = vmulq_n_f32(vmulq_f32(sum, factor), scales.of_product);
        if (bias) {
            real = vaddq_f32(real, vldrwq_z_f32(bias + channel, lanes));
        }
        vstrwq_p_f32(output + channel, vminnmq_f32(vmaxnmq_f32(real, min), max), lanes);
    }
}

#else

#define dequantize_vectors dequantize

#endif

void tg_dequantize_sums_f32(const struct tg_sums *sums, const int32_t *input, const float *scale, float *output)
{
    for (int32_t group = 0; group < sums->groups; group++) {
        const int takes_vectors = sums->is_normal && tg_suits_vectors(scale[group]);
        for (int32_t pixel = 0; pixel < sums->pixels; pixel++) {
            if (takes_vectors) {
                dequantize_vectors(sums, scale[group], input, output);
            } else {
                dequantize(sums, scale[group], input, output);
            }
            input += sums->channels;
            output += sums->channels;
        }
    }
}
