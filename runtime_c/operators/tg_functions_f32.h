/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Functions of one float32 number for tg_map_f32().
 */
#ifndef TG_FUNCTIONS_F32_H
#define TG_FUNCTIONS_F32_H

#include "tg_float.h"
#include "tg_operator_names.h"

/** |x|. */
float tg_abs_f32(float x, const float *parameters);

/** Inverse cosine. */
float tg_acos_f32(float x, const float *parameters);

/** Inverse hyperbolic cosine. */
float tg_acosh_f32(float x, const float *parameters);

/** parameters[0] * x + parameters[1]. */
float tg_affine_f32(float x, const float *parameters);

/** Inverse sine. */
float tg_asin_f32(float x, const float *parameters);

/** Inverse hyperbolic sine. */
float tg_asinh_f32(float x, const float *parameters);

/** Inverse tangent. */
float tg_atan_f32(float x, const float *parameters);

/** Inverse hyperbolic tangent. */
float tg_atanh_f32(float x, const float *parameters);

/** The next integer upwards. */
float tg_ceil_f32(float x, const float *parameters);

/** Within [parameters[0], parameters[1]]; NaN remains. */
float tg_clamp_f32(float x, const float *parameters);

/** x where it is positive, else parameters[0] * (e^x - 1). */
float tg_elu_f32(float x, const float *parameters);

/** Cosine. */
float tg_cos_f32(float x, const float *parameters);

/** Hyperbolic cosine. */
float tg_cosh_f32(float x, const float *parameters);

/** Sine. */
float tg_sin_f32(float x, const float *parameters);

/** Hyperbolic sine. */
float tg_sinh_f32(float x, const float *parameters);

/** Error function. */
float tg_erf_f32(float x, const float *parameters);

/** e^x. */
float tg_exp_f32(float x, const float *parameters);

/** The next integer downwards. */
float tg_floor_f32(float x, const float *parameters);

/** x times the normal distribution up to x. */
float tg_gelu_f32(float x, const float *parameters);

/** The GELU by its tanh approximation. */
float tg_gelu_tanh_f32(float x, const float *parameters);

/** parameters[0] * x + parameters[1], within [0, 1]. */
float tg_hard_sigmoid_f32(float x, const float *parameters);

/** x * (x + 3 within [0, 6]) / 6. */
float tg_hard_swish_f32(float x, const float *parameters);

/** x where it is positive, else parameters[0] * x. */
float tg_leaky_relu_f32(float x, const float *parameters);

/** Natural logarithm. */
float tg_log_f32(float x, const float *parameters);

/** 1 / (1 + e^-x). */
float tg_logistic_f32(float x, const float *parameters);

/** x * tanh(log(1 + e^x)). */
float tg_mish_f32(float x, const float *parameters);

/** -x. */
float tg_negate_f32(float x, const float *parameters);

/** x^parameters[0]. */
float tg_power_f32(float x, const float *parameters);

/** 1 / x. */
float tg_reciprocal_f32(float x, const float *parameters);

/** The nearest integer, halves to even. */
float tg_round_f32(float x, const float *parameters);

/** 1 / square root. */
float tg_rsqrt_f32(float x, const float *parameters);

/** parameters[0] * tanh(parameters[1] * x). */
float tg_scaled_tanh_f32(float x, const float *parameters);

/** parameters[1] times the ELU with parameters[0]. */
float tg_selu_f32(float x, const float *parameters);

/** -1, 0 or 1. */
float tg_sign_f32(float x, const float *parameters);

/** log(1 + e^x). */
float tg_softplus_f32(float x, const float *parameters);

/** x / (1 + |x|). */
float tg_softsign_f32(float x, const float *parameters);

/** Square root. */
float tg_sqrt_f32(float x, const float *parameters);

/** x * x. */
float tg_square_f32(float x, const float *parameters);

/** Tangent. */
float tg_tan_f32(float x, const float *parameters);

/** Hyperbolic tangent. */
float tg_tanh_f32(float x, const float *parameters);

/** x where it is above parameters[0], else 0. */
float tg_thresholded_relu_f32(float x, const float *parameters);

#endif
