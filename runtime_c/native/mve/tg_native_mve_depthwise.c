/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Depthwise convolutions: by their filters, and how sums are requantized.
 */

/* file: tg_native_mve_depthwise_3x3_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_3x3_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_tiles_s8);
}

/* file: tg_native_mve_depthwise_3x3_relu_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_3x3_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_tiles_relu_s8);
}

/* file: tg_native_mve_depthwise_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_dots_s8);
}

/* file: tg_native_mve_depthwise_relu_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_dots_relu_s8);
}

/* file: tg_native_mve_depthwise_line_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_line_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_shifts_s8);
}

/* file: tg_native_mve_depthwise_line_relu_s8.c */

#include "tg_native_mve_planes.h"

void tg_native_mve_depthwise_line_relu_s8(
    const struct tg_native_mve_depthwise *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_planes(layer, input, output, scratch, tg_native_mve_shifts_relu_s8);
}

/* file: tg_native_mve_depthwise_lanes_s8.c */

#include "tg_native_mve_lanes.h"

void tg_native_mve_depthwise_lanes_s8(
    const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_lanes(layer, input, output, scratch, tg_native_mve_lanes_s8);
}

/* file: tg_native_mve_depthwise_lanes_relu_s8.c */

#include "tg_native_mve_lanes.h"

void tg_native_mve_depthwise_lanes_relu_s8(
    const struct tg_native_mve_depthwise_lanes *layer, const int8_t *input, int8_t *output, void *scratch)
{
    tg_native_mve_lanes(layer, input, output, scratch, tg_native_mve_lanes_relu_s8);
}

/* file: tg_native_mve_ring_depthwise_s8.c */

#include "tg_native_mve_lanes.h"

void tg_native_mve_ring_depthwise_s8(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input,
    const int8_t *ring, const int32_t *place, int8_t *output)
{
    tg_native_mve_ring_lanes(layer, input, ring, *place, output, tg_native_mve_lanes_s8);
}

/* file: tg_native_mve_ring_depthwise_relu_s8.c */

#include "tg_native_mve_lanes.h"

void tg_native_mve_ring_depthwise_relu_s8(const struct tg_native_mve_ring_depthwise *layer, const int8_t *input,
    const int8_t *ring, const int32_t *place, int8_t *output)
{
    tg_native_mve_ring_lanes(layer, input, ring, *place, output, tg_native_mve_lanes_relu_s8);
}
