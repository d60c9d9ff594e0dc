/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolution channel by channel, each as a padded plane of 16-bit values.
 *
 * `channel` holds 10 words: twice the bias; for each line of the filter the doubled weights w0 w1 and w1 w2 as pairs of
 * 16-bit values; multiplier, offset and shift, as in tg_native_gemm.h.
 */
#ifndef TG_NATIVE_PLANES_H
#define TG_NATIVE_PLANES_H

#include "tg_native.h"

#define TG_NATIVE_CHANNEL_WORDS 10

/** The outputs of one channel, from its plane. */
typedef void tg_native_plane_function(
    const int32_t *channel, const int16_t *plane, int8_t *output, const struct tg_native_plane *geometry);

tg_native_plane_function tg_native_plane_3x3_s8;
tg_native_plane_function tg_native_plane_3x3_relu_s8;
tg_native_plane_function tg_native_plane_3x3_stride2_s8;
tg_native_plane_function tg_native_plane_3x3_stride2_relu_s8;

/** All channels. */
void tg_native_planes(const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch,
    tg_native_plane_function *run);

#endif
