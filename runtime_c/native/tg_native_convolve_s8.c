/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_blocks.h"

void tg_native_convolve_s8(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_windows, tg_native_gemm_s8, tg_native_gemm_pixel_s8);
}
