/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions whose weights have zero points.
 */
#ifndef TG_ASYMMETRIC_H
#define TG_ASYMMETRIC_H

#include <stdint.h>

#include "tg_geometry.h"
#include "tg_operator_names.h"

/** Sizes and constants. Weights are OHWI with the depth of one group. */
struct tg_asymmetric_convolution {
    struct tg_geometry shape;
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    const int8_t *weights;
    const int32_t *zero_point; /**< of the weights, one an output channel */
    const int32_t *constant;   /**< one an output channel: see below */
    const int32_t *multiplier;
    const int32_t *shift;
};

/**
 * Convolution of NHWC images; fully connected layers are images of one pixel, depthwise ones have a group a channel.
 *
 * With inputs x, weights w and their zero points, summed over the n elements of a window,
 *
 *     sum (x - zx) * (w - zw) = sum x * w  -  zw * sum x  +  (n * zx * zw - zx * sum w)
 *
 * where padding is zx. The bracket and the bias are `constant`; sums of 32 bits wrap.
 *
 * scratch: filter_height * filter_width * filter_depth bytes, for the window of one output pixel and group.
 */
void tg_convolve_asymmetric_s8(
    const struct tg_asymmetric_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch);

#endif
