/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of pairs of pixels: by how sums are requantized.
 */

/* file: tg_native_mve_gemm_s8.c */

#define TG_MVE_GEMM_NAME tg_native_mve_gemm_s8
#define TG_MVE_GEMM_IS_RELU 0

#include "tg_native_mve_gemm_body.h"

/* file: tg_native_mve_gemm_relu_s8.c */

#define TG_MVE_GEMM_NAME tg_native_mve_gemm_relu_s8
#define TG_MVE_GEMM_IS_RELU 1

#include "tg_native_mve_gemm_body.h"
