/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of 4 pixels, and of one that is left over: by how weights are multiplied and sums requantized.
 */
#include "tg_native_gemm_body.h"

/* file: tg_native_gemm_s8.c */

TG_GEMM_FUNCTION(tg_native_gemm_s8, TG_GEMM_OUTPUTS, 0)

TG_GEMM_PIXEL_FUNCTION(tg_native_gemm_pixel_s8, TG_GEMM_DOT_OUTPUTS, 0)

/* file: tg_native_gemm_relu_s8.c */

TG_GEMM_FUNCTION(tg_native_gemm_relu_s8, TG_GEMM_OUTPUTS_RELU, 1)

TG_GEMM_PIXEL_FUNCTION(tg_native_gemm_pixel_relu_s8, TG_GEMM_DOT_OUTPUTS_RELU, 1)

/* file: tg_native_gemm_joined_s8.c */

TG_GEMM_JOINED_FUNCTION(tg_native_gemm_joined_s8, TG_GEMM_JOINED_OUTPUTS, 0)

TG_GEMM_JOINED_PIXEL_FUNCTION(tg_native_gemm_pixel_joined_s8, TG_GEMM_JOINED_DOT_OUTPUTS, 0)

/* file: tg_native_gemm_joined_relu_s8.c */

TG_GEMM_JOINED_FUNCTION(tg_native_gemm_joined_relu_s8, TG_GEMM_JOINED_OUTPUTS_RELU, 1)

TG_GEMM_JOINED_PIXEL_FUNCTION(tg_native_gemm_pixel_joined_relu_s8, TG_GEMM_JOINED_DOT_OUTPUTS_RELU, 1)
