/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions as planes: by their filters, strides, and how sums are requantized.
 */
#include "tg_native_planes.h"

/* file: tg_native_depthwise_3x3_s8.c */

void tg_native_depthwise_3x3_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_3x3_s8);
}

/* file: tg_native_depthwise_3x3_relu_s8.c */

void tg_native_depthwise_3x3_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_3x3_relu_s8);
}

/* file: tg_native_depthwise_3x3_stride2_s8.c */

void tg_native_depthwise_3x3_stride2_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_3x3_stride2_s8);
}

/* file: tg_native_depthwise_3x3_stride2_relu_s8.c */

void tg_native_depthwise_3x3_stride2_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_3x3_stride2_relu_s8);
}

/* file: tg_native_depthwise_s8.c */

void tg_native_depthwise_s8(const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_any_s8);
}

/* file: tg_native_depthwise_relu_s8.c */

void tg_native_depthwise_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_any_relu_s8);
}

/* file: tg_native_depthwise_stride2_s8.c */

void tg_native_depthwise_stride2_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_any_stride2_s8);
}

/* file: tg_native_depthwise_stride2_relu_s8.c */

void tg_native_depthwise_stride2_relu_s8(
    const struct tg_native_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_planes(layer, input, output, scratch, tg_native_plane_any_stride2_relu_s8);
}
