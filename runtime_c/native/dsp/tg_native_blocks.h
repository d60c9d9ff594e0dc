/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A convolution as blocks of 4 pixels.
 */
#ifndef TG_NATIVE_BLOCKS_H
#define TG_NATIVE_BLOCKS_H

#include "tg_native.h"
#include "tg_native_gemm.h"
#include "tg_native_names.h"

/** Packs what the filters see at 4 pixels of the output, the first one numbered `first`. */
typedef void tg_native_pack(
    const struct tg_native_convolve *layer, const int8_t *input, int32_t first, uint32_t *columns);

/** Runs a convolution: `pixel` takes 1 or 2 that are left over. */
void tg_native_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm *gemm, tg_native_gemm_pixel *pixel);

/** The same for 4 pixels or more: a last block computes some anew. */
void tg_native_whole_blocks(const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_pack *pack, tg_native_gemm *gemm);

/** Any filter. */
tg_native_pack tg_native_pack_windows;

/** 1x1 filters at stride 1 without padding: pixels of the input lie side by side. */
tg_native_pack tg_native_pack_pixels;

/** Inputs of 1 to 4 channels. */
tg_native_pack tg_native_pack_shallow;

/** The same for functions that multiply two pixels at once. */
tg_native_pack tg_native_pack_windows_twin;
tg_native_pack tg_native_pack_pixels_twin;
tg_native_pack tg_native_pack_shallow_twin;

/** Of a row of the band that tg_native_pack_shallow keeps behind the columns and the number of its row of outputs. */
static inline int32_t tg_native_band_bytes(const struct tg_native_convolve *layer)
{
    const int32_t reach = (layer->output_width - 1) * layer->stride_width + layer->kernel_width;

    return (reach * layer->depth + 6) / 4 * 4;
}

#endif
