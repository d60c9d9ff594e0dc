/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemm_body.h"

TG_GEMM_FUNCTION(tg_native_gemm_s8, TG_GEMM_OUTPUTS, 0)

TG_GEMM_PIXEL_FUNCTION(tg_native_gemm_pixel_s8, TG_GEMM_DOT_OUTPUTS, 0)
