/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of 4 pixels, two of them at once: by how sums are requantized.
 */
#include "tg_native_gemm_twin_body.h"

/* file: tg_native_gemm_twin_s8.c */

TG_TWIN_FUNCTION(tg_native_gemm_twin_s8, 0)

/* file: tg_native_gemm_twin_relu_s8.c */

TG_TWIN_FUNCTION(tg_native_gemm_twin_relu_s8, 1)
