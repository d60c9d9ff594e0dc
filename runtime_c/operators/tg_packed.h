/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Convolutions whose weights take less than eight bits, and those of int8 weights that need no scratch.
 */
#ifndef TG_PACKED_H
#define TG_PACKED_H

#include <stdint.h>

#include "tg_geometry.h"
#include "tg_operator_names.h"

/**
 * Sizes, offsets and constants. Weights are OHWI with the depth of one group, packed without gaps from the lowest bit
 * of the first byte on; `weight_bits` is 8, 4 or 2 (two's complement) or 1 (set: 1, not set: -1).
 */
struct tg_packed_convolution {
    struct tg_geometry shape;
    int32_t input_offset; /**< added to inputs: minus the zero point */
    int32_t output_zero_point;
    int32_t min;
    int32_t max;
    int32_t weight_bits;
    int32_t filters_at_once; /**< of narrow weights 4, or 1 for less scratch */
    const int8_t *weights;
    const int32_t *bias; /**< one an output channel, or NULL */
    const int32_t *multiplier;
    const int32_t *shift;
};

/**
 * Convolution of NHWC images; fully connected layers are images of one pixel, depthwise ones have a group a channel.
 * Weights have less than 8 bits; sums of 32 bits wrap. Scratch is that of tg_convolve_coded_s8().
 */
void tg_convolve_packed_s8(
    const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int16_t *scratch);

/**
 * The same with weights of 8 bits, which are read where they stand: `scratch` is not used.
 */
void tg_convolve_s8(const struct tg_packed_convolution *layer, const int8_t *input, int8_t *output, int8_t *scratch);

#endif
