/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as pairs of pixels: by how windows are copied, and how sums are requantized.
 */
#include "tg_native_mve_windows.h"

/* file: tg_native_mve_convolve_s8.c */

void tg_native_mve_convolve_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_windows(layer, input, output, scratch, tg_native_mve_gemm_s8);
}

/* file: tg_native_mve_convolve_relu_s8.c */

void tg_native_mve_convolve_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_windows(layer, input, output, scratch, tg_native_mve_gemm_relu_s8);
}

/* file: tg_native_mve_convolve_strips_s8.c */

void tg_native_mve_convolve_strips_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_strips(layer, input, output, scratch, tg_native_mve_gemm_s8);
}

/* file: tg_native_mve_convolve_strips_relu_s8.c */

void tg_native_mve_convolve_strips_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_strips(layer, input, output, scratch, tg_native_mve_gemm_relu_s8);
}

/* file: tg_native_mve_convolve_1x1_s8.c */

void tg_native_mve_convolve_1x1_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const int32_t pixels = layer->batches * layer->output_height * layer->output_width;

    (void)scratch;
    tg_native_mve_pixels(layer, input, layer->depth, layer->depth, pixels, output, tg_native_mve_gemm_s8);
}

/* file: tg_native_mve_convolve_1x1_relu_s8.c */

void tg_native_mve_convolve_1x1_relu_s8(
    const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    const int32_t pixels = layer->batches * layer->output_height * layer->output_width;

    (void)scratch;
    tg_native_mve_pixels(layer, input, layer->depth, layer->depth, pixels, output, tg_native_mve_gemm_relu_s8);
}
