/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product of 4 pixels, two of them at once, with channels in groups of 8.
 *
 * Columns are those of the functions named `twin` in tg_native_gemm.h. For each 8 channels a stream holds their
 * weights, 8 bytes for each element, and behind them for one channel after the other: bias; for each 16 times 8 whole
 * elements a word of bits; multiplier, offset and, but for the functions named `relu`, shift. Channels of zeros fill
 * the last weights.
 *
 * Bits say for each 8 elements, the highest one first, how many of them are parted together: 0 for all 8, 10 for 4, 11
 * for 2. Four elements behind the last 8 are parted two by two.
 */
#ifndef TG_NATIVE_GEMM_TWIN8_H
#define TG_NATIVE_GEMM_TWIN8_H

#include "tg_native_blocks.h"

/** `quads`: elements of a filter / 4, at least 1. Outputs of pixel p start at output + p * pixel_step. */
typedef void tg_native_gemm_twin8(const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t channels,
    int8_t *output, int32_t pixel_step);

tg_native_gemm_twin8 tg_native_gemm_twin8_s8;
tg_native_gemm_twin8 tg_native_gemm_twin8_relu_s8;

/** Runs a convolution of 4 pixels or more: a last block computes some anew. */
void tg_native_twin8_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm_twin8 *gemm);

#endif
