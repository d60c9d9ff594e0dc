/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as blocks of 4 pixels: by their filters, by how weights are multiplied and sums requantized.
 */
#include "tg_native_blocks.h"

/* file: tg_native_convolve_s8.c */

void tg_native_convolve_s8(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_windows, tg_native_gemm_s8, tg_native_gemm_pixel_s8);
}

/* file: tg_native_convolve_relu_s8.c */

void tg_native_convolve_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(
        layer, input, output, scratch, tg_native_pack_windows, tg_native_gemm_relu_s8, tg_native_gemm_pixel_relu_s8);
}

/* file: tg_native_convolve_joined_s8.c */

void tg_native_convolve_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_windows, tg_native_gemm_joined_s8,
        tg_native_gemm_pixel_joined_s8);
}

/* file: tg_native_convolve_joined_relu_s8.c */

void tg_native_convolve_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_windows, tg_native_gemm_joined_relu_s8,
        tg_native_gemm_pixel_joined_relu_s8);
}

/* file: tg_native_convolve_1x1_s8.c */

void tg_native_convolve_1x1_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_pixels, tg_native_gemm_s8, tg_native_gemm_pixel_s8);
}

/* file: tg_native_convolve_1x1_relu_s8.c */

void tg_native_convolve_1x1_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(
        layer, input, output, scratch, tg_native_pack_pixels, tg_native_gemm_relu_s8, tg_native_gemm_pixel_relu_s8);
}

/* file: tg_native_convolve_1x1_joined_s8.c */

void tg_native_convolve_1x1_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(
        layer, input, output, scratch, tg_native_pack_pixels, tg_native_gemm_joined_s8, tg_native_gemm_pixel_joined_s8);
}

/* file: tg_native_convolve_1x1_joined_relu_s8.c */

void tg_native_convolve_1x1_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_pixels, tg_native_gemm_joined_relu_s8,
        tg_native_gemm_pixel_joined_relu_s8);
}

/* file: tg_native_convolve_shallow_s8.c */

void tg_native_convolve_shallow_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_shallow, tg_native_gemm_s8, tg_native_gemm_pixel_s8);
}

/* file: tg_native_convolve_shallow_relu_s8.c */

void tg_native_convolve_shallow_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(
        layer, input, output, scratch, tg_native_pack_shallow, tg_native_gemm_relu_s8, tg_native_gemm_pixel_relu_s8);
}

/* file: tg_native_convolve_shallow_joined_s8.c */

void tg_native_convolve_shallow_joined_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_shallow, tg_native_gemm_joined_s8,
        tg_native_gemm_pixel_joined_s8);
}

/* file: tg_native_convolve_shallow_joined_relu_s8.c */

void tg_native_convolve_shallow_joined_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_blocks(layer, input, output, scratch, tg_native_pack_shallow, tg_native_gemm_joined_relu_s8,
        tg_native_gemm_pixel_joined_relu_s8);
}

/* file: tg_native_convolve_twin_s8.c */

void tg_native_convolve_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_windows_twin, tg_native_gemm_twin_s8);
}

/* file: tg_native_convolve_twin_relu_s8.c */

void tg_native_convolve_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_windows_twin, tg_native_gemm_twin_relu_s8);
}

/* file: tg_native_convolve_1x1_twin_s8.c */

void tg_native_convolve_1x1_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_pixels_twin, tg_native_gemm_twin_s8);
}

/* file: tg_native_convolve_1x1_twin_relu_s8.c */

void tg_native_convolve_1x1_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_pixels_twin, tg_native_gemm_twin_relu_s8);
}

/* file: tg_native_convolve_shallow_twin_s8.c */

void tg_native_convolve_shallow_twin_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_shallow_twin, tg_native_gemm_twin_s8);
}

/* file: tg_native_convolve_shallow_twin_relu_s8.c */

void tg_native_convolve_shallow_twin_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_whole_blocks(layer, input, output, scratch, tg_native_pack_shallow_twin, tg_native_gemm_twin_relu_s8);
}
