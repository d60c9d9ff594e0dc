/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Matrix product of 4 pixels with pairs of output channels.
 *
 * `columns` holds, for each two elements of a filter, a word of two 16-bit activations for each of the 4 pixels.
 * `stream` holds for each pair of channels, in words:
 *
 *     bias of channel 0, bias of channel 1
 *     for each 4 elements of the filters two words of int8 weights, lowest byte first:
 *         c0[k] c1[k] c0[k+2] c1[k+2]     c0[k+1] c1[k+1] c0[k+3] c1[k+3]
 *     multiplier, offset, shift of channel 0, then of channel 1
 *
 * An output is ((acc * multiplier / 2**31, rounded) + offset) >> shift, saturated: `offset` holds the zero point,
 * scaled, and one half. 1 is subtracted where acc is negative, so that halves go away from zero.
 *
 * The functions named `joined` read c1[k] - (c0[k] < 0) in place of c1[k], so that both bytes are the 16-bit number
 * 256 c1[k] + c0[k], and a bias 1 of 256 b1 + b0: they multiply both at once and take the sum of channel 0 away. The
 * sum of channel 1 must fit 24 bits.
 *
 * The functions named `twin` multiply two pixels at once. Their columns hold for each element, in the order of the
 * weights, x0 + 65536 x1 of pixels 0 and 1, then of 2 and 3. What some elements add is s0 + 65536 s1, which is parted
 * where s0 and s1 are 16-bit numbers: they are for each two elements, and for 4 of both channels where a bit is 0. A
 * word of such bits, the highest one first, stands before each 32 times 4 elements.
 *
 * The functions named `relu` have no shifts in their stream; an output is ((sum * multiplier >> 32) + offset) >> 2,
 * saturated.
 */
#ifndef TG_NATIVE_GEMM_H
#define TG_NATIVE_GEMM_H

#include <stdint.h>

#include "tg_native_names.h"

/** `quads`: elements of a filter / 4, at least 1. Outputs of pixel p start at output + p * pixel_step. */
typedef void tg_native_gemm(
    const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output, int32_t pixel_step);

tg_native_gemm tg_native_gemm_s8;
tg_native_gemm tg_native_gemm_relu_s8;
tg_native_gemm tg_native_gemm_joined_s8;
tg_native_gemm tg_native_gemm_joined_relu_s8;
tg_native_gemm tg_native_gemm_twin_s8;
tg_native_gemm tg_native_gemm_twin_relu_s8;

/** The same for one pixel, whose words stand 4 words apart. */
typedef void tg_native_gemm_pixel(
    const int32_t *stream, const uint32_t *columns, int32_t quads, int32_t pairs, int8_t *output);

tg_native_gemm_pixel tg_native_gemm_pixel_s8;
tg_native_gemm_pixel tg_native_gemm_pixel_relu_s8;
tg_native_gemm_pixel tg_native_gemm_pixel_joined_s8;
tg_native_gemm_pixel tg_native_gemm_pixel_joined_relu_s8;

#endif
