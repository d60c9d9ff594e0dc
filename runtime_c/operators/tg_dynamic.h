/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Quantization at run time: from the range of float32 numbers to int8, and from int32 sums back to float32.
 *
 * A tensor is so many rows of equal size, each with a scale and a zero point of its own.
 */
#ifndef TG_DYNAMIC_H
#define TG_DYNAMIC_H

#include <stdint.h>

#include "tg_float.h"
#include "tg_operator_names.h"

/** Rows, and their elements. */
struct tg_rows {
    int32_t count;
    int32_t size;
};

/** Of numbers and 0. */
struct tg_range {
    float smallest;
    float largest;
};

/** The range of numbers and of those before; `is_first` where there are none before. NaN has no part in it. */
void tg_widen_range_f32(const float *input, int32_t size, int32_t is_first, struct tg_range *range);

/** What the functions below make of ranges that are known. */
void tg_scale_asymmetric_f32(const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point);
void tg_scale_symmetric_f32(
    const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point, float *inverse);
void tg_scale_litert_f32(
    const struct tg_range *ranges, int32_t count, float *scale, int8_t *zero_point, float *inverse);

/** The range with 0 in 255 steps, its smallest number at -128; of zeros alone the scale is 1. NaN has no part in it. */
void tg_range_asymmetric_f32(const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point);

/** The largest magnitude in 127 steps, and unless `inverse` is NULL 127 / magnitude; the zero point is 0. */
void tg_range_symmetric_f32(
    const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point, float *inverse);

/** The range with 0 in 255 steps, from the end that gives the smaller error, as in LiteRT; `inverse` is 1 / scale. */
void tg_range_litert_f32(
    const struct tg_rows *rows, const float *input, float *scale, int8_t *zero_point, float *inverse);

/** input / scale, halves rounded to even, plus zero point; NaN becomes -128. */
void tg_quantize_rows_f32_s8(
    const struct tg_rows *rows, const float *input, const float *scale, const int8_t *zero_point, int8_t *output);

/** input * inverse, one half added and the rest cut off, plus zero point; NaN becomes -128. */
void tg_multiply_rows_f32_s8(
    const struct tg_rows *rows, const float *input, const float *inverse, const int8_t *zero_point, int8_t *output);

/** (input - zero point) * scale. */
void tg_dequantize_rows_s8_f32(
    const struct tg_rows *rows, const int8_t *input, const float *scale, const int8_t *zero_point, float *output);

/** How sums become real numbers. */
struct tg_sums {
    int32_t groups; /**< of equally many pixels, each with a scale of its own */
    int32_t pixels; /**< of a group */
    int32_t channels;
    const float *factors;  /**< of the weights */
    int32_t factor_step;   /**< 0 where all channels have the same one, else 1 */
    int32_t factors_first; /**< (sum * factor) * scale in place of sum * (scale * factor) */
    const float *bias;     /**< NULL where there is none */
    struct tg_bounds_f32 bounds;
    int32_t is_normal; /**< factors within 2^-26 and 2^26, bias 0 or beyond 2^-100: vectors flush what is denormal */
};

/** Sums times scales plus bias, within bounds; output may be the input's memory. */
void tg_dequantize_sums_f32(const struct tg_sums *sums, const int32_t *input, const float *scale, float *output);

/** The same, and the range of the numbers and 0. */
void tg_dequantize_sums_in_range_f32(
    const struct tg_sums *sums, const int32_t *input, const float *scale, float *output, struct tg_range *range);

#endif
