/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Products of pairs of pixels with filters, on cores with MVE.
 */
#ifndef TG_NATIVE_MVE_GEMM_H
#define TG_NATIVE_MVE_GEMM_H

#include <stdint.h>

#include "tg_native_names.h"

/**
 * Pixels in, pixels out.
 *
 * The stream has a piece for each 4 channels: 64 bytes for each 16 elements, of each channel in turn; then 4 biases, 4
 * multipliers, 4 negative right shifts. If the number of elements is no multiple of 16, the first vector of each
 * channel ends with the elements that are left over, behind zeros. Zeros fill up the last piece.
 */
struct tg_native_mve_gemm {
    const int8_t *pixels;
    int8_t *output;
    const int32_t *stream;
    int32_t pairs;      /**< of pixels, at least 1 */
    int32_t pixel_step; /**< bytes between pixels of the input */
    int32_t output_step;
    int32_t elements;
    int32_t channels;
    int32_t zero_point; /**< of the output */
};

/** All pairs, all channels; `relu` rounds negative values up at halves. */
typedef void tg_native_mve_gemm(const struct tg_native_mve_gemm *gemm);

tg_native_mve_gemm tg_native_mve_gemm_s8;
tg_native_mve_gemm tg_native_mve_gemm_relu_s8;

#endif
