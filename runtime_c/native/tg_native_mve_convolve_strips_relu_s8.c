/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_windows.h"

void tg_native_mve_convolve_strips_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_strips(layer, input, output, scratch, tg_native_mve_gemm_relu_s8);
}
