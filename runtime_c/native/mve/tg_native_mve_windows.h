/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions as products of pairs of pixels, on cores with MVE.
 */
#ifndef TG_NATIVE_MVE_WINDOWS_H
#define TG_NATIVE_MVE_WINDOWS_H

#include "tg_native_mve.h"
#include "tg_native_mve_gemm.h"
#include "tg_native_names.h"

/** Runs a convolution with any filter: what it sees at some pixels is copied to scratch first. */
void tg_native_mve_windows(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply);

/**
 * Runs a convolution by rows of output: columns of the input under the filter are copied to scratch one behind the
 * other, so that each window is a piece of them. The stream has filters as columns.
 */
void tg_native_mve_strips(const struct tg_native_mve_convolve *layer, const int8_t *input, int8_t *output,
    int8_t *scratch, tg_native_mve_gemm *multiply);

/** Pixels `step` bytes apart, under filters of `elements` bytes. */
void tg_native_mve_pixels(const struct tg_native_mve_convolve *layer, const int8_t *pixels, int32_t step,
    int32_t elements, int32_t count, int8_t *output, tg_native_mve_gemm *multiply);

#endif
