/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as blocks of 4 pixels with channels in groups of 8: by their filters and how sums are requantized.
 */
#include "tg_native_gemm_twin8.h"

/* file: tg_native_convolve_twin8_s8.c */

void tg_native_convolve_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_windows_twin, tg_native_gemm_twin8_s8);
}

/* file: tg_native_convolve_twin8_relu_s8.c */

void tg_native_convolve_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_windows_twin, tg_native_gemm_twin8_relu_s8);
}

/* file: tg_native_convolve_1x1_twin8_s8.c */

void tg_native_convolve_1x1_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_pixels_twin, tg_native_gemm_twin8_s8);
}

/* file: tg_native_convolve_1x1_twin8_relu_s8.c */

void tg_native_convolve_1x1_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_pixels_twin, tg_native_gemm_twin8_relu_s8);
}

/* file: tg_native_convolve_shallow_twin8_s8.c */

void tg_native_convolve_shallow_twin8_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_shallow_twin, tg_native_gemm_twin8_s8);
}

/* file: tg_native_convolve_shallow_twin8_relu_s8.c */

void tg_native_convolve_shallow_twin8_relu_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_twin8_blocks(layer, input, output, scratch, tg_native_pack_shallow_twin, tg_native_gemm_twin8_relu_s8);
}

/* file: tg_native_twin8_blocks.c */

#include "tg_native_arithmetic.h"

void tg_native_twin8_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm_twin8 *gemm)
{
    const int32_t channels = layer->channels;
    const int32_t pixels = layer->output_height * layer->output_width;

    for (int32_t batch = 0; batch < layer->batches; batch++, output += pixels * channels) {
        for (int32_t block = 0; block < pixels; block += 4) {
            const int32_t first = block < pixels - 4 ? block : pixels - 4;
            pack(layer, input, first, scratch);
            gemm(layer->stream, scratch, layer->quads, channels, output + first * channels, channels);
        }
        tg_native_clamp_s8(output, pixels * channels, layer->min, layer->max);
        input += layer->input_height * layer->input_width * layer->depth;
    }
}
