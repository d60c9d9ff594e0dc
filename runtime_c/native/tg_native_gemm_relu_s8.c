/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemm_body.h"

TG_GEMM_FUNCTION(tg_native_gemm_relu_s8, TG_GEMM_OUTPUTS_RELU, 1)

TG_GEMM_PIXEL_FUNCTION(tg_native_gemm_pixel_relu_s8, TG_GEMM_DOT_OUTPUTS_RELU, 1)
