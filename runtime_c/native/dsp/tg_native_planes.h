/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolution channel by channel, each as a padded plane of 16-bit values.
 *
 * For filters of 3x3 a channel of the stream holds 10 words: the bias; for each line of the filter the weights w0 w1
 * and w1 w2 as pairs of 16-bit values; multiplier, offset and shift, as in tg_native_gemm.h. The functions named `relu`
 * read no shift; for all others bias and weights are doubled.
 *
 * For filters of other sizes: the bias, multiplier, offset, shift, and for each line of the filter the weights in
 * pairs, w0 w1, w2 w3 and so on; at stride 1 in turn with those of the next output, 0 w0, w1 w2 and so on.
 */
#ifndef TG_NATIVE_PLANES_H
#define TG_NATIVE_PLANES_H

#include "tg_native.h"
#include "tg_native_names.h"

/** The outputs of one channel, from its plane. */
typedef void tg_native_plane_function(
    const int32_t *channel, const int16_t *plane, int8_t *output, const struct tg_native_plane *geometry);

tg_native_plane_function tg_native_plane_3x3_s8;
tg_native_plane_function tg_native_plane_3x3_relu_s8;
tg_native_plane_function tg_native_plane_3x3_stride2_s8;
tg_native_plane_function tg_native_plane_3x3_stride2_relu_s8;
tg_native_plane_function tg_native_plane_any_s8;
tg_native_plane_function tg_native_plane_any_relu_s8;
tg_native_plane_function tg_native_plane_any_stride2_s8;
tg_native_plane_function tg_native_plane_any_stride2_relu_s8;

/** Where the values of a channel lie in the input and where they go in its plane. */
struct tg_native_gather {
    int32_t position_step; /**< bytes of the input */
    int32_t positions;
    int32_t lines;
    int32_t line_skip;  /**< bytes of the input from behind a line to the next one */
    int32_t plane_skip; /**< the same of the plane */
};

/** Copies a channel of the input to its plane. */
void tg_native_gather(const int8_t *input, int16_t *plane, const struct tg_native_gather *shape);

/** All channels. */
void tg_native_planes(const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_plane_function *run);

#endif
