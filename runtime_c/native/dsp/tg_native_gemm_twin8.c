/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of 4 pixels with channels in groups of 8: by how sums are requantized.
 */
#include "tg_native_gemm_twin8_body.h"

/* file: tg_native_gemm_twin8_s8.c */

TG_TWIN8_FUNCTION(tg_native_gemm_twin8_s8, 0)

/* file: tg_native_gemm_twin8_relu_s8.c */

TG_TWIN8_FUNCTION(tg_native_gemm_twin8_relu_s8, 1)
