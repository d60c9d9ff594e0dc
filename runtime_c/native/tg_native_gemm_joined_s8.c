/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_gemm_body.h"

TG_GEMM_JOINED_FUNCTION(tg_native_gemm_joined_s8, TG_GEMM_JOINED_OUTPUTS, 0)

TG_GEMM_JOINED_PIXEL_FUNCTION(tg_native_gemm_pixel_joined_s8, TG_GEMM_JOINED_DOT_OUTPUTS, 0)
