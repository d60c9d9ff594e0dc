/*
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tg_native_blocks.h"
#include "tg_native_arithmetic.h"

/* One block; of an odd number of channels the second one is computed twice, so that all come in pairs. */
static void multiply(
    const struct tg_native_convolve *layer, const uint32_t *columns, int8_t *output, tg_native_gemm *gemm)
{
    const int32_t quads = layer->quads;
    const int32_t channels = layer->channels;
    const int32_t *stream = layer->stream;

    if (channels % 2 != 0) {
        gemm(stream, columns, quads, 1, output, channels);
        stream += layer->pair_words;
    }
    gemm(stream, columns, quads, channels / 2, output + channels % 2, channels);
    tg_native_clamp_s8(output, 4 * channels, layer->min, layer->max);
}

static void convolve_one(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, uint32_t *columns,
    tg_native_pack *pack, tg_native_gemm *gemm)
{
    const int32_t channels = layer->channels;
    const int32_t pixels = layer->output_height * layer->output_width;

    if (pixels < 4) {
        int8_t *const block = (int8_t *)(columns + 8 * layer->quads);
        pack(layer, input, 0, columns);
        multiply(layer, columns, block, gemm);
        for (int32_t i = 0; i < pixels * channels; i++) {
            output[i] = block[i];
        }
        return;
    }
    for (int32_t first = 0; first < pixels; first += 4) {
        const int32_t start = first > pixels - 4 ? pixels - 4 : first; /* the last block may repeat pixels */
        pack(layer, input, start, columns);
        multiply(layer, columns, output + start * channels, gemm);
    }
}

void tg_native_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm *gemm)
{
    for (int32_t batch = 0; batch < layer->batches; batch++) {
        convolve_one(layer, input, output, scratch, pack, gemm);
        input += layer->input_height * layer->input_width * layer->depth;
        output += layer->output_height * layer->output_width * layer->channels;
    }
}
