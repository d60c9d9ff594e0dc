/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_mve_windows.h"

void tg_native_mve_convolve_1x1_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const int32_t pixels = layer->batches * layer->output_height * layer->output_width;

    (void)scratch;
    tg_native_mve_pixels(layer, input, layer->depth, layer->depth, pixels, output, tg_native_mve_gemm_relu_s8);
}
