/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of 4 pixels: by what becomes of those that are left over.
 */
#include "tg_native_blocks.h"
#include "tg_native_arithmetic.h"

/* What is multiplied for a block; of an odd number of channels the second one is computed twice: all come in pairs. */
struct products {
    const int32_t *stream;
    const int32_t *even_stream; /* behind the pair of an odd channel */
    int32_t quads;
    int32_t channels;
};

static void multiply_pixels(
    const struct products *all, const uint32_t *columns, int32_t count, int8_t *output, tg_native_gemm_pixel *pixel)
{
    const int32_t odd = all->channels % 2;

    for (; count > 0; count--, columns++, output += all->channels) {
        if (odd != 0) {
            pixel(all->stream, columns, all->quads, 1, output);
        }
        pixel(all->even_stream, columns, all->quads, all->channels / 2, output + odd);
    }
}

static inline void multiply(const struct products *all, const uint32_t *columns, int8_t *output, tg_native_gemm *gemm)
{
    const int32_t channels = all->channels;
    const int32_t odd = channels % 2;

    if (odd != 0) {
        gemm(all->stream, columns, all->quads, 1, output, channels);
    }
    gemm(all->even_stream, columns, all->quads, channels / 2, output + odd, channels);
}

static inline void convolve_one(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output,
    uint32_t *columns, tg_native_pack *pack, tg_native_gemm *gemm, tg_native_gemm_pixel *pixel)
{
    const int32_t channels = layer->channels;
    const int32_t pixels = layer->output_height * layer->output_width;
    const struct products all = {
        layer->stream, layer->stream + channels % 2 * layer->pair_words, layer->quads, channels};
    int32_t first = 0;

    for (; first <= pixels - 4; first += 4) {
        pack(layer, input, first, columns);
        multiply(&all, columns, output + first * channels, gemm);
    }
    if (first < pixels) { /* the last block repeats pixels, where there are 4 */
        const int32_t start = pixels < 4 ? 0 : pixels - 4;
        pack(layer, input, start, columns);
        if (pixel == 0 || first == start + 1) {
            multiply(&all, columns, output + start * channels, gemm);
        } else {
            multiply_pixels(&all, columns + first - start, pixels - first, output + first * channels, pixel);
        }
    }
    tg_native_clamp_s8(output, pixels * channels, layer->min, layer->max);
}

/* file: tg_native_blocks.c */

void tg_native_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm *gemm, tg_native_gemm_pixel *pixel)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, pack, gemm, pixel);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}

/* file: tg_native_whole_blocks.c */

void tg_native_whole_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm *gemm)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, pack, gemm, 0);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}
