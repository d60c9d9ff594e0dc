/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kernels for one layer at a time on RISC-V with vectors of integers (Zve32x), whatever their length: channels of the
 * output lie side by side. What is known while generating comes prepared in a stream of 32-bit words:
 *
 *     biases | multipliers | offsets | right shifts, each of all channels | filters, bytes [element][channel]
 *
 * with zeros behind the filters up to a whole word. Other cores and the host run C with the same results.
 */
#ifndef TG_NATIVE_RVV_H
#define TG_NATIVE_RVV_H

#include "tg_native.h"

/** Convolution; scratch holds the windows of 4 pixels as bytes. */
void tg_native_rvv_convolve_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Convolution with 1x1 filters at stride 1, without padding: no scratch. */
void tg_native_rvv_convolve_1x1_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

/** Depthwise convolution, as many channels as the input has; scratch holds the windows of 4 pixels as bytes. */
void tg_native_rvv_depthwise_s8(
    const struct tg_native_convolve *layer, const int8_t *input, int8_t *output, void *scratch);

#endif
